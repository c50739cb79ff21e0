//! Makes a run happen.
