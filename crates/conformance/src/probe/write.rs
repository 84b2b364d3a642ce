//! How a call is written, in each binding.

use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use switchboard_types::operation::Method;
use switchboard_types::wire;

use super::{Manner, Probe};
use crate::answer::{Answer, Link};
use crate::http::Outgoing;
use crate::rpc::{self, Rpc};

/// The verb, the path, the body and the id of a call.
type Written = (&'static str, String, Vec<u8>, Value);

impl Probe {
    /// A call in the envelope of JSON-RPC.
    pub(crate) fn envelope(id: &Value, method: &str, params: &Value) -> Vec<u8> {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            .to_string()
            .into_bytes()
    }

    pub(super) fn written(&self, method: Method, params: &Value) -> Result<Written, Box<Answer>> {
        match self.link {
            Link::JsonRpc => {
                let id = json!(format!("c-{}", self.next()));
                let body = Self::envelope(&id, self.words.method(method), params);
                Ok(("POST", String::new(), body, id))
            }
            Link::Rest => {
                let written = self.words.write(method, params);
                let body = written.body.map(|body| body.to_string().into_bytes());
                let body = body.unwrap_or_default();
                Ok((written.verb, written.path, body, Value::Null))
            }
            Link::Grpc => {
                let path = self.rpc(method);
                match Rpc::at(&path).write(&self.words.message(method, params)) {
                    Ok(message) => Ok(("POST", path, rpc::framed(&message), Value::Null)),
                    Err(why) => {
                        let line = format!("POST {}", self.url(&path));
                        let whole = self.caller.unsent(line, params, &why);
                        Err(Box::new(Answer::of(*whole, self.link, self.dialect)))
                    }
                }
            }
        }
    }

    /// An rpc and its message, to be spoiled before it is framed.
    pub(crate) fn message(&self, method: Method, params: &Value) -> (String, Vec<u8>) {
        let mut params = params.clone();
        self.put_tenant(&mut params);
        let path = self.rpc(method);
        let message = Rpc::at(&path).write(&params).unwrap_or_default();
        (path, message)
    }

    /// The path of an rpc.
    fn rpc(&self, method: Method) -> String {
        wire::grpc::write_path(self.dialect.version(), method).unwrap_or_default()
    }

    /// The tenant of the interface goes into every request (A2A 1.0 §8.3.2).
    pub(super) fn put_tenant(&self, params: &mut Value) {
        if let (Some(tenant), Some(params)) = (&self.interface.tenant, params.as_object_mut()) {
            params.entry("tenant").or_insert_with(|| json!(tenant));
        }
    }

    pub(super) fn outgoing(
        &self,
        verb: &'static str,
        path: &str,
        body: Vec<u8>,
        manner: Manner<'_>,
        accept: &'static str,
    ) -> Outgoing {
        let mut headers = HeaderMap::new();
        let mut put = |name: &'static str, value: &str| {
            if let (false, Ok(value)) = (value.is_empty(), HeaderValue::from_str(value)) {
                headers.insert(name, value);
            }
        };
        let grpc = self.link == Link::Grpc;
        put("accept", if grpc { "" } else { accept });
        put("te", if grpc { "trailers" } else { "" });
        if !body.is_empty() {
            let usual = if grpc {
                "application/grpc"
            } else {
                "application/json"
            };
            put("content-type", manner.media_type.unwrap_or(usual));
        }
        put("a2a-version", manner.version.unwrap_or(self.words.header));
        let extensions = manner
            .extensions
            .map_or_else(|| self.required(), str::to_owned);
        put("a2a-extensions", &extensions);
        put("x-a2a-extensions", &extensions);
        Outgoing {
            verb,
            url: self.url(path),
            headers,
            body,
            anonymous: manner.anonymous,
            titled: manner.titled,
            rpc: grpc.then(|| Rpc::at(path)),
        }
    }
}
