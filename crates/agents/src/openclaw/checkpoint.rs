//! What is remembered of a run, so that it can be followed again.

use serde::{Deserialize, Serialize};
use switchboard_server::agent::{AgentError, Progress, Turn};

/// The name of the checkpoint.
const NAME: &str = "openclaw";

/// A run, as far as it was written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// By which way it was begun.
    pub(super) way: Way,
    /// Whether the gateway has said that it has it.
    pub(super) known: bool,
    /// Which life of the gateway it was begun in, if gateways tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) boot: Option<String>,
    /// The run that goes on with it after a restart of the gateway; it was begun under the name of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) successor: Option<String>,
    /// It is certain that the gateway was not sent the message yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unsent: bool,
}

/// How a run is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Way {
    /// By the socket: it goes on without us.
    Socket,
    /// By HTTP: it ends with the connection.
    Http,
}

impl Checkpoint {
    /// What was written down for the task of a turn.
    pub(super) async fn of(turn: &Turn) -> Result<Option<Self>, AgentError> {
        let checkpoint = turn.last_step(NAME).await?.map(serde_json::from_value);
        checkpoint.transpose().map_err(|error| {
            tracing::error!(%error, task = %turn.task_id(), "could not read a checkpoint");
            AgentError::new("the stored state of the run is unreadable")
        })
    }

    /// Writes it down.
    pub(super) async fn keep(&self, progress: &Progress) -> Result<(), AgentError> {
        let checkpoint =
            serde_json::to_value(self).map_err(|error| AgentError::new(error.to_string()))?;
        progress.record(NAME, checkpoint).await
    }

    /// Whether a gateway in this life surely has the run, so that it is enough to wait for it. If not, what it has
    /// written down tells: it may have been started anew, or may never have had it.
    pub(super) fn is_held(&self, boot: Option<&str>) -> bool {
        self.known && boot.is_some() && boot == self.boot.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_surely_there_only_in_the_life_that_took_it() {
        let checkpoint = |known, boot: Option<&str>| Checkpoint {
            way: Way::Socket,
            known,
            boot: boot.map(str::to_owned),
            successor: None,
            unsent: false,
        };
        assert!(checkpoint(true, Some("b1")).is_held(Some("b1")));
        assert!(!checkpoint(false, Some("b1")).is_held(Some("b1")));
        assert!(!checkpoint(true, Some("b1")).is_held(Some("b2")));
        assert!(!checkpoint(true, None).is_held(None));
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let checkpoint = Checkpoint {
            way: Way::Http,
            known: true,
            boot: None,
            successor: None,
            unsent: false,
        };
        let json = serde_json::to_value(&checkpoint).unwrap();
        assert_eq!(json, serde_json::json!({"way": "http", "known": true}));
        assert_eq!(
            serde_json::from_value::<Checkpoint>(json).unwrap(),
            checkpoint
        );
    }
}
