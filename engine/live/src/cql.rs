//! CQL statements with JSON on both sides.

use std::net::IpAddr;

use scylla::client::session::Session;
use scylla::cluster::metadata::{CollectionType, ColumnType, NativeType};
use scylla::response::query_result::QueryResult;
use scylla::value::{CqlTimestamp, CqlValue, Row};
use serde_json::{Map, Value, json};
use wfe_core::CallError;

/// Runs a statement; answers its rows as a JSON array of objects.
pub async fn query(session: &Session, statement: &str, values: &str) -> Result<String, CallError> {
    let result = run(session, statement, values).await?;
    if !result.is_rows() {
        return Ok("[]".into());
    }
    let failed = |e: String| refused(statement, &e);
    let result = result.into_rows_result().map_err(|e| failed(e.to_string()))?;
    let names: Vec<String> = result.column_specs().iter().map(|spec| spec.name().to_owned()).collect();
    let mut rows = Vec::new();
    for row in result.rows::<Row>().map_err(|e| failed(e.to_string()))? {
        let row = row.map_err(|e| failed(e.to_string()))?;
        let fields =
            names.iter().cloned().zip(row.columns.iter().map(|column| column.as_ref().map_or(Value::Null, json_of)));
        rows.push(Value::Object(fields.collect::<Map<_, _>>()));
    }
    Ok(Value::Array(rows).to_string())
}

/// Runs a statement that answers nothing.
pub async fn execute(session: &Session, statement: &str, values: &str) -> Result<(), CallError> {
    run(session, statement, values).await.map(|_| ())
}

async fn run(session: &Session, statement: &str, values: &str) -> Result<QueryResult, CallError> {
    let wrong = |why: String| CallError::request("cql-values", format!("the values of `{statement}` are wrong: {why}"));
    let text = if values.trim().is_empty() { "[]" } else { values };
    let values: Vec<Value> = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
    if values.is_empty() {
        return session.query_unpaged(statement, ()).await.map_err(|e| refused(statement, &e.to_string()));
    }
    let prepared = session.prepare(statement).await.map_err(|e| refused(statement, &e.to_string()))?;
    let types: Vec<_> = prepared.get_variable_col_specs().iter().collect();
    if types.len() != values.len() {
        return Err(wrong(format!("it has {} markers and there are {} values", types.len(), values.len())));
    }
    let bound = types.iter().zip(&values).map(|(spec, value)| cql_of(spec.typ(), value).map_err(wrong));
    let bound = bound.collect::<Result<Vec<_>, _>>()?;
    session.execute_unpaged(&prepared, bound).await.map_err(|e| refused(statement, &e.to_string()))
}

fn refused(statement: &str, why: &str) -> CallError {
    CallError::product("cql-failed", format!("the database did not do `{statement}`: {why}"))
}

/// A value of that type; none for null.
fn cql_of(wanted: &ColumnType<'_>, value: &Value) -> Result<Option<CqlValue>, String> {
    if value.is_null() {
        return Ok(None);
    }
    let unfit = || format!("{value} does not fit the type {wanted:?}");
    let found = match wanted {
        ColumnType::Native(native) => native_of(native, value),
        ColumnType::Collection { typ: CollectionType::List(of) | CollectionType::Set(of), .. } => {
            let items = value.as_array().ok_or_else(unfit)?.iter().map(|item| cql_of(of, item));
            Some(CqlValue::List(items.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()))
        }
        _ => None,
    };
    found.map(Some).ok_or_else(unfit)
}

fn native_of(wanted: &NativeType, value: &Value) -> Option<CqlValue> {
    Some(match wanted {
        NativeType::Ascii => CqlValue::Ascii(value.as_str()?.into()),
        NativeType::Text => CqlValue::Text(value.as_str()?.into()),
        NativeType::Boolean => CqlValue::Boolean(value.as_bool()?),
        NativeType::TinyInt => CqlValue::TinyInt(value.as_i64()?.try_into().ok()?),
        NativeType::SmallInt => CqlValue::SmallInt(value.as_i64()?.try_into().ok()?),
        NativeType::Int => CqlValue::Int(value.as_i64()?.try_into().ok()?),
        NativeType::BigInt => CqlValue::BigInt(value.as_i64()?),
        NativeType::Float => CqlValue::Float(value.as_f64()? as f32),
        NativeType::Double => CqlValue::Double(value.as_f64()?),
        NativeType::Timestamp => CqlValue::Timestamp(CqlTimestamp(value.as_i64()?)),
        NativeType::Inet => CqlValue::Inet(value.as_str()?.parse::<IpAddr>().ok()?),
        NativeType::Uuid => CqlValue::Uuid(value.as_str()?.parse().ok()?),
        NativeType::Blob => CqlValue::Blob(bytes_of(value.as_str()?)?),
        _ => return None,
    })
}

/// Reads `0x00ff`.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    let pairs = digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    if digits.len() % 2 == 0 { pairs.collect() } else { None }
}

/// A value as JSON: numbers that JSON has stay numbers, blobs become `0x…`, times milliseconds since 1970.
fn json_of(value: &CqlValue) -> Value {
    let list = |items: &[CqlValue]| items.iter().map(json_of).collect();
    match value {
        CqlValue::Ascii(text) | CqlValue::Text(text) => json!(text),
        CqlValue::Boolean(yes) => json!(yes),
        CqlValue::TinyInt(n) => json!(n),
        CqlValue::SmallInt(n) => json!(n),
        CqlValue::Int(n) => json!(n),
        CqlValue::BigInt(n) => json!(n),
        CqlValue::Counter(n) => json!(n.0),
        CqlValue::Float(n) => json!(n),
        CqlValue::Double(n) => json!(n),
        CqlValue::Timestamp(time) => json!(time.0),
        CqlValue::Inet(address) => json!(address.to_string()),
        CqlValue::Uuid(id) => json!(id.to_string()),
        CqlValue::Timeuuid(id) => json!(id.to_string()),
        CqlValue::Blob(bytes) => {
            json!(bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}")))
        }
        CqlValue::List(items) | CqlValue::Set(items) | CqlValue::Vector(items) => Value::Array(list(items)),
        CqlValue::Map(pairs) => {
            let key = |key: &CqlValue| match json_of(key) {
                Value::String(text) => text,
                other => other.to_string(),
            };
            Value::Object(pairs.iter().map(|(k, v)| (key(k), json_of(v))).collect())
        }
        CqlValue::Tuple(items) => items.iter().map(|item| item.as_ref().map_or(Value::Null, json_of)).collect(),
        CqlValue::UserDefinedType { fields, .. } => Value::Object(
            fields.iter().map(|(name, v)| (name.clone(), v.as_ref().map_or(Value::Null, json_of))).collect(),
        ),
        CqlValue::Empty => json!(""),
        other => json!(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native(wanted: NativeType, value: Value) -> Result<Option<CqlValue>, String> {
        cql_of(&ColumnType::Native(wanted), &value)
    }

    #[test]
    fn a_value_that_does_not_fit_its_type_is_refused() {
        assert_eq!(native(NativeType::Int, json!(7)), Ok(Some(CqlValue::Int(7))));
        assert_eq!(native(NativeType::Int, Value::Null), Ok(None));
        assert!(native(NativeType::Int, json!(1u64 << 40)).is_err());
        assert!(native(NativeType::Int, json!("7")).unwrap_err().starts_with("\"7\" does not fit the type"));
        assert!(native(NativeType::Blob, json!("0xf")).is_err());
    }

    #[test]
    fn values_come_back_as_they_went() {
        let values = [
            (NativeType::Text, json!("x")),
            (NativeType::BigInt, json!(-3)),
            (NativeType::Boolean, json!(true)),
            (NativeType::Double, json!(0.5)),
            (NativeType::Blob, json!("0x00ff")),
            (NativeType::Inet, json!("127.0.0.1")),
            (NativeType::Uuid, json!("6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47")),
        ];
        for (wanted, value) in values {
            assert_eq!(json_of(&native(wanted, value.clone()).unwrap().unwrap()), value);
        }
    }
}
