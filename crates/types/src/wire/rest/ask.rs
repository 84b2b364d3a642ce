//! The request of a client: verb, path, query and body of an operation. `route` and `decode` of the server read it.

use std::fmt::{Display, Write as _};

use super::route::starts_a_path;
use crate::operation::{ListTasks, Operation};
use crate::version::{Dialect, ProtocolVersion};
use crate::wire::encode_params;
use crate::wire::v1_0::encode::state_name;
use crate::wire::write;

/// A request, below the address of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The HTTP method.
    pub verb: &'static str,
    /// The path, percent-encoded; it begins with a slash.
    pub path: String,
    /// The query, percent-encoded, without its question mark; empty if there is none.
    pub query: String,
    /// The body.
    pub body: Option<Vec<u8>>,
}

/// Writes a request. Only 1.0 can name a tenant.
///
/// Watching a task is a GET, as the proto has it; the texts say POST, so one may try that if GET is refused. A
/// webhook without an id cannot be asked for by path: the request is then for all of them, and
/// `wire::decode_response` takes the first.
#[must_use]
pub fn write_request(dialect: Dialect, operation: &Operation, tenant: Option<&str>) -> Asked {
    let newer = dialect.version() == ProtocolVersion::V1_0;
    let tenant = tenant.filter(|tenant| newer && !tenant.is_empty());
    let (in_path, beside) = match tenant {
        Some(tenant) if is_segment(tenant) => (Some(tenant), None),
        other => (None, other),
    };
    let mut query = Query::default();
    let (verb, rest) = place(newer, operation, &mut query);
    let path = match in_path {
        Some(tenant) => format!("/{}{rest}", encode_segment(tenant)),
        None if newer => rest,
        None => format!("/v1{rest}"),
    };
    let body = body(dialect, operation, beside);
    if body.is_none() {
        query.add("tenant", beside);
    }
    Asked {
        verb,
        path,
        query: query.0,
        body,
    }
}

/// Percent-encodes a text so that it is one segment of a path: slashes and colons, too, which have a meaning there.
#[must_use]
pub fn encode_segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    percent(text, &mut out);
    // A dot or two alone would be taken for a step in the tree.
    if matches!(out.as_str(), "." | "..") {
        out = out.replace('.', "%2E");
    }
    out
}

/// Unreserved characters stay (RFC 3986 §2.3).
fn percent(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // A buffer takes every write.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// Whether a tenant can be told from everything else that may stand first in a path.
fn is_segment(tenant: &str) -> bool {
    !tenant.contains('/') && !starts_a_path(tenant) && !matches!(tenant, "v1" | "." | "..")
}

/// The verb and the path of an operation; `query` gets what stands there.
fn place(newer: bool, operation: &Operation, query: &mut Query) -> (&'static str, String) {
    let task = |id: &str, action: &str| format!("/tasks/{}{action}", encode_segment(id));
    let configs = |id: &str| task(id, "/pushNotificationConfigs");
    let config = |task: &str, id: &str| format!("{}/{}", configs(task), encode_segment(id));
    match operation {
        Operation::Send(_) => ("POST", "/message:send".to_owned()),
        Operation::Stream(_) => ("POST", "/message:stream".to_owned()),
        Operation::Get(get) => {
            query.add("historyLength", get.history_length);
            ("GET", task(get.id.as_str(), ""))
        }
        Operation::List(list) => {
            query.list(list);
            ("GET", "/tasks".to_owned())
        }
        Operation::Cancel(cancel) => ("POST", task(cancel.id.as_str(), ":cancel")),
        Operation::Subscribe(subscribe) => ("GET", task(subscribe.id.as_str(), ":subscribe")),
        Operation::CreatePushConfig(config) => {
            let task = config.task_id.as_ref().map_or("", |id| id.as_str());
            ("POST", configs(task))
        }
        Operation::GetPushConfig(get) => match &get.id {
            Some(id) => ("GET", config(get.task_id.as_str(), id.as_str())),
            None => ("GET", configs(get.task_id.as_str())),
        },
        Operation::ListPushConfigs(list) => {
            query.add("pageSize", list.page_size);
            query.add("pageToken", list.page_token.as_ref());
            ("GET", configs(list.task_id.as_str()))
        }
        Operation::DeletePushConfig(delete) => (
            "DELETE",
            config(delete.task_id.as_str(), delete.id.as_str()),
        ),
        Operation::ExtendedCard if newer => ("GET", "/extendedAgentCard".to_owned()),
        Operation::ExtendedCard => ("GET", "/card".to_owned()),
    }
}

/// The body of what is POSTed; what stands in the path is not said again, but for the task of a webhook, which is
/// part of that object.
fn body(dialect: Dialect, operation: &Operation, tenant: Option<&str>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(256);
    match operation {
        Operation::Send(_) | Operation::Stream(_) | Operation::CreatePushConfig(_) => {
            encode_params(dialect, operation, tenant, &mut out);
        }
        Operation::Cancel(cancel) => write::object(&mut out, |o| {
            o.opt_str("tenant", tenant);
            // The proto of 0.3 has no metadata here, and strict readers refuse what their proto does not have.
            let metadata = cancel
                .metadata
                .as_ref()
                .filter(|_| dialect.files().is_none());
            o.opt_json("metadata", metadata);
        }),
        _ => return None,
    }
    Some(out)
}

/// A query that is being written.
#[derive(Default)]
struct Query(String);

impl Query {
    fn add(&mut self, name: &str, value: Option<impl Display>) {
        let Some(value) = value else {
            return;
        };
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(name);
        self.0.push('=');
        percent(&value.to_string(), &mut self.0);
    }

    fn list(&mut self, list: &ListTasks) {
        self.add("contextId", list.context_id.as_ref());
        self.add("status", list.status.map(state_name));
        self.add("pageSize", list.page_size);
        self.add("pageToken", list.page_token.as_ref());
        self.add("historyLength", list.history_length);
        self.add("statusTimestampAfter", list.status_timestamp_after);
        self.add("includeArtifacts", list.include_artifacts.then_some(true));
    }
}
