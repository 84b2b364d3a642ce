//! What callers may do, as rules in the configuration say it: each allows or denies when an expression is true.
//!
//! Any rule that denies counts. If there are rules that allow, one of them must. A rule of which it cannot be told
//! whether it is true never opens anything: one that allows does not, one that denies does.
//!
//! - `facts`: what expressions may look at.
//! - `rule`: one rule.
//! - `explain`: what would be decided, and why.

mod explain;
mod facts;
mod rule;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use switchboard_server::auth::{About, Ask, Denial, Policy, Verdict};

pub(crate) use self::explain::explain;
pub(crate) use self::facts::{CALLER, caller as caller_facts};
use self::facts::{Facts, SKILL, TASK};
pub(crate) use self::rule::Seldom;
pub use self::rule::{Effect, On, Rule};

/// What a caller is told whom a rule denies something.
const DENIED: &str = "this is not allowed";

/// The rules of one agent.
#[derive(Debug)]
pub(crate) struct Rules {
    rules: Vec<Arc<Rule>>,
    /// The agent's skills.
    skills: Vec<Arc<str>>,
    /// Those that rules name.
    restricted: Vec<Arc<str>>,
}

/// What came of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is true.
    True,
    /// It is not.
    False,
    /// It cannot be told.
    Failed(String),
    /// It is not about calls that come by this way.
    Elsewhere,
    /// It is about a task that may not be the caller's: not looked at.
    Unseen,
    /// Another one has allowed it.
    NotNeeded,
}

/// What came of the rules that were looked at, in their order.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) verdict: Verdict,
    pub(crate) outcomes: Vec<Outcome>,
    /// The rule that decided.
    pub(crate) decided: Option<usize>,
}

impl Rules {
    /// Rules for an agent with these skills.
    pub(crate) fn new(rules: Vec<Arc<Rule>>, skills: Vec<Arc<str>>) -> Self {
        let names = |rule: &Rule, skill: &str| {
            let when = &rule.when;
            // A rule that speaks of skills without naming one speaks of all.
            let names_one = || skills.iter().any(|known| when.has_text(known));
            when.mentions(SKILL) && (when.has_text(skill) || !names_one())
        };
        let named = |skill: &&Arc<str>| rules.iter().any(|rule| names(rule, skill));
        let restricted = skills.iter().filter(named).map(Arc::clone).collect();
        Self {
            rules,
            skills,
            restricted,
        }
    }

    /// All of them, in their order.
    pub(crate) fn all(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// Looks at one rule after the other until it is decided.
    pub(crate) fn walk(&self, ask: &Ask<'_>) -> Walk {
        let facts = Facts::of(ask, &self.skills, &self.rules);
        let mut walk = Walk {
            verdict: Verdict::Allow,
            outcomes: Vec::with_capacity(self.rules.len()),
            decided: None,
        };
        let (mut may_allow, mut later) = (false, false);
        for (at, rule) in self.rules.iter().enumerate() {
            let allowed = walk.decided.is_some();
            let outcome = match rule.effect {
                _ if !rule.on.covers(ask.origin) => Outcome::Elsewhere,
                Effect::Allow if allowed => Outcome::NotNeeded,
                _ if matches!(ask.task, About::Unseen) && rule.when.mentions(TASK) => {
                    Outcome::Unseen
                }
                _ => rule.ask(&facts, ask),
            };
            may_allow |= rule.effect == Effect::Allow && outcome != Outcome::Elsewhere;
            later |= rule.effect == Effect::Allow && outcome == Outcome::Unseen;
            let denies = rule.effect == Effect::Deny
                && matches!(outcome, Outcome::True | Outcome::Failed(_));
            if rule.effect == Effect::Allow && outcome == Outcome::True {
                walk.decided = Some(at);
            }
            walk.outcomes.push(outcome);
            if denies {
                walk.decided = Some(at);
                walk.verdict = Verdict::Deny(Denial {
                    tell: rule.tell,
                    ..Denial::by(Arc::clone(&rule.name), DENIED)
                });
                return walk;
            }
        }
        if may_allow && walk.decided.is_none() && !later {
            walk.verdict = Verdict::Deny(Denial::by("no rule allows it", DENIED));
        }
        walk
    }
}

impl Policy for Rules {
    fn decide(&self, ask: &Ask<'_>) -> Verdict {
        self.walk(ask).verdict
    }

    fn looks_at_tasks(&self) -> bool {
        self.rules.iter().any(|rule| rule.when.mentions(TASK))
    }

    fn restricts(&self, skill: &str) -> bool {
        self.restricted.iter().any(|known| **known == *skill)
    }
}
