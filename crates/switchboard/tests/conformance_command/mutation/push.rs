//! Webhooks of the agent: configurations and deliveries.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::agent::{Agent, Task};
use super::fault::Fault;
use super::older;
use super::refusal::Refusal;

/// The pause before a delivery that failed is repeated.
const RETRY_DELAY: Duration = Duration::from_millis(50);

impl Agent {
    /// Registers a webhook, which hears of the events from a place in the log on.
    pub(super) fn hook(
        self: &Arc<Self>,
        task: &str,
        config: &Value,
        from: usize,
    ) -> Result<Value, Refusal> {
        let mut hook = config.clone();
        if hook["url"].as_str().is_none_or(str::is_empty) {
            return Err(Refusal::invalid("url", "url is missing"));
        }
        if hook["url"]
            .as_str()
            .is_some_and(|url| url.contains("//169.254."))
        {
            return Err(Refusal::invalid("url", "url points inwards"));
        }
        if hook["id"].as_str().is_none_or(str::is_empty) {
            hook["id"] = json!(uuid::Uuid::new_v4().to_string());
        }
        hook["taskId"] = json!(task);
        self.with(&json!(task), |task| {
            task.hooks.retain(|known| known["id"] != hook["id"]);
            task.hooks.push(hook.clone());
        })?;
        if !self.has(Fault::NeverDelivers) {
            let agent = Arc::clone(self);
            let (task, hook) = (task.to_owned(), hook.clone());
            self.spawn(async move { agent.deliver(task, hook, from).await });
        }
        Ok(hook)
    }

    /// Registers a webhook of a task that exists.
    pub(super) fn create_hook(self: &Arc<Self>, params: &Value) -> Result<Value, Refusal> {
        let from = self.with(&params["taskId"], |task| task.events.len())?;
        let task = params["taskId"].as_str().unwrap_or_default();
        self.hook(task, params, from)
    }

    pub(super) fn get_hook(&self, params: &Value) -> Result<Value, Refusal> {
        let find = |task: &mut Task| {
            let mut hooks = task.hooks.iter();
            hooks.find(|hook| hook["id"] == params["id"]).cloned()
        };
        self.with(&params["taskId"], find)?
            .ok_or_else(Refusal::task_not_found)
    }

    pub(super) fn list_hooks(&self, params: &Value) -> Result<Value, Refusal> {
        let mut hooks = self.with(&params["taskId"], |task| task.hooks.clone())?;
        if self.has(Fault::ListsOneWebhook) {
            hooks.truncate(1);
        }
        if self.has(Fault::ListsNoWebhooks) {
            hooks.clear();
        }
        Ok(json!({ "configs": hooks }))
    }

    pub(super) fn delete_hook(&self, params: &Value) -> Result<Value, Refusal> {
        self.with(&params["taskId"], |task| {
            let known = task.hooks.len();
            if !self.has(Fault::KeepsDeletedWebhooks) {
                task.hooks.retain(|hook| hook["id"] != params["id"]);
            }
            if self.has(Fault::DeletesOnce) && task.hooks.len() == known {
                return Err(Refusal::task_not_found());
            }
            Ok(json!({}))
        })?
    }

    async fn deliver(self: Arc<Self>, task: String, hook: Value, mut at: usize) {
        while let Some(event) = self.event(&task, at, false).await {
            at += 1;
            let (there, older, now) = self
                .with(&json!(task), |task| {
                    let there = task.hooks.iter().any(|known| known["id"] == hook["id"]);
                    (there, task.older, task.json.clone())
                })
                .unwrap_or_default();
            if !there {
                return;
            }
            if self.has(Fault::DeliversArtifactsOnly) && event.get("artifactUpdate").is_none() {
                continue;
            }
            let body = match () {
                () if self.has(Fault::DeliversBareText) => json!({"text": "something happened"}),
                () if older => older::task(&now),
                () => event,
            };
            // A receiver that is away is asked once more, then given up.
            if !self.post(&hook, &body).await {
                tokio::time::sleep(RETRY_DELAY).await;
                self.post(&hook, &body).await;
            }
        }
    }

    async fn post(&self, hook: &Value, body: &Value) -> bool {
        let url = hook["url"].as_str().unwrap_or_default();
        let mut request = self
            .http
            .post(url)
            .header("content-type", "application/json");
        if let (Some(token), false) = (hook["token"].as_str(), self.has(Fault::DropsWebhookToken)) {
            request = request.header("x-a2a-notification-token", token);
        }
        let authentication = &hook["authentication"];
        if let (Some(scheme), Some(credentials)) = (
            authentication["scheme"].as_str(),
            authentication["credentials"].as_str(),
        ) && !self.has(Fault::DropsWebhookCredentials)
        {
            request = request.header("authorization", format!("{scheme} {credentials}"));
        }
        let answer = request.body(body.to_string()).send().await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }
}
