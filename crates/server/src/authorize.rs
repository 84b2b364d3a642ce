//! The one place where an operation is allowed or not: around each engine, so that nothing goes past it.

use std::sync::Arc;

use switchboard_types::Error;
use switchboard_types::model::{ContextId, Task, TaskId};
use switchboard_types::operation::{ListTasks, Method, Operation, Response};

use crate::auth::{About, Access, Action, Ask, Audit, TaskFacts, Verdict, noted, skill};
use crate::call::{Answering, Call, Handler, Reply, ReplyBody};
use crate::card::Profile;
use crate::clock;
use crate::directory::Listing;
use crate::engine::{Engine, has_gone_on};
use crate::log::TaskLog;
use crate::store::access::{AuditEntry, What};
use crate::task::Head;

/// How often a message looks for the task that it answers by its context.
const MAX_ANSWER_ATTEMPTS: usize = 8;

/// An engine that answers only what its agent's policy allows; cheap to clone.
#[derive(Debug, Clone)]
pub struct Authorized(Arc<Guarded>);

#[derive(Debug, Clone)]
struct Guarded {
    engine: Engine,
    access: Arc<Access>,
    listing: Arc<Listing>,
    audit: Audit,
}

impl Authorized {
    /// The engine, behind that door.
    #[must_use]
    pub fn new(engine: Engine, access: Arc<Access>) -> Self {
        let listing = Listing {
            name: Arc::clone(engine.name()),
            profile: engine.profile(),
            since: clock::now(),
            access: Arc::clone(&access),
            forwards: engine.forwarded_headers().map(Arc::clone),
            meter: Arc::clone(engine.meter()),
        };
        Self(Arc::new(Guarded {
            engine,
            access,
            listing: Arc::new(listing),
            audit: Audit::off(),
        }))
    }

    /// The same, and writes down what is denied and what is canceled.
    #[must_use]
    pub fn audited(&self, audit: Audit) -> Self {
        Self(Arc::new(Guarded {
            audit,
            ..Guarded::clone(&self.0)
        }))
    }

    /// How it stands in a directory.
    #[must_use]
    pub fn listing(&self) -> Arc<Listing> {
        Arc::clone(&self.0.listing)
    }

    /// The engine behind the door.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The same agent with a card that says something else. Calls that are under way go by what it said before.
    #[must_use]
    pub fn renewed(&self, profile: Profile) -> Self {
        let profile = Arc::new(profile);
        self.0.engine.set_profile(Arc::clone(&profile));
        let listing = Listing {
            profile,
            since: clock::now(),
            ..Listing::clone(&self.0.listing)
        };
        Self(Arc::new(Guarded {
            listing: Arc::new(listing),
            ..Guarded::clone(&self.0)
        }))
    }
}

impl Guarded {
    fn ask<'a>(&'a self, call: &'a Call, method: Method, task: About<'a>) -> Ask<'a> {
        Ask {
            caller: &call.principal,
            agent: self.engine.name(),
            action: Action::Call(method),
            skill: None,
            task,
            origin: &call.origin,
            now: clock::now(),
        }
    }

    /// Says no, if the agent's access does.
    fn decide(&self, call: &Call, skill: Option<&str>, task: About<'_>) -> Result<(), Error> {
        let ask = Ask {
            skill,
            ..self.ask(call, call.operation.method(), task)
        };
        self.access.allow(&ask, &self.audit)?;
        // Only those who are let through learn which skills there are.
        self.access.knows_skill(&ask)
    }

    /// Whether the operation is about a task, as far as it can be told without looking for it.
    fn about(&self, operation: &Operation) -> About<'static> {
        let continues = match operation {
            Operation::Send(send) | Operation::Stream(send) => Engine::may_continue(&send.message),
            other => task_in(other).is_some(),
        };
        if continues {
            About::Unseen
        } else {
            About::Nothing
        }
    }

    /// Hands a call to the engine.
    fn pass(self: &Arc<Self>, call: Call) -> Answering {
        match &call.operation {
            Operation::Cancel(cancel) => {
                let canceled = noted(What::Canceled, &call.principal, self.engine.name());
                let canceled = canceled.about(cancel.id.as_str());
                let own = Arc::clone(self);
                Box::pin(async move {
                    // Also if the caller goes away meanwhile: the task is canceled all the same.
                    let mut noting = Noting(&own.audit, Some(canceled));
                    let reply = own.engine.handle(call).await;
                    if reply.is_err() {
                        noting.1 = None;
                    }
                    reply
                })
            }
            Operation::ExtendedCard => {
                let own = Arc::clone(self);
                Box::pin(async move {
                    let caller = call.principal.clone();
                    let mut reply = own.engine.handle(call).await?;
                    if let ReplyBody::Response(Response::Card(card)) = &mut reply.body {
                        own.access.show(own.engine.name(), &caller, card);
                    }
                    Ok(reply)
                })
            }
            _ => self.engine.handle(call),
        }
    }

    /// Asks again, with the task: it is the caller's, or it is not there.
    async fn look_at_task(
        self: Arc<Self>,
        call: Call,
        skill: Option<String>,
    ) -> Result<Reply, Error> {
        let log = match &call.operation {
            Operation::Send(send) | Operation::Stream(send) => {
                let continued = self.engine.continued(&call.principal, &send.message);
                continued.await?
            }
            other => match task_in(other) {
                Some(id) => Some(self.engine.own_task(&call.principal, id).await?),
                None => None,
            },
        };
        match log {
            Some(log) => self.decide_with(&call, skill, &log)?,
            None => self.decide(&call, skill.as_deref(), About::Nothing)?,
        }
        self.pass(call).await
    }

    /// What was said before is answered by a task that is there already: that is to read it. What was not goes on, to
    /// where it `names` a task.
    async fn look_at_repeated(
        self: Arc<Self>,
        call: Call,
        skill: Option<String>,
        names: bool,
    ) -> Result<Reply, Error> {
        if let Operation::Send(send) | Operation::Stream(send) = &call.operation
            && let Some(log) = self.engine.repeats(&call, send).await?
            && let Some((_, task)) = log.view()
        {
            let ask = self.ask(&call, Method::Get, About::Own(facts(&log, Some(&task))));
            self.access.allow(&ask, &self.audit)?;
        }
        match names {
            true => self.look_at_task(call, skill).await,
            false => self.pass(call).await,
        }
    }

    /// Lists the tasks that the caller could read one by one.
    async fn list(self: Arc<Self>, call: Call, list: ListTasks) -> Result<Reply, Error> {
        let ask = self.ask(&call, Method::Get, About::Nothing);
        let visible = |head: &Head| {
            let facts = TaskFacts {
                id: &head.id,
                context: &head.context,
                state: head.state,
                updated: Some(head.updated),
            };
            let task = About::Own(facts);
            self.access.decide(&Ask { task, ..ask }) == Verdict::Allow
        };
        self.engine.list_visible(&call, &list, &visible).await
    }

    fn decide_with(&self, call: &Call, skill: Option<String>, log: &TaskLog) -> Result<(), Error> {
        let task = log.view().map(|(_, task)| task);
        let task = task.as_deref();
        let facts = facts(log, task);
        // Whoever answers a question does not say again what the task is about, and cannot make it another.
        let begun = match Action::Call(call.operation.method()).needs_skill() {
            true => task.and_then(skill::begun_with),
            false => None,
        };
        if let Some(begun) = &begun {
            self.decide(call, Some(begun), About::Own(facts))?;
        }
        match skill.or(begun) {
            Some(skill) => self.decide(call, Some(&skill), About::Own(facts)),
            None => self.decide(call, None, About::Own(facts)),
        }
    }
}

/// Writes down when it is dropped what was begun.
struct Noting<'a>(&'a Audit, Option<AuditEntry>);

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.1.take() {
            self.0.note(entry);
        }
    }
}

impl Handler for Authorized {
    fn handle(&self, call: Call) -> Answering {
        match self.0.engine.answered_context(&call).cloned() {
            Some(context) => Box::pin(self.clone().answer_in(context, call)),
            None => self.authorize(call),
        }
    }
}

impl Authorized {
    /// Takes a message that does not name a task as the answer to the only one that waits in its context. If another
    /// answer comes first, it is looked for again.
    async fn answer_in(self, context: ContextId, call: Call) -> Result<Reply, Error> {
        let mut refused = Error::internal();
        for _ in 0..MAX_ANSWER_ATTEMPTS {
            let waiting = self.0.engine.waiting_in(&context, &call.principal).await?;
            let Some(waiting) = waiting else {
                return self.authorize(call).await;
            };
            let mut answer = call.clone();
            if let Operation::Send(send) | Operation::Stream(send) = &mut answer.operation {
                send.message.task_id = Some(waiting);
            }
            answer.params.only_if_waiting = true;
            match self.authorize(answer).await {
                Err(error) if has_gone_on(&error) => refused = error,
                reply => return reply,
            }
        }
        Err(refused)
    }

    /// Hands a call to the engine, if the policy allows it.
    fn authorize(&self, call: Call) -> Answering {
        let guarded = &self.0;
        if guarded.access.allows_all() {
            // Rules would judge one skill, while the delegated agent may act on the other.
            if guarded.engine.routes_by_message()
                && let Err(error) = skill::named(&call.operation)
            {
                return Box::pin(std::future::ready(Err(error)));
            }
            return match call.operation {
                Operation::Cancel(_) | Operation::ExtendedCard => guarded.pass(call),
                // Straight on: a call is copied with each step.
                _ => guarded.engine.handle(call),
            };
        }
        let skill = match skill::named(&call.operation) {
            Ok(skill) => skill,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let about = guarded.about(&call.operation);
        if let Err(error) = guarded.decide(&call, skill.as_deref(), about) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let looks = guarded.access.policy().looks_at_tasks();
        let again = guarded.access.has_restricted_skills() || looks;
        match (about, &call.operation) {
            (_, Operation::Send(_) | Operation::Stream(_)) if looks => {
                let names = matches!(about, About::Unseen);
                Box::pin(Arc::clone(guarded).look_at_repeated(call, skill, names))
            }
            (About::Unseen, _) if again => Box::pin(Arc::clone(guarded).look_at_task(call, skill)),
            (_, Operation::List(list)) if looks => {
                let list = list.clone();
                Box::pin(Arc::clone(guarded).list(call, list))
            }
            _ => guarded.pass(call),
        }
    }
}

/// What a policy may know of a task.
fn facts<'a>(log: &'a TaskLog, task: Option<&Task>) -> TaskFacts<'a> {
    TaskFacts {
        id: log.id(),
        context: &log.origin().context,
        state: log.last().1,
        updated: task.and_then(|task| task.status.timestamp),
    }
}

/// The task that an operation names; messages apart, which may name it in other ways, too.
fn task_in(operation: &Operation) -> Option<&TaskId> {
    match operation {
        Operation::Get(get) => Some(&get.id),
        Operation::Cancel(cancel) => Some(&cancel.id),
        Operation::Subscribe(watch) => Some(&watch.id),
        Operation::CreatePushConfig(config) => config.task_id.as_ref(),
        Operation::GetPushConfig(get) => Some(&get.task_id),
        Operation::ListPushConfigs(list) => Some(&list.task_id),
        Operation::DeletePushConfig(delete) => Some(&delete.task_id),
        Operation::Send(_)
        | Operation::Stream(_)
        | Operation::List(_)
        | Operation::ExtendedCard => None,
    }
}
