//! The parameter schemas of the kinds of step that a workflow uses, each made ready once.

use std::collections::HashMap;
use std::error::Error;

use boon::{Compiler, Draft, SchemaIndex, Schemas as Compiled, UrlLoader, ValidationError};
use serde_json::{Map, Value};

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

/// A schema in which the formats of whole numbers are bounds, because a plugin cannot read a number beyond them.
fn with_ranges(schema: &Value) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(with_ranges).collect(),
        Value::Object(map) => {
            let mut map: Map<String, Value> =
                map.iter().map(|(key, value)| (key.clone(), with_ranges(value))).collect();
            if let Some((least, most)) = map.get("format").and_then(Value::as_str).and_then(range) {
                map.entry("minimum").or_insert(least.into());
                map.entry("maximum").or_insert(most.into());
            }
            Value::Object(map)
        }
        other => other.clone(),
    }
}

/// The least and the greatest number of a format.
fn range(format: &str) -> Option<(i64, u64)> {
    let (signed, bits) = match format.strip_prefix("uint") {
        Some(bits) => (false, bits),
        None => (true, format.strip_prefix("int")?),
    };
    match (signed, bits) {
        (true, "8") => Some((i8::MIN.into(), i8::MAX as u64)),
        (true, "16") => Some((i16::MIN.into(), i16::MAX as u64)),
        (true, "32") => Some((i32::MIN.into(), i32::MAX as u64)),
        (true, "64") => Some((i64::MIN, i64::MAX as u64)),
        (false, "8") => Some((0, u8::MAX.into())),
        (false, "16") => Some((0, u16::MAX.into())),
        (false, "32") => Some((0, u32::MAX.into())),
        (false, "64") => Some((0, u64::MAX)),
        _ => None,
    }
}

fn compile(place: &str, schema: &Value, compiled: &mut Compiled) -> Result<SchemaIndex, String> {
    bounds::check(schema)?;
    let mut compiler = Compiler::new();
    compiler.set_default_draft(Draft::V2020_12);
    compiler.use_loader(Box::new(NoLoader));
    compiler.add_resource(place, with_ranges(schema)).map_err(|error| error.to_string())?;
    let nameless = |message: String| message.replace(&format!("{place}#"), "the schema");
    compiler.compile(place, compiled).map_err(|error| nameless(error.to_string()))
}
