//! The whole stack, assembled: store, log, agents, engines, HTTP; and taken down in the opposite order.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use switchboard_agents::script::ScriptAgent;
use switchboard_server::agent::Agent;
use switchboard_server::engine::{self, Engine, Profile, recover};
use switchboard_server::http::{self, BaseUrl};
use switchboard_server::log::{Log, Retention};
use switchboard_server::push::{self, Guard, Outbox};
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::sqlite::{self, SqliteOptions, SqliteStore};
use switchboard_server::store::{MemoryStore, Store};
use switchboard_types::model::{AgentCard, Capabilities};
use switchboard_types::wire::card::CardShape;
use tokio::net::TcpListener;

use crate::config::{self, Backend, Config};
use crate::route::Table;

/// Serves until a signal to stop. `ready` is called once, with the address, when calls can come in.
///
/// # Errors
///
/// If the address is taken, the store cannot be opened, or the server breaks.
pub async fn serve(config: Config, ready: impl FnOnce(SocketAddr) + Send) -> anyhow::Result<()> {
    // The address first: if it is taken, nothing else has happened yet.
    let listener = TcpListener::bind(config.listen).await.with_context(|| {
        format!(
            "cannot listen on {} (choose another with --listen)",
            config.listen
        )
    })?;
    let address = listener.local_addr()?;
    let log = Log::new(open_store(&config)?);
    let tasks = Tasks::default();
    let guard = Arc::new(Guard::new(vec![push::Allow::parse("127.0.0.1").unwrap()]));
    let table = Arc::new(Table::default());
    let engines = engines(&config, &table, &log, &guard, &tasks);
    let recovered = recover::recover(&log, &engines).await?;
    tracing::info!(
        resumed = recovered.resumed,
        waiting = recovered.waiting,
        failed = recovered.failed,
        "recovered"
    );
    table.fill(engines, Arc::clone(&config.default_agent));
    Outbox::start(log.clone(), guard, push_settings(&config), tasks.clone());
    log.keep_up(retention(&config.retention), &tasks);
    let service = Arc::new(http::Service::new(http::Parts {
        handler: Arc::clone(&table) as _,
        directory: table,
        base_url: BaseUrl {
            public_url: config.public_url.as_deref().map(Arc::from),
            trusted_proxies: Vec::new(),
        },
        limits: limits(&config.limits),
        tasks: tasks.clone(),
    }));
    tasks.spawn(http::serve(listener, service));
    ready(address);
    stop_signal().await?;
    tracing::info!("stopping");
    tasks.stop();
    if !tasks.drain(config.shutdown_grace).await {
        tracing::warn!("some work did not end in time: it goes on at the next start");
    }
    log.close().await;
    Ok(())
}

fn open_store(config: &Config) -> anyhow::Result<Arc<dyn Store>> {
    match &config.store {
        config::Store::Memory => Ok(Arc::new(MemoryStore::default())),
        config::Store::Sqlite { path, durability } => {
            let dir = path.parent().unwrap_or(path);
            let options = SqliteOptions {
                dir: dir.to_owned(),
                durability: match durability {
                    config::Durability::PowerLoss => sqlite::Durability::PowerLoss,
                    config::Durability::ProcessDeath => sqlite::Durability::ProcessDeath,
                },
            };
            let store = SqliteStore::open(&options)
                .with_context(|| format!("cannot open the store in {}", dir.display()))?;
            Ok(Arc::new(store))
        }
    }
}

fn engines(
    config: &Config,
    table: &Arc<Table>,
    log: &Log,
    guard: &Arc<Guard>,
    tasks: &Tasks,
) -> HashMap<Arc<str>, Engine> {
    let engine = |agent: &config::Agent| {
        let parts = engine::Parts {
            name: Arc::clone(&agent.name),
            agent: backend(&agent.backend, table),
            profile: profile(agent),
            settings: settings(&agent.settings),
            log: log.clone(),
            guard: Arc::clone(guard),
            tasks: tasks.clone(),
        };
        (Arc::clone(&agent.name), Engine::new(parts))
    };
    config.agents.iter().map(engine).collect()
}

fn backend(backend: &Backend, table: &Arc<Table>) -> Arc<dyn Agent> {
    match backend {
        Backend::Script(script) => Arc::new(ScriptAgent::new(
            script.clone(),
            Some(Arc::clone(table) as _),
        )),
    }
}

fn profile(agent: &config::Agent) -> Profile {
    let (about, settings) = (&agent.profile, &agent.settings);
    let card = AgentCard {
        name: about.title.clone(),
        description: about.description.clone(),
        version: about.version.clone(),
        interfaces: Vec::new(),
        provider: about.provider.clone(),
        documentation_url: about.documentation_url.clone(),
        icon_url: about.icon_url.clone(),
        capabilities: Capabilities {
            streaming: Some(settings.streaming),
            push_notifications: Some(settings.push_notifications),
            extended_agent_card: Some(settings.extended_card.is_some()),
            state_transition_history: Some(true),
            extensions: settings.extensions.clone(),
        },
        security_schemes: BTreeMap::new(),
        security: Vec::new(),
        default_input_modes: about.input_modes.clone(),
        default_output_modes: about.output_modes.clone(),
        skills: about.skills.clone(),
        signatures: Vec::new(),
    };
    let extended = settings.extended_card.as_ref().map(|more| {
        let mut card = card.clone();
        if let Some(description) = &more.description {
            card.description.clone_from(description);
        }
        card.skills.extend(more.skills.iter().cloned());
        card
    });
    let shape = match settings.card {
        config::CardShape::Union => CardShape::Union,
        config::CardShape::V1_0 => CardShape::V1,
        config::CardShape::V0_3 => CardShape::V0,
    };
    Profile {
        card,
        extended,
        shape,
    }
}

fn settings(settings: &config::Settings) -> engine::Settings {
    let or_for_ever = |limit: Option<Duration>| limit.unwrap_or(Duration::MAX);
    engine::Settings {
        reply_with_message: settings.reply == config::ReplyKind::Message,
        task_timeout: or_for_ever(settings.timeouts.task),
        input_timeout: or_for_ever(settings.timeouts.input),
        on_input_timeout: match settings.on_input_timeout {
            config::OnInputTimeout::Continue => engine::OnInputTimeout::Continue,
            config::OnInputTimeout::Fail => engine::OnInputTimeout::Fail,
        },
        blocking_deadline: or_for_ever(settings.timeouts.blocking),
        cancel_grace: settings.timeouts.cancel_grace,
        on_disconnect: match settings.on_disconnect {
            config::OnDisconnect::Keep => engine::OnDisconnect::Keep,
            config::OnDisconnect::Cancel => engine::OnDisconnect::Cancel,
        },
        dedupe_by_message_id: settings.dedupe_by_message_id,
    }
}

fn limits(limits: &config::Limits) -> http::Limits {
    http::Limits {
        body: limits.body,
        body_timeout: limits.body_timeout,
        header_timeout: limits.header_timeout,
        connections: limits.connections,
        streams: limits.streams,
        heartbeat: limits.heartbeat,
    }
}

fn retention(keep: &config::Retention) -> Retention {
    Retention {
        completed: keep.completed,
        failed: keep.failed,
        canceled: keep.canceled,
        rejected: keep.rejected,
        replay_window: keep.replay_window,
        idempotency_keys: keep.idempotency_keys,
    }
}

fn push_settings(config: &Config) -> push::Settings {
    push::Settings {
        timeout: config.push.timeout,
        give_up_after: config.push.give_up_after,
        ..push::Settings::default()
    }
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

/// Prints webhook deliveries that fail or were given up.
///
/// # Errors
///
/// If the store cannot be opened.
pub async fn deliveries(config: Config, wanted: crate::cli::deliveries::Wanted) -> anyhow::Result<()> {
    drop((config, wanted));
    anyhow::bail!("not wired yet")
}
