//! The brake on guessing: who fails too often is not listened to for a while.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::net::network;

/// The most addresses that are remembered.
const MOST: usize = 65_536;

/// How long those who can be forgotten are not looked for again.
const SWEEP: Duration = Duration::from_secs(1);

/// Failed logins by address.
#[derive(Debug)]
pub struct Failures {
    allowed: u32,
    per: Duration,
    /// Nobody has failed yet: then nobody is looked for.
    any: AtomicBool,
    seen: Mutex<HashMap<IpAddr, Seen>>,
    /// When it was last looked who can be forgotten.
    swept: Mutex<Option<Instant>>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    count: u32,
    until: Instant,
}

impl Default for Failures {
    /// 20 a minute.
    fn default() -> Self {
        Self::new(20, Duration::from_secs(60))
    }
}

impl Failures {
    /// Lets an address fail so often in that time; then it is not listened to for as long.
    #[must_use]
    pub fn new(allowed: u32, per: Duration) -> Self {
        Self {
            allowed: allowed.max(1),
            per,
            any: AtomicBool::new(false),
            seen: Mutex::default(),
            swept: Mutex::default(),
        }
    }

    /// How long the address is not listened to; `None` if it is.
    pub(super) fn wait(&self, address: IpAddr) -> Option<Duration> {
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        let seen = *self.seen.lock().get(&network(address))?;
        let wait = seen.until.saturating_duration_since(Instant::now());
        (seen.count >= self.allowed && !wait.is_zero()).then_some(wait)
    }

    /// The address has failed.
    pub(super) fn note(&self, address: IpAddr) {
        self.any.store(true, Ordering::Relaxed);
        let now = Instant::now();
        let mut seen = self.seen.lock();
        let address = network(address);
        if seen.len() >= MOST && !seen.contains_key(&address) {
            if !self.may_sweep(now) {
                return;
            }
            seen.retain(|_, seen| seen.until > now && seen.count >= self.allowed);
            if seen.len() >= MOST {
                return;
            }
        }
        let until = now + self.per;
        let entry = seen.entry(address).or_insert(Seen { count: 0, until });
        if entry.until <= now {
            *entry = Seen { count: 0, until };
        }
        entry.count = entry.count.saturating_add(1);
        if entry.count == self.allowed {
            entry.until = until;
            tracing::warn!(%address, "too many failed authentication attempts, address blocked for a while");
        }
    }

    /// Looking through all of them takes a while: not at every failure.
    fn may_sweep(&self, now: Instant) -> bool {
        let mut swept = self.swept.lock();
        let may = swept.is_none_or(|last| now.duration_since(last) >= SWEEP);
        if may {
            *swept = Some(now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_fails_too_often_waits_and_nobody_else_does() {
        let failures = Failures::new(3, Duration::from_secs(60));
        let here: IpAddr = "10.0.0.1".parse().unwrap();
        let other: IpAddr = "10.0.0.2".parse().unwrap();
        failures.note(here);
        failures.note(here);
        assert_eq!(failures.wait(here), None);
        tokio::time::advance(Duration::from_secs(30)).await;
        failures.note(here);
        assert_eq!(failures.wait(here), Some(Duration::from_secs(60)));
        assert_eq!(failures.wait(other), None);
        assert_eq!(
            failures.wait("::ffff:10.0.0.1".parse().unwrap()),
            Some(Duration::from_secs(60))
        );
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(failures.wait(here), None);
        failures.note(here);
        assert_eq!(failures.wait(here), None);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_far_apart_do_not_add_up() {
        let failures = Failures::new(2, Duration::from_secs(60));
        let here: IpAddr = "2001:db8::1".parse().unwrap();
        for _ in 0..5 {
            failures.note(here);
            tokio::time::advance(Duration::from_secs(61)).await;
        }
        failures.note(here);
        assert_eq!(failures.wait(here), None);
        failures.note("2001:db8::ffff".parse().unwrap());
        assert!(failures.wait(here).is_some());
        assert_eq!(failures.wait("2001:db8:0:1::1".parse().unwrap()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_can_be_forgotten_are_not_looked_for_all_the_time() {
        let failures = Failures::new(1, Duration::from_secs(60));
        for n in 0..u128::try_from(MOST).unwrap() {
            failures.note(Ipv6Addr::from_bits((n + 1) << 64).into());
        }
        let (one, other) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        tokio::time::advance(Duration::from_millis(59_900)).await;
        failures.note(one);
        assert_eq!(failures.wait(one), None, "all the others still wait");
        tokio::time::advance(Duration::from_millis(200)).await;
        failures.note(other);
        assert_eq!(failures.wait(other), None, "it was looked just now");
        tokio::time::advance(SWEEP).await;
        failures.note(other);
        assert!(failures.wait(other).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn not_everyone_is_remembered() {
        let failures = Failures::new(2, Duration::from_secs(60));
        let guesser: IpAddr = "10.0.0.1".parse().unwrap();
        failures.note(guesser);
        failures.note(guesser);
        for n in 0..u128::try_from(MOST).unwrap() * 2 {
            failures.note(Ipv6Addr::from_bits((n + 1) << 64).into());
        }
        assert!(failures.seen.lock().len() <= MOST);
        assert!(failures.wait(guesser).is_some());
    }
}
