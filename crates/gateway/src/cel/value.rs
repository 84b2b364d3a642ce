//! What names stand for.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use cel::ExecutionError;
use cel::objects::{Key, Map};

/// What a name stands for.
#[derive(Debug, Clone)]
pub(crate) struct Value(pub(super) cel::Value);

impl Value {
    /// A mapping. Fields without a value are not there.
    pub(crate) fn fields<'a>(fields: impl IntoIterator<Item = (&'a str, Option<Self>)>) -> Self {
        let there = fields.into_iter();
        let there = there.filter_map(|(name, value)| Some((Key::from(name), value?.0)));
        let map: HashMap<Key, cel::Value> = there.collect();
        Self(cel::Value::Map(Map { map: Arc::new(map) }))
    }

    /// A list of texts.
    pub(crate) fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let texts: Vec<cel::Value> = texts.into_iter().map(cel::Value::from).collect();
        Self(cel::Value::List(Arc::new(texts)))
    }

    /// What stands behind it after a dot.
    pub(super) fn field(&self, name: &str) -> Option<Self> {
        match &self.0 {
            cel::Value::Map(map) => map.get(&Key::from(name)).cloned().map(Self),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self(cel::Value::Bool(value))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self(cel::Value::Int(number))
    }
}

impl From<&serde_json::Map<String, serde_json::Value>> for Value {
    fn from(object: &serde_json::Map<String, serde_json::Value>) -> Self {
        let fields = object.iter();
        Self::fields(fields.map(|(name, value)| (name.as_str(), Some(Self(from_json(value))))))
    }
}

fn from_json(value: &serde_json::Value) -> cel::Value {
    match value {
        serde_json::Value::Null => cel::Value::Null,
        serde_json::Value::Bool(value) => cel::Value::Bool(*value),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => cel::Value::Int(whole),
            (None, float) => cel::Value::Float(float.unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => text.as_str().into(),
        serde_json::Value::Array(items) => {
            cel::Value::List(Arc::new(items.iter().map(from_json).collect()))
        }
        serde_json::Value::Object(object) => Value::from(object).0,
    }
}

/// As one would write it in an expression.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            cel::Value::Null => f.write_str("null"),
            cel::Value::Bool(value) => write!(f, "{value}"),
            cel::Value::Int(number) => write!(f, "{number}"),
            cel::Value::UInt(number) => write!(f, "{number}u"),
            cel::Value::Float(number) => write!(f, "{number}"),
            cel::Value::String(text) => write!(f, "{text:?}"),
            cel::Value::List(items) => {
                let items: Vec<String> =
                    items.iter().map(|v| Self(v.clone()).to_string()).collect();
                write!(f, "[{}]", items.join(", "))
            }
            cel::Value::Map(map) => {
                let entry = |(key, value): (&Key, &cel::Value)| {
                    format!("{:?}: {}", key.to_string(), Self(value.clone()))
                };
                let mut entries: Vec<String> = map.map.iter().map(entry).collect();
                entries.sort();
                write!(f, "{{{}}}", entries.join(", "))
            }
            other => write!(f, "a {}", other.type_of()),
        }
    }
}

/// Why an expression is neither true nor false. Without the values: they may be a caller's own.
pub(super) fn explain(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(name) => format!("there is no `{name}`"),
        ExecutionError::UndeclaredReference(name) => format!("there is nothing named `{name}`"),
        ExecutionError::NoSuchOverload(call) => call.to_string(),
        ExecutionError::FunctionError { function, .. } => format!("`{function}` failed"),
        ExecutionError::IndexOutOfBounds(_) => "the list is shorter".to_owned(),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "a division by zero".to_owned()
        }
        ExecutionError::Overflow(..) => "a number is too large".to_owned(),
        _ => "values do not fit together".to_owned(),
    }
}
