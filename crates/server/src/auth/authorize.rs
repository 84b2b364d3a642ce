//! The one place where an operation is allowed or not: around each engine, so that nothing goes past it.

use std::fmt;
use std::sync::Arc;

use switchboard_types::model::{ContextId, TaskId, TaskState};
use switchboard_types::operation::{Method, Operation};
use switchboard_types::{Error, ErrorKind};

use super::{Access, Audit, Principal};
use crate::call::{Answering, Call, Handler, Listing, Origin, Reply};
use crate::engine::Engine;
use crate::store::access::{AuditEntry, What};

/// Decides what callers who are let in may do.
pub trait Policy: Send + Sync + fmt::Debug {
    /// May they?
    fn decide(&self, ask: &Ask<'_>) -> Verdict;

    /// Whether it also wants to be asked with the task that the operation is about. It is shown a caller's own
    /// tasks only: a refusal must not tell that there is a task.
    fn looks_at_tasks(&self) -> bool {
        false
    }
}

/// What a policy is asked.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Who asks.
    pub caller: &'a Principal,
    /// Which agent.
    pub agent: &'a str,
    /// For what.
    pub operation: Method,
    /// About which task; `None` until it is known to be the caller's.
    pub task: Option<TaskFacts<'a>>,
    /// By which way.
    pub origin: &'a Origin,
}

/// What a policy may know of a task.
#[derive(Debug, Clone, Copy)]
pub struct TaskFacts<'a> {
    /// The task.
    pub id: &'a TaskId,
    /// Its conversation.
    pub context: &'a ContextId,
    /// How it stands.
    pub state: TaskState,
}

/// What a policy says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// No.
    Deny(Denial),
}

/// Why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The rule that said so, for our log.
    pub rule: Arc<str>,
    /// What the caller is told.
    pub message: String,
}

/// Allows everything.
#[derive(Debug, Clone, Copy)]
pub struct AllowAll;

impl Policy for AllowAll {
    fn decide(&self, _: &Ask<'_>) -> Verdict {
        Verdict::Allow
    }
}

/// An engine that answers only what its agent's policy allows.
#[derive(Debug)]
pub struct Authorized {
    engine: Engine,
    access: Arc<Access>,
    audit: Audit,
}

impl Authorized {
    /// The engine, behind that door.
    #[must_use]
    pub fn new(engine: Engine, access: Arc<Access>) -> Self {
        Self {
            engine,
            access,
            audit: Audit::off(),
        }
    }

    /// The same, and writes down what is denied and what is canceled.
    #[must_use]
    pub fn audited(mut self, audit: Audit) -> Self {
        self.audit = audit;
        self
    }

    /// How it stands in a directory.
    #[must_use]
    pub fn listing(&self) -> Listing {
        Listing {
            name: Arc::clone(self.engine.name()),
            profile: Arc::clone(self.engine.profile()),
            access: Arc::clone(&self.access),
            forwards: self.engine.forwards().map(Arc::clone),
        }
    }

    fn decide(&self, call: &Call, task: Option<TaskFacts<'_>>) -> Result<(), Error> {
        let operation = call.operation.method();
        let ask = Ask {
            caller: &call.principal,
            agent: self.engine.name(),
            operation,
            task,
            origin: &call.origin,
        };
        let Verdict::Deny(Denial { rule, message }) = self.access.policy().decide(&ask) else {
            return Ok(());
        };
        let (who, operation) = (call.principal.owner().as_str(), operation.name());
        tracing::debug!(who, agent = ask.agent, operation, %rule, "denied");
        let denied = self.noted(What::Denied, &call.principal);
        self.audit
            .note(denied.about(operation).with("rule", &*rule));
        Err(Error::new(ErrorKind::PermissionDenied, message))
    }

    fn noted(&self, what: What, who: &Principal) -> AuditEntry {
        AuditEntry {
            agent: Some(self.engine.name().to_string()),
            address: who.address().map(|address| address.to_string()),
            ..AuditEntry::new(what, who.owner().as_str())
        }
    }

    /// Hands a call to the engine.
    fn pass(&self, call: Call) -> Answering<'_> {
        let Operation::Cancel(cancel) = &call.operation else {
            return self.engine.handle(call);
        };
        let canceled = self.noted(What::Canceled, &call.principal);
        let canceled = canceled.about(cancel.id.as_str());
        Box::pin(async move {
            let reply = self.engine.handle(call).await?;
            self.audit.note(canceled);
            Ok(reply)
        })
    }

    /// Asks again, with the task: it is the caller's, or it is not there.
    async fn look_at_task(&self, call: Call, id: &TaskId) -> Result<Reply, Error> {
        let log = self.engine.own_task(&call.principal, id).await?;
        let task = TaskFacts {
            id: log.id(),
            context: &log.origin().context,
            state: log.last().1,
        };
        self.decide(&call, Some(task))?;
        self.pass(call).await
    }
}

impl Handler for Authorized {
    fn handle(&self, call: Call) -> Answering<'_> {
        if let Err(error) = self.decide(&call, None) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let task = Some(&call.operation).filter(|_| self.access.policy().looks_at_tasks());
        match task.and_then(task_in).cloned() {
            Some(id) => Box::pin(async move { self.look_at_task(call, &id).await }),
            None => self.pass(call),
        }
    }
}

/// The task that an operation is about.
fn task_in(operation: &Operation) -> Option<&TaskId> {
    match operation {
        Operation::Send(send) | Operation::Stream(send) => send.message.task_id.as_ref(),
        Operation::Get(get) => Some(&get.id),
        Operation::Cancel(cancel) => Some(&cancel.id),
        Operation::Subscribe(watch) => Some(&watch.id),
        Operation::CreatePushConfig(config) => config.task_id.as_ref(),
        Operation::GetPushConfig(get) => Some(&get.task_id),
        Operation::ListPushConfigs(list) => Some(&list.task_id),
        Operation::DeletePushConfig(delete) => Some(&delete.task_id),
        Operation::List(_) | Operation::ExtendedCard => None,
    }
}
