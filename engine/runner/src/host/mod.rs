//! The host side of the SDK: what happens between a plugin and the world.

pub mod attempt;
pub mod call;
mod grants;
pub mod link;
mod own;
pub mod recorded;
mod replay;
mod values;

pub use replay::Replay;
