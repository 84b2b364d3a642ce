//! The parameters of the operations of 0.x, from the wire, in both spellings.
//!
//! The same structs serve JSON-RPC `params` and REST bodies; `wire::rest` adds what stands in the
//! path and the query.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::object::Message;
use super::push::{SetPushConfig, with_id};
use crate::error::Error;
use crate::model;
use crate::operation::{self, Method, Operation};
use crate::version::{Dialect, FileBytes};
use crate::wire::count;
use crate::wire::member;
use crate::wire::object::{IntoModel, PushConfig, Reading};
use crate::wire::path::Path;
use crate::wire::read::{self, Int, Obj, Text};
use crate::wire::v1_0;

/// Decodes the `params` of `method`.
pub(crate) fn decode(dialect: Dialect, method: Method, params: &str) -> Result<Operation, Error> {
    match method {
        Method::Send => count::decode::<SendParams<'_>>(params)?.send(dialect, Operation::Send),
        Method::Stream => count::decode::<SendParams<'_>>(params)?.send(dialect, Operation::Stream),
        Method::Get => read::decode::<TaskParams<'_>>(params)?.get(),
        // Never in 0.x; drafts after 0.3 had it with the parameters 1.0 has.
        Method::List => v1_0::request::decode(method, params).map(|request| request.operation),
        Method::Cancel => read::decode::<TaskParams<'_>>(params)?.cancel(),
        Method::Subscribe => read::decode::<TaskParams<'_>>(params)?.subscribe(),
        Method::CreatePushConfig => {
            read::decode::<SetPushConfig<'_>>(params)?.operation(dialect, None)
        }
        Method::GetPushConfig => read::decode::<TaskParams<'_>>(params)?.get_push_config(),
        Method::ListPushConfigs => read::decode::<TaskParams<'_>>(params)?.list_push_configs(),
        Method::DeletePushConfig => read::decode::<TaskParams<'_>>(params)?.delete_push_config(),
        Method::ExtendedCard => Ok(Operation::ExtendedCard),
    }
}

/// `MessageSendParams`; `SendMessageRequest` in `ProtoJSON`.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct SendParams<'a> {
    #[serde(default, borrow, alias = "request")]
    message: Option<Obj<Message<'a>>>,
    #[serde(default, borrow)]
    configuration: Option<Obj<Configuration<'a>>>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
    /// Beside the message instead of in it (0.2 §9.4).
    #[serde(default, borrow, rename = "messageId", alias = "message_id")]
    message_id: Option<Text<'a>>,
    /// The context as early LangGraph clients named it.
    #[serde(default, borrow)]
    thread: Option<Obj<Thread<'a>>>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Thread<'a> {
    #[serde(default, borrow, rename = "threadId", alias = "thread_id")]
    thread_id: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Configuration<'a> {
    #[serde(
        default,
        borrow,
        rename = "acceptedOutputModes",
        alias = "accepted_output_modes"
    )]
    accepted_output_modes: Option<Vec<Text<'a>>>,
    #[serde(default, rename = "historyLength", alias = "history_length")]
    history_length: Option<Int>,
    #[serde(
        default,
        borrow,
        rename = "pushNotificationConfig",
        alias = "push_notification_config",
        alias = "pushNotification",
        alias = "push_notification"
    )]
    push: Option<Obj<PushConfig<'a>>>,
    #[serde(default)]
    blocking: Option<bool>,
}

/// `TaskIdParams`, `TaskQueryParams` and the params of get, list and delete of push configs: all of
/// them name a task by `id`. Some callers say `taskId`.
#[derive(Debug, Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct TaskParams<'a> {
    #[serde(default, borrow)]
    pub(crate) id: Option<Text<'a>>,
    #[serde(default, borrow, rename = "taskId", alias = "task_id")]
    pub(crate) task_id: Option<Text<'a>>,
    #[serde(default, rename = "historyLength", alias = "history_length")]
    pub(crate) history_length: Option<Int>,
    #[serde(
        default,
        borrow,
        rename = "pushNotificationConfigId",
        alias = "push_notification_config_id"
    )]
    pub(crate) config_id: Option<Text<'a>>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
}

impl SendParams<'_> {
    /// The spelling of the message, which does not show the form of files.
    pub(crate) fn dialect(&self) -> Dialect {
        match &self.message {
            Some(message) if message.0.has_kind() => Dialect::V0Json,
            _ => Dialect::V0Proto(FileBytes::default()),
        }
    }

    pub(crate) fn send(
        self,
        dialect: Dialect,
        operation: fn(Box<operation::SendMessage>) -> Operation,
    ) -> Result<Operation, Error> {
        let (at, how) = (Path::ROOT, strictly(dialect));
        let at_message = at.field("message");
        let mut message = self.message.ok_or_else(|| at_message.missing())?.0;
        if message.message_id.is_none() {
            message.message_id = self.message_id;
        }
        if message.context_id.is_none() {
            message.context_id = self.thread.and_then(|thread| thread.0.thread_id);
        }
        let configuration = match self.configuration {
            Some(configuration) => configuration
                .0
                .into_model(&at.field("configuration"), how)?,
            None => operation::SendConfiguration::default(),
        };
        Ok(operation(Box::new(operation::SendMessage {
            message: message.into_model(&at_message, how)?,
            configuration,
            metadata: member::free_object(self.metadata, &at.field("metadata"), how)?,
        })))
    }
}

impl IntoModel for Configuration<'_> {
    type Model = operation::SendConfiguration;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<Self::Model, Error> {
        let at_push = at.field("pushNotificationConfig");
        let push = self
            .push
            .map(|push| with_id(push.0.into_model(&at_push, how)?, &at_push));
        Ok(operation::SendConfiguration {
            accepted_output_modes: member::strings(self.accepted_output_modes),
            push: push.transpose()?,
            history_length: v1_0::request::history_length(self.history_length, at)?,
            // No default is stated; the official SDK waits. In the spelling of the proto `false` is
            // left out, so what is not there is said.
            return_immediately: match how.dialect {
                Dialect::V0Proto(_) => self.blocking != Some(true),
                _ => self.blocking == Some(false),
            },
        })
    }
}

impl<'a> TaskParams<'a> {
    fn task(&mut self) -> Result<model::TaskId, Error> {
        let id = self.id.take().or(self.task_id.take());
        member::required_id(id, &Path::ROOT.field("id"))
    }

    fn config(&mut self) -> Option<Text<'a>> {
        self.config_id.take()
    }

    pub(crate) fn get(mut self) -> Result<Operation, Error> {
        Ok(Operation::Get(operation::GetTask {
            id: self.task()?,
            history_length: v1_0::request::history_length(self.history_length, &Path::ROOT)?,
        }))
    }

    pub(crate) fn cancel(mut self) -> Result<Operation, Error> {
        Ok(Operation::Cancel(operation::CancelTask {
            id: self.task()?,
            metadata: member::free_object(
                self.metadata,
                &Path::ROOT.field("metadata"),
                strictly(Dialect::V0Json),
            )?,
        }))
    }

    pub(crate) fn subscribe(mut self) -> Result<Operation, Error> {
        let id = self.task()?;
        Ok(Operation::Subscribe(operation::Subscribe { id }))
    }

    /// Without a config id the server picks one (0.3 §7.6).
    pub(crate) fn get_push_config(mut self) -> Result<Operation, Error> {
        let at = Path::ROOT.field("pushNotificationConfigId");
        Ok(Operation::GetPushConfig(operation::GetPushConfig {
            task_id: self.task()?,
            id: member::optional_id(self.config(), &at)?,
        }))
    }

    pub(crate) fn list_push_configs(mut self) -> Result<Operation, Error> {
        Ok(Operation::ListPushConfigs(operation::ListPushConfigs {
            task_id: self.task()?,
            page_size: None,
            page_token: None,
        }))
    }

    pub(crate) fn delete_push_config(mut self) -> Result<Operation, Error> {
        let at = Path::ROOT.field("pushNotificationConfigId");
        Ok(Operation::DeletePushConfig(operation::DeletePushConfig {
            task_id: self.task()?,
            id: member::required_id(self.config(), &at)?,
        }))
    }
}

pub(super) fn strictly(dialect: Dialect) -> Reading {
    Reading {
        dialect,
        request: true,
    }
}
