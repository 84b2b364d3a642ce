//! Walks the objects of A2A 1.0 in an answer: what is a task, a message, an artifact, and where it stands.

use serde_json::Value;
use switchboard_types::operation::Method;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Task,
    Status,
    Message,
    Part,
    Artifact,
    StatusUpdate,
    ArtifactUpdate,
    TaskPage,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Task => "Task",
            Self::Status => "TaskStatus",
            Self::Message => "Message",
            Self::Part => "Part",
            Self::Artifact => "Artifact",
            Self::StatusUpdate => "TaskStatusUpdateEvent",
            Self::ArtifactUpdate => "TaskArtifactUpdateEvent",
            Self::TaskPage => "ListTasksResponse",
        }
    }

    /// The members that hold other objects.
    fn holds(self) -> &'static [(&'static str, Self)] {
        match self {
            Self::Task => &[
                ("status", Self::Status),
                ("artifacts", Self::Artifact),
                ("history", Self::Message),
            ],
            Self::Status => &[("message", Self::Message)],
            Self::Message | Self::Artifact => &[("parts", Self::Part)],
            Self::Part => &[],
            Self::StatusUpdate => &[("status", Self::Status)],
            Self::ArtifactUpdate => &[("artifact", Self::Artifact)],
            Self::TaskPage => &[("tasks", Self::Task)],
        }
    }

    /// The members that must be there (A2A 1.0 §5.7, and the annotations of the proto).
    pub(crate) fn required(self) -> &'static [&'static str] {
        match self {
            Self::Task => &["id", "status"],
            Self::Status => &["state"],
            Self::Message => &["messageId", "role", "parts"],
            Self::Part => &[],
            Self::Artifact => &["artifactId", "parts"],
            Self::StatusUpdate => &["taskId", "contextId", "status"],
            Self::ArtifactUpdate => &["taskId", "contextId", "artifact"],
            Self::TaskPage => &["tasks", "nextPageToken", "pageSize", "totalSize"],
        }
    }
}

/// The members of an event, one of which is there.
pub(crate) const EVENTS: [(&str, Kind); 4] = [
    ("task", Kind::Task),
    ("message", Kind::Message),
    ("statusUpdate", Kind::StatusUpdate),
    ("artifactUpdate", Kind::ArtifactUpdate),
];

/// Which event this is, and the event itself.
pub(crate) fn event(value: &Value) -> Option<(Kind, &Value)> {
    let mut there = EVENTS
        .iter()
        .filter_map(|(name, kind)| Some((*kind, value.get(*name)?)));
    there.next()
}

/// Visits every object in the result of an operation.
pub(crate) fn walk(method: Method, result: &Value, visit: &mut dyn FnMut(Kind, &str, &Value)) {
    match method {
        Method::Send | Method::Stream | Method::Subscribe => {
            if let Some((kind, event)) = event(result) {
                step(kind, kind.name(), event, visit);
            }
        }
        Method::Get | Method::Cancel => step(Kind::Task, "Task", result, visit),
        Method::List => step(Kind::TaskPage, "ListTasksResponse", result, visit),
        _ => {}
    }
}

fn step(kind: Kind, path: &str, value: &Value, visit: &mut dyn FnMut(Kind, &str, &Value)) {
    visit(kind, path, value);
    for (name, inner) in kind.holds() {
        match value.get(*name) {
            Some(Value::Array(many)) => {
                for (at, one) in many.iter().enumerate() {
                    step(*inner, &format!("{path}.{name}[{at}]"), one, visit);
                }
            }
            Some(one) if !one.is_null() => step(*inner, &format!("{path}.{name}"), one, visit),
            _ => {}
        }
    }
}

/// Every member name in an answer that the protocol, not its user, has chosen.
pub(crate) fn names(value: &Value, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::Array(many) => many.iter().for_each(|one| names(one, visit)),
        Value::Object(members) => {
            for (name, inner) in members {
                visit(name);
                let free = [
                    "metadata",
                    "data",
                    "params",
                    "header",
                    "scopes",
                    "schemes",
                    "securitySchemes",
                ];
                if !free.contains(&name.as_str()) {
                    names(inner, visit);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_object_is_visited_and_free_data_is_not() {
        let result = json!({"task": {
            "id": "t", "status": {"state": "TASK_STATE_COMPLETED", "message": {"parts": [{"text": "a"}]}},
            "artifacts": [{"artifactId": "a", "parts": [{"data": {"not_ours": 1}}]}],
            "metadata": {"not_ours": 1},
        }});
        let mut paths = Vec::new();
        walk(Method::Send, &result, &mut |_, path, _| {
            paths.push(path.to_owned())
        });
        assert_eq!(
            paths,
            [
                "Task",
                "Task.status",
                "Task.status.message",
                "Task.status.message.parts[0]",
                "Task.artifacts[0]",
                "Task.artifacts[0].parts[0]"
            ]
        );
        names(&result, &mut |name| assert!(!name.contains('_'), "{name}"));
    }
}
