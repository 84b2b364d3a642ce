//! Agents that follow a scenario written in YAML: the built-in agents, and mocks for tests and CI.
//!
//! [`language`] says what can be written, `template`, `number` and `part` what stands in its fields, `syntax`
//! how it is checked. `run` takes the steps, `delegate` the steps that call another agent, `question` what that
//! one asks; `scope` is what they see, `stage` whom they speak to. [`builtin`] are the agents that come with Switchboard.
//!
//! A script is deterministic: no clock and no chance decide what it does. That makes it good for tests, and
//! lets a run that a crash cut off go on at the next event.
//!
//! ```
//! use switchboard_agents::script::{Script, ScriptAgent};
//!
//! let script = Script::parse("- say: hello\n- complete: \"you said {{text}}\"")?;
//! let agent = ScriptAgent::new(script, None);
//! # Ok::<(), switchboard_agents::script::InvalidScript>(())
//! ```

pub mod builtin;
mod child;
mod delegate;
pub mod language;
mod number;
mod part;
mod pattern;
mod purse;
mod question;
mod run;
mod scope;
mod search;
mod stage;
mod syntax;
mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_server::agent::{Agent, AgentError, Outcome, Progress, Restart, Turn};
use switchboard_server::call::Handler;
use switchboard_server::directory::Directory;
use switchboard_types::model::{Message, Role, Task, TaskId};

use crate::profile::Profile;

pub use language::Script;
pub use number::{Count, Delay};
pub use part::Part;
pub use pattern::Pattern;
pub use search::SearchCost;
pub use syntax::TextOr;
pub use template::{Data, InvalidTemplate, Template};

use purse::{PURSE, Purse};
use run::Run;
use scope::{Asked, Scope, WHO_ASKS};
use stage::{Live, Others};

/// How many earlier tasks a script can look back on.
const EARLIER: usize = 100;

/// A scripted agent in a file of its own.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentFile {
    /// What its card says.
    #[serde(default)]
    pub profile: Profile,
    /// What it does.
    pub script: Script,
}

impl AgentFile {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Says what is wrong, with line and column.
    pub fn parse(yaml: &str) -> Result<Self, InvalidScript> {
        serde_saphyr::from_str(yaml).map_err(InvalidScript::new)
    }
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    ///
    /// Says what is wrong, with line and column.
    pub fn parse(yaml: &str) -> Result<Self, InvalidScript> {
        serde_saphyr::from_str(yaml).map_err(InvalidScript::new)
    }
}

/// Why a text is not a script; tells the line and the column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidScript(String);

impl InvalidScript {
    #[expect(clippy::needless_pass_by_value, reason = "the form that map_err wants")]
    fn new(error: serde_saphyr::Error) -> Self {
        Self(error.to_string())
    }
}

/// An agent that follows a script.
#[derive(Debug, Clone)]
pub struct ScriptAgent {
    script: Arc<Script>,
    /// Whether the script asks for earlier tasks.
    looks_back: bool,
    handler: Option<Arc<dyn Handler>>,
    /// The agents that it calls, in order.
    called: Vec<String>,
    /// Knows which agents everyone may know of.
    directory: Option<Arc<dyn Directory>>,
}

/// Agents that a script calls and does not name, and what it calls them instead.
type Hidden = BTreeMap<String, String>;

impl ScriptAgent {
    /// An agent that follows `script` and calls other agents through `handler`. Without one, its calls fail.
    #[must_use]
    pub fn new(script: Script, handler: Option<Arc<dyn Handler>>) -> Self {
        Self {
            looks_back: script.looks_back(),
            called: script.calls().into_iter().map(str::to_owned).collect(),
            script: Arc::new(script),
            handler,
            directory: None,
        }
    }

    /// The same, which calls the agents of a directory, and does not tell the names of those that not everyone may know of.
    #[must_use]
    pub fn listed_in(mut self, directory: Arc<dyn Directory>) -> Self {
        self.directory = Some(directory);
        self
    }

    /// Whom it does not name now.
    fn hidden(&self) -> Hidden {
        let Some(directory) = &self.directory else {
            return Hidden::new();
        };
        let is_known = |name: &str| {
            let listing = directory.find(Some(name));
            listing.is_some_and(|listing| listing.access.is_visible())
        };
        let called = self.called.iter().zip(1..);
        let hidden = called.filter(|(name, _)| !is_known(name));
        hidden
            .map(|(name, n)| (name.clone(), format!("#{n}")))
            .collect()
    }

    fn others(&self, turn: &Turn) -> Others<'_> {
        Others {
            handler: self.handler.as_ref(),
            principal: turn.principal.clone(),
            agent: Arc::clone(turn.agent()),
            trace: turn.trace().cloned(),
        }
    }

    /// Finds out which agent has asked, by what it is called now.
    ///
    /// # Errors
    ///
    /// If that one is not called any more: the answer is for nobody else.
    fn recognise(&self, asked: &mut Asked, hidden: &Hidden) -> Result<(), AgentError> {
        if let Some(alias) = hidden.get(&asked.agent) {
            asked.agent.clone_from(alias);
        }
        let is_it = |name: &String| *hidden.get(name).unwrap_or(name) == asked.agent;
        match self.called.iter().any(is_it) {
            true => Ok(()),
            false => Err(AgentError::new(
                "the agent that asked is not called any more: send your message again, as a new task",
            )),
        }
    }
}

#[async_trait]
impl Agent for ScriptAgent {
    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        let stage = Live {
            progress: &progress,
            others: self.others(&turn),
        };
        let earlier = if self.looks_back {
            let tasks = turn.earlier(EARLIER).await?;
            tasks.iter().map(|task| request(task)).collect()
        } else {
            Vec::new()
        };
        let hidden = self.hidden();
        // Whoever is not hidden now may have been when it asked.
        let noted = match self.called.is_empty() || turn.begins() {
            true => None,
            false => turn.note(WHO_ASKS).await?,
        };
        let budget = turn.budget();
        let kept = match budget.is_limited() {
            true => turn.note(PURSE).await?,
            false => None,
        };
        let purse = Purse::new(budget, kept);
        let asked = match &turn.question {
            Some(question) => scope::passed_on(question),
            None => scope::asked(&turn.task, &turn.message),
        };
        let asked = asked.map(|asked| asked.known_as(noted.as_ref()));
        let mut scope = Scope {
            earlier,
            hop: Some(turn.hop().clone()),
            timed_out: turn.input_timed_out,
            ..Scope::new(&turn.task, turn.message, turn.metadata, asked.clone())
        };
        if let Some(asked) = &mut scope.asked {
            self.recognise(asked, &hidden)?;
        }
        let canceled = turn.canceled.clone();
        let mut run = Run::new(&stage, scope, turn.emitted, turn.canceled)
            .hiding(&hidden)
            .paying_from(purse);
        let ended = run.script(&self.script).await;
        if let (true, Some(asked), Some(_)) = (canceled.is_cancelled(), asked, &run.scope.asked) {
            // It did not come to the answer any more.
            stage.others.withdraw(asked).await?;
        }
        ended
    }

    /// Whoever works for it, or has asked something for it, need not any more.
    async fn let_go(&self, turn: Turn) -> Result<(), AgentError> {
        let others = self.others(&turn);
        let mut refused = None;
        for (agent, task) in turn.delegated().await? {
            match others.cancel(&agent, task).await {
                // The others are told all the same.
                Err(error) if error.refused_cancel().is_some() => refused = Some(error),
                told => told?,
            }
        }
        // Not all are noted, if there were many.
        if let Some(asked) = asked_last(&turn).await {
            others.withdraw(asked).await?;
        }
        refused.map_or(Ok(()), Err)
    }

    /// An agent that does not wait any more for what it has asked knows it, and so does one that asks for more. What is
    /// done beside tells nothing of a secret: it is the same without.
    async fn does_without_words(&self, turn: &Turn) -> bool {
        let Some(question) = &turn.question else {
            return false;
        };
        let Some(asked) = asked_by(question, turn).await else {
            return false;
        };
        let Ok(id) = TaskId::new(asked.task_id) else {
            return false;
        };
        let Ok(task) = self.others(turn).task(&asked.agent, id).await else {
            return false;
        };
        let told = delegate::calls_of(&turn.task.id, scope::number_of(&turn.task, &turn.message));
        let mut heard = task.history.iter().map(|message| message.id.as_str());
        !task.status.state.is_interrupted() || heard.any(|id| id.starts_with(&told))
    }

    fn on_restart(&self) -> Restart {
        Restart::Resume
    }

    /// A script changes nothing but its own task; what it calls are tasks of their own.
    fn has_effects(&self) -> bool {
        false
    }
}

/// What the task has asked last, if it was another agent's question. An answer that was not given changes nothing.
async fn asked_last(turn: &Turn) -> Option<Asked> {
    let said = turn.task.history.iter();
    let last = || said.rev().find(|message| message.role == Role::Agent);
    asked_by(turn.question.as_ref().or_else(last)?, turn).await
}

/// Whose question it is, if it was another agent's.
async fn asked_by(question: &Message, turn: &Turn) -> Option<Asked> {
    let asked = scope::passed_on(question)?;
    let noted = turn.note(WHO_ASKS).await.unwrap_or_default();
    Some(asked.known_as(noted.as_ref()))
}

/// What a task was asked to do.
fn request(task: &Task) -> String {
    let first = task.history.iter().find(|m| m.role == Role::User);
    first.map(|message| message.text()).unwrap_or_default()
}
