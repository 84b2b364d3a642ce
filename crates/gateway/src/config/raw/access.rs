//! Authorization rules, as written in the file.

use schemars::JsonSchema;
use serde::Deserialize;

/// Authorization: what an authenticated caller may do.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Access {
    /// Allow and deny rules. One matching deny rule denies; if there are allow rules, one of them must match.
    pub(crate) rules: Option<Vec<Rule>>,
}

/// An authorization rule: `allow` or `deny` with a CEL expression.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// Allows calls for which this CEL expression is true. An expression that cannot be evaluated does not allow.
    pub(crate) allow: Option<String>,
    /// Denies calls for which this CEL expression is true. An expression that cannot be evaluated denies.
    pub(crate) deny: Option<String>,
    /// Name of the rule in logs and explanations. Default: its path in this file.
    pub(crate) name: Option<String>,
    /// Whether a denied caller learns the name of the rule.
    #[schemars(extend("default" = false))]
    pub(crate) tell: Option<bool>,
    /// Scope of the rule: which calls it applies to.
    #[schemars(extend("default" = "caller"))]
    pub(crate) on: Option<RuleOn>,
}

/// Which calls an authorization rule applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RuleOn {
    /// Calls over the network.
    Caller,
    /// Calls that other agents of this server make on behalf of their callers.
    Delegation,
    /// Both.
    Both,
}
