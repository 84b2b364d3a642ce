//! `POST /agents/{agent}/chat`: a text in, a text out, for callers who want nothing else. It is a message to the agent as
//! any other: a task comes of it, which A2A can look at, and rules may hand it on.

use std::sync::Arc;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use switchboard_types::model::{
    ContextId, Json, Message, MessageId, Object, Part, Role, Task, TaskId, TaskState,
};
use switchboard_types::operation::{self, Operation, SendConfiguration, SendMessage};
use switchboard_types::{Dialect, Error};
use uuid::Uuid;

use super::Service;
use super::{Frames, JSON, RequestHead};
use crate::auth::Refusal;
use crate::call::ReplyBody;
use crate::directory::{Directory, Listing};
use crate::hops::DELEGATE;
use crate::http::{Body, status, whole};
use crate::task::LARGE;

/// Errors look as they do in HTTP+JSON.
const FRAMES: Frames = Frames::Rest {
    dialect: Dialect::V1,
    plain: true,
};

/// What is said.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Said {
    /// The text.
    message: String,
    /// The conversation it goes on with.
    #[serde(alias = "contextId")]
    session_id: Option<String>,
    /// The task whose question it answers.
    task_id: Option<String>,
    /// What else there is to know.
    metadata: Option<Box<RawValue>>,
}

/// Answers what is said.
pub(super) async fn answer(
    service: &Service,
    head: RequestHead<'_>,
    body: Result<Bytes, Error>,
) -> Response<Body> {
    match talk(service, head, body).await {
        Ok(answer) => answer,
        Err(refusal) => FRAMES.turn_away(&refusal),
    }
}

/// Turns a caller away before what it says is read.
pub(super) fn refuse(refusal: &Refusal) -> Response<Body> {
    FRAMES.turn_away(refusal)
}

async fn talk(
    service: &Service,
    head: RequestHead<'_>,
    body: Result<Bytes, Error>,
) -> Result<Response<Body>, Refusal> {
    head.require_agent()?;
    let body = body?;
    head.require_headers()?;
    head.require_json()?;
    let said: Said = serde_json::from_slice(&body).map_err(|error| {
        // What was sent is not repeated.
        let column = error.column();
        let text = "must be {\"message\": TEXT}, and may have `sessionId`, `taskId` and `metadata`";
        Error::invalid_params("body", format!("{text}; error at column {column}"))
    })?;
    // The same request is the same message.
    let id = head.idempotency_key().map(str::to_owned);
    let id = id.unwrap_or_else(|| Uuid::now_v7().to_string());
    let send = Operation::Send(Box::new(send(said, id)?));
    let call = head.call(Dialect::V1, send, None)?;
    let (reply, _) = service.dispatch(call).await?;
    let ReplyBody::Response(response) = reply.body else {
        return Ok(status(StatusCode::INTERNAL_SERVER_ERROR));
    };
    let is_large = response.weight() > LARGE;
    let (response, room) = service.whole_answers.take_executed(response).await?;
    let is_trimmed = is_large && room.is_none();
    let mut told = match response {
        operation::Response::SentTask(view) => of_task(&view.task, &*service.directory),
        operation::Response::SentMessage(message) => of_message(&message),
        _ => return Ok(status(StatusCode::INTERNAL_SERVER_ERROR)),
    };
    if is_trimmed {
        told["truncated"] = true.into();
    }
    let told = told.to_string().into_bytes();
    let body = whole::body(told, room);
    Ok(super::json(StatusCode::OK, JSON, body))
}

fn send(said: Said, id: String) -> Result<SendMessage, Error> {
    if said.message.trim().is_empty() {
        return Err(Error::invalid_params("message", "must not be empty"));
    }
    let wrong =
        |field: &'static str| move |_| Error::invalid_params(field, "must be 1 to 512 bytes");
    let id = MessageId::new(id).map_err(wrong("Idempotency-Key"))?;
    let context = said.session_id.filter(|id| !id.is_empty());
    let context = context.map(ContextId::new).transpose();
    let task = said.task_id.map(TaskId::new).transpose();
    let metadata = said.metadata.map(|raw| {
        let json = Json::from_request(raw).and_then(Object::try_from);
        json.map_err(|reason| reason.at("metadata"))
    });
    Ok(SendMessage {
        message: Message {
            context_id: context.map_err(wrong("sessionId"))?,
            task_id: task.map_err(wrong("taskId"))?,
            metadata: metadata.transpose()?,
            ..Message::new(id, Role::User, vec![Part::text(said.message)])
        },
        configuration: SendConfiguration::default(),
        metadata: None,
    })
}

/// What came of it: the text, how it stands, and who has taken it.
fn of_task(task: &Task, directory: &dyn Directory) -> Value {
    let artifacts = task.artifacts.iter();
    let made = artifacts.flat_map(|artifact| artifact.joined());
    let made: Vec<String> = made
        .filter_map(|part| part.as_text().map(str::to_owned))
        .collect();
    let said = task.status.message.as_ref().map(|message| message.text());
    let said = said.unwrap_or_default();
    let state = task.status.state;
    let failed = matches!(
        state,
        TaskState::Failed | TaskState::Rejected | TaskState::Canceled
    );
    let asks = state.is_interrupted();
    let response = match made.is_empty() || asks {
        true if failed => String::new(),
        true => said.clone(),
        false => made.join("\n"),
    };
    let mut told = json!({
        "response": response,
        "sessionId": task.context_id.as_str(),
        "taskId": task.id.as_str(),
        "traceId": task.id.as_str(),
        "state": state.name(),
        "delegated": false,
    });
    if failed {
        told["error"] = match said.is_empty() {
            true => state.name().into(),
            false => said.into(),
        };
    }
    if let Some(to) = delegate(task) {
        let known = |listing: &Arc<Listing>| listing.access.is_visible();
        let listing = directory.find(Some(&to)).filter(known);
        let title = listing.map(|listing| listing.profile.card.name.clone());
        told["delegated"] = true.into();
        told["targetBotName"] = title.unwrap_or_else(|| to.clone()).into();
        told["targetBotId"] = to.into();
    }
    told
}

fn of_message(message: &Arc<Message>) -> Value {
    json!({
        "response": message.text(),
        "sessionId": message.context_id.as_ref().map(ContextId::as_str),
        "state": TaskState::Completed.name(),
        "delegated": false,
    })
}

/// Who has taken the task, if another agent has.
fn delegate(task: &Task) -> Option<String> {
    #[derive(Deserialize)]
    struct Delegate {
        agent: String,
    }
    let said = task.status.message.as_ref();
    let said = said.and_then(|message| message.metadata.as_ref());
    let made = task.artifacts.iter();
    let made = made.filter_map(|artifact| artifact.metadata.as_ref());
    let mut places = said.into_iter().chain(made);
    let found: Option<Delegate> = places.find_map(|metadata| metadata.get(DELEGATE));
    found.map(|delegate| delegate.agent)
}
