//! What expressions may look at. Never what callers and agents say to each other.

use std::sync::Arc;

use switchboard_server::auth::{About, Ask};
use switchboard_server::call::Origin;
use switchboard_server::principal::{Kind, Principal};
use switchboard_types::model::Timestamp;

use super::Rule;
use crate::cel::{Value, Values, Variable};

pub(super) const SKILL: &str = "skill";
pub(super) const TASK: &str = "task";

/// Who asks.
pub(crate) const CALLER: Variable = Variable {
    name: "caller",
    fields: Some(&[
        "authenticated",
        "subject",
        "tenant",
        "method",
        "kind",
        "scopes",
        "claims",
        "address",
    ]),
};

/// All names there are.
pub(super) const VARIABLES: [Variable; 7] = [
    CALLER,
    Variable {
        name: "agent",
        fields: Some(&["name", "skills"]),
    },
    Variable {
        name: SKILL,
        fields: Some(&[]),
    },
    Variable {
        name: "operation",
        fields: Some(&[]),
    },
    Variable {
        name: TASK,
        fields: Some(&["id", "state", "context", "updated"]),
    },
    Variable {
        name: "via",
        fields: Some(&[]),
    },
    Variable {
        name: "now",
        fields: Some(&[]),
    },
];

/// What there is to know of one question.
pub(super) struct Facts {
    pub(super) values: Values,
}

impl Facts {
    /// Only what one of the rules looks at.
    pub(super) fn of(ask: &Ask<'_>, skills: &[Arc<str>], rules: &[Arc<Rule>]) -> Self {
        let used = |name: &str| rules.iter().any(|rule| rule.when.mentions(name));
        let names = VARIABLES.iter().map(|variable| variable.name);
        let values = names.filter(|name| used(name)).map(|name| {
            let value = match name {
                "caller" => caller(ask.caller),
                "agent" => Value::fields([
                    ("name", Some(ask.agent.into())),
                    ("skills", Some(Value::texts(skills.iter().map(|s| &**s)))),
                ]),
                SKILL => ask.skill.unwrap_or_default().into(),
                "operation" => ask.action.name().into(),
                TASK => task(&ask.task),
                "via" => match ask.origin {
                    Origin::Agent(name) => (&**name).into(),
                    Origin::Network => "".into(),
                },
                _ => seconds(ask.now),
            };
            (name, value)
        });
        Self {
            values: values.collect(),
        }
    }
}

/// What there is to know of who asks.
pub(crate) fn caller(who: &Principal) -> Value {
    let identity = who.identity();
    let text = |text: Option<&str>| Some(text.unwrap_or_default().into());
    let kind = match identity.map(|identity| identity.kind) {
        Some(Kind::Token) => "token",
        Some(Kind::Key) => "key",
        Some(Kind::Other) => "other",
        None => "",
    };
    let address = who.address().map(|address| address.to_string());
    let claims = identity.map(|identity| Value::from(&identity.claims));
    Value::fields([
        ("authenticated", Some(Value::from(!who.is_anonymous()))),
        ("subject", text(identity.map(|known| &*known.subject))),
        (
            "tenant",
            text(identity.and_then(|known| known.tenant.as_deref())),
        ),
        ("method", text(identity.map(|known| &*known.scheme))),
        ("kind", text(Some(kind))),
        ("scopes", Some(Value::texts(who.scopes()))),
        ("claims", Some(claims.unwrap_or_else(|| Value::fields([])))),
        ("address", text(address.as_deref())),
    ])
}

/// Without fields where there is no task that the caller may know of.
fn task(about: &About<'_>) -> Value {
    let About::Own(task) = about else {
        return Value::fields([]);
    };
    Value::fields([
        ("id", Some(task.id.as_str().into())),
        ("state", Some(task.state.name().into())),
        ("context", Some(task.context.as_str().into())),
        ("updated", task.updated.map(seconds)),
    ])
}

fn seconds(moment: Timestamp) -> Value {
    (moment.as_micros() / 1_000_000).into()
}
