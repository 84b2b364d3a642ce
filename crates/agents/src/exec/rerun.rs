//! What must be undone before a command is run again that a restart has interrupted.

use switchboard_server::agent::{AgentError, Progress, Turn};
use switchboard_types::model::{Artifact, Part};

/// Takes back what a turn had produced before a restart interrupted it, so that the next run does not add to it. An
/// artifact cannot be removed, so one that was not there before becomes empty.
pub(super) async fn take_back(turn: &Turn, progress: &Progress) -> Result<(), AgentError> {
    let before = turn.artifacts_at_start().await?;
    for artifact in &turn.task.artifacts {
        let was = before.iter().find(|was| was.id == artifact.id);
        let restored = match was {
            Some(was) if was == artifact => continue,
            Some(was) => Artifact::clone(was),
            None => Artifact {
                name: artifact.name.clone(),
                ..Artifact::new(artifact.id.clone(), vec![Part::text("")])
            },
        };
        progress.artifact(restored).await?;
    }
    Ok(())
}
