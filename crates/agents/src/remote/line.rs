//! The line to an upstream agent: its client, made when it is first needed, and its card, kept fresh.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use switchboard_client::{
    Address, CallOptions, Client, Credentials, Error, Preference, Reference, Retry, Tls,
};
use switchboard_types::model::AgentCard;
use tokio::sync::{Mutex, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::card::drift;

/// How long it may take to find an agent.
const CONNECT: Duration = Duration::from_secs(10);
/// How soon an agent that cannot be found is looked for again; each pause is twice the last.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a call may take that is answered when the upstream agent is done.
const BLOCKING: Duration = Duration::from_secs(24 * 3600);

/// Which agent stands behind ours, and how to talk to it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it is.
    pub at: Reference,
    /// What to speak, if there is a choice.
    pub preference: Preference,
    /// Whose host counts, where its card names another one.
    pub address: Address,
    /// Extensions to ask for.
    pub extensions: Vec<String>,
    /// Whom to trust.
    pub tls: Tls,
    /// It knows `Idempotency-Key`: a message that may not have arrived is sent again.
    pub idempotent: bool,
    /// It takes the name that we give to a conversation. If not, it is not told one before it has given one itself.
    pub names_contexts: bool,
    /// How often its card is read again.
    pub refresh: Duration,
    /// How often and how soon to ask again.
    pub retry: Retry,
}

impl Settings {
    /// An agent about which nothing more is known.
    #[must_use]
    pub fn new(at: Reference) -> Self {
        Self {
            at,
            preference: Preference::default(),
            address: Address::default(),
            extensions: Vec::new(),
            tls: Tls::new(),
            idempotent: false,
            names_contexts: true,
            refresh: Duration::from_secs(300),
            retry: Retry {
                longest: Duration::from_secs(5),
                ..Retry::default()
            },
        }
    }
}

/// The line.
pub(super) struct Line {
    pub(super) settings: Settings,
    /// Each call shows who it is from.
    identified: bool,
    client: RwLock<Option<Client>>,
    connecting: Mutex<()>,
    card: watch::Sender<Option<Arc<AgentCard>>>,
    /// The agent has taken the name that we gave to a conversation.
    takes_contexts: AtomicBool,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Line {
    pub(super) fn new(settings: Settings, identified: bool) -> Self {
        Self {
            settings,
            identified,
            client: RwLock::default(),
            connecting: Mutex::default(),
            card: watch::Sender::new(None),
            takes_contexts: AtomicBool::new(false),
        }
    }

    /// The card, as soon as it is known, and whenever it changes.
    pub(super) fn card(&self) -> watch::Receiver<Option<Arc<AgentCard>>> {
        self.card.subscribe()
    }

    /// The client; connects if it is the first to need one.
    pub(super) async fn client(&self) -> Result<Client, Error> {
        if let Some(client) = self.known() {
            return Ok(client);
        }
        let _one = self.connecting.lock().await;
        match self.known() {
            Some(client) => Ok(client),
            None => self.connect().await,
        }
    }

    fn known(&self) -> Option<Client> {
        let client = self.client.read();
        client.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The agent is not where it was: whoever needs it next looks for it again.
    pub(super) fn forget(&self) {
        let client = self.client.write();
        client.unwrap_or_else(PoisonError::into_inner).take();
    }

    async fn connect(&self) -> Result<Client, Error> {
        let settings = &self.settings;
        let mut builder = Client::builder()
            .preference(settings.preference.clone())
            .address(settings.address)
            .tls(settings.tls.clone())
            .retry(settings.retry);
        if self.identified {
            builder = builder.credentials(Credentials::with_calls());
        }
        for uri in &settings.extensions {
            builder = builder.extension(uri);
        }
        let client = builder.connect(settings.at.clone()).await?;
        self.learn(&client);
        Ok(client)
    }

    /// Takes over what was found. One that has not changed is not connected to anew.
    fn learn(&self, client: &Client) {
        let card = client.card();
        let before = self.card.borrow().clone();
        let changes = before.as_ref().map(|before| drift(before, &card));
        let mut held = self.client.write().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() || before.as_ref() != Some(&card) {
            *held = Some(client.clone());
        }
        drop(held);
        if let Some(changes) = changes.filter(|changes| !changes.is_empty()) {
            let changes = changes.join("; ");
            tracing::warn!(
                agent = card.name,
                changes,
                "the remote agent's card has changed"
            );
        }
        if before.as_ref() != Some(&card) {
            self.card.send_replace(Some(card));
        }
    }

    /// Whether the agent is known to take the names that we give to conversations.
    pub(super) fn takes_our_contexts(&self) -> bool {
        self.takes_contexts.load(Ordering::Relaxed)
    }

    /// A conversation was called as we said, or otherwise.
    pub(super) fn learn_context(&self, ours: bool) {
        let known = ours && self.settings.names_contexts;
        self.takes_contexts.store(known, Ordering::Relaxed);
    }

    /// Reads the card now and then, until `stop`.
    pub(super) async fn keep(&self, agent: &str, stop: &CancellationToken) {
        let mut failed = 0;
        loop {
            let pause = match timeout(CONNECT, self.connect()).await {
                Ok(Ok(_)) => {
                    failed = 0;
                    self.settings.refresh
                }
                found => {
                    let error = match found {
                        Ok(found) => found.err().map(|error| error.to_string()),
                        Err(_) => Some("it does not answer".to_owned()),
                    };
                    if failed == 0 {
                        let error = error.unwrap_or_default();
                        tracing::warn!(agent, error, "the remote agent's card cannot be read");
                    }
                    failed += 1;
                    (AGAIN * (1 << (failed - 1).min(10))).min(self.settings.refresh)
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(pause) => {}
            }
        }
    }

    /// Options of a call that waits for the upstream agent to be done.
    pub(super) fn patient(options: &CallOptions) -> CallOptions {
        options.clone().timeout(BLOCKING)
    }
}
