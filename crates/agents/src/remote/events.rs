//! What an upstream agent says, as what ours says. Pure.

use std::sync::Arc;

use http::HeaderMap;
use switchboard_client::{Sent, difference, fold};
use switchboard_server::agent::Said;
use switchboard_server::budget::Spent;
use switchboard_server::hops::DELEGATE;
use switchboard_server::task::OUT_OF_BAND;
use switchboard_types::model::{
    Artifact, ArtifactUpdate, ContextId, Event, Message, Object, Part, Role, Task, TaskId,
    TaskState, TaskStatus,
};

use super::failure::scrubbed;

/// Something to pass on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// It works, and says this to it.
    Working(Vec<Part>, Option<Object>, Option<Object>),
    /// An artifact or a piece of one, whether it adds to what was there, and whether it is the last one.
    Chunk(Arc<Artifact>, bool, bool),
}

/// How the upstream turn ends.
#[derive(Debug, Clone)]
pub(super) enum Ending {
    Completed(Said),
    InputRequired(Said),
    AuthRequired(Said),
    Rejected(Said),
    Reply(Said),
    /// With a reason for the caller, and what was spent.
    Failed(String, Spent),
}

/// An upstream task, as far as it was passed on.
#[derive(Debug)]
pub(super) struct Heard {
    task: Option<Arc<Task>>,
    /// What our task said last, if its turn was cut off there.
    said: Option<Vec<Part>>,
    /// The questions that were told, of which one is answered now: some agents begin with the task as it stood before.
    asked: Vec<Vec<Part>>,
}

impl Heard {
    /// A task that is not known yet. Artifacts of another one that ended before are not its own.
    pub(super) fn nothing() -> Self {
        Self {
            task: None,
            said: None,
            asked: Vec::new(),
        }
    }

    /// A task that is answered now, and whose question `ours` has passed on. Since then `ours` may have asked for
    /// credentials, so the question need not be the last one.
    pub(super) fn answered(id: TaskId, context: Option<ContextId>, ours: &Task) -> Self {
        let told = ours.history.iter().filter(|m| m.role == Role::Agent);
        let told = told.chain(&ours.status.message);
        Self {
            asked: told.map(|message| message.parts.clone()).collect(),
            said: None,
            ..Self::of(id, context, ours)
        }
    }

    /// A task of which `ours` has told already.
    pub(super) fn of(id: TaskId, context: Option<ContextId>, ours: &Task) -> Self {
        let known = Task {
            id,
            context_id: context.unwrap_or_else(|| ours.context_id.clone()),
            status: TaskStatus {
                state: TaskState::Working,
                message: None,
                timestamp: None,
            },
            artifacts: ours.artifacts.clone(),
            history: Vec::new(),
            metadata: None,
        };
        let said = ours.status.message.as_ref();
        Self {
            task: Some(Arc::new(known)),
            said: said.map(|message| message.parts.clone()),
            asked: Vec::new(),
        }
    }

    /// How the task stands, if nothing more is said.
    pub(super) fn stands(&self) -> Option<Ending> {
        let task = self.task.as_ref()?;
        ending(&task.status, None)
    }

    /// The task as it stands.
    pub(super) fn task(&self) -> Option<&Arc<Task>> {
        self.task.as_ref()
    }

    /// Takes an event in; gives what is to be passed on, and the end, if it is one. `shown`: what questions were told
    /// without.
    pub(super) fn hear(&mut self, event: &Event, shown: &HeaderMap) -> (Vec<Step>, Option<Ending>) {
        let mut steps = Vec::new();
        let mut end = None;
        match event {
            Event::Task(now) => {
                let known = self.task.as_deref();
                let known = known.filter(|known| known.id == now.id);
                let was_over = known.is_some_and(|known| known.status.state.is_terminal());
                let fresh = known.is_none().then(|| beginning(now));
                for event in difference(known.or(fresh.as_ref()).unwrap_or(now), now) {
                    end = self.part(&event, &mut steps).or(end);
                }
                self.task = Some(Arc::clone(now));
                // The whole task after its end: what it has more may be in the history.
                if was_over && end.is_none() {
                    end = ending(&now.status, None);
                }
                if let Some(Ending::Completed(said)) = &mut end {
                    fill_from_history(said, now);
                }
                let asked = std::mem::take(&mut self.asked);
                if let Some(Ending::InputRequired(said) | Ending::AuthRequired(said)) = &end
                    && asked.contains(&scrubbed(shown, said.clone()).parts)
                {
                    end = None;
                }
            }
            Event::Message(message) if self.task.is_some() => {
                let said = theirs(message.metadata.as_ref());
                steps.push(Step::Working(message.parts.clone(), said, None));
            }
            Event::Message(message) => {
                end = Some(Ending::Reply(said(Some(message), None)));
            }
            other => {
                end = self.part(other, &mut steps);
                fold(&mut self.task, other);
            }
        }
        (steps, end)
    }

    fn part(&mut self, event: &Event, steps: &mut Vec<Step>) -> Option<Ending> {
        match event {
            Event::Artifact(update) => {
                let ArtifactUpdate {
                    artifact,
                    append,
                    last_chunk,
                    ..
                } = update;
                let mut artifact = Arc::clone(artifact);
                let metadata = theirs(artifact.metadata.as_ref());
                if metadata != artifact.metadata {
                    Arc::make_mut(&mut artifact).metadata = metadata;
                }
                steps.push(Step::Chunk(artifact, *append, *last_chunk));
                None
            }
            Event::Status(update) => {
                let end = ending(&update.status, update.metadata.as_ref());
                if end.is_none()
                    && let Some(message) = &update.status.message
                {
                    let told = self.said.take();
                    if told.as_ref() != Some(&message.parts) {
                        let said = theirs(message.metadata.as_ref());
                        let event = theirs(update.metadata.as_ref());
                        steps.push(Step::Working(message.parts.clone(), said, event));
                    }
                }
                end
            }
            Event::Task(_) | Event::Message(_) => None,
        }
    }
}

impl Ending {
    /// Takes over a message that came in pieces, once all of them are there.
    pub(super) fn complete(&mut self, sent: &Sent) {
        if let (Self::Reply(told), Sent::Message(message)) = (self, sent) {
            *told = said(Some(message), None);
        }
    }
}

/// Before anything was told of a task.
fn beginning(now: &Task) -> Task {
    Task {
        status: TaskStatus {
            state: TaskState::Working,
            message: None,
            timestamp: None,
        },
        artifacts: Vec::new(),
        history: Vec::new(),
        ..now.clone()
    }
}

/// The end that a status is, if it is one.
fn ending(status: &TaskStatus, metadata: Option<&Object>) -> Option<Ending> {
    let message = status.message.as_deref();
    let spent = || metadata.map(Spent::told).unwrap_or_default();
    let said = || said(message, metadata);
    let text = message.map(Message::text).filter(|text| !text.is_empty());
    match status.state {
        TaskState::Completed => Some(Ending::Completed(said())),
        TaskState::InputRequired => Some(Ending::InputRequired(said())),
        TaskState::AuthRequired => Some(Ending::AuthRequired(said())),
        TaskState::Rejected => Some(Ending::Rejected(said())),
        TaskState::Failed => {
            let silent = || "the remote agent failed, and did not say why".to_owned();
            Some(Ending::Failed(text.unwrap_or_else(silent), spent()))
        }
        TaskState::Canceled => {
            let reason = match text {
                Some(text) => format!("the remote agent canceled the task: {text}"),
                None => "the remote agent canceled the task".to_owned(),
            };
            Some(Ending::Failed(reason, spent()))
        }
        TaskState::Submitted | TaskState::Working | TaskState::Unknown => None,
    }
}

fn said(message: Option<&Message>, metadata: Option<&Object>) -> Said {
    Said {
        parts: message.map(|m| m.parts.clone()).unwrap_or_default(),
        message_metadata: message.and_then(|m| theirs(m.metadata.as_ref())),
        metadata: theirs(metadata),
        // Tasks that it speaks of are not ours.
        references: Vec::new(),
    }
}

/// Metadata of theirs. Whom they have asked for something is no agent of ours, and none of ours is asked at their word.
/// A task that goes on there without a message is not followed meanwhile, so ours does not.
fn theirs(metadata: Option<&Object>) -> Option<Object> {
    metadata.map(|metadata| metadata.without(&[DELEGATE, OUT_OF_BAND]))
}

/// There are agents whose answer is nowhere but in the history.
fn fill_from_history(said: &mut Said, task: &Task) {
    let last = task.history.last().filter(|m| m.role == Role::Agent);
    if let Some(last) = last.filter(|_| said.parts.is_empty() && task.artifacts.is_empty()) {
        said.parts.clone_from(&last.parts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_types::Dialect;
    use switchboard_types::wire::{decode_event, decode_task};

    fn event(json: &str) -> Event {
        decode_event(Dialect::from_tag("0.3").unwrap(), json).unwrap()
    }

    fn status(state: &str, text: Option<&str>) -> Event {
        let message = text.map(|text| {
            format!(
                r#","message":{{"role":"agent","messageId":"m-{text}","parts":[{{"kind":"text","text":"{text}"}}]}}"#
            )
        });
        event(&format!(
            r#"{{"kind":"status-update","taskId":"t","contextId":"c","final":false,
            "status":{{"state":"{state}"{}}}}}"#,
            message.unwrap_or_default()
        ))
    }

    fn chunk(text: &str, append: bool) -> Event {
        event(&format!(
            r#"{{"kind":"artifact-update","taskId":"t","contextId":"c","append":{append},"lastChunk":false,
            "artifact":{{"artifactId":"a","parts":[{{"kind":"text","text":"{text}"}}]}}}}"#
        ))
    }

    fn task(state: &str, more: &str) -> Event {
        let json = format!(
            r#"{{"kind":"task","id":"t","contextId":"c","status":{{"state":"{state}"}}{more}}}"#
        );
        let task = decode_task(Dialect::from_tag("0.3").unwrap(), &json).unwrap();
        Event::Task(Arc::new(task))
    }

    /// What is passed on, in short.
    fn passed(heard: &mut Heard, events: &[Event]) -> String {
        let mut all = Vec::new();
        for event in events {
            let (steps, end) = heard.hear(event, &HeaderMap::new());
            all.extend(steps.into_iter().map(|step| match step {
                Step::Working(parts, ..) => format!("says {}", text(&parts)),
                Step::Chunk(artifact, append, _) => {
                    format!("{}{}", if append { "+" } else { "" }, text(&artifact.parts))
                }
            }));
            all.extend(end.map(|end| match end {
                Ending::Completed(said) => format!("done {}", text(&said.parts)),
                Ending::InputRequired(said) => format!("asks {}", text(&said.parts)),
                Ending::AuthRequired(said) => format!("auth {}", text(&said.parts)),
                Ending::Rejected(said) => format!("rejects {}", text(&said.parts)),
                Ending::Reply(said) => format!("replies {}", text(&said.parts)),
                Ending::Failed(reason, _) => format!("fails {reason}"),
            }));
        }
        all.join(", ")
    }

    fn text(parts: &[Part]) -> String {
        parts.iter().filter_map(Part::as_text).collect()
    }

    #[test]
    fn what_happens_upstream_happens_here_in_the_same_order() {
        let events = [
            task("submitted", ""),
            status("working", None),
            status("working", Some("hm")),
            chunk("a", false),
            chunk("b", true),
            status("completed", Some("bye")),
        ];
        let heard = &mut Heard::nothing();
        assert_eq!(passed(heard, &events), "says hm, a, +b, done bye");
    }

    #[test]
    fn the_question_that_is_answered_is_not_asked_again_though_credentials_were_asked_for_since() {
        let said = |role: &str, id: &str, text: &str| {
            format!(
                r#"{{"kind":"message","role":"{role}","messageId":"{id}","parts":[{{"kind":"text","text":"{text}"}}]}}"#
            )
        };
        let history = [
            said("user", "1", "paint it"),
            said("agent", "2", "Which?"),
            said("user", "3", "green"),
            said("agent", "4", "your credentials are needed"),
            said("user", "5", "here"),
        ];
        let ours = format!(
            r#"{{"kind":"task","id":"ours","contextId":"c","status":{{"state":"working"}},"history":[{}]}}"#,
            history.join(",")
        );
        let ours = decode_task(Dialect::from_tag("0.3").unwrap(), &ours).unwrap();
        let question = said("agent", "q", "Which?");
        let stood = format!(
            r#"{{"kind":"task","id":"t","contextId":"c","status":{{"state":"input-required","message":{question}}}}}"#
        );
        let stood = decode_task(Dialect::from_tag("0.3").unwrap(), &stood).unwrap();
        let events = [
            Event::Task(Arc::new(stood)),
            status("working", None),
            status("completed", Some("painted")),
        ];
        let heard = &mut Heard::answered(TaskId::new("t").unwrap(), None, &ours);
        assert_eq!(passed(heard, &events), "done painted");
    }

    #[test]
    fn a_question_that_was_told_without_our_credentials_is_known_again() {
        let asks = |text: &str| {
            let message = format!(
                r#","message":{{"role":"agent","messageId":"q","parts":[{{"kind":"text","text":"{text}"}}]}}"#
            );
            let json = format!(
                r#"{{"kind":"task","id":"t","contextId":"c","status":{{"state":"input-required"{message}}}}}"#
            );
            decode_task(Dialect::from_tag("0.3").unwrap(), &json).unwrap()
        };
        let ours = asks("is *** yours?");
        let key = http::HeaderValue::from_static("s3cr3t");
        let shown = HeaderMap::from_iter([(http::header::COOKIE, key)]);
        let mut heard = Heard::answered(TaskId::new("t").unwrap(), None, &ours);
        let stood = Event::Task(Arc::new(asks("is s3cr3t yours?")));
        let (_, end) = heard.hear(&stood, &shown);
        assert!(end.is_none(), "{end:?}");
    }

    #[test]
    fn every_end_is_an_end_here() {
        for (state, text, end) in [
            ("input-required", Some("why?"), "asks why?"),
            ("auth-required", None, "auth "),
            ("rejected", Some("no"), "rejects no"),
            ("failed", Some("boom"), "fails boom"),
            (
                "failed",
                None,
                "fails the remote agent failed, and did not say why",
            ),
            ("canceled", None, "fails the remote agent canceled the task"),
            (
                "canceled",
                Some("x"),
                "fails the remote agent canceled the task: x",
            ),
        ] {
            let heard = &mut Heard::nothing();
            assert_eq!(passed(heard, &[status(state, text)]), end, "{state}");
        }
        let message = r#"{"kind":"message","role":"agent","messageId":"m","parts":[{"kind":"text","text":"hi"}]}"#;
        assert_eq!(
            passed(&mut Heard::nothing(), &[event(message)]),
            "replies hi"
        );
    }

    #[test]
    fn a_task_that_is_told_whole_is_told_once() {
        let artifact = |text: &str| {
            format!(
                r#","artifacts":[{{"artifactId":"a","parts":[{{"kind":"text","text":"{text}"}}]}}]"#
            )
        };
        let events = [
            task("working", &artifact("one")),
            task("working", &artifact("one two")),
            task("completed", &artifact("one two")),
        ];
        assert_eq!(passed(&mut Heard::nothing(), &events), "one, + two, done ");
        let history = r#","history":[{"role":"user","messageId":"u","parts":[{"kind":"text","text":"q"}]},
            {"role":"agent","messageId":"x","parts":[{"kind":"text","text":"answer"}]}]"#;
        let events = [task("completed", history)];
        assert_eq!(passed(&mut Heard::nothing(), &events), "done answer");
    }

    #[test]
    fn what_our_task_has_told_before_a_restart_is_not_told_again() {
        let Event::Task(mut ours) = task(
            "working",
            r#","artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"one"}]}]"#,
        ) else {
            unreachable!()
        };
        let Event::Status(last) = status("working", Some("hm")) else {
            unreachable!()
        };
        Arc::make_mut(&mut ours).status = last.status;
        let id = TaskId::new("t").unwrap();
        let mut heard = Heard::of(id, None, &ours);
        let now = task(
            "working",
            r#","artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"one two"}]}]"#,
        );
        let events = [
            now,
            status("working", Some("hm")),
            status("working", Some("hm")),
        ];
        assert_eq!(passed(&mut heard, &events), "+ two, says hm");
    }
}
