//! The parameter schemas of the kinds of step that a workflow uses, each made ready once.

use std::collections::HashMap;
use std::error::Error;

use boon::{Compiler, Draft, SchemaIndex, Schemas as Compiled, UrlLoader, ValidationError};
use serde_json::Value;

use super::bounds;

/// Schemas come from plugins: they refer to nothing outside of themselves.
struct NoLoader;

impl UrlLoader for NoLoader {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("it refers to {url}, outside of itself").into())
    }
}

/// Schemas that are ready to be used, by name.
#[derive(Default)]
pub struct Schemas {
    compiled: Compiled,
    /// Why not, where one is broken.
    ready: HashMap<String, Result<SchemaIndex, String>>,
}

impl Schemas {
    /// Makes a schema ready, unless one of that name is.
    pub fn add(&mut self, name: &str, schema: &Value) {
        if !self.ready.contains_key(name) {
            let place = format!("wfe:///{}", self.ready.len());
            let ready = compile(&place, schema, &mut self.compiled);
            self.ready.insert(name.to_owned(), ready);
        }
    }

    /// Holds a value against the schema of that name; the outer error says why the schema cannot be used.
    pub fn validate<'v>(&'v self, name: &str, value: &'v Value) -> Result<Result<(), ValidationError<'v, 'v>>, String> {
        let ready = self.ready.get(name).ok_or_else(|| format!("there is no schema of {name}"))?;
        Ok(self.compiled.validate(value, ready.clone()?))
    }
}

fn compile(place: &str, schema: &Value, compiled: &mut Compiled) -> Result<SchemaIndex, String> {
    bounds::check(schema)?;
    let mut compiler = Compiler::new();
    compiler.set_default_draft(Draft::V2020_12);
    compiler.use_loader(Box::new(NoLoader));
    compiler.add_resource(place, schema.clone()).map_err(|error| error.to_string())?;
    let nameless = |message: String| message.replace(&format!("{place}#"), "the schema");
    compiler.compile(place, compiled).map_err(|error| nameless(error.to_string()))
}
