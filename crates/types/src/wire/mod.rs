//! Codecs between bytes and the model.
//!
//! Bytes are decoded straight into lenient wire structs and those are converted into the strict
//! model; the model is encoded straight into a buffer. There is no JSON tree in between: free JSON
//! (`metadata`, data parts) travels as the text it came as.
//!
//! - [`v1_0`], [`v0_3`]: the objects, requests and errors of a version.
//! - [`card`]: agent cards, of all versions at once.
//! - [`jsonrpc`], [`rest`], [`sse`]: the envelopes of a binding.
//! - `grpc`: the messages of gRPC, where that is built in.
//! - `answer`, `fault`: what an agent answers, and how it says that it cannot.
//! - `rendering`: large values as JSON, piece by piece.
//! - `object`, `member`, `read`, `write`, `path`: what they share.
//!
//! The functions here pick the version by [`Dialect`]; the bindings of the server, its stores and
//! the client call them and never a version folder.

mod answer;
pub mod card;
mod count;
mod fault;
#[cfg(feature = "grpc")]
pub mod grpc;
pub mod jsonrpc;
mod member;
mod object;
mod path;
mod read;
mod rendering;
pub mod rest;
pub mod sse;
pub mod v0_3;
pub mod v1_0;
mod write;

use serde_json::value::RawValue;

pub use v1_0::encode::state_name;

use self::card::CardShape;
use self::object::{IntoModel, PushConfig as WirePushConfig, Reading};
use self::path::Path;
pub use self::rendering::Rendering;
use self::write::Out;
use crate::error::{Error, ErrorKind};
use crate::model::{
    ArtifactUpdate, ContextId, Event, Message, PushConfig, StatusUpdate, Task, TaskId,
};
use crate::operation::{Method, Operation, Response};
use crate::version::Dialect;

/// What a caller asks for, and of which tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The operation.
    pub operation: Operation,
    /// The tenant, which only 1.0 can name.
    pub tenant: Option<String>,
}

/// Decodes the parameters of a JSON-RPC call. Absent parameters are an empty object: enough for the
/// extended card, too little for everything else.
///
/// # Errors
///
/// `InvalidParams` with the path of the bad field.
pub fn decode_params(
    dialect: Dialect,
    method: Method,
    params: Option<&RawValue>,
) -> Result<Request, Error> {
    let params = params.map_or("{}", RawValue::get);
    let params = if params == "null" { "{}" } else { params };
    match dialect {
        Dialect::V1 => v1_0::request::decode(method, params),
        Dialect::V0Json | Dialect::V0Proto(_) => v0_3::request::decode(dialect, method, params)
            .map(|operation| Request {
                operation,
                tenant: None,
            }),
    }
}

/// Encodes the parameters of a call: the `params` of JSON-RPC. Only 1.0 can name a tenant.
///
/// REST says some of them elsewhere: see [`rest::write_request`].
pub fn encode_params(
    dialect: Dialect,
    operation: &Operation,
    tenant: Option<&str>,
    out: &mut Vec<u8>,
) {
    match dialect {
        Dialect::V1 => v1_0::params::encode(operation, tenant, out),
        Dialect::V0Json | Dialect::V0Proto(_) => v0_3::params::encode(dialect, operation, out),
    }
}

/// Encodes an answer: the `result` of JSON-RPC, the body of REST.
pub fn encode_response(dialect: Dialect, response: &Response, out: &mut Vec<u8>) {
    write_response(dialect, response, out);
}

fn write_response<O: Out>(dialect: Dialect, response: &Response, out: &mut O) {
    match dialect {
        Dialect::V1 => encode_v1(response, out),
        Dialect::V0Json | Dialect::V0Proto(_) => encode_v0(dialect, response, out),
    }
}

fn encode_v1<O: Out>(response: &Response, out: &mut O) {
    use v1_0::encode;
    match response {
        Response::SentTask(view) => write::object(out, |o| {
            encode::task_view(view, o.value("task"));
        }),
        Response::SentMessage(message) => write::object(out, |o| {
            encode::shared_message(message, o.value("message"));
        }),
        Response::Task(view) => encode::task_view(view, out),
        Response::Tasks(page) => encode::task_page(page, out),
        Response::PushConfig(config) => encode::push_config(config, out.buffer()),
        Response::PushConfigs(page) => encode::push_config_page(page, out.buffer()),
        Response::Deleted => out.buffer().extend_from_slice(b"{}"),
        Response::Card(card) => {
            card::encode_card(CardShape::answered_in(Dialect::V1), card, out.buffer());
        }
    }
}

fn encode_v0<O: Out>(dialect: Dialect, response: &Response, out: &mut O) {
    let writer = v0_3::encode::Writer::new(dialect);
    let proto = dialect.files().is_some();
    match response {
        Response::SentTask(view) if proto => write::object(out, |o| {
            writer.task_view(view, o.value("task"));
        }),
        Response::SentMessage(message) if proto => write::object(out, |o| {
            writer.shared_message(message, o.value("message"));
        }),
        Response::SentTask(view) | Response::Task(view) => writer.task_view(view, out),
        Response::SentMessage(message) => writer.shared_message(message, out),
        Response::Tasks(page) => writer.task_page(page, out),
        Response::PushConfig(config) => writer.push_config(config, out.buffer()),
        Response::PushConfigs(page) => writer.push_config_page(page, out.buffer()),
        Response::Deleted if proto => out.buffer().extend_from_slice(b"{}"),
        Response::Deleted => out.buffer().extend_from_slice(b"null"),
        Response::Card(card) => {
            card::encode_card(CardShape::answered_in(dialect), card, out.buffer());
        }
    }
}

/// Decodes an answer that is no stream: the `result` of JSON-RPC, the body of REST. Leniently, as it is an agent's.
///
/// A task comes with everything it has: [`TaskView`](crate::operation::TaskView) hides nothing of it.
///
/// # Errors
///
/// As [`decode_event`].
pub fn decode_response(dialect: Dialect, method: Method, json: &str) -> Result<Response, Error> {
    answer::decode(dialect, method, json)
}

/// Decodes an error: the `error` of JSON-RPC, the body of REST, or whatever else came with a bad HTTP status. It
/// never fails: what says nothing gets its kind from `http_status`, and without that is `Internal`.
///
/// A number that is not the one of the error's kind is its fact `code`.
#[must_use]
pub fn decode_error(dialect: Dialect, http_status: Option<u16>, json: &str) -> Error {
    fault::decode(dialect, http_status, json)
}

/// Encodes a stream item. `last`: nothing follows it on this response, which 0.x says as `final`.
pub fn encode_event(dialect: Dialect, event: &Event, last: bool, out: &mut Vec<u8>) {
    write_event(dialect, event, last, out);
}

fn write_event<O: Out>(dialect: Dialect, event: &Event, last: bool, out: &mut O) {
    match dialect {
        Dialect::V1 => v1_0::encode::event(event, out),
        Dialect::V0Json | Dialect::V0Proto(_) => {
            v0_3::encode::Writer::new(dialect).event(event, last, out);
        }
    }
}

/// Decodes a stream item, or the answer to a send: what an agent said, so leniently.
///
/// # Errors
///
/// `InvalidParams` with the path of the bad field, `Parse` if it is no JSON.
pub fn decode_event(dialect: Dialect, json: &str) -> Result<Event, Error> {
    let how = answered(dialect);
    match dialect {
        Dialect::V1 => v1_0::object::decode_event(json, how),
        Dialect::V0Json | Dialect::V0Proto(_) => v0_3::event::decode(json, how),
    }
}

/// Encodes an event of a task as rows keep it: as 1.0 writes it, without the ids that the task has anyway.
pub fn encode_stored(event: &Event, task: &TaskId, context: &ContextId, out: &mut Vec<u8>) {
    v1_0::encode::stored_event(event, task, context, out);
}

/// Decodes what [`encode_stored`] wrote, or [`encode_event`] in 1.0.
///
/// # Errors
///
/// As [`decode_event`].
pub fn decode_stored(json: &str, task: &TaskId, context: &ContextId) -> Result<Event, Error> {
    let mut event = v1_0::object::decode_stored(json, task, context, answered(Dialect::V1))?;
    // One text for all events of a task.
    match &mut event {
        Event::Status(StatusUpdate {
            task_id,
            context_id,
            ..
        })
        | Event::Artifact(ArtifactUpdate {
            task_id,
            context_id,
            ..
        }) if task_id == task && context_id == context => {
            task_id.clone_from(task);
            context_id.clone_from(context);
        }
        _ => {}
    }
    Ok(event)
}

/// Encodes a whole task: stored rows, webhooks of 0.x.
pub fn encode_task(dialect: Dialect, task: &Task, out: &mut Vec<u8>) {
    match dialect {
        Dialect::V1 => v1_0::encode::task(task, out),
        Dialect::V0Json | Dialect::V0Proto(_) => v0_3::encode::Writer::new(dialect).task(task, out),
    }
}

/// Decodes a task.
///
/// # Errors
///
/// As [`decode_event`].
pub fn decode_task(dialect: Dialect, json: &str) -> Result<Task, Error> {
    let how = answered(dialect);
    match dialect {
        Dialect::V1 => read::decode::<v1_0::object::Task<'_>>(json)?.into_model(&Path::ROOT, how),
        Dialect::V0Json | Dialect::V0Proto(_) => {
            read::decode::<v0_3::object::Task<'_>>(json)?.into_model(&Path::ROOT, how)
        }
    }
}

/// Encodes a message.
pub fn encode_message(dialect: Dialect, message: &Message, out: &mut Vec<u8>) {
    match dialect {
        Dialect::V1 => v1_0::encode::message(message, out),
        Dialect::V0Json | Dialect::V0Proto(_) => {
            v0_3::encode::Writer::new(dialect).message(message, out);
        }
    }
}

/// Decodes a message.
///
/// # Errors
///
/// As [`decode_event`].
pub fn decode_message(dialect: Dialect, json: &str) -> Result<Message, Error> {
    let how = answered(dialect);
    match dialect {
        Dialect::V1 => {
            read::decode::<v1_0::object::Message<'_>>(json)?.into_model(&Path::ROOT, how)
        }
        Dialect::V0Json | Dialect::V0Proto(_) => {
            read::decode::<v0_3::object::Message<'_>>(json)?.into_model(&Path::ROOT, how)
        }
    }
}

/// Encodes a webhook, secrets and all.
pub fn encode_push_config(dialect: Dialect, config: &PushConfig, out: &mut Vec<u8>) {
    match dialect {
        Dialect::V1 => v1_0::encode::push_config(config, out),
        Dialect::V0Json | Dialect::V0Proto(_) => {
            v0_3::encode::Writer::new(dialect).push_config(config, out);
        }
    }
}

/// Decodes a webhook.
///
/// # Errors
///
/// As [`decode_event`].
pub fn decode_push_config(dialect: Dialect, json: &str) -> Result<PushConfig, Error> {
    let how = answered(dialect);
    match dialect {
        Dialect::V1 => read::decode::<WirePushConfig<'_>>(json)?.into_model(&Path::ROOT, how),
        Dialect::V0Json | Dialect::V0Proto(_) => {
            read::decode::<v0_3::push::NamedConfig<'_>>(json)?.into_model(&Path::ROOT, how)
        }
    }
}

/// The HTTP status of an error in REST.
#[must_use]
pub fn error_status(dialect: Dialect, kind: ErrorKind) -> u16 {
    match dialect {
        Dialect::V1 => v1_0::error::row(kind).status,
        Dialect::V0Json | Dialect::V0Proto(_) => v0_3::error::row(kind).status,
    }
}

/// The number of an error in JSON-RPC.
#[must_use]
pub fn error_code(dialect: Dialect, kind: ErrorKind) -> i32 {
    match dialect {
        Dialect::V1 => v1_0::error::row(kind).code,
        Dialect::V0Json | Dialect::V0Proto(_) => v0_3::error::row(kind).code,
    }
}

/// How to read what an agent or a store said.
fn answered(dialect: Dialect) -> Reading {
    Reading {
        dialect,
        request: false,
    }
}
