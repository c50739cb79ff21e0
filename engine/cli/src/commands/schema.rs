//! `wfe schema`: the JSON Schema of workflow files, for editors.

use wfe_core::workflow;
use wfe_runner::plugin::Plugins;

use crate::failure::Failure;
use crate::runtime;

/// Prints the schema, with the parameters of the built-in kinds of step.
pub fn schema() -> Result<u8, Failure> {
    let plugins = runtime(false)?.block_on(Plugins::builtin())?;
    let schema = workflow::schema_with(&plugins.catalog());
    outln!("{}", serde_json::to_string_pretty(&schema).map_err(|e| Failure::infrastructure(e.to_string()))?);
    Ok(0)
}
