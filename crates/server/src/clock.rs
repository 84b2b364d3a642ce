//! The one wall clock. Timers use `tokio::time`, which tests can pause; this is only for what people read.

use std::time::{Duration, SystemTime};

use switchboard_types::model::Timestamp;

/// Now, to the millisecond: what is stored is then exactly what the wire shows.
#[must_use]
pub fn now() -> Timestamp {
    let micros = precise().as_micros();
    Timestamp::from_micros(micros - micros.rem_euclid(1000))
}

/// Now, to the microsecond: for what is only measured.
#[must_use]
pub fn precise() -> Timestamp {
    let since_epoch = system_time()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
}

/// Now, as the standard library has it: for what is compared with dates of others.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the wall clock"
)]
pub fn system_time() -> SystemTime {
    SystemTime::now()
}

/// The moment `ago` before now.
#[must_use]
pub fn before_now(ago: Duration) -> Timestamp {
    shift(now(), -micros(ago))
}

/// The moment `ahead` after now.
#[must_use]
pub fn after_now(ahead: Duration) -> Timestamp {
    shift(now(), micros(ahead))
}

/// How long until `moment`; zero if it has passed.
#[must_use]
pub fn until(moment: Timestamp) -> Duration {
    let micros = moment.as_micros().saturating_sub(now().as_micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn shift(moment: Timestamp, by: i64) -> Timestamp {
    Timestamp::from_micros(moment.as_micros().saturating_add(by))
}
