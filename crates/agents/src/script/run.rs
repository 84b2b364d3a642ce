//! Takes the steps of a script.
//!
//! A run is deterministic: the same turn makes the same events in the same order. So a run that was cut off
//! is taken up again by running from the top and leaving out what is stored already, events and the waits
//! before them.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::json;
use switchboard_server::agent::{AgentError, Outcome, Said};
use switchboard_server::task::question_data;
use switchboard_types::model::{self, ArtifactId, Json, Message, Object, Part};

use super::language::{
    Artifact, Case, Chunk, Content, PartKind, Question, Repeat, Script, Step, Steps, When,
};
use super::part;
use super::scope::{Scope, plain};
use super::syntax::TextOr;
use crate::delegate::Delegations;

/// One run of a script.
pub(super) struct Run<'a> {
    pub(super) scope: Scope,
    pub(super) delegations: Delegations<'a>,
    /// Artifacts that have begun and are not closed.
    open: BTreeSet<ArtifactId>,
    /// Whether every `repeat` around the step is in its last round.
    last_round: bool,
    /// How many calls this run has come to.
    pub(super) calls: u32,
}

type Ended = Result<Option<Outcome>, AgentError>;

impl<'a> Run<'a> {
    pub(super) fn new(delegations: Delegations<'a>, scope: Scope) -> Self {
        Self {
            scope,
            delegations,
            open: BTreeSet::new(),
            last_round: true,
            calls: 0,
        }
    }

    /// Runs the script to its end.
    pub(super) async fn script(&mut self, script: &Script) -> Result<Outcome, AgentError> {
        let outcome = self.steps(&script.0).await?;
        Ok(outcome.unwrap_or_else(|| Outcome::Completed(Said::default())))
    }

    /// Takes steps until one ends the turn.
    pub(super) fn steps<'s>(
        &'s mut self,
        steps: &'s Steps,
    ) -> Pin<Box<dyn Future<Output = Ended> + Send + 's>> {
        // Boxed because steps hold steps.
        Box::pin(async move {
            for step in &steps.0 {
                let delegates = matches!(step, Step::Call(_) | Step::HandOff(_));
                if self.delegations.is_over(delegates) {
                    return Err(AgentError::over());
                }
                if let Some(outcome) = self.step(step).await? {
                    return Ok(Some(outcome));
                }
            }
            Ok(None)
        })
    }

    async fn step(&mut self, step: &Step) -> Ended {
        match step {
            Step::Say(TextOr(content)) => {
                let said = self.said(content);
                self.delegations.emitter.status(said).await?;
            }
            Step::Wait(delay) => {
                let delay = delay.get(&self.scope).map_err(AgentError::new)?;
                self.wait(delay).await?;
            }
            Step::Artifact(artifact) => self.artifact(artifact).await?,
            Step::Chunk(chunk) => self.chunk(chunk).await?,
            Step::Repeat(repeat) => return self.repeat(repeat).await,
            Step::Choose(cases) => return self.choose(cases).await,
            // Boxed: all other steps would need the room of these.
            Step::Call(call) => return Box::pin(self.call(call)).await,
            Step::HandOff(agent) => return Box::pin(self.hand_off(&agent.0)).await.map(Some),
            Step::Complete(TextOr(content)) => {
                return Ok(Some(Outcome::Completed(self.said(content))));
            }
            Step::Ask(TextOr(question)) => {
                return Ok(Some(Outcome::InputRequired(self.question(question))));
            }
            Step::RequireAuth(TextOr(content)) => {
                return Ok(Some(Outcome::AuthRequired(self.said(content))));
            }
            Step::Reject(TextOr(content)) => {
                return Ok(Some(Outcome::Rejected(self.said(content))));
            }
            Step::Fail(reason) => return Err(AgentError::new(reason.render(&self.scope))),
            Step::Reply(TextOr(content)) => return Ok(Some(Outcome::Reply(self.said(content)))),
        }
        Ok(None)
    }

    async fn artifact(&mut self, artifact: &Artifact) -> Result<(), AgentError> {
        let scope = &self.scope;
        let parts = part::render(artifact.text.as_ref(), &artifact.parts, scope);
        let description = artifact.description.as_ref().map(|t| t.render(scope));
        let metadata = part::object(&artifact.metadata, scope);
        let name = artifact.name.render(scope);
        let whole = model::Artifact {
            description,
            metadata,
            ..named(name, parts)?
        };
        self.open.remove(&whole.id);
        self.delegations.emitter.artifact(whole, false, true).await
    }

    async fn chunk(&mut self, chunk: &Chunk) -> Result<(), AgentError> {
        let parts = part::render(chunk.text.as_ref(), &chunk.parts, &self.scope);
        if parts.is_empty() {
            return Ok(());
        }
        let piece = named(chunk.name.render(&self.scope), parts)?;
        let last = chunk.last && self.last_round;
        let append = if last {
            self.open.remove(&piece.id)
        } else {
            !self.open.insert(piece.id.clone())
        };
        self.delegations.emitter.artifact(piece, append, last).await
    }

    async fn repeat(&mut self, repeat: &Repeat) -> Ended {
        let rounds: Vec<String> = match (&repeat.times, &repeat.words) {
            (Some(times), _) => {
                let times = times.get(&self.scope).map_err(AgentError::new)?;
                (0..times).map(|_| self.scope.word.clone()).collect()
            }
            (None, Some(text)) => words(&text.render(&self.scope)),
            (None, None) => Vec::new(),
        };
        let around = (self.scope.n, self.scope.word.clone(), self.last_round);
        let count = rounds.len();
        let mut ended = None;
        for (n, word) in (1..).zip(rounds) {
            self.scope.n = n;
            self.scope.word = word;
            self.last_round = around.2 && usize::try_from(n) == Ok(count);
            ended = self.steps(&repeat.steps).await?;
            if ended.is_some() {
                break;
            }
        }
        (self.scope.n, self.scope.word, self.last_round) = around;
        Ok(ended)
    }

    async fn choose(&mut self, cases: &[Case]) -> Ended {
        for case in cases {
            if self.applies(&case.when) {
                return self.steps(&case.steps).await;
            }
        }
        Ok(None)
    }

    /// Whether all conditions hold; keeps the groups of the pattern if they do.
    fn applies(&mut self, when: &When) -> bool {
        let scope = &self.scope;
        let id = scope.input.received.id.as_str();
        let applies = when.message_id.as_ref().is_none_or(|p| id.starts_with(p))
            && when.turn.is_none_or(|turn| turn == scope.input.turn)
            && when
                .timed_out
                .is_none_or(|late| late == scope.input.timed_out)
            && when
                .part
                .is_none_or(|kind| has_part(&scope.visible_to_conditions, kind))
            && when.answers.as_ref().is_none_or(|agent| {
                let question = scope.input.question.as_ref();
                question.is_some_and(|question| question.agent == *agent)
            })
            && when.metadata.iter().all(|(key, wanted)| {
                let value = scope.metadata(&scope.visible_to_conditions, key);
                value.is_some_and(|value| plain(&value) == plain(wanted))
            });
        if !applies {
            return false;
        }
        let Some(pattern) = &when.text else {
            return true;
        };
        let text = scope.visible_to_conditions.text();
        let Some(regex) = pattern.regex() else {
            return false;
        };
        let Some(captures) = regex.captures(&text) else {
            return false;
        };
        if !Arc::ptr_eq(&scope.visible_to_conditions, &scope.input.last_public) {
            // What is only looked at is not repeated.
            return true;
        }
        let groups = regex.capture_names().flatten();
        let matched = groups.filter_map(|group| {
            let value = captures.name(group)?;
            Some((group.to_owned(), value.as_str().to_owned()))
        });
        self.scope.matched = matched.collect();
        true
    }

    fn said(&self, content: &Content) -> Said {
        Said {
            parts: part::render(content.text.as_ref(), &content.parts, &self.scope),
            message_metadata: part::object(&content.metadata, &self.scope),
            ..Said::default()
        }
    }

    /// A question, and the form of it that programs understand.
    fn question(&self, question: &Question) -> Said {
        let scope = &self.scope;
        let mut parts = part::render(question.text.as_ref(), &question.parts, scope);
        let mut metadata = part::members(&question.metadata, scope);
        if let Some(input) = &question.input {
            let prompt = input.prompt.as_ref().or(question.text.as_ref());
            let id = match &input.id {
                Some(id) => id.render(scope),
                None => format!("{}-{}", scope.task_id, scope.input.turn),
            };
            let request = json!({
                "kind": "input-request",
                "prompt": prompt.map(|t| t.render(scope)).unwrap_or_default(),
                "sensitive": input.sensitive,
                "requestId": id,
            });
            if !parts.iter().any(|part| part.as_text().is_some())
                && let Some(prompt) = request["prompt"].as_str().filter(|p| !p.is_empty())
            {
                // Text first: many clients show people the first part, or raw data.
                parts.insert(0, Part::text(prompt));
            }
            parts.push(question_data(Json::from(&request)));
            metadata.insert("inputRequest".to_owned(), request);
        }
        Said {
            parts,
            message_metadata: (!metadata.is_empty()).then(|| Object::from(&metadata)),
            ..Said::default()
        }
    }

    /// Waits, unless what comes after is stored already.
    async fn wait(&self, delay: std::time::Duration) -> Result<(), AgentError> {
        if self.delegations.emitter.is_replaying() {
            return Ok(());
        }
        tokio::select! {
            biased;
            () = self.delegations.canceled.cancelled() => Err(AgentError::over()),
            () = tokio::time::sleep(delay) => Ok(()),
        }
    }
}

fn has_part(message: &Message, kind: PartKind) -> bool {
    message.parts.iter().any(|part| {
        kind == match part.content {
            model::Content::Text(_) => PartKind::Text,
            model::Content::Raw(_) => PartKind::Raw,
            model::Content::Url(_) => PartKind::Url,
            model::Content::Data(_) => PartKind::Data,
        }
    })
}

fn named(name: String, parts: Vec<Part>) -> Result<model::Artifact, AgentError> {
    let id = ArtifactId::new(name.as_str())
        .map_err(|e| AgentError::new(format!("the name of an artifact {e}")))?;
    Ok(model::Artifact {
        name: Some(name),
        ..model::Artifact::new(id, parts)
    })
}

/// The words of a text, each with the white space after it, so that together they are the text.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for piece in text.split_inclusive(char::is_whitespace) {
        match words.last_mut() {
            // White space goes to the word before it; at the beginning, to the word after it.
            Some(word) if piece.trim().is_empty() || word.trim().is_empty() => word.push_str(piece),
            _ => words.push(piece.to_owned()),
        }
    }
    words
}
