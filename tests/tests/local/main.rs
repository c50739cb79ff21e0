//! Runs on a real Apache Cassandra on this machine, through the binary.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, and says where")]

mod elasticity;
mod existing;
mod interrupt;
mod killed;
mod support;
mod trouble;
