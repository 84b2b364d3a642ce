//! What goes over a socket while it is open.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::frame::{Answer, Frame};
use super::gateway::{Gateway, Stop};
use super::line::Order;
use super::socket::{Hello, Socket};

/// How soon a run that was not there yet is stopped again, and how often.
const AGAIN: Duration = Duration::from_secs(1);
pub(super) const TRIES: u32 = 15;
/// How many unanswered orders there may be before those are forgotten that nobody waits for.
pub(super) const MANY: usize = 256;

/// One socket, in use.
pub(super) struct Serving<'a> {
    gateway: &'a Gateway,
    orders: mpsc::Receiver<Order>,
    /// How long the gateway may say nothing.
    silence: Duration,
    asked: HashMap<u64, Asked>,
    /// Runs that are to be stopped again, and when.
    later: VecDeque<(Instant, Stopping)>,
    last: u64,
}

/// Something that was asked for.
enum Asked {
    Order(mpsc::Sender<Answer>),
    /// To stop a run, in the way that is known to newer gateways, or to older ones.
    Stop(Stopping),
}

/// A run that is being stopped.
struct Stopping {
    stop: Stop,
    newer: bool,
}

impl<'a> Serving<'a> {
    pub(super) fn new(gateway: &'a Gateway, orders: mpsc::Receiver<Order>, hello: &Hello) -> Self {
        Self {
            gateway,
            orders,
            // It is missed twice, and then some.
            silence: hello.tick * 5 / 2,
            asked: HashMap::new(),
            later: VecDeque::new(),
            last: 0,
        }
    }

    /// Serves, until the socket is lost: why.
    pub(super) async fn until_lost(
        mut self,
        mut socket: Socket,
        stop: &CancellationToken,
        late: &CancellationToken,
    ) -> String {
        match self.serve(&mut socket, stop, late).await {
            Ok(()) => {
                socket.close().await;
                "it is not needed any more".to_owned()
            }
            Err(why) => why,
        }
    }

    async fn serve(
        &mut self,
        socket: &mut Socket,
        stop: &CancellationToken,
        late: &CancellationToken,
    ) -> Result<(), String> {
        self.stop_runs(socket).await?;
        loop {
            // Turns may go on for a while after a signal to stop, and what they leave may have to be stopped again.
            if stop.is_cancelled() && !self.gateway.is_listened_to() {
                self.stop_runs(socket).await?;
                if !self.has_to_stop() || late.is_cancelled() {
                    return Ok(());
                }
            }
            let again = self.later.front().map(|(at, _)| *at);
            tokio::select! {
                () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => {
                    self.stop_runs(socket).await?;
                }
                read = timeout(self.silence, socket.read()) => {
                    let frame = read.map_err(|_| "it said nothing for too long".to_owned())??;
                    self.heard(frame, socket).await?;
                }
                order = self.orders.recv() => match order {
                    Some(order) => self.send(order, socket).await?,
                    None => return Ok(()),
                },
                () = self.gateway.woken() => self.stop_runs(socket).await?,
                () = stop.cancelled(), if !stop.is_cancelled() => {}
            }
        }
    }

    async fn heard(&mut self, frame: Frame, socket: &mut Socket) -> Result<(), String> {
        match frame {
            Frame::Run(run, heard) => self.gateway.hear(&run, heard),
            Frame::Answer(id, answer) => {
                // Another answer follows.
                let first = answer.fault.is_none() && answer.status() == "accepted";
                let asked = if first {
                    self.asked.get(&id).and_then(Asked::listener)
                } else {
                    match self.asked.remove(&id) {
                        Some(Asked::Order(answers)) => Some(answers),
                        Some(Asked::Stop(stopping)) => {
                            return self.stopped(stopping, &answer, socket).await;
                        }
                        None => None,
                    }
                };
                if let Some(answers) = asked {
                    // Who does not wait any more needs no answer.
                    drop(answers.try_send(answer));
                }
            }
            Frame::Shutdown => tracing::info!("an OpenClaw gateway is about to stop"),
            Frame::Challenge { .. } | Frame::Other => {}
        }
        Ok(())
    }

    async fn send(&mut self, order: Order, socket: &mut Socket) -> Result<(), String> {
        if self.asked.len() >= MANY {
            self.asked.retain(|_, asked| match asked {
                Asked::Order(answers) => !answers.is_closed(),
                // What is to be stopped must be; there are few.
                Asked::Stop(_) => true,
            });
        }
        self.last += 1;
        self.asked.insert(self.last, Asked::Order(order.answers));
        socket.write(self.last, order.method, &order.params).await
    }

    /// Whether there are runs that may not have been stopped yet.
    fn has_to_stop(&self) -> bool {
        let mut asked = self.asked.values();
        !self.later.is_empty() || asked.any(|asked| matches!(asked, Asked::Stop(_)))
    }

    /// Says of all runs that are to be stopped by now that they are. They are kept before anything is said: whatever ends
    /// that, they are given back.
    async fn stop_runs(&mut self, socket: &mut Socket) -> Result<(), String> {
        let now = Instant::now();
        for stop in self.gateway.stops().into_iter().rev() {
            self.later.push_front((now, Stopping { stop, newer: true }));
        }
        while let Some((_, stopping)) = self.later.pop_front_if(|(at, _)| *at <= now) {
            self.stop_run(stopping, socket).await?;
        }
        Ok(())
    }

    async fn stop_run(
        &mut self,
        mut stopping: Stopping,
        socket: &mut Socket,
    ) -> Result<(), String> {
        let stop = &mut stopping.stop;
        let (method, params) = if stopping.newer {
            (
                "sessions.abort",
                json!({ "key": stop.session, "runId": stop.run }),
            )
        } else {
            (
                "chat.abort",
                json!({ "sessionKey": stop.session, "runId": stop.run }),
            )
        };
        stop.tries += 1;
        self.last += 1;
        self.asked.insert(self.last, Asked::Stop(stopping));
        socket.write(self.last, method, &params).await
    }

    async fn stopped(
        &mut self,
        mut stopping: Stopping,
        answer: &Answer,
        socket: &mut Socket,
    ) -> Result<(), String> {
        if stopping.newer && answer.fault.is_some() {
            stopping.newer = false;
            return self.stop_run(stopping, socket).await;
        }
        if answer.status() == "no-active-run" && !stopping.stop.known && stopping.stop.tries < TRIES
        {
            // The gateway was asked to begin it, and has not said that it did: it may be about to.
            self.later.push_back((Instant::now() + AGAIN, stopping));
            return Ok(());
        }
        let done = answer.fault.is_none() && answer.payload["aborted"] != false;
        if !done {
            tracing::warn!(
                task = stopping.stop.run,
                "OpenClaw did not stop a run: its gateway may be too old for that"
            );
        }
        Ok(())
    }
}

impl Drop for Serving<'_> {
    /// What was to be stopped and may not have been heard is to be said again: over the next socket, and that is not
    /// opened sooner for it.
    fn drop(&mut self) {
        let later = self.later.drain(..).map(|(_, again)| again);
        let asked = self.asked.drain().filter_map(|(_, asked)| match asked {
            Asked::Stop(stopping) => Some(stopping),
            Asked::Order(_) => None,
        });
        for stopping in asked.chain(later) {
            self.gateway.stop_later(stopping.stop);
        }
    }
}

impl Asked {
    fn listener(&self) -> Option<mpsc::Sender<Answer>> {
        match self {
            Self::Order(answers) => Some(answers.clone()),
            Self::Stop(_) => None,
        }
    }
}
