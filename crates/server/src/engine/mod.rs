//! The engine of one agent: turns calls into tasks, turns and answers.
//!
//! One file per concern: `send` begins tasks, `next_turn` continues them, `by_context` finds the task that an answer
//! without a task id is for, `answer` waits for what the caller gets, `bounds` says how much is taken, `run` watches the
//! agent (`recorded` tells a collector of it), `query`, `subscribe`, `cancel`,
//! `push_config` and `card` answer the rest, [`recover`] leaves no task hanging at start.

mod answer;
mod bounds;
mod by_context;
mod cancel;
mod card;
mod client;
mod events;
mod idempotency;
mod next_turn;
mod push_config;
mod query;
mod recorded;
pub mod recover;
mod release;
mod run;
mod secrets;
mod send;
mod settings;
mod subscribe;
mod turn_end;
mod turns;
mod unanswered;

use std::sync::{Arc, Weak};

use hyper::header::HeaderName;
use parking_lot::RwLock;
use switchboard_types::Error;
use switchboard_types::model::TaskId;
use switchboard_types::operation::{GetTask, Operation, Response, Subscribe};
use tokio::sync::Semaphore;

use crate::agent::{Agent, Router, TurnContext};
use crate::call::{Answering, Call, Handler, Origin, Reply, ReplyBody, ServiceParams};
use crate::card::Profile;
use crate::egress::Guard;
use crate::hops::Hop;
use crate::log::{Log, TaskLog};
use crate::metrics::Meter;
use crate::principal::Principal;
use crate::shutdown::Tasks;
use crate::store;
use crate::task::Owner;

pub(crate) use by_context::has_gone_on;
pub use events::refused_cancel;
pub use settings::{OnDisconnect, OnInputTimeout, Settings};

/// The engine of one agent; cheap to clone.
#[derive(Debug, Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    name: Arc<str>,
    agent: Arc<dyn Agent>,
    router: Option<Arc<dyn Router>>,
    /// What the card says can become known later: see [`crate::authorize::Authorized::renewed`].
    profile: RwLock<Arc<Profile>>,
    settings: Settings,
    log: Log,
    guard: Arc<Guard>,
    tasks: Tasks,
    lineage: Arc<Lineage>,
    turn_context: Arc<TurnContext>,
    meter: Arc<Meter>,
    /// The headers that the agent is to see; read once, so that nobody pays for nothing.
    forwarded_headers: Option<Arc<[HeaderName]>>,
}

/// What the engines of one agent share that come one after the other.
#[derive(Debug)]
struct Lineage {
    keys: idempotency::InFlight,
    /// A permit for each attempt to release an upstream.
    releases: Semaphore,
    input_deadlines: unanswered::InputDeadlines,
    /// The one that begins turns; nothing as long as there is only one.
    latest: RwLock<Weak<Shared>>,
}

impl Default for Lineage {
    fn default() -> Self {
        Self {
            keys: idempotency::InFlight::default(),
            releases: Semaphore::new(release::MAX_CONCURRENT_RELEASES),
            input_deadlines: unanswered::InputDeadlines::default(),
            latest: RwLock::default(),
        }
    }
}

/// What an engine is made of.
#[derive(Debug)]
pub struct Parts {
    /// The agent's name in paths.
    pub name: Arc<str>,
    /// Who takes its turns.
    pub agent: Arc<dyn Agent>,
    /// Who decides whether another agent takes a new task, if anyone does.
    pub router: Option<Arc<dyn Router>>,
    /// What its card says.
    pub profile: Profile,
    /// How it treats its tasks.
    pub settings: Settings,
    /// Where its tasks are.
    pub log: Log,
    /// Where webhooks may point.
    pub guard: Arc<Guard>,
    /// Who owns what it spawns.
    pub tasks: Tasks,
}

impl Engine {
    /// Assembles an engine. Its numbers are told from [`Engine::take_over`] on.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self::of(parts, Arc::default())
    }

    /// Assembles an engine for the same agent with something else behind it. What is under way here is known to both, so
    /// that nothing is run twice. It counts from [`Engine::take_over`] on.
    #[must_use]
    pub fn next(&self, parts: Parts) -> Self {
        Self::of(parts, Arc::clone(&self.shared.lineage))
    }

    /// Turns that begin from now on are taken here, also those of tasks that earlier engines began. Turns that have begun
    /// go on to their end where they are.
    pub fn take_over(&self) {
        self.shared.meter.comes();
        *self.shared.lineage.latest.write() = Arc::downgrade(&self.shared);
    }

    /// The engine that begins turns now.
    fn latest(&self) -> Self {
        let latest = self.shared.lineage.latest.read().upgrade();
        latest.map_or_else(|| self.clone(), |shared| Self { shared })
    }

    /// Whether both are one engine.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    fn of(mut parts: Parts, lineage: Arc<Lineage>) -> Self {
        let name = Arc::clone(&parts.name);
        let hop = parts.settings.hop.take();
        let turn_context = Arc::new(TurnContext {
            store: Arc::clone(parts.log.store()),
            agent: Arc::clone(&parts.name),
            hop: hop.unwrap_or_else(|| Hop::new(|| name)),
            allowed: parts.settings.allowed,
            upstream_timeout: parts.settings.upstream_timeout,
        });
        let forwarded = parts.agent.forwarded_headers();
        Self {
            shared: Arc::new(Shared {
                forwarded_headers: (!forwarded.is_empty()).then(|| forwarded.into()),
                meter: parts.log.metrics().agent(&parts.name),
                name: parts.name,
                agent: parts.agent,
                router: parts.router,
                profile: RwLock::new(Arc::new(parts.profile)),
                settings: parts.settings,
                log: parts.log,
                guard: parts.guard,
                tasks: parts.tasks,
                lineage,
                turn_context,
            }),
        }
    }

    /// The agent's name in paths.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.shared.name
    }

    /// Who takes its turns.
    #[must_use]
    pub fn agent(&self) -> &Arc<dyn Agent> {
        &self.shared.agent
    }

    /// Whether routing rules may look at what a message says.
    pub(crate) fn routes_by_message(&self) -> bool {
        let router = self.shared.router.as_ref();
        router.is_some_and(|router| router.reads_messages())
    }

    /// What its card says.
    #[must_use]
    pub fn profile(&self) -> Arc<Profile> {
        let profile = self.shared.profile.read();
        Arc::clone(&profile)
    }

    /// Another card from now on.
    pub(crate) fn set_profile(&self, profile: Arc<Profile>) {
        *self.shared.profile.write() = profile;
    }

    /// Its numbers.
    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.shared.meter
    }

    /// The headers of a request that the agent is to see, if any.
    pub(crate) fn forwarded_headers(&self) -> Option<&Arc<[HeaderName]>> {
        self.shared.forwarded_headers.as_ref()
    }

    /// The log of a task that this call may see.
    async fn task_of(&self, call: &Scope, id: &TaskId) -> Result<Arc<TaskLog>, Error> {
        self.own_task(&call.principal, id).await
    }

    /// The log of a task that is this caller's. Absent and foreign look alike.
    pub(crate) async fn own_task(
        &self,
        principal: &Principal,
        id: &TaskId,
    ) -> Result<Arc<TaskLog>, Error> {
        let log = self
            .shared
            .log
            .open(id)
            .await
            .map_err(store::Error::for_caller)?;
        log.filter(|log| self.shows(principal, &log.origin().owner, &log.origin().agent))
            .ok_or_else(|| Error::task_not_found(id.as_str()))
    }

    /// Whether this caller may see a task of that owner and agent.
    fn shows(&self, principal: &Principal, owner: &Owner, agent: &str) -> bool {
        owner == principal.owner() && *agent == *self.shared.name
    }
}

/// Who asks, once the operation has been taken out of the call.
#[derive(Debug, Clone)]
struct Scope {
    principal: Principal,
    params: ServiceParams,
    origin: Origin,
}

impl Handler for Engine {
    fn handle(&self, call: Call) -> Answering {
        Box::pin(self.clone().act(call))
    }
}

impl Engine {
    /// Not an `async fn`: its future would have room for the call twice, as it came and as it is used.
    fn act(self, call: Call) -> impl Future<Output = Result<Reply, Error>> + Send {
        let operation = call.operation;
        let scope = Scope {
            principal: call.principal,
            params: call.params,
            origin: call.origin,
        };
        async move {
            let extensions = self.profile().activate(&scope.params.extensions)?;
            let read = match (&scope.params.trace, &operation) {
                (
                    Some(trace),
                    Operation::Get(GetTask { id, .. }) | Operation::Subscribe(Subscribe { id }),
                ) if trace.is_recorded() => Some(id.clone()),
                _ => None,
            };
            let body = match operation {
                Operation::Send(send) => self.send(&scope, send).await?,
                Operation::Stream(send) => ReplyBody::Stream(self.stream(&scope, send).await?),
                Operation::Get(get) => ReplyBody::Response(self.get(&scope, &get).await?),
                // Boxed, as below: the future of every call would have room for them.
                Operation::Subscribe(watch) => {
                    ReplyBody::Stream(Box::pin(self.subscribe(&scope, &watch)).await?.into())
                }
                other => ReplyBody::Response(Box::pin(self.answer(&scope, other)).await?),
            };
            let about = match read {
                Some(id) => Box::pin(self.shared.log.trace_of(&id))
                    .await
                    .map_err(store::Error::for_caller)?,
                None => None,
            };
            Ok(Reply {
                body,
                extensions,
                about: about.map(Box::new),
            })
        }
    }

    /// The operations that only read or change records.
    async fn answer(&self, scope: &Scope, operation: Operation) -> Result<Response, Error> {
        match operation {
            Operation::List(list) => self.list(scope, &list).await,
            Operation::Cancel(cancel) => self.cancel(scope, &cancel).await,
            Operation::CreatePushConfig(config) => self.create_push_config(scope, config).await,
            Operation::GetPushConfig(get) => self.get_push_config(scope, &get).await,
            Operation::ListPushConfigs(list) => self.list_push_configs(scope, &list).await,
            Operation::DeletePushConfig(delete) => self.delete_push_config(scope, &delete).await,
            Operation::ExtendedCard => self.extended_card(scope),
            Operation::Send(_)
            | Operation::Stream(_)
            | Operation::Subscribe(_)
            | Operation::Get(_) => Err(Error::internal()),
        }
    }
}
