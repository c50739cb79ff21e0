//! The backend behind a name.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_saphyr::{DefaultMessageFormatter, MessageFormatter as _};
use wfe_core::backend::Backend;
use wfe_core::diagnostic::{Diagnostics, Mistake, Source, Span};
use wfe_live::{Local, LocalOptions, Login, Static, StaticOptions};
use wfe_sim::{Faults, Sim};

use crate::args::{BackendArgs, BackendName};
use crate::failure::Failure;

const FAULTS: &str = "faults";
const CONTACT_POINTS: &str = "contact-points";
const USER: &str = "user";
/// The environment variable with the password of `--user`. It is never written down: a resumed run asks for it again.
const PASSWORD: &str = "WFE_PASSWORD";

/// How a backend is made, in a form that the journal keeps: the text of the faults, the contact points.
pub fn options(name: BackendName, args: &BackendArgs) -> Result<BTreeMap<String, String>, Failure> {
    let mut options = BTreeMap::new();
    match (name, &args.faults) {
        (_, None) => {}
        (BackendName::Sim, Some(path)) => {
            let text = std::fs::read_to_string(path)
                .map_err(|e| Failure::request(format!("{} cannot be read: {e}", path.display())))?;
            parse(&path.display().to_string(), &text)?;
            options.insert(FAULTS.into(), text);
        }
        _ => return Err(Failure::request(format!("--faults are for --backend sim; {} has real ones", name.name()))),
    }
    match (name, args.contact_points.is_empty()) {
        (BackendName::Static, true) => {
            return Err(Failure::request("--backend static needs the cluster's address: --contact-point HOST[:PORT]"));
        }
        (BackendName::Static, false) => drop(options.insert(CONTACT_POINTS.into(), args.contact_points.join(","))),
        (_, true) => {}
        (_, false) => return Err(Failure::request("--contact-point is for --backend static")),
    }
    match (name, &args.user) {
        (BackendName::Static, Some(user)) => drop(options.insert(USER.into(), user.clone())),
        (_, None) => {}
        _ => return Err(Failure::request("--user is for --backend static")),
    }
    Ok(options)
}

/// Makes the backend.
pub fn make(name: BackendName, options: &BTreeMap<String, String>) -> Result<Arc<dyn Backend>, Failure> {
    Ok(match name {
        BackendName::Sim => {
            let text = options.get(FAULTS).map(String::as_str).unwrap_or_default();
            Arc::new(Sim::new(parse("the run's faults", text)?))
        }
        BackendName::Local => Arc::new(Local::new(LocalOptions::default())),
        BackendName::Static => {
            let points = options.get(CONTACT_POINTS).map(String::as_str).unwrap_or_default();
            let points = points.split(',').map(str::to_owned).collect();
            let login = options.get(USER).map(|user| login(user)).transpose()?;
            Arc::new(Static::new(points, StaticOptions { login, ..StaticOptions::default() }))
        }
    })
}

fn login(user: &str) -> Result<Login, Failure> {
    let missing =
        |_| Failure::request(format!("the password of `{user}` is taken from the environment: set {PASSWORD}"));
    Ok(Login { user: user.to_owned(), password: std::env::var(PASSWORD).map_err(missing)? })
}

const FAULTS_HELP: &str = "faults are a list, such as `- machine-lost: {machine: i-0003, at: 3600}`; the kinds are \
                           machine-lost, capacity, join-fails, terminate-fails, active-reads, loader-lost, \
                           answer-lost, answer-late, applied-twice and listed-late";

/// Reads the text of a faults file; a mistake is shown at its place.
fn parse(name: &str, text: &str) -> Result<Faults, Diagnostics> {
    if text.trim().is_empty() {
        return Ok(Faults::default());
    }
    let faults: Faults = serde_saphyr::from_str(text).map_err(|error| {
        let source = Source::new(name, text);
        let start = error.location().map_or(0, |place| byte_of(text, place.line(), place.column()));
        let end = text[start..].find(|c: char| c.is_whitespace() || ",:{}[]".contains(c));
        let span = Span::new(start, end.map_or(text.len(), |length| start + length));
        let message = match DefaultMessageFormatter.format_message(error.without_snippet()) {
            said if said == "expected sequence start" => "a list of faults is wanted here".into(),
            said => said.replace(char::is_control, " "),
        };
        Diagnostics::of(&source, [Mistake::new(span, message).help(FAULTS_HELP.to_owned())])
    })?;
    let source = Source::new(name, text);
    let whole = Span::new(0, text.lines().next().map_or(0, str::len));
    let problems: Vec<Mistake> = faults.problems().into_iter().map(|problem| Mistake::new(whole, problem)).collect();
    if problems.is_empty() { Ok(faults) } else { Err(Diagnostics::of(&source, problems)) }
}

/// The byte at a line and a column, both from 1.
fn byte_of(text: &str, line: u64, column: u64) -> usize {
    let before = |count: u64| usize::try_from(count.saturating_sub(1)).unwrap_or(usize::MAX);
    let start: usize = text.split_inclusive('\n').take(before(line)).map(str::len).sum();
    text[start..].char_indices().nth(before(column)).map_or(text.len(), |(index, _)| start + index)
}
