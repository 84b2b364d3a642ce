//! What may be asked again, and when. Pure, but for the dice.
//!
//! | operation | not sent | 429, or told when to come back | other 503 | connection broke | other 5xx |
//! |---|---|---|---|---|---|
//! | get, list, subscribe, cancel, webhooks: get, list, delete, extended card | yes | yes | yes | yes | yes |
//! | send, stream, webhook: create | yes | yes | only with an idempotency key | only with one | no |
//!
//! All attempts together take no longer than one may.

use std::time::Duration;

use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;
use uuid::Uuid;

use crate::error::{Error, Kind, Reach};

/// How often and how soon to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often a request is sent at most.
    pub attempts: u32,
    /// The first pause; each one is twice the last.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 4,
            first: Duration::from_millis(250),
            longest: Duration::from_secs(10),
        }
    }
}

impl Retry {
    /// Every request is sent once.
    #[must_use]
    pub fn never() -> Self {
        Self {
            attempts: 1,
            ..Self::default()
        }
    }

    /// How long to wait after the `failed`th failure: doubled each time, up to a half taken off by chance, so that
    /// many clients do not come back at once. An agent that names a time is obeyed.
    pub(crate) fn pause(&self, failed: u32, asked: Option<Duration>) -> Duration {
        let doubled = self
            .first
            .saturating_mul(1 << failed.saturating_sub(1).min(16));
        let longest = doubled.min(self.longest);
        let [chance, ..] = Uuid::new_v4().into_bytes();
        let pause = longest / 2 + (longest / 2) * u32::from(chance) / 255;
        asked.map_or(pause, |asked| asked.max(pause))
    }
}

/// Whether an operation that failed like this may be sent again. `keyed`: the agent can tell a repetition.
pub(crate) fn may_repeat(method: Method, keyed: bool, error: &Error) -> bool {
    let changes = matches!(
        method,
        Method::Send | Method::Stream | Method::CreatePushConfig
    );
    match (error.kind(), error.reach()) {
        _ if was_not_begun(error) => true,
        (Kind::Unreachable, Reach::Sent) => !changes || keyed,
        _ if is_away(error) => !changes || keyed,
        (Kind::Protocol | Kind::Unintelligible, _) => {
            !changes && error.status().is_some_and(|s| matches!(s, 500 | 502 | 504))
        }
        _ => false,
    }
}

/// Whether it is certain that the agent has not begun anything.
pub(crate) fn was_not_begun(error: &Error) -> bool {
    let unsent = error.kind() == Kind::Unreachable && error.reach() == Reach::NotSent;
    unsent || turned_away(error)
}

/// The agent did not even look at it. gRPC servers also say `RESOURCE_EXHAUSTED` of an answer that is too large to send,
/// after the agent has run: only one that names a time to come back has turned the request away.
fn turned_away(error: &Error) -> bool {
    let busy = error.is(ErrorKind::ResourceExhausted) || is_away(error);
    error.status() == Some(429) || busy && error.wait().is_some()
}

/// The agent is not there. Something before it may say so after it began.
fn is_away(error: &Error) -> bool {
    error.is(ErrorKind::Unavailable) || error.status() == Some(503)
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_types::Error as Answered;

    #[test]
    fn what_may_be_repeated() {
        let broken = |reach| Error::new(Kind::Unreachable, "x").reached(reach);
        let answered = |kind, status| Error::answered(Answered::new(kind, "x")).with_status(status);
        let cases: [(&str, Error, bool, bool, bool); 9] = [
            // error, a get, a send, a send with a key
            ("not sent", broken(Reach::NotSent), true, true, true),
            ("broke", broken(Reach::Sent), true, false, true),
            (
                "503",
                answered(ErrorKind::Unavailable, 503),
                true,
                false,
                true,
            ),
            (
                "503, come back",
                answered(ErrorKind::Unavailable, 503).retry_after(Some(Duration::ZERO)),
                true,
                true,
                true,
            ),
            (
                "429",
                answered(ErrorKind::ResourceExhausted, 429),
                true,
                true,
                true,
            ),
            (
                "502",
                answered(ErrorKind::Internal, 502),
                true,
                false,
                false,
            ),
            (
                "404",
                answered(ErrorKind::TaskNotFound, 404),
                false,
                false,
                false,
            ),
            (
                "rpc internal",
                answered(ErrorKind::Internal, 200),
                false,
                false,
                false,
            ),
            (
                "missing",
                Error::new(Kind::CredentialsMissing, "x"),
                false,
                false,
                false,
            ),
        ];
        for (name, error, get, send, keyed) in cases {
            assert_eq!(may_repeat(Method::Get, false, &error), get, "get, {name}");
            assert_eq!(
                may_repeat(Method::Cancel, false, &error),
                get,
                "cancel, {name}"
            );
            assert_eq!(
                may_repeat(Method::Send, false, &error),
                send,
                "send, {name}"
            );
            assert_eq!(
                may_repeat(Method::Stream, true, &error),
                keyed,
                "keyed, {name}"
            );
        }
    }

    #[test]
    fn pauses_grow_to_a_bound_and_agents_are_obeyed() {
        let retry = Retry::default();
        for failed in 1..40 {
            let pause = retry.pause(failed, None);
            let doubled = retry.first * 2_u32.pow((failed - 1).min(6));
            let longest = doubled.min(retry.longest);
            assert!(
                pause >= longest / 2 && pause <= longest,
                "{failed}: {pause:?}"
            );
        }
        let asked = Duration::from_secs(60);
        assert_eq!(retry.pause(1, Some(asked)), asked);
    }
}
