//! What to say to an agent, and what is learned from it: a task that is over, one that runs, one that waits.

use serde_json::{Value, json};
use switchboard_types::model::{Message, MessageId, Part, Role, Task};
use switchboard_types::operation::Method;
use switchboard_types::{ErrorKind, wire};

use super::{Manner, Probe, Sent};
use crate::answer::{Answer, Link, Outcome};
use crate::check::{Verdict, unseen};
use crate::stream::Streamed;

impl Probe {
    /// Parameters of a send.
    pub(crate) fn say(&self, text: &str) -> Value {
        let id = format!("conformance-{}", uuid::Uuid::new_v4());
        let mut out = Vec::new();
        if let Ok(id) = MessageId::new(id) {
            let message = Message::new(id, Role::User, vec![Part::text(text)]);
            wire::encode_message(self.dialect, &message, &mut out);
        }
        let message: Value = serde_json::from_slice(&out).unwrap_or_default();
        let mut params = json!({ "message": message });
        if let Some((name, value)) = self.words.wait {
            params["configuration"] = json!({ name: value });
        }
        params
    }

    /// The same, for a task that exists.
    pub(crate) fn say_to(&self, text: &str, task: &Value) -> Value {
        let mut params = self.say(text);
        params["message"]["taskId"] = task.clone();
        params
    }

    /// The same, without waiting for the end.
    pub(crate) fn say_at_once(&self, text: &str) -> Value {
        let mut params = self.say(text);
        let (name, value) = self.words.at_once;
        params["configuration"] = json!({ name: value });
        params
    }

    /// What came of sending the plain message, the first time.
    pub(crate) async fn sent(&self) -> Result<&Sent, Verdict> {
        let first = || async {
            let params = self.say(&self.plan.message);
            self.send(params, "a message").await
        };
        self.sent
            .get_or_init(first)
            .await
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The same, for checks of something else: that it is refused is said once.
    pub(crate) async fn answered(&self) -> Result<&Sent, Verdict> {
        let sent = self.sent().await;
        sent.map_err(|_| unseen("--message is not answered, so there is nothing to look at"))
    }

    /// Sends, and finds the task in the answer.
    pub(crate) async fn send(&self, params: Value, what: &str) -> Result<Sent, Verdict> {
        let answer = self.call(Method::Send, params).await;
        let result = answer.result(what);
        let result = result.map_err(|verdict| self.unless_missing(Method::Send, &answer, verdict));
        let task = self.task_in(result?);
        Ok(Sent { answer, task })
    }

    /// The verdict on an operation that failed, with a better hint if the agent does not know the operation at all.
    pub(crate) fn unless_missing(
        &self,
        method: Method,
        answer: &Answer,
        verdict: Verdict,
    ) -> Verdict {
        let missing = match &answer.outcome {
            Outcome::Refused(refusal) if refusal.reason.is_none() => {
                answer.is(ErrorKind::MethodNotFound) || [404, 405, 501].contains(&answer.status)
            }
            Outcome::Broken(_) => [404, 405, 501].contains(&answer.status),
            _ => false,
        };
        if !missing {
            return verdict;
        }
        verdict.hinting(match self.link {
            Link::JsonRpc => format!("serve the method {}", self.words.method(method)),
            Link::Rest => {
                let written = self.words.write(method, &json!({}));
                format!(
                    "serve {} {} below the URL in the card",
                    written.verb, written.path
                )
            }
            Link::Grpc => format!("serve the rpc {}", self.words.method(method)),
        })
    }

    /// The task in the answer to a send, or in an event.
    pub(crate) fn task_in(&self, result: &Value) -> Option<Value> {
        let wrapped = result.get("task").filter(|task| task.is_object());
        let bare = (result["kind"] == "task").then_some(result);
        wrapped.or(bare).cloned()
    }

    /// A task that is over.
    pub(crate) async fn finished(&self) -> Result<Value, Verdict> {
        let task = self.answered().await?.task.clone();
        let task =
            task.ok_or_else(|| unseen("the agent answers --message with a message, not a task"))?;
        match self.read(&task) {
            Some(read) if read.status.state.is_terminal() => Ok(task),
            Some(read) => Err(unseen(format!(
                "the task of --message does not end: it is {}",
                read.status.state.name()
            ))),
            None => Err(unseen("the task of --message cannot be read")),
        }
    }

    /// A new task that is being worked on.
    pub(crate) async fn running(&self) -> Result<Value, Verdict> {
        let text = self.plan.long_message.as_deref().unwrap_or_default();
        let sent = self.send(self.say_at_once(text), "a long message").await?;
        match sent.task {
            Some(task)
                if self
                    .read(&task)
                    .is_some_and(|t| !t.status.state.is_terminal()) =>
            {
                Ok(task)
            }
            Some(_) => Err(unseen("the task of --long-message was over at once")),
            None => Err(unseen(
                "--long-message was answered with a message, not a task",
            )),
        }
    }

    /// What to say of a running task that was not treated as one: perhaps it was over by then.
    pub(crate) async fn unless_over(&self, task: &Value, verdict: Verdict) -> Verdict {
        let answer = self.call(Method::Get, json!({"id": task["id"]})).await;
        let now = answer
            .result("the task")
            .ok()
            .and_then(|task| self.read(task));
        if now.is_some_and(|task| task.status.state.is_terminal()) {
            return unseen("the task of --long-message was over too soon");
        }
        verdict
    }

    /// A new task that waits for input.
    pub(crate) async fn waiting(&self) -> Result<Value, Verdict> {
        let text = self.plan.ask_message.as_deref().unwrap_or_default();
        let sent = self
            .send(
                self.say(text),
                "a message that is to be answered by a question",
            )
            .await?;
        match sent.task {
            Some(task)
                if self
                    .read(&task)
                    .is_some_and(|t| t.status.state.is_interrupted()) =>
            {
                Ok(task)
            }
            _ => Err(unseen(
                "--ask-message does not make the agent ask for input",
            )),
        }
    }

    /// What came of streaming the plain message, the first time.
    pub(crate) async fn streamed(&self) -> Result<&Streamed, Verdict> {
        let first = || async {
            let params = self.say(&self.plan.message);
            let stream =
                self.open(Method::Stream, params).await.map_err(|refused| {
                    match refused.result("the stream") {
                        Ok(_) => {
                            refused.fail("a stream was asked for, and answered by one JSON object")
                        }
                        Err(verdict) => self.unless_missing(Method::Stream, &refused, verdict),
                    }
                })?;
            let streamed = stream.rest(self.plan.timeout).await;
            self.keep(&streamed);
            Ok(streamed)
        };
        self.streamed
            .get_or_init(first)
            .await
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The same, for checks of something else.
    pub(crate) async fn followed(&self) -> Result<&Streamed, Verdict> {
        let streamed = self.streamed().await;
        streamed.map_err(|_| unseen("--message opens no stream, so there is nothing to look at"))
    }

    /// A task in the model, if it can be read at all.
    pub(crate) fn read(&self, task: &Value) -> Option<Task> {
        wire::decode_task(self.dialect, &task.to_string()).ok()
    }

    /// Ends a task that a check has begun; whatever comes of it.
    pub(crate) async fn clean_up(&self, task: &Value) {
        let mut params = json!({ "id": task });
        self.put_tenant(&mut params);
        if let Ok((verb, path, body, _)) = self.written(Method::Cancel, &params) {
            drop(self.ask(verb, &path, body, Manner::default()).await);
        }
    }
}
