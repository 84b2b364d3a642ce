//! What a turn sends to the A2A endpoint, and what it hears there.

use std::time::Duration;

use reqwest::Response;
use serde_json::{Value, json};
use switchboard_client::CONTENT_LOG;
use switchboard_server::agent::{AgentError, Outcome, Progress, Said};
use switchboard_types::model::{Event, Json, Message, Part, Role, TaskId};
use switchboard_types::operation::{Operation, SendConfiguration, SendMessage};
use switchboard_types::wire::decode_event;
use switchboard_types::wire::jsonrpc::{self, Id};
use switchboard_types::wire::sse::Reader;
use tokio::time::timeout;

use super::api::{Fault, indented};
use super::events::{Ending, Heard, Step, run_of};
use super::message;
use super::run::{ANSWER, Run, Stop, lost};
use crate::fetch::{self, quoted, without};
use crate::writer::Writer;

/// It does not take a part of that kind.
const NOT_TAKEN: i32 = -32005;

/// How long a stream may be silent. The server gives a sign of life every five seconds; what gives none may be gone without
/// a word, and then the run is looked at.
const SILENCE: Duration = Duration::from_secs(30);

/// What came of a call.
pub(super) enum Heeded {
    Ended(Ending),
    /// Nothing more is heard, and there was no end.
    CutOff,
    /// An error: its number and its text.
    Refused(i32, String),
}

impl<'a> Run<'a> {
    /// The call that sends the message of the checkpoint.
    pub(super) fn call(&self, streams: bool) -> Result<Vec<u8>, Stop> {
        let checkpoint = self.checkpoint.as_ref().ok_or_else(lost)?;
        let id = checkpoint
            .at
            .message_id(self.turn.task_id())
            .ok_or_else(lost)?;
        let parts = match &checkpoint.resume {
            Some(Value::String(text)) => vec![Part::text(text.as_str())],
            Some(value) => vec![Part::data(Json::from(&json!({"resume": value})))],
            None => self.outgoing(&checkpoint.at.message(self.turn).parts)?,
        };
        let task = checkpoint
            .at
            .task
            .as_deref()
            .filter(|_| checkpoint.resume.is_some());
        let send = Box::new(SendMessage {
            message: Message {
                context_id: checkpoint.at.context_id(),
                task_id: task.and_then(|id| TaskId::new(id).ok()),
                ..Message::new(id, Role::User, parts)
            },
            configuration: SendConfiguration::default(),
            metadata: None,
        });
        let operation = match streams {
            true => Operation::Stream(send),
            false => Operation::Send(send),
        };
        let mut call = Vec::new();
        let id = Id::text(self.turn.task_id().as_str());
        jsonrpc::write_call(&mut call, &id, self.dialect, &operation, None);
        Ok(call)
    }

    /// The parts to send. What the server cannot take is refused before anything is sent.
    pub(super) fn outgoing(&self, said: &[Part]) -> Result<Vec<Part>, Stop> {
        let keys = self.line.settings.data_keys.as_deref();
        let parts = message::outgoing(said, keys);
        parts.map_err(|why| Stop::Ended(Ok(Outcome::Rejected(Said::text(why)))))
    }

    /// Hears the answer out, and passes on what is said.
    pub(super) async fn hear(&mut self, response: Response) -> Result<Heeded, Stop> {
        let Some(mut pen) = self.pen.take() else {
            return Ok(Heeded::CutOff);
        };
        let heeded = self.listen(response, &mut pen).await;
        pen.flush().await?;
        self.pen = Some(pen);
        heeded
    }

    async fn listen(&mut self, mut response: Response, pen: &mut Pen<'a>) -> Result<Heeded, Stop> {
        // What is told so far is told each time, and at the end in an artifact.
        let longest = self.line.settings.max_answer_bytes.saturating_mul(2);
        let longest = longest.saturating_add(1 << 20);
        let mut heard = Heard::default();
        if !fetch::is_stream(&response) {
            return match fetch::whole(response, longest).await {
                Ok(body) => match self.read(&body)? {
                    Ok(event) => {
                        let ended = self.pass(&mut heard, &event, pen).await?;
                        Ok(ended.map_or(Heeded::CutOff, Heeded::Ended))
                    }
                    Err((code, said)) => Ok(Heeded::Refused(code, said)),
                },
                Err(fetch::Unread::CutOff) => Ok(Heeded::CutOff),
                Err(fetch::Unread::TooLong) => Err(too_long()),
            };
        }
        let mut frames = Reader::new(longest);
        loop {
            let read = tokio::select! {
                biased;
                read = timeout(SILENCE, response.chunk()) => read,
                () = pen.writer.due() => {
                    pen.flush().await?;
                    continue;
                }
            };
            let is_over = match read {
                Ok(Ok(Some(bytes))) => {
                    frames.push(&bytes);
                    false
                }
                Ok(Ok(None)) => {
                    frames.end();
                    true
                }
                Ok(Err(_)) | Err(_) => true,
            };
            for frame in frames.by_ref() {
                let frame = frame.map_err(|_| too_long())?;
                match self.read(frame.data.as_bytes())? {
                    Ok(event) => {
                        if let Some(ending) = self.pass(&mut heard, &event, pen).await? {
                            return Ok(Heeded::Ended(ending));
                        }
                    }
                    Err((code, said)) => return Ok(Heeded::Refused(code, said)),
                }
            }
            if is_over {
                return Ok(Heeded::CutOff);
            }
            if pen.writer.is_due() {
                pen.flush().await?;
            }
        }
    }

    /// One answer, or one item of a stream: what happened, or the number and the text of an error.
    fn read(&self, body: &[u8]) -> Result<Result<Event, (i32, String)>, Stop> {
        let unreadable = |error: &str| {
            tracing::warn!(error, task = %self.turn.task_id(), "LangGraph server sent an unreadable answer");
            Stop::Unheard(Fault::Unreadable.told())
        };
        if tracing::enabled!(target: CONTENT_LOG, tracing::Level::DEBUG) {
            tracing::debug!(target: CONTENT_LOG, "A2A Response: {}", indented(&self.shown, body));
        }
        let answered = jsonrpc::read_answer(body).map_err(|e| unreadable(&e.to_string()))?;
        match answered.outcome {
            jsonrpc::Outcome::Result(result) => {
                let event = decode_event(self.dialect, result.get());
                event
                    .map(Ok)
                    .map_err(|error| unreadable(&error.to_string()))
            }
            jsonrpc::Outcome::Error(error) => {
                let (code, said) = complaint(error.get());
                let shown = quoted(&without(&self.shown, said.clone()));
                tracing::warn!(task = %self.turn.task_id(), "A2A error {code}: {shown}");
                Ok(Err((code, said)))
            }
            jsonrpc::Outcome::Neither => Err(unreadable("no JSON-RPC")),
        }
    }

    async fn pass(
        &mut self,
        heard: &mut Heard,
        event: &Event,
        pen: &mut Pen<'a>,
    ) -> Result<Option<Ending>, Stop> {
        self.renewed = false;
        let (step, ending) = heard.hear(event);
        match step {
            Some(Step::Task(task)) => {
                let resumed = self
                    .checkpoint
                    .as_ref()
                    .is_some_and(|checkpoint| checkpoint.resume.is_some());
                // What goes on after a question is the same task, but another run.
                let run = (!resumed).then(|| run_of(&task).to_owned());
                self.know(Some(&task), run).await?;
            }
            Some(Step::Text(text)) => {
                if text.len() > self.line.settings.max_answer_bytes {
                    return Err(too_long());
                }
                pen.say(&text);
            }
            None => {}
        }
        Ok(ending)
    }

    /// The server answered with an error.
    pub(super) fn refused(&self, code: i32, said: &str) -> Stop {
        let said = quoted(&without(&self.shown, said.to_owned()));
        if code == NOT_TAKEN {
            let why = format!("the LangGraph server rejected this message: {said}");
            return Stop::Ended(Ok(Outcome::Rejected(Said::text(why))));
        }
        if said.contains("ssistant") {
            self.line.forget();
        }
        AgentError::new(format!("A2A agent returned error: {said}")).into()
    }
}

/// The number and the text of an error; without a text, all of it.
fn complaint(error: &str) -> (i32, String) {
    let value: Value = serde_json::from_str(error).unwrap_or_default();
    let code = value["code"].as_i64();
    let code = code.and_then(|code| i32::try_from(code).ok());
    let said = value["message"].as_str().unwrap_or(error);
    (code.unwrap_or_default(), said.to_owned())
}

fn too_long() -> Stop {
    Stop::Unheard(AgentError::new("the answer of the assistant is too long"))
}

/// Writes the answer: what comes is all that was said so far, what goes out is what is new of it.
pub(super) struct Pen<'a> {
    writer: Writer<'a>,
    told: String,
}

impl<'a> Pen<'a> {
    /// `told`: what was told before a restart.
    pub(super) fn new(progress: &'a Progress, every: Duration, told: Option<String>) -> Self {
        let mut writer = Writer::new(progress, ANSWER, every);
        if told.is_some() {
            writer.goes_on();
        }
        Self {
            writer,
            told: told.unwrap_or_default(),
        }
    }

    /// This is all that was said. What does not begin as before is another message of the graph.
    pub(super) fn say(&mut self, now: &str) {
        match now.strip_prefix(self.told.as_str()) {
            Some(more) => self.writer.add(more),
            None => self.writer.replace(now),
        }
        now.clone_into(&mut self.told);
    }

    pub(super) async fn flush(&mut self) -> Result<(), AgentError> {
        self.writer.flush().await
    }

    /// Writes the last piece; whether there was anything to write.
    pub(super) async fn close(self) -> Result<bool, AgentError> {
        let has_text = self.writer.has_text();
        if has_text {
            self.writer.close(None).await?;
        }
        Ok(has_text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s0_032_an_error_without_a_text_is_told_whole() {
        let known = r#"{"code":-32602,"message":"Invalid thread ID"}"#;
        assert_eq!(complaint(known), (-32602, "Invalid thread ID".to_owned()));
        assert_eq!(
            complaint(r#"{"code":-1}"#),
            (-1, r#"{"code":-1}"#.to_owned())
        );
        assert_eq!(complaint(r#""no""#), (0, r#""no""#.to_owned()));
    }
}
