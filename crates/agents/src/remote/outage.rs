//! What a turn does while its upstream is down.

use switchboard_client::Error;
use switchboard_server::agent::{AgentError, AgentErrorKind};

use super::checkpoint::{Checkpoint, Plan, State};
use super::events::Ending;
use super::failure::{down, may_pass, unknown};
use super::run::{Run, Stop};
use crate::identity::IdentityError;
use crate::upstream::Down;

impl Stop {
    /// The same, after something that may always be repeated: a read.
    pub(super) fn or_down(self) -> Self {
        match self {
            Self::Failed(error) if may_pass(&error) => Self::Down(down(&error)),
            stop => stop,
        }
    }
}

impl Run<'_> {
    /// Carries out the plan; again and again, while the upstream is down.
    pub(super) async fn carry_out(&mut self, mut plan: Plan) -> Result<Ending, Stop> {
        loop {
            let down = match self.attempt(plan).await {
                Err(Stop::Down(down)) => down,
                done => return done,
            };
            // It may be elsewhere when it is back.
            self.line.forget();
            if let Err(ended) = self.outage.wait(&down).await {
                return Err(self.given_up(ended).into());
            }
            plan = Checkpoint::plan(self.checkpoint.as_ref(), self.turn);
        }
    }

    /// The turn ends while the upstream is down: the time is used up, or the task was canceled. What may have begun
    /// upstream is released later.
    fn given_up(&self, ended: AgentError) -> AgentError {
        let Some(checkpoint) = &self.checkpoint else {
            return ended;
        };
        match checkpoint.state {
            State::Unsent if checkpoint.task.is_none() => ended,
            State::Sending if ended.kind() == AgentErrorKind::Unavailable => {
                AgentError::unavailable(format!("{}; {ended}", unknown())).release_pending()
            }
            _ => ended.release_pending(),
        }
    }

    async fn attempt(&mut self, plan: Plan) -> Result<Ending, Stop> {
        if let Err(error) = self.identify().await {
            if error == IdentityError::NoCredential {
                self.set_aside(&plan).await?;
            }
            return Err(match error {
                IdentityError::Unavailable(why) => Stop::Down(Down::without_token(why)),
                error => error.into(),
            });
        }
        let client = self.line.client().await;
        let client = client.map_err(|error| Stop::from(error).or_down())?;
        match self.act(&client, plan).await {
            Err(Stop::Failed(error)) if self.asks_the_caller(&error) => {
                if let Some(checkpoint) = &self.checkpoint
                    && checkpoint.state == State::Waiting
                {
                    // Its question was not told, and ours will be.
                    self.mark(State::Running).await?;
                }
                self.recorded().await?;
                Err(IdentityError::NoCredential.into())
            }
            done => done,
        }
    }

    /// A message was refused. Where it is certain that the upstream has not begun anything, it may be sent again, and
    /// after a restart as well.
    pub(super) async fn not_taken(&mut self, error: Error) -> Result<Stop, AgentError> {
        if !error.was_not_begun() {
            return Ok(error.into());
        }
        self.mark(State::Unsent).await?;
        Ok(Stop::Down(down(&error)))
    }
}
