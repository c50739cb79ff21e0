//! What the nodes wrote into their logs, on the run's clock.

use wfe_core::CallError;
use wfe_core::capability::observe::{DatabaseEvent, Since};

use crate::local::log;
use crate::local::world::World;
use crate::lock;

/// The longest message that is kept, characters: Cassandra writes lines of 20,000.
const LONGEST: usize = 1_000;

/// Events since a moment, oldest first. Their times are the nodes' wall times moved onto the run's clock, exact to about
/// a millisecond unless the machine's time was set meanwhile.
pub fn since(world: &World, since: &Since) -> Result<Vec<DatabaseEvent>, CallError> {
    let least = rank(&since.severity).ok_or_else(|| {
        let message = format!("a severity is `info`, `warn` or `error`, not `{}`", since.severity);
        CallError::request("unknown-severity", message)
    })?;
    let members = lock(&world.cluster).members.clone();
    let mut events = Vec::new();
    for member in members {
        let directories = [world.directory(&member.machine).join("logs"), world.kept_logs(&member.machine)];
        for line in directories.iter().flat_map(|directory| log::read(&directory.join("system.log"))) {
            let at_ms = line.wall_ms.saturating_sub(world.wall_zero);
            if at_ms >= since.from_ms && rank(line.severity) >= Some(least) {
                let (node, severity) = (member.name.clone(), line.severity.to_owned());
                let message = line.message.chars().take(LONGEST).collect();
                events.push(DatabaseEvent { at_ms, node, severity, message });
            }
        }
    }
    events.sort_by(|a, b| (a.at_ms, &a.node).cmp(&(b.at_ms, &b.node)));
    events.truncate(since.limit as usize);
    Ok(events)
}

fn rank(severity: &str) -> Option<u8> {
    ["info", "warn", "error"].iter().position(|known| *known == severity).map(|rank| rank as u8)
}
