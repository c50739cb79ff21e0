//! Component values as JSON and back, guided by the contract's types.
//!
//! Records become objects with the contract's field names, options become `null` or the value, lists become arrays.

use serde_json::{Map, Number, Value};
use wasmtime::component::{Type, Val};

/// A value as JSON. None for kinds that the contract does not use, such as resources.
pub fn to_json(value: &Val) -> Option<Value> {
    Some(match value {
        Val::Bool(v) => Value::Bool(*v),
        Val::U8(v) => (*v).into(),
        Val::U16(v) => (*v).into(),
        Val::U32(v) => (*v).into(),
        Val::U64(v) => (*v).into(),
        Val::S8(v) => (*v).into(),
        Val::S16(v) => (*v).into(),
        Val::S32(v) => (*v).into(),
        Val::S64(v) => (*v).into(),
        Val::Float32(v) => float(f64::from(*v)),
        Val::Float64(v) => float(*v),
        Val::Char(v) => v.to_string().into(),
        Val::String(v) => v.clone().into(),
        Val::Enum(v) => v.clone().into(),
        Val::List(items) | Val::Tuple(items) => Value::Array(items.iter().map(to_json).collect::<Option<_>>()?),
        Val::Record(fields) => Value::Object(
            fields.iter().map(|(name, value)| Some((name.clone(), to_json(value)?))).collect::<Option<Map<_, _>>>()?,
        ),
        Val::Option(None) => Value::Null,
        Val::Option(Some(value)) => to_json(value)?,
        _ => return None,
    })
}

/// Not a number and infinities have no JSON; they become `null`, which no function of the contract takes for a number.
fn float(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// The value of that type which the JSON describes; an error text names what does not fit.
pub fn from_json(value: &Value, ty: &Type) -> Result<Val, String> {
    let misfit = || format!("{value} does not fit the contract's type");
    Ok(match ty {
        Type::Bool => Val::Bool(value.as_bool().ok_or_else(misfit)?),
        Type::U8 => Val::U8(unsigned(value).ok_or_else(misfit)?),
        Type::U16 => Val::U16(unsigned(value).ok_or_else(misfit)?),
        Type::U32 => Val::U32(unsigned(value).ok_or_else(misfit)?),
        Type::U64 => Val::U64(value.as_u64().ok_or_else(misfit)?),
        Type::S64 => Val::S64(value.as_i64().ok_or_else(misfit)?),
        Type::Float64 => Val::Float64(value.as_f64().ok_or_else(misfit)?),
        Type::String => Val::String(value.as_str().ok_or_else(misfit)?.to_owned()),
        Type::List(list) => {
            let items = value.as_array().ok_or_else(misfit)?;
            Val::List(items.iter().map(|item| from_json(item, &list.ty())).collect::<Result<_, _>>()?)
        }
        Type::Record(record) => Val::Record(
            record
                .fields()
                .map(|field| {
                    let inner = value.get(field.name).unwrap_or(&Value::Null);
                    Ok((field.name.to_owned(), from_json(inner, &field.ty)?))
                })
                .collect::<Result<_, String>>()?,
        ),
        Type::Option(_) if value.is_null() => Val::Option(None),
        Type::Option(option) => Val::Option(Some(Box::new(from_json(value, &option.ty())?))),
        _ => return Err(misfit()),
    })
}

fn unsigned<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    T::try_from(value.as_u64()?).ok()
}
