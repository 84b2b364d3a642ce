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
use switchboard_types::backoff::Backoff;
use switchboard_types::operation::Method;

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

    /// How long to wait after so many failures. An agent that asks for more time gets it.
    #[must_use]
    pub fn delay_after(&self, failures: u32, asked: Option<Duration>) -> Duration {
        let backoff = Backoff::new(self.first, self.longest);
        backoff.delay_after(failures).max(asked.unwrap_or_default())
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
    fn delays_grow_to_a_bound_and_are_never_shorter_than_asked() {
        let retry = Retry {
            attempts: 9,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(5),
        };
        for (failures, longest) in [(1, 1), (2, 2), (3, 4), (4, 5), (40, 5)] {
            let longest = Duration::from_secs(longest);
            let delay = retry.delay_after(failures, None);
            assert!(
                delay >= longest / 2 && delay <= longest,
                "{failures}: {delay:?}"
            );
        }
        let asked = Duration::from_secs(60);
        assert_eq!(retry.delay_after(1, Some(asked)), asked);
        assert!(retry.delay_after(40, Some(Duration::from_millis(1))) > Duration::from_secs(1));
    }
}
