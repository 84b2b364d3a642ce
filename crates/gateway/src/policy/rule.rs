//! One rule.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use switchboard_server::auth::Ask;
use switchboard_server::call::Origin;
use switchboard_types::model::Timestamp;

use super::Outcome;
use super::facts::{Facts, VARIABLES};
use crate::cel::{Expression, Unusable};
use crate::config::Place;

/// How often the log tells that a rule fails, in microseconds.
const SELDOM: i64 = 60_000_000;

/// Allows or denies something when an expression is true.
#[derive(Debug)]
pub struct Rule {
    /// Its name, for the log.
    pub(crate) name: Arc<str>,
    /// Where it is written.
    pub(crate) place: Place,
    /// What it does.
    pub(crate) effect: Effect,
    /// When it does.
    pub(crate) when: Expression,
    /// Callers are told its name.
    pub(crate) tell: bool,
    /// Which calls it is about.
    pub(crate) on: On,
    told: Seldom,
}

/// Keeps the log from being filled by who may send what makes a rule fail: it holds when the log was last told.
#[derive(Debug, Default)]
pub(crate) struct Seldom(AtomicI64);

impl Seldom {
    /// Whether it is time to tell it again.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        let now = now.as_micros();
        let due = now.saturating_sub(self.0.load(Ordering::Relaxed)) >= SELDOM;
        if due {
            self.0.store(now, Ordering::Relaxed);
        }
        due
    }
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It lets calls through.
    Allow,
    /// It does not.
    Deny,
}

impl Effect {
    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

/// Which calls a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// Those that come over the network.
    Caller,
    /// Those of other agents, on behalf of their callers.
    Delegation,
    /// Both.
    Both,
}

impl On {
    pub(super) fn covers(self, origin: &Origin) -> bool {
        match (self, origin) {
            (Self::Both, _) => true,
            (Self::Caller, Origin::Network) | (Self::Delegation, Origin::Agent(_)) => true,
            (Self::Caller, Origin::Agent(_)) | (Self::Delegation, Origin::Network) => false,
        }
    }
}

impl Rule {
    /// A rule that callers are not told of, about calls over the network.
    ///
    /// # Errors
    ///
    /// If the expression cannot be used.
    pub(crate) fn new(
        name: impl Into<Arc<str>>,
        place: Place,
        effect: Effect,
        when: &str,
    ) -> Result<Self, Unusable> {
        Ok(Self {
            name: name.into(),
            place,
            effect,
            when: Expression::compile(when, &VARIABLES)?,
            tell: false,
            on: On::Caller,
            told: Seldom::default(),
        })
    }

    pub(super) fn ask(&self, facts: &Facts, ask: &Ask<'_>) -> Outcome {
        match self.when.is_true(&facts.values) {
            Ok(true) => Outcome::True,
            Ok(false) => Outcome::False,
            Err(cause) => {
                self.tell(&cause, ask);
                Outcome::Failed(cause)
            }
        }
    }

    fn tell(&self, cause: &str, ask: &Ask<'_>) {
        if self.told.is_due(ask.now) {
            let (rule, agent) = (&*self.name, ask.agent);
            tracing::warn!(
                rule,
                agent,
                error = cause,
                "could not evaluate a policy rule"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use switchboard_server::auth::{About, Action};
    use switchboard_server::principal::Principal;

    use super::*;

    #[test]
    fn a_rule_that_fails_is_told_of_once_a_minute() {
        let when = "caller.claims.dept == 1";
        let rule = Rule::new("r", Place::Default, Effect::Allow, when).unwrap();
        let rules = [Arc::new(rule)];
        let nobody = Principal::known(Vec::new());
        let told = [0, 59, 60, 61, 119, 120].map(|second| {
            let ask = Ask {
                caller: &nobody,
                agent: "a",
                action: Action::ReadCard,
                skill: None,
                task: About::Nothing,
                origin: &Origin::Network,
                now: Timestamp::from_micros((1_000 + second) * 1_000_000),
            };
            let failed = rules[0].ask(&Facts::of(&ask, &[], &rules), &ask);
            assert!(matches!(failed, Outcome::Failed(_)));
            rules[0].told.0.load(Ordering::Relaxed) / 1_000_000 - 1_000
        });
        assert_eq!(told, [0, 0, 60, 60, 60, 120]);
    }
}
