//! Agents that follow a scenario written in YAML: the built-in agents, and mocks for tests and CI.
//!
//! [`language`] says what can be written, `template`, `number` and `part` what stands in its fields, `syntax`
//! how it is checked. `run` takes the steps, `call` those that [delegate](crate::delegate) to another agent; `scope` is what
//! they see. [`builtin`] are the agents that come with Switchboard.
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
mod call;
pub mod language;
mod number;
mod part;
mod pattern;
mod run;
mod scope;
mod search;
mod syntax;
mod template;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_server::agent::{Agent, AgentError, Outcome, Progress, Restart, Turn};
use switchboard_server::call::Handler;
use switchboard_server::directory::Directory;
use switchboard_types::model::Role;

use crate::delegate::{Delegator, TurnInput};
use crate::profile::Profile;

pub use language::Script;
pub use number::{Count, Delay};
pub use part::Part;
pub use pattern::Pattern;
pub use search::SearchCost;
pub use syntax::TextOr;
pub use template::{Data, InvalidTemplate, Template};

use run::Run;
use scope::Scope;

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
    delegator: Delegator,
}

impl ScriptAgent {
    /// An agent that follows `script` and calls other agents through `handler`. Without one, its calls fail.
    #[must_use]
    pub fn new(script: Script, handler: Option<Arc<dyn Handler>>) -> Self {
        Self {
            looks_back: script.looks_back(),
            delegator: Delegator::new(
                script.calls().into_iter().map(str::to_owned).collect(),
                handler,
            ),
            script: Arc::new(script),
        }
    }

    /// The same, which calls the agents of a directory, and does not tell the names of those that not everyone may know of.
    #[must_use]
    pub fn listed_in(mut self, directory: Arc<dyn Directory>) -> Self {
        self.delegator = self.delegator.listed_in(directory);
        self
    }
}

impl Template {
    /// Renders the template for the message of a turn, outside a script.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn render_for(&self, turn: &Turn) -> Result<String, AgentError> {
        let input = TurnInput::new(turn, None);
        let mut scope = Scope::new(&turn.task, input, turn.metadata.clone());
        if self.looks_back() {
            scope.earlier = earlier(turn).await?;
        }
        Ok(self.render(&scope))
    }
}

/// What the earlier tasks of the context were asked to do.
async fn earlier(turn: &Turn) -> Result<Vec<String>, AgentError> {
    let tasks = turn.earlier(EARLIER).await?;
    let requests = tasks.iter().map(|task| {
        let first = task.history.iter().find(|m| m.role == Role::User);
        first.map(|message| message.text()).unwrap_or_default()
    });
    Ok(requests.collect())
}

#[async_trait]
impl Agent for ScriptAgent {
    /// Not `async`: the future would have room for the turn twice.
    fn run<'life0, 'async_trait>(
        &'life0 self,
        turn: Turn,
        progress: Progress,
    ) -> BoxFuture<'async_trait, Result<Outcome, AgentError>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let earlier = match self.looks_back {
                // Boxed: most scripts do not.
                true => Box::pin(earlier(&turn)).await?,
                false => Vec::new(),
            };
            let peers = self.delegator.peers(&turn);
            let (delegations, input) = self.delegator.begin(&turn, &progress, &peers).await?;
            let scope = Scope {
                earlier,
                ..Scope::new(&turn.task, input, turn.metadata.clone())
            };
            let mut run = Run::new(delegations, scope);
            let outcome = run.script(&self.script).await;
            let question = run.scope.input.question.take();
            run.delegations.withdraw(question).await?;
            run.delegations.conclude(outcome)
        })
    }

    async fn release(&self, turn: Turn) -> Result<(), AgentError> {
        self.delegator.release(&turn).await
    }

    async fn on_restart(&self, _: &Turn) -> Restart {
        Restart::Resume
    }

    /// A script changes nothing but its own task; what it calls are tasks of their own.
    fn has_effects(&self) -> bool {
        false
    }
}
