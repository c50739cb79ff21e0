//! Refusing parameters before anything runs: what a step's schema cannot say.
//!
//! A check is a function of the parameters and of what else the workflow says of the step. It is called when a workflow
//! is validated or planned, without a run, so it can use nothing of [`cluster`](crate::cluster),
//! [`log`](mod@crate::log) and the like: a check that asks for something is broken.
//!
//! ```
//! # use serde::Deserialize;
//! use wfe_sdk::check::Check;
//!
//! # #[derive(Deserialize)]
//! # struct Parameters { low: f64, high: f64 }
//! fn check(p: &Parameters, check: &mut Check) {
//!     if p.low >= p.high {
//!         check.refuse(["/low", "/high"], format!("it must be below `high` ({})", p.high));
//!     }
//! }
//! ```
//!
//! Outputs of other steps are not known yet at that time. A check is called when its parameters can be read without them,
//! and a problem that names an unknown parameter is not told; once all are known, the check is called again.

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use crate::bindings::exports::wfe::step::plugin::Problem;

/// Takes what is wrong, and says what the workflow says of the step beside its parameters.
#[derive(Debug, Clone, Default)]
pub struct Check {
    /// What the plugin may do in this step.
    pub grants: Grants,
    /// The step whose window this one is about, when the workflow names one.
    pub during: Option<During>,
    unknown: Vec<String>,
    problems: Vec<Problem>,
}

/// What a step's plugin may do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Grants {
    /// Machines; none when it may not create any.
    pub cloud: Option<CloudGrant>,
    /// Keyspaces for CQL statements.
    pub keyspaces: Option<Vec<String>>,
    /// Capabilities without bounds of their own, such as `cluster` and `load`.
    pub capabilities: Vec<String>,
}

/// Which machines a step may create.
#[derive(Debug, Clone, PartialEq)]
pub struct CloudGrant {
    /// Machine types.
    pub types: Vec<String>,
    /// How many in all, over all attempts.
    pub machines: u32,
}

/// The step, or the phase of a step, that a step is about.
#[derive(Debug, Clone, PartialEq)]
pub struct During {
    /// The step's id.
    pub step: String,
    /// The phase's name.
    pub phase: Option<String>,
}

impl Check {
    /// A check of parameters that are all known, to test check functions with.
    pub fn new(grants: Grants, during: Option<During>) -> Self {
        Self { grants, during, ..Self::default() }
    }

    /// Reads what the engine says of a step. By hand: derived code would make each component a tenth larger.
    fn read(step: &str) -> Option<Self> {
        let step: Value = serde_json::from_str(step).ok()?;
        let grants = &step["grants"];
        let cloud = |cloud: &Value| {
            let machines = u32::try_from(cloud["machines"].as_u64()?).unwrap_or(u32::MAX);
            Some(CloudGrant { types: texts(&cloud["types"])?, machines })
        };
        let during = |during: &Value| {
            Some(During { step: during["step"].as_str()?.into(), phase: during["phase"].as_str().map(str::to_owned) })
        };
        let grants = Grants {
            cloud: cloud(&grants["cloud"]),
            keyspaces: texts(&grants["keyspaces"]),
            capabilities: texts(&grants["capabilities"]).unwrap_or_default(),
        };
        let (during, unknown) = (during(&step["during"]), texts(&step["unknown"]).unwrap_or_default());
        Some(Self { grants, during, unknown, problems: Vec::new() })
    }

    /// Something is wrong with these parameters: JSON pointers such as `/nodes/0/count`, an empty one for all parameters.
    /// It is shown at the first; nothing is told as long as one of them is not known.
    pub fn refuse<const N: usize>(&mut self, paths: [&str; N], message: impl Into<String>) {
        const { assert!(N > 0, "a problem is about at least one parameter") };
        if paths.iter().all(|path| self.knows(path)) {
            self.problems.push(Problem { path: paths[0].into(), message: message.into() });
        }
    }

    /// Whether the value at a JSON pointer is known, with all that is in it.
    fn knows(&self, path: &str) -> bool {
        let inside = |outer: &str, inner: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
        !self.unknown.iter().any(|unknown| unknown == path || inside(unknown, path) || inside(path, unknown))
    }

    /// What was refused so far.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

/// A list of texts; none when it is something else.
fn texts(value: &Value) -> Option<Vec<String>> {
    Some(value.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// What a step function's plugin has against parameters: first that they cannot be read, then what its check says.
pub(crate) fn problems<P: DeserializeOwned>(
    check: Option<fn(&P, &mut Check)>,
    parameters: &str,
    step: &str,
) -> Vec<Problem> {
    let all = |message: String| vec![Problem { path: String::new(), message }];
    let Some(mut found) = Check::read(step) else {
        return all("what the workflow says of the step cannot be read".into());
    };
    match serde_json::from_str(parameters) {
        Ok(parameters) => check.iter().for_each(|check| check(&parameters, &mut found)),
        // They may lack no more than what is not known yet.
        Err(_) if !found.unknown.is_empty() => {}
        Err(e) => return all(e.to_string()),
    }
    found.problems
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Range {
        low: f64,
        #[serde(default = "hundred")]
        high: f64,
    }

    fn hundred() -> f64 {
        100.0
    }

    fn ordered(range: &Range, check: &mut Check) {
        if range.low >= range.high {
            check.refuse(["/low", "/high"], "it is not below `high`");
        }
        if check.grants.cloud.as_ref().is_some_and(|cloud| cloud.machines == 0) {
            check.refuse([""], "it needs a machine");
        }
    }

    fn said(parameters: &str, step: &str) -> Vec<(String, String)> {
        let problems = problems(Some(ordered as fn(&Range, &mut Check)), parameters, step);
        problems.into_iter().map(|problem| (problem.path, problem.message)).collect()
    }

    fn pair(path: &str, message: &str) -> Vec<(String, String)> {
        vec![(path.into(), message.into())]
    }

    #[test]
    fn a_check_names_the_parameter() {
        assert_eq!(said(r#"{ "low": 1 }"#, "{}"), []);
        assert_eq!(said(r#"{ "low": 3, "high": 2 }"#, "{}"), pair("/low", "it is not below `high`"));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert_eq!(said(r#"{ "low": "x" }"#, "{}")[0].0, "");
        assert!(said(r#"{}"#, "{}")[0].1.contains("missing field `low`"));
        assert!(said(r#"{ "low": 1 }"#, "[").iter().any(|(_, message)| message.contains("says of the step")));
    }

    #[test]
    fn nothing_is_said_of_what_is_not_known() {
        let unknown = |path: &str| format!(r#"{{ "unknown": ["{path}"] }}"#);
        assert_eq!(said(r#"{ "low": 200 }"#, &unknown("/high")), []);
        assert_eq!(said(r#"{ "high": 200 }"#, &unknown("/low")), []);
        assert_eq!(said(r#"{ "low": 200 }"#, &unknown("/other")), pair("/low", "it is not below `high`"));
        assert_eq!(said(r#"{ "low": 200 }"#, &unknown("/highest")), pair("/low", "it is not below `high`"));
    }

    #[test]
    fn pointers_hold_what_is_inside_of_them() {
        let check = Check { unknown: vec!["/nodes/0/count".into()], ..Check::default() };
        let known = ["/nodes", "/nodes/0", "/nodes/0/count", "/nodes/0/count/x", "", "/nodes/1", "/nodes/0/counts"];
        assert_eq!(known.map(|path| check.knows(path)), [false, false, false, false, false, true, true]);
    }

    #[test]
    fn grants_are_read_as_the_engine_gives_them() {
        let step = r#"{ "grants": { "capabilities": ["cloud"], "cloud": { "types": ["a"], "machines": 0 }, "keyspaces": null },
            "during": { "step": "grow", "phase": null }, "unknown": [] }"#;
        assert_eq!(said(r#"{ "low": 1 }"#, step), pair("", "it needs a machine"));
        let check = Check::read(step).unwrap();
        assert_eq!(check.during, Some(During { step: "grow".into(), phase: None }));
    }
}
