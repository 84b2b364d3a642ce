//! Moments, as A2A writes them.

use std::fmt;

use jiff::fmt::temporal::DateTimePrinter;

/// Milliseconds and `Z` (A2A 1.0 §5.6.1); finer digits only where they are not zero.
const MILLIS: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
const MICROS: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

/// A moment in UTC, to the microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

/// A text that is no moment in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be an ISO 8601 date and time such as 2025-10-30T10:00:00.000Z")]
pub struct InvalidTimestamp;

impl Timestamp {
    /// The moment `micros` microseconds after 1970-01-01T00:00:00Z; values no calendar reaches are clamped.
    #[must_use]
    pub fn from_micros(micros: i64) -> Self {
        let bound = if micros < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        };
        Self(jiff::Timestamp::from_microsecond(micros).unwrap_or(bound))
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn as_micros(self) -> i64 {
        self.0.as_microsecond()
    }

    /// Reads ISO 8601; a time without a zone is taken as UTC (examples in 0.x texts have none).
    ///
    /// # Errors
    ///
    /// If the text is no date and time.
    pub fn parse(text: &str) -> Result<Self, InvalidTimestamp> {
        let zoned = text.parse::<jiff::Timestamp>().ok();
        zoned
            .or_else(|| {
                let civil: jiff::civil::DateTime = text.parse().ok()?;
                civil
                    .to_zoned(jiff::tz::TimeZone::UTC)
                    .ok()
                    .map(|z| z.timestamp())
            })
            .map(|t| Self::from_micros(t.as_microsecond()))
            .ok_or(InvalidTimestamp)
    }

    /// Appends its text.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let printer = match self.as_micros() % 1000 {
            0 => MILLIS,
            _ => MICROS,
        };
        // A buffer takes every write.
        let _ = printer.print_timestamp(&self.0, out);
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(32);
        self.write(&mut text);
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_milliseconds_in_utc() {
        assert_eq!(
            Timestamp::from_micros(0).to_string(),
            "1970-01-01T00:00:00.000Z"
        );
        let fine = Timestamp::from_micros(1_761_818_400_123_456);
        assert_eq!(fine.to_string(), "2025-10-30T10:00:00.123456Z");
    }

    #[test]
    fn reads_every_form_that_peers_send() {
        let noon = Timestamp::parse("2025-10-30T12:00:00Z").unwrap();
        for text in [
            "2025-10-30T12:00:00.000Z",
            "2025-10-30T12:00:00.000000Z",
            "2025-10-30T12:00:00",
            "2025-10-30T12:00:00.000000",
            "2025-10-30T14:00:00+02:00",
        ] {
            assert_eq!(Timestamp::parse(text), Ok(noon), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_moment() {
        for text in ["", "yesterday", "2025-13-01T00:00:00Z", "1730282400"] {
            assert_eq!(Timestamp::parse(text), Err(InvalidTimestamp), "{text}");
        }
    }

    #[test]
    fn survives_absurd_numbers() {
        assert!(Timestamp::from_micros(i64::MAX) > Timestamp::from_micros(0));
        assert!(Timestamp::from_micros(i64::MIN) < Timestamp::from_micros(0));
    }
}
