//! One task, read from its events, turns and steps.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_server::log::INTERNAL;
use switchboard_server::store::{Error, Store};
use switchboard_server::task::{Entry, Head, StoredStep, lifecycle};
use switchboard_server::trace::DELEGATION;
use switchboard_types::model::{
    Content, Event, Message, Object, Part, Task, TaskId, TaskState, Timestamp,
};
use switchboard_types::{Dialect, wire};

use super::node::{Internal, Node, Turn, status};

/// How many events are read at once.
const PAGE: usize = 256;
/// How much of an error is shown, in characters.
const LONGEST_ERROR: usize = 300;

/// What a message may weigh that is shown; of larger ones their size is.
const MAX_INPUT: usize = 16 << 10;

/// What is known of a task.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) id: TaskId,
    /// The tasks that the message which began it refers to.
    pub(super) references: Vec<TaskId>,
    pub(super) children: Vec<Child>,
    head: Head,
    story: Story,
    internal: Vec<Internal>,
    input: Option<Value>,
}

/// A task that was made for another.
#[derive(Debug, Clone)]
pub(super) struct Child {
    pub(super) task: TaskId,
    pub(super) agent: String,
    pub(super) key: Option<String>,
    /// It is kept by another server.
    pub(super) elsewhere: bool,
    /// Where that is.
    pub(super) url: Option<String>,
}

/// What the events tell.
#[derive(Debug, Default)]
struct Story {
    started: Option<Timestamp>,
    first: Option<Arc<Message>>,
    bytes_in: usize,
    bytes_out: usize,
    error: Option<String>,
    /// The events with which turns begin.
    begins_at: Vec<u64>,
    turns: Vec<Taken>,
}

/// A turn that was taken, or is.
#[derive(Debug)]
struct Taken {
    started: Timestamp,
    ended: Option<Timestamp>,
    state: TaskState,
    events: u64,
    trace: Option<String>,
    span: Option<String>,
}

/// Reads a task; `None` if there is none.
pub(super) async fn task(
    store: &dyn Store,
    id: &TaskId,
    content: bool,
) -> Result<Option<Seen>, Error> {
    let Some(head) = store.head(id).await? else {
        return Ok(None);
    };
    let turns = store.turns(id).await?;
    let mut story = Story {
        begins_at: turns.iter().map(|turn| turn.begins_at).collect(),
        ..Story::default()
    };
    let mut after = 0;
    loop {
        let page = store.events(id, after, PAGE).await?;
        match (page.first(), page.last()) {
            (Some(first), Some(last)) if first.seq == after + 1 => after = last.seq,
            _ => break,
        }
        page.iter().for_each(|entry| story.hear(entry));
    }
    if after == 0 {
        let Some(stored) = store.task(id).await? else {
            return Ok(None);
        };
        story.rest(&lifecycle::fold(stored)?);
    }
    let internal = internal_steps(store, id).await?;
    let mut children: Vec<Child> = Vec::new();
    for child in internal.iter().filter_map(child) {
        // Who is called again, with an answer or after a restart, is told of again.
        if !children.iter().any(|known| known.task == child.task) {
            children.push(child);
        }
    }
    let first = story.first.as_ref();
    Ok(Some(Seen {
        id: id.clone(),
        references: first.map_or_else(Vec::new, |m| m.reference_task_ids.clone()),
        children,
        head,
        input: first.filter(|_| content).and_then(json),
        story,
        internal,
    }))
}

impl Story {
    fn hear(&mut self, entry: &Entry) {
        if let Some(message) = &entry.received {
            self.bytes_in += size(&message.parts);
        }
        if let Some(turn) = self.turns.last_mut().filter(|turn| turn.ended.is_none()) {
            turn.events += 1;
        }
        match &entry.event {
            Event::Task(task) => {
                self.begin(task);
                self.started = task.status.timestamp;
            }
            Event::Status(update) => {
                let (state, at) = (update.status.state, update.status.timestamp);
                if let Some(said) = &update.status.message {
                    self.bytes_out += size(&said.parts);
                }
                self.stand(entry.seq, state, at);
                self.is_part_of(update.metadata.as_ref());
                if matches!(state, TaskState::Failed | TaskState::Rejected) {
                    self.error = update.status.message.as_deref().map(shortened);
                }
            }
            Event::Artifact(update) => {
                self.bytes_out += size(&update.artifact.parts);
                self.is_part_of(update.metadata.as_ref());
            }
            Event::Message(_) => {}
        }
    }

    /// A task whose events are gone: what its last form tells.
    fn rest(&mut self, task: &Task) {
        self.begin(task);
        let artifacts = task.artifacts.iter();
        self.bytes_out = artifacts.map(|artifact| size(&artifact.parts)).sum();
        self.started = begun(&task.id).or(task.status.timestamp);
        if matches!(task.status.state, TaskState::Failed | TaskState::Rejected) {
            self.error = task.status.message.as_deref().map(shortened);
        }
    }

    fn begin(&mut self, task: &Task) {
        self.first = task.history.first().cloned();
        self.bytes_in = task.history.first().map_or(0, |m| size(&m.parts));
    }

    /// A turn begins with the event that its record names, and ends with a state other than working.
    fn stand(&mut self, seq: u64, state: TaskState, at: Option<Timestamp>) {
        let Some(at) = at.or(self.started) else {
            return;
        };
        if self.begins_at.contains(&seq) {
            self.turns.push(Taken {
                started: at,
                ended: None,
                state,
                events: 1,
                trace: None,
                span: None,
            });
        } else if let Some(turn) = self.turns.last_mut()
            && turn.ended.is_none()
            && state != TaskState::Working
        {
            turn.state = state;
            turn.ended = Some(at);
        }
    }

    fn is_part_of(&mut self, metadata: Option<&Object>) {
        if let (Some(metadata), Some(turn)) = (metadata, self.turns.last_mut())
            && metadata.as_str().contains("traceId")
        {
            turn.trace = metadata.get("traceId");
            turn.span = metadata.get("spanId");
        }
    }
}

impl Seen {
    /// As it is told, without the tasks that were made for it.
    pub(super) fn node(self) -> Node {
        let Self { head, story, .. } = self;
        let ended = head.state.is_terminal().then_some(head.updated);
        let traced = story.turns.iter().rev().find(|turn| turn.trace.is_some());
        let (trace_id, span_id) =
            traced.map_or((None, None), |turn| (turn.trace.clone(), turn.span.clone()));
        Node {
            task_id: self.id.to_string(),
            parent_task_id: None,
            name: format!("task:{}", head.agent),
            r#type: "A2A_TASK",
            agent: head.agent.to_string(),
            context_id: head.context.to_string(),
            status: status(head.state),
            state: head.state.name(),
            error: story.error,
            started_at: story.started.map(|at| at.to_string()),
            ended_at: ended.map(|at| at.to_string()),
            duration_ms: lasted(story.started, ended),
            events: head.seq,
            bytes_in: story.bytes_in,
            bytes_out: story.bytes_out,
            trace_id,
            span_id,
            idempotency_key: None,
            url: None,
            asked: false,
            input: self.input,
            turns: story.turns.into_iter().map(Taken::told).collect(),
            internal: self.internal,
            children: Vec::new(),
        }
    }
}

impl Taken {
    fn told(self) -> Turn {
        Turn {
            started_at: self.started.to_string(),
            ended_at: self.ended.map(|at| at.to_string()),
            duration_ms: lasted(Some(self.started), self.ended),
            state: self.state.name(),
            events: self.events,
            trace_id: self.trace,
            span_id: self.span,
        }
    }
}

fn lasted(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<u64> {
    let micros = to?.as_micros().saturating_sub(from?.as_micros());
    u64::try_from(micros / 1000).ok()
}

/// When a task was made: its id tells, if it is one of ours.
fn begun(id: &TaskId) -> Option<Timestamp> {
    let id = uuid::Uuid::parse_str(id.as_str()).ok()?;
    let (seconds, nanos) = id.get_timestamp()?.to_unix();
    let micros = seconds.checked_mul(1_000_000)? + u64::from(nanos / 1000);
    Some(Timestamp::from_micros(i64::try_from(micros).ok()?))
}

/// What the turns of a task recorded for operators.
async fn internal_steps(store: &dyn Store, id: &TaskId) -> Result<Vec<Internal>, Error> {
    let mut internal = Vec::new();
    let mut after = 0;
    loop {
        let page = store.steps(id, after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(internal);
        };
        after = last.number;
        internal.extend(page.into_iter().filter_map(operator_note));
    }
}

fn operator_note(stored: StoredStep) -> Option<Internal> {
    let step = stored.step;
    step.name.starts_with(INTERNAL).then(|| Internal {
        name: step.name,
        at: step.at.to_string(),
        value: step.value,
    })
}

fn child(internal: &Internal) -> Option<Child> {
    if internal.name.strip_prefix(INTERNAL) != Some(DELEGATION) {
        return None;
    }
    let text = |key: &str| internal.value[key].as_str().map(str::to_owned);
    Some(Child {
        task: TaskId::new(text("taskId")?).ok()?,
        agent: text("agent")?,
        key: text("key"),
        elsewhere: internal.value["elsewhere"] == true,
        url: text("url"),
    })
}

fn size(parts: &[Part]) -> usize {
    let size = |part: &Part| match &part.content {
        Content::Text(text) => text.len(),
        Content::Url(url) => url.len(),
        Content::Raw(bytes) => bytes.len(),
        Content::Data(json) => json.as_str().len(),
    };
    parts.iter().map(size).sum()
}

fn shortened(message: &Message) -> String {
    message.text().chars().take(LONGEST_ERROR).collect()
}

fn json(message: &Arc<Message>) -> Option<Value> {
    let bytes = message.weight();
    if bytes > MAX_INPUT {
        return Some(json!({"messageId": message.id.as_str(), "omittedBytes": bytes}));
    }
    let mut out = Vec::new();
    let event = Event::Message(Arc::clone(message));
    wire::encode_event(Dialect::V1, &event, true, &mut out);
    let mut event: Value = serde_json::from_slice(&out).ok()?;
    event.get_mut("message").map(Value::take)
}
