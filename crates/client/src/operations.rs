//! A typed line for each operation.

use std::sync::Arc;

use switchboard_types::ErrorKind;
use switchboard_types::model::{AgentCard, PushConfig, PushConfigId, Task, TaskId, TaskState};
use switchboard_types::operation::{
    CancelTask, DeletePushConfig, GetPushConfig, GetTask, ListPushConfigs, ListTasks, Method,
    Operation, Response, SendMessage, Subscribe, TaskPage,
};

use crate::client::{Answer, Client, Sent};
use crate::error::Error;
use crate::options::CallOptions;
use crate::pages::Pages;
use crate::reach::unexpected;
use crate::stream::Events;

impl Client {
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
    /// If there is no such task, or it has ended.
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

    /// Follows a task that was followed before, perhaps by another process: what `known` holds of it is not told again.
    /// A task that cannot be watched is read from time to time.
    #[must_use]
    pub fn resume(&self, known: Arc<Task>, options: &CallOptions) -> Events {
        let watchable = self.require(Method::Subscribe, options).is_ok();
        Events::of_known(self.clone(), known, options.clone(), watchable)
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
        self.get_with(task, history, &CallOptions::new()).await
    }

    /// As [`Client::get`], with options.
    ///
    /// # Errors
    ///
    /// As [`Client::get`].
    pub async fn get_with(
        &self,
        task: &TaskId,
        history: Option<u32>,
        options: &CallOptions,
    ) -> Result<Arc<Task>, Error> {
        let get = Operation::Get(GetTask {
            id: task.clone(),
            history_length: history,
        });
        self.require(Method::Get, options)?;
        self.get_task(get, options).await
    }

    /// Reads one page of tasks.
    ///
    /// # Errors
    ///
    /// If the agent has no lists, or refuses this one.
    pub async fn list(&self, query: ListTasks) -> Result<TaskPage, Error> {
        self.list_with(query, &CallOptions::new()).await
    }

    /// As [`Client::list`], with options.
    ///
    /// # Errors
    ///
    /// As [`Client::list`].
    pub async fn list_with(
        &self,
        query: ListTasks,
        options: &CallOptions,
    ) -> Result<TaskPage, Error> {
        match self.call_with(Operation::List(query), options).await? {
            Answer::Response(Response::Tasks(page)) => Ok(page),
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
    /// If there is no such task, or it ended in another state.
    pub async fn cancel(&self, task: &TaskId) -> Result<Arc<Task>, Error> {
        self.cancel_with(task, &CallOptions::new()).await
    }

    /// As [`Client::cancel`], with options.
    ///
    /// # Errors
    ///
    /// As [`Client::cancel`].
    pub async fn cancel_with(
        &self,
        task: &TaskId,
        options: &CallOptions,
    ) -> Result<Arc<Task>, Error> {
        let cancel = Operation::Cancel(CancelTask {
            id: task.clone(),
            metadata: None,
        });
        self.require(Method::Cancel, options)?;
        match self.get_task(cancel, options).await {
            Err(error) if error.is(ErrorKind::TaskNotCancelable) => {
                // Perhaps by the attempt before this one, whose answer was lost.
                match self.get_with(task, Some(0), options).await {
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
