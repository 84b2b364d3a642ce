//! How long to wait before a delivery is tried again.

use std::time::{Duration, SystemTime};

use switchboard_types::model::Timestamp;

use super::Settings;
use crate::clock;

/// How much longer than our longest wait a receiver may ask us to wait.
const PATIENCE: u32 = 6;

/// The longest wait there is.
pub(super) fn longest(settings: &Settings) -> Duration {
    settings.max_retry.saturating_mul(PATIENCE)
}

/// The wait after `attempts` failures: exponential with full jitter, so that receivers that come back are not
/// met by all at once; never shorter than the receiver asked for, within reason.
pub(super) fn delay(settings: &Settings, attempts: u32, asked: Option<Duration>) -> Duration {
    let asked = asked.unwrap_or_default().min(longest(settings));
    ceiling(settings, attempts).mul_f64(chance()).max(asked)
}

fn ceiling(settings: &Settings, attempts: u32) -> Duration {
    let doubled = 1u32
        .checked_shl(attempts.saturating_sub(1))
        .unwrap_or(u32::MAX);
    settings
        .first_retry
        .saturating_mul(doubled)
        .min(settings.max_retry)
}

/// A random number from 0 to 1.
fn chance() -> f64 {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    // The top 32 bits of a version 4 UUID are random throughout.
    let top = u32::try_from(high >> 32).unwrap_or(u32::MAX);
    f64::from(top) / f64::from(u32::MAX)
}

/// Reads `Retry-After`: seconds, or a date (RFC 9110 §10.2.3).
pub(super) fn retry_after(value: &str) -> Option<Duration> {
    let value = value.trim();
    match value.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => http_date(value).map(clock::until),
    }
}

fn http_date(text: &str) -> Option<Timestamp> {
    let date = httpdate::parse_http_date(text).ok()?;
    let since_epoch = date.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let micros = i64::try_from(since_epoch.as_micros()).ok()?;
    Some(Timestamp::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    #[test]
    fn doubles_up_to_the_cap() {
        let settings = Settings::default();
        let seconds: Vec<u64> = (1..=12)
            .map(|attempts| ceiling(&settings, attempts).as_secs())
            .collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
        assert_eq!(ceiling(&settings, u32::MAX).as_secs(), 600);
    }

    #[test]
    fn jitters_over_the_whole_range() {
        let settings = Settings::default();
        let delays: Vec<Duration> = (0..200).map(|_| delay(&settings, 11, None)).collect();
        assert!(delays.iter().all(|d| d.as_secs() <= 600));
        assert!(delays.iter().any(|d| d.as_secs() < 200));
        assert!(delays.iter().any(|d| d.as_secs() > 400));
    }

    #[test]
    fn waits_as_long_as_asked_within_reason() {
        let settings = Settings::default();
        let asked = Duration::from_secs(900);
        assert_eq!(delay(&settings, 1, Some(asked)), asked);
        assert_eq!(delay(&settings, 1, Some(DAY)).as_secs(), 3600);
    }

    #[test]
    fn reads_both_forms_of_retry_after() {
        assert_eq!(retry_after(" 120 "), Some(Duration::from_secs(120)));
        let past = retry_after("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(past, Some(Duration::ZERO));
        let future = retry_after("Fri, 31 Dec 2100 23:59:59 GMT").unwrap();
        assert!(future > DAY);
        for bad in [
            "",
            "-1",
            "soon",
            "1.5",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06",
        ] {
            assert_eq!(retry_after(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn http_dates_are_read_to_the_second() {
        let read = http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(read.to_string(), "1994-11-06T08:49:37.000Z");
    }
}
