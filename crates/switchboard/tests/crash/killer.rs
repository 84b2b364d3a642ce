//! Kills the server at bad moments and starts it again.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::plan::{Dice, Plan};
use crate::server::Server;
use crate::world::{Fault, World};

/// How long to wait for the moment to come.
const MOMENT: Duration = Duration::from_secs(2);

/// When the server is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// At any time.
    Sometime,
    /// When a client has got the head of an answer.
    AfterHeader,
    /// When a client has got an event, or a whole answer.
    AfterEvent,
    /// When something was written to the store.
    AfterCommit,
    /// While it starts, once or twice.
    InStartup,
    /// While it shuts down.
    InShutdown,
    /// Not at all: it shuts down as it should.
    Never,
}

const MOMENTS: [Moment; 9] = [
    Moment::Sometime,
    Moment::Sometime,
    Moment::AfterHeader,
    Moment::AfterEvent,
    Moment::AfterCommit,
    Moment::AfterCommit,
    Moment::InStartup,
    Moment::InShutdown,
    Moment::Never,
];

/// Kills and starts the server.
pub(crate) struct Killer<'a> {
    world: &'a World,
    server: &'a mut Server,
    dice: Dice,
    /// How long the last start took.
    start_takes: Duration,
    pub(crate) kills: u32,
}

impl<'a> Killer<'a> {
    pub(crate) fn new(world: &'a World, server: &'a mut Server, dice: Dice) -> Self {
        Self {
            world,
            server,
            dice,
            start_takes: Duration::from_millis(100),
            kills: 0,
        }
    }

    /// Kills until the time is over; the server runs then.
    pub(crate) async fn rage(&mut self, plan: &Plan) -> Result<(), Fault> {
        let over = Instant::now() + plan.killing;
        self.start().await?;
        while Instant::now() < over && !self.world.stopped() {
            // Some work must get done in between.
            sleep(self.dice.millis(500)).await;
            let moment = self.dice.pick(&MOMENTS);
            self.strike(moment).await?;
            self.start().await?;
        }
        Ok(())
    }

    async fn strike(&mut self, moment: Moment) -> Result<(), Fault> {
        let rings = &self.world.rings;
        match moment {
            Moment::Sometime => {}
            Moment::AfterHeader => drop(timeout(MOMENT, rings.header.notified()).await),
            Moment::AfterEvent => drop(timeout(MOMENT, rings.event.notified()).await),
            Moment::AfterCommit => self.server.committed(MOMENT).await,
            Moment::InStartup => {
                for _ in 0..=self.dice.below(2) {
                    self.kill().await?;
                    self.server.launch();
                    let micros = u64::try_from(self.start_takes.as_micros()).unwrap_or(u64::MAX);
                    sleep(Duration::from_micros(self.dice.below(micros))).await;
                }
            }
            Moment::InShutdown => {
                self.alive()?;
                self.server.terminate().await;
                sleep(self.dice.millis(60)).await;
                self.server.kill().await;
                self.kills += 1;
                return Ok(());
            }
            Moment::Never => {
                self.alive()?;
                self.server.terminate().await;
                return self.server.gone().await;
            }
        }
        self.kill().await
    }

    async fn kill(&mut self) -> Result<(), Fault> {
        self.alive()?;
        self.server.kill().await;
        self.kills += 1;
        Ok(())
    }

    fn alive(&mut self) -> Result<(), Fault> {
        match self.server.exited() {
            Some(log) if !log.contains("cannot listen") => {
                Err(format!("the server ended by itself:\n{log}"))
            }
            _ => Ok(()),
        }
    }

    async fn start(&mut self) -> Result<(), Fault> {
        let began = Instant::now();
        self.server.launch();
        self.server.ready(&self.world.http).await?;
        self.start_takes = began.elapsed();
        Ok(())
    }
}
