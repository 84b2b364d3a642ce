//! The operations: their names and paths in each version, and what they do.

use std::sync::Arc;

use serde_json::{Value, json};

use super::agent::{Agent, Send, Sent};
use super::card::card;
use super::fault::Fault;
use super::older;
use super::refusal::Refusal;
use super::serve::{Call, older_result};

/// An operation of A2A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Send,
    Stream,
    Get,
    List,
    Cancel,
    Subscribe,
    CreateHook,
    GetHook,
    ListHooks,
    DeleteHook,
    ExtendedCard,
}

/// What an operation leads to.
pub(super) enum Outcome {
    Json(Value),
    Stream(Events),
}

/// What a stream shows.
pub(super) struct Events {
    /// What comes first, beside the log.
    pub(super) first: Option<Value>,
    /// The task, and the place in its log.
    pub(super) task: Option<(String, usize)>,
    /// Ends when the task waits for its caller.
    pub(super) leave_waiting: bool,
}

const NAMES: [(Operation, &str, &str); 11] = [
    (Operation::Send, "SendMessage", "message/send"),
    (Operation::Stream, "SendStreamingMessage", "message/stream"),
    (Operation::Get, "GetTask", "tasks/get"),
    (Operation::List, "ListTasks", ""),
    (Operation::Cancel, "CancelTask", "tasks/cancel"),
    (Operation::Subscribe, "SubscribeToTask", "tasks/resubscribe"),
    (
        Operation::CreateHook,
        "CreateTaskPushNotificationConfig",
        "tasks/pushNotificationConfig/set",
    ),
    (
        Operation::GetHook,
        "GetTaskPushNotificationConfig",
        "tasks/pushNotificationConfig/get",
    ),
    (
        Operation::ListHooks,
        "ListTaskPushNotificationConfigs",
        "tasks/pushNotificationConfig/list",
    ),
    (
        Operation::DeleteHook,
        "DeleteTaskPushNotificationConfig",
        "tasks/pushNotificationConfig/delete",
    ),
    (
        Operation::ExtendedCard,
        "GetExtendedAgentCard",
        "agent/getAuthenticatedExtendedCard",
    ),
];

/// The ids in a path, by their names in 1.0.
type Ids = Vec<(&'static str, String)>;

impl Operation {
    pub(super) fn named(name: &str, older: bool) -> Option<Self> {
        let mut rows = NAMES.iter();
        let row = rows.find(|row| name == if older { row.2 } else { row.1 })?;
        Some(row.0)
    }

    /// The operation at a path, with the ids in it.
    pub(super) fn routed(verb: &str, path: &str, older: bool) -> Option<(Self, Ids)> {
        let decoded: Vec<String> = path
            .trim_start_matches('/')
            .split('/')
            .map(url_decoded)
            .collect();
        let pieces: Vec<&str> = decoded.iter().map(String::as_str).collect();
        let task = |name, id: &str| vec![(name, id.to_owned())];
        Some(match (verb, pieces.as_slice()) {
            ("POST", ["message:send"]) => (Self::Send, Vec::new()),
            ("POST", ["message:stream"]) => (Self::Stream, Vec::new()),
            ("GET", ["tasks"]) if !older => (Self::List, Vec::new()),
            ("GET", ["extendedAgentCard"]) if !older => (Self::ExtendedCard, Vec::new()),
            ("GET", ["card"]) if older => (Self::ExtendedCard, Vec::new()),
            ("GET", ["tasks", id]) => (Self::Get, task("id", id)),
            ("POST", ["tasks", id]) => match id.rsplit_once(':')? {
                (id, "cancel") => (Self::Cancel, task("id", id)),
                (id, "subscribe") => (Self::Subscribe, task("id", id)),
                _ => return None,
            },
            ("POST", ["tasks", id, "pushNotificationConfigs"]) => {
                (Self::CreateHook, task("taskId", id))
            }
            ("GET", ["tasks", id, "pushNotificationConfigs"]) => {
                (Self::ListHooks, task("taskId", id))
            }
            (verb, ["tasks", id, "pushNotificationConfigs", hook]) => {
                let operation = match verb {
                    "GET" => Self::GetHook,
                    "DELETE" => Self::DeleteHook,
                    _ => return None,
                };
                let mut ids = task("taskId", id);
                ids.push(("id", (*hook).to_owned()));
                (operation, ids)
            }
            _ => return None,
        })
    }

    /// The parameters in the shapes of 1.0.
    pub(super) fn read(self, call: &Call) -> Value {
        let given = &call.params;
        if !call.older {
            return given.clone();
        }
        match self {
            Self::Send | Self::Stream => json!({
                "message": older::read_message(&given["message"]),
                "configuration": older::read_configuration(&given["configuration"]),
            }),
            Self::CreateHook => {
                let config = [
                    &given["pushNotificationConfig"],
                    &given["config"]["pushNotificationConfig"],
                ];
                let config = config.into_iter().find(|config| config.is_object());
                let mut hook = older::read_hook(config.unwrap_or(&Value::Null));
                hook["taskId"] = given["taskId"].clone();
                if let Some(id) = given.get("configId") {
                    hook["id"] = id.clone();
                }
                hook
            }
            Self::GetHook | Self::DeleteHook if call.rpc => {
                json!({"taskId": given["id"], "id": given["pushNotificationConfigId"]})
            }
            Self::ListHooks if call.rpc => json!({"taskId": given["id"]}),
            _ => given.clone(),
        }
    }
}

fn url_decoded(piece: &str) -> String {
    let query = format!("x={}", piece.replace('+', "%2B"));
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

impl Agent {
    pub(super) async fn perform(
        self: &Arc<Self>,
        operation: Operation,
        call: &Call,
        right: bool,
    ) -> Result<Outcome, Refusal> {
        use Operation as O;
        let params = &call.params;
        if [O::Stream, O::Subscribe].contains(&operation) && !self.traits.streaming {
            return Err(Refusal::unsupported("no streams here"));
        }
        let hooks = [O::CreateHook, O::GetHook, O::ListHooks, O::DeleteHook];
        let inline = params["configuration"].get("taskPushNotificationConfig");
        if (hooks.contains(&operation) || inline.is_some()) && !self.traits.push {
            return Err(Refusal::no_push());
        }
        if [O::Get, O::Cancel, O::Subscribe].contains(&operation)
            && params["id"].as_str().is_none_or(str::is_empty)
        {
            return Err(Refusal::invalid("id", "id is missing"));
        }
        let result = match operation {
            O::Send => self.answer(call).await?,
            O::Stream => return self.stream(call).map(Outcome::Stream),
            O::Subscribe => return self.subscribe(params).map(Outcome::Stream),
            O::Get => self.task(&params["id"], &params["historyLength"])?,
            O::List => self.list(params)?,
            O::Cancel => self.cancel(&params["id"])?,
            O::CreateHook => self.create_hook(params)?,
            O::GetHook => self.get_hook(params)?,
            O::ListHooks => self.list_hooks(params)?,
            O::DeleteHook => self.delete_hook(params)?,
            O::ExtendedCard => return self.extended_card(call, right).map(Outcome::Json),
        };
        Ok(Outcome::Json(match call.older {
            true => older_result(operation, call.form, &result),
            false => result,
        }))
    }

    fn taken(&self, call: &Call) -> Send {
        Send {
            message: call.params["message"].clone(),
            configuration: call.params["configuration"].clone(),
            older: call.older,
        }
    }

    async fn answer(self: &Arc<Self>, call: &Call) -> Result<Value, Refusal> {
        let configuration = &call.params["configuration"];
        let id = match self.send(self.taken(call))? {
            Sent::Message(message) => return Ok(json!({ "message": message })),
            Sent::Task(id) => id,
        };
        let at_once = match configuration["returnImmediately"] == true {
            true => !self.has(Fault::IgnoresReturnImmediately),
            false => self.has(Fault::IgnoresBlocking),
        };
        if !at_once {
            self.settled(&id).await;
        }
        let task = self.task(&json!(id), &configuration["historyLength"])?;
        Ok(json!({ "task": task }))
    }

    fn stream(self: &Arc<Self>, call: &Call) -> Result<Events, Refusal> {
        Ok(match self.send(self.taken(call))? {
            Sent::Message(message) => Events {
                first: Some(json!({ "message": message })),
                task: None,
                leave_waiting: true,
            },
            Sent::Task(id) => Events {
                first: None,
                task: Some((id, 0)),
                leave_waiting: true,
            },
        })
    }

    fn subscribe(&self, params: &Value) -> Result<Events, Refusal> {
        let id = &params["id"];
        let task = self.task(id, &Value::Null)?;
        let over = ["COMPLETED", "FAILED", "CANCELED", "REJECTED"];
        let state = task["status"]["state"].as_str().unwrap_or_default();
        if over.iter().any(|end| state.ends_with(end)) {
            return Err(Refusal::unsupported("the task is over"));
        }
        let mut first = json!({ "task": task });
        if self.has(Fault::SubscribeShowsAnotherTask) {
            first["task"]["id"] = json!("another");
        }
        let from = self.with(id, |task| task.events.len())?;
        Ok(Events {
            first: Some(first).filter(|_| !self.has(Fault::SubscribeOmitsTask)),
            task: Some((id.as_str().unwrap_or_default().to_owned(), from))
                .filter(|_| !self.has(Fault::SubscribeIsEmpty)),
            leave_waiting: false,
        })
    }

    fn extended_card(&self, call: &Call, right: bool) -> Result<Value, Refusal> {
        if !self.traits.extended_card {
            return Err(match call.older {
                true => Refusal::plain(-32007, 404, "there is no extended card"),
                false => Refusal::unsupported("there is no extended card"),
            });
        }
        if !right && !self.has(Fault::ShowsExtendedCardToAll) {
            return Err(Refusal::plain(-32000, 401, "who are you?"));
        }
        Ok(card(self))
    }
}
