//! What the delegated tasks of a task may spend, and have spent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_server::budget::{Budget, Spent};
use switchboard_server::clock;

/// The budget of a task, and what its delegated tasks were given and have spent. Each has the key of its delegation, so one
/// that is started again after a restart gets the same budget as before.
#[derive(Debug, Default)]
pub(crate) struct BudgetLedger {
    budget: Budget,
    delegations: BTreeMap<String, Account>,
}

/// One delegation. The names of its members are stored.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Account {
    given: Budget,
    spent: Spent,
}

/// What the call itself costs.
const ONE_CALL: Spent = Spent {
    calls: 1,
    tokens: 0,
};

impl BudgetLedger {
    /// A ledger with what was stored of it.
    pub(super) fn new(budget: Budget, stored: Option<Value>) -> Self {
        let delegations = stored.and_then(|stored| serde_json::from_value(stored).ok());
        Self {
            budget,
            delegations: delegations.unwrap_or_default(),
        }
    }

    /// Whether anything is limited; if not, nothing is counted.
    pub(super) fn is_limited(&self) -> bool {
        self.budget.is_limited()
    }

    /// Reserves a call; returns what its task may spend.
    ///
    /// # Errors
    ///
    /// If nothing is left; the text is for people and models.
    pub(super) fn reserve(&mut self, key: &str) -> Result<Budget, &'static str> {
        if let Some(account) = self.delegations.get(key) {
            return Ok(account.given);
        }
        let left = self.budget.without(self.spent());
        if let Some(reason) = left.exhausted(clock::now()) {
            return Err(reason);
        }
        let given = left.without(ONE_CALL);
        if self.is_limited() {
            let spent = ONE_CALL;
            self.delegations
                .insert(key.to_owned(), Account { given, spent });
        }
        Ok(given)
    }

    /// Settles what a delegated task has spent, beside the call itself.
    pub(super) fn settle(&mut self, key: &str, spent: Spent) {
        if let Some(account) = self.delegations.get_mut(key) {
            account.spent = ONE_CALL.and(spent);
        }
    }

    /// What all of them have spent.
    pub(super) fn spent(&self) -> Spent {
        let spent = self.delegations.values().map(|account| account.spent);
        spent.fold(Spent::default(), Spent::and)
    }

    /// As it is stored.
    pub(super) fn to_json(&self) -> Value {
        serde_json::to_value(&self.delegations).unwrap_or(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_delegation_gets_what_is_left() {
        let budget = Budget {
            calls: Some(4),
            tokens: Some(100),
            until: None,
        };
        let mut ledger = BudgetLedger::new(budget, None);
        let first = ledger.reserve("a").unwrap();
        assert_eq!((first.calls, first.tokens), (Some(3), Some(100)));
        let spent = Spent {
            calls: 1,
            tokens: 60,
        };
        ledger.settle("a", spent);
        let second = ledger.reserve("b").unwrap();
        assert_eq!((second.calls, second.tokens), (Some(1), Some(40)));
        // As data directories have it.
        let stored = json!({
            "a": {"given": {"calls": 3, "tokens": 100}, "spent": {"calls": 2, "tokens": 60}},
            "b": {"given": {"calls": 1, "tokens": 40}, "spent": {"calls": 1, "tokens": 0}},
        });
        assert_eq!(ledger.to_json(), stored);
        let mut resumed = BudgetLedger::new(budget, Some(stored));
        assert_eq!(resumed.reserve("a").unwrap(), first);
        assert_eq!(resumed.reserve("b").unwrap(), second);
        resumed.settle("b", Spent::default());
        assert!(resumed.reserve("c").is_ok());
        assert!(resumed.reserve("d").unwrap_err().contains("no calls"));
        let spent = Spent {
            calls: 4,
            tokens: 60,
        };
        assert_eq!(resumed.spent(), spent);
    }

    #[test]
    fn without_a_budget_nothing_is_counted() {
        let mut ledger = BudgetLedger::default();
        for n in 0..100 {
            assert_eq!(ledger.reserve(&n.to_string()), Ok(Budget::default()));
        }
        assert_eq!(ledger.spent(), Spent::default());
    }
}
