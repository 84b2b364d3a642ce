//! The budget of a task and of all tasks delegated from it: calls, time and tokens. A delegated task gets what is left, and
//! can only lower it.
//!
//! It is in the metadata of messages, as the [hop path](crate::hops) is, so it goes to other gateways, too.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_types::Error;
use switchboard_types::model::{Message, Object, Task, TaskId, Timestamp};
use uuid::Uuid;

use crate::{clock, metadata};

/// The member of a message's metadata.
pub const METADATA: &str = "switchboard/budget";
/// The member of the metadata of a task's last event: what it has cost.
pub const SPENT: &str = "switchboard/spent";

/// What a task may cost; without a number, anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// How many calls of other agents, theirs included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// How many tokens of models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Until when, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
}

/// What every task of an agent may cost, if nothing less is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allowance {
    /// How many calls of other agents, theirs included.
    pub calls: Option<u64>,
    /// How many tokens of models.
    pub tokens: Option<u64>,
    /// How long.
    pub time: Option<Duration>,
}

impl Allowance {
    /// For a task that was made then, in milliseconds since 1970.
    fn since(self, made: i64) -> Budget {
        let last = |time: Duration| {
            let time = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
            made.saturating_add(time)
        };
        Budget {
            calls: self.calls,
            tokens: self.tokens,
            until: self.time.map(last),
        }
    }
}

/// What something has cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Calls of other agents.
    pub calls: u64,
    /// Tokens of models.
    pub tokens: u64,
}

impl Spent {
    /// What the metadata of a task's last event tells: its calls, and its own tokens as models count them.
    #[must_use]
    pub fn told(metadata: &Object) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Usage {
            total_tokens: u64,
        }
        let spent: Self = metadata.get(SPENT).unwrap_or_default();
        let usage: Usage = metadata.get("usage").unwrap_or_default();
        Self {
            tokens: spent.tokens.saturating_add(usage.total_tokens),
            ..spent
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }

    /// The larger of both.
    #[must_use]
    pub fn at_least(self, other: Self) -> Self {
        Self {
            calls: self.calls.max(other.calls),
            tokens: self.tokens.max(other.tokens),
        }
    }

    /// As the metadata of an event tells it.
    #[must_use]
    pub fn marked(self, metadata: Option<&Object>) -> Object {
        let spent = json!({ "calls": self.calls, "tokens": self.tokens });
        metadata::set(metadata, SPENT, spent)
    }
}

impl Budget {
    /// What a message brings along.
    ///
    /// # Errors
    ///
    /// If it cannot be read: it must not pass for none.
    pub fn of(message: &Message) -> Result<Self, Error> {
        let wrong = || {
            let field = format!("message.metadata[{METADATA:?}]");
            let must = "must be an object with `calls`, `tokens` and `until`, whole numbers from 0";
            Error::invalid_params(field, must)
        };
        match metadata::get(message, METADATA).map_err(|_| wrong())? {
            None => Ok(Self::default()),
            Some(budget) => serde_json::from_value(budget).map_err(|_| wrong()),
        }
    }

    /// What a task may cost: what its first message brings along, and no more than its agent allows.
    pub(crate) fn of_task(task: &Task, allowed: Allowance) -> Self {
        let brought = task.history.first().map(|message| Self::of(message));
        // One that cannot be read was refused.
        let brought = brought.and_then(Result::ok).unwrap_or_default();
        if allowed == Allowance::default() {
            return brought;
        }
        brought.narrowed(allowed.since(made(&task.id)))
    }

    /// Whether it limits anything.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        *self != Self::default()
    }

    /// The smaller of both.
    #[must_use]
    pub(crate) fn narrowed(self, other: Self) -> Self {
        fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            }
        }
        Self {
            calls: least(self.calls, other.calls),
            tokens: least(self.tokens, other.tokens),
            until: least(self.until, other.until),
        }
    }

    /// What is left of it.
    #[must_use]
    pub fn without(self, spent: Spent) -> Self {
        Self {
            calls: self.calls.map(|calls| calls.saturating_sub(spent.calls)),
            tokens: self
                .tokens
                .map(|tokens| tokens.saturating_sub(spent.tokens)),
            ..self
        }
    }

    /// What is used up of it now, in words for people and models; `None` if something can still be done.
    #[must_use]
    pub fn exhausted(&self, now: Timestamp) -> Option<&'static str> {
        if self.calls == Some(0) {
            return Some("the budget of this task has no calls of other agents left");
        }
        if self.tokens == Some(0) {
            return Some("the budget of this task has no tokens left");
        }
        let late = self
            .until
            .is_some_and(|until| until <= now.as_micros() / 1_000);
        late.then_some("the budget of this task has no time left")
    }

    /// How long it still lasts.
    #[must_use]
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let until = self.until?.saturating_mul(1_000);
        Some(clock::until(Timestamp::from_micros(until)))
    }

    /// The metadata of a message that brings it along.
    #[must_use]
    pub fn marked(&self, metadata: Option<&Object>) -> Object {
        let budget = serde_json::to_value(self).unwrap_or(Value::Null);
        metadata::set(metadata, METADATA, budget)
    }
}

/// When a task was made, in milliseconds since 1970: its id tells it.
fn made(task: &TaskId) -> i64 {
    let id = Uuid::try_parse(task.as_str()).ok();
    let made = id.and_then(|id| id.get_timestamp()).map(|at| at.to_unix());
    made.map_or(0, |(seconds, nanos)| {
        let millis = seconds.saturating_mul(1_000) + u64::from(nanos) / 1_000_000;
        i64::try_from(millis).unwrap_or(i64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use switchboard_types::model::{Json, MessageId, Part, Role};

    use super::*;

    fn message(metadata: &str) -> Message {
        let metadata = Json::parse(metadata).unwrap();
        Message {
            metadata: Some(Object::try_from(metadata).unwrap()),
            ..Message::new(
                MessageId::new("m").unwrap(),
                Role::User,
                vec![Part::text("x")],
            )
        }
    }

    #[test]
    fn it_comes_along_and_can_only_become_smaller() {
        let budget = Budget {
            calls: Some(3),
            tokens: None,
            until: Some(1_000),
        };
        let marked = budget.marked(None);
        assert_eq!(
            marked.as_str(),
            r#"{"switchboard/budget":{"calls":3,"until":1000}}"#
        );
        assert_eq!(Budget::of(&message(marked.as_str())).unwrap(), budget);
        let other = Budget {
            calls: Some(9),
            tokens: Some(5),
            until: Some(500),
        };
        let both = Budget {
            calls: Some(3),
            tokens: Some(5),
            until: Some(500),
        };
        assert_eq!(budget.narrowed(other), both);
        assert_eq!(other.narrowed(budget), both);
        assert_eq!(budget.narrowed(Budget::default()), budget);
        assert!(!Budget::default().is_limited());
    }

    #[test]
    fn what_is_spent_is_gone() {
        let budget = Budget {
            calls: Some(2),
            tokens: Some(10),
            until: Some(1_000),
        };
        let spent = Spent {
            calls: 2,
            tokens: 3,
        };
        let left = budget.without(spent);
        assert_eq!((left.calls, left.tokens), (Some(0), Some(7)));
        let told = |budget: Budget, now| budget.exhausted(Timestamp::from_micros(now));
        assert!(told(left, 0).unwrap().contains("calls"));
        assert!(told(budget, 0).is_none());
        assert!(told(budget, 1_000_000).unwrap().contains("time"));
        let tokens = budget.without(Spent {
            calls: 0,
            tokens: 11,
        });
        assert!(told(tokens, 0).unwrap().contains("tokens"));
        assert!(told(Budget::default(), i64::MAX).is_none());
    }

    #[test]
    fn what_a_task_tells_is_read() {
        let told = r#"{"switchboard/spent":{"calls":2,"tokens":5},"usage":{"totalTokens":7}}"#;
        let spent = Spent::told(message(told).metadata.as_ref().unwrap());
        assert_eq!(
            spent,
            Spent {
                calls: 2,
                tokens: 12
            }
        );
    }

    #[test]
    fn one_that_cannot_be_read_is_none_of_none() {
        for metadata in [
            r#"{"switchboard/budget": 3}"#,
            r#"{"switchboard/budget": {"calls": -1}}"#,
            r#"{"switchboard/budget": {"calls": "3"}}"#,
            r#"{"switchboard/budget": {"time": 3}}"#,
        ] {
            assert!(Budget::of(&message(metadata)).is_err(), "{metadata}");
        }
    }
}
