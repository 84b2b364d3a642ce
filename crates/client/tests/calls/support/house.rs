//! The built-in agents, served as they are in production.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use switchboard_agents::script::ScriptAgent;
use switchboard_agents::script::builtin::{self, Builtin};
use switchboard_server::auth::method::{Basic, User};
use switchboard_server::auth::{Access, Alternative, Authenticator, Scheme};
use switchboard_server::authorize::Authorized;
use switchboard_server::binding::{self, Service};
use switchboard_server::card::{GrpcAddress, Interfaces, Profile};
use switchboard_server::egress::{Allow, Guard};
use switchboard_server::engine::recover::recover;
use switchboard_server::engine::{Engine, Parts, Settings};
use switchboard_server::http::{self, Cors, Limits};
use switchboard_server::log::Log;
use switchboard_server::net::BaseUrl;
use switchboard_server::push::{self, Outbox};
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::table::Table;
use switchboard_types::model::{AgentCard, Binding, Extension, Secret};
use tokio::net::TcpListener;

/// All agents, each at `{base}/a2a/{name}`; the default one is `echo`.
pub(crate) struct House {
    pub(crate) base: String,
    tasks: Tasks,
    log: Log,
    store: Arc<dyn Store>,
}

impl House {
    pub(crate) async fn open() -> Self {
        Self::with(|_| {}).await
    }

    /// With cards that `change` has seen.
    pub(crate) async fn with(change: impl Fn(&mut AgentCard)) -> Self {
        let store = Arc::new(MemoryStore::new());
        Self::on(store, "127.0.0.1:0", change).await
    }

    async fn on(store: Arc<dyn Store>, address: &str, change: impl Fn(&mut AgentCard)) -> Self {
        let (log, tasks) = (Log::new(Arc::clone(&store)), Tasks::default());
        let guard = Arc::new(Guard::new(vec![Allow::parse("127.0.0.1").unwrap()]));
        let table = Arc::new(Table::default());
        let scripts = builtin::agents().unwrap();
        let ann: Arc<dyn Scheme> = Arc::new(Basic::new("ops".into(), vec![ann()]));
        let known_or_not = || {
            let known = Alternative(vec![Arc::clone(&ann)]);
            Access::by(vec![known, Alternative::default()])
        };
        let engines = scripts.into_iter().map(|Builtin { name, script, .. }| {
            let name: Arc<str> = Arc::from(name);
            let mut profile = profile(&name);
            if profile.is_default {
                known_or_not().declare(&mut profile);
            }
            change(&mut profile.card);
            let engine = Engine::new(Parts {
                name: Arc::clone(&name),
                agent: Arc::new(ScriptAgent::new(script, Some(table.clone() as _))),
                router: None,
                profile,
                settings: Settings::default(),
                log: log.clone(),
                guard: Arc::clone(&guard),
                tasks: tasks.clone(),
            });
            (name, engine)
        });
        let engines: HashMap<Arc<str>, Engine> = engines.collect();
        let guarded = engines.values().map(|engine| {
            let access = Arc::new(known_or_not());
            Authorized::new(engine.clone(), access)
        });
        table.change(guarded.collect(), &[], &Arc::from("echo"));
        recover(&log, &engines).await.unwrap();
        Outbox::start(log.clone(), guard, push::Settings::default(), tasks.clone());
        let listener = TcpListener::bind(address).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let service = Arc::new(Service::new(binding::Parts {
            handler: table.clone(),
            directory: table,
            authenticator: Authenticator::new(vec![ann]),
            base_url: BaseUrl::default(),
            cors: Cors::default(),
            limits: Limits::default(),
            tasks: tasks.clone(),
        }));
        tasks.spawn(http::serve(listener, service, None));
        Self {
            base,
            tasks,
            log,
            store,
        }
    }

    /// Falls over, and is opened again at the same place: what was stored is there, and nothing else.
    pub(crate) async fn fall_over(self) -> Self {
        self.log.stopping().cancel();
        self.log.close().await;
        self.tasks.stop();
        self.tasks.drain(Duration::from_secs(5)).await;
        let address = self.base.trim_start_matches("http://");
        Self::on(self.store, address, |_| {}).await
    }

    /// Where an agent is.
    pub(crate) fn agent(&self, name: &str) -> String {
        format!("{}/a2a/{name}", self.base)
    }

    pub(crate) async fn close(self) {
        self.tasks.stop();
        self.tasks.drain(Duration::from_secs(5)).await;
        self.log.close().await;
    }
}

/// Whom the house knows.
fn ann() -> User {
    User {
        name: "ann".to_owned(),
        password: Secret::new("open sesame"),
        tenant: None,
        scopes: Vec::new(),
    }
}

fn profile(name: &str) -> Profile {
    let modes = || vec!["*/*".to_owned()];
    let mut card = AgentCard {
        default_input_modes: modes(),
        default_output_modes: modes(),
        ..AgentCard::new(name, "for tests")
    };
    card.capabilities.extended_agent_card = Some(true);
    let mut extended = card.clone();
    extended.description = "for those who know".to_owned();
    Profile {
        extended: Some(extended),
        interfaces: Interfaces {
            bindings: vec![Binding::JsonRpc, Binding::HttpJson, Binding::Grpc],
            // Both spellings are called.
            grpc_address: match name {
                "echo" => GrpcAddress::Url,
                _ => GrpcAddress::HostPort,
            },
        },
        is_default: name == "echo",
        ..Profile::new(card)
    }
}

/// An extension that callers must ask for.
pub(crate) fn required(uri: &str) -> Extension {
    Extension {
        uri: uri.to_owned(),
        description: None,
        required: true,
        params: None,
    }
}
