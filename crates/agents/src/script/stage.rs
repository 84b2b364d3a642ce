//! What a run needs of the world: someone to speak to, and a line to other agents. The real one is an
//! engine's [`Progress`] and the gateway's [`Handler`]; tests bring their own.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use switchboard_server::agent::{AgentError, Progress, Said};
use switchboard_server::call::{
    Call, EventStream, Handler, Origin, ReplyBody, ServiceParams, Target,
};
use switchboard_server::engine::refused_cancel;
use switchboard_server::log::Item;
use switchboard_server::principal::Principal;
use switchboard_server::trace::{Kind, Recording, Trace, names};
use switchboard_types::model::{Artifact, Event, Task, TaskId};
use switchboard_types::operation::{
    CancelTask, GetTask, Operation, Response, SendMessage, Subscribe,
};
use switchboard_types::{Error, ErrorKind};

use super::scope::Asked;

/// What a run needs of the world.
#[async_trait]
pub(super) trait Stage: Send + Sync {
    /// Makes a status update.
    async fn say(&self, said: Said) -> Result<(), AgentError>;

    /// Makes an artifact update.
    async fn hand_over(
        &self,
        artifact: Artifact,
        append: bool,
        last: bool,
    ) -> Result<(), AgentError>;

    /// Waits until the task lasts: what others are asked to do is done for a task that is there after a crash, too.
    async fn safe(&self) -> Result<(), AgentError>;

    /// Keeps something about the task that is not told.
    async fn note(&self, name: &str, value: Value) -> Result<(), AgentError>;

    /// Keeps something about the work for whoever runs it.
    fn internal(&self, name: &str, value: Value);

    /// Sends a message to another agent and follows the answer. Repeats under the same key lead to the same
    /// task, from its first event on.
    async fn send(
        &self,
        agent: &str,
        message: SendMessage,
        key: String,
    ) -> Result<Box<dyn Line>, String>;

    /// Sends a message to a task of another agent without waiting for the answer. A `secret` is kept as one.
    async fn tell(&self, agent: &str, message: SendMessage, secret: bool) -> Result<(), String>;

    /// Follows a task of another agent from the event after `after`.
    async fn follow(&self, agent: &str, id: TaskId, after: u64) -> Result<Box<dyn Line>, String>;

    /// A task of another agent as it stands.
    async fn task(&self, agent: &str, id: TaskId) -> Result<Arc<Task>, String>;

    /// Cancels a task of another agent.
    async fn cancel(&self, agent: &str, id: TaskId) -> Result<(), AgentError>;
}

/// What another agent answers, event by event.
#[async_trait]
pub(super) trait Line: Send {
    /// The next event and its number; `None` when there will be no more.
    async fn next(&mut self) -> Result<Option<(u64, Event)>, String>;
}

/// The stage of a turn in an engine.
pub(super) struct Live<'a> {
    pub(super) progress: &'a Progress,
    pub(super) others: Others<'a>,
}

/// The other agents, as one of them reaches them on behalf of its caller.
pub(super) struct Others<'a> {
    pub(super) handler: Option<&'a Arc<dyn Handler>>,
    pub(super) principal: Principal,
    /// Whose turn it is.
    pub(super) agent: Arc<str>,
    /// What it is part of.
    pub(super) trace: Option<Trace>,
}

/// What another agent answers, and the record of the call that goes on.
type Answered = (ReplyBody, Option<Recording>);

impl Others<'_> {
    async fn ask(&self, agent: &str, operation: Operation) -> Result<ReplyBody, Error> {
        let params = ServiceParams::internal();
        let (body, _) = self.ask_with(agent, operation, params).await?;
        Ok(body)
    }

    async fn ask_with(
        &self,
        agent: &str,
        operation: Operation,
        mut params: ServiceParams,
    ) -> Result<Answered, Error> {
        let handler = self.handler.ok_or_else(|| {
            let text = "this agent has no line to other agents";
            Error::new(ErrorKind::UnsupportedOperation, text)
        })?;
        let trace = self.trace.as_ref().map(Trace::child);
        let mut recording = trace.as_ref().and_then(|t| record(t, agent, &operation));
        params.trace = trace.map(Arc::new);
        let call = Call {
            operation,
            target: Target {
                agent: Some(Arc::from(agent)),
                tenant: None,
            },
            principal: self.principal.clone(),
            params,
            origin: Origin::Agent(Arc::clone(&self.agent)),
        };
        let reply = handler.handle(call).await;
        if let (Some(recording), Err(error)) = (&mut recording, &reply) {
            recording.fail(error.kind().reason());
        }
        Ok((reply?.body, recording))
    }

    /// A task of another agent, as it stands.
    pub(super) async fn task(&self, agent: &str, id: TaskId) -> Result<Arc<Task>, String> {
        let get = GetTask {
            id,
            history_length: None,
        };
        match self.ask(agent, Operation::Get(get)).await.map_err(words)? {
            ReplyBody::Response(Response::Task(view)) => Ok(view.task),
            _ => Err("did not answer with a task".to_owned()),
        }
    }

    /// Nobody will answer what another agent has asked.
    pub(super) async fn withdraw(&self, asked: Asked) -> Result<(), AgentError> {
        match TaskId::new(asked.task_id) {
            Ok(id) => self.cancel(&asked.agent, id).await,
            Err(_) => Ok(()),
        }
    }

    /// Cancels a task of another agent, unless it is over.
    ///
    /// # Errors
    ///
    /// If it may be otherwise later, or what works for that task may go on.
    pub(super) async fn cancel(&self, agent: &str, id: TaskId) -> Result<(), AgentError> {
        let task = id.clone();
        let cancel = Operation::Cancel(CancelTask { id, metadata: None });
        match self.ask(agent, cancel).await {
            Ok(ReplyBody::Response(Response::Task(view))) => match refused_cancel(&view.task) {
                Some(reason) => Err(AgentError::over().cancel_refused(reason)),
                None => Ok(()),
            },
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                Err(AgentError::unavailable(words(error)).untold())
            }
            Err(error) => {
                let over = [ErrorKind::TaskNotCancelable, ErrorKind::TaskNotFound];
                if over.contains(&error.kind()) {
                    return Ok(());
                }
                tracing::warn!(agent, %task, %error, "delegated task not canceled");
                Err(AgentError::over().cancel_refused(words(error)))
            }
        }
    }
}

#[async_trait]
impl Stage for Live<'_> {
    async fn say(&self, said: Said) -> Result<(), AgentError> {
        self.progress.working(said).await
    }

    async fn hand_over(
        &self,
        artifact: Artifact,
        append: bool,
        last: bool,
    ) -> Result<(), AgentError> {
        self.progress.chunk(artifact, append, last).await
    }

    async fn safe(&self) -> Result<(), AgentError> {
        self.progress.safe().await
    }

    async fn note(&self, name: &str, value: Value) -> Result<(), AgentError> {
        self.progress.note(name, value).await
    }

    fn internal(&self, name: &str, value: Value) {
        self.progress.internal(name, value);
    }

    async fn send(
        &self,
        agent: &str,
        message: SendMessage,
        key: String,
    ) -> Result<Box<dyn Line>, String> {
        let params = ServiceParams {
            idempotency_key: Some(key),
            ..ServiceParams::internal()
        };
        let stream = Operation::Stream(Box::new(message));
        self.others
            .ask_with(agent, stream, params)
            .await
            .map_err(words)
            .and_then(line)
    }

    async fn tell(
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
        self.others
            .ask_with(agent, send, params)
            .await
            .map(drop)
            .map_err(words)
    }

    async fn follow(&self, agent: &str, id: TaskId, after: u64) -> Result<Box<dyn Line>, String> {
        let params = ServiceParams {
            last_event_id: Some(after),
            ..ServiceParams::internal()
        };
        let subscribe = Operation::Subscribe(Subscribe { id });
        self.others
            .ask_with(agent, subscribe, params)
            .await
            .map_err(words)
            .and_then(line)
    }

    async fn task(&self, agent: &str, id: TaskId) -> Result<Arc<Task>, String> {
        self.others.task(agent, id).await
    }

    async fn cancel(&self, agent: &str, id: TaskId) -> Result<(), AgentError> {
        self.others.cancel(agent, id).await
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

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err wants")]
fn words(error: Error) -> String {
    error.message().to_owned()
}

/// A reply as a line, whatever its form.
fn line((body, recording): Answered) -> Result<Box<dyn Line>, String> {
    let line = match body {
        ReplyBody::Stream(events) => Followed {
            events: Some(events),
            ready: VecDeque::new(),
            _recording: recording,
        },
        ReplyBody::Response(Response::SentMessage(message)) => {
            Followed::just(Event::Message(message))
        }
        ReplyBody::Response(Response::SentTask(view)) => Followed::just(Event::Task(view.task)),
        ReplyBody::Response(_) => return Err("did not answer with a task".to_owned()),
    };
    Ok(Box::new(line))
}

/// The events of another task, read one by one.
struct Followed {
    events: Option<EventStream>,
    ready: VecDeque<(u64, Event)>,
    /// The call goes on as long as it is listened to.
    _recording: Option<Recording>,
}

impl Followed {
    fn just(event: Event) -> Self {
        Self {
            events: None,
            ready: VecDeque::from([(0, event)]),
            _recording: None,
        }
    }
}

#[async_trait]
impl Line for Followed {
    async fn next(&mut self) -> Result<Option<(u64, Event)>, String> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(events) = &mut self.events else {
                return Ok(None);
            };
            let items = events.next().await.map_err(|e| e.to_string())?;
            let Some(items) = items else {
                return Ok(None);
            };
            let entries = items.into_iter().map(|item: Item| item.entry);
            self.ready.extend(entries.map(|e| (e.seq, e.event.clone())));
        }
    }
}
