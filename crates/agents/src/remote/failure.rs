//! What callers are told when a remote agent cannot be talked to. Where it is and what exactly broke is for our log.

use std::error::Error as _;

use http::HeaderMap;
use serde_json::Value;
use switchboard_client::{Error, Kind};
use switchboard_server::agent::{AgentError, Said, Turn};
use switchboard_types::ErrorKind;
use switchboard_types::model::{Content, Json, Object};

use crate::fetch::{in_texts, without};
use crate::upstream::{Down, root_cause};

/// Whether it may be otherwise later.
pub(super) fn may_pass(error: &Error) -> bool {
    match error.kind() {
        Kind::Unreachable | Kind::Interrupted | Kind::Timeout => true,
        Kind::Protocol => match error.protocol().map(switchboard_types::Error::kind) {
            Some(
                ErrorKind::Unavailable | ErrorKind::AgentUnavailable | ErrorKind::ResourceExhausted,
            ) => true,
            // Nobody may have understood it yet: a proxy says so, too.
            Some(ErrorKind::Internal | ErrorKind::InvalidAgentResponse) => {
                matches!(error.status(), Some(500 | 502..))
            }
            _ => false,
        },
        _ => matches!(error.status(), Some(429 | 500 | 502..)),
    }
}

/// Whether a message with an idempotency key may be sent again: it may have arrived, and whoever answered is not the agent.
pub(super) fn may_be_keyed(error: &Error) -> bool {
    error.may_have_arrived() || matches!(error.status(), Some(502..=504))
}

/// Why the upstream could not be reached, for the status of the task.
pub(super) fn down(error: &Error) -> Down {
    match (error.kind(), error.status()) {
        (_, Some(status)) => Down::status(status, error.wait()),
        (Kind::Timeout, _) => Down::unreachable("no answer in time"),
        (Kind::Unreachable | Kind::Interrupted, _) if error.source().is_some() => {
            Down::unreachable(root_cause(error))
        }
        (Kind::Unreachable | Kind::Interrupted, _) => Down::unreachable("the connection was lost"),
        _ => Down::unavailable("it does not accept requests now", error.wait()),
    }
}

/// What a failed call means for the turn.
pub(super) fn told(turn: &Turn, shown: &HeaderMap, error: &Error) -> AgentError {
    tracing::warn!(
        agent = &**turn.agent(),
        task = %turn.task_id(),
        error = without(shown, error.to_string()),
        hint = error.hint(),
        "remote agent call failed"
    );
    match error.kind() {
        Kind::CredentialsMissing => AgentError::new(
            "the remote agent requires credentials, but none are configured: set `identity`",
        ),
        Kind::Refused => AgentError::new("the remote agent rejected our credentials"),
        _ if error.is(ErrorKind::TaskNotFound) => {
            AgentError::new("the remote agent no longer knows the task")
        }
        Kind::Protocol => AgentError::new(error.protocol().map_or_else(
            || "the remote agent answered with an error".to_owned(),
            |answered| {
                let said = without(shown, answered.message().to_owned());
                format!("the remote agent answered with an error: {said}")
            },
        )),
        Kind::Unintelligible | Kind::TooLarge => {
            AgentError::new("the remote agent returned an invalid response")
        }
        Kind::ExtensionRequired | Kind::NotOffered | Kind::Reference | Kind::CardInvalid => {
            AgentError::new("the remote agent cannot be used with this configuration")
        }
        Kind::Interrupted => AgentError::unavailable(
            "the connection to the remote agent was lost and could not be re-established in time",
        ),
        Kind::CardNotFound | Kind::Unreachable | Kind::Timeout => {
            AgentError::unavailable("the remote agent cannot be reached: try again later")
        }
    }
}

/// What the other side says of our credentials, without them.
pub(super) fn scrubbed(shown: &HeaderMap, mut said: Said) -> Said {
    for part in &mut said.parts {
        match &mut part.content {
            Content::Text(text) => {
                *text = without(shown, std::mem::take(text).into_string()).into();
            }
            Content::Url(url) => *url = without(shown, std::mem::take(url)),
            Content::Data(data) => *data = cleared(shown, data),
            Content::Raw(_) => {}
        }
        clear(shown, &mut part.metadata);
    }
    clear(shown, &mut said.message_metadata);
    clear(shown, &mut said.metadata);
    said
}

fn clear(shown: &HeaderMap, metadata: &mut Option<Object>) {
    if let Some(object) = metadata {
        *metadata = Object::try_from(cleared(shown, object.as_json())).ok();
    }
}

/// They may be written in many ways there. What has none of them stays as it is written; what cannot be read is left out.
fn cleared(shown: &HeaderMap, said: &Json) -> Json {
    let Some(read) = said.read::<Value>() else {
        return Json::from(&Value::Null);
    };
    let cleared = in_texts(read.clone(), &|text| without(shown, text));
    match cleared == read {
        true => said.clone(),
        false => Json::from(&cleared),
    }
}

/// A message went out, and nothing came back.
pub(super) fn unknown() -> AgentError {
    AgentError::unavailable(
        "the connection to the remote agent was lost after the message was sent; it is unknown whether it was processed",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use switchboard_types::model::Part;

    #[test]
    fn what_was_shown_is_taken_out_however_it_is_written() {
        let key = HeaderValue::from_static("Bearer ab/cd\"ef");
        let shown = HeaderMap::from_iter([(http::header::AUTHORIZATION, key)]);
        for (said, told) in [
            (r#"{"why":["no ab\/cd\"ef"]}"#, r#"{"why":["no ***"]}"#),
            (r#"{"\u0061b/cd\u0022ef":1}"#, r#"{"***":1}"#),
            // What says nothing of it stays as it is.
            (r#"{"n": 1.10, "s":"a\/b"}"#, r#"{"n": 1.10, "s":"a\/b"}"#),
        ] {
            let json = Json::parse(said).unwrap();
            let object = Object::try_from(json.clone()).unwrap();
            let scrubbed = scrubbed(
                &shown,
                Said {
                    parts: vec![Part::data(json)],
                    message_metadata: Some(object.clone()),
                    metadata: Some(object),
                    references: Vec::new(),
                },
            );
            let Content::Data(data) = &scrubbed.parts[0].content else {
                panic!("{scrubbed:?}")
            };
            assert_eq!(data.as_str(), told);
            for metadata in [scrubbed.message_metadata, scrubbed.metadata] {
                assert_eq!(metadata.unwrap().as_str(), told);
            }
        }
    }
}
