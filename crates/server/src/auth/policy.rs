//! What a policy is asked, and what it says.

use std::fmt;
use std::sync::Arc;

use switchboard_types::model::{ContextId, TaskId, TaskState, Timestamp};
use switchboard_types::operation::Method;

use crate::call::Origin;
use crate::principal::Principal;

/// Decides what callers who are let in may do.
pub trait Policy: Send + Sync + fmt::Debug {
    /// May they?
    fn decide(&self, ask: &Ask<'_>) -> Verdict;

    /// Whether it also wants to be asked with the task that the operation is about. It is shown a caller's own
    /// tasks only: a refusal must not tell that there is a task.
    fn looks_at_tasks(&self) -> bool {
        false
    }

    /// Whether it says more of this skill than of its agent as a whole.
    fn restricts(&self, _skill: &str) -> bool {
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
    pub action: Action,
    /// For which skill; `None` if none is named.
    pub skill: Option<&'a str>,
    /// About which task.
    pub task: About<'a>,
    /// By which way.
    pub origin: &'a Origin,
    /// When.
    pub now: Timestamp,
}

/// What a caller wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// One of A2A's operations.
    Call(Method),
    /// To know that there is this agent, if not everyone may.
    ReadCard,
    /// To make an API key for it.
    CreateApiKey,
}

impl Action {
    /// Its name: that of the operation in A2A 1.0, else `GetAgentCard` or `CreateApiKey`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Call(method) => method.name(),
            Self::ReadCard => "GetAgentCard",
            Self::CreateApiKey => "CreateApiKey",
        }
    }

    /// The action of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|action| action.name() == name)
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let calls = Method::ALL.into_iter().map(Self::Call);
        calls.chain([Self::ReadCard, Self::CreateApiKey])
    }

    /// Whether it asks an agent to work, by one of its skills.
    pub(crate) fn needs_skill(self) -> bool {
        matches!(self, Self::Call(Method::Send | Method::Stream))
    }
}

/// Which task an operation is about.
#[derive(Debug, Clone, Copy)]
pub enum About<'a> {
    /// None.
    Nothing,
    /// One that may be someone else's, or not be there. Only what can be said without looking at it is said; if that
    /// is no denial, there is a second question once it is known to be the caller's.
    Unseen,
    /// This one, which is the caller's.
    Own(TaskFacts<'a>),
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
    /// Since when.
    pub updated: Option<Timestamp>,
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
    /// The caller is told the name of the rule, too.
    pub tell: bool,
    /// What the caller would have to be granted.
    pub missing: Vec<Arc<str>>,
}

impl Denial {
    /// A denial by that rule. The caller is not told which one it was.
    pub fn by(rule: impl Into<Arc<str>>, message: impl Into<String>) -> Self {
        Self {
            rule: rule.into(),
            message: message.into(),
            tell: false,
            missing: Vec::new(),
        }
    }
}

/// Allows everything.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AllowAll;

impl Policy for AllowAll {
    fn decide(&self, _: &Ask<'_>) -> Verdict {
        Verdict::Allow
    }
}
