//! The simulated backend: a model cloud and a model cluster in virtual time.
//!
//! [`Sim`] answers a run's capability calls from a world that it moves on, lazily, to the run's clock. A
//! rehearsal of five hours costs about a quarter of a second of CPU (`cargo run --release -p wfe-sim --example published
//! rehearsal`).
//!
//! # Rules of the world
//!
//! * **Looking changes nothing.** The world passes in steps whose ends follow from its state alone; a question between two
//!   steps is answered by a copy. So the same changes at the same moments give the same world, to the last bit, however
//!   often a plugin polls.
//! * **Changes take no time.** Machines boot, and operations go on, after the call has answered. A call with a key that
//!   was seen before gets the same answer again.
//! * **Random numbers have a purpose**, and depend on it, its occasion and the seed: never on the order of calls.
//! * **A world can be made again.** [`Backend::open`](wfe_core::backend::Backend::open) with the history of a run applies
//!   its changes at their moments to a fresh world and compares the answers; a difference is an error of the simulator.
//!
//! # The model
//!
//! A fluid model: during one step every load has one rate. No answer is stored for any workflow; machine facts, product
//! constants and the load give everything.
//!
//! | file | what it says |
//! |---|---|
//! | `visits` | how often an operation visits each node, as coordinator, read or write |
//! | `flow` | what an operation costs there, and the rate at which the hottest resource of the hottest node is used up |
//! | `stream` | what senders offer and receivers take while tablets move |
//! | `tablets` | where replicas are, and which one moves next |
//! | `latency` | the distribution of response times: queues of nodes, order statistics over replicas, lateness on top |
//! | `record` | intervals whose counts add up exactly to the operations that ended |
//! | `world` | time: lag, growth, compaction debt, joins, and the length of steps |
//!
//! What carries it: on small machines with full disks the scarce thing is disk *read* bandwidth. It bounds the rate, makes
//! the tail of reads (not of writes), paces the streams, and comes back as tablets leave.
//!
//! An overloaded cluster shows as lag: operations start later and later after their intended start. Response time counts
//! it, service time only as far as operations in flight wait.
//!
//! # What is fitted
//!
//! All constants are in `calibration.json`, whose `origin` says for each where it comes from. Fitted to published runs:
//! disk bytes of a cache miss, compaction passes and overhead, the four base times, compaction's shares, the streaming
//! block, stalls, catch-up, slow joins, the pressure limit, the versions' streaming limits. `tests/published.rs` holds the
//! model against those runs; what it gives, published figure first:
//!
//! | run | published | model |
//! |---|---|---|
//! | steady at 40 %, P90 w, r; P99 w, r (ms) | 1.12, 1.97; 2.13, 3.35 | 1.17, 1.95; 1.92, 3.5 |
//! | growth in parallel, the same | 1.39, 2.33; 2.54, 4.39 | 1.40, 2.05; 2.29, 4.0 |
//! | growth with 2025.2, newest, 2025.1 | 42:32, 26:22, 1:06:35 | 41:54 (43:29 from 90 %), 25:48, 1:05:46 |
//! | one by one at 50 %: three cycles | 23:25, 11:26, 7:02 | 19:28, 11:13, 7:11 |
//! | P99 of its first cycle w, r (ms) | 699, 859 | 783, 805 |
//! | at 80 %: rate; P99 of 30 minutes | 18,790; 410 s | 18,558; 429 s |
//! | at 80 %: three cycles; P99 of the first | 31:45, 14:58, 9:12; 719 s | 31:02, 16:19, 7:42; 764 s |
//! | at 100 % | the third node never joins | the same |
//! | soft limit; hard limit and quiet | 1:21:27; 0:53:31 | 1:19:10; 0:55:20 |
//! | add and ready beside three small nodes | 16:21 | 17:50 |
//! | cached reads at 1.2 M/s, P95, P99; at 1.5 M/s, P99 (ms) | 1.10, 4.86; 6.30 | 1.03, 5.3; 6.3 |
//!
//! The first cycle's P99 at 50 % sits where demand meets its share: 2 % more load doubles it. Take it as an order of
//! magnitude. `cassandra 5.0` has plausible constants only.
//!
//! Not modelled: rows (CQL is unsupported), repair, hot partitions, a network between racks, imbalance of shards, the
//! space that overwritten rows take until compaction, cold caches after a move. Writes are refused on the whole table once
//! one disk is full.
//!
//! # Signals of a node
//!
//! | signal | meaning |
//! |---|---|
//! | `compactions` | pending compactions, of 1 GB each; 0 when compaction keeps up |
//! | `compaction-debt-bytes` | bytes that are due |
//! | `streams` | tablets that it sends or receives |
//! | `hints` | writes that nodes which are down have missed, its part |
//! | `pending-reads`, `pending-writes` | requests that wait for the disk or a CPU |
//! | `joining` | 1 while it becomes a member |
//! | `cpu`, `disk-busy` | use from 0 to 1 |

mod answer;
mod apply;
mod calibration;
mod cluster;
mod counts;
mod faults;
mod fleet;
mod flow;
mod latency;
mod load;
mod operation;
mod random;
mod record;
mod sim;
mod stages;
mod stream;
mod struck;
mod tablets;
mod visits;
mod world;

pub use faults::{ActiveReads, Capacity, EXAMPLE as FAULTS_EXAMPLE, Fault, Faults, JoinFails, LoaderLost, MachineLost};
pub use sim::Sim;
