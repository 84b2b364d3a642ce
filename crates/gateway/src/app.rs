//! The whole stack, assembled: store, log, agents, engines, HTTP; and taken down in the opposite order.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use switchboard_server::auth::Audit;
use switchboard_server::engine::recover;
use switchboard_server::http::{self, BaseUrl};
use switchboard_server::limit::Gate;
use switchboard_server::log::Log;
use switchboard_server::push::{self, Guard, Outbox};
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::access::{AccessStore, MemoryAccess, SqliteAccess};
use switchboard_server::store::sqlite::SqliteStore;
use switchboard_server::store::{MemoryStore, Store};
use tokio::net::TcpListener;

use crate::config::{self, Config};
use crate::discover;
use crate::make::Maker;
use crate::route::Table;
pub use crate::trust::ToTrust;
use crate::trust::{self, Methods};

/// Where calls can come in.
#[derive(Debug, Clone)]
pub struct Listening {
    /// The address.
    pub address: SocketAddr,
    /// Whether connections are encrypted.
    pub encrypted: bool,
    /// The certificate that nobody vouches for, if it is one.
    pub to_trust: Option<ToTrust>,
}

/// Serves until a signal to stop. `ready` is called once, when calls can come in.
///
/// # Errors
///
/// If the address is taken, the store cannot be opened, or the server breaks.
pub async fn serve(mut config: Config, ready: impl FnOnce(Listening) + Send) -> anyhow::Result<()> {
    for doubt in &config.doubts {
        tracing::warn!("{doubt}");
    }
    // The address first: if it is taken, nothing else has happened yet.
    let listener = TcpListener::bind(config.listen).await.with_context(|| {
        format!(
            "cannot listen on {}: choose another with --listen",
            config.listen
        )
    })?;
    let address = listener.local_addr()?;
    open_as_many_files_as_allowed();
    let log = Log::new(open_store(&config.store)?);
    let tasks = Tasks::default();
    let seal = trust::seal(&config)?;
    let guard = Guard::new(config.push.allow.clone()).sealing(Arc::clone(&seal));
    let guard = Arc::new(guard);
    let signer = trust::signer(&config)?;
    let encryption = trust::encryption(&config, &tasks)?;
    let table = Arc::new(Table::default());
    let access = open_access(&config.store)?;
    let audit = Audit::start(Arc::clone(&access), &tasks);
    let found = discover::first(&mut config).await;
    let methods = Methods::open(&config.methods, &access, &tasks).await?;
    let everywhere = config.tasks;
    let everywhere = everywhere.map(|most| Gate::new(most, config.limits.queue.length));
    let maker = Arc::new(Maker {
        config: config.clone(),
        methods: methods.clone(),
        table: Arc::clone(&table),
        log: log.clone(),
        guard: Arc::clone(&guard),
        seal,
        audit: audit.clone(),
        everywhere,
        tasks: tasks.clone(),
    });
    let made = maker.make(&config.agents)?;
    let known = discover::keep_looking(found, made.guarded(&audit), &maker);
    table.fill(known, Arc::clone(&config.default_agent));
    maker.follow_cards(&config.agents, &made).await;
    let recovered = recover::recover(&log, &made.engines).await?;
    tracing::info!(
        resumed = recovered.resumed,
        waiting = recovered.waiting,
        failed = recovered.failed,
        "recovered"
    );
    let push = push::Settings {
        timeout: config.push.timeout,
        give_up_after: config.push.give_up_after,
        signer: signer.clone().filter(|_| signs_webhooks(&config)),
        ..push::Settings::default()
    };
    Outbox::start(log.clone(), guard, push, tasks.clone());
    log.keep_up(config.retention, &tasks);
    let mut service = http::Service::new(http::Parts {
        handler: Arc::clone(&table) as _,
        directory: table,
        authenticator: methods.authenticator(config.failed_logins, audit.clone()),
        base_url: BaseUrl {
            public_url: config.public_url,
            trusted_proxies: config.trust_forwarded,
        },
        cors: config.cors,
        limits: config.limits,
        tasks: tasks.clone(),
    });
    if let Some(signer) = signer {
        service = service.signing(signer);
    }
    let (tls, to_trust) = encryption.map_or((None, None), |with| (Some(with.tls), with.to_trust));
    let encrypted = tls.is_some();
    tasks.spawn(http::serve(listener, Arc::new(service), tls));
    ready(Listening {
        address,
        encrypted,
        to_trust,
    });
    stop_signal().await?;
    tracing::info!("stopping");
    tasks.stop();
    if !tasks.drain(config.shutdown_grace).await {
        tracing::warn!("some work did not end in time: it goes on at the next start");
    }
    audit.close().await;
    log.close().await;
    if let Err(error) = log.store().close().await {
        tracing::warn!(%error, "the store was not closed: the next start tidies up");
    }
    Ok(())
}

/// A connection is an open file, and the usual limit of a shell is far below `limits.connections`.
fn open_as_many_files_as_allowed() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

fn signs_webhooks(config: &Config) -> bool {
    config
        .signing
        .as_ref()
        .is_some_and(|signing| signing.webhooks)
}

fn open_store(store: &config::Store) -> anyhow::Result<Arc<dyn Store>> {
    match store {
        config::Store::Memory => Ok(Arc::new(MemoryStore::default())),
        config::Store::Sqlite(options) => {
            let store = SqliteStore::open(options)
                .with_context(|| format!("cannot open the store in {}", options.dir.display()))?;
            Ok(Arc::new(store))
        }
    }
}

fn open_access(store: &config::Store) -> anyhow::Result<Arc<dyn AccessStore>> {
    match store {
        config::Store::Memory => Ok(Arc::new(MemoryAccess::new())),
        config::Store::Sqlite(options) => {
            let store = SqliteAccess::open(&options.dir);
            let store = store
                .with_context(|| format!("cannot open the keys in {}", options.dir.display()))?;
            Ok(Arc::new(store))
        }
    }
}

/// Where `switchboard key create` keeps what it makes, for a server that runs or will.
///
/// # Errors
///
/// If nothing is kept, or it cannot be opened.
pub fn access_store_on_disk(config: &Config) -> anyhow::Result<Arc<dyn AccessStore>> {
    if matches!(config.store, config::Store::Memory) {
        anyhow::bail!("a store in memory ends with its process: there are no keys to see");
    }
    open_access(&config.store)
}

/// The same where something was kept before: what is only looked at, or taken back. A mistyped directory must not be
/// made, and then be found to be empty.
///
/// # Errors
///
/// As there, and if nothing was kept.
pub fn existing_access_store(config: &Config) -> anyhow::Result<Arc<dyn AccessStore>> {
    if let config::Store::Sqlite(options) = &config.store
        && !SqliteAccess::is_in(&options.dir)
    {
        anyhow::bail!(
            "nothing is kept in {} yet: name the server's configuration with -c, or its directory with --data",
            options.dir.display()
        );
    }
    access_store_on_disk(config)
}

/// Waits for Ctrl-C or the signal by which service managers stop a process.
async fn stop_signal() -> anyhow::Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
