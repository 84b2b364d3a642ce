//! How what an agent says reaches the log.

use std::sync::Arc;

use serde_json::Value;
use switchboard_types::model::{Artifact, ArtifactUpdate, Event, TaskState};

use super::events::status_event;
use crate::agent::{AgentError, Said};
use crate::log::TaskLog;

/// How an agent's [`Progress`](crate::agent::Progress) reaches the log.
#[derive(Debug, Clone)]
pub(crate) struct Voice {
    pub(super) log: Arc<TaskLog>,
}

impl Voice {
    pub(crate) async fn working(&self, said: Said) -> Result<(), AgentError> {
        self.say(|log| status_event(log.origin(), TaskState::Working, said))
            .await
    }

    pub(crate) async fn chunk(
        &self,
        artifact: Artifact,
        append: bool,
        last_chunk: bool,
    ) -> Result<(), AgentError> {
        self.say(|log| {
            Event::Artifact(ArtifactUpdate {
                task_id: log.origin().id.clone(),
                context_id: log.origin().context.clone(),
                artifact: Arc::new(artifact),
                append,
                last_chunk,
                metadata: None,
            })
        })
        .await
    }

    pub(crate) async fn note(&self, name: &str, value: Value) -> Result<(), AgentError> {
        if self.log.is_held() {
            self.log.publish();
        }
        self.log.room().await.map_err(|_| AgentError::over())?;
        if serde_json::from_str::<Value>(&value.to_string()).is_err() {
            return Err(AgentError::new(
                "what the agent noted is nested too deep to be read again",
            ));
        }
        self.log.note(name, value).await.map_err(|error| {
            tracing::warn!(%error, task = %self.log.id(), "a note was not stored");
            AgentError::new("what the agent noted could not be stored")
        })
    }

    pub(crate) async fn note_with_task(&self, name: &str, value: Value) -> Result<(), AgentError> {
        match self.log.note_if_published(name, &value) {
            true => Ok(()),
            false => self.note(name, value).await,
        }
    }

    pub(crate) fn internal(&self, name: &str, value: Value) {
        self.log.internal(name, value);
    }

    async fn say(&self, event: impl FnOnce(&TaskLog) -> Event) -> Result<(), AgentError> {
        if self.log.is_held() {
            self.log.publish();
        }
        self.log.room().await.map_err(|_| AgentError::over())?;
        match self.log.append(event(&self.log), None) {
            Ok(_) => Ok(()),
            Err(_) => Err(AgentError::over()),
        }
    }
}
