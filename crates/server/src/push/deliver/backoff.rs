//! How long to wait before a delivery is tried again.

use std::time::Duration;

use switchboard_types::backoff::Backoff;

use super::Settings;

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
    let backoff = Backoff::new(settings.first_retry, settings.max_retry).with_full_jitter();
    backoff.delay_after(attempts).max(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

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
}
