//! How a version spells what is asked: methods, paths, members. The shapes of messages are the codecs' own.

use serde_json::{Map, Value, json};
use switchboard_types::ProtocolVersion;
use switchboard_types::operation::Method;

/// A version's spelling.
#[derive(Debug)]
pub(crate) struct Words {
    /// As it stands in `A2A-Version` and in reports.
    pub(crate) version: &'static str,
    /// What is sent as `A2A-Version`: clients of 0.3 send nothing.
    pub(crate) header: &'static str,
    rows: [Row; 11],
    /// Whether gRPC names tasks and webhooks by their paths, not by their ids.
    named: bool,
    /// What in `configuration` makes a send return before the work is done.
    pub(crate) at_once: (&'static str, bool),
    /// What makes it wait, if that does not go without saying: in 0.3 it depends on the server.
    pub(crate) wait: Option<(&'static str, bool)>,
    /// The webhook in `configuration`.
    pub(crate) inline_push: &'static str,
}

/// An operation: its name in JSON-RPC, its verb and its path. `{x}` stands for parameter `x`.
#[derive(Debug)]
struct Row(Method, &'static str, &'static str, &'static str);

static ALL: [Words; 2] = [
    Words {
        version: "1.0",
        header: "1.0",
        named: false,
        at_once: ("returnImmediately", true),
        wait: None,
        inline_push: "taskPushNotificationConfig",
        rows: [
            Row(Method::Send, "SendMessage", "POST", "/message:send"),
            Row(
                Method::Stream,
                "SendStreamingMessage",
                "POST",
                "/message:stream",
            ),
            Row(Method::Get, "GetTask", "GET", "/tasks/{id}"),
            Row(Method::List, "ListTasks", "GET", "/tasks"),
            Row(Method::Cancel, "CancelTask", "POST", "/tasks/{id}:cancel"),
            Row(
                Method::Subscribe,
                "SubscribeToTask",
                "POST",
                "/tasks/{id}:subscribe",
            ),
            Row(
                Method::CreatePushConfig,
                "CreateTaskPushNotificationConfig",
                "POST",
                "/tasks/{taskId}/pushNotificationConfigs",
            ),
            Row(
                Method::GetPushConfig,
                "GetTaskPushNotificationConfig",
                "GET",
                "/tasks/{taskId}/pushNotificationConfigs/{id}",
            ),
            Row(
                Method::ListPushConfigs,
                "ListTaskPushNotificationConfigs",
                "GET",
                "/tasks/{taskId}/pushNotificationConfigs",
            ),
            Row(
                Method::DeletePushConfig,
                "DeleteTaskPushNotificationConfig",
                "DELETE",
                "/tasks/{taskId}/pushNotificationConfigs/{id}",
            ),
            Row(
                Method::ExtendedCard,
                "GetExtendedAgentCard",
                "GET",
                "/extendedAgentCard",
            ),
        ],
    },
    Words {
        version: "0.3",
        header: "",
        named: true,
        at_once: ("blocking", false),
        wait: Some(("blocking", true)),
        inline_push: "pushNotificationConfig",
        rows: [
            Row(Method::Send, "message/send", "POST", "/v1/message:send"),
            Row(
                Method::Stream,
                "message/stream",
                "POST",
                "/v1/message:stream",
            ),
            Row(Method::Get, "tasks/get", "GET", "/v1/tasks/{id}"),
            Row(Method::List, "tasks/list", "GET", "/v1/tasks"),
            Row(
                Method::Cancel,
                "tasks/cancel",
                "POST",
                "/v1/tasks/{id}:cancel",
            ),
            Row(
                Method::Subscribe,
                "tasks/resubscribe",
                "POST",
                "/v1/tasks/{id}:subscribe",
            ),
            Row(
                Method::CreatePushConfig,
                "tasks/pushNotificationConfig/set",
                "POST",
                "/v1/tasks/{taskId}/pushNotificationConfigs",
            ),
            Row(
                Method::GetPushConfig,
                "tasks/pushNotificationConfig/get",
                "GET",
                "/v1/tasks/{id}/pushNotificationConfigs/{pushNotificationConfigId}",
            ),
            Row(
                Method::ListPushConfigs,
                "tasks/pushNotificationConfig/list",
                "GET",
                "/v1/tasks/{id}/pushNotificationConfigs",
            ),
            Row(
                Method::DeletePushConfig,
                "tasks/pushNotificationConfig/delete",
                "DELETE",
                "/v1/tasks/{id}/pushNotificationConfigs/{pushNotificationConfigId}",
            ),
            Row(
                Method::ExtendedCard,
                "agent/getAuthenticatedExtendedCard",
                "GET",
                "/v1/card",
            ),
        ],
    },
];

/// A request over HTTP+JSON.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) verb: &'static str,
    /// The path below the interface's URL, with a query if there is one.
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
}

impl Words {
    /// The words of a version.
    pub(crate) fn of(version: ProtocolVersion) -> Option<&'static Self> {
        ALL.iter().find(|words| words.version == version.name())
    }

    /// The name in JSON-RPC.
    pub(crate) fn method(&self, method: Method) -> &'static str {
        self.row(method).1
    }

    /// The request in HTTP+JSON: what the path does not name goes into the body, or into the query.
    pub(crate) fn write(&self, method: Method, params: &Value) -> Written {
        let Row(_, _, verb, template) = *self.row(method);
        let mut rest = params.as_object().cloned().unwrap_or_default();
        let mut path = String::new();
        for piece in template.split_inclusive('}') {
            let (fixed, name) = piece.split_once('{').unwrap_or((piece, ""));
            path.push_str(fixed);
            if let Some(value) = rest.remove(name.trim_end_matches('}')) {
                path.push_str(&encoded(&plain(&value)));
            }
        }
        if verb == "POST" {
            let body = Some(Value::Object(rest));
            return Written { verb, path, body };
        }
        path.push_str(&query(&rest));
        Written {
            verb,
            path,
            body: None,
        }
    }

    /// The message of gRPC, as JSON.
    pub(crate) fn message(&self, method: Method, params: &Value) -> Value {
        let mut rest = params.as_object().cloned().unwrap_or_default();
        let ids = [rest.remove("taskId"), rest.remove("id")];
        let Some(id) = ids.into_iter().flatten().next().filter(|_| self.named) else {
            return params.clone();
        };
        let task = format!("tasks/{}", plain(&id));
        let webhook = rest.remove("pushNotificationConfigId");
        let webhook = webhook.map(|id| format!("{task}/pushNotificationConfigs/{}", plain(&id)));
        let own = matches!(method, Method::CreatePushConfig | Method::ListPushConfigs);
        let name = if own { "parent" } else { "name" };
        rest.insert(name.to_owned(), webhook.unwrap_or(task).into());
        if let Some(config) = rest.remove("pushNotificationConfig") {
            rest.insert(
                "config".to_owned(),
                json!({ "pushNotificationConfig": config }),
            );
        }
        Value::Object(rest)
    }

    fn row(&self, method: Method) -> &Row {
        let found = self.rows.iter().find(|row| row.0 == method);
        found.unwrap_or(&self.rows[0])
    }
}

fn query(params: &Map<String, Value>) -> String {
    let pairs: Vec<String> = params
        .iter()
        .map(|(name, value)| format!("{name}={}", encoded(&plain(value))))
        .collect();
    if pairs.is_empty() {
        String::new()
    } else {
        format!("?{}", pairs.join("&"))
    }
}

/// A value without the quotes of JSON.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Percent-encodes all but letters, digits and what never means anything in a URL.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use switchboard_types::wire::rest::{RouteError, route};

    use super::*;

    #[test]
    fn every_request_goes_where_the_server_looks_for_it() {
        for version in ProtocolVersion::ALL {
            let words = Words::of(version).unwrap();
            for Row(method, ..) in &words.rows {
                let params = json!({"id": "a:b/c", "taskId": "t", "pushNotificationConfigId": "p"});
                let written = words.write(*method, &params);
                let path = written.path.split('?').next().unwrap();
                let found = route(written.verb, path);
                assert_eq!(
                    found.map(|route| (route.version, route.method)),
                    Ok::<_, RouteError>((version, *method)),
                    "{written:?}"
                );
            }
        }
    }

    #[test]
    fn grpc_names_what_0_3_has_by_its_path() {
        let message = |version: ProtocolVersion, method, params: &Value| {
            Words::of(version).unwrap().message(method, params)
        };
        let [newest, older] = ProtocolVersion::ALL;
        let get = json!({"id": "t", "historyLength": 1});
        assert_eq!(message(newest, Method::Get, &get), get);
        let named = json!({"name": "tasks/t", "historyLength": 1});
        assert_eq!(message(older, Method::Get, &get), named);
        let webhook = json!({"id": "t", "pushNotificationConfigId": "c"});
        let named = json!({"name": "tasks/t/pushNotificationConfigs/c"});
        assert_eq!(message(older, Method::GetPushConfig, &webhook), named);
        let named = json!({"parent": "tasks/t"});
        assert_eq!(
            message(older, Method::ListPushConfigs, &json!({"id": "t"})),
            named
        );
    }

    #[test]
    fn what_the_path_does_not_name_is_in_the_query_or_the_body() {
        let words = Words::of(ProtocolVersion::V1_0).unwrap();
        let params = json!({"id": "t 1", "historyLength": 0});
        let get = words.write(Method::Get, &params);
        assert_eq!(
            (get.verb, &*get.path),
            ("GET", "/tasks/t%201?historyLength=0")
        );
        let cancel = words.write(Method::Cancel, &params);
        assert_eq!(cancel.body, Some(json!({"historyLength": 0})));
    }
}
