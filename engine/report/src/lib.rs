//! What a run says.
