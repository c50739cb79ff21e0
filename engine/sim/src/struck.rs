//! Which faults of a rehearsal struck: one that never did has rehearsed nothing.

use crate::faults::{ActiveReads, Fault, LoaderLost, MachineLost};
use crate::world::World;

impl World {
    /// The faults that have not struck so far, for people.
    pub fn idle_faults(&self) -> Vec<String> {
        let idle = self.faults.0.iter().enumerate().filter(|(_, fault)| !self.struck(fault));
        idle.map(|(index, fault)| format!("fault {} never struck: {fault}", index + 1)).collect()
    }

    fn struck(&self, fault: &Fault) -> bool {
        match fault {
            Fault::MachineLost(MachineLost { machine, .. }) => self.fleet.was_lost(machine, self.now),
            Fault::Capacity(capacity) => self.fleet.was_refused(&capacity.machine_type),
            Fault::JoinFails(fails) => fails.join <= self.joins(),
            Fault::TerminateFails(fails) => self.fleet.was_made(&fails.machine),
            Fault::ActiveReads(ActiveReads { node, at, .. }) => {
                let named = self.cluster.iter().flat_map(|cluster| &cluster.nodes).any(|other| other.name == *node);
                named && at * 1000.0 <= self.now as f64
            }
            Fault::LoaderLost(LoaderLost { load, loader, .. }) => {
                let mut named = self.loads.iter().filter(|other| other.spec.name == *load);
                named.any(|load| (1..=load.spec.loaders).contains(loader) && !load.loaders.contains(&(loader - 1)))
            }
            Fault::AnswerLost(call) | Fault::AppliedTwice(call) => self.called(&call.call) >= call.number,
            Fault::AnswerLate(late) => self.called(&late.of.call) >= late.of.number,
            Fault::ListedLate(_) => !self.fleet.is_empty(),
        }
    }

    fn called(&self, name: &str) -> u32 {
        self.calls.get(name).copied().unwrap_or(0)
    }
}
