//! The rows of the table, as our client fills them.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use switchboard_client::webhook::{self, Receiver};
use switchboard_client::{Client, Error, Kind, Sent, answer_text, parts, reply, text};
use switchboard_types::ErrorKind;
use switchboard_types::model::{
    Content, ContextId, Event, Json, Part, PushConfig, PushConfigId, Role, Secret, Task, TaskId,
    TaskState,
};
use switchboard_types::operation::{ListTasks, SendMessage};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::our_client::Column;

/// Why a cell is not ok.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;
/// A remark on a cell that is.
type Cell = Result<String, Failure>;

/// There is nothing to fill a cell with.
#[derive(Debug)]
pub(crate) struct Nothing(&'static str);

impl std::fmt::Display for Nothing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Nothing {}

const STREAMED: &str = "one two three";
const TOKEN: &str = "a-token-of-ours";
const EXTENSION: &str = "https://example.com/extensions/polite/v1";

/// Fills one row.
pub(crate) async fn fill(column: &Column, row: &str) -> Cell {
    match row {
        "card" => card(column).await,
        "send-task" => send_task(column).await,
        "send-message" => send_message(column).await,
        "two-parts" => two_parts(column).await,
        "file" => file(column).await,
        "data" => data(column).await,
        "failure" => failure(column).await,
        "return-at-once" => return_at_once(column).await,
        "stream" => stream(column).await,
        "stream-message" => stream_message(column).await,
        "subscribe" => subscribe(column).await,
        "subscribe-after-cut" => subscribe_after_cut(column).await,
        "input-required" => converse(column).await.map(|_| String::new()),
        "cancel" => cancel(column).await,
        "get-history" => get_history(column).await,
        "list" => list(column).await,
        "push-configs" => push_configs(column).await,
        "push-delivered" => push_delivered(column).await,
        "extended-card" => extended_card(column).await,
        "task-not-found" => task_not_found(column).await,
        "not-cancelable" => not_cancelable(column).await,
        "terminal-refused" => terminal_refused(column).await,
        "bad-params" => bad_params(column).await,
        "unknown-version" => Err(Nothing("our client says the version itself").into()),
        "required-extension" => required_extension(column).await,
        _ => Err(format!("there is no row {row}").into()),
    }
}

fn fine() -> Cell {
    Ok(String::new())
}

fn want(condition: bool, what: &str) -> Result<(), Failure> {
    if condition { Ok(()) } else { Err(what.into()) }
}

pub(crate) fn same<T: PartialEq + Debug>(found: &T, wanted: &T, what: &str) -> Result<(), Failure> {
    want(
        found == wanted,
        &format!("{what} is {found:?}, not {wanted:?}"),
    )
}

fn task(sent: Sent) -> Result<Arc<Task>, Failure> {
    match sent {
        Sent::Task(task) => Ok(task),
        Sent::Message(message) => Err(format!("the answer is no task but {message:?}").into()),
    }
}

/// The texts of the artifacts, as they are.
fn artifacts(task: &Task) -> String {
    let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
    parts.filter_map(Part::as_text).collect()
}

async fn send(column: &Column, message: SendMessage) -> Result<Arc<Task>, Failure> {
    task(column.client().await?.send(message).await?)
}

async fn begin(column: &Column, words: &str) -> Result<(Client, Arc<Task>), Failure> {
    let mut message = text(words);
    message.configuration.return_immediately = true;
    let client = column.client().await?;
    let begun = task(client.send(message).await?)?;
    Ok((client, begun))
}

/// Refused by the agent in this way.
fn refused<T: Debug>(result: Result<T, Error>, kind: ErrorKind) -> Result<(), Failure> {
    match result {
        Err(error) if error.is(kind) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(answer) => Err(format!("it was not refused: {answer:?}").into()),
    }
}

async fn card(column: &Column) -> Cell {
    let card = column.client().await?.card();
    want(card.name.eq_ignore_ascii_case("peer"), &card.name)?;
    want(card.capabilities.streaming == Some(true), "it streams")?;
    fine()
}

async fn send_task(column: &Column) -> Cell {
    let task = send(column, text("hello world")).await?;
    same(&task.status.state, &TaskState::Completed, "the state")?;
    let answer = answer_text(&*task);
    same(&answer.as_str(), &"echo: hello world", "the answer")?;
    fine()
}

async fn send_message(column: &Column) -> Cell {
    match column.client().await?.send(text("msg hi")).await? {
        Sent::Message(message) => {
            same(&message.role, &Role::Agent, "the role")?;
            same(&answer_text(&*message).as_str(), &"echo: msg hi", "it")?;
            fine()
        }
        Sent::Task(task) => Err(format!("a task: {:?}", answer_text(&*task)).into()),
    }
}

async fn two_parts(column: &Column) -> Cell {
    let both = parts(vec![Part::text("hello"), Part::text("there")]);
    let answer = answer_text(&*send(column, both).await?);
    same(&answer.as_str(), &"echo: hello\nthere", "the answer")?;
    fine()
}

async fn file(column: &Column) -> Cell {
    let part = |content, name: &str, media_type: &str| {
        let mut part = Part::new(content);
        part.filename = Some(name.to_owned());
        part.media_type = Some(media_type.to_owned());
        part
    };
    let bytes = Content::Raw(Bytes::from_static(&[0, 1, 254, 255]));
    let bytes = part(bytes, "four.bin", "application/octet-stream");
    let link = Content::Url("https://example.com/a.txt".to_owned());
    let link = part(link, "a.txt", "text/plain");
    let all = vec![Part::text("file"), bytes.clone(), link.clone()];
    let task = send(column, parts(all)).await?;
    let found: Vec<&Part> = task.artifacts.iter().flat_map(|a| &a.parts).collect();
    let mut wanted = [bytes, link];
    for part in &mut wanted {
        part.filename = part.filename.take().filter(|_| column.carries_names());
    }
    same(&found, &wanted.iter().collect(), "the files")?;
    fine()
}

async fn data(column: &Column) -> Cell {
    let sent = r#"{"n":5,"half":0.5,"list":[1,"x",null],"deep":{"yes":true}}"#;
    let all = vec![Part::text("data"), Part::data(Json::parse(sent)?)];
    let task = send(column, parts(all)).await?;
    let found = task.artifacts.iter().flat_map(|a| &a.parts).next();
    let Some(Content::Data(found)) = found.map(|part| &part.content) else {
        return Err(format!("it is {found:?}").into());
    };
    // 5 and 5.0 are the same number to those who have one kind of number.
    same(&numbers(found.as_str())?, &numbers(sent)?, "the data")?;
    fine()
}

/// JSON with every number as a float.
fn numbers(json: &str) -> Result<Value, Failure> {
    fn floats(value: Value) -> Value {
        match value {
            Value::Number(number) => number.as_f64().into(),
            Value::Array(all) => all.into_iter().map(floats).collect(),
            Value::Object(all) => {
                Value::Object(all.into_iter().map(|(k, v)| (k, floats(v))).collect())
            }
            other => other,
        }
    }
    Ok(floats(serde_json::from_str(json)?))
}

async fn failure(column: &Column) -> Cell {
    let task = send(column, text("fail")).await?;
    same(&task.status.state, &TaskState::Failed, "the state")?;
    let said = task.status.message.as_deref().map(answer_text);
    same(&said.as_deref(), &Some("it failed"), "the reason")?;
    fine()
}

async fn return_at_once(column: &Column) -> Cell {
    let (client, task) = begin(column, "long").await?;
    want(!task.status.state.is_terminal(), "it is over")?;
    client.cancel(&task.id).await?;
    fine()
}

async fn stream(column: &Column) -> Cell {
    let mut events = column.client().await?.stream(text("stream")).await?;
    let mut chunks = 0;
    while let Some(item) = events.next().await {
        chunks += usize::from(matches!(item?.event, Event::Artifact(_)));
    }
    let task = task(events.finish().await?)?;
    same(&task.status.state, &TaskState::Completed, "the state")?;
    same(&artifacts(&task).as_str(), &STREAMED, "the answer")?;
    Ok(format!("{chunks} artifact updates"))
}

async fn stream_message(column: &Column) -> Cell {
    let events = column.client().await?.stream(text("msg hi")).await?;
    match events.finish().await? {
        Sent::Message(_) => fine(),
        Sent::Task(task) => Err(format!("a task: {:?}", answer_text(&*task)).into()),
    }
}

/// What `slow` makes, piece by piece.
fn slow() -> String {
    (1..=20).map(|n| format!("{n} ")).collect()
}

async fn subscribe(column: &Column) -> Cell {
    let (client, begun) = begin(column, "slow").await?;
    let events = client.subscribe(&begun.id).await?;
    let task = task(events.finish().await?)?;
    same(&task.status.state, &TaskState::Completed, "the state")?;
    same(&artifacts(&task), &slow(), "the answer")?;
    fine()
}

async fn subscribe_after_cut(column: &Column) -> Cell {
    let mut events = column.client().await?.stream(text("slow")).await?;
    let (mut seen, mut resumed) = (0, false);
    while let Some(item) = events.next().await {
        resumed |= item?.resumed;
        seen += 1;
        if seen == column.agent.events_before_cut {
            column.agent.cut();
        }
    }
    want(resumed, "the stream was not cut")?;
    let task = task(events.finish().await?)?;
    same(&task.status.state, &TaskState::Completed, "the state")?;
    // Who is asked later may have kept the answer in the history alone.
    let answer = match artifacts(&task) {
        none if none.is_empty() => answer_text(&*task),
        answer => answer,
    };
    same(&answer, &slow(), "the answer")?;
    fine()
}

async fn converse(column: &Column) -> Result<(Client, Arc<Task>), Failure> {
    let client = column.client().await?;
    let asked = task(client.send(text("input")).await?)?;
    same(&asked.status.state, &TaskState::InputRequired, "the state")?;
    let question = switchboard_client::Question::of(&asked).ok_or("there is no question")?;
    let asks = question.prompt.contains("which colour?");
    want(asks, &format!("the question is {}", question.prompt))?;
    let done = task(client.send(reply(&asked, vec![Part::text("blue")])).await?)?;
    same(&done.id, &asked.id, "the task")?;
    same(&done.status.state, &TaskState::Completed, "the state")?;
    let answer = answer_text(&*done);
    same(&answer.as_str(), &"you chose blue", "the answer")?;
    Ok((client, done))
}

async fn cancel(column: &Column) -> Cell {
    let client = column.client().await?;
    // There are agents that return nothing before the end, unless they stream.
    let mut events = client.stream(text("long")).await?;
    let begun = loop {
        events.next().await.ok_or("there is no task")??;
        if let Some(task) = events.task() {
            break task.id.clone();
        }
    };
    let canceled = client.cancel(&begun).await?;
    same(&canceled.status.state, &TaskState::Canceled, "the state")?;
    let kept = client.get(&begun, None).await?;
    same(&kept.status.state, &TaskState::Canceled, "what is kept")?;
    fine()
}

async fn get_history(column: &Column) -> Cell {
    let (client, done) = converse(column).await?;
    let whole = client.get(&done.id, None).await?;
    let of_user = whole.history.iter().filter(|m| m.role == Role::User);
    let said: Vec<String> = of_user.map(|m| answer_text(&**m)).collect();
    same(&said.join(" ").as_str(), &"input blue", "what was said")?;
    let last = client.get(&done.id, Some(1)).await?;
    same(&last.history.len(), &1, "the length of the history")?;
    fine()
}

async fn list(column: &Column) -> Cell {
    let client = column.client().await?;
    let context = ContextId::new(uuid::Uuid::new_v4().to_string())?;
    let mut made = Vec::new();
    for _ in 0..3 {
        let mut hello = text("hello");
        hello.message.context_id = Some(context.clone());
        made.push(task(client.send(hello).await?)?.id.clone());
    }
    let query = ListTasks {
        context_id: Some(context),
        page_size: Some(2),
        ..ListTasks::default()
    };
    let mut pages = client.tasks(query);
    let mut found: Vec<TaskId> = Vec::new();
    while let Some(task) = pages.next().await {
        found.push(task?.id.clone());
    }
    found.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    made.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    same(&found, &made, "the list")?;
    fine()
}

fn hook(url: String, task: Option<&TaskId>) -> PushConfig {
    PushConfig {
        id: PushConfigId::new("mine").ok(),
        task_id: task.cloned(),
        url,
        token: Some(Secret::new(TOKEN)),
        authentication: None,
    }
}

async fn push_configs(column: &Column) -> Cell {
    webhooks_are_offered(column).await?;
    let (client, begun) = begin(column, "long").await?;
    let url = "http://127.0.0.1:1/hook".to_owned();
    let made = client
        .create_push_config(hook(url.clone(), Some(&begun.id)))
        .await?;
    let id = made.id.ok_or("it has no id")?;
    let found = client.push_config(&begun.id, &id).await?;
    same(&found.url, &url, "what was found")?;
    same(
        &client.push_configs(&begun.id).await?.len(),
        &1,
        "how many there are",
    )?;
    client.delete_push_config(&begun.id, &id).await?;
    same(
        &client.push_configs(&begun.id).await?.len(),
        &0,
        "how many are left",
    )?;
    client.cancel(&begun.id).await?;
    fine()
}

/// As the client tells it, before there is a task.
async fn webhooks_are_offered(column: &Column) -> Result<(), Failure> {
    let none = TaskId::new("none")?;
    match column.client().await?.push_configs(&none).await {
        Err(error) if error.kind() == Kind::NotOffered => Err(error.into()),
        _ => Ok(()),
    }
}

async fn push_delivered(column: &Column) -> Cell {
    webhooks_are_offered(column).await?;
    let (tell, mut told) = mpsc::channel(64);
    let receiver = Receiver::new().token(Secret::new(TOKEN)).any_task();
    let app = webhook::handler("/hook", Arc::new(receiver), move |notification| {
        let tell = tell.clone();
        async move {
            // Nobody listens any more once the row is done.
            let _ = tell.send(notification).await;
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/hook", listener.local_addr()?);
    let mut serving = JoinSet::new();
    serving.spawn(async move { axum::serve(listener, app).await });
    let mut message = text("stream");
    message.configuration.return_immediately = true;
    message.configuration.push = Some(hook(url, None));
    let begun = send(column, message).await?;
    loop {
        let notification = told.recv().await.ok_or("nothing more will come")?;
        same(&notification.task_id.as_ref(), &Some(&begun.id), "the task")?;
        let state = match &notification.event {
            Event::Task(task) => task.status.state,
            Event::Status(update) => update.status.state,
            Event::Message(_) | Event::Artifact(_) => continue,
        };
        if state == TaskState::Completed {
            return fine();
        }
    }
}

async fn extended_card(column: &Column) -> Cell {
    let card = column.client().await?.extended_card().await?;
    same(&card.description.as_str(), &"The same, and more.", "it")?;
    fine()
}

async fn task_not_found(column: &Column) -> Cell {
    let client = column.client().await?;
    let missing = TaskId::new(uuid::Uuid::new_v4().to_string())?;
    refused(client.get(&missing, None).await, ErrorKind::TaskNotFound)?;
    refused(client.cancel(&missing).await, ErrorKind::TaskNotFound)?;
    match watch(&client, &missing).await {
        Err(error) if error.kind() == Kind::NotOffered => {
            Ok("get and cancel: it cannot be watched".to_owned())
        }
        watched => refused(watched, ErrorKind::TaskNotFound).map(|()| String::new()),
    }
}

/// Follows a task to its end.
async fn watch(client: &Client, task: &TaskId) -> Result<Sent, Error> {
    client.subscribe(task).await?.finish().await
}

async fn not_cancelable(column: &Column) -> Cell {
    let done = send(column, text("hello")).await?;
    let client = column.client().await?;
    refused(client.cancel(&done.id).await, ErrorKind::TaskNotCancelable)?;
    fine()
}

async fn terminal_refused(column: &Column) -> Cell {
    let done = send(column, text("hello")).await?;
    let client = column.client().await?;
    let more = reply(&done, vec![Part::text("more")]);
    refused(client.send(more).await, ErrorKind::UnsupportedOperation)?;
    fine()
}

async fn bad_params(column: &Column) -> Cell {
    let sent = column.client().await?.send(parts(Vec::new())).await;
    refused(sent, ErrorKind::InvalidParams)?;
    fine()
}

async fn required_extension(column: &Column) -> Cell {
    if !column.agent.has_strict {
        return Err(Nothing("there is no such agent").into());
    }
    let url = format!("{}/strict", column.agent.url);
    let client = column.connect(&url, None).await?;
    match client.send(text("hello")).await {
        Err(error) if error.kind() == Kind::ExtensionRequired => {}
        other => return Err(format!("it was not refused: {other:?}").into()),
    }
    let client = column.connect(&url, Some(EXTENSION)).await?;
    let answer = answer_text(&*task(client.send(text("hello")).await?)?);
    same(&answer.as_str(), &"echo: hello", "the answer")?;
    fine()
}
