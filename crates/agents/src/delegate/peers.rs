//! The other agents of this gateway, as one of them calls them. The real one is the gateway's [`Handler`]; tests bring
//! their own.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use switchboard_server::agent::{AgentError, Turn};
use switchboard_server::call::{
    Call, EventStream, Handler, Origin, ReplyBody, ServiceParams, Target,
};
use switchboard_server::engine::refused_cancel;
use switchboard_server::trace::{Kind, Recording, Trace, names};
use switchboard_types::model::{Event, Task, TaskId};
use switchboard_types::operation::{
    CancelTask, GetTask, Operation, Response, SendMessage, Subscribe,
};
use switchboard_types::{Error, ErrorKind};

/// Calls other agents.
#[async_trait]
pub(crate) trait Peers: Send + Sync {
    /// Makes one call.
    async fn call(
        &self,
        agent: &str,
        operation: Operation,
        params: ServiceParams,
    ) -> Result<PeerReply, Error>;
}

/// What another agent answers.
pub(crate) enum PeerReply {
    /// The events of a task.
    Events(Box<dyn EventSource>),
    /// Everything else.
    Response(Response),
}

/// The events of a task of another agent.
#[async_trait]
pub(crate) trait EventSource: Send + Sync {
    /// The next event and its number; `None` when there will be no more.
    async fn next(&mut self) -> Result<Option<(u64, Event)>, String>;
}

impl dyn Peers + '_ {
    /// Sends a message to another agent and reads the events of its task. A repeat under the same key leads to the same
    /// task, from its first event on.
    pub(super) async fn send(
        &self,
        agent: &str,
        message: SendMessage,
        key: &str,
    ) -> Result<Box<dyn EventSource>, String> {
        let params = ServiceParams {
            idempotency_key: Some(key.to_owned()),
            ..ServiceParams::internal()
        };
        let stream = Operation::Stream(Box::new(message));
        self.call(agent, stream, params)
            .await
            .map_or_else(text, events)
    }

    /// Sends a message to a task of another agent without waiting for what comes of it. A `secret` is stored nowhere.
    pub(super) async fn answer(
        &self,
        agent: &str,
        mut message: SendMessage,
        secret: bool,
    ) -> Result<(), String> {
        message.configuration.return_immediately = true;
        let params = ServiceParams {
            secret,
            ..ServiceParams::internal()
        };
        let send = Operation::Send(Box::new(message));
        self.call(agent, send, params)
            .await
            .map_or_else(text, |_| Ok(()))
    }

    /// Reads the events of a task of another agent after the one with the number `after`.
    pub(super) async fn follow(
        &self,
        agent: &str,
        id: TaskId,
        after: u64,
    ) -> Result<Box<dyn EventSource>, String> {
        let params = ServiceParams {
            last_event_id: Some(after),
            ..ServiceParams::internal()
        };
        let subscribe = Operation::Subscribe(Subscribe { id });
        self.call(agent, subscribe, params)
            .await
            .map_or_else(text, events)
    }

    /// A task of another agent.
    pub(super) async fn task(&self, agent: &str, id: TaskId) -> Result<Arc<Task>, String> {
        let get = Operation::Get(GetTask {
            id,
            history_length: None,
        });
        match self.call(agent, get, ServiceParams::internal()).await {
            Ok(PeerReply::Response(Response::Task(view))) => Ok(view.task),
            Ok(_) => no_task(),
            Err(error) => text(error),
        }
    }

    /// Cancels a task of another agent, unless it is over.
    ///
    /// # Errors
    ///
    /// If it can be tried again later, or the other agent may go on.
    pub(super) async fn cancel(&self, agent: &str, id: TaskId) -> Result<(), AgentError> {
        let task = id.clone();
        let cancel = Operation::Cancel(CancelTask { id, metadata: None });
        match self.call(agent, cancel, ServiceParams::internal()).await {
            Ok(PeerReply::Response(Response::Task(view))) => match refused_cancel(&view.task) {
                Some(reason) => Err(AgentError::over().cancel_refused(reason)),
                None => Ok(()),
            },
            Ok(_) => Ok(()),
            Err(error) => match error.kind() {
                ErrorKind::TaskNotCancelable | ErrorKind::TaskNotFound => Ok(()),
                ErrorKind::Unavailable => {
                    Err(AgentError::unavailable(error.message()).release_pending())
                }
                _ => {
                    tracing::warn!(agent, %task, %error, "delegated task not canceled");
                    Err(AgentError::over().cancel_refused(error.message()))
                }
            },
        }
    }
}

/// Why a call failed, for the caller of the delegating agent.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the form that map_or_else wants"
)]
fn text<T>(error: Error) -> Result<T, String> {
    Err(error.message().to_owned())
}

fn no_task<T>() -> Result<T, String> {
    Err("did not answer with a task".to_owned())
}

/// The events of a reply, whatever its form.
fn events(reply: PeerReply) -> Result<Box<dyn EventSource>, String> {
    let event = match reply {
        PeerReply::Events(source) => return Ok(source),
        PeerReply::Response(Response::SentMessage(message)) => Event::Message(message),
        PeerReply::Response(Response::SentTask(view)) => Event::Task(view.task),
        PeerReply::Response(_) => return no_task(),
    };
    Ok(Box::new(LogEvents {
        stream: None,
        ready: VecDeque::from([(0, event)]),
        _recording: None,
    }))
}

/// Calls other agents through the gateway.
pub(crate) struct GatewayPeers<'a> {
    pub(super) handler: Option<&'a Arc<dyn Handler>>,
    /// The turn that calls: on behalf of its caller, as part of its trace.
    pub(super) turn: &'a Turn,
}

#[async_trait]
impl Peers for GatewayPeers<'_> {
    async fn call(
        &self,
        agent: &str,
        operation: Operation,
        mut params: ServiceParams,
    ) -> Result<PeerReply, Error> {
        let handler = self.handler.ok_or_else(|| {
            let text = "this agent cannot call other agents";
            Error::new(ErrorKind::UnsupportedOperation, text)
        })?;
        let trace = self.turn.trace().map(Trace::child);
        let mut recording = trace.as_ref().and_then(|t| record(t, agent, &operation));
        params.trace = trace.map(Arc::new);
        let call = Call {
            operation,
            target: Target {
                agent: Some(Arc::from(agent)),
                tenant: None,
            },
            principal: self.turn.principal.clone(),
            params,
            origin: Origin::Agent(Arc::clone(self.turn.agent())),
        };
        let reply = handler.handle(call).await;
        if let (Some(recording), Err(error)) = (&mut recording, &reply) {
            recording.fail(error.kind().reason());
        }
        Ok(match reply?.body {
            ReplyBody::Response(response) => PeerReply::Response(response),
            ReplyBody::Stream(stream) => PeerReply::Events(Box::new(LogEvents {
                stream: Some(stream),
                ready: VecDeque::new(),
                _recording: recording,
            })),
        })
    }
}

/// Begins the span of a call to another agent.
fn record(trace: &Trace, agent: &str, operation: &Operation) -> Option<Recording> {
    let method = operation.method().name();
    let mut recording = trace.record(method, Kind::Client)?;
    recording.set(names::METHOD, method);
    recording.set(names::AGENT, agent);
    Some(recording)
}

/// Events that are there, and then those of a stream.
struct LogEvents {
    stream: Option<EventStream>,
    ready: VecDeque<(u64, Event)>,
    /// The span of the call: it lasts as long as its events are read.
    _recording: Option<Recording>,
}

#[async_trait]
impl EventSource for LogEvents {
    async fn next(&mut self) -> Result<Option<(u64, Event)>, String> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(stream) = &mut self.stream else {
                return Ok(None);
            };
            let Some(items) = stream.next().await.map_err(|e| e.to_string())? else {
                return Ok(None);
            };
            let entries = items.into_iter().map(|item| item.entry);
            self.ready.extend(entries.map(|e| (e.seq, e.event.clone())));
        }
    }
}
