//! Getting machines for a step: what an earlier attempt of it left complete is taken over, the rest is created.

use std::collections::BTreeMap;

use crate::machines::{self, Machine, Request};
use crate::{Duration, Error, Result, log, step};

/// Gets running machines for all requests, exactly as many as were asked for. What an earlier attempt of this step left is
/// taken over where a whole request is there, and given back otherwise. Fails when one is lost or the time is over.
pub fn obtain(requests: &[Request], timeout: Duration) -> Result<Vec<Machine>> {
    let step::Attempt { step, number, .. } = step::info();
    let earlier = if number > 1 { machines::list()? } else { Vec::new() };
    let earlier = earlier.into_iter().filter(|machine| machine.step == step).collect();
    let Adoption { adopted, missing, leftover } = adopt(requests, earlier);
    if !leftover.is_empty() {
        log::info(format!("giving back {} machines of an incomplete group", leftover.len()));
        machines::terminate(&leftover)?;
    }
    let mut ids: Vec<_> = adopted.into_iter().map(|machine| machine.id).collect();
    for request in missing {
        let created = machines::create(request)?;
        log::info(format!("asked for {} x {} as {}", request.count, request.machine_type, request.role));
        ids.extend(created.into_iter().map(|machine| machine.id));
    }
    step::progress(None, format!("waiting for {} machines", ids.len()));
    let running = machines::wait_running(&ids, timeout)?;
    complete(requests, &running)?;
    Ok(running)
}

/// What becomes of the machines of an earlier attempt.
#[derive(Debug, PartialEq)]
struct Adoption<'a> {
    /// Machines that are as asked for.
    adopted: Vec<Machine>,
    /// What must still be created.
    missing: Vec<&'a Request>,
    /// Ids of machines of groups that are not complete.
    leftover: Vec<String>,
}

/// Takes over whole groups: a part of one cannot be completed, because new machines spread over the racks anew.
fn adopt(requests: &[Request], earlier: Vec<Machine>) -> Adoption<'_> {
    let mut free: Vec<_> = earlier.into_iter().filter(|machine| alive(&machine.state)).collect();
    let mut adoption = Adoption { adopted: Vec::new(), missing: Vec::new(), leftover: Vec::new() };
    for request in requests {
        match take_group(request, &mut free) {
            Some(group) => adoption.adopted.extend(group),
            None => adoption.missing.push(request),
        }
    }
    let ours = |machine: &Machine| requests.iter().any(|request| fits(request, machine));
    adoption.leftover = free.into_iter().filter(ours).map(|machine| machine.id).collect();
    adoption
}

fn take_group(request: &Request, free: &mut Vec<Machine>) -> Option<Vec<Machine>> {
    let mut group = Vec::new();
    for rack in 1..=request.racks {
        let wanted = in_rack(request, rack);
        let found = free.iter().filter(|machine| fits(request, machine) && machine.rack == rack).take(wanted);
        let found: Vec<_> = found.cloned().collect();
        if found.len() < wanted {
            return None;
        }
        group.extend(found);
    }
    free.retain(|machine| !group.contains(machine));
    Some(group)
}

/// How many machines of a request stand in a rack, racks counted from 1: an even spread, the first racks get the rest.
fn in_rack(request: &Request, rack: u32) -> usize {
    let rest = u32::from(rack <= request.count % request.racks);
    (request.count / request.racks + rest) as usize
}

fn fits(request: &Request, machine: &Machine) -> bool {
    machine.role == request.role && machine.machine_type == request.machine_type
}

fn alive(state: &str) -> bool {
    ["pending", "running"].contains(&state)
}

/// The exact set: for each role and type as many running machines as were asked for.
fn complete(requests: &[Request], machines: &[Machine]) -> Result<()> {
    let mut asked = BTreeMap::new();
    for request in requests {
        *asked.entry((&request.role, &request.machine_type)).or_insert(0) += request.count as usize;
    }
    for ((role, machine_type), asked) in asked {
        let mine = machines.iter().filter(|machine| machine.role == *role && machine.machine_type == *machine_type);
        let running = mine.filter(|machine| machine.state == "running").count();
        if running != asked {
            let message = format!("asked for {asked} x {machine_type} as {role}, and {running} of them run");
            return Err(Error::infrastructure("wrong-machine-count", message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(count: u32, racks: u32) -> Request {
        Request { role: "database".into(), machine_type: "i4i.large".into(), count, racks }
    }

    fn machine(id: usize, rack: u32, state: &str) -> Machine {
        Machine {
            id: format!("m-{id}"),
            role: "database".into(),
            machine_type: "i4i.large".into(),
            step: "cluster".into(),
            rack,
            state: state.into(),
            address: String::new(),
        }
    }

    #[test]
    fn five_of_six_are_refused() {
        let machines: Vec<_> = (0..5).map(|n| machine(n, 1, "running")).chain([machine(5, 1, "lost")]).collect();
        let error = complete(&[request(3, 1), request(3, 1)], &machines).unwrap_err();
        assert_eq!(error.message, "asked for 6 x i4i.large as database, and 5 of them run");
        assert_eq!(error.kind, crate::kind::INFRASTRUCTURE);
    }

    #[test]
    fn a_whole_group_of_an_earlier_attempt_is_taken_over() {
        let requests = [request(3, 3)];
        let earlier: Vec<_> = (0..3).map(|n| machine(n, n as u32 + 1, "running")).collect();
        let adoption = adopt(&requests, earlier.clone());
        assert_eq!(adoption, Adoption { adopted: earlier, missing: vec![], leftover: vec![] });
    }

    #[test]
    fn a_part_of_a_group_is_given_back() {
        let requests = [request(3, 3)];
        let adoption =
            adopt(&requests, vec![machine(0, 1, "running"), machine(1, 2, "lost"), machine(2, 3, "pending")]);
        assert_eq!(adoption.missing, [&requests[0]]);
        assert_eq!(adoption.leftover, ["m-0", "m-2"]);
    }

    proptest! {
        #[test]
        fn racks_hold_all_machines_evenly(count in 1u32..50, racks in 1u32..50) {
            let request = request(count, racks);
            let sizes: Vec<_> = (1..=racks).map(|rack| in_rack(&request, rack)).collect();
            prop_assert_eq!(sizes.iter().sum::<usize>(), count as usize);
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }

        /// Adopted and still to be created machines together are what was asked for; nobody is counted twice.
        #[test]
        fn nothing_is_taken_twice(
            groups in prop::collection::vec((1u32..4, 1u32..4), 1..4),
            earlier in prop::collection::vec((1u32..4, any::<bool>()), 0..12),
        ) {
            let requests: Vec<_> = groups.iter().map(|&(count, racks)| request(count, racks)).collect();
            let earlier: Vec<_> = earlier.iter().enumerate()
                .map(|(n, &(rack, up))| machine(n, rack, if up { "running" } else { "lost" })).collect();
            let alive = earlier.iter().filter(|machine| machine.state == "running").count();
            let adoption = adopt(&requests, earlier);
            let missing: u32 = adoption.missing.iter().map(|request| request.count).sum();
            let asked: u32 = requests.iter().map(|request| request.count).sum();
            prop_assert_eq!(adoption.adopted.len() + missing as usize, asked as usize);
            prop_assert_eq!(adoption.adopted.len() + adoption.leftover.len(), alive);
            let mut ids: Vec<_> = adoption.adopted.iter().map(|machine| &machine.id).collect();
            ids.sort();
            ids.dedup();
            prop_assert_eq!(ids.len(), adoption.adopted.len());
        }
    }
}
