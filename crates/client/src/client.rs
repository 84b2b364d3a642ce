//! The client: one way in for all operations, and a typed line for each.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use switchboard_types::model::{
    AgentCard, Message, PushConfig, PushConfigId, Task, TaskId, TaskState,
};
use switchboard_types::operation::{
    CancelTask, DeletePushConfig, GetPushConfig, GetTask, ListPushConfigs, ListTasks, Method,
    Operation, Response, SendMessage, Subscribe, TaskPage,
};
use switchboard_types::wire::jsonrpc;
use switchboard_types::{Dialect, ErrorKind};
use tokio::time::{Instant, sleep};
use url::Url;

use crate::builder::Builder;
use crate::connect::choose::Chosen;
use crate::connect::quirks::Quirks;
use crate::error::{Error, Kind, Reach};
use crate::options::CallOptions;
use crate::pages::Pages;
use crate::reference::Reference;
use crate::retry::{Retry, may_repeat};
use crate::stream::Events;
use crate::transport::link::Shared;
use crate::transport::{Reply, Transport};

/// Speaks to one agent. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) card: RwLock<Arc<AgentCard>>,
    /// Best first; never empty.
    pub(crate) candidates: Vec<Candidate>,
    /// Which of them is spoken to.
    pub(crate) current: AtomicUsize,
    pub(crate) quirks: Quirks,
    pub(crate) retry: Retry,
    pub(crate) shared: Arc<Shared>,
}

/// An interface that can be spoken to.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) chosen: Chosen,
    /// Where it really is.
    pub(crate) url: Url,
    pub(crate) dialect: Dialect,
    pub(crate) transport: Arc<dyn Transport>,
    /// The same in an older version, for an agent that knows that one better.
    pub(crate) older: Option<Arc<dyn Transport>>,
    /// On another host than the user named.
    pub(crate) elsewhere: bool,
}

/// What was answered.
#[derive(Debug)]
pub enum Answer {
    /// One answer.
    Response(Response),
    /// A stream.
    Events(Box<Events>),
}

/// What came of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// A task.
    Task(Arc<Task>),
    /// A bare answer.
    Message(Arc<Message>),
}

impl Client {
    /// Connects to an agent: by host, URL, file or card.
    ///
    /// # Errors
    ///
    /// If there is no card, or nothing in it that can be spoken to.
    pub async fn connect(reference: impl Into<Reference>) -> Result<Self, Error> {
        Self::builder().connect(reference).await
    }

    /// Connects with settings.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// The agent's card; the extended one once it was read.
    #[must_use]
    pub fn card(&self) -> Arc<AgentCard> {
        let card = self.0.card.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&card)
    }

    /// The interface that is spoken to.
    #[must_use]
    pub fn interface(&self) -> &Chosen {
        &self.candidate().chosen
    }

    pub(crate) fn retry(&self) -> Retry {
        self.0.retry
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0.shared
    }

    pub(crate) fn resolved(&self) -> &Url {
        &self.candidate().url
    }

    fn candidate(&self) -> &Candidate {
        let at = self.0.current.load(Ordering::Relaxed);
        &self.0.candidates[at.min(self.0.candidates.len() - 1)]
    }

    /// Does an operation.
    ///
    /// # Errors
    ///
    /// If it cannot be done.
    pub async fn call(&self, operation: Operation) -> Result<Answer, Error> {
        self.call_with(operation, &CallOptions::new()).await
    }

    /// Does an operation, with options.
    ///
    /// # Errors
    ///
    /// If it cannot be done.
    pub async fn call_with(
        &self,
        mut operation: Operation,
        options: &CallOptions,
    ) -> Result<Answer, Error> {
        self.require(operation.method(), options)?;
        if let Operation::Send(send) | Operation::Stream(send) = &mut operation {
            self.0.quirks.adapt(send);
        }
        match self.reach(&operation, options).await? {
            Reply::Response(response) => {
                let response = self.looked_at_again(response, options).await?;
                if let Response::Card(card) = &response {
                    // For the session, instead of the public one (A2A 1.0 §3.1.11).
                    let mut known = self.0.card.write().unwrap_or_else(PoisonError::into_inner);
                    *known = Arc::new((**card).clone());
                }
                Ok(Answer::Response(response))
            }
            Reply::Events(arriving) => {
                let (client, options) = (self.clone(), options.clone());
                let events = Events::new(client, operation, options, arriving);
                Ok(Answer::Events(Box::new(events)))
            }
        }
    }

    /// What can be known before anything is sent.
    fn require(&self, method: Method, options: &CallOptions) -> Result<(), Error> {
        let card = self.card();
        let capabilities = &card.capabilities;
        let offered = |flag: Option<bool>, what: &str| match flag {
            Some(true) => Ok(()),
            _ => Err(not_offered(&card, what)),
        };
        match method {
            Method::Stream | Method::Subscribe => offered(capabilities.streaming, "streams")?,
            Method::CreatePushConfig
            | Method::GetPushConfig
            | Method::ListPushConfigs
            | Method::DeletePushConfig => offered(capabilities.push_notifications, "webhooks")?,
            Method::ExtendedCard => {
                offered(capabilities.extended_agent_card, "an extended card")?;
            }
            Method::Send | Method::Get | Method::List | Method::Cancel => {}
        }
        if method == Method::Subscribe && self.0.quirks.unwatchable {
            return Err(not_offered(&card, "a way to watch a task"));
        }
        if !jsonrpc::offers(self.candidate().dialect, method) {
            return Err(not_offered(
                &card,
                &format!("{} in this version", method.name()),
            ));
        }
        let asked = |uri: &String| {
            options.extensions.contains(uri) || self.0.shared.params.extensions.contains(uri)
        };
        let mut required = capabilities.extensions.iter().filter(|one| one.required);
        if let Some(missing) = required.find(|one| !asked(&one.uri)) {
            let message = format!("the agent requires the extension {}", missing.uri);
            return Err(Error::new(Kind::ExtensionRequired, message)
                .hinting("ask for it, if you know what it wants of you"));
        }
        Ok(())
    }

    /// Sends, and again if it may be. A connection that cannot be made is tried at the next interface.
    pub(crate) async fn reach(
        &self,
        operation: &Operation,
        options: &CallOptions,
    ) -> Result<Reply, Error> {
        let method = operation.method();
        let timeout = options.timeout.unwrap_or(self.0.shared.timeout);
        let start = Instant::now();
        let mut options = options.clone();
        let mut failed = 0;
        loop {
            options.timeout = Some(timeout.saturating_sub(start.elapsed()));
            let error = match self.reach_once(operation, &options).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            if error.kind() == Kind::Unreachable
                && error.reach() == Reach::NotSent
                && self.move_on()
            {
                continue;
            }
            failed += 1;
            let pause = self.0.retry.pause(failed, error.wait());
            let late = start.elapsed() + pause >= timeout;
            let keyed = options.idempotency_key.is_some();
            if late || failed >= self.0.retry.attempts || !may_repeat(method, keyed, &error) {
                return Err(self.explained(error));
            }
            tracing::debug!(%error, method = method.name(), failed, "asking again");
            sleep(pause).await;
        }
    }

    /// Sends once, to the interface that is spoken to.
    pub(crate) async fn reach_once(
        &self,
        operation: &Operation,
        options: &CallOptions,
    ) -> Result<Reply, Error> {
        let candidate = self.candidate();
        let old_name = matches!(
            operation.method(),
            Method::Send | Method::Stream | Method::Get | Method::Cancel
        );
        let transport = match &candidate.older {
            Some(older) if old_name => older,
            _ => &candidate.transport,
        };
        transport.call(operation, options).await
    }

    /// Goes on to the next interface, for good. Whether there is one.
    fn move_on(&self) -> bool {
        let at = self.0.current.load(Ordering::Relaxed);
        if at + 1 >= self.0.candidates.len() {
            return false;
        }
        // Others may have moved on meanwhile; then theirs is as good.
        let moved = (at, at + 1);
        let _ =
            self.0
                .current
                .compare_exchange(moved.0, moved.1, Ordering::Relaxed, Ordering::Relaxed);
        true
    }

    fn explained(&self, error: Error) -> Error {
        if error.kind() == Kind::Unreachable && self.candidate().elsewhere {
            return error.hinting(
                "the card names another host than you did: use the address that you gave instead",
            );
        }
        error
    }

    /// There are agents that say completed, and nothing, of what was canceled.
    async fn looked_at_again(
        &self,
        response: Response,
        options: &CallOptions,
    ) -> Result<Response, Error> {
        let Response::SentTask(mut view) = response else {
            return Ok(response);
        };
        view.task = self.as_it_is(view.task, options).await?;
        Ok(Response::SentTask(view))
    }

    /// A task that says it is completed, with its real state if that may be another.
    pub(crate) async fn as_it_is(
        &self,
        mut task: Arc<Task>,
        options: &CallOptions,
    ) -> Result<Arc<Task>, Error> {
        let done = task.status.state == TaskState::Completed;
        if !self.0.quirks.hides_cancel || !done || !crate::answer_text(&*task).is_empty() {
            return Ok(task);
        }
        let get = Operation::Get(GetTask {
            id: task.id.clone(),
            history_length: None,
        });
        let options = CallOptions {
            request_id: None,
            idempotency_key: None,
            ..options.clone()
        };
        let now = self.get_task(get, &options).await?;
        Arc::make_mut(&mut task).status = now.status.clone();
        Ok(task)
    }

    /// Does an operation that gives a task.
    pub(crate) async fn get_task(
        &self,
        operation: Operation,
        options: &CallOptions,
    ) -> Result<Arc<Task>, Error> {
        match Box::pin(self.reach(&operation, options)).await? {
            Reply::Response(Response::Task(view) | Response::SentTask(view)) => Ok(view.task),
            Reply::Response(other) => Err(unexpected(&other)),
            // There are agents that answer everything by a stream.
            Reply::Events(arriving) => {
                let events = Events::new(self.clone(), operation, options.clone(), arriving);
                match Box::pin(events.finish()).await? {
                    Sent::Task(task) => Ok(task),
                    Sent::Message(message) => Err(unexpected(&message)),
                }
            }
        }
    }

    async fn response(&self, operation: Operation) -> Result<Response, Error> {
        match self.call(operation).await? {
            Answer::Response(response) => Ok(response),
            Answer::Events(_) => Err(unexpected(&"a stream")),
        }
    }

    /// Sends a message and waits for what comes of it.
    ///
    /// # Errors
    ///
    /// If it cannot be sent, or the agent refuses it.
    pub async fn send(&self, message: impl Into<SendMessage>) -> Result<Sent, Error> {
        self.send_with(message, &CallOptions::new()).await
    }

    /// As [`Client::send`], with options.
    ///
    /// # Errors
    ///
    /// As [`Client::send`].
    pub async fn send_with(
        &self,
        message: impl Into<SendMessage>,
        options: &CallOptions,
    ) -> Result<Sent, Error> {
        let operation = Operation::Send(Box::new(message.into()));
        match self.call_with(operation, options).await? {
            Answer::Response(Response::SentTask(view) | Response::Task(view)) => {
                Ok(Sent::Task(view.task))
            }
            Answer::Response(Response::SentMessage(message)) => Ok(Sent::Message(message)),
            Answer::Response(other) => Err(unexpected(&other)),
            Answer::Events(events) => Box::pin(events.finish()).await,
        }
    }

    /// Sends a message and follows what comes of it.
    ///
    /// # Errors
    ///
    /// If it cannot be sent, or the agent refuses it.
    pub async fn stream(&self, message: impl Into<SendMessage>) -> Result<Events, Error> {
        self.stream_with(message, &CallOptions::new()).await
    }

    /// As [`Client::stream`], with options.
    ///
    /// # Errors
    ///
    /// As [`Client::stream`].
    pub async fn stream_with(
        &self,
        message: impl Into<SendMessage>,
        options: &CallOptions,
    ) -> Result<Events, Error> {
        self.events(Operation::Stream(Box::new(message.into())), options)
            .await
    }

    /// Follows a task.
    ///
    /// # Errors
    ///
    /// If there is no such task, or it is over.
    pub async fn subscribe(&self, task: &TaskId) -> Result<Events, Error> {
        self.subscribe_with(task, &CallOptions::new()).await
    }

    /// As [`Client::subscribe`], with options.
    ///
    /// # Errors
    ///
    /// As [`Client::subscribe`].
    pub async fn subscribe_with(
        &self,
        task: &TaskId,
        options: &CallOptions,
    ) -> Result<Events, Error> {
        let id = task.clone();
        self.events(Operation::Subscribe(Subscribe { id }), options)
            .await
    }

    async fn events(&self, operation: Operation, options: &CallOptions) -> Result<Events, Error> {
        match self.call_with(operation, options).await? {
            Answer::Events(events) => Ok(*events),
            Answer::Response(other) => Err(unexpected(&other)),
        }
    }

    /// Reads a task.
    ///
    /// # Errors
    ///
    /// If there is no such task.
    pub async fn get(&self, task: &TaskId, history: Option<u32>) -> Result<Arc<Task>, Error> {
        let get = Operation::Get(GetTask {
            id: task.clone(),
            history_length: history,
        });
        self.require(Method::Get, &CallOptions::new())?;
        self.get_task(get, &CallOptions::new()).await
    }

    /// Reads one page of tasks.
    ///
    /// # Errors
    ///
    /// If the agent has no lists, or refuses this one.
    pub async fn list(&self, query: ListTasks) -> Result<TaskPage, Error> {
        match self.response(Operation::List(query)).await? {
            Response::Tasks(page) => Ok(page),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads all tasks, page by page.
    #[must_use]
    pub fn tasks(&self, query: ListTasks) -> Pages {
        Pages::new(self.clone(), query)
    }

    /// Stops a task. One that was stopped already is as good.
    ///
    /// # Errors
    ///
    /// If there is no such task, or it ended otherwise.
    pub async fn cancel(&self, task: &TaskId) -> Result<Arc<Task>, Error> {
        let cancel = Operation::Cancel(CancelTask {
            id: task.clone(),
            metadata: None,
        });
        self.require(Method::Cancel, &CallOptions::new())?;
        match self.get_task(cancel, &CallOptions::new()).await {
            Err(error) if error.is(ErrorKind::TaskNotCancelable) => {
                // Perhaps by the attempt before this one, whose answer was lost.
                match self.get(task, Some(0)).await {
                    Ok(task) if task.status.state == TaskState::Canceled => Ok(task),
                    _ => Err(error),
                }
            }
            other => other,
        }
    }

    /// Registers a webhook for a task.
    ///
    /// # Errors
    ///
    /// If the agent has no webhooks, or refuses this one.
    pub async fn create_push_config(&self, config: PushConfig) -> Result<PushConfig, Error> {
        match self.response(Operation::CreatePushConfig(config)).await? {
            Response::PushConfig(config) => Ok(config),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads a webhook of a task.
    ///
    /// # Errors
    ///
    /// If there is no such webhook.
    pub async fn push_config(&self, task: &TaskId, id: &PushConfigId) -> Result<PushConfig, Error> {
        let get = Operation::GetPushConfig(GetPushConfig {
            task_id: task.clone(),
            id: Some(id.clone()),
        });
        match self.response(get).await? {
            Response::PushConfig(config) => Ok(config),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads all webhooks of a task.
    ///
    /// # Errors
    ///
    /// If there is no such task.
    pub async fn push_configs(&self, task: &TaskId) -> Result<Vec<PushConfig>, Error> {
        let mut all = Vec::new();
        let mut page_token = None;
        loop {
            let list = Operation::ListPushConfigs(ListPushConfigs {
                task_id: task.clone(),
                page_size: None,
                page_token: page_token.clone(),
            });
            let page = match self.response(list).await? {
                Response::PushConfigs(page) => page,
                other => return Err(unexpected(&other)),
            };
            all.extend(page.configs);
            let next = Some(page.next_page_token).filter(|next| !next.is_empty());
            if next.is_none() || next == page_token {
                return Ok(all);
            }
            page_token = next;
        }
    }

    /// Removes a webhook of a task.
    ///
    /// # Errors
    ///
    /// If there is no such task.
    pub async fn delete_push_config(&self, task: &TaskId, id: &PushConfigId) -> Result<(), Error> {
        let delete = Operation::DeletePushConfig(DeletePushConfig {
            task_id: task.clone(),
            id: id.clone(),
        });
        match self.response(delete).await? {
            Response::Deleted => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads the card meant for those who authenticate; from then on it is the agent's card.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub async fn extended_card(&self) -> Result<Arc<AgentCard>, Error> {
        match self.response(Operation::ExtendedCard).await? {
            Response::Card(_) => Ok(self.card()),
            other => Err(unexpected(&other)),
        }
    }
}

fn not_offered(card: &AgentCard, what: &str) -> Error {
    let message = format!("{:?} does not offer {what}", card.name);
    Error::new(Kind::NotOffered, message)
}

fn unexpected(what: &impl std::fmt::Debug) -> Error {
    // Names what kind of answer it is, and not all of it.
    let shown = format!("{what:?}");
    let name = shown.split(['(', '{']).next().unwrap_or_default().trim();
    Error::unintelligible(format!("it is {name}, which was not asked for"))
}
