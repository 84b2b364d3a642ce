//! A server of one's own agents: what the gateway assembles from its configuration, assembled in code.
//!
//! [`Server::builder`] collects agents and settings. [`ServerBuilder::bind`] takes the address and opens the store, and
//! [`BoundServer::serve`] does the rest: it recovers the tasks of the last process before the first request, delivers
//! webhooks, and shuts down gracefully on Ctrl-C, SIGTERM or [`ShutdownHandle::shutdown`].

mod builder;
#[cfg(feature = "sqlite")]
mod data_dir;
mod error;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::auth::{Access, Alternative, Authenticator};
use crate::authorize::Authorized;
use crate::binding::{self, Service};
use crate::egress::{Guard, SealingKey};
use crate::engine::{Engine, Parts, Settings, recover};
use crate::hops::Hop;
use crate::http;
use crate::log::{Log, Retention};
use crate::net::BaseUrl;
use crate::push::{self, Outbox};
use crate::shutdown::{Tasks, stop_signal};
use crate::store::Store;
use crate::table::Table;
use builder::{AgentEntry, Options};

pub use builder::ServerBuilder;
pub use error::ServeError;

/// A server of one's own agents.
///
/// ```no_run
/// # use switchboard_server::agent::{Agent, AgentError, Outcome, Progress, Said, Turn};
/// # use switchboard_server::serve::{ServeError, Server};
/// # use switchboard_types::model::AgentCard;
/// # #[derive(Debug)]
/// # struct Greeter;
/// # #[async_trait::async_trait]
/// # impl Agent for Greeter {
/// #     async fn run(&self, _: Turn, _: Progress) -> Result<Outcome, AgentError> {
/// #         Ok(Outcome::Completed(Said::text("hello")))
/// #     }
/// # }
/// # async fn run() -> Result<(), ServeError> {
/// Server::builder()
///     .agent("greeter", AgentCard::new("Greeter", "says hello"), Greeter)
///     .data("data")
///     .listen("127.0.0.1:7420")
///     .serve()
///     .await
/// # }
/// ```
#[derive(Debug)]
pub struct Server;

impl Server {
    /// A server without agents yet, on `127.0.0.1:7420`, with its tasks in memory.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }
}

/// Where tasks are stored, and what belongs to that place.
struct Storage {
    store: Arc<dyn Store>,
    /// Encrypts the credentials of webhooks.
    key: SealingKey,
    retention: Retention,
}

/// A server whose address is taken and whose store is open. Connections wait until it [serves](Self::serve).
#[derive(Debug)]
pub struct BoundServer {
    listener: TcpListener,
    address: SocketAddr,
    agents: Vec<AgentEntry>,
    options: Options,
    store: Arc<dyn Store>,
    key: Arc<SealingKey>,
    retention: Retention,
    tasks: Tasks,
}

/// Stops a server from anywhere; cheap to clone.
#[derive(Debug, Clone)]
pub struct ShutdownHandle(CancellationToken);

impl ShutdownHandle {
    /// Begins to shut down: open requests and running turns have the grace period to end.
    pub fn shutdown(&self) {
        self.0.cancel();
    }
}

impl BoundServer {
    /// The address it listens on, with the port that the system chose if it was to choose one.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Stops the server, even before it serves.
    #[must_use]
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        ShutdownHandle(self.tasks.stopping().clone())
    }

    /// Serves until Ctrl-C, SIGTERM or [`ShutdownHandle::shutdown`]. Turns that do not end within the grace period resume
    /// at the next start.
    ///
    /// Dropping the future stops the server without waiting for anything.
    ///
    /// # Errors
    ///
    /// If the store cannot be read or written at the start, or the process cannot listen for signals.
    pub async fn serve(self) -> Result<(), ServeError> {
        let tasks = self.tasks.clone();
        let _stop_when_dropped = tasks.stopping().clone().drop_guard();
        let grace = self.options.shutdown_grace;
        let log = self.start().await?;
        tokio::select! {
            signal = stop_signal() => signal.map_err(ServeError::Signal)?,
            () = tasks.stopping().cancelled() => {}
        }
        tracing::info!("stopping");
        tasks.stop();
        if !tasks.drain(grace).await {
            tracing::warn!("shutdown grace elapsed, unfinished work resumes at the next start");
        }
        log.close().await;
        Ok(log.store().close().await?)
    }

    /// Recovers, and accepts connections from then on.
    async fn start(self) -> Result<Log, ServeError> {
        let Self { options, tasks, .. } = self;
        let log = Log::new(self.store);
        let access = access(&options);
        let guard = Guard::new(options.webhooks).sealing(Arc::clone(&self.key));
        let guard = Arc::new(guard);
        let shared = Shared {
            access: Arc::new(access),
            key: self.key,
            log: log.clone(),
            guard: Arc::clone(&guard),
            tasks: tasks.clone(),
        };
        let table = shared.table(self.agents).await?;
        Outbox::start(log.clone(), guard, push::Settings::default(), tasks.clone());
        log.keep_up(self.retention, &tasks);
        log.limit_loads(options.limits.answers);
        let service = Service::new(binding::Parts {
            handler: Arc::clone(&table) as _,
            directory: table,
            authenticator: Authenticator::new(options.schemes),
            base_url: BaseUrl {
                public_url: options.public_url,
                trusted_proxies: Vec::new(),
            },
            cors: http::Cors::default(),
            limits: options.limits,
            tasks: tasks.clone(),
        });
        let service = service.counting(Arc::clone(log.metrics()));
        let service = service.watching_store(Arc::clone(log.store_status()));
        tasks.spawn(http::serve(self.listener, Arc::new(service), None));
        tracing::info!(addr = %self.address, "listening");
        Ok(log)
    }
}

/// Who may call: those who present one of the credentials; everyone if none is asked for.
fn access(options: &Options) -> Access {
    if options.schemes.is_empty() {
        return Access::open();
    }
    let schemes = options.schemes.iter();
    let alternatives = schemes.map(|scheme| Alternative(vec![Arc::clone(scheme)]));
    Access::by(alternatives.collect())
}

/// What all agents of a server share.
struct Shared {
    access: Arc<Access>,
    key: Arc<SealingKey>,
    log: Log,
    guard: Arc<Guard>,
    tasks: Tasks,
}

impl Shared {
    /// The agents, with the tasks that the last process left recovered. The first one is the default agent.
    async fn table(&self, agents: Vec<AgentEntry>) -> Result<Arc<Table>, ServeError> {
        let default = agents.first().map(|entry| Arc::clone(&entry.name));
        let default = default.ok_or(ServeError::NoAgents)?;
        let mut engines = HashMap::new();
        let mut authorized = Vec::new();
        for entry in agents {
            let name = Arc::clone(&entry.name);
            let engine = self.engine(entry, name == default);
            authorized.push(Authorized::new(engine.clone(), Arc::clone(&self.access)));
            engine.take_over();
            engines.insert(name, engine);
        }
        let table = Arc::new(Table::default());
        table.change(authorized, &[], &default);
        let recover::Recovered {
            resumed,
            waiting,
            failed,
        } = recover::recover(&self.log, &engines).await?;
        tracing::info!(resumed, waiting, failed, "recovered");
        Ok(table)
    }

    fn engine(&self, entry: AgentEntry, is_default: bool) -> Engine {
        let mut profile = entry.profile;
        profile.is_default = is_default;
        self.access.declare(&mut profile);
        let hop = entry.settings.hop.clone();
        Engine::new(Parts {
            settings: Settings {
                hop: hop.or_else(|| Some(self.hop(&entry.name))),
                ..entry.settings
            },
            name: entry.name,
            agent: entry.agent,
            router: None,
            profile,
            log: self.log.clone(),
            guard: Arc::clone(&self.guard),
            tasks: self.tasks.clone(),
        })
    }

    /// What an agent is called in hop paths: another server may have an agent of the same name, which is no loop.
    fn hop(&self, name: &Arc<str>) -> Hop {
        let (name, key) = (Arc::clone(name), Arc::clone(&self.key));
        Hop::new(move || Arc::from(format!("{name}@{}", key.name_for("gateway"))))
    }
}
