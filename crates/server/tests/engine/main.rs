//! The engine in paused time, with agents made of closures, on the memory store.

#![expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]

mod by_context;
mod cancel;
mod failure;
mod idempotency;
mod input;
mod next_message;
mod release;
mod replicas;
mod routing;
mod send;
mod stream;
mod succession;
mod traces;
mod turns;
mod withdrawn;

use std::sync::Arc;

use switchboard_server::agent::{Outcome, Said};
use switchboard_server::engine::Settings;
use switchboard_server::log::Log;
use switchboard_server::store::MemoryStore;
use switchboard_server::testing::agent::{FnAgent, Line};
use switchboard_types::model::{Artifact, ArtifactId, Event, Part, TaskState};

fn line(agent: FnAgent) -> Line {
    line_with(agent, Settings::default())
}

fn line_with(agent: FnAgent, settings: Settings) -> Line {
    let log = Log::new(Arc::new(MemoryStore::default()));
    Line::new(&log, Arc::new(agent), settings)
}

fn artifact(text: &str) -> Artifact {
    Artifact::new(ArtifactId::new("a").unwrap(), vec![Part::text(text)])
}

/// Says it again, as an artifact.
fn echo() -> FnAgent {
    FnAgent::new(|turn, progress| async move {
        progress.artifact(artifact(&turn.message.text())).await?;
        Ok(Outcome::Completed(Said::default()))
    })
}

/// Asks once, then completes with the answer.
fn asks() -> FnAgent {
    FnAgent::new(|turn, progress| async move {
        if turn.task.history.len() == 1 {
            return Ok(Outcome::InputRequired(Said::text("which one?")));
        }
        progress.artifact(artifact(&turn.message.text())).await?;
        Ok(Outcome::Completed(Said::default()))
    })
}

/// Works until it is told to stop, and then stops.
fn works_until_canceled() -> FnAgent {
    FnAgent::new(|turn, _progress| async move {
        turn.canceled.cancelled().await;
        Ok(Outcome::Completed(Said::text("too late")))
    })
}

fn state_of(event: &Event) -> Option<TaskState> {
    match event {
        Event::Task(task) => Some(task.status.state),
        Event::Status(update) => Some(update.status.state),
        Event::Message(_) | Event::Artifact(_) => None,
    }
}
