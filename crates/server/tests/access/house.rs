//! A server whose agents let some in and others not.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use switchboard_server::agent::{Outcome, Said};
use switchboard_server::auth::{
    Access, Alternative, Ask, Authenticator, Authorized, Denial, Failures, Policy, Scheme, Verdict,
};
use switchboard_server::call::{Answering, Call, Directory, Handler, Listing, Origin, Target};
use switchboard_server::engine::{Engine, Parts, Settings};
use switchboard_server::http::{self, BaseUrl, Limits};
use switchboard_server::log::Log;
use switchboard_server::push::Guard;
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::MemoryStore;
use switchboard_server::testing::agent::{FnAgent, profile};
use switchboard_types::Error;
use switchboard_types::model::TaskState;
use switchboard_types::operation::Method;
use tokio::net::TcpListener;

use crate::schemes::{Badge, Bearer};

/// A server on a socket; gone when it is dropped.
pub(crate) struct House {
    pub(crate) address: SocketAddr,
    pub(crate) table: Arc<Table>,
    tasks: Tasks,
}

impl Drop for House {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

/// All agents; the first one is the default.
#[derive(Debug)]
pub(crate) struct Table {
    agents: HashMap<Arc<str>, Authorized>,
    default: Arc<str>,
}

impl Table {
    fn agent(&self, name: Option<&str>) -> Option<&Authorized> {
        self.agents.get(name.unwrap_or(&self.default))
    }

    fn target(&self, target: &Target) -> Result<&Authorized, Error> {
        let named = target.agent.as_deref().or(target.tenant.as_deref());
        self.agent(named).ok_or_else(|| Error::task_not_found(""))
    }
}

impl Handler for Table {
    fn handle(&self, call: Call) -> Answering<'_> {
        match self.target(&call.target) {
            Ok(agent) => agent.handle(call),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }
}

impl Directory for Table {
    fn find(&self, name: Option<&str>) -> Option<Listing> {
        self.agent(name).map(Authorized::listing)
    }

    fn resolve(&self, target: &Target) -> Result<Listing, Error> {
        self.target(target).map(Authorized::listing)
    }

    fn list(&self) -> Vec<Listing> {
        self.agents.values().map(Authorized::listing).collect()
    }
}

/// Denies some operations, all work for other agents, and looks at finished tasks.
#[derive(Debug)]
struct Strict {
    tasks: bool,
}

impl Policy for Strict {
    fn decide(&self, ask: &Ask<'_>) -> Verdict {
        let no = |rule: &str, message: &str| {
            Verdict::Deny(Denial {
                rule: rule.into(),
                message: message.to_owned(),
            })
        };
        let ended = ask.task.map(|task| task.state) == Some(TaskState::Completed);
        match (ask.origin, ask.operation) {
            (Origin::Agent(name), _) => no("no-errands", &format!("{name} may not ask for others")),
            (_, Method::Get | Method::Stream) if !self.tasks => no("no-reading", "not for you"),
            _ if ended => no("no-looking-back", "it is over"),
            _ => Verdict::Allow,
        }
    }

    fn looks_at_tasks(&self) -> bool {
        self.tasks
    }
}

/// Opens a server with agents of that name, the first one its default:
///
/// | name | lets in |
/// |---|---|
/// | `hall` | everyone |
/// | `desk` | a bearer |
/// | `lounge` | a bearer, else nobody known |
/// | `safe` | a bearer who has a badge, too |
/// | `gate` | a badge with a bearer, else a bearer |
/// | `vault` | a bearer, who may not read or stream |
/// | `archive` | a bearer, who may not look at tasks that are over |
pub(crate) async fn open(names: &[&str]) -> House {
    let bearer: Arc<dyn Scheme> = Arc::new(Bearer("bearer".into()));
    let badge: Arc<dyn Scheme> = Arc::new(Badge("badge".into()));
    let access = |name: &&str| {
        let with_bearer = || Alternative(vec![Arc::clone(&bearer)]);
        let access = match *name {
            "hall" => Access::open(),
            "lounge" => Access::by(vec![with_bearer(), Alternative::default()]),
            "safe" => Access::by(vec![Alternative(vec![
                Arc::clone(&bearer),
                Arc::clone(&badge),
            ])]),
            "gate" => Access::by(vec![
                Alternative(vec![Arc::clone(&badge), Arc::clone(&bearer)]),
                with_bearer(),
            ]),
            "vault" => Access::by(vec![with_bearer()]).ruled_by(Arc::new(Strict { tasks: false })),
            "archive" => Access::by(vec![with_bearer()]).ruled_by(Arc::new(Strict { tasks: true })),
            _ => Access::by(vec![with_bearer()]),
        };
        (Arc::from(*name), access)
    };
    let agents = names.iter().map(access).collect();
    let authenticator = Authenticator::new(vec![Arc::clone(&bearer), Arc::clone(&badge)]);
    // These tests guess a lot.
    let authenticator = authenticator.with_failures(Failures::new(1_000, Duration::from_secs(60)));
    serve(agents, authenticator, Tasks::default()).await
}

/// Opens a server with these agents, the first one its default.
pub(crate) async fn serve(
    agents: Vec<(Arc<str>, Access)>,
    authenticator: Authenticator,
    tasks: Tasks,
) -> House {
    let default = Arc::clone(&agents[0].0);
    let log = Log::new(Arc::new(MemoryStore::default()));
    let agent = |(name, access): (Arc<str>, Access)| {
        let mut profile = profile();
        profile.card.capabilities.extended_agent_card = Some(true);
        profile.extended = Some(profile.card.clone());
        access.declare(&mut profile);
        let engine = Engine::new(Parts {
            name: Arc::clone(&name),
            agent: Arc::new(FnAgent::new(|_, _| async {
                Ok(Outcome::Completed(Said::text("done")))
            })),
            profile,
            settings: Settings::default(),
            log: log.clone(),
            guard: Arc::new(Guard::new(Vec::new())),
            tasks: tasks.clone(),
        });
        (name, Authorized::new(engine, Arc::new(access)))
    };
    let table = Arc::new(Table {
        agents: agents.into_iter().map(agent).collect(),
        default,
    });
    let service = Arc::new(http::Service::new(http::Parts {
        handler: Arc::clone(&table) as _,
        directory: Arc::clone(&table) as _,
        authenticator,
        base_url: BaseUrl {
            public_url: Some("http://here".into()),
            trusted_proxies: Vec::new(),
        },
        limits: Limits::default(),
        tasks: tasks.clone(),
    }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(http::serve(listener, service));
    House {
        address,
        table,
        tasks,
    }
}
