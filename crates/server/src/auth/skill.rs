//! Which of an agent's skills is asked for, and what a skill asks of callers.

use std::sync::Arc;

use switchboard_types::Error;
use switchboard_types::model::{Object, Task};
use switchboard_types::operation::{Operation, SendMessage};

/// Where a caller names a skill, in the metadata of the request or of its message.
pub const SKILL: [&str; 2] = ["skillId", "skill"];

/// What one skill asks of callers beyond what its agent does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillAccess {
    /// The skill.
    pub id: Arc<str>,
    /// What a caller must have been granted to use it.
    pub scopes: Vec<Arc<str>>,
    /// It stands on the public card although not everyone may use it.
    pub listed: bool,
}

/// The skill that an operation asks for.
///
/// # Errors
///
/// If it names two: an agent might look at the one that was not decided on.
pub(crate) fn named(operation: &Operation) -> Result<Option<String>, Error> {
    let (Operation::Send(send) | Operation::Stream(send)) = operation else {
        return Ok(None);
    };
    let places = [send.metadata.as_ref(), send.message.metadata.as_ref()];
    let places = places.into_iter().flatten();
    let named = places.flat_map(|metadata| SKILL.map(|name| metadata.get(name)));
    let mut all = named.flatten();
    let first = all.next();
    match all.find(|other| first.as_ref() != Some(other)) {
        None => Ok(first),
        Some(_) => Err(Error::invalid_params(
            "metadata.skillId",
            "names two different skills: name one",
        )),
    }
}

/// The skill that a task was begun with: what is said later goes on with it.
#[must_use]
pub(crate) fn begun_with(task: &Task) -> Option<String> {
    let first = task.history.first();
    let message = first.and_then(|message| message.metadata.as_ref());
    in_either(task.metadata.as_ref(), message)
}

/// The skill that a message asks for.
#[must_use]
pub fn asked_for(send: &SendMessage) -> Option<String> {
    in_either(send.metadata.as_ref(), send.message.metadata.as_ref())
}

fn in_either(request: Option<&Object>, message: Option<&Object>) -> Option<String> {
    in_metadata(request).or_else(|| in_metadata(message))
}

fn in_metadata(metadata: Option<&Object>) -> Option<String> {
    let metadata = metadata?;
    SKILL.into_iter().find_map(|name| metadata.get(name))
}

/// The skill is none of the agent's.
pub(super) fn unknown(skill: &str) -> Error {
    Error::invalid_params("metadata.skillId", format!("no such skill: {skill:?}"))
}

/// What a caller is told who may not use a skill (S2-098).
pub(super) fn insufficient(skill: &str) -> String {
    format!("Insufficient permissions for skill '{skill}'")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use switchboard_types::model::{Message, MessageId, Part, Role};
    use switchboard_types::operation::{SendConfiguration, SendMessage};

    use super::*;

    fn object(value: &Value) -> Option<Object> {
        value.as_object().map(Object::from)
    }

    #[test]
    fn a_skill_is_named_once_or_alike() {
        for (request, message, skill) in [
            (
                json!({"skillId": "a"}),
                json!({"skillId": "a"}),
                Ok(Some("a")),
            ),
            (
                json!({"skill": "a"}),
                json!({"skillId": "a"}),
                Ok(Some("a")),
            ),
            (json!({"skillId": "a"}), json!({}), Ok(Some("a"))),
            (json!({}), json!({"skill": "b"}), Ok(Some("b"))),
            (
                json!({"skillId": 7}),
                json!({"skillId": "b"}),
                Ok(Some("b")),
            ),
            (json!(null), json!({"skills": ["b"]}), Ok(None)),
            (json!(null), json!(null), Ok(None)),
            (json!({"skillId": "a"}), json!({"skillId": "b"}), Err(())),
            (json!({"skill": "a"}), json!({"skillId": "b"}), Err(())),
            (json!({"skill": "x", "skillId": "a"}), json!({}), Err(())),
            (json!(null), json!({"skill": "x", "skillId": "a"}), Err(())),
        ] {
            let send = Operation::Send(Box::new(SendMessage {
                message: Message {
                    id: MessageId::new("m").unwrap(),
                    role: Role::User,
                    parts: vec![Part::text("x")],
                    context_id: None,
                    task_id: None,
                    reference_task_ids: Vec::new(),
                    extensions: Vec::new(),
                    metadata: object(&message),
                },
                configuration: SendConfiguration::default(),
                metadata: object(&request),
            }));
            let named = named(&send).map_err(drop);
            let skill = skill.map(|skill| skill.map(str::to_owned));
            assert_eq!(named, skill, "{request} {message}");
        }
        assert_eq!(named(&Operation::ExtendedCard).unwrap(), None);
    }
}
