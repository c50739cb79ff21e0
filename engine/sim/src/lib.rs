//! The simulated backend.

mod answer;
mod apply;
mod calibration;
mod cluster;
mod faults;
mod fleet;
mod flow;
mod latency;
mod load;
mod operation;
mod random;
mod record;
mod sim;
mod stream;
mod tablets;
mod visits;
mod world;

pub use faults::{Capacity, Fault, Faults, JoinFails, MachineLost};
pub use sim::Sim;
