//! From a workflow's file to a plan with its plugins.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use wfe_core::backend::Offers;
use wfe_core::diagnostic::{Diagnostics, Mistake, Source};
use wfe_core::event::RunStarted;
use wfe_core::plan::{Choice, Plan};
use wfe_core::workflow::Reading;
use wfe_runner::directory;
use wfe_runner::plugin::{PluginError, Plugins, builtin_names};

use crate::args::{BackendName, ChoiceArgs};
use crate::backends;
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

/// Reads, checks and plans the workflow in a file. `shown` is how messages name the file; plugin files are found beside
/// it.
pub async fn prepare(file: &Path, shown: &str, choice: &Choice) -> Result<Ready, Failure> {
    let (bytes, reading) = read(file, shown)?;
    let plugins = Plugins::load(&uses(&reading), directory_of(file)).await;
    let plugins = plugins.map_err(|error| unusable(&reading, error))?;
    ready(bytes, reading, plugins, choice).await
}

/// Plans a run again from the copies of its workflow and its plugins.
pub async fn prepare_again(run: &Path, started: &RunStarted, choice: &Choice) -> Result<Ready, Failure> {
    let file = run.join(wfe_runner::run::WORKFLOW);
    let (bytes, reading) = read(&file, &file.display().to_string())?;
    let plugins = Plugins::load_copies(&uses(&reading), run, &started.plugins).await;
    let plugins = plugins.map_err(|error| unusable(&reading, error))?;
    ready(bytes, reading, plugins, choice).await
}

fn read(file: &Path, shown: &str) -> Result<(Vec<u8>, Reading), Failure> {
    let bytes =
        directory::read(file, MOST_BYTES).map_err(|e| Failure::request(format!("{shown} cannot be read: {e}")))?;
    let source = Source::from_bytes(shown, &bytes)?;
    Ok((bytes, Reading::of(source)))
}

async fn ready(bytes: Vec<u8>, reading: Reading, plugins: Plugins, choice: &Choice) -> Result<Ready, Failure> {
    let plan = plugins.plan(reading, choice).await?;
    Ok(Ready { plan, plugins, bytes })
}

/// No workflow is so large, bytes.
const MOST_BYTES: u64 = 64 << 20;

/// The built-in plugins and the ones in files that the workflow names. Mistakes of the workflow are not told here: the
/// plan tells all of them at once.
fn uses(reading: &Reading) -> BTreeSet<String> {
    let files = reading.plugin_files().into_iter().map(|file| file.value.clone());
    builtin_names().map(str::to_owned).chain(files).collect()
}

/// A plugin that cannot be used, told at the place where the workflow names it.
fn unusable(reading: &Reading, error: PluginError) -> Failure {
    let files = reading.plugin_files();
    match files.iter().find(|file| file.value.split('#').next() == Some(error.plugin.as_str())) {
        Some(file) => Diagnostics::of(reading.source(), [Mistake::new(file.span, error.to_string())]).into(),
        None => error.into(),
    }
}

/// What the command line chooses.
pub fn choice(args: &ChoiceArgs) -> Result<Choice, Failure> {
    let ChoiceArgs { backend, profile, set } = args.clone();
    let offers = backends::make(backend, &BTreeMap::new())?.offers();
    Ok(Choice { profile, backend: backend.name().into(), offers, set })
}

/// What a run that goes on was begun with. What its backend offers was held against the workflow then, and a newer
/// catalogue must not keep its machines from being given back.
pub fn choice_of_run(backend: BackendName, started: &RunStarted) -> Choice {
    let set = started.set.clone().into_iter().collect();
    Choice { profile: started.profile.clone(), backend: backend.name().into(), offers: Offers::default(), set }
}

/// The directory that a file lies in.
fn directory_of(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
