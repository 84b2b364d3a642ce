//! The line to an upstream agent: its client, made when it is first needed, and its card, kept fresh.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::HeaderMap;
use parking_lot::RwLock;
use switchboard_client::{
    Address, CallOptions, Client, Credentials, Error, Kind, Origin, Preference, Reference, Retry,
    Tls,
};
use switchboard_server::backend::{Drift, Health};
use switchboard_server::clock;
use switchboard_types::FileBytes;
use switchboard_types::model::AgentCard;
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::card::drift;
use crate::fetch::place;
use crate::identity::Outbound;
use crate::refresh::refresh;

/// How long it may take to find an agent.
const CONNECT: Duration = Duration::from_secs(10);
/// How long it may take to see whether it is there.
const HEALTH: Duration = Duration::from_secs(5);
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
    /// Origins that may receive the agent's and its callers' credentials, beside that of [`Settings::at`].
    pub credentials_to: Vec<Origin>,
    /// Extensions to ask for.
    pub extensions: Vec<String>,
    /// Whom to trust.
    pub tls: Tls,
    /// It knows `Idempotency-Key`: a message that may not have arrived is sent again.
    pub idempotent: bool,
    /// It takes the name that we give to a conversation. If not, it is not told one before it has given one itself.
    pub names_contexts: bool,
    /// What the field for the bytes of a file holds in 0.3 over HTTP+JSON and gRPC.
    pub file_bytes: FileBytes,
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
            credentials_to: Vec::new(),
            extensions: Vec::new(),
            tls: Tls::new(),
            idempotent: false,
            names_contexts: true,
            file_bytes: FileBytes::default(),
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
    /// Where the agent is, as callers may see it.
    pub(super) address: String,
    pub(super) identity: Outbound,
    client: RwLock<Option<Client>>,
    connecting: Mutex<()>,
    card: watch::Sender<Option<Arc<AgentCard>>>,
    /// What had changed on the card when that was noticed last.
    drift: RwLock<Option<Arc<Drift>>>,
    /// It asks who we are before it shows its card.
    hides_card: AtomicBool,
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
    pub(super) fn new(settings: Settings, identity: Outbound) -> Self {
        Self {
            address: address(&settings.at),
            settings,
            identity,
            client: RwLock::default(),
            connecting: Mutex::default(),
            card: watch::Sender::new(None),
            drift: RwLock::default(),
            hides_card: AtomicBool::new(false),
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
            // Boxed: it is a large thing to keep in the future of every turn.
            None => Box::pin(self.connect()).await,
        }
    }

    /// Where the agent is, as logs may show it: where it is called, or where it is looked for.
    pub(super) fn url(&self) -> String {
        if let Some(client) = self.known() {
            return place(&client.interface().interface.url);
        }
        match &self.settings.at {
            Reference::Host(host) | Reference::Invalid(host) => place(host),
            Reference::Url(url) | Reference::Catalog { url, .. } => place(url.as_str()),
            Reference::File(file) => file.display().to_string(),
            Reference::Card(card) => card.name.clone(),
        }
    }

    pub(super) fn known(&self) -> Option<Client> {
        self.client.read().clone()
    }

    /// The agent is not where it was: whoever needs it next looks for it again.
    pub(super) fn forget(&self) {
        self.client.write().take();
    }

    /// Finds the agent. One that asks who we are before it shows its card is told who this agent is, never who a caller
    /// is: the card is read for all of them.
    async fn connect(&self) -> Result<Client, Error> {
        let mut shown = HeaderMap::new();
        if self.hides_card.load(Ordering::Relaxed) {
            shown = self.own_headers().await?;
        }
        let mut found = self.find(&shown).await;
        for _ in 0..2 {
            let refused = found.as_ref().is_err_and(|error| {
                matches!(error.status(), Some(401 | 403))
                    && matches!(error.kind(), Kind::CredentialsMissing | Kind::Refused)
            });
            if !refused || !shown.is_empty() && !self.identity.own_refused(&shown) {
                break;
            }
            let again = self.own_headers().await?;
            if again.is_empty() || again == shown {
                break;
            }
            shown = again;
            found = self.find(&shown).await;
        }
        let client = found?;
        self.hides_card.store(!shown.is_empty(), Ordering::Relaxed);
        self.learn(&client);
        Ok(client)
    }

    /// What this agent is by itself, as headers.
    async fn own_headers(&self) -> Result<HeaderMap, Error> {
        let headers = self.identity.own_headers(Instant::now() + CONNECT).await;
        Ok(headers?.unwrap_or_default())
    }

    /// Finds the agent, and shows these headers if it asks for them.
    async fn find(&self, shown: &HeaderMap) -> Result<Client, Error> {
        let settings = &self.settings;
        let mut credentials = Credentials::none();
        if !self.identity.is_nothing() {
            credentials = Credentials::with_calls();
        }
        for (name, value) in shown {
            credentials = credentials.for_card(name.clone(), value.clone());
        }
        let mut builder = Client::builder()
            .preference(settings.preference.clone())
            .address(settings.address)
            .file_bytes(settings.file_bytes)
            .tls(settings.tls.clone())
            .retry(settings.retry)
            .credentials(credentials);
        for origin in &settings.credentials_to {
            builder = builder.credentials_to(origin.clone());
        }
        for uri in &settings.extensions {
            builder = builder.extension(uri);
        }
        builder.connect(settings.at.clone()).await
    }

    /// Takes over what was found. One that has not changed is not connected to anew.
    fn learn(&self, client: &Client) {
        let card = client.card();
        let before = self.card.borrow().clone();
        let changes = before.as_ref().map(|before| drift(before, &card));
        let mut held = self.client.write();
        if held.is_none() || before.as_ref() != Some(&card) {
            *held = Some(client.clone());
        }
        drop(held);
        if let Some(changes) = changes.filter(|changes| !changes.is_empty()) {
            let drift = Drift {
                noticed: clock::now(),
                changes,
            };
            let agent = &card.name;
            tracing::warn!(agent, changes = %drift, "remote agent card changed");
            *self.drift.write() = Some(Arc::new(drift));
        }
        if before.as_ref() != Some(&card) {
            self.card.send_replace(Some(card));
        }
    }

    /// What had changed on the card when that was noticed last.
    pub(super) fn drift(&self) -> Option<Arc<Drift>> {
        self.drift.read().clone()
    }

    /// Whether the agent answers, by its card.
    pub(super) async fn health(&self) -> Health {
        match timeout(HEALTH, self.connect()).await {
            Ok(Ok(client)) => Health::up(format!("{} shows its card", client.card().name)),
            // It answers, and what callers show it is not ours to show.
            Ok(Err(error)) if matches!(error.status(), Some(401 | 403)) => {
                Health::up("it answers, and does not show its card without credentials")
            }
            Ok(Err(error)) => Health::down(error.to_string()),
            Err(_) => Health::down(format!("it did not answer within {} s", HEALTH.as_secs())),
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
        let read = || async {
            match timeout(CONNECT, self.connect()).await {
                Ok(found) => found.map(drop).map_err(|error| error.to_string()),
                Err(_) => Err("it does not answer".to_owned()),
            }
        };
        let report = |error: &String| {
            let url = self.url();
            tracing::warn!(
                agent,
                url,
                error,
                "could not read the remote agent card, will retry"
            );
        };
        refresh(self.settings.refresh, stop, read, report).await;
    }

    /// Options of a call that waits for the upstream agent to be done.
    pub(super) fn patient(options: &CallOptions) -> CallOptions {
        options.clone().timeout(BLOCKING)
    }
}

/// Where an agent is, without credentials.
fn address(at: &Reference) -> String {
    match at {
        Reference::Url(url) | Reference::Catalog { url, .. } => place(url.as_str()),
        Reference::Host(host) | Reference::Invalid(host) => place(host),
        Reference::File(path) => path.display().to_string(),
        Reference::Card(card) => {
            let offered = card.interfaces.first();
            offered.map_or_else(String::new, |offered| place(&offered.url))
        }
    }
}
