//! The client: one way in for all operations, and a typed line for each.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

use switchboard_types::Dialect;
use switchboard_types::model::{AgentCard, Message, Task};
use switchboard_types::operation::{Operation, Response, SendMessage};
use tokio::time::Instant;
use url::Url;

use crate::auth::AccessToken;
use crate::builder::Builder;
use crate::connect::choose::Chosen;
use crate::connect::quirks::Quirks;
use crate::connect::verify::{SignatureState, Signatures};
use crate::error::Error;
use crate::options::CallOptions;
use crate::reference::Reference;
use crate::retry::Retry;
use crate::stream::Events;
use crate::transport::link::Shared;
use crate::transport::{Reply, Transport};

/// How long a person may take to enter a code.
const LOGIN: Duration = Duration::from_secs(3600);

/// Speaks to one agent. Cheap to clone.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) known: RwLock<Known>,
    /// Best first; never empty.
    pub(crate) candidates: Vec<Candidate>,
    /// Which of them is spoken to.
    pub(crate) current: AtomicUsize,
    pub(crate) quirks: Quirks,
    pub(crate) signatures: Signatures,
    pub(crate) retry: Retry,
    pub(crate) shared: Arc<Shared>,
}

/// What is known of an agent.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) card: Arc<AgentCard>,
    /// And of that card.
    pub(crate) signature: SignatureState,
}

/// An interface that can be spoken to.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) chosen: Chosen,
    /// Where it really is.
    pub(crate) url: Url,
    pub(crate) dialect: Dialect,
    pub(crate) transport: Arc<dyn Transport>,
    /// The same in an older version, for an agent that knows that one better.
    pub(crate) older: Option<Arc<dyn Transport>>,
    /// On another host than the user named.
    pub(crate) elsewhere: bool,
}

/// What was answered.
#[derive(Debug)]
pub enum Answer {
    /// One answer.
    Response(Response),
    /// A stream.
    Events(Box<Events>),
}

/// What came of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// A task.
    Task(Arc<Task>),
    /// A bare answer.
    Message(Arc<Message>),
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("agent", &self.card().name)
            .field("interface", self.interface())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Connects to an agent: by host, URL, file or card.
    ///
    /// # Errors
    ///
    /// If there is no card, or nothing in it that can be spoken to.
    pub async fn connect(reference: impl Into<Reference>) -> Result<Self, Error> {
        Self::builder().connect(reference).await
    }

    /// Connects with settings.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// The agent's card; the extended one once it was read.
    #[must_use]
    pub fn card(&self) -> Arc<AgentCard> {
        let known = self.0.known.read();
        Arc::clone(&known.card)
    }

    /// Whether that card is signed by someone we believe: see [`Builder::signatures`].
    #[must_use]
    pub fn signature(&self) -> SignatureState {
        let known = self.0.known.read();
        known.signature
    }

    /// The interface that is spoken to.
    #[must_use]
    pub fn interface(&self) -> &Chosen {
        &self.candidate().chosen
    }

    /// The OAuth token that calls are made with, asked for now if there is none; nothing if the card asks for none.
    ///
    /// # Errors
    ///
    /// If no token is to be had.
    pub async fn access_token(&self) -> Result<Option<AccessToken>, Error> {
        let deadline = Instant::now() + LOGIN;
        self.0.shared.authority.token(deadline).await
    }

    /// What this agent makes of a message that its sender may not expect, as far as it is known. Sending tells the same
    /// to the log.
    #[must_use]
    pub fn warnings(&self, message: &SendMessage) -> Vec<&'static str> {
        self.0.quirks.warnings(message)
    }

    pub(crate) fn retry(&self) -> Retry {
        self.0.retry
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0.shared
    }

    pub(crate) fn resolved(&self) -> &Url {
        &self.candidate().url
    }

    pub(crate) fn candidate(&self) -> &Candidate {
        let at = self.0.current.load(Ordering::Relaxed);
        &self.0.candidates[at.min(self.0.candidates.len() - 1)]
    }

    /// Does an operation.
    ///
    /// # Errors
    ///
    /// If it cannot be done.
    pub async fn call(&self, operation: Operation) -> Result<Answer, Error> {
        self.call_with(operation, &CallOptions::new()).await
    }

    /// Does an operation, with options.
    ///
    /// # Errors
    ///
    /// If it cannot be done.
    pub async fn call_with(
        &self,
        mut operation: Operation,
        options: &CallOptions,
    ) -> Result<Answer, Error> {
        self.require(operation.method(), options)?;
        let mut options = options.clone();
        if let Operation::Send(send) | Operation::Stream(send) = &mut operation {
            for warning in self.warnings(send) {
                tracing::warn!("{warning}");
            }
            self.0.quirks.adapt(send);
            if self.0.quirks.runs_again && options.idempotency_key.take().is_some() {
                tracing::warn!("the agent does not know idempotency keys: nothing is repeated");
            }
        }
        match self.reach(&operation, &options).await? {
            Reply::Response(response) => {
                let response = self.looked_at_again(response, &options).await;
                if let Response::Card(card) = &response {
                    let signature = self.0.signatures.check(card, None)?;
                    let card = Arc::new((**card).clone());
                    // For the session, instead of the public one (A2A 1.0 §3.1.11).
                    let mut known = self.0.known.write();
                    *known = Known { card, signature };
                }
                Ok(Answer::Response(response))
            }
            Reply::Events(arriving) => {
                let events = Events::new(self.clone(), operation, options, arriving);
                Ok(Answer::Events(Box::new(events)))
            }
        }
    }
}
