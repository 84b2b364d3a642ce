//! The narrow waist: eleven things a caller can ask for, and what is answered.

use std::sync::Arc;

use crate::model::{
    AgentCard, ContextId, Message, Object, PushConfig, PushConfigId, Task, TaskId, TaskState,
    Timestamp,
};

/// What a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Send a message, get one answer.
    Send(Box<SendMessage>),
    /// Send a message, get a stream.
    Stream(Box<SendMessage>),
    /// Read a task.
    Get(GetTask),
    /// Read many tasks.
    List(ListTasks),
    /// Stop a task.
    Cancel(CancelTask),
    /// Watch a task.
    Subscribe(Subscribe),
    /// Register or replace a webhook.
    CreatePushConfig(PushConfig),
    /// Read a webhook's registration.
    GetPushConfig(GetPushConfig),
    /// Read all webhooks of a task.
    ListPushConfigs(ListPushConfigs),
    /// Remove a webhook.
    DeletePushConfig(DeletePushConfig),
    /// Read the card meant for those who authenticate.
    ExtendedCard,
}

/// An [`Operation`] without its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// See [`Operation::Send`].
    Send,
    /// See [`Operation::Stream`].
    Stream,
    /// See [`Operation::Get`].
    Get,
    /// See [`Operation::List`].
    List,
    /// See [`Operation::Cancel`].
    Cancel,
    /// See [`Operation::Subscribe`].
    Subscribe,
    /// See [`Operation::CreatePushConfig`].
    CreatePushConfig,
    /// See [`Operation::GetPushConfig`].
    GetPushConfig,
    /// See [`Operation::ListPushConfigs`].
    ListPushConfigs,
    /// See [`Operation::DeletePushConfig`].
    DeletePushConfig,
    /// See [`Operation::ExtendedCard`].
    ExtendedCard,
}

impl Operation {
    /// Which operation this is.
    #[must_use]
    pub fn method(&self) -> Method {
        match self {
            Self::Send(_) => Method::Send,
            Self::Stream(_) => Method::Stream,
            Self::Get(_) => Method::Get,
            Self::List(_) => Method::List,
            Self::Cancel(_) => Method::Cancel,
            Self::Subscribe(_) => Method::Subscribe,
            Self::CreatePushConfig(_) => Method::CreatePushConfig,
            Self::GetPushConfig(_) => Method::GetPushConfig,
            Self::ListPushConfigs(_) => Method::ListPushConfigs,
            Self::DeletePushConfig(_) => Method::DeletePushConfig,
            Self::ExtendedCard => Method::ExtendedCard,
        }
    }
}

impl Method {
    /// All eleven.
    pub const ALL: [Self; 11] = [
        Self::Send,
        Self::Stream,
        Self::Get,
        Self::List,
        Self::Cancel,
        Self::Subscribe,
        Self::CreatePushConfig,
        Self::GetPushConfig,
        Self::ListPushConfigs,
        Self::DeletePushConfig,
        Self::ExtendedCard,
    ];

    /// The operation's name in A2A 1.0; also its name in logs, spans and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "SendMessage",
            Self::Stream => "SendStreamingMessage",
            Self::Get => "GetTask",
            Self::List => "ListTasks",
            Self::Cancel => "CancelTask",
            Self::Subscribe => "SubscribeToTask",
            Self::CreatePushConfig => "CreateTaskPushNotificationConfig",
            Self::GetPushConfig => "GetTaskPushNotificationConfig",
            Self::ListPushConfigs => "ListTaskPushNotificationConfigs",
            Self::DeletePushConfig => "DeleteTaskPushNotificationConfig",
            Self::ExtendedCard => "GetExtendedAgentCard",
        }
    }

    /// Whether the answer is a stream.
    #[must_use]
    pub fn streams(self) -> bool {
        matches!(self, Self::Stream | Self::Subscribe)
    }
}

/// Parameters of [`Operation::Send`] and [`Operation::Stream`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendMessage {
    /// The message.
    pub message: Message,
    /// How to answer.
    pub configuration: SendConfiguration,
    /// Free data about the request.
    pub metadata: Option<Object>,
}

/// How a caller wants to be answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SendConfiguration {
    /// Media types the caller can take; empty means any.
    pub accepted_output_modes: Vec<String>,
    /// A webhook to arm before the first event.
    pub push: Option<PushConfig>,
    /// How much history to return.
    pub history_length: Option<u32>,
    /// Answer as soon as the task exists, instead of waiting for it to end or to ask.
    pub return_immediately: bool,
}

/// Parameters of [`Operation::Get`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetTask {
    /// The task.
    pub id: TaskId,
    /// How much history to return.
    pub history_length: Option<u32>,
}

/// Parameters of [`Operation::List`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListTasks {
    /// Only tasks of this conversation.
    pub context_id: Option<ContextId>,
    /// Only tasks in this state.
    pub status: Option<TaskState>,
    /// 1 to 100; 50 if absent.
    pub page_size: Option<u32>,
    /// Where the last page ended.
    pub page_token: Option<String>,
    /// How much history to return with each task.
    pub history_length: Option<u32>,
    /// Only tasks whose status is of this moment or later.
    pub status_timestamp_after: Option<Timestamp>,
    /// Return artifacts too.
    pub include_artifacts: bool,
}

/// Parameters of [`Operation::Cancel`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelTask {
    /// The task.
    pub id: TaskId,
    /// Free data about the request.
    pub metadata: Option<Object>,
}

/// Parameters of [`Operation::Subscribe`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscribe {
    /// The task.
    pub id: TaskId,
}

/// Parameters of [`Operation::GetPushConfig`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetPushConfig {
    /// The task.
    pub task_id: TaskId,
    /// The config; 0.x callers may leave it out and get the first one.
    pub id: Option<PushConfigId>,
}

/// Parameters of [`Operation::ListPushConfigs`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPushConfigs {
    /// The task.
    pub task_id: TaskId,
    /// How many at most; absent means all.
    pub page_size: Option<u32>,
    /// Where the last page ended.
    pub page_token: Option<String>,
}

/// Parameters of [`Operation::DeletePushConfig`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletePushConfig {
    /// The task.
    pub task_id: TaskId,
    /// The config.
    pub id: PushConfigId,
}

/// What is answered, streams apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// To a send: the task it made or continued.
    SentTask(TaskView),
    /// To a send: a bare message.
    SentMessage(Arc<Message>),
    /// To get and cancel.
    Task(TaskView),
    /// To list.
    Tasks(TaskPage),
    /// To create and get of a webhook.
    PushConfig(PushConfig),
    /// To list of webhooks.
    PushConfigs(PushConfigPage),
    /// To delete of a webhook.
    Deleted,
    /// To extended card.
    Card(Box<AgentCard>),
}

impl Response {
    /// Roughly how many bytes it takes on the wire.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::SentTask(view) | Self::Task(view) => view.weight(),
            Self::SentMessage(message) => message.weight(),
            Self::Tasks(page) => page.tasks.iter().map(TaskView::weight).sum(),
            // Bounded by how many webhooks a task may have, and by the configuration.
            Self::PushConfig(_) | Self::PushConfigs(_) | Self::Deleted | Self::Card(_) => 0,
        }
    }
}

/// A task, and how much of it the caller wants to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskView {
    /// The whole task, shared with whoever else reads it.
    pub task: Arc<Task>,
    /// Show only that many of the latest messages; `None` shows all.
    pub history_length: Option<u32>,
    /// Show artifacts.
    pub artifacts: bool,
}

impl TaskView {
    /// All of a task.
    #[must_use]
    pub fn whole(task: Arc<Task>) -> Self {
        Self {
            task,
            history_length: None,
            artifacts: true,
        }
    }

    /// Roughly how many bytes of it are shown.
    #[must_use]
    pub fn weight(&self) -> usize {
        let task = &self.task;
        if self.artifacts && self.history_length.is_none() {
            return task.weight();
        }
        let artifacts = task.artifacts.iter().filter(|_| self.artifacts);
        let artifacts: usize = artifacts.map(|artifact| artifact.weight()).sum();
        let history = self.history().iter();
        let history: usize = history.map(|message| message.weight()).sum();
        let free = task.metadata.as_ref();
        let free = free.map_or(0, |object| object.as_json().as_str().len());
        256 + task.status.weight() + artifacts + history + free
    }

    /// The messages to show.
    #[must_use]
    pub fn history(&self) -> &[Arc<Message>] {
        let all = &self.task.history;
        let wanted = self
            .history_length
            .map_or(all.len(), |n| usize::try_from(n).unwrap_or(usize::MAX));
        &all[all.len().saturating_sub(wanted)..]
    }
}

/// A page of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPage {
    /// Newest status first.
    pub tasks: Vec<TaskView>,
    /// Empty on the last page.
    pub next_page_token: String,
    /// The size that was applied.
    pub page_size: u32,
    /// How many match, pages apart.
    pub total_size: u64,
}

/// A page of webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushConfigPage {
    /// In the order they were made.
    pub configs: Vec<PushConfig>,
    /// Empty on the last page.
    pub next_page_token: String,
}
