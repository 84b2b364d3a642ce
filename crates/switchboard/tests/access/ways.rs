//! Every operation by every binding and version, written by our codecs and sent by a plain HTTP client.

use bytes::Bytes;
use reqwest::header::HeaderMap;
use reqwest::{Method as Verb, Response};
use serde_json::Value;
use switchboard_types::model::{Binding, Id, Message, Part, PushConfig, Role, TaskId};
use switchboard_types::operation::{
    CancelTask, DeletePushConfig, GetPushConfig, GetTask, ListPushConfigs, ListTasks, Method,
    Operation, SendConfiguration, SendMessage, Subscribe,
};
use switchboard_types::wire::{grpc, jsonrpc, rest};
use switchboard_types::{Dialect, FileBytes, ProtocolVersion};

use crate::credentials::Header;
use crate::world::World;

/// A binding in a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) kind: Kind,
    pub(crate) version: ProtocolVersion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    JsonRpc,
    Rest,
    Grpc,
}

/// All six of them.
pub(crate) fn ways() -> impl Iterator<Item = Way> {
    let kinds = [Kind::JsonRpc, Kind::Rest, Kind::Grpc];
    let versions = ProtocolVersion::ALL.into_iter();
    versions.flat_map(move |version| kinds.map(|kind| Way { kind, version }))
}

/// What came back; of a stream that was opened, its head.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// Of gRPC: the code, if it came with the head, as refusals do.
    pub(crate) code: Option<u16>,
    pub(crate) body: Bytes,
}

impl Answer {
    async fn of(response: Response) -> Self {
        let headers = response.headers().clone();
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let code = header("grpc-status").map(|code| code.parse().unwrap());
        let streams = header("content-type") == Some("text/event-stream");
        let status = response.status().as_u16();
        let whole = header("content-length").is_some();
        // A stream that is open would be waited for.
        let body = match !whole && (streams || (code.is_none() && is_grpc(&headers))) {
            true => Bytes::new(),
            false => response.bytes().await.unwrap(),
        };
        Self {
            status,
            headers,
            code,
            body,
        }
    }

    pub(crate) fn challenges(&self) -> usize {
        self.headers.get_all("www-authenticate").iter().count()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Whether it is an answer and no error.
    pub(crate) fn is_good(&self) -> bool {
        let said = String::from_utf8_lossy(&self.body);
        // JSON-RPC of 0.x tells errors of streams as their only event.
        let event = said.lines().find_map(|line| line.strip_prefix("data: "));
        let json = event.map_or(self.json(), |event| serde_json::from_str(event).unwrap());
        (200..300).contains(&self.status)
            && self.code.unwrap_or(0) == 0
            && json.get("error").is_none()
    }

    /// All that a caller can tell it by, with the ids of tasks left out.
    pub(crate) fn told(&self, id: &TaskId) -> (u16, Option<u16>, String, Vec<String>) {
        let without = |text: &str| text.replace(id.as_str(), "ID");
        let volatile = ["date", "etag", "grpc-status-details-bin"];
        let stable =
            |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
                let value = without(&String::from_utf8_lossy(value.as_bytes()));
                (!volatile.contains(&name.as_str())).then(|| format!("{name}: {value}"))
            };
        let headers = self.headers.iter().filter_map(stable).collect();
        let body = without(&String::from_utf8_lossy(&self.body));
        (self.status, self.code, body, headers)
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get("content-type").map(|kind| kind.as_bytes());
    kind.is_some_and(|kind| kind.starts_with(b"application/grpc"))
}

impl Way {
    fn dialect(self) -> Dialect {
        let binding = match self.kind {
            Kind::JsonRpc => Binding::JsonRpc,
            Kind::Rest => Binding::HttpJson,
            Kind::Grpc => Binding::Grpc,
        };
        Dialect::spoken(&binding, self.version)
    }

    /// Whether this way has the operation at all.
    pub(crate) fn has(self, method: Method) -> bool {
        match self.kind {
            Kind::JsonRpc => jsonrpc::offers(self.dialect(), method),
            Kind::Rest => true,
            Kind::Grpc => grpc::write_path(self.version, method).is_some(),
        }
    }

    /// Asks an agent.
    pub(crate) async fn ask(
        self,
        world: &World,
        agent: &str,
        credentials: &[Header],
        operation: &Operation,
    ) -> Answer {
        let (verb, path, body) = match self.kind {
            Kind::JsonRpc => {
                let mut body = Vec::new();
                let id = jsonrpc::Id::number(7);
                jsonrpc::write_call(&mut body, &id, self.dialect(), operation, None);
                ("POST", format!("/a2a/{agent}"), Some(body))
            }
            Kind::Rest => {
                let asked = rest::write_request(self.dialect(), operation, None);
                let query = match asked.query.as_str() {
                    "" => String::new(),
                    query => format!("?{query}"),
                };
                let path = format!("/a2a/{agent}{}{query}", asked.path);
                (asked.verb, path, asked.body)
            }
            Kind::Grpc => {
                let spoken = grpc::Spoken::new(self.version, FileBytes::default());
                let message = grpc::encode_request(spoken, operation, None).unwrap();
                let mut frame = vec![0];
                frame.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
                frame.extend(message);
                let path = grpc::write_path(self.version, operation.method()).unwrap();
                ("POST", path, Some(frame))
            }
        };
        let http = match self.kind {
            Kind::Grpc => &world.http2,
            Kind::JsonRpc | Kind::Rest => &world.server.http,
        };
        let verb = Verb::from_bytes(verb.as_bytes()).unwrap();
        let mut request = http.request(verb, world.server.url(&path));
        request = match self.kind {
            Kind::Grpc => request
                .header("content-type", "application/grpc")
                .header("te", "trailers")
                .header("x-agent", agent),
            Kind::JsonRpc | Kind::Rest => request
                .header("content-type", "application/json")
                .header("a2a-version", self.version.name()),
        };
        for (name, value) in credentials {
            request = request.header(*name, value);
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        Answer::of(request.send().await.unwrap()).await
    }
}

/// An operation on a task that has a webhook `hook`; messages begin a task of their own.
pub(crate) fn operation(method: Method, task: &TaskId) -> Operation {
    let task = task.clone();
    let send = || {
        let configuration = SendConfiguration {
            return_immediately: true,
            ..SendConfiguration::default()
        };
        Box::new(SendMessage {
            configuration,
            ..*say(message())
        })
    };
    match method {
        Method::Send => Operation::Send(send()),
        Method::Stream => Operation::Stream(send()),
        Method::Get => Operation::Get(GetTask {
            id: task,
            history_length: None,
        }),
        Method::List => Operation::List(ListTasks::default()),
        Method::Cancel => Operation::Cancel(CancelTask {
            id: task,
            metadata: None,
        }),
        Method::Subscribe => Operation::Subscribe(Subscribe { id: task }),
        Method::CreatePushConfig => Operation::CreatePushConfig(webhook(task)),
        Method::GetPushConfig => Operation::GetPushConfig(GetPushConfig {
            task_id: task,
            id: Some(id("hook")),
        }),
        Method::ListPushConfigs => Operation::ListPushConfigs(ListPushConfigs {
            task_id: task,
            page_size: None,
            page_token: None,
        }),
        Method::DeletePushConfig => Operation::DeletePushConfig(DeletePushConfig {
            task_id: task,
            id: id("hook"),
        }),
        Method::ExtendedCard => Operation::ExtendedCard,
    }
}

/// What it takes to send a message.
pub(crate) fn say(message: Message) -> Box<SendMessage> {
    Box::new(SendMessage {
        message,
        configuration: SendConfiguration::default(),
        metadata: None,
    })
}

pub(crate) fn message() -> Message {
    Message::new(id("m"), Role::User, vec![Part::text("hello")])
}

pub(crate) fn webhook(task: TaskId) -> PushConfig {
    PushConfig {
        id: Some(id("hook")),
        task_id: Some(task),
        // Nobody is there: nothing is going to happen, so nothing is sent.
        url: "http://127.0.0.1:9/hook".to_owned(),
        token: None,
        authentication: None,
    }
}

pub(crate) fn id<K>(text: &str) -> Id<K> {
    Id::new(text).unwrap()
}
