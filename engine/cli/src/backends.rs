//! The backend behind a name.

use std::collections::BTreeMap;
use std::sync::Arc;

use wfe_core::backend::Backend;
use wfe_live::{Local, LocalOptions, Static, StaticOptions};
use wfe_sim::{Faults, Sim};

use crate::args::{BackendArgs, BackendName};
use crate::failure::Failure;

const FAULTS: &str = "faults";
const CONTACT_POINTS: &str = "contact-points";

/// How a backend is made, in a form that the journal keeps: the text of the faults, the contact points.
pub fn options(name: BackendName, args: &BackendArgs) -> Result<BTreeMap<String, String>, Failure> {
    let mut options = BTreeMap::new();
    match (name, &args.faults) {
        (_, None) => {}
        (BackendName::Sim, Some(path)) => {
            let text = std::fs::read_to_string(path)
                .map_err(|e| Failure::request(format!("{} cannot be read: {e}", path.display())))?;
            parse(&text).map_err(|e| Failure::request(format!("{}: {e}", path.display())))?;
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
    Ok(options)
}

/// Makes the backend.
pub fn make(name: BackendName, options: &BTreeMap<String, String>) -> Result<Arc<dyn Backend>, Failure> {
    Ok(match name {
        BackendName::Sim => {
            let text = options.get(FAULTS).map(String::as_str).unwrap_or_default();
            Arc::new(Sim::new(parse(text).map_err(|e| Failure::request(format!("faults: {e}")))?))
        }
        BackendName::Local => Arc::new(Local::new(LocalOptions::default())),
        BackendName::Static => {
            let points = options.get(CONTACT_POINTS).map(String::as_str).unwrap_or_default();
            let points = points.split(',').map(str::to_owned).collect();
            Arc::new(Static::new(points, StaticOptions::default()))
        }
    })
}

fn parse(text: &str) -> Result<Faults, String> {
    match text.trim().is_empty() {
        true => Ok(Faults::default()),
        false => serde_saphyr::from_str(text).map_err(|e| e.to_string()),
    }
}
