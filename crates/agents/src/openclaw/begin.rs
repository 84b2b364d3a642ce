//! How a turn over the socket begins a run, or takes one up again.

use switchboard_server::agent::{AgentError, Outcome};
use switchboard_types::model::Part;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use super::ANSWER;
use super::checkpoint::{Checkpoint, Way};
use super::events::Told;
use super::line::Line;
use super::prompt::Prompt;
use super::run::{Followed, Following, Run};
use super::tools::Tools;
use crate::upstream::Outage;
use crate::writer::Writer;

impl<'a> Run<'a> {
    /// Waits until nothing else runs in the conversation.
    pub(super) async fn waited_for(&self) -> Result<OwnedMutexGuard<()>, AgentError> {
        let waiting = self.gateway.turn_of(&self.session);
        let turn = self.turn.canceled.run_until_cancelled(waiting).await;
        turn.ok_or_else(AgentError::over)
    }

    /// Begins a run.
    pub(super) async fn begin(
        &'a self,
        line: Line,
        prompt: Prompt,
        outage: Outage<'a>,
    ) -> Result<Outcome, AgentError> {
        let checkpoint = Checkpoint {
            way: Way::Socket,
            known: false,
            boot: line.hello.boot.clone(),
            successor: None,
            unsent: false,
        };
        checkpoint.keep(self.progress).await?;
        if self.turn.canceled.is_cancelled() {
            return Err(AgentError::over());
        }
        let mut following = self.following(checkpoint, Some(prompt), outage);
        let begun = following.ask(&line).await;
        following.through(begun).await
    }

    /// Takes a run up again.
    pub(super) async fn resume(&'a self, checkpoint: Checkpoint) -> Result<Outcome, AgentError> {
        let outage = Outage::new(self.turn, Some(self.progress), &self.gateway.address);
        let following = self.following(checkpoint, None, outage);
        following.through(Ok(Followed::Lost)).await
    }

    fn following(
        &'a self,
        checkpoint: Checkpoint,
        prompt: Option<Prompt>,
        outage: Outage<'a>,
    ) -> Following<'a> {
        let name = checkpoint.successor.as_deref();
        let name = name.unwrap_or(self.turn.task_id().as_str()).to_owned();
        let answer = self.turn.task.artifacts.iter();
        let answer = answer.rev().find(|artifact| artifact.id.as_str() == ANSWER);
        let shown =
            answer.map(|artifact| artifact.parts.iter().filter_map(Part::as_text).collect());
        let mut writer = Writer::new(self.progress, ANSWER, self.settings.coalesce);
        if shown.is_some() {
            writer.goes_on();
        }
        let (listening, heard) = self.gateway.listen(&name);
        Following {
            run: self,
            checkpoint,
            prompt,
            writer,
            told: Told::so_far(shown.unwrap_or_default()),
            heard,
            last_heard: Instant::now(),
            cut_off: false,
            runs: true,
            tools: Tools::default(),
            name,
            listening,
            outage,
        }
    }
}
