//! Durations and counts, written out (`300ms`, `10`) or filled in when the step is taken (`{{match.n|10}}`).

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, de};

use super::scope::Scope;
use super::template::Template;

/// The longest single wait.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The most rounds of one `repeat`.
const MOST: u32 = 10_000;

/// How long to wait: `300ms`, `2s`, `1.5s`, `2m`; may be a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delay(Template);

/// How many times: a number, or a template that gives one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count(Template);

impl Delay {
    /// The duration.
    ///
    /// # Errors
    ///
    /// If the template gave something else.
    pub(super) fn get(&self, scope: &Scope) -> Result<Duration, String> {
        duration(&self.0.render(scope))
    }

    /// The template behind it.
    pub(super) fn template(&self) -> &Template {
        &self.0
    }
}

impl Count {
    /// The number.
    ///
    /// # Errors
    ///
    /// If the template gave something else.
    pub(super) fn get(&self, scope: &Scope) -> Result<u32, String> {
        count(&self.0.render(scope))
    }

    /// The template behind it.
    pub(super) fn template(&self) -> &Template {
        &self.0
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("`{text}` is not a duration such as 300ms, 2s or 1m");
    let digits = text
        .find(|c: char| c != '.' && !c.is_ascii_digit())
        .ok_or_else(bad)?;
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        _ => return Err(bad()),
    } * number.parse::<f64>().map_err(|_| bad())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(delay) if delay <= LONGEST => Ok(delay),
        _ => Err(format!("`{text}` is longer than a day")),
    }
}

fn count(text: &str) -> Result<u32, String> {
    match text.trim().parse() {
        Ok(n) if n <= MOST => Ok(n),
        _ => Err(format!("`{text}` is not a number from 0 to {MOST}")),
    }
}

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let template = Template::deserialize(deserializer)?;
        if let Some(text) = template.fixed() {
            duration(text).map_err(de::Error::custom)?;
        }
        Ok(Self(template))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let template = deserializer.deserialize_any(CountVisitor)?;
        if let Some(text) = template.fixed() {
            count(text).map_err(de::Error::custom)?;
        }
        Ok(Self(template))
    }
}

struct CountVisitor;

impl de::Visitor<'_> for CountVisitor {
    type Value = Template;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a template")
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Template, E> {
        self.visit_str(&n.to_string())
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Template, E> {
        self.visit_str(&n.to_string())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Template, E> {
        text.parse().map_err(E::custom)
    }
}

impl JsonSchema for Delay {
    fn schema_name() -> Cow<'static, str> {
        "Delay".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A duration such as 300ms, 2s, 1.5s or 2m; may be a template.",
            "pattern": r"^\d+(\.\d+)?(ms|s|m)$|\{\{",
        })
    }
}

impl JsonSchema for Count {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let template = generator.subschema_for::<Template>();
        schemars::json_schema!({
            "description": "A number, or a template that gives one.",
            "anyOf": [{ "type": "integer", "minimum": 0, "maximum": MOST }, template],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_a_number_and_a_unit() {
        assert_eq!(duration("300ms"), Ok(Duration::from_millis(300)));
        assert_eq!(duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for bad in ["", "2", "s", "2 s", "-1s", "1.2.3s", "2h", "2d", "soon"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert_eq!(
            duration("99999m"),
            Err("`99999m` is longer than a day".to_owned())
        );
    }

    #[test]
    fn counts_are_bounded() {
        assert_eq!(count("0"), Ok(0));
        assert_eq!(count("10000"), Ok(10_000));
        for bad in ["", "-1", "10001", "ten", "1.5"] {
            assert!(count(bad).is_err(), "{bad}");
        }
    }
}
