//! How a run ends: a pure function of its state.

use crate::error::kind;
use crate::event::ResourceState;
use crate::plan::Plan;
use crate::state::RunState;
use crate::verdict::Verdict;

impl RunState {
    /// The verdict of a run whose steps have all ended, with the reasons for it, the gravest first. `troubles` are what the
    /// engine itself could not do at the end.
    pub fn judge(&self, plan: &Plan, troubles: &[String]) -> (Verdict, Vec<String>) {
        let mut findings: Vec<(Verdict, String)> = Vec::new();
        findings.extend(self.cancelled.iter().map(|reason| match self.broken {
            true => (Verdict::Infrastructure, format!("it could not go on: {reason}")),
            false => (Verdict::Cancelled, format!("cancelled: {reason}")),
        }));
        findings.extend(self.failed_steps(plan));
        findings.extend(self.broken_limits());
        findings.extend(self.incomplete_measurements());
        findings.extend(self.leaks());
        findings.extend(self.skipped_steps());
        findings.extend(troubles.iter().map(|trouble| (Verdict::Infrastructure, trouble.clone())));
        findings.sort_by_key(|(verdict, _)| std::cmp::Reverse(*verdict));
        let verdict = findings.first().map_or(Verdict::Pass, |(verdict, _)| *verdict);
        (verdict, findings.into_iter().map(|(_, reason)| reason).collect())
    }

    fn failed_steps<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = (Verdict, String)> + 'a {
        plan.steps.iter().filter_map(|step| {
            let error = self.attempt(&step.id)?.error()?;
            let verdict = match error.kind.as_str() {
                kind::PRODUCT => Verdict::Fail,
                kind::INCOMPLETE => Verdict::Inconclusive,
                kind::CANCELLED if !self.broken => Verdict::Cancelled,
                _ => Verdict::Infrastructure,
            };
            Some((verdict, format!("step `{}` failed: {}", step.id, error.message)))
        })
    }

    /// What was skipped was not tested, whatever the reason.
    fn skipped_steps(&self) -> impl Iterator<Item = (Verdict, String)> + '_ {
        self.steps.iter().filter_map(|(id, step)| {
            let why = step.skipped.as_ref()?;
            Some((Verdict::Inconclusive, format!("step `{id}` was skipped: {why}")))
        })
    }

    fn broken_limits(&self) -> impl Iterator<Item = (Verdict, String)> + '_ {
        self.limits.iter().filter_map(|(step, limit)| match limit.holds {
            Some(true) => None,
            Some(false) => {
                Some((Verdict::Fail, format!("`{step}` breaks {}: {} in {}", limit.rule, limit.value, limit.place)))
            }
            None => Some((Verdict::Inconclusive, format!("`{step}` cannot say {}: {}", limit.rule, limit.place))),
        })
    }

    fn incomplete_measurements(&self) -> impl Iterator<Item = (Verdict, String)> + '_ {
        self.measurements.iter().filter_map(|measured| {
            let operations = &measured.measurement.operations;
            let missing: Vec<&str> = operations
                .iter()
                .filter(|operation| !operation.complete)
                .flat_map(|operation| operation.missing.iter().map(String::as_str))
                .collect();
            let text = match (operations.is_empty(), missing.is_empty()) {
                (true, _) => "nothing was recorded".to_owned(),
                (false, true) => return None,
                (false, false) => missing.join(", "),
            };
            Some((Verdict::Inconclusive, format!("`{}` is incomplete: {text}", measured.step)))
        })
    }

    fn leaks(&self) -> impl Iterator<Item = (Verdict, String)> + '_ {
        self.ledger.resources().filter(|resource| resource.state == ResourceState::Leaked).map(|resource| {
            let why = resource.reason.as_deref().unwrap_or("it could not be removed");
            (Verdict::Infrastructure, format!("{} {} may still exist: {why}", resource.kind, resource.id))
        })
    }
}
