//! Collects what a server is made of, and checks it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use switchboard_types::model::{AgentCard, Skill};

use super::{BoundServer, ServeError, Storage};
use crate::agent::Agent;
use crate::auth::Scheme;
use crate::card::Profile;
use crate::directory::check_agent_name;
use crate::egress::{Allow, SealingKey};
use crate::engine::Settings;
use crate::http::{BIND_TIMEOUT, Limits, bind};
use crate::log::Retention;
use crate::shutdown::Tasks;
use crate::store::MemoryStore;

/// Where a server listens unless it is said otherwise: on this machine only.
const DEFAULT_LISTEN: &str = "127.0.0.1:7420";
/// How long open requests and running turns may take to end.
const DEFAULT_SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Opens the store, once the address is taken.
pub(super) type OpenStorage = Box<dyn FnOnce() -> Result<Storage, ServeError> + Send>;

/// What a server is made of.
///
/// The defaults are safe ones: it listens on this machine only, webhooks reach public addresses over https only, and
/// their credentials are encrypted at rest. Everything else that the gateway offers, such as TLS, policies, rate limits
/// and metrics, it offers to an agent behind it.
#[must_use = "a builder does nothing until it serves"]
pub struct ServerBuilder {
    agents: Vec<AgentEntry>,
    listen: String,
    pub(super) open_storage: OpenStorage,
    retention: Option<Retention>,
    options: Options,
}

/// An agent of the server.
#[derive(Debug)]
pub(super) struct AgentEntry {
    pub(super) name: Arc<str>,
    pub(super) profile: Profile,
    pub(super) agent: Arc<dyn Agent>,
    pub(super) settings: Settings,
}

/// What holds for all agents.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) schemes: Vec<Arc<dyn Scheme>>,
    /// Whether callers need no credentials, even from other machines.
    is_public: bool,
    pub(super) public_url: Option<Arc<str>>,
    pub(super) limits: Limits,
    pub(super) webhooks: Vec<Allow>,
    pub(super) shutdown_grace: Duration,
}

impl Default for ServerBuilder {
    fn default() -> Self {
        Self {
            agents: Vec::new(),
            listen: DEFAULT_LISTEN.to_owned(),
            open_storage: Box::new(|| Ok(in_memory())),
            retention: None,
            options: Options {
                schemes: Vec::new(),
                is_public: false,
                public_url: None,
                limits: Limits::default(),
                webhooks: Vec::new(),
                shutdown_grace: DEFAULT_SHUTDOWN_GRACE,
            },
        }
    }
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("agents", &self.agents)
            .field("listen", &self.listen)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

fn in_memory() -> Storage {
    Storage {
        store: Arc::new(MemoryStore::default()),
        key: SealingKey::generate(),
        retention: Retention::in_memory(),
    }
}

impl ServerBuilder {
    /// Adds an agent, which clients reach at `/a2a/{name}`; the first one also at `/`. The server puts its addresses on
    /// the card, the credentials it asks for, and a skill if the card has none.
    pub fn agent(
        self,
        name: impl Into<Arc<str>>,
        card: AgentCard,
        agent: impl Agent + 'static,
    ) -> Self {
        self.agent_with(name, card, agent, Settings::default())
    }

    /// Adds an agent with its own timeouts and limits.
    pub fn agent_with(
        mut self,
        name: impl Into<Arc<str>>,
        mut card: AgentCard,
        agent: impl Agent + 'static,
        settings: Settings,
    ) -> Self {
        let name: Arc<str> = name.into();
        if card.skills.is_empty() {
            // Some clients take a card without skills for a broken one.
            let skill = Skill::new(&*name, &*card.name, &*card.description);
            card.skills.push(skill.with_tags([&*name]));
        }
        self.agents.push(AgentEntry {
            name,
            profile: Profile::new(card),
            agent: Arc::new(agent),
            settings,
        });
        self
    }

    /// Keeps tasks in memory: they are gone when the process ends. This is the default.
    pub fn memory(mut self) -> Self {
        self.open_storage = Box::new(|| Ok(in_memory()));
        self
    }

    /// The address to listen on, such as `127.0.0.1:7420` or `localhost:0`; with port 0 the system chooses one. An address
    /// that other machines can reach needs [`authentication`](Self::authentication), or [`public`](Self::public).
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = address.into();
        self
    }

    /// The URL of the server on agent cards; without it cards have the address that the caller used.
    pub fn public_url(mut self, url: impl AsRef<str>) -> Self {
        self.options.public_url = Some(Arc::from(url.as_ref().trim_end_matches('/')));
        self
    }

    /// Only callers who present the credentials of one of these schemes may call, and each sees only their own tasks.
    /// Cards declare the schemes; [`auth::method`](crate::auth::method) and [`auth::keys`](crate::auth::keys) have some.
    pub fn authentication(mut self, schemes: Vec<Arc<dyn Scheme>>) -> Self {
        self.options.schemes = schemes;
        self
    }

    /// Everyone who can reach the server may call its agents, and read all tasks.
    pub fn public(mut self) -> Self {
        self.options.is_public = true;
        self
    }

    /// Webhooks may point to these addresses, too, which are not public, or not https.
    pub fn webhooks_to(mut self, targets: Vec<Allow>) -> Self {
        self.options.webhooks = targets;
        self
    }

    /// How long finished tasks are kept; without it 30 days in a data directory, and a day in memory.
    pub fn retention(mut self, retention: Retention) -> Self {
        self.retention = Some(retention);
        self
    }

    /// How large requests may be, and how many there may be at once.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.limits = limits;
        self
    }

    /// How long open requests and running turns may take to end when the server shuts down; 10 seconds by default.
    pub fn shutdown_grace(mut self, grace: Duration) -> Self {
        self.options.shutdown_grace = grace;
        self
    }

    /// Takes the address, opens the store, and serves until the process gets a stop signal: see [`BoundServer::serve`].
    ///
    /// # Errors
    ///
    /// Those of [`ServerBuilder::bind`] and [`BoundServer::serve`].
    pub async fn serve(self) -> Result<(), ServeError> {
        self.bind().await?.serve().await
    }

    /// Takes the address and opens the store. Calls are answered from [`BoundServer::serve`] on.
    ///
    /// # Errors
    ///
    /// If there is no agent, two have the same name or one an invalid name, the address cannot be used, or the store cannot
    /// be opened.
    pub async fn bind(self) -> Result<BoundServer, ServeError> {
        self.check_names()?;
        let unusable = |source| ServeError::Listen {
            address: self.listen.clone(),
            source,
        };
        let wanted = self.address().await?;
        // The address first: if it is taken, nothing else has happened yet.
        let listener = bind(wanted, BIND_TIMEOUT).await.map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let storage = (self.open_storage)()?;
        Ok(BoundServer {
            listener,
            address,
            agents: self.agents,
            options: self.options,
            store: storage.store,
            key: Arc::new(storage.key),
            retention: self.retention.unwrap_or(storage.retention),
            tasks: Tasks::default(),
        })
    }

    fn check_names(&self) -> Result<(), ServeError> {
        if self.agents.is_empty() {
            return Err(ServeError::NoAgents);
        }
        for (at, entry) in self.agents.iter().enumerate() {
            check_agent_name(&entry.name)?;
            if self.agents[..at]
                .iter()
                .any(|other| other.name == entry.name)
            {
                return Err(ServeError::DuplicateAgent(Arc::clone(&entry.name)));
            }
        }
        Ok(())
    }

    /// The address to bind: of a name that has several, the first.
    async fn address(&self) -> Result<SocketAddr, ServeError> {
        let resolved = tokio::net::lookup_host(&self.listen).await;
        let mut resolved = resolved.map_err(|source| ServeError::Listen {
            address: self.listen.clone(),
            source,
        })?;
        let address = resolved.next().ok_or_else(|| ServeError::Listen {
            address: self.listen.clone(),
            source: std::io::ErrorKind::AddrNotAvailable.into(),
        })?;
        let is_open = self.options.schemes.is_empty() && !self.options.is_public;
        if is_open && !address.ip().is_loopback() {
            return Err(ServeError::Exposed(address));
        }
        Ok(address)
    }
}
