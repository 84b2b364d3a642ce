//! JSON-RPC 2.0, as far as the comparison needs it: read in one pass, with nothing buffered.

use serde::{Deserialize, Serialize};

use crate::task::Message;

/// A request.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    #[expect(dead_code, reason = "read because the gateway must read it too")]
    pub(crate) jsonrpc: String,
    pub(crate) id: u64,
    pub(crate) method: Method,
    pub(crate) params: Params,
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
    id: u64,
    result: T,
}

impl<T> Reply<T> {
    pub(crate) fn new(id: u64, result: T) -> Self {
        Self {
            jsonrpc: "2.0",
            id,
            result,
        }
    }
}
