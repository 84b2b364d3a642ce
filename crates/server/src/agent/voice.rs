//! How what an agent says reaches the log.

use std::sync::Arc;

use serde_json::Value;
use switchboard_types::model::{Artifact, ArtifactUpdate, Event, TaskState};

use super::events::status_event;
use super::{AgentError, Said};
use crate::log::TaskLog;
use crate::metrics::Meter;

/// How an agent's [`Progress`](crate::agent::Progress) reaches the log.
#[derive(Debug, Clone)]
pub(crate) struct Voice {
    pub(crate) log: Arc<TaskLog>,
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

    pub(crate) async fn safe(&self) -> Result<(), AgentError> {
        if self.log.is_draft() {
            self.log.publish();
        }
        let stored = self.log.stored_up_to(1).await;
        stored.map_err(|_| AgentError::over())
    }

    pub(crate) async fn record(&self, name: &str, value: Value) -> Result<(), AgentError> {
        if self.log.is_draft() {
            self.log.publish();
        }
        self.log.room().await.map_err(|_| AgentError::over())?;
        if !is_readable(&value, MAX_DEPTH) {
            return Err(AgentError::new(
                "what the agent recorded is nested too deep to be read again",
            ));
        }
        self.log.record(name, value).await.map_err(|error| {
            tracing::warn!(agent = %self.log.origin().agent, task = %self.log.id(), %error, "could not record a step");
            AgentError::new("what the agent recorded could not be stored")
        })
    }

    pub(crate) async fn record_with_task(
        &self,
        name: &str,
        value: Value,
    ) -> Result<(), AgentError> {
        match self.log.record_in_draft(name, &value) {
            true => Ok(()),
            false => self.record(name, value).await,
        }
    }

    pub(crate) fn operator_note(&self, name: &str, value: Value) {
        self.log.operator_note(name, value);
    }

    /// The numbers of the agent that speaks.
    pub(crate) fn meter(&self) -> &Meter {
        self.log.meter()
    }

    async fn say(&self, event: impl FnOnce(&TaskLog) -> Event) -> Result<(), AgentError> {
        if self.log.is_draft() {
            self.log.publish();
        }
        self.log.room().await.map_err(|_| AgentError::over())?;
        match self.log.append(event(&self.log)) {
            Ok(_) => Ok(()),
            Err(_) => Err(AgentError::over()),
        }
    }
}

/// How deep JSON may be nested that is to be read again.
const MAX_DEPTH: usize = 127;

/// Whether a value is nested no deeper than that.
fn is_readable(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_readable(item, levels - 1)),
        Value::Object(members) => {
            levels > 0
                && members
                    .values()
                    .all(|member| is_readable(member, levels - 1))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_readable_can_be_read_again_and_nothing_else() {
        let nested = |levels: usize| {
            (0..levels).fold(Value::Null, |inner, level| match level % 2 {
                0 => Value::from(vec![inner]),
                _ => serde_json::json!({ "inner": inner }),
            })
        };
        for levels in [0, 1, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, MAX_DEPTH + 2] {
            let value = nested(levels);
            let again = serde_json::from_str::<Value>(&value.to_string());
            assert_eq!(is_readable(&value, MAX_DEPTH), again.is_ok(), "{levels}");
        }
    }
}
