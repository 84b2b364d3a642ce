//! What goes over a socket while it is open.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::frame::{Answer, Frame};
use super::gateway::Gateway;
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
    /// Where the answers to orders go.
    asked: HashMap<u64, mpsc::Sender<Answer>>,
    last: u64,
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
            Err(why) => why,
        }
    }

    async fn serve(&mut self, socket: &mut Socket, stop: &CancellationToken) -> Result<(), String> {
        // Turns may go on for a while after a signal to stop.
        while !stop.is_cancelled() || self.gateway.is_listened_to() {
            tokio::select! {
                read = timeout(self.silence, socket.read()) => {
                    let frame = read.map_err(|_| "it said nothing for too long".to_owned())??;
                    self.heard(frame);
                }
                order = self.orders.recv() => match order {
                    Some(order) => self.send(order, socket).await?,
                    None => return Ok(()),
                },
                // The last one who listened may have gone.
                () = self.gateway.wake.notified() => {}
                () = stop.cancelled(), if !stop.is_cancelled() => {}
            }
        }
        Ok(())
    }

    fn heard(&mut self, frame: Frame) {
        match frame {
            Frame::Run(run, heard) => self.gateway.hear(&run, heard),
            Frame::Answer(id, answer) => {
                // Another answer follows.
                let first = answer.fault.is_none() && answer.status() == "accepted";
                let answers = match first {
                    true => self.asked.get(&id).cloned(),
                    false => self.asked.remove(&id),
                };
                if let Some(answers) = answers {
                    // Who does not wait any more needs no answer.
                    drop(answers.try_send(answer));
                }
            }
            Frame::Shutdown => tracing::info!("OpenClaw gateway is shutting down"),
            Frame::Challenge { .. } | Frame::Other => {}
        }
    }

    async fn send(&mut self, order: Order, socket: &mut Socket) -> Result<(), String> {
        if self.asked.len() >= MANY {
            self.asked.retain(|_, answers| !answers.is_closed());
        }
        self.last += 1;
        self.asked.insert(self.last, order.answers);
        socket.write(self.last, order.method, &order.params).await
    }
}
