//! The names of the operations in JSON-RPC.

use crate::operation::Method;
use crate::version::Dialect;

/// The name of an operation.
#[must_use]
pub fn method_name(dialect: Dialect, method: Method) -> &'static str {
    match dialect {
        Dialect::V1 => method.name(),
        Dialect::V0Json | Dialect::V0Proto(_) => match method {
            Method::Send => "message/send",
            Method::Stream => "message/stream",
            Method::Get => "tasks/get",
            Method::List => "tasks/list",
            Method::Cancel => "tasks/cancel",
            Method::Subscribe => "tasks/resubscribe",
            Method::CreatePushConfig => "tasks/pushNotificationConfig/set",
            Method::GetPushConfig => "tasks/pushNotificationConfig/get",
            Method::ListPushConfigs => "tasks/pushNotificationConfig/list",
            Method::DeletePushConfig => "tasks/pushNotificationConfig/delete",
            Method::ExtendedCard => "agent/getAuthenticatedExtendedCard",
        },
    }
}

/// Whether a dialect has the operation at all: `tasks/list` of 0.x comes from drafts, and few agents know it.
#[must_use]
pub fn offers(dialect: Dialect, method: Method) -> bool {
    match dialect {
        Dialect::V1 => true,
        Dialect::V0Json | Dialect::V0Proto(_) => method != Method::List,
    }
}

/// The operation of that name.
pub(super) fn method_of(dialect: Dialect, name: &str) -> Option<Method> {
    // A slip of 0.3 §11.1.3.
    let name = match name {
        "agent/authenticatedExtendedCard" => "agent/getAuthenticatedExtendedCard",
        name => name,
    };
    let mut all = Method::ALL.into_iter();
    all.find(|method| method_name(dialect, *method) == name)
}
