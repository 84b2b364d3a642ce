//! The parameters of the eleven operations of 1.0, from the wire.
//!
//! The same structs serve JSON-RPC `params`, REST bodies and REST queries (`wire::rest` fills them
//! from query parameters). Each converts into an [`Operation`] and a tenant.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::object::Message;
use crate::error::Error;
use crate::model;
use crate::operation::{self, Method, Operation};
use crate::version::Dialect;
use crate::wire::Request;
use crate::wire::count;
use crate::wire::member;
use crate::wire::object::{IntoModel, PushConfig, Reading};
use crate::wire::path::Path;
use crate::wire::read::{self, Int, Obj, Text, Word};

/// Requests are read strictly.
const HOW: Reading = Reading {
    dialect: Dialect::V1,
    request: true,
};

/// Decodes the `params` of `method`.
pub(crate) fn decode(method: Method, params: &str) -> Result<Request, Error> {
    match method {
        Method::Send => count::decode::<SendMessage<'_>>(params)?.request(Operation::Send),
        Method::Stream => count::decode::<SendMessage<'_>>(params)?.request(Operation::Stream),
        Method::Get => read::decode::<TaskParams<'_>>(params)?.get(),
        Method::List => read::decode::<ListTasks<'_>>(params)?.request(),
        Method::Cancel => read::decode::<TaskParams<'_>>(params)?.cancel(),
        Method::Subscribe => read::decode::<TaskParams<'_>>(params)?.subscribe(),
        Method::CreatePushConfig => create_push_config(read::decode(params)?),
        Method::GetPushConfig => read::decode::<PushParams<'_>>(params)?.get(),
        Method::ListPushConfigs => read::decode::<PushParams<'_>>(params)?.list(),
        Method::DeletePushConfig => read::decode::<PushParams<'_>>(params)?.delete(),
        Method::ExtendedCard => Ok(read::decode::<TaskParams<'_>>(params)?.extended_card()),
    }
}

/// `SendMessageRequest`.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct SendMessage<'a> {
    #[serde(default, borrow)]
    pub(crate) tenant: Option<Text<'a>>,
    #[serde(default, borrow)]
    message: Option<Obj<Message<'a>>>,
    #[serde(default, borrow)]
    configuration: Option<Obj<Configuration<'a>>>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
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
    // The last two names are those of an example in A2A 1.0 §5.5; to ignore them would silently
    // lose a webhook.
    #[serde(
        default,
        borrow,
        rename = "taskPushNotificationConfig",
        alias = "task_push_notification_config",
        alias = "pushNotificationConfig",
        alias = "push_notification_config"
    )]
    push: Option<Obj<PushConfig<'a>>>,
    #[serde(default, rename = "historyLength", alias = "history_length")]
    history_length: Option<Int>,
    #[serde(default, rename = "returnImmediately", alias = "return_immediately")]
    return_immediately: Option<bool>,
}

/// `GetTaskRequest`, `CancelTaskRequest`, `SubscribeToTaskRequest`, `GetExtendedAgentCardRequest`.
#[derive(Debug, Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct TaskParams<'a> {
    #[serde(default, borrow)]
    pub(crate) tenant: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(crate) id: Option<Text<'a>>,
    #[serde(default, rename = "historyLength", alias = "history_length")]
    pub(crate) history_length: Option<Int>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
}

/// `ListTasksRequest`.
#[derive(Debug, Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct ListTasks<'a> {
    #[serde(default, borrow)]
    pub(crate) tenant: Option<Text<'a>>,
    #[serde(default, borrow, rename = "contextId", alias = "context_id")]
    pub(crate) context_id: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(crate) status: Option<Word<'a>>,
    #[serde(default, rename = "pageSize", alias = "page_size")]
    pub(crate) page_size: Option<Int>,
    #[serde(default, borrow, rename = "pageToken", alias = "page_token")]
    pub(crate) page_token: Option<Text<'a>>,
    #[serde(default, rename = "historyLength", alias = "history_length")]
    pub(crate) history_length: Option<Int>,
    #[serde(
        default,
        borrow,
        rename = "statusTimestampAfter",
        alias = "status_timestamp_after"
    )]
    pub(crate) status_timestamp_after: Option<Text<'a>>,
    #[serde(default, rename = "includeArtifacts", alias = "include_artifacts")]
    pub(crate) include_artifacts: Option<bool>,
}

/// The get, list and delete requests of push configs.
#[derive(Debug, Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct PushParams<'a> {
    #[serde(default, borrow)]
    pub(crate) tenant: Option<Text<'a>>,
    #[serde(default, borrow, rename = "taskId", alias = "task_id")]
    pub(crate) task_id: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub(crate) id: Option<Text<'a>>,
    #[serde(default, rename = "pageSize", alias = "page_size")]
    pub(crate) page_size: Option<Int>,
    #[serde(default, borrow, rename = "pageToken", alias = "page_token")]
    pub(crate) page_token: Option<Text<'a>>,
}

impl SendMessage<'_> {
    pub(crate) fn request(
        self,
        operation: fn(Box<operation::SendMessage>) -> Operation,
    ) -> Result<Request, Error> {
        let at = Path::ROOT;
        let configuration = match self.configuration {
            Some(configuration) => configuration
                .0
                .into_model(&at.field("configuration"), HOW)?,
            None => operation::SendConfiguration::default(),
        };
        let send = operation::SendMessage {
            message: member::required(self.message, &at.field("message"), HOW)?,
            configuration,
            metadata: member::free_object(self.metadata, &at.field("metadata"), HOW)?,
        };
        Ok(Request {
            operation: operation(Box::new(send)),
            tenant: member::not_empty(self.tenant),
        })
    }
}

impl IntoModel for Configuration<'_> {
    type Model = operation::SendConfiguration;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<Self::Model, Error> {
        let push = self.push.map(|push| {
            push.0
                .into_model(&at.field("taskPushNotificationConfig"), how)
        });
        Ok(operation::SendConfiguration {
            accepted_output_modes: member::strings(self.accepted_output_modes),
            push: push.transpose()?,
            history_length: history_length(self.history_length, at)?,
            return_immediately: self.return_immediately.unwrap_or(false),
        })
    }
}

impl TaskParams<'_> {
    pub(crate) fn get(self) -> Result<Request, Error> {
        let get = operation::GetTask {
            id: member::required_id(self.id, &Path::ROOT.field("id"))?,
            history_length: history_length(self.history_length, &Path::ROOT)?,
        };
        Ok(request(Operation::Get(get), self.tenant))
    }

    pub(crate) fn cancel(self) -> Result<Request, Error> {
        let cancel = operation::CancelTask {
            id: member::required_id(self.id, &Path::ROOT.field("id"))?,
            metadata: member::free_object(self.metadata, &Path::ROOT.field("metadata"), HOW)?,
        };
        Ok(request(Operation::Cancel(cancel), self.tenant))
    }

    pub(crate) fn subscribe(self) -> Result<Request, Error> {
        let id = member::required_id(self.id, &Path::ROOT.field("id"))?;
        Ok(request(
            Operation::Subscribe(operation::Subscribe { id }),
            self.tenant,
        ))
    }

    pub(crate) fn extended_card(self) -> Request {
        request(Operation::ExtendedCard, self.tenant)
    }
}

impl ListTasks<'_> {
    pub(crate) fn request(self) -> Result<Request, Error> {
        let at = Path::ROOT;
        let status = match &self.status {
            Some(word) => member::state(word)
                .ok_or_else(|| at.field("status").error("must be the name of a task state"))?,
            None => None,
        };
        let list = operation::ListTasks {
            context_id: member::optional_id(self.context_id, &at.field("contextId"))?,
            status,
            page_size: page_size(self.page_size, &at.field("pageSize"))?,
            page_token: member::not_empty(self.page_token),
            history_length: history_length(self.history_length, &at)?,
            status_timestamp_after: member::time(
                self.status_timestamp_after,
                &at.field("statusTimestampAfter"),
            )?,
            include_artifacts: self.include_artifacts.unwrap_or(false),
        };
        Ok(request(Operation::List(list), self.tenant))
    }
}

impl PushParams<'_> {
    pub(crate) fn get(self) -> Result<Request, Error> {
        let get = operation::GetPushConfig {
            task_id: member::required_id(self.task_id, &Path::ROOT.field("taskId"))?,
            id: Some(member::required_id(self.id, &Path::ROOT.field("id"))?),
        };
        Ok(request(Operation::GetPushConfig(get), self.tenant))
    }

    pub(crate) fn list(self) -> Result<Request, Error> {
        let at = Path::ROOT.field("pageSize");
        // Implicit in the proto: 0 is unset.
        let page_size = self.page_size.map(|size| size.count(&at)).transpose()?;
        let list = operation::ListPushConfigs {
            task_id: member::required_id(self.task_id, &Path::ROOT.field("taskId"))?,
            page_size: page_size.filter(|size| *size > 0),
            page_token: member::not_empty(self.page_token),
        };
        Ok(request(Operation::ListPushConfigs(list), self.tenant))
    }

    pub(crate) fn delete(self) -> Result<Request, Error> {
        let delete = operation::DeletePushConfig {
            task_id: member::required_id(self.task_id, &Path::ROOT.field("taskId"))?,
            id: member::required_id(self.id, &Path::ROOT.field("id"))?,
        };
        Ok(request(Operation::DeletePushConfig(delete), self.tenant))
    }
}

/// `TaskPushNotificationConfig` is its own request; it must name the task.
pub(crate) fn create_push_config(config: PushConfig<'_>) -> Result<Request, Error> {
    let tenant = member::not_empty(config.tenant.clone());
    let config: model::PushConfig = config.into_model(&Path::ROOT, HOW)?;
    if config.task_id.is_none() {
        return Err(Path::ROOT.field("taskId").missing());
    }
    Ok(Request {
        operation: Operation::CreatePushConfig(config),
        tenant,
    })
}

fn request(operation: Operation, tenant: Option<Text<'_>>) -> Request {
    Request {
        operation,
        tenant: member::not_empty(tenant),
    }
}

/// A2A 1.0 §3.2.4: negative is a validation error.
pub(crate) fn history_length(length: Option<Int>, at: &Path<'_>) -> Result<Option<u32>, Error> {
    let at = at.field("historyLength");
    length.map(|length| length.count(&at)).transpose()
}

/// A2A 1.0 §3.1.4: 1 to 100, and nothing is clamped.
fn page_size(size: Option<Int>, at: &Path<'_>) -> Result<Option<u32>, Error> {
    let within = |size: Int| {
        u32::try_from(size.0)
            .ok()
            .filter(|size| (1..=100).contains(size))
            .ok_or_else(|| at.error("must be between 1 and 100"))
    };
    size.map(within).transpose()
}
