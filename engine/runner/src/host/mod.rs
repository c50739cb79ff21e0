//! The host side of the SDK: what happens between a plugin and the world.

pub mod attempt;
pub mod call;
mod grants;
pub mod link;
pub mod offline;
mod own;
mod replay;
mod values;

pub use replay::Replay;
