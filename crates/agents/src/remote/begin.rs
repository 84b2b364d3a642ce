//! How a message goes out, and how it is withdrawn while it is not known what has become of it.

use std::future::{Future, pending};
use std::pin::pin;
use std::time::Duration;

use switchboard_client::{CallOptions, Client, Error, Events, Sent};
use switchboard_server::agent::AgentError;
use switchboard_types::model::{Event, Task, TaskId};
use switchboard_types::operation::{ListTasks, SendMessage};
use tokio::time::sleep;

use super::checkpoint::Checkpoint;
use super::line::Line;
use super::run::{Run, Stop};

/// Among how many tasks the one is looked for that was begun.
const LISTED: u32 = 50;
/// How soon it is looked for again.
const AGAIN: Duration = Duration::from_millis(500);

/// What a message was answered with.
pub(super) enum Begun {
    Events(Box<Events>),
    Answer(Sent),
}

impl Run<'_> {
    /// Sends a message. Some agents answer only when they are done, whatever they are asked for: a turn that is canceled
    /// meanwhile cancels what it has begun.
    pub(super) async fn begin(
        &mut self,
        client: &Client,
        message: &SendMessage,
    ) -> Result<Begun, Stop> {
        let canceled = self.turn.canceled.clone();
        let options = self.options_for(&message.message);
        let mut sending = pin!(sent(client.clone(), message.clone(), options));
        tokio::select! {
            biased;
            begun = &mut sending => return Ok(begun?),
            () = canceled.cancelled() => {}
        }
        let to = message.message.task_id.as_ref();
        // Boxed, as all that is seldom needed: each turn would have room for it.
        Box::pin(self.withdraw(client, to, told(sending))).await?;
        Err(AgentError::over().into())
    }

    /// Cancels the task that was sent a message, as soon as it is known: from what is told, or from the list of tasks.
    pub(super) async fn withdraw(
        &mut self,
        client: &Client,
        to: Option<&TaskId>,
        told: impl Future<Output = Option<TaskId>>,
    ) -> Result<(), AgentError> {
        if let Some(id) = to {
            return self.cancel(client, id).await;
        }
        self.renewed = false;
        let found = async {
            loop {
                if let Ok(Some(id)) = self.listed(client).await {
                    break id;
                }
                sleep(AGAIN).await;
            }
        };
        let id = tokio::select! {
            id = told => id,
            id = found => Some(id),
        };
        match id {
            Some(id) => self.cancel(client, &id).await,
            None => Ok(()),
        }
    }

    /// Whether it is certain that the message of the checkpoint did not reach a task that waits.
    pub(super) fn was_not_heard(&self, task: &Task) -> bool {
        let id = self.message_id();
        let waits = task.status.state.is_interrupted();
        let shows = !task.history.is_empty();
        waits
            && shows
            && !task
                .history
                .iter()
                .any(|message| Some(&message.id) == id.as_ref())
    }

    /// The task that the message of the checkpoint has begun, if the agent lists its tasks.
    ///
    /// # Errors
    ///
    /// If the list cannot be had.
    pub(super) async fn listed(&mut self, client: &Client) -> Result<Option<TaskId>, Stop> {
        let Some(id) = self.message_id() else {
            return Ok(None);
        };
        let query = &ListTasks {
            context_id: self.checkpoint.as_ref().and_then(Checkpoint::context_id),
            page_size: Some(LISTED),
            history_length: Some(LISTED),
            ..ListTasks::default()
        };
        let list = move |options| async move { client.list_with(query.clone(), &options).await };
        let page = self.insist(list).await?;
        let mut tasks = page.tasks.into_iter().map(|view| view.task);
        let begun = tasks.find(|task| task.history.iter().any(|message| message.id == id));
        Ok(begun.map(|task| task.id.clone()))
    }
}

async fn sent(
    client: Client,
    mut message: SendMessage,
    options: CallOptions,
) -> Result<Begun, Error> {
    if client.card().capabilities.streaming == Some(true) {
        let mut events = client.stream_with(message, &options).await?;
        // A refusal in the stream is a refusal of the message.
        events.until_first().await?;
        return Ok(Begun::Events(Box::new(events)));
    }
    // The sooner the task is known, the sooner it can be canceled and found again.
    message.configuration.return_immediately = true;
    let sent = client.send_with(message, &Line::patient(&options)).await?;
    Ok(Begun::Answer(sent))
}

/// The task that a message has begun, once that is told; nothing, if there is nothing to cancel.
async fn told(begun: impl Future<Output = Result<Begun, Error>>) -> Option<TaskId> {
    match begun.await {
        Ok(Begun::Answer(Sent::Task(task))) => {
            let is_over = task.status.state.is_terminal();
            (!is_over).then(|| task.id.clone())
        }
        Ok(Begun::Answer(Sent::Message(_))) => None,
        Ok(Begun::Events(events)) => told_of(*events).await,
        // It may be in the list of tasks all the same.
        Err(error) if error.may_have_arrived() => pending().await,
        Err(_) => None,
    }
}

/// The same, of a stream.
pub(super) async fn told_of(mut events: Events) -> Option<TaskId> {
    match events.next().await? {
        Ok(item) => match &item.event {
            Event::Task(task) => Some(task.id.clone()),
            Event::Status(update) => Some(update.task_id.clone()),
            Event::Artifact(update) => Some(update.task_id.clone()),
            Event::Message(_) => None,
        },
        Err(error) if error.may_have_arrived() => pending().await,
        Err(_) => None,
    }
}
