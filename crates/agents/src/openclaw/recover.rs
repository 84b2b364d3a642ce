//! What became of a run, by what a gateway has written down. It is looked at after a restart, of ours or of the gateway.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_server::agent::AgentError;
use tokio::time::{Instant, sleep};

use super::events::{Ending, Row, Written, listed, successor, written};
use super::line::{Line, Unanswered};
use super::run::{Followed, Following};

/// How long a gateway that was started anew may take to go on with what it had cut off.
pub(super) const REVIVAL: Duration = Duration::from_secs(45);
/// How often it is looked whether it does.
const LOOK: Duration = Duration::from_secs(1);
/// Among how many runs and messages one is looked for.
const LISTED: u32 = 200;

impl Following<'_> {
    /// Looks what a gateway has written down of the run.
    pub(super) async fn look(&mut self, line: &Line) -> Result<Followed, AgentError> {
        self.cut_off = self.checkpoint.boot.is_some() && self.checkpoint.boot != line.hello.boot;
        let row = match self.listed(line).await {
            Ok(row) => row,
            Err(Unanswered::No(_)) if self.checkpoint.known => {
                // An old one, which keeps no list.
                return self.wait(line).await;
            }
            Err(Unanswered::No(_)) => return Err(unknown()),
            Err(Unanswered::Lost | Unanswered::Late) => return Ok(Followed::Lost),
        };
        match row {
            Some(Row::Ended(ending)) => return self.ended(line, ending).await,
            // It did when the gateway died.
            Some(Row::Running) if self.cut_off => return self.revived(line, gone()).await,
            Some(Row::Running) => {
                self.last_heard = Instant::now();
                self.known(line.hello.boot.clone()).await?;
                return self.wait(line).await;
            }
            None => {}
        }
        let history = match self.history(line).await {
            Ok(history) => history,
            Err(Unanswered::No(_)) => return Err(unknown()),
            Err(Unanswered::Lost | Unanswered::Late) => return Ok(Followed::Lost),
        };
        match written(&history, &self.name) {
            // What stands there may be half of it.
            Written::Answer(_) if successor(&history, &self.name).is_some() => {
                self.revived(line, gone()).await
            }
            Written::Answer(text) => Ok(Followed::Ended(Ending::Done(text, None))),
            Written::Nothing if !self.checkpoint.known => {
                if self.run.turn.canceled.is_cancelled() {
                    return Err(AgentError::over());
                }
                // It never began: a gateway writes it down before it begins.
                Box::pin(self.ask(line)).await
            }
            Written::Nothing => Ok(Followed::Ended(gone())),
            Written::Message => self.revived(line, gone()).await,
        }
    }

    /// A run has ended, by what the gateway has written down.
    pub(super) async fn ended(
        &mut self,
        line: &Line,
        ending: Ending,
    ) -> Result<Followed, AgentError> {
        match ending {
            Ending::Stopped if self.cut_off => self.revived(line, gone()).await,
            // By the restart, maybe: then it goes on.
            Ending::Failed(_) if self.cut_off => self.revived(line, ending).await,
            Ending::Cut => match self.history(line).await {
                Ok(history) => {
                    let text = match written(&history, &self.name) {
                        Written::Answer(text) => text,
                        Written::Nothing | Written::Message => self.told.shown().to_owned(),
                    };
                    Ok(Followed::Ended(Ending::Done(text, None)))
                }
                Err(Unanswered::No(_)) => {
                    let shown = self.told.shown().to_owned();
                    Ok(Followed::Ended(Ending::Done(shown, None)))
                }
                Err(Unanswered::Lost | Unanswered::Late) => Ok(Followed::Lost),
            },
            ending => Ok(Followed::Ended(ending)),
        }
    }

    /// Waits for the gateway to go on with a run that it had cut off, and follows that; if it does not, the run ended so.
    async fn revived(&mut self, line: &Line, otherwise: Ending) -> Result<Followed, AgentError> {
        // What was heard before says nothing of it.
        while let Ok(waiting) = self.heard.try_recv() {
            self.hear(&waiting.heard).await?;
        }
        let by = Instant::now() + REVIVAL;
        while Instant::now() < by {
            match self.history(line).await {
                Ok(history) => {
                    if let Some(run) = successor(&history, &self.name) {
                        self.follow_instead(run, line).await?;
                        return Box::pin(self.wait(line)).await;
                    }
                }
                Err(Unanswered::No(_)) => break,
                Err(Unanswered::Lost | Unanswered::Late) => return Ok(Followed::Lost),
            }
            if let Ok(Some(Row::Ended(Ending::Cut))) = self.listed(line).await {
                return Box::pin(self.ended(line, Ending::Cut)).await;
            }
            tokio::select! {
                () = self.run.turn.canceled.cancelled() => return Err(AgentError::over()),
                Some(waiting) = self.heard.recv() => {
                    // It goes on under its own name.
                    self.hear(&waiting.heard).await?;
                    self.cut_off = false;
                    self.known(line.hello.boot.clone()).await?;
                    return Box::pin(self.wait(line)).await;
                }
                () = sleep(LOOK) => {}
            }
        }
        Ok(Followed::Ended(otherwise))
    }

    async fn follow_instead(&mut self, run: String, line: &Line) -> Result<(), AgentError> {
        tracing::info!(task = %self.run.turn.task_id(), run, "resuming an OpenClaw run after a restart");
        (self.listening, self.heard) = self.run.gateway.listen(&run);
        self.name.clone_from(&run);
        self.checkpoint.successor = Some(run);
        self.told.begin_anew();
        self.cut_off = false;
        self.known(line.hello.boot.clone()).await
    }

    pub(super) async fn listed(&self, line: &Line) -> Result<Option<Row>, Unanswered> {
        let params = json!({ "limit": LISTED, "sessionKey": self.run.session });
        let rows = line.call("tasks.list", params).await?;
        Ok(listed(&rows, &self.name))
    }

    async fn history(&self, line: &Line) -> Result<Value, Unanswered> {
        history(line, &self.run.session).await
    }
}

/// What was said in a conversation.
pub(super) async fn history(line: &Line, session: &str) -> Result<Value, Unanswered> {
    let params = json!({ "sessionKey": session, "limit": LISTED });
    line.call("chat.history", params).await
}

pub(super) fn gone() -> Ending {
    Ending::Failed(
        "the OpenClaw gateway restarted during the run, which is lost: send the message again"
            .to_owned(),
    )
}

/// A message went out, and nobody can tell what came of it.
fn unknown() -> AgentError {
    AgentError::unavailable(
        "the connection to the OpenClaw gateway was lost after the message was sent; it is unknown whether it was processed",
    )
}
