//! The `wfe` binary as its users see it: what it prints, what it says on the side, its exit codes, its files.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, and says where")]

mod after;
mod bad_input;
mod checks;
mod commands;
mod ending;
mod place;
mod rehearsal;
mod resume;
