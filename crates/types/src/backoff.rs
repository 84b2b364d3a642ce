//! Delays between attempts, for everything in Switchboard that retries. It does not sleep: the caller does, and knows
//! what may cut the delay short.

use std::time::{Duration, SystemTime};

/// Exponential backoff: the delay doubles with each failure, up to a maximum, and is jittered so that those who failed
/// together do not come back together.
///
/// ```
/// # use std::time::Duration;
/// # use switchboard_types::backoff::Backoff;
/// let mut backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(10));
/// let first = backoff.next_delay();
/// assert!(first >= Duration::from_millis(125) && first <= Duration::from_millis(250));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    full_jitter: bool,
    failures: u32,
}

impl Backoff {
    /// Starts at `first` and stays at `max`. Each delay is between half of that and all of it.
    #[must_use]
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self {
            first,
            max,
            full_jitter: false,
            failures: 0,
        }
    }

    /// Delays are between zero and all of it: for many that retry against one receiver.
    #[must_use]
    pub const fn with_full_jitter(self) -> Self {
        Self {
            full_jitter: true,
            ..self
        }
    }

    /// Counts a failure. Returns the delay before the next attempt.
    pub fn next_delay(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.delay_after(self.failures)
    }

    /// How many failures were counted since the start or the last success.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// An attempt succeeded: the next failure is the first again.
    pub const fn reset(&mut self) {
        self.failures = 0;
    }

    /// The delay after so many failures, where they are counted elsewhere, as in a stored record.
    #[must_use]
    pub fn delay_after(&self, failures: u32) -> Duration {
        let longest = self.longest_after(failures);
        match self.full_jitter {
            true => longest.mul_f64(fastrand::f64()),
            false => jittered(longest),
        }
    }

    /// The longest delay after so many failures.
    fn longest_after(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.first.saturating_mul(1 << doublings).min(self.max)
    }
}

/// A random duration between half of `longest` and all of it.
#[must_use]
pub fn jittered(longest: Duration) -> Duration {
    longest.mul_f64(fastrand::f64().midpoint(1.0))
}

/// Reads the value of a `Retry-After` header: seconds, or a date (RFC 9110 §10.2.3). One that has passed is zero.
#[must_use]
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_secs(1);
    const MAX: Duration = Duration::from_secs(600);

    #[test]
    fn delays_double_up_to_the_maximum() {
        let backoff = Backoff::new(FIRST, MAX);
        let longest: Vec<u64> = (0..=12)
            .map(|failures| backoff.longest_after(failures).as_secs())
            .collect();
        assert_eq!(
            longest,
            [1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]
        );
        assert_eq!(backoff.longest_after(u32::MAX), MAX);
    }

    #[test]
    fn a_success_starts_over() {
        let mut backoff = Backoff::new(FIRST, MAX);
        for failures in 1..=20 {
            let longest = backoff.longest_after(failures);
            let delay = backoff.next_delay();
            assert!(
                delay >= longest / 2 && delay <= longest,
                "{failures}: {delay:?}"
            );
            assert_eq!(backoff.failures(), failures);
        }
        backoff.reset();
        assert_eq!(backoff.failures(), 0);
        assert!(backoff.next_delay() <= FIRST);
    }

    #[test]
    fn jitter_covers_its_range() {
        let covers = |delays: Vec<Duration>, from: u32| {
            let low = MAX / 100 * (from + 20);
            assert!(
                delays
                    .iter()
                    .all(|delay| *delay >= MAX / 100 * from && *delay <= MAX)
            );
            assert!(delays.iter().any(|delay| *delay < low));
            assert!(delays.iter().any(|delay| *delay > MAX / 100 * 80));
        };
        let backoff = Backoff::new(MAX, MAX);
        covers((0..200).map(|_| backoff.delay_after(1)).collect(), 50);
        let full = backoff.with_full_jitter();
        covers((0..200).map(|_| full.delay_after(1)).collect(), 0);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777 - 7);
        for (value, expected) in [
            (" 120 ", Some(120)),
            ("0", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(7)),
            ("Thu, 01 Jan 1970 00:00:10 GMT", Some(0)),
            ("", None),
            ("-1", None),
            ("soon", None),
            ("1.5", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06", None),
        ] {
            let expected = expected.map(Duration::from_secs);
            assert_eq!(retry_after(value, now), expected, "{value:?}");
        }
    }
}
