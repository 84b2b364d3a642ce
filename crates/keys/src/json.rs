//! JSON in which no member is given twice, at any depth. Of two claims of one name, two readers may believe different
//! ones (RFC 7519 §4 lets us refuse both). Called by the readers of JWS headers, JWKS and claims.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};

/// Reads JSON into `T`.
///
/// # Errors
///
/// If it is not JSON, has another shape, or gives a member twice.
pub fn read_distinct<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    let Distinct(value) = serde_json::from_slice(json)?;
    serde_json::from_value(value)
}

struct Distinct(Value);

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DistinctVisitor)
    }
}

struct DistinctVisitor;

impl<'de> Visitor<'de> for DistinctVisitor {
    type Value = Distinct;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Distinct, E> {
        Ok(Distinct(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Distinct, E> {
        Ok(Distinct(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Distinct, E> {
        Ok(Distinct(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Distinct, E> {
        let number = Number::from_f64(value);
        Ok(Distinct(number.map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Distinct, E> {
        Ok(Distinct(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Distinct, E> {
        Ok(Distinct(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Distinct, A::Error> {
        let mut all = Vec::new();
        while let Some(Distinct(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Distinct(Value::Array(all)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Distinct, A::Error> {
        let mut all = Map::new();
        while let Some((name, Distinct(value))) = members.next_entry::<String, Distinct>()? {
            if all.insert(name, value).is_some() {
                return Err(A::Error::custom("a member is given twice"));
            }
        }
        Ok(Distinct(Value::Object(all)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_given_twice_is_refused_at_any_depth() {
        for twice in [
            r#"{"sub":"ann","sub":"bob"}"#,
            r#"{"sub":"ann","s\u0075b":"bob"}"#,
            r#"{"a":[{"b":{"c":1,"c":1}}]}"#,
        ] {
            let read = read_distinct::<Value>(twice.as_bytes());
            assert!(read.is_err(), "{twice}");
        }
        let once = r#"{"a":[1,-1,0.5,null,true,"x",{"a":18446744073709551615}],"b":{"a":{}}}"#;
        let read: Value = read_distinct(once.as_bytes()).unwrap();
        assert_eq!(read, serde_json::from_str::<Value>(once).unwrap());
    }
}
