//! The `wfe` binary as its users see it: what it prints, what it says on the side, its exit codes, its files.

mod commands;
mod place;
mod rehearsal;
mod resume;
