//! The whole stack, assembled: store, log, agents, engines, HTTP; and taken down in the opposite order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use switchboard_agents::exec;
use switchboard_server::auth::Audit;
use switchboard_server::binding::{Parts, Service};
use switchboard_server::directory::Directory;
use switchboard_server::egress::Guard;
use switchboard_server::engine::recover;
use switchboard_server::http;
use switchboard_server::limit::Gate;
use switchboard_server::log::Log;
use switchboard_server::net::BaseUrl;
use switchboard_server::push::{self, Outbox};
use switchboard_server::shutdown::{Tasks, stop_signal};
use switchboard_server::sign::Signer;
use switchboard_server::table::Table;
use tokio::net::TcpListener;

use crate::admin::{self, Admin, Shows};
use crate::claws::Claws;
use crate::config::{self, Config, Env};
pub use crate::data_dir::{
    access_store_on_disk, access_store_to_read, deliveries, existing_access_store,
};
pub(crate) use crate::data_dir::{dir_on_disk, must_hold, store_to_read};
use crate::data_dir::{open_access, open_store};
use crate::discover::Finder;
use crate::listener;
use crate::otlp::Exporter;
use crate::reload::{Origin, Reloader, Reloads};
use crate::route::rules::Stored;
use crate::running::{Ground, Running};
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
    /// Where the admin API listens, if it does.
    pub admin: Option<SocketAddr>,
    /// The names of the agents that can be called, those of the configuration first.
    pub agents: Vec<Arc<str>>,
}

/// Serves until a signal to stop. `ready` is called once, when calls can come in. What changes at the `origin` of the
/// configuration is taken up, if there is one.
///
/// # Errors
///
/// If the address is taken, the store cannot be opened, or the server breaks.
pub async fn serve(
    config: Config,
    origin: Option<Origin>,
    ready: impl FnOnce(Listening) + Send,
) -> anyhow::Result<()> {
    warn_of_doubts(&config);
    // The address first: if it is taken, nothing else has happened yet.
    let listener = listen(config.listen).await?;
    let address = listener.local_addr()?;
    let looked_at = admin::listen(&config).await?;
    let admin = looked_at.as_ref().and_then(|at| at.local_addr().ok());
    open_as_many_files_as_allowed();
    let log = Log::new(open_store(&config.store)?);
    let exporter = Exporter::start(&Env::of_process());
    exporter
        .iter()
        .for_each(|exporter| log.tell_spans(exporter.spans()));
    let tasks = Tasks::default();
    let seal = trust::seal(&config)?;
    let guard = Guard::new(config.push.allow.clone()).sealing(Arc::clone(&seal));
    let guard = Arc::new(guard);
    let signer = trust::signer(&config)?;
    let encryption = trust::encryption(&config, &tasks)?;
    let table = Arc::new(Table::default());
    let access = open_access(&config.store)?;
    let audit = Audit::start(Arc::clone(&access), &tasks);
    let stored = Arc::new(Stored::open(Arc::clone(&access)).await?);
    let methods = Methods::open(&config.methods, &access, &tasks).await?;
    let authenticator = methods.authenticator(config.failed_logins, audit.clone());
    let mut running = Running::new(Ground {
        table: Arc::clone(&table),
        log: log.clone(),
        guard: Arc::clone(&guard),
        seal,
        tasks: tasks.clone(),
        audit: audit.clone(),
        methods,
        everywhere: config
            .tasks
            .map(|most| Gate::new(most, config.limits.queue.length)),
        queue: config.limits.queue.length,
        claws: Claws::default(),
        stored: Arc::clone(&stored),
    });
    let finder = Finder::start(&config, &tasks).await;
    let agents = finder.sources().added_to(&config);
    let agents = running.prepare(&agents).await?;
    running.take(agents);
    take_up(&log, &running, &config, &tasks).await?;
    let reloads = Arc::new(Reloads::default());
    let reloader = Reloader::new(origin, &config, finder, running, Arc::clone(&reloads));
    Outbox::start(
        log.clone(),
        guard,
        push(&config, signer.as_ref()),
        tasks.clone(),
    );
    if let Some(listener) = looked_at {
        let shows = Shows {
            log: log.clone(),
            table: Arc::clone(&table),
            reloads: Arc::clone(&reloads),
            stored,
            exporter: exporter.clone(),
        };
        let admin = Admin::new(&config, &listener, shows, &tasks)?;
        tasks.spawn(admin.serve(listener, tasks.clone()));
    }
    let names = names(&config, &table);
    log.keep_up(config.retention, &tasks);
    log.limit_loads(config.limits.answers);
    let mut service = Service::new(Parts {
        handler: Arc::clone(&table) as _,
        directory: table,
        authenticator,
        base_url: BaseUrl {
            public_url: config.public_url,
            trusted_proxies: config.trust_forwarded,
        },
        cors: config.cors,
        limits: config.limits,
        tasks: tasks.clone(),
    });
    service = telling(service, &log, exporter.as_ref(), signer);
    service = service.version_header(config.version_header);
    let (tls, to_trust) = encryption.map_or((None, None), |with| (Some(with.tls), with.to_trust));
    let encrypted = tls.is_some();
    let service = Arc::new(service);
    tasks.spawn(reloader.run(Arc::clone(&service), tasks.clone()));
    tasks.spawn(http::serve(listener, service, tls));
    ready(Listening {
        address,
        encrypted,
        to_trust,
        admin,
        agents: names,
    });
    until_stopped(&tasks, config.shutdown_grace).await?;
    if let Some(exporter) = exporter {
        exporter.close().await;
    }
    close(&audit, &log).await;
    Ok(())
}

/// The names of all agents, in the order of the configuration, then those that were discovered.
fn names(config: &Config, table: &Table) -> Vec<Arc<str>> {
    let mut names: Vec<Arc<str>> = config.agents.iter().map(|a| Arc::clone(&a.name)).collect();
    let mut found: Vec<Arc<str>> = table.list().iter().map(|l| Arc::clone(&l.name)).collect();
    found.retain(|name| !names.contains(name));
    found.sort_unstable();
    names.extend(found);
    names
}

/// What can be done, but may not be meant.
fn warn_of_doubts(config: &Config) {
    for doubt in &config.doubts {
        tracing::warn!("{doubt}");
    }
}

/// Sees to the tasks that the last process has left, and to what it left running.
async fn take_up(
    log: &Log,
    running: &Running,
    config: &Config,
    tasks: &Tasks,
) -> anyhow::Result<()> {
    let is_command = |name: &str| {
        let mut agents = config.agents.iter().filter(|agent| *agent.name == *name);
        agents.any(|agent| matches!(agent.backend, config::Backend::Exec(_)))
    };
    exec::end_left(&**log.store(), is_command, tasks).await?;
    let recover::Recovered {
        resumed,
        waiting,
        failed,
    } = recover::recover(log, &running.engines()).await?;
    tracing::info!(resumed, waiting, failed, "recovered");
    Ok(())
}

/// How webhooks are delivered.
fn push(config: &Config, signer: Option<&Arc<Signer>>) -> push::Settings {
    push::Settings {
        timeout: config.push.timeout,
        give_up_after: config.push.give_up_after,
        signer: signer.filter(|_| signs_webhooks(config)).map(Arc::clone),
        ..push::Settings::default()
    }
}

/// The service, with what it tells operators, and what it signs.
fn telling(
    service: Service,
    log: &Log,
    exporter: Option<&Arc<Exporter>>,
    signer: Option<Arc<Signer>>,
) -> Service {
    let service = service.counting(Arc::clone(log.metrics()));
    let mut service = service.watching_store(Arc::clone(log.store_status()));
    if let Some(exporter) = exporter {
        service = service.telling_spans(exporter.spans());
    }
    match signer {
        Some(signer) => service.signing(signer),
        None => service,
    }
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let bound = http::bind(address, http::BIND_TIMEOUT).await;
    bound.map_err(|error| listener::unusable(address, &error, "--listen"))
}

/// Leaves everything as it should be found.
async fn close(audit: &Audit, log: &Log) {
    audit.close().await;
    log.close().await;
    if let Err(error) = log.store().close().await {
        tracing::warn!(%error, "could not close the store, the next start recovers");
    }
}

/// A connection is an open file, and the usual limit of a shell is far below `limits.connections`.
fn open_as_many_files_as_allowed() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "could not raise the limit of open files");
    }
}

fn signs_webhooks(config: &Config) -> bool {
    config
        .signing
        .as_ref()
        .is_some_and(|signing| signing.webhooks)
}

/// Serves until a signal to stop, then lets running work end within `grace`.
async fn until_stopped(tasks: &Tasks, grace: Duration) -> anyhow::Result<()> {
    stop_signal().await?;
    tracing::info!("stopping");
    tasks.stop();
    if !tasks.drain(grace).await {
        tracing::warn!("shutdown grace elapsed, unfinished work resumes at the next start");
    }
    Ok(())
}
