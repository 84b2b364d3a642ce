//! The agent on a socket: JSON-RPC and HTTP+JSON, in 1.0 and 0.3.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::agent::{Agent, Credentials, Traits};
use super::card::card;
use super::fault::{Fault, Mutation};
use super::older::{self, Form};
use super::operation::{Operation, Outcome};
use super::refusal::Refusal;
use super::stream;

/// What callers show who may see everything.
const TOKEN: &str = "Bearer right";

/// A call, as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The method of JSON-RPC, or the verb and the path.
    pub(crate) what: String,
    pub(crate) params: Value,
    /// The parameters as they came.
    pub(crate) given: Value,
    /// The id of JSON-RPC.
    pub(crate) id: Value,
    pub(crate) headers: HeaderMap,
    pub(super) older: bool,
    /// The shapes to answer in, if it is 0.3.
    pub(super) form: Form,
    pub(super) rpc: bool,
}

/// An answer that is no stream.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) json: Value,
}

/// The agent while it serves. Ends when dropped.
pub(crate) struct Serving {
    pub(crate) base: String,
    _jobs: JoinSet<()>,
}

impl Reply {
    /// Sends a header in place of the one of that name.
    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.headers.retain(|(known, _)| *known != name);
    }

    fn write(self) -> Response<BoxBody<Bytes, Infallible>> {
        let body = match &self.json {
            Value::Null => Bytes::new(),
            Value::String(text) => Bytes::copy_from_slice(text.as_bytes()),
            json => json.to_string().into(),
        };
        let mut response = Response::builder().status(self.status);
        for (name, value) in self.headers {
            response = response.header(name, value);
        }
        response.body(Full::new(body).boxed()).expect("a response")
    }
}

/// Serves an agent on a port of the system's choice.
pub(crate) async fn serve(traits: Traits, mutation: Mutation) -> Serving {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let agent = Arc::new(Agent::new(traits, mutation, base.clone()));
    let mut jobs = JoinSet::new();
    jobs.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((socket, _)) = listener.accept().await {
            let agent = Arc::clone(&agent);
            connections.spawn(async move {
                let service = service_fn(move |request| answer(Arc::clone(&agent), request));
                let serving = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
                drop(serving.await);
            });
        }
    });
    Serving { base, _jobs: jobs }
}

async fn answer(
    agent: Arc<Agent>,
    request: Request<Incoming>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    let path = head.uri.path();
    if path == "/.well-known/agent-card.json" {
        return Ok(published(&agent).write());
    }
    let right = head
        .headers
        .get("authorization")
        .is_some_and(|value| value == TOKEN);
    let needed = agent.traits.credentials == Credentials::Required;
    let rpc = path.starts_with("/rpc");
    let older = path.starts_with("/rpc-0.3") || path.starts_with("/rest-0.3");
    let mut call = Call {
        what: format!("{} {path}", head.method),
        params: Value::Null,
        given: Value::Null,
        id: Value::Null,
        form: if rpc { Form::Json } else { Form::Proto },
        headers: head.headers.clone(),
        older,
        rpc,
    };
    if needed && !right && !agent.has(Fault::IgnoresCredentials) {
        let mut reply = Reply {
            status: 401,
            headers: vec![("www-authenticate", "Bearer".to_owned())],
            json: json!({"error": "who are you?"}),
        };
        if let Mutation::Reply(edit) = agent.mutation {
            edit(&call, &mut reply);
        }
        return Ok(reply.write());
    }
    let read = if rpc && path == if older { "/rpc-0.3" } else { "/rpc" } {
        read_rpc(&body, &mut call)
    } else if rpc {
        Err(Refusal::plain(-32601, 404, "no such path"))
    } else {
        let query = head.uri.query().unwrap_or_default();
        read_rest(head.method.as_str(), path, query, &body, &mut call)
    };
    if let Mutation::Call(misread) = agent.mutation {
        misread(&mut call);
    }
    let outcome = match read {
        Ok(operation) => match admit(&agent, &call) {
            Ok(()) => agent.perform(operation, &call, right).await,
            Err(refusal) => Err(refusal),
        },
        Err(refusal) => Err(refusal),
    };
    Ok(match outcome {
        Ok(Outcome::Stream(events)) => stream::response(&agent, call, events),
        Ok(Outcome::Json(json)) => finish(&agent, &call, Ok(json)).write(),
        Err(refusal) => finish(&agent, &call, Err(refusal)).write(),
    })
}

fn published(agent: &Agent) -> Reply {
    let mut reply = Reply {
        status: 200,
        headers: vec![
            ("content-type", "application/json".to_owned()),
            ("cache-control", "max-age=60".to_owned()),
            ("etag", "\"1\"".to_owned()),
        ],
        json: card(agent),
    };
    match agent.mutation {
        Mutation::Card(edit) => edit(&mut reply.json),
        Mutation::Reply(edit) => {
            let call = Call {
                what: "card".to_owned(),
                params: Value::Null,
                given: Value::Null,
                id: Value::Null,
                headers: HeaderMap::new(),
                older: false,
                form: Form::Json,
                rpc: false,
            };
            edit(&call, &mut reply);
        }
        _ => {}
    }
    reply
}

/// Version and extensions.
fn admit(agent: &Agent, call: &Call) -> Result<(), Refusal> {
    let header = |name: &str| call.headers.get(name).and_then(|value| value.to_str().ok());
    let version = header("a2a-version").unwrap_or("0.3");
    let known = version == "1.0" || version.starts_with("1.0.");
    if !call.older && !known && !agent.has(Fault::IgnoresVersion) {
        return Err(Refusal::version());
    }
    if let Some((uri, true)) = agent.traits.extension {
        let names = if call.older {
            "x-a2a-extensions"
        } else {
            "a2a-extensions"
        };
        let asked = header(names).unwrap_or_default();
        if !asked.split(',').any(|one| one.trim() == uri) {
            return Err(Refusal::extension());
        }
    }
    Ok(())
}

fn read_rpc(body: &[u8], call: &mut Call) -> Result<Operation, Refusal> {
    let request: Value = serde_json::from_slice(body)
        .map_err(|_| Refusal::plain(-32700, 400, "this is not JSON"))?;
    let id = request["id"].clone();
    if id.is_string() || id.is_number() {
        call.id = id;
    }
    if request["jsonrpc"] != "2.0" || !request["method"].is_string() {
        return Err(Refusal::plain(-32600, 400, "this is no JSON-RPC 2.0"));
    }
    call.what = request["method"].as_str().unwrap_or_default().to_owned();
    call.params = request.get("params").cloned().unwrap_or_else(|| json!({}));
    let operation = Operation::named(&call.what, call.older);
    let operation = operation.ok_or_else(|| Refusal::plain(-32601, 404, "no such method"))?;
    if !call.params.is_object() {
        return Err(Refusal::plain(-32602, 400, "params is no object"));
    }
    call.given = call.params.clone();
    call.params = operation.read(call);
    Ok(operation)
}

fn read_rest(
    verb: &str,
    path: &str,
    query: &str,
    body: &[u8],
    call: &mut Call,
) -> Result<Operation, Refusal> {
    let below = path.trim_start_matches(if call.older { "/rest-0.3/v1" } else { "/rest" });
    let found = Operation::routed(verb, below, call.older);
    let (operation, ids) = found.ok_or_else(|| Refusal::plain(-32601, 404, "no such path"))?;
    let mut params = match body {
        b"" => json!({}),
        _ => serde_json::from_slice(body)
            .map_err(|_| Refusal::plain(-32700, 400, "this is not JSON"))?,
    };
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let number = value.parse::<i64>().ok().map(Value::from);
        let truth = value.parse::<bool>().ok().map(Value::from);
        params[&*name] = number.or(truth).unwrap_or_else(|| json!(value));
    }
    for (name, id) in ids {
        params[name] = json!(id);
    }
    call.params = params;
    call.given = call.params.clone();
    call.params = operation.read(call);
    Ok(operation)
}

/// The answer in its binding and version, spoiled if that is the fault.
fn finish(agent: &Agent, call: &Call, outcome: Result<Value, Refusal>) -> Reply {
    let kind = match call.rpc || call.older {
        true => "application/json",
        false => "application/a2a+json",
    };
    let mut headers = vec![("content-type", kind.to_owned())];
    headers.extend(active(agent, call));
    let (status, json) = match outcome {
        Ok(result) if call.rpc => (
            200,
            json!({"jsonrpc": "2.0", "id": call.id, "result": result}),
        ),
        Ok(result) => (200, result),
        Err(refusal) if call.rpc => {
            let error = refusal.enveloped(call.older);
            let status = if refusal.status == 401 { 401 } else { 200 };
            (
                status,
                json!({"jsonrpc": "2.0", "id": call.id, "error": error}),
            )
        }
        Err(refusal) => (refusal.status, refusal.body(call.older)),
    };
    let mut reply = Reply {
        status,
        headers,
        json,
    };
    if let Mutation::Reply(edit) = agent.mutation {
        edit(call, &mut reply);
    }
    reply
}

/// The header that names the extensions in use.
pub(super) fn active(agent: &Agent, call: &Call) -> Option<(&'static str, String)> {
    let (uri, _) = agent.traits.extension?;
    let name = if call.older {
        "x-a2a-extensions"
    } else {
        "a2a-extensions"
    };
    let asked = call.headers.get(name)?.to_str().ok()?;
    asked.contains(uri).then(|| (name, uri.to_owned()))
}

/// A result in the shapes of 0.3.
pub(super) fn older_result(operation: Operation, form: Form, result: &Value) -> Value {
    match operation {
        Operation::Send => older::event(form, result, false),
        Operation::Get | Operation::Cancel => older::task_in(form, result),
        Operation::CreateHook | Operation::GetHook => older::hook(form, result),
        Operation::ListHooks => {
            let list = result["configs"].as_array().into_iter().flatten();
            let all: Vec<Value> = list.map(|hook| older::hook(form, hook)).collect();
            match form {
                Form::Json => json!(all),
                Form::Proto => json!({ "configs": all }),
            }
        }
        Operation::DeleteHook if form == Form::Json => Value::Null,
        _ => result.clone(),
    }
}
