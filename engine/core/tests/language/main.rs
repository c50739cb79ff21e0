//! The workflow language as users meet it: a sample that works, mistakes as they are shown, and hostile input.

mod bad_input;
mod catalog;
mod checks;
mod graph;
mod mistakes;
mod sample;
mod schemas;
