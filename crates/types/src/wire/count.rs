//! How many elements the arrays of a request hold, counted before they are read.
//!
//! Three bytes make an element (`{},`), and an element in memory is many times as large: a body within its limit
//! could fill the machine. Only large requests are counted; what agents answer and stores keep is not.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::read;
use crate::error::Error;

/// The most elements of an array in a request.
const MOST: usize = 10_000;

/// Requests up to this size are not counted: they cannot hold more elements than that matter.
const SMALL: usize = 64 << 10;

/// What counting says when it stops; never seen outside.
const TOO_MANY: &str = "too many elements";

/// Checks the parameters of a send, of any version.
///
/// # Errors
///
/// `InvalidParams` with the path of an array that holds too much. Whatever else is wrong is left to the decoder,
/// which stops where counting stops.
fn check(json: &[u8]) -> Result<(), Error> {
    if json.len() <= SMALL {
        return Ok(());
    }
    let mut reader = serde_json::Deserializer::from_slice(json);
    match serde_path_to_error::deserialize::<_, Params>(&mut reader) {
        Err(error) if error.inner().to_string().starts_with(TOO_MANY) => {
            let reason = format!("must not hold more than {MOST} elements");
            Err(Error::invalid_params(error.path().to_string(), reason))
        }
        _ => Ok(()),
    }
}

/// The arrays whose elements are read one by one; the decoders know the same names.
#[derive(Deserialize)]
#[expect(dead_code, reason = "counting is all that is done with them")]
struct Params {
    #[serde(default, alias = "request")]
    message: Option<Message>,
    #[serde(default)]
    configuration: Option<Configuration>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "counting is all that is done with them")]
struct Message {
    #[serde(default)]
    parts: Few,
    #[serde(default)]
    content: Few,
    #[serde(default)]
    extensions: Few,
    #[serde(default, rename = "referenceTaskIds", alias = "reference_task_ids")]
    reference_task_ids: Few,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "counting is all that is done with them")]
struct Configuration {
    #[serde(
        default,
        rename = "acceptedOutputModes",
        alias = "accepted_output_modes"
    )]
    modes: Few,
}

/// An array of not too many elements, or anything else.
#[derive(Default)]
struct Few;

impl<'de> Deserialize<'de> for Few {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FewVisitor)
    }
}

struct FewVisitor;

impl<'de> Visitor<'de> for FewVisitor {
    type Value = Few;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Few, A::Error> {
        let mut count = 0;
        while elements.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
            if count > MOST {
                return Err(serde::de::Error::custom(TOO_MANY));
            }
        }
        Ok(Few)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Few, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Few)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Few, E> {
        Ok(Few)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Few, E> {
        Ok(Few)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Few, E> {
        Ok(Few)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Few, E> {
        Ok(Few)
    }

    fn visit_str<E>(self, _: &str) -> Result<Few, E> {
        Ok(Few)
    }

    fn visit_unit<E>(self) -> Result<Few, E> {
        Ok(Few)
    }
}

/// Reads the parameters of a send.
///
/// # Errors
///
/// If they are too many, or wrong.
pub(super) fn decode<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Error> {
    check(json.as_bytes())?;
    read::decode(json)
}

/// Reads the parameters of a send from bytes.
///
/// # Errors
///
/// If they are too many, or wrong.
pub(super) fn decode_bytes<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Error> {
    check(json)?;
    read::decode_bytes(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(json: &str) -> String {
        check(json.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn names_the_array_in_every_spelling() {
        let many = vec!["{}"; MOST * 3].join(",");
        let reason = "must not hold more than 10000 elements";
        for (path, json) in [
            (
                "message.parts",
                format!(r#"{{"message":{{"parts":[{many}]}}}}"#),
            ),
            (
                "message.content",
                format!(r#"{{"x":[{many}],"message":{{"parts":5,"content":[{many}]}}}}"#),
            ),
            (
                "request.content",
                format!(r#"{{"request":{{"content":[{many}]}}}}"#),
            ),
            (
                "message.parts",
                format!(r#"{{"message":{{"parts":[{many}],"parts":5}},"message":true}}"#),
            ),
        ] {
            assert_eq!(fails(&json), format!("invalid params: {path} {reason}"));
        }
        let refs = format!(r#"{{"message":{{"reference_task_ids":[{many}]}}}}"#);
        assert!(fails(&refs).contains("message.reference_task_ids must"));
        let modes = format!(r#"{{"configuration":{{"acceptedOutputModes":[{many}]}}}}"#);
        assert!(fails(&modes).contains("configuration.acceptedOutputModes"));
    }

    #[test]
    fn leaves_the_rest_to_the_decoder() {
        let text = "x".repeat(SMALL);
        for json in [
            format!(r#"{{"message":{{"content":"{text}","parts":null}}}}"#),
            format!(r#"{{"message":{{"parts":"{text}"}},"configuration":null}}"#),
            format!(r#"{{"message":["{text}"]}}"#),
            format!(
                r#"{{"message":{{"parts":[{{"data":[{}1]}}]}}}}"#,
                "1,".repeat(SMALL)
            ),
            format!("nonsense {text}"),
        ] {
            assert_eq!(check(json.as_bytes()), Ok(()));
        }
    }
}
