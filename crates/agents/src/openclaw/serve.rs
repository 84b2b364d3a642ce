//! What goes over a socket while it is open.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::frame::{Answer, Frame};
use super::gateway::{Gateway, Stop};
use super::line::Order;
use super::socket::{Hello, Socket};

/// How many unanswered orders there may be before those are forgotten that nobody waits for.
const MANY: usize = 256;

/// One socket, in use.
pub(super) struct Serving<'a> {
    gateway: &'a Gateway,
    orders: mpsc::Receiver<Order>,
    /// How long the gateway may say nothing.
    silence: Duration,
    asked: HashMap<u64, Asked>,
    last: u64,
}

/// Something that was asked for.
enum Asked {
    Order(mpsc::Sender<Answer>),
    /// To stop a run, in the way that is known to newer gateways, or to older ones.
    Stop {
        stop: Stop,
        newer: bool,
    },
}

impl<'a> Serving<'a> {
    pub(super) fn new(gateway: &'a Gateway, orders: mpsc::Receiver<Order>, hello: &Hello) -> Self {
        Self {
            gateway,
            orders,
            // It is missed twice, and then some.
            silence: hello.tick * 5 / 2,
            asked: HashMap::new(),
            last: 0,
        }
    }

    /// Serves, until the socket is lost: why.
    pub(super) async fn until_lost(
        mut self,
        mut socket: Socket,
        stop: &CancellationToken,
    ) -> String {
        match self.serve(&mut socket, stop).await {
            Ok(()) => {
                socket.close().await;
                "it is not needed any more".to_owned()
            }
            Err(why) => {
                // It may not have been heard.
                for (_, asked) in self.asked.drain() {
                    if let Asked::Stop { stop, .. } = asked {
                        self.gateway.stop(stop);
                    }
                }
                why
            }
        }
    }

    async fn serve(&mut self, socket: &mut Socket, stop: &CancellationToken) -> Result<(), String> {
        self.stop_runs(socket).await?;
        loop {
            // Turns may go on for a while after a signal to stop.
            let over = stop.is_cancelled() && !self.gateway.is_listened_to();
            if over {
                return self.stop_runs(socket).await;
            }
            tokio::select! {
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
                        Some(Asked::Stop { stop, newer }) => {
                            return self.stopped(stop, newer, &answer, socket).await;
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
                Asked::Stop { .. } => false,
            });
        }
        self.last += 1;
        self.asked.insert(self.last, Asked::Order(order.answers));
        socket.write(self.last, order.method, &order.params).await
    }

    async fn stop_runs(&mut self, socket: &mut Socket) -> Result<(), String> {
        for stop in self.gateway.stops() {
            self.stop_run(stop, true, socket).await?;
        }
        Ok(())
    }

    async fn stop_run(
        &mut self,
        stop: Stop,
        newer: bool,
        socket: &mut Socket,
    ) -> Result<(), String> {
        let (method, params) = if newer {
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
        self.last += 1;
        let written = socket.write(self.last, method, &params).await;
        if written.is_err() {
            self.gateway.stop(stop);
            return written;
        }
        self.asked.insert(self.last, Asked::Stop { stop, newer });
        Ok(())
    }

    async fn stopped(
        &mut self,
        stop: Stop,
        newer: bool,
        answer: &Answer,
        socket: &mut Socket,
    ) -> Result<(), String> {
        if newer && answer.fault.is_some() {
            return self.stop_run(stop, false, socket).await;
        }
        let done = answer.fault.is_none() && answer.payload["aborted"] != false;
        if !done {
            tracing::warn!(
                task = stop.run,
                "OpenClaw did not stop a run: its gateway may be too old for that"
            );
        }
        Ok(())
    }
}

impl Asked {
    fn listener(&self) -> Option<mpsc::Sender<Answer>> {
        match self {
            Self::Order(answers) => Some(answers.clone()),
            Self::Stop { .. } => None,
        }
    }
}
