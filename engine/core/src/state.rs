//! The state of a run: the fold of its events, and what is to be done next.
