//! What callers may do, as it is written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

/// What those may do who may call.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Access {
    /// Each allows or denies something. One that denies is enough to deny; if any allows, one must.
    pub(crate) rules: Option<Vec<Rule>>,
}

/// A rule: `allow` or `deny`, and when.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// Lets through what this CEL expression is true of.
    pub(crate) allow: Option<String>,
    /// Refuses what this CEL expression is true of.
    pub(crate) deny: Option<String>,
    /// Its name in logs; by default its path in this file.
    pub(crate) name: Option<String>,
    /// Tells callers the name.
    #[schemars(extend("default" = false))]
    pub(crate) tell: Option<bool>,
    /// Which calls it is about.
    #[schemars(extend("default" = "caller"))]
    pub(crate) on: Option<RuleOn>,
}

/// Which calls a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RuleOn {
    /// Those that come over the network.
    Caller,
    /// Those of other agents on this line, on behalf of their callers.
    Delegation,
    /// Both.
    Both,
}
