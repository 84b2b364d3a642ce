//! A server whose agents let some in and others not.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderName};
use serde_json::json;
use switchboard_server::agent::{Outcome, Said};
use switchboard_server::auth::keys::{ApiKeys, KeyScheme};
use switchboard_server::auth::{
    About, Access, Action, Alternative, Ask, Audit, Authenticator, Denial, Failures, Policy,
    Scheme, SkillAccess, Verdict,
};
use switchboard_server::authorize::Authorized;
use switchboard_server::binding::{self, Service};
use switchboard_server::call::Origin;
use switchboard_server::egress::Guard;
use switchboard_server::engine::{Engine, Parts, Settings};
use switchboard_server::http::{self, Cors, Limits};
use switchboard_server::log::Log;
use switchboard_server::net::BaseUrl;
use switchboard_server::principal::Principal;
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::MemoryStore;
use switchboard_server::store::access::{AccessStore, MemoryAccess};
use switchboard_server::table::Table;
use switchboard_server::testing::agent::{FnAgent, profile};
use switchboard_types::model::{ApiKeyLocation, Skill, TaskState};
use switchboard_types::operation::Method;
use tokio::net::TcpListener;

use crate::schemes::{Badge, Bearer};

/// How long keys are good that are made by HTTP, and how many one caller may have.
pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);
pub(crate) const MOST_KEYS: usize = 5;

/// A server on a socket; gone when it is dropped.
pub(crate) struct House {
    pub(crate) address: SocketAddr,
    pub(crate) table: Arc<Table>,
    pub(crate) access: Arc<dyn AccessStore>,
    pub(crate) audit: Audit,
    /// Who asked, with what.
    pub(crate) callers: Arc<Mutex<Vec<Principal>>>,
    tasks: Tasks,
}

impl Drop for House {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

impl House {
    /// Stops, as a signal does.
    pub(crate) fn stop(&self) {
        self.tasks.stop();
    }
}

/// Denies some operations, all work for other agents, and reading finished tasks.
#[derive(Debug)]
struct Strict {
    tasks: bool,
}

impl Policy for Strict {
    fn decide(&self, ask: &Ask<'_>) -> Verdict {
        let no = |rule: &str, message: &str| Verdict::Deny(Denial::by(rule, message));
        let ended = match ask.task {
            About::Own(task) => task.state == TaskState::Completed,
            About::Nothing | About::Unseen => false,
        };
        match (ask.origin, ask.action) {
            (Origin::Agent(name), _) => no("no-errands", &format!("{name} may not ask for others")),
            (_, Action::CreateApiKey) => no("no-keys", "no keys for you"),
            (_, Action::Call(Method::Get | Method::Stream)) if !self.tasks => {
                no("no-reading", "not for you")
            }
            (_, Action::Call(Method::Get)) if ended => no("no-looking-back", "it is over"),
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
/// | `clerk` | the same; it asks once before it is done |
/// | `shop`, `stall` | a key, else a bearer; the stall never comes to an end |
/// | `guild` | a bearer, else nobody known; one skill is for all, `gild` and `show` for who may read |
/// | `cellar` | a bearer who may read; others do not see it |
/// | `kiosk` | a key, which its card wants in the query |
/// | `porter` | a bearer; it sees some of the headers |
pub(crate) async fn open(names: &[&str]) -> House {
    open_with(names, Arc::new(MemoryAccess::new())).await
}

/// The same, with keys and audit in that store.
pub(crate) async fn open_with(names: &[&str], access_store: Arc<dyn AccessStore>) -> House {
    let tasks = Tasks::default();
    let books = Books::open(access_store, &tasks);
    let keys = async |name: &str| {
        let keys = ApiKeys::open(Arc::clone(&books.store), name, &tasks).await;
        keys.unwrap()
    };
    let made_here = keys("keys").await;
    let key: Arc<dyn Scheme> = Arc::new(KeyScheme::new(made_here.clone()));
    let asked_for: Arc<dyn Scheme> = Arc::new(KeyScheme::declared_in(
        keys("coins").await,
        ApiKeyLocation::Query,
        "coin",
    ));
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
            "archive" | "clerk" => {
                Access::by(vec![with_bearer()]).ruled_by(Arc::new(Strict { tasks: true }))
            }
            "shop" | "stall" => {
                Access::by(vec![Alternative(vec![Arc::clone(&key)]), with_bearer()])
            }
            "guild" => {
                Access::by(vec![with_bearer(), Alternative::default()]).with_skills(skills())
            }
            "cellar" => Access::by(vec![with_bearer()])
                .needing(vec!["read".into()])
                .hidden(),
            "kiosk" => Access::by(vec![Alternative(vec![Arc::clone(&asked_for)])]),
            _ => Access::by(vec![with_bearer()]),
        };
        (Arc::from(*name), access)
    };
    let agents = names.iter().map(access).collect();
    let authenticator = Authenticator::new(vec![bearer, badge, key, asked_for])
        // These tests guess a lot.
        .with_failures(Failures::new(1_000, Duration::from_secs(60)))
        .audited(books.audit.clone())
        .making_keys(made_here, "keys:create", Some(DAY), MOST_KEYS);
    serve(agents, authenticator, books, tasks).await
}

/// A question with that id.
fn question(id: &str) -> Said {
    let request = json!({"inputRequest": {"requestId": id}});
    Said {
        message_metadata: Some(request.as_object().unwrap().into()),
        ..Said::text("which one?")
    }
}

/// What the skills of `guild` ask for.
fn skills() -> Vec<SkillAccess> {
    let skill = |id: &str, scopes: &[&str], listed| SkillAccess {
        id: id.into(),
        scopes: scopes.iter().map(|scope| Arc::from(*scope)).collect(),
        listed,
    };
    vec![
        skill("carve", &[], false),
        skill("gild", &["read"], false),
        skill("show", &["read"], true),
    ]
}

fn on_card(skill: &SkillAccess) -> Skill {
    Skill::new(&*skill.id, &*skill.id, "a craft")
}

/// Where keys and what happens at the doors are kept.
pub(crate) struct Books {
    store: Arc<dyn AccessStore>,
    pub(crate) audit: Audit,
}

impl Books {
    pub(crate) fn open(store: Arc<dyn AccessStore>, tasks: &Tasks) -> Self {
        let audit = Audit::start(Arc::clone(&store), tasks);
        Self { store, audit }
    }

    /// Of a server whose tests do not look into them.
    pub(crate) fn unread(tasks: &Tasks) -> Self {
        Self::open(Arc::new(MemoryAccess::new()), tasks)
    }
}

/// Opens a server with these agents, the first one its default.
pub(crate) async fn serve(
    agents: Vec<(Arc<str>, Access)>,
    authenticator: Authenticator,
    books: Books,
    tasks: Tasks,
) -> House {
    serve_with(agents, authenticator, books, tasks, |_| {}).await
}

/// The same, with something about it changed.
pub(crate) async fn serve_with(
    agents: Vec<(Arc<str>, Access)>,
    authenticator: Authenticator,
    books: Books,
    tasks: Tasks,
    change: impl FnOnce(&mut binding::Parts),
) -> House {
    let default = Arc::clone(&agents[0].0);
    let callers: Arc<Mutex<Vec<Principal>>> = Arc::default();
    let log = Log::new(Arc::new(MemoryStore::default()));
    let agent = |(name, access): (Arc<str>, Access)| {
        let mut profile = profile();
        profile.card.capabilities.extended_agent_card = Some(true);
        if &*name == "guild" {
            profile.card.skills = skills().iter().map(on_card).collect();
        }
        profile.extended = Some(profile.card.clone());
        access.declare(&mut profile);
        let works_on = &*name == "stall";
        let asks = &*name == "clerk";
        let seen = Arc::clone(&callers);
        let agent = FnAgent::new(move |turn, _| {
            seen.lock().unwrap().push(turn.principal.clone());
            async move {
                if works_on {
                    std::future::pending::<()>().await;
                }
                if asks && turn.task.history.len() == 1 {
                    return Ok(Outcome::InputRequired(question("q")));
                }
                Ok(Outcome::Completed(Said::text("done")))
            }
        });
        let engine = Engine::new(Parts {
            agent: Arc::new(match &*name {
                "porter" => agent.forwarding(&[AUTHORIZATION, HeaderName::from_static("x-trace")]),
                _ => agent,
            }),
            router: None,
            name,
            profile,
            settings: Settings::default(),
            log: log.clone(),
            guard: Arc::new(Guard::new(Vec::new())),
            tasks: tasks.clone(),
        });
        let guarded = Authorized::new(engine, Arc::new(access));
        guarded.audited(books.audit.clone())
    };
    let table = Arc::new(Table::default());
    table.change(agents.into_iter().map(agent).collect(), &[], &default);
    let mut parts = binding::Parts {
        handler: Arc::clone(&table) as _,
        directory: Arc::clone(&table) as _,
        authenticator,
        base_url: BaseUrl {
            public_url: Some("http://here".into()),
            trusted_proxies: Vec::new(),
        },
        cors: Cors::default(),
        limits: Limits::default(),
        tasks: tasks.clone(),
    };
    change(&mut parts);
    let service = Arc::new(Service::new(parts));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(http::serve(listener, service, None));
    House {
        address,
        table,
        access: books.store,
        audit: books.audit,
        callers,
        tasks,
    }
}
