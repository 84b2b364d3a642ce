//! An agent made of a closure, and an engine around it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use hyper::header::HeaderName;
use switchboard_types::Error;
use switchboard_types::model::{AgentCard, Event, Message, MessageId, Part, Role, Task, TaskId};
use switchboard_types::operation::{
    CancelTask, GetTask, Operation, Response, SendConfiguration, SendMessage, Subscribe,
};

use crate::agent::{Agent, AgentError, Outcome, Progress, Restart, Turn};
use crate::call::{Call, EventStream, Handler, Origin, ReplyBody, ServiceParams, Target};
use crate::card::Profile;
use crate::egress::{Guard, SealingKey};
use crate::engine::{Engine, Parts, Settings};
use crate::log::Log;
use crate::principal::Principal;
use crate::shutdown::Tasks;
use crate::task::Owner;

type Running = Pin<Box<dyn Future<Output = Result<Outcome, AgentError>> + Send>>;

/// An agent made of a closure.
pub struct FnAgent {
    run: Box<dyn Fn(Turn, Progress) -> Running + Send + Sync>,
    restart: Restart,
    forwards: Vec<HeaderName>,
}

impl FnAgent {
    /// The agent that does what `run` does.
    pub fn new<F, R>(run: F) -> Self
    where
        F: Fn(Turn, Progress) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Outcome, AgentError>> + Send + 'static,
    {
        Self {
            run: Box::new(move |turn, progress| Box::pin(run(turn, progress))),
            restart: Restart::Fail,
            forwards: Vec::new(),
        }
    }

    /// The same agent, which sees these headers of a request.
    #[must_use]
    pub fn forwarding(mut self, names: &[HeaderName]) -> Self {
        self.forwards = names.to_vec();
        self
    }

    /// The same agent, which can take a turn again after a restart.
    #[must_use]
    pub fn resumable(mut self) -> Self {
        self.restart = Restart::Resume;
        self
    }
}

impl fmt::Debug for FnAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FnAgent")
    }
}

#[async_trait]
impl Agent for FnAgent {
    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        (self.run)(turn, progress).await
    }

    async fn on_restart(&self, _: &Turn) -> Restart {
        self.restart
    }

    fn forwarded_headers(&self) -> &[HeaderName] {
        &self.forwards
    }
}

/// An engine around an agent, and short ways to call it.
#[derive(Debug, Clone)]
pub struct Line {
    /// The engine.
    pub engine: Engine,
    /// The log below it.
    pub log: Log,
}

impl Line {
    /// An engine named `agent` on `log`.
    #[must_use]
    pub fn new(log: &Log, agent: Arc<dyn Agent>, settings: Settings) -> Self {
        Self::with_profile(log, agent, settings, profile())
    }

    /// The same with a card of one's own.
    #[must_use]
    pub fn with_profile(
        log: &Log,
        agent: Arc<dyn Agent>,
        settings: Settings,
        profile: Profile,
    ) -> Self {
        let engine = Engine::new(Parts {
            name: Arc::from("agent"),
            agent,
            router: None,
            profile,
            settings,
            log: log.clone(),
            // Always the same, so that a restarted engine opens what the one before sealed.
            guard: Arc::new(
                Guard::new(Vec::new()).sealing(Arc::new(SealingKey::from_bytes([7; 32]))),
            ),
            tasks: Tasks::default(),
        });
        engine.take_over();
        Self {
            engine,
            log: log.clone(),
        }
    }

    /// Asks for an operation, with parameters changed by `change`.
    ///
    /// # Errors
    ///
    /// What the engine says.
    pub async fn ask(
        &self,
        operation: Operation,
        change: impl FnOnce(&mut Call) + Send,
    ) -> Result<ReplyBody, Error> {
        let mut call = Call {
            operation,
            target: Target::default(),
            principal: Principal::from(owner()),
            params: ServiceParams::internal(),
            origin: Origin::Network,
        };
        change(&mut call);
        self.engine.handle(call).await.map(|reply| reply.body)
    }

    /// Sends a message and waits.
    ///
    /// # Errors
    ///
    /// What the engine says; also if it answers with something else than a task.
    pub async fn send(&self, message: Message) -> Result<Arc<Task>, Error> {
        let body = self
            .ask(Operation::Send(Box::new(send(message))), |_| {})
            .await?;
        match body {
            ReplyBody::Response(Response::SentTask(view)) => Ok(view.task),
            _ => Err(Error::internal()),
        }
    }

    /// Sends a message and returns at once.
    ///
    /// # Errors
    ///
    /// What the engine says; also if it answers with something else than a task.
    pub async fn send_at_once(&self, message: Message) -> Result<Arc<Task>, Error> {
        let mut send = send(message);
        send.configuration.return_immediately = true;
        match self.ask(Operation::Send(Box::new(send)), |_| {}).await? {
            ReplyBody::Response(Response::SentTask(view)) => Ok(view.task),
            _ => Err(Error::internal()),
        }
    }

    /// Sends a message and follows the task.
    ///
    /// # Errors
    ///
    /// What the engine says.
    pub async fn stream(&self, message: Message) -> Result<EventStream, Error> {
        let body = self
            .ask(Operation::Stream(Box::new(send(message))), |_| {})
            .await?;
        stream(body)
    }

    /// Follows a task, from event `after` on if there is one.
    ///
    /// # Errors
    ///
    /// What the engine says.
    pub async fn subscribe(&self, id: &TaskId, after: Option<u64>) -> Result<EventStream, Error> {
        let operation = Operation::Subscribe(Subscribe { id: id.clone() });
        let body = self
            .ask(operation, |call| call.params.last_event_id = after)
            .await?;
        stream(body)
    }

    /// Stops a task.
    ///
    /// # Errors
    ///
    /// What the engine says.
    pub async fn cancel(&self, id: &TaskId) -> Result<Arc<Task>, Error> {
        let cancel = CancelTask {
            id: id.clone(),
            metadata: None,
        };
        task(self.ask(Operation::Cancel(cancel), |_| {}).await?)
    }

    /// Reads a task.
    ///
    /// # Errors
    ///
    /// What the engine says.
    pub async fn get(&self, id: &TaskId) -> Result<Arc<Task>, Error> {
        let get = GetTask {
            id: id.clone(),
            history_length: None,
        };
        task(self.ask(Operation::Get(get), |_| {}).await?)
    }
}

fn task(body: ReplyBody) -> Result<Arc<Task>, Error> {
    match body {
        ReplyBody::Response(Response::Task(view)) => Ok(view.task),
        _ => Err(Error::internal()),
    }
}

fn stream(body: ReplyBody) -> Result<EventStream, Error> {
    match body {
        ReplyBody::Stream(stream) => Ok(stream),
        ReplyBody::Response(_) => Err(Error::internal()),
    }
}

/// The rest of a stream, as (number, event, last).
///
/// # Panics
///
/// If the stream breaks off.
pub async fn rest(stream: &mut EventStream) -> Vec<(u64, Event, bool)> {
    let mut seen = Vec::new();
    while let Ok(Some(items)) = stream.next().await {
        for item in items {
            seen.push((item.entry.seq, item.entry.event.clone(), item.last));
        }
    }
    seen
}

/// A message of the client.
///
/// # Panics
///
/// Never: the id is valid.
#[must_use]
pub fn says(text: &str) -> Message {
    let id = MessageId::new(format!("m-{text}")).unwrap_or_else(|_| crate::task::fresh_id());
    Message::new(id, Role::User, vec![Part::text(text)])
}

/// A send of a message, waiting for the answer.
#[must_use]
pub fn send(message: Message) -> SendMessage {
    SendMessage {
        message,
        configuration: SendConfiguration::default(),
        metadata: None,
    }
}

/// Whom the tasks of a [`Line`] belong to.
#[must_use]
pub fn owner() -> Owner {
    Owner::new("tester")
}

/// A card that allows everything.
#[must_use]
pub fn profile() -> Profile {
    let any = || vec!["*/*".to_owned()];
    let card = AgentCard {
        default_input_modes: any(),
        default_output_modes: any(),
        ..AgentCard::new("agent", "does what the test says")
    };
    Profile {
        is_default: true,
        ..Profile::new(card)
    }
}
