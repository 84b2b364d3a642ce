//! A remote A2A agent behind ours, in any version and binding.
//!
//! The task is ours: it has an id of its own, and so lists, subscriptions, webhooks, replay and cancel work whatever
//! the other side has of them. What is needed to find the upstream task again is recorded (`checkpoint`), so a turn
//! that was cut off is resumed and not repeated.
//!
//! - `line`: the connection and the upstream card.
//! - `run`: one turn. `begin`: how its message goes out. `call`: what it says there, and as whom. `outage`: what it does
//!   while the upstream is down.
//! - `events`: what is said there, as what is said here. Pure.
//! - `late`: what the stream still brings after the end of the task.
//! - `failure`: what callers are told when it goes wrong.

mod begin;
mod call;
pub(crate) mod card;
pub(crate) mod checkpoint;
mod errand;
mod events;
mod failure;
mod keep;
mod late;
mod line;

mod outage;
mod run;

use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderName;
use switchboard_server::agent::{Agent, AgentError, Outcome, Progress, Restart, Turn};
use switchboard_server::backend::{Drift, Health};
use switchboard_types::model::AgentCard;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::line::Line;
pub use self::line::Settings;
use self::run::Run;
use crate::identity::Outbound;

/// An agent behind which another one stands.
#[derive(Debug)]
pub struct RemoteAgent {
    line: Line,
}

impl RemoteAgent {
    /// An agent that is somebody to the other one.
    #[must_use]
    pub fn new(settings: Settings, identity: Outbound) -> Self {
        Self {
            line: Line::new(settings, identity),
        }
    }

    /// The upstream card, as soon as it is known, and whenever it changes.
    #[must_use]
    pub fn card(&self) -> watch::Receiver<Option<Arc<AgentCard>>> {
        self.line.card()
    }

    /// Reads the upstream card now and then, until `stop`. `name` is for the log.
    pub async fn keep_card(&self, name: &str, stop: &CancellationToken) {
        self.line.keep(name, stop).await;
    }
}

#[async_trait]
impl Agent for RemoteAgent {
    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        let errand = self.line.errand(&turn, &progress);
        let turn = turn.within(&errand);
        let mut run = Run::new(&self.line, &turn, Some(&progress)).await?;
        run.errand = Some(&errand);
        let taken = run.take().await;
        self.line.ended(&errand, &taken);
        taken
    }

    async fn on_restart(&self, _: &Turn) -> Restart {
        Restart::Resume
    }

    /// A turn writes down what it will do before it does it, and with that the task is durable.
    fn has_effects(&self) -> bool {
        false
    }

    async fn release(&self, turn: Turn) -> Result<(), AgentError> {
        Run::new(&self.line, &turn, None).await?.release().await
    }

    fn upstream(&self) -> Option<String> {
        Some(self.line.url())
    }

    async fn health(&self) -> Health {
        self.line.health().await
    }

    fn drift(&self) -> Option<Arc<Drift>> {
        self.line.drift()
    }

    fn forwarded_headers(&self) -> &[HeaderName] {
        self.line.identity.wants()
    }
}
