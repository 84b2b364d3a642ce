//! Webhooks as callers of 0.x register them, in every shape that texts and SDKs show.

use serde::Deserialize;

use super::request::strictly;
use crate::error::Error;
use crate::model;
use crate::operation::Operation;
use crate::version::{Dialect, FileBytes};
use crate::wire::member;
use crate::wire::object::{self, IntoModel, PushConfig, Reading};
use crate::wire::path::Path;
use crate::wire::read::{Obj, Text};

/// The id of a webhook that came without one. 0.x *sets* the webhook of a task, so a second one without
/// an id replaces the first (0.2 §7.5), and the kit for 0.3 asks for it by this very name.
const UNNAMED: &str = "default";

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
            Dialect::V0Proto(FileBytes::default())
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
pub(crate) fn with_id(
    mut config: model::PushConfig,
    at: &Path<'_>,
) -> Result<model::PushConfig, Error> {
    if config.id.is_none() {
        let id = model::Id::new(UNNAMED).map_err(|reason| at.field("id").error(reason))?;
        config.id = Some(id);
    }
    Ok(config)
}

/// The two halves of `tasks/t1/pushNotificationConfigs/c1`. Either id may hold any text; where the config says its
/// id itself, the rest is the task's.
pub(crate) fn split_name<'a>(name: &'a str, known: &str) -> (&'a str, &'a str) {
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
pub(crate) fn task_of(name: &str, at: &Path<'_>) -> Result<Option<model::TaskId>, Error> {
    name.strip_prefix("tasks/")
        .filter(|id| !id.is_empty())
        .map(|id| model::Id::new(id).map_err(|reason| at.error(reason)))
        .transpose()
}
