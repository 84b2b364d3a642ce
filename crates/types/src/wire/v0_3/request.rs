//! The parameters of the operations of 0.x, from the wire, in both spellings.
//!
//! The same structs serve JSON-RPC `params` and REST bodies; `wire::rest` adds what stands in the
//! path and the query.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::object::Message;
use crate::error::Error;
use crate::model;
use crate::operation::{self, Method, Operation};
use crate::version::Dialect;
use crate::wire::count;
use crate::wire::member;
use crate::wire::object::{self, IntoModel, PushConfig, Reading};
use crate::wire::path::Path;
use crate::wire::read::{self, Int, Obj, Text};
use crate::wire::v1_0;

/// The id of a webhook that came without one. 0.x *sets* the webhook of a task, so a second one without
/// an id replaces the first (0.2 §7.5), and the kit for 0.3 asks for it by this very name.
const UNNAMED: &str = "default";

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

/// A webhook to register, in any of the shapes texts and SDKs show: `{taskId,
/// pushNotificationConfig}`, `{config: that}`, `{parent, configId, config: {name, …}}`, or the bare
/// config.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct SetPushConfig<'a> {
    #[serde(default, borrow)]
    parent: Option<Text<'a>>,
    #[serde(default, borrow, rename = "configId", alias = "config_id")]
    config_id: Option<Text<'a>>,
    #[serde(default, borrow)]
    config: Option<Obj<NamedConfig<'a>>>,
    #[serde(default, borrow)]
    name: Option<Text<'a>>,
    #[serde(default, borrow, rename = "taskId", alias = "task_id")]
    task_id: Option<Text<'a>>,
    #[serde(
        default,
        borrow,
        rename = "pushNotificationConfig",
        alias = "push_notification_config"
    )]
    inner: Option<Obj<PushConfig<'a>>>,
    #[serde(default, borrow)]
    id: Option<Text<'a>>,
    #[serde(default, borrow)]
    url: Option<Text<'a>>,
    #[serde(default, borrow)]
    token: Option<Text<'a>>,
    #[serde(default, borrow)]
    authentication: Option<Obj<object::Authentication<'a>>>,
}

/// `TaskPushNotificationConfig`, or a bare `PushNotificationConfig`.
#[derive(Debug, Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct NamedConfig<'a> {
    #[serde(default, borrow)]
    name: Option<Text<'a>>,
    #[serde(default, borrow, rename = "taskId", alias = "task_id")]
    task_id: Option<Text<'a>>,
    #[serde(
        default,
        borrow,
        rename = "pushNotificationConfig",
        alias = "push_notification_config"
    )]
    inner: Option<Obj<PushConfig<'a>>>,
    #[serde(default, borrow)]
    id: Option<Text<'a>>,
    #[serde(default, borrow)]
    url: Option<Text<'a>>,
    #[serde(default, borrow)]
    token: Option<Text<'a>>,
    #[serde(default, borrow)]
    authentication: Option<Obj<object::Authentication<'a>>>,
}

impl SendParams<'_> {
    /// The spelling of the message.
    pub(crate) fn dialect(&self) -> Dialect {
        match &self.message {
            Some(message) if message.0.has_kind() => Dialect::V0Json,
            _ => Dialect::V0Proto,
        }
    }

    pub(crate) fn send(
        self,
        dialect: Dialect,
        operation: fn(operation::SendMessage) -> Operation,
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
        Ok(operation(operation::SendMessage {
            message: message.into_model(&at_message, how)?,
            configuration,
            metadata: member::free_object(self.metadata, &at.field("metadata"))?,
        }))
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
            // No default is stated; the official SDK waits.
            return_immediately: self.blocking == Some(false),
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
            metadata: member::free_object(self.metadata, &Path::ROOT.field("metadata"))?,
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

impl<'a> SetPushConfig<'a> {
    /// The spelling: resource names are `ProtoJSON`, a task id is JSON; REST itself is `ProtoJSON`.
    pub(crate) fn dialect(&self) -> Dialect {
        let config = self.config.as_ref().map(|config| &config.0);
        let named = self.name.is_some()
            || self.parent.is_some()
            || self.config_id.is_some()
            || config.is_some_and(|config| config.name.is_some());
        let plain = self.task_id.is_some() || config.is_some_and(|config| config.task_id.is_some());
        if plain && !named {
            Dialect::V0Json
        } else {
            Dialect::V0Proto
        }
    }

    /// `task` is the one in the path, if there is a path.
    pub(crate) fn operation(
        self,
        dialect: Dialect,
        task: Option<&str>,
    ) -> Result<Operation, Error> {
        let outer = NamedConfig {
            name: self.name,
            task_id: self.task_id,
            inner: self.inner,
            id: self.id,
            url: self.url,
            token: self.token,
            authentication: self.authentication,
        };
        let parent = self.parent;
        let config_id = self.config_id;
        let named = self.config.map_or(outer, |config| config.0);
        let mut config = named.into_model(&Path::ROOT, strictly(dialect))?;
        if config.task_id.is_none()
            && let Some(parent) = parent
        {
            config.task_id = task_of(parent.as_str(), &Path::ROOT.field("parent"))?;
        }
        if config.id.is_none() {
            config.id = member::optional_id(config_id, &Path::ROOT.field("configId"))?;
        }
        let at = Path::ROOT.field("taskId");
        match (&config.task_id, task) {
            (Some(said), Some(path)) if said.as_str() != path => {
                return Err(at.error("must be the task in the path"));
            }
            (None, Some(path)) => {
                config.task_id = Some(model::Id::new(path).map_err(|reason| at.error(reason))?);
            }
            (None, None) => return Err(at.missing()),
            (Some(_), _) => {}
        }
        with_id(config, &Path::ROOT).map(Operation::CreatePushConfig)
    }
}

impl IntoModel for NamedConfig<'_> {
    type Model = model::PushConfig;

    fn into_model(self, at: &Path<'_>, how: Reading) -> Result<model::PushConfig, Error> {
        let bare = PushConfig {
            tenant: None,
            id: self.id,
            task_id: None,
            url: self.url,
            token: self.token,
            authentication: self.authentication,
        };
        let mut config = match self.inner {
            Some(inner) => inner
                .0
                .into_model(&at.field("pushNotificationConfig"), how)?,
            None if bare.url.is_some() => bare.into_model(at, how)?,
            None => return Err(at.field("pushNotificationConfig").missing()),
        };
        config.task_id = member::optional_id(self.task_id, &at.field("taskId"))?;
        if let Some(name) = self.name {
            let at = at.field("name");
            let known = config.id.as_ref().map_or("", |id| id.as_str());
            let (task, id) = split_name(name.as_str(), known);
            config.task_id = config.task_id.or(task_of(task, &at)?);
            if config.id.is_none() && !id.is_empty() {
                config.id = Some(model::Id::new(id).map_err(|reason| at.error(reason))?);
            }
        }
        Ok(config)
    }
}

/// The webhook with an id, its own or the one of all that have none.
fn with_id(mut config: model::PushConfig, at: &Path<'_>) -> Result<model::PushConfig, Error> {
    if config.id.is_none() {
        let id = model::Id::new(UNNAMED).map_err(|reason| at.field("id").error(reason))?;
        config.id = Some(id);
    }
    Ok(config)
}

/// The two halves of `tasks/t1/pushNotificationConfigs/c1`. Either id may hold any text; where the config says its
/// id itself, the rest is the task's.
fn split_name<'a>(name: &'a str, known: &str) -> (&'a str, &'a str) {
    const BETWEEN: &str = "/pushNotificationConfigs/";
    match name
        .strip_suffix(known)
        .and_then(|n| n.strip_suffix(BETWEEN))
    {
        Some(task) => (task, ""),
        None => name.rsplit_once(BETWEEN).unwrap_or((name, "")),
    }
}

/// The task of a resource name such as `tasks/t1`; `None` if the name is something else.
fn task_of(name: &str, at: &Path<'_>) -> Result<Option<model::TaskId>, Error> {
    name.strip_prefix("tasks/")
        .filter(|id| !id.is_empty())
        .map(|id| model::Id::new(id).map_err(|reason| at.error(reason)))
        .transpose()
}

fn strictly(dialect: Dialect) -> Reading {
    Reading {
        dialect,
        request: true,
    }
}
