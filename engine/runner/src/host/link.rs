//! Links a component's imports: every function of the contract is one generic host function.
//!
//! The contract's functions differ in their types and in what they do, not in how they are called: arguments become
//! JSON, [`Guest::call`] journals and answers them, the answer becomes the function's result. So the sandbox, the journal
//! and the grants have one door, and a new function of the contract needs no code here.

use serde_json::{Map, Value};
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, Linker, Type, Val};
use wasmtime::{Result, StoreContextMut, format_err};
use wfe_core::CallError;
use wfe_core::call::{Class, class_of};

use super::attempt::Guest;
use super::values::{from_json, to_json};
use crate::plugin::engine::TICKS_WITHOUT_CALL;

/// The version of the contract, as it ends the names of its interfaces.
const VERSION: &str = "@0.1.0";

/// The name of a function as [`wfe_core::call::NAMES`] has it: `wfe:cloud/machines@0.1.0` and `create` give
/// `cloud/machines.create`. None for another vendor's interface, or another version of the contract.
pub fn call_name(interface: &str, function: &str) -> Option<String> {
    let path = interface.strip_prefix("wfe:")?.strip_suffix(VERSION)?;
    Some(format!("{path}.{function}"))
}

/// A function that a component imports.
pub struct Imported {
    interface: String,
    function: String,
    /// Its name as [`wfe_core::call::NAMES`] has it.
    pub name: String,
}

/// The functions that a component imports; an error text names what is no function of the contract.
pub fn functions(component: &Component) -> Result<Vec<Imported>, String> {
    let engine = component.engine();
    let mut functions = Vec::new();
    for (interface, item) in component.component_type().imports(engine) {
        let ComponentItem::ComponentInstance(instance) = item.ty else {
            return Err(format!("imports `{interface}`, which is no capability"));
        };
        for (function, item) in instance.exports(engine) {
            if !matches!(item.ty, ComponentItem::ComponentFunc(_)) {
                continue;
            }
            let name = call_name(interface, function)
                .filter(|name| class_of(name).is_some())
                .ok_or_else(|| format!("imports `{interface}` `{function}`, which this wfe does not have"))?;
            functions.push(Imported { interface: interface.to_owned(), function: function.to_owned(), name });
        }
    }
    Ok(functions)
}

/// Defines these functions.
pub fn define(linker: &mut Linker<Guest>, functions: Vec<Imported>) -> Result<()> {
    for Imported { interface, function, name } in functions {
        linker.instance(&interface)?.func_new_async(&function, move |store, ty, arguments, results| {
            let name = name.clone();
            Box::new(async move { answer(store, &name, &ty, arguments, results).await })
        })?;
    }
    Ok(())
}

async fn answer(
    mut store: StoreContextMut<'_, Guest>,
    name: &str,
    ty: &ComponentFunc,
    arguments: &[Val],
    results: &mut [Val],
) -> Result<()> {
    let mut named = Map::with_capacity(arguments.len());
    for ((parameter, _), value) in ty.params().zip(arguments) {
        let value = to_json(value).ok_or_else(|| format_err!("`{name}` has an argument without a JSON form"))?;
        named.insert(parameter.to_owned(), value);
    }
    let answer = store.data_mut().call(name, Value::Object(named)).await?;
    if class_of(name) != Some(Class::Pure) {
        store.set_epoch_deadline(TICKS_WITHOUT_CALL);
    }
    let (Some(result), Some(slot)) = (ty.results().next(), results.first_mut()) else {
        return answer.map(|_| ()).map_err(|e| format_err!("`{name}`: {e}"));
    };
    *slot = lower(name, answer, &result)?;
    Ok(())
}

fn lower(name: &str, answer: Result<Value, CallError>, ty: &Type) -> Result<Val> {
    let misfit = |e: String| format_err!("the answer of `{name}`: {e}");
    let Type::Result(result) = ty else {
        let value = answer.map_err(|e| format_err!("`{name}`: {e}"))?;
        return from_json(&value, ty).map_err(misfit);
    };
    let (inner, json) = match &answer {
        Ok(value) => (result.ok(), value.clone()),
        Err(error) => (result.err(), serde_json::to_value(error)?),
    };
    let inner = inner.map(|ty| from_json(&json, &ty).map(Box::new)).transpose().map_err(misfit)?;
    Ok(Val::Result(if answer.is_ok() { Ok(inner) } else { Err(inner) }))
}
