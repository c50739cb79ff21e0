//! From a workflow's file to a plan with its plugins.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use wfe_core::diagnostic::{Diagnostics, Mistake, Source};
use wfe_core::plan::{self, Choice, Plan};
use wfe_core::workflow::Workflow;
use wfe_runner::plugin::{Plugins, builtin_names};

use crate::args::{BackendName, ChoiceArgs};
use crate::failure::Failure;

/// A workflow that can be run.
pub struct Ready {
    /// What will be run.
    pub plan: Plan,
    /// The plugins that its steps use.
    pub plugins: Plugins,
    /// The file's bytes.
    pub bytes: Vec<u8>,
}

/// Reads, checks and plans the workflow in a file. `shown` is how messages name the file; plugin files are found
/// relative to `base`.
pub async fn prepare(file: &Path, shown: &str, base: &Path, choice: &Choice) -> Result<Ready, Failure> {
    let bytes = read(file).map_err(|e| Failure::request(format!("{shown} cannot be read: {e}")))?;
    let source = Source::from_bytes(shown, &bytes)?;
    let plugins = plugins(&source, base).await?;
    let plan = plan::build(&source, &plugins.catalog(), choice)?;
    Ok(Ready { plan, plugins, bytes })
}

/// No workflow is so large: what has no end, such as a device, is not read for ever.
const MOST_BYTES: u64 = 64 << 20;

fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The built-in plugins and the ones in files that the workflow names. Mistakes of the workflow are not told here: the
/// plan tells all of them at once.
async fn plugins(source: &Source, base: &Path) -> Result<Plugins, Failure> {
    let files = Workflow::plugin_files(source);
    let mut uses: BTreeSet<String> = builtin_names().map(str::to_owned).collect();
    uses.extend(files.iter().map(|file| file.value.clone()));
    Plugins::load(&uses, base).await.map_err(|error| {
        let named = files.iter().find(|file| file.value.split('#').next() == Some(error.plugin.as_str()));
        match named {
            Some(file) => Diagnostics::of(source, [Mistake::new(file.span, error.to_string())]).into(),
            None => error.into(),
        }
    })
}

/// What the command line chooses.
pub fn choice(args: &ChoiceArgs) -> Choice {
    choice_of(args.backend, args.profile.clone(), args.set.clone())
}

/// A choice by its parts.
pub fn choice_of(backend: BackendName, profile: Option<String>, set: Vec<(String, String)>) -> Choice {
    Choice { profile, backend: backend.name().into(), set }
}

/// The directory that a file lies in.
pub fn directory_of(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
