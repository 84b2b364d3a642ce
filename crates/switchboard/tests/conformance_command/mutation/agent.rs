//! The agent under test: its tasks and operations, in the shapes of A2A 1.0. It shares no code with the product, and
//! follows the specification unless a [`Fault`] says otherwise.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::fault::{Fault, Mutation};
use super::refusal::Refusal;

/// The time between two steps of a long task, and how many it has.
const STEP: Duration = Duration::from_millis(150);
const STEPS: usize = 8;

/// What an agent offers.
#[derive(Debug, Clone)]
pub(crate) struct Traits {
    /// Bindings and versions, as reports name them.
    pub(crate) interfaces: Vec<&'static str>,
    pub(crate) streaming: bool,
    pub(crate) push: bool,
    /// Answers every message with a message.
    pub(crate) messages_only: bool,
    pub(crate) credentials: Credentials,
    pub(crate) extended_card: bool,
    /// An extension, and whether callers must ask for it.
    pub(crate) extension: Option<(&'static str, bool)>,
    /// Keeps no history.
    pub(crate) forgetful: bool,
    /// Refuses contexts that it did not name itself.
    pub(crate) own_contexts: bool,
    /// Cancels nothing.
    pub(crate) stubborn: bool,
}

/// Whether callers must say who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credentials {
    None,
    Optional,
    Required,
}

impl Traits {
    /// An agent that offers everything over one interface.
    pub(crate) fn at(interface: &'static str) -> Self {
        Self {
            interfaces: vec![interface],
            streaming: true,
            push: true,
            messages_only: false,
            credentials: Credentials::None,
            extended_card: false,
            extension: None,
            forgetful: false,
            own_contexts: false,
            stubborn: false,
        }
    }
}

/// The agent.
pub(crate) struct Agent {
    pub(crate) traits: Traits,
    pub(crate) mutation: Mutation,
    pub(crate) base: String,
    pub(crate) http: reqwest::Client,
    tasks: Mutex<Vec<Task>>,
    jobs: Mutex<JoinSet<()>>,
}

/// A task.
pub(super) struct Task {
    pub(super) json: Value,
    pub(super) events: Vec<Value>,
    pub(super) hooks: Vec<Value>,
    /// Counts events.
    changed: watch::Sender<usize>,
    /// Whether its webhooks are those of 0.3.
    pub(super) older: bool,
}

/// A message, with what was asked of the answer.
pub(super) struct Send {
    pub(super) message: Value,
    pub(super) configuration: Value,
    /// The version of the caller, which its webhooks are told in.
    pub(super) older: bool,
}

/// What a message led to.
pub(super) enum Sent {
    Message(Value),
    Task(String),
}

/// The moment as text.
fn now() -> String {
    switchboard_server::clock::now().to_string()
}

fn is_over(task: &Value) -> bool {
    let state = task["status"]["state"].as_str().unwrap_or_default();
    ["COMPLETED", "FAILED", "CANCELED", "REJECTED"]
        .iter()
        .any(|end| state.ends_with(end))
}

fn waits(task: &Value) -> bool {
    task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
}

fn said(text: &str, task: &Value) -> Value {
    json!({"messageId": uuid::Uuid::new_v4().to_string(), "role": "ROLE_AGENT", "parts": [{"text": text}],
        "taskId": task["id"], "contextId": task["contextId"]})
}

impl Agent {
    pub(crate) fn new(traits: Traits, mutation: Mutation, base: String) -> Self {
        Self {
            traits,
            mutation,
            base,
            http: reqwest::Client::new(),
            tasks: Mutex::default(),
            jobs: Mutex::default(),
        }
    }

    pub(super) fn has(&self, fault: Fault) -> bool {
        matches!(self.mutation, Mutation::Fault(one) if one == fault)
    }

    /// Runs something beside the request, until the agent is dropped.
    pub(super) fn spawn(&self, job: impl Future<Output = ()> + std::marker::Send + 'static) {
        drop(self.jobs.lock().expect("no panic").spawn(job));
    }

    /// Works on a task under the lock.
    pub(super) fn with<T>(
        &self,
        id: &Value,
        work: impl FnOnce(&mut Task) -> T,
    ) -> Result<T, Refusal> {
        let mut tasks = self.tasks.lock().expect("no panic");
        let found = tasks.iter_mut().find(|task| task.json["id"] == *id);
        found.map(work).ok_or_else(Refusal::task_not_found)
    }

    /// Adds an event to a task. What comes after its end is dropped.
    fn tell(&self, id: &str, event: Value) {
        let told = self.with(&json!(id), |task| {
            if is_over(&task.json) && !self.has(Fault::RunsOnAfterCancel) {
                return;
            }
            if let Some(update) = event.get("statusUpdate") {
                let old = task.json["status"]["message"].take();
                task.json["status"] = update["status"].clone();
                if let (Some(history), false) = (task.json["history"].as_array_mut(), old.is_null())
                {
                    history.push(old);
                }
            }
            if let Some(update) = event.get("artifactUpdate") {
                fold(&mut task.json["artifacts"], update);
            }
            task.events.push(event);
            task.changed.send_modify(|count| *count += 1);
        });
        drop(told);
    }

    fn status(&self, id: &str, state: &str, text: Option<&str>) {
        let Ok(task) = self.with(&json!(id), |task| task.json.clone()) else {
            return;
        };
        let mut status = json!({"state": format!("TASK_STATE_{state}"), "timestamp": now()});
        if let Some(text) = text {
            status["message"] = said(text, &task);
        }
        let update = json!({"taskId": id, "contextId": task["contextId"], "status": status});
        self.tell(id, json!({ "statusUpdate": update }));
    }

    fn artifact(&self, id: &str, text: &str, append: bool) {
        let Ok(context) = self.with(&json!(id), |task| task.json["contextId"].clone()) else {
            return;
        };
        let artifact = json!({"artifactId": "answer", "name": "answer", "parts": [{"text": text}]});
        let update = json!({"taskId": id, "contextId": context, "artifact": artifact,
            "append": append, "lastChunk": append});
        self.tell(id, json!({ "artifactUpdate": update }));
    }

    /// Works on a task until it is over or waits.
    async fn work(self: Arc<Self>, id: String, text: String) {
        let over = || {
            self.with(&json!(id), |task| is_over(&task.json))
                .unwrap_or(true)
        };
        self.status(&id, "WORKING", None);
        if text.starts_with("long") {
            for step in 1..=STEPS {
                tokio::time::sleep(STEP).await;
                if over() && !self.has(Fault::RunsOnAfterCancel) {
                    return;
                }
                self.status(&id, "WORKING", Some(&format!("step {step}")));
            }
        }
        if text.starts_with("ask") {
            return self.status(&id, "INPUT_REQUIRED", Some("What else?"));
        }
        self.artifact(&id, "You said ", false);
        self.artifact(&id, &text, true);
        self.status(&id, "COMPLETED", None);
    }

    /// Takes a message: begins a task, or goes on with one.
    pub(super) fn send(self: &Arc<Self>, send: Send) -> Result<Sent, Refusal> {
        let Send {
            mut message,
            configuration,
            older,
        } = send;
        self.check(&message)?;
        let text: String = message["parts"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|part| part["text"].as_str())
            .collect();
        let (id, began) = match &message["taskId"] {
            Value::Null => {
                let context = self.context(&message)?;
                if self.traits.messages_only {
                    let about = json!({ "contextId": context });
                    let mut reply = said("Just this", &about);
                    if let Some(members) = reply.as_object_mut() {
                        members.remove("taskId");
                    }
                    return Ok(Sent::Message(reply));
                }
                (self.begin(&context, &mut message, older), true)
            }
            id => (self.go_on(&id.clone(), &mut message)?, false),
        };
        let hook = &configuration["taskPushNotificationConfig"];
        if hook.is_object() && !self.has(Fault::IgnoresInlineWebhooks) {
            self.hook(&id, hook, 0)?;
        }
        let runs = self.with(&json!(id), |task| waits(&task.json))?;
        if began || runs {
            self.spawn(Arc::clone(self).work(id.clone(), text));
        }
        Ok(Sent::Task(id))
    }

    fn check(&self, message: &Value) -> Result<(), Refusal> {
        let filled = |name: &str| message[name].as_str().is_some_and(|text| !text.is_empty());
        if !filled("messageId") {
            return Err(Refusal::invalid(
                "message.messageId",
                "messageId is missing",
            ));
        }
        if message["role"] != "ROLE_USER" {
            return Err(Refusal::invalid("message.role", "role is not ROLE_USER"));
        }
        let parts = message["parts"]
            .as_array()
            .filter(|parts| !parts.is_empty());
        let Some(parts) = parts else {
            return Err(Refusal::invalid(
                "message.parts",
                "parts is missing or empty",
            ));
        };
        for part in parts {
            let media = part["mediaType"].as_str().unwrap_or("text/plain");
            if part.get("raw").is_some() && !media.starts_with("text/") {
                return Err(Refusal::content_type());
            }
        }
        Ok(())
    }

    /// The context of a new task: the caller's, or one of our own.
    fn context(&self, message: &Value) -> Result<Value, Refusal> {
        let own = || json!(format!("context-{}", uuid::Uuid::new_v4()));
        match &message["contextId"] {
            Value::String(given) if self.traits.own_contexts => {
                let tasks = self.tasks.lock().expect("no panic");
                let known = tasks
                    .iter()
                    .any(|task| task.json["contextId"] == json!(given));
                if known {
                    Ok(json!(given))
                } else {
                    Err(Refusal::invalid(
                        "message.contextId",
                        "contextId is not known",
                    ))
                }
            }
            Value::String(_) if self.has(Fault::ReplacesContexts) => Ok(own()),
            Value::String(given) => Ok(json!(given)),
            _ => Ok(own()),
        }
    }

    fn begin(&self, context: &Value, message: &mut Value, older: bool) -> String {
        let mut tasks = self.tasks.lock().expect("no panic");
        let mut id = format!("task-{}", uuid::Uuid::new_v4());
        if self.has(Fault::ReusesTaskIds) {
            id = "task".to_owned();
            tasks.retain(|task| task.json["id"] != "task");
        }
        message["taskId"] = json!(id);
        message["contextId"] = context.clone();
        let history = if self.traits.forgetful {
            json!([])
        } else {
            json!([message])
        };
        let status = json!({"state": "TASK_STATE_SUBMITTED", "timestamp": now()});
        let json = json!({"id": id, "contextId": context, "status": status, "history": history, "artifacts": []});
        let events = vec![json!({ "task": json })];
        let changed = watch::Sender::new(1);
        tasks.push(Task {
            json,
            events,
            hooks: Vec::new(),
            changed,
            older,
        });
        id
    }

    fn go_on(&self, id: &Value, message: &mut Value) -> Result<String, Refusal> {
        let given = message["contextId"].clone();
        self.with(id, |task| {
            if is_over(&task.json) && !self.has(Fault::RestartsTasks) {
                return Err(Refusal::unsupported("the task is over"));
            }
            let context = task.json["contextId"].clone();
            if !given.is_null() && given != context && !self.has(Fault::IgnoresContextMismatch) {
                return Err(Refusal::invalid(
                    "message.contextId",
                    "contextId is not the task's",
                ));
            }
            message["contextId"] = context;
            if let (Some(history), false) =
                (task.json["history"].as_array_mut(), self.traits.forgetful)
            {
                history.push(message.clone());
            }
            Ok(task.json["id"].as_str().unwrap_or_default().to_owned())
        })?
    }

    /// The event at a place in the log of a task, once there is one; none if the task ended before.
    pub(super) async fn event(&self, id: &str, at: usize, leave_waiting: bool) -> Option<Value> {
        let id = json!(id);
        let mut changed = self.with(&id, |task| task.changed.subscribe()).ok()?;
        loop {
            let there = self.with(&id, |task| {
                let event = task.events.get(at).cloned();
                let ends = is_over(&task.json) || leave_waiting && waits(&task.json);
                (event, ends && !self.has(Fault::NeverCloses))
            });
            match there.ok()? {
                (Some(event), _) => return Some(event),
                (None, true) => return None,
                (None, false) => changed.changed().await.ok()?,
            }
        }
    }

    /// Waits until a task is over, or waits for its caller.
    pub(super) async fn settled(&self, id: &str) {
        let mut at = 0;
        let quiet = |task: &mut Task| is_over(&task.json) || waits(&task.json);
        while !self.with(&json!(id), quiet).unwrap_or(true) {
            if self.event(id, at, true).await.is_none() {
                return;
            }
            at += 1;
        }
    }

    /// A task as it is shown.
    pub(super) fn task(&self, id: &Value, history: &Value) -> Result<Value, Refusal> {
        if history.as_i64().is_some_and(|length| length < 0) {
            return Err(Refusal::invalid(
                "historyLength",
                "historyLength is negative",
            ));
        }
        let mut task = self.with(id, |task| task.json.clone())?;
        self.cut(&mut task, history);
        Ok(task)
    }

    fn cut(&self, task: &mut Value, length: &Value) {
        let Some(members) = task.as_object_mut() else {
            return;
        };
        if let (Some(length), false) = (length.as_u64(), self.has(Fault::IgnoresHistoryLength))
            && let Some(history) = members["history"].as_array_mut()
        {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let surplus = history.len().saturating_sub(length);
            history.drain(..surplus);
        }
        for name in ["history", "artifacts"] {
            if members[name].as_array().is_none_or(Vec::is_empty) {
                members.remove(name);
            }
        }
    }

    /// Ends a task early.
    pub(super) fn cancel(&self, id: &Value) -> Result<Value, Refusal> {
        let over = self.with(id, |task| is_over(&task.json))?;
        if self.traits.stubborn || over && !self.has(Fault::CancelsFinishedTasks) {
            return Err(Refusal::not_cancelable());
        }
        let name = id.as_str().unwrap_or_default().to_owned();
        if self.has(Fault::CancelLies) {
            let mut task = self.task(id, &Value::Null)?;
            task["status"]["state"] = json!("TASK_STATE_CANCELED");
            return Ok(task);
        }
        if !self.has(Fault::CancelIsDead) {
            self.status(&name, "CANCELED", None);
        }
        self.task(id, &Value::Null)
    }

    /// Lists tasks, newest status first.
    pub(super) fn list(&self, params: &Value) -> Result<Value, Refusal> {
        let size = match &params["pageSize"] {
            Value::Null => 50,
            given => given
                .as_u64()
                .filter(|size| (1..=100).contains(size))
                .ok_or_else(|| Refusal::invalid("pageSize", "pageSize is not 1 to 100"))?,
        };
        let size = usize::try_from(size).unwrap_or(50);
        let tasks = self.tasks.lock().expect("no panic");
        let mut all: Vec<Value> = tasks.iter().rev().map(|task| task.json.clone()).collect();
        drop(tasks);
        all.sort_by_key(|task| std::cmp::Reverse(task["status"]["timestamp"].to_string()));
        let wanted = |name: &str| params[name].as_str().filter(|text| !text.is_empty());
        if let (Some(context), false) = (wanted("contextId"), self.has(Fault::IgnoresListFilters)) {
            all.retain(|task| task["contextId"] == context);
        }
        if let (Some(state), false) = (wanted("status"), self.has(Fault::IgnoresListFilters)) {
            all.retain(|task| task["status"]["state"] == state);
        }
        if let Some(since) = wanted("statusTimestampAfter") {
            all.retain(|task| task["status"]["timestamp"].as_str() >= Some(since));
        }
        let total = all.len();
        let mut start = 0;
        if let Some(token) = wanted("pageToken") {
            let last = all.iter().position(|task| task["id"] == token);
            let last = last.ok_or_else(|| Refusal::invalid("pageToken", "no such page"))?;
            start = match self.mutation {
                Mutation::Fault(Fault::PagesOverlap) => last,
                Mutation::Fault(Fault::PagesSkip) => last + 2,
                _ => last + 1,
            };
        }
        let mut page: Vec<Value> = all.iter().skip(start).take(size).cloned().collect();
        let more = start + page.len() < total || self.has(Fault::PagesNeverEnd);
        let last = page
            .last()
            .or(all.last())
            .map_or(Value::Null, |task| task["id"].clone());
        for task in &mut page {
            let artifacts = task["artifacts"].take();
            self.cut(task, &params["historyLength"]);
            if params["includeArtifacts"] == true {
                task["artifacts"] = artifacts;
            }
        }
        let token = if more { last } else { json!("") };
        Ok(json!({"tasks": page, "nextPageToken": token, "pageSize": size, "totalSize": total}))
    }
}

fn fold(artifacts: &mut Value, update: &Value) {
    let Some(list) = artifacts.as_array_mut() else {
        return;
    };
    let id = &update["artifact"]["artifactId"];
    let known = list.iter_mut().find(|known| known["artifactId"] == *id);
    match known {
        Some(known) if update["append"] == true => {
            let more = update["artifact"]["parts"].as_array().cloned();
            if let Some(parts) = known["parts"].as_array_mut() {
                parts.extend(more.unwrap_or_default());
            }
        }
        Some(known) => *known = update["artifact"].clone(),
        None => list.push(update["artifact"].clone()),
    }
}
