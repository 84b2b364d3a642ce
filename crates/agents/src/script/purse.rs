//! What a task may cost, and what its calls have cost so far.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_server::budget::{Budget, Spent};
use switchboard_server::clock;

/// The note that keeps it.
pub(super) const PURSE: &str = "spent";

/// What a task may cost, and what its calls have cost so far. Each call is known by its key, so one that is made again
/// after a restart is given the same as before.
#[derive(Debug, Default)]
pub(super) struct Purse {
    budget: Budget,
    calls: BTreeMap<String, Call>,
}

/// One call.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Call {
    given: Budget,
    spent: Spent,
}

impl Purse {
    /// With what was kept of it.
    pub(super) fn new(budget: Budget, kept: Option<Value>) -> Self {
        let calls = kept.and_then(|kept| serde_json::from_value(kept).ok());
        Self {
            budget,
            calls: calls.unwrap_or_default(),
        }
    }

    /// Whether anything is counted.
    pub(super) fn is_limited(&self) -> bool {
        self.budget.is_limited()
    }

    /// What a call may cost.
    ///
    /// # Errors
    ///
    /// If nothing is left for it; in words.
    pub(super) fn give(&mut self, key: &str) -> Result<Budget, &'static str> {
        if let Some(call) = self.calls.get(key) {
            return Ok(call.given);
        }
        let left = self.budget.without(self.spent());
        if let Some(reason) = left.exhausted(clock::now()) {
            return Err(reason);
        }
        let spent = Spent {
            calls: 1,
            tokens: 0,
        };
        let given = left.without(spent);
        if self.is_limited() {
            self.calls.insert(key.to_owned(), Call { given, spent });
        }
        Ok(given)
    }

    /// A call has cost that much, beside being one itself.
    pub(super) fn pay(&mut self, key: &str, cost: Spent) {
        if let Some(call) = self.calls.get_mut(key) {
            let one = Spent {
                calls: 1,
                tokens: 0,
            };
            call.spent = one.and(cost);
        }
    }

    /// What all calls have cost.
    pub(super) fn spent(&self) -> Spent {
        let spent = self.calls.values().map(|call| call.spent);
        spent.fold(Spent::default(), Spent::and)
    }

    /// As it is kept.
    pub(super) fn kept(&self) -> Value {
        serde_json::to_value(&self.calls).unwrap_or(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_gets_what_is_left() {
        let budget = Budget {
            calls: Some(4),
            tokens: Some(100),
            until: None,
        };
        let mut purse = Purse::new(budget, None);
        let first = purse.give("a").unwrap();
        assert_eq!((first.calls, first.tokens), (Some(3), Some(100)));
        let cost = Spent {
            calls: 1,
            tokens: 60,
        };
        purse.pay("a", cost);
        let second = purse.give("b").unwrap();
        assert_eq!((second.calls, second.tokens), (Some(1), Some(40)));
        // What is made again is given the same, also after a restart.
        let mut again = Purse::new(budget, Some(purse.kept()));
        assert_eq!(again.give("a").unwrap(), first);
        assert_eq!(again.give("b").unwrap(), second);
        again.pay("b", Spent::default());
        assert!(again.give("c").is_ok());
        assert!(again.give("d").unwrap_err().contains("no calls"));
        let spent = Spent {
            calls: 4,
            tokens: 60,
        };
        assert_eq!(again.spent(), spent);
    }

    #[test]
    fn without_a_budget_nothing_is_counted() {
        let mut purse = Purse::default();
        for n in 0..100 {
            assert_eq!(purse.give(&n.to_string()), Ok(Budget::default()));
        }
        assert_eq!(purse.spent(), Spent::default());
    }
}
