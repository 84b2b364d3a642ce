//! Waiting for a condition, never for a time.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long anything may take. Only a test that fails waits so long.
const TIMEOUT: Duration = Duration::from_secs(100);

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// What a check of [`eventually`] gives: `bool`, `Option<T>`, or `Result<T, E>` whose error says what is the case instead.
pub trait Condition {
    /// What [`eventually`] returns.
    type Value;

    /// The value, or what is the case instead; empty if the check cannot say.
    ///
    /// # Errors
    ///
    /// If the condition does not hold yet.
    fn check(self) -> Result<Self::Value, String>;
}

impl Condition for bool {
    type Value = ();

    fn check(self) -> Result<(), String> {
        self.then_some(()).check()
    }
}

impl<T> Condition for Option<T> {
    type Value = T;

    fn check(self) -> Result<T, String> {
        self.ok_or_else(String::new)
    }
}

impl<T, E: Display> Condition for Result<T, E> {
    type Value = T;

    fn check(self) -> Result<T, String> {
        self.map_err(|state| format!("; last: {state}"))
    }
}

/// Polls until the condition holds, and gives what it found.
///
/// # Panics
///
/// If it does not hold within 100 seconds; says what was awaited, and what was the case last.
pub async fn eventually<C: Condition>(what: &str, mut check: impl AsyncFnMut() -> C) -> C::Value {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let state = match check().await.check() {
            Ok(value) => return value,
            Err(state) => state,
        };
        assert!(Instant::now() < deadline, "not in time: {what}{state}");
        sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn gives_what_was_found_once_it_is_there() {
        let mut count = 0;
        let found = eventually("three", async || {
            count += 1;
            (count == 3).then_some(count)
        });
        assert_eq!(found.await, 3);
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "not in time: the ship; last: fog")]
    async fn says_what_was_awaited_and_what_was_there_instead() {
        eventually("the ship", async || Err::<(), _>("fog")).await;
    }
}
