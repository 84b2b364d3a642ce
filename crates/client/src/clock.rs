//! The wall clock, in one place: dates of headers, times in tokens.

use std::time::SystemTime;

/// Now.
pub(crate) fn now() -> SystemTime {
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    SystemTime::now()
}
