//! JSON-RPC 2.0, as far as the comparison needs it: read in one pass, with nothing buffered.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::task::Message;

/// A request.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    #[expect(dead_code, reason = "read because the gateway must read it too")]
    pub(crate) jsonrpc: String,
    pub(crate) id: Id,
    pub(crate) method: Method,
    pub(crate) params: Params,
}

/// Whose reply it is: wrk counts, our client has words.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Id {
    Number(u64),
    Text(String),
}

// By hand: the derived form would keep a copy of what it reads.
impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl Visitor<'_> for Read {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a string")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Id, E> {
                Ok(Id::Number(number))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Id, E> {
                Ok(Id::Text(text.to_owned()))
            }
        }

        deserializer.deserialize_any(Read)
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) enum Method {
    SendMessage,
    SendStreamingMessage,
    GetTask,
}

/// With what: the parameters of all three methods, so that no order of keys makes reading slower.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Params {
    pub(crate) message: Message,
    pub(crate) id: String,
}

/// A reply.
#[derive(Debug, Serialize)]
pub(crate) struct Reply<T> {
    jsonrpc: &'static str,
    id: Id,
    result: T,
}

impl<T> Reply<T> {
    pub(crate) fn new(id: Id, result: T) -> Self {
        Self {
            jsonrpc: "2.0",
            id,
            result,
        }
    }
}
