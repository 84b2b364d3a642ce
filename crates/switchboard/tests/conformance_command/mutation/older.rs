//! The shapes of A2A 0.3 and back: JSON as JSON-RPC has it, and ProtoJSON as HTTP+JSON has it.

use serde_json::{Value, json};

/// Which shapes of 0.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// With `kind`.
    Json,
    /// With the names of the proto.
    Proto,
}

fn members(value: &Value, names: &[&str]) -> Value {
    let mut all = json!({});
    for name in names {
        if let Some(member) = value.get(*name).filter(|member| !member.is_null()) {
            all[*name] = member.clone();
        }
    }
    all
}

fn each(list: &Value, write: impl Fn(&Value) -> Value) -> Value {
    json!(
        list.as_array()
            .into_iter()
            .flatten()
            .map(write)
            .collect::<Vec<_>>()
    )
}

fn state(form: Form, state: &Value) -> Value {
    let name = state.as_str().unwrap_or_default();
    match form {
        Form::Json => {
            let short = name.trim_start_matches("TASK_STATE_");
            json!(short.to_lowercase().replace('_', "-"))
        }
        Form::Proto => json!(name.replace("CANCELED", "CANCELLED")),
    }
}

fn part(form: Form, part: &Value) -> Value {
    let file = |bytes: &str| {
        let mut file = json!({ bytes: part["raw"] });
        if let Some(kind) = part.get("mediaType") {
            file["mimeType"] = kind.clone();
        }
        file
    };
    let is_file = part.get("raw").is_some();
    let is_data = part.get("data").is_some();
    match form {
        Form::Json if is_file => {
            let mut file = file("bytes");
            if let Some(name) = part.get("filename") {
                file["name"] = name.clone();
            }
            json!({"kind": "file", "file": file})
        }
        Form::Json if is_data => json!({"kind": "data", "data": part["data"]}),
        Form::Json => json!({"kind": "text", "text": part["text"]}),
        Form::Proto if is_file => json!({ "file": file("fileWithBytes") }),
        Form::Proto if is_data => json!({"data": {"data": part["data"]}}),
        Form::Proto => json!({"text": part["text"]}),
    }
}

pub(super) fn message(form: Form, message: &Value) -> Value {
    let mut all = members(message, &["messageId", "contextId", "taskId"]);
    let parts = each(&message["parts"], |one| part(form, one));
    match form {
        Form::Json => {
            all["kind"] = json!("message");
            let user = message["role"] == "ROLE_USER";
            all["role"] = json!(if user { "user" } else { "agent" });
            all["parts"] = parts;
        }
        Form::Proto => {
            all["role"] = message["role"].clone();
            all["content"] = parts;
        }
    }
    all
}

fn status(form: Form, status: &Value) -> Value {
    let mut all = members(status, &["timestamp"]);
    all["state"] = state(form, &status["state"]);
    if status["message"].is_object() {
        all["message"] = message(form, &status["message"]);
    }
    all
}

fn artifact(form: Form, artifact: &Value) -> Value {
    let mut all = members(artifact, &["artifactId", "name"]);
    all["parts"] = each(&artifact["parts"], |one| part(form, one));
    all
}

/// A task as JSON-RPC has it.
pub(super) fn task(task: &Value) -> Value {
    task_in(Form::Json, task)
}

pub(super) fn task_in(form: Form, task: &Value) -> Value {
    let mut all = members(task, &["id", "contextId"]);
    if form == Form::Json {
        all["kind"] = json!("task");
    }
    all["status"] = status(form, &task["status"]);
    for (name, write) in [
        ("artifacts", artifact as fn(Form, &Value) -> Value),
        ("history", message),
    ] {
        if task.get(name).is_some() {
            all[name] = each(&task[name], |one| write(form, one));
        }
    }
    all
}

/// The answer to a send, or an event. `last` is whether a status is the last of its stream.
pub(super) fn event(form: Form, event: &Value, last: bool) -> Value {
    let (name, kind, mut body) = if let Some(one) = event.get("task") {
        ("task", "task", task_in(form, one))
    } else if let Some(one) = event.get("message") {
        ("message", "message", message(form, one))
    } else if let Some(one) = event.get("statusUpdate") {
        let mut all = members(one, &["taskId", "contextId"]);
        all["status"] = status(form, &one["status"]);
        all["final"] = json!(last);
        ("statusUpdate", "status-update", all)
    } else {
        let one = &event["artifactUpdate"];
        let mut all = members(one, &["taskId", "contextId", "append", "lastChunk"]);
        all["artifact"] = artifact(form, &one["artifact"]);
        ("artifactUpdate", "artifact-update", all)
    };
    match form {
        Form::Json => {
            body["kind"] = json!(kind);
            body
        }
        Form::Proto => json!({ name: body }),
    }
}

/// A webhook.
pub(super) fn hook(form: Form, hook: &Value) -> Value {
    let mut config = members(hook, &["id", "url", "token"]);
    if let Some(scheme) = hook["authentication"].get("scheme") {
        config["authentication"] =
            json!({"schemes": [scheme], "credentials": hook["authentication"]["credentials"]});
    }
    let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match form {
        Form::Json => json!({"taskId": hook["taskId"], "pushNotificationConfig": config}),
        Form::Proto => {
            let name = format!(
                "tasks/{}/pushNotificationConfigs/{}",
                id(&hook["taskId"]),
                id(&hook["id"])
            );
            json!({"name": name, "pushNotificationConfig": config})
        }
    }
}

/// A webhook that was sent to us.
pub(super) fn read_hook(config: &Value) -> Value {
    let mut hook = members(config, &["id", "url", "token"]);
    let schemes = &config["authentication"]["schemes"];
    if let Some(scheme) = schemes.get(0) {
        hook["authentication"] =
            json!({"scheme": scheme, "credentials": config["authentication"]["credentials"]});
    }
    hook
}

fn read_part(part: &Value) -> Value {
    let file = &part["file"];
    if file.is_object() {
        let bytes = file.get("bytes").or_else(|| file.get("fileWithBytes"));
        let mut read = json!({ "raw": bytes });
        for (name, member) in [("filename", "name"), ("mediaType", "mimeType")] {
            if let Some(value) = file.get(member) {
                read[name] = value.clone();
            }
        }
        return read;
    }
    match &part["data"] {
        Value::Null => json!({"text": part["text"]}),
        data => json!({"data": data.get("data").unwrap_or(data)}),
    }
}

/// A message that was sent to us.
pub(super) fn read_message(message: &Value) -> Value {
    let mut read = members(message, &["messageId", "contextId", "taskId"]);
    read["role"] = match message["role"].as_str() {
        Some("user" | "ROLE_USER") => json!("ROLE_USER"),
        _ => json!("ROLE_UNSPECIFIED"),
    };
    let parts = message.get("parts").or_else(|| message.get("content"));
    if let Some(Value::Array(list)) = parts {
        read["parts"] = json!(list.iter().map(read_part).collect::<Vec<_>>());
    }
    read
}

/// The configuration of a send.
pub(super) fn read_configuration(given: &Value) -> Value {
    let mut read = json!({"returnImmediately": given["blocking"] == false});
    if let Some(length) = given.get("historyLength") {
        read["historyLength"] = length.clone();
    }
    let hook = given
        .get("pushNotificationConfig")
        .or_else(|| given.get("pushNotification"));
    if let Some(hook) = hook {
        read["taskPushNotificationConfig"] = read_hook(hook);
    }
    read
}
