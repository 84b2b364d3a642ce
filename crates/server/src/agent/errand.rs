//! What an agent asks of what stands behind it: timed, counted, and told to whoever records the trace. An agent that asks
//! nobody pays nothing for it.

use std::borrow::Cow;

use http::{HeaderName, HeaderValue};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value, json};
use switchboard_types::model::Object;
use switchboard_types::operation::Method;
use tokio::time::Instant;

use super::{AgentError, AgentErrorKind, Outcome, Progress, Turn};
use crate::metrics::Asking;
use crate::trace::{DELEGATION, Kind, Recording, Trace, names};

/// What became of an errand whose end nobody has told: whoever ran it was stopped.
const GIVEN_UP: &str = "canceled";
/// How an errand to a model is told to operators.
const MODEL_CALL: &str = "llm-call";

/// What is mostly known beforehand.
type Text = Cow<'static, str>;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub enum Ask<'a> {
    /// An answer of a model; for the which time.
    Model {
        /// The model, as it is asked for.
        model: &'a str,
        /// 1, unless it was asked before in vain.
        attempt: u32,
    },
    /// An operation of an A2A agent.
    A2a(Method),
    /// A run of an agent that speaks another protocol.
    Agent(&'a str),
    /// A run of a program on this machine.
    Command(&'a str),
}

/// Something that an agent has asked for. It is over when this is dropped; without a word about how it
/// [ended](Self::ended), it was given up.
#[derive(Debug)]
pub struct Errand {
    trace: Option<Trace>,
    inner: Mutex<Box<Inner>>,
}

#[derive(Debug)]
struct Inner {
    progress: Progress,
    recording: Option<Recording>,
    /// As what it is counted; nothing if it is not.
    counted: Option<Asking>,
    /// What operators are told when it is over.
    told: Option<Map<String, Value>>,
    began: Instant,
    /// Tokens in and out.
    tokens: [Option<u64>; 2],
    /// What went wrong, in a word and in a sentence.
    failed: Option<(Text, Text)>,
    /// The task elsewhere that operators were told of.
    elsewhere: Option<String>,
    /// What it is called in the log, if calls are logged.
    label: Option<String>,
}

impl Progress {
    /// Something is asked for, as a part of this turn. It carries the [`headers`](Errand::headers) that are given here.
    #[must_use]
    pub fn asks(&self, turn: &Turn, ask: Ask<'_>) -> Errand {
        let trace = turn.trace().map(Trace::child);
        let (kind, counted) = match ask {
            Ask::Model { model, .. } => (Kind::Client, Some(Asking::gen_ai(names::CHAT, model))),
            Ask::A2a(method) => (Kind::Client, Some(Asking::A2a(method.name()))),
            Ask::Agent(_) => (Kind::Client, Some(Asking::gen_ai(names::INVOKE_AGENT, ""))),
            Ask::Command(_) => (Kind::Internal, None),
        };
        let name = || match ask {
            Ask::Model { model, .. } => format!("{} {model}", names::CHAT),
            Ask::A2a(method) => method.name().to_owned(),
            Ask::Agent(agent) => format!("{} {agent}", names::INVOKE_AGENT),
            Ask::Command(program) => format!("exec {}", basename(program)),
        };
        let recording = trace.as_ref().and_then(|t| t.record_with(name, kind));
        let label = tracing::enabled!(tracing::Level::DEBUG).then(name);
        let mut told = None;
        if let Ask::Model { model, attempt } = ask {
            let members = [("model", model.into()), ("attempt", attempt.into())];
            told = Some(Map::from_iter(members.map(|(n, v)| (n.to_owned(), v))));
        }
        let inner = Box::new(Inner {
            progress: self.clone(),
            recording,
            counted,
            told,
            began: Instant::now(),
            tokens: [None; 2],
            failed: Some((GIVEN_UP.into(), "it was given up".into())),
            elsewhere: None,
            label,
        });
        let errand = Errand {
            trace,
            inner: Mutex::new(inner),
        };
        match ask {
            Ask::Model { model, .. } => {
                errand.set(names::OPERATION, names::CHAT);
                errand.set(names::REQUEST_MODEL, model);
            }
            Ask::A2a(method) => errand.set(names::METHOD, method.name()),
            Ask::Agent(agent) => {
                errand.set(names::OPERATION, names::INVOKE_AGENT);
                errand.set(names::AGENT, agent);
            }
            Ask::Command(program) => errand.set(names::EXECUTABLE, basename(program)),
        }
        errand
    }
}

impl Turn {
    /// The same turn, all of which is an errand: what it asks of others is a part of that.
    #[must_use]
    pub fn within(mut self, errand: &Errand) -> Self {
        self.trace = errand.trace.clone().map(Box::new);
        self
    }
}

fn basename(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

impl Errand {
    /// The headers of what is asked.
    pub fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        self.trace.iter().flat_map(Trace::headers)
    }

    /// Its place in the trace that the turn is part of, if it is part of one.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    fn inner(&self) -> MutexGuard<'_, Box<Inner>> {
        self.inner.lock()
    }

    /// Whoever is asked is there.
    pub fn at(&self, host: Option<&str>, port: Option<u16>) {
        if let (Some(recording), Some(host)) = (&mut self.inner().recording, host) {
            recording.set(names::SERVER, host);
            if let Some(port) = port {
                recording.set_number(names::PORT, port.into());
            }
        }
    }

    /// Something that is known of it; a name of [`names`].
    pub fn set(&self, name: &'static str, value: impl Into<String>) {
        if let Some(recording) = &mut self.inner().recording {
            recording.set(name, value);
        }
    }

    /// Whether someone wants to know more of it.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.inner().recording.is_some()
    }

    /// A task of another server works on it: operators see it in the view of the trace. What is in `url` beside the place
    /// is not to be shown.
    pub fn is_worked_on(&self, agent: &str, url: &str, task: &str) {
        let mut inner = self.inner();
        if inner.elsewhere.as_deref() == Some(task) {
            return;
        }
        inner.elsewhere = Some(task.to_owned());
        if let Some(recording) = &mut inner.recording {
            recording.set(names::TASK, task);
        }
        let at = json!({ "agent": agent, "taskId": task, "url": url, "elsewhere": true });
        inner.progress.operator_note(DELEGATION, at);
    }

    /// It failed, by a word that is one of few, and a sentence that may be told.
    pub fn failed(&self, kind: impl Into<Text>, why: impl Into<Text>) {
        self.inner().failed = Some((kind.into(), why.into()));
    }

    /// So the turn ends for which it was asked.
    pub fn ended(&self, turn: &Result<Outcome, AgentError>) {
        match turn {
            Ok(outcome) => self.answered(outcome.said().metadata.as_ref()),
            Err(error) => {
                let known = self
                    .inner()
                    .failed
                    .as_ref()
                    .is_some_and(|(kind, _)| kind != GIVEN_UP);
                match error.kind() {
                    _ if known => {}
                    AgentErrorKind::Over => {}
                    AgentErrorKind::Failed => self.failed("failed", error.to_string()),
                    AgentErrorKind::Unavailable => self.failed("unavailable", error.to_string()),
                }
            }
        }
    }

    /// It was answered; `told` is what models tell of their answers: `model`, `finishReason`, `usage`.
    pub fn answered(&self, told: Option<&Object>) {
        let mut inner = self.inner();
        inner.failed = None;
        let Some(told) = told else { return };
        let usage: Option<Value> = told.get("usage");
        let tokens = |name: &str| usage.as_ref().and_then(|usage| usage[name].as_u64());
        inner.tokens = [tokens("inputTokens"), tokens("outputTokens")];
        if let Some(recording) = &mut inner.recording {
            if let Some(model) = told.get::<String>("model") {
                recording.set(names::RESPONSE_MODEL, model);
            }
            if let Some(finish) = told.get::<String>("finishReason") {
                recording.set_all(names::FINISH_REASONS, &[finish]);
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        let [input, output] = self.tokens;
        if let Some(call) = &self.label {
            let (error, reason) = self
                .failed
                .as_ref()
                .map(|(kind, why)| (&**kind, &**why))
                .unzip();
            let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            tracing::debug!(call, error, reason, duration_ms, "upstream call ended");
        }
        if let Some(asking) = &self.counted {
            let meter = self.progress.voice.meter();
            meter.asked(asking, took, self.tokens);
        }
        if let Some(recording) = &mut self.recording {
            for (name, tokens) in [(names::INPUT_TOKENS, input), (names::OUTPUT_TOKENS, output)] {
                if let Some(tokens) = tokens {
                    recording.set_number(name, tokens);
                }
            }
            if let Some((kind, _)) = &self.failed {
                recording.fail(&**kind);
            }
        }
        if let Some(mut told) = self.told.take() {
            let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            told.insert("durationMs".to_owned(), took.into());
            if input.or(output).is_some() {
                let usage = json!({ "inputTokens": input, "outputTokens": output });
                told.insert("usage".to_owned(), usage);
            }
            if let Some((_, why)) = self.failed.take() {
                told.insert("error".to_owned(), why.into_owned().into());
            }
            self.progress.operator_note(MODEL_CALL, told.into());
        }
    }
}
