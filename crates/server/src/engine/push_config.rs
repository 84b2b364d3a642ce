//! Webhook registrations.

use std::sync::Arc;

use switchboard_types::Error;
use switchboard_types::model::{Authentication, PushConfig, Secret, TaskId};
use switchboard_types::operation::{
    DeletePushConfig, GetPushConfig, ListPushConfigs, PushConfigPage, Response,
};

use super::{Engine, Scope};
use crate::log::TaskLog;
use crate::store;
use crate::task::{Change, Delivery, Webhook, fresh_id};

/// How many webhooks one task may have: each is called for every event.
const MAX_WEBHOOKS: usize = 16;

impl Engine {
    pub(super) async fn create_push_config(
        &self,
        scope: &Scope,
        config: PushConfig,
    ) -> Result<Response, Error> {
        self.profile().require_push()?;
        let id = config
            .task_id
            .clone()
            .ok_or_else(|| Error::invalid_params("taskId", "is missing"))?;
        let log = self.task_of(scope, &id).await?;
        let (last, _) = log.last();
        let (token, authentication) = (config.token.clone(), config.authentication.clone());
        let webhook = Webhook {
            delivery: Delivery::up_to(last),
            ..self.new_webhook(scope, &id, config, "")?
        };
        let known = self.webhooks(&log).await?;
        let replaces = known.iter().any(|other| other.id == webhook.id);
        if known.len() >= MAX_WEBHOOKS && !replaces {
            return Err(Error::invalid_params(
                "taskId",
                format!("has {MAX_WEBHOOKS} webhooks already: delete one first"),
            ));
        }
        // The client is told its own secrets; what is stored is sealed.
        let config = PushConfig {
            token,
            authentication,
            ..webhook.config.clone()
        };
        log.has_webhooks();
        self.change(Change::PutWebhook(webhook)).await?;
        Ok(Response::PushConfig(config))
    }

    /// Checks a config and makes it a webhook of the task, its secrets sealed. `at` is where it stands in the request.
    pub(super) fn new_webhook(
        &self,
        scope: &Scope,
        task: &TaskId,
        config: PushConfig,
        at: &str,
    ) -> Result<Webhook, Error> {
        self.shared.guard.check(&config).map_err(|refused| {
            let field = match at {
                "" => refused.field.to_owned(),
                at => format!("{at}.{}", refused.field),
            };
            Error::invalid_params(field, refused.reason)
        })?;
        let id = config.id.clone().unwrap_or_else(fresh_id);
        Ok(Webhook {
            task: task.clone(),
            id: id.clone(),
            owner: scope.principal.owner().clone(),
            config: self.shared.guard.sealed(PushConfig {
                id: Some(id),
                task_id: Some(task.clone()),
                ..config
            }),
            dialect: scope.params.dialect,
            delivery: Delivery::up_to(0),
        })
    }

    pub(super) async fn get_push_config(
        &self,
        scope: &Scope,
        get: &GetPushConfig,
    ) -> Result<Response, Error> {
        self.profile().require_push()?;
        let log = self.task_of(scope, &get.task_id).await?;
        let mut webhooks = self.webhooks(&log).await?.into_iter();
        let found = match &get.id {
            Some(id) => webhooks.find(|webhook| webhook.id == *id),
            None => webhooks.next(),
        };
        // A missing config is a missing task by the letter of A2A 1.0 §3.1.8.
        let found = found.ok_or_else(|| {
            Error::new(
                switchboard_types::ErrorKind::TaskNotFound,
                "the task has no such push notification config",
            )
            .fact("taskId", get.task_id.as_str())
        })?;
        Ok(Response::PushConfig(masked(found.config)))
    }

    pub(super) async fn list_push_configs(
        &self,
        scope: &Scope,
        list: &ListPushConfigs,
    ) -> Result<Response, Error> {
        self.profile().require_push()?;
        let log = self.task_of(scope, &list.task_id).await?;
        let webhooks = self.webhooks(&log).await?;
        let from = match list.page_token.as_deref() {
            None | Some("") => 0,
            Some(token) => token
                .parse::<usize>()
                .ok()
                .filter(|from| *from <= webhooks.len())
                .ok_or_else(|| {
                    Error::invalid_params("pageToken", "is not the nextPageToken of this query")
                })?,
        };
        let size = list
            .page_size
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(usize::MAX);
        let page = webhooks.iter().skip(from).take(size);
        let configs: Vec<_> = page.map(|w| masked(w.config.clone())).collect();
        let next = from + configs.len();
        let next_page_token = if next < webhooks.len() {
            next.to_string()
        } else {
            String::new()
        };
        Ok(Response::PushConfigs(PushConfigPage {
            configs,
            next_page_token,
        }))
    }

    /// Removing what is not there succeeds too (A2A 1.0 §3.1.10).
    pub(super) async fn delete_push_config(
        &self,
        scope: &Scope,
        delete: &DeletePushConfig,
    ) -> Result<Response, Error> {
        self.profile().require_push()?;
        let log = self.task_of(scope, &delete.task_id).await?;
        self.change(Change::DeleteWebhook(log.id().clone(), delete.id.clone()))
            .await?;
        Ok(Response::Deleted)
    }

    async fn webhooks(&self, log: &Arc<TaskLog>) -> Result<Vec<Webhook>, Error> {
        let store = self.shared.log.store();
        store
            .webhooks(log.id())
            .await
            .map_err(store::Error::for_caller)
    }

    async fn change(&self, change: Change) -> Result<(), Error> {
        self.shared
            .log
            .commit(change)
            .await
            .map_err(store::Error::for_caller)
    }
}

/// A config as it may be read back: secrets are told once, by the client to us.
fn masked(config: PushConfig) -> PushConfig {
    let mask = |secret: Option<Secret>| secret.map(|_| Secret::new("***"));
    PushConfig {
        token: mask(config.token),
        authentication: config.authentication.map(|auth| Authentication {
            credentials: mask(auth.credentials),
            scheme: auth.scheme,
        }),
        ..config
    }
}
