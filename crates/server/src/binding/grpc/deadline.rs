//! How long a caller waits, as `grpc-timeout` says it.

use std::future::Future;
use std::time::Duration;

use hyper::header::HeaderMap;
use tokio::time::{Instant, timeout_at};
use tonic::Status;

/// The moment after which nobody listens; `None` is never.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    /// The deadline of a request.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Status> {
        let Some(value) = headers.get("grpc-timeout") else {
            return Ok(Self(None));
        };
        let wait = value.to_str().ok().and_then(read).ok_or_else(|| {
            Status::invalid_argument("grpc-timeout must be up to eight digits and a unit: HMSmun")
        })?;
        Ok(Self(Instant::now().checked_add(wait)))
    }

    /// Waits for `future`, but not beyond the deadline.
    ///
    /// # Errors
    ///
    /// If the deadline comes first.
    pub(super) async fn wait<T>(self, future: impl Future<Output = T>) -> Result<T, Status> {
        let Some(end) = self.0 else {
            return Ok(future.await);
        };
        let late = |_| Status::deadline_exceeded("the caller's deadline has passed");
        timeout_at(end, future).await.map_err(late)
    }
}

/// At most eight digits, and a unit.
fn read(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(number * 3600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read_and_nothing_else() {
        for (text, wait) in [
            ("1H", Duration::from_secs(3600)),
            ("2M", Duration::from_secs(120)),
            ("10S", Duration::from_secs(10)),
            ("250m", Duration::from_millis(250)),
            ("99999999u", Duration::from_micros(99_999_999)),
            ("0n", Duration::ZERO),
        ] {
            assert_eq!(read(text), Some(wait), "{text}");
        }
        for text in ["", "S", "1", "-1S", "123456789S", "1s", "1.5S", "é", "1é"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
