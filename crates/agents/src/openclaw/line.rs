//! The way along which orders go to the socket that is open now, and their answers come back.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::frame::{Answer, Fault};
use super::socket::Hello;

/// How long a question may take to be answered.
const ANSWER: Duration = Duration::from_secs(20);
/// How many orders may wait to be written.
const ORDERS: usize = 64;

/// The socket that is open now.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) hello: Arc<Hello>,
    orders: mpsc::Sender<Order>,
}

/// Something to ask for.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) method: &'static str,
    pub(super) params: Value,
    /// Where answers go.
    pub(super) answers: mpsc::Sender<Answer>,
}

/// Why a question was not answered.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Unanswered {
    #[error("the connection is closed")]
    Lost,
    #[error("it took too long")]
    Late,
    #[error("it refused: {}", .0.message)]
    No(Box<Fault>),
}

impl Line {
    /// The line of a socket that was opened, and where its orders come out.
    pub(super) fn new(hello: Arc<Hello>) -> (Self, mpsc::Receiver<Order>) {
        let (orders, given) = mpsc::channel(ORDERS);
        (Self { hello, orders }, given)
    }

    /// Whether the socket is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.orders.is_closed()
    }

    /// Asks for something that may be answered twice. No more answers: the socket is gone.
    pub(super) async fn ask(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<mpsc::Receiver<Answer>, Unanswered> {
        let (answers, receiver) = mpsc::channel(2);
        let order = Order {
            method,
            params,
            answers,
        };
        match timeout(ANSWER, self.orders.send(order)).await {
            Ok(Ok(())) => Ok(receiver),
            Ok(Err(_)) => Err(Unanswered::Lost),
            Err(_) => Err(Unanswered::Late),
        }
    }

    /// Asks for something that is answered once.
    pub(super) async fn call(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<Value, Unanswered> {
        let mut answers = self.ask(method, params).await?;
        match timeout(ANSWER, answers.recv()).await {
            Ok(Some(answer)) => answer.good().map_err(Unanswered::No),
            Ok(None) => Err(Unanswered::Lost),
            Err(_) => Err(Unanswered::Late),
        }
    }
}
