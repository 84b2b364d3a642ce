//! How often may a caller ask an agent? One bucket for each of them that fills evenly (GCRA), in memory that does not
//! grow without end.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::Caller;

/// So many requests in that time, for each caller. All of them may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many; at least one.
    pub requests: u32,
    /// In what time; more than none.
    pub per: Duration,
}

/// How a caller stands after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) rate: Rate,
    /// How many requests are left.
    pub(crate) remaining: u32,
    /// How long until all of them are.
    pub(crate) full_in: Duration,
    /// How long until the next one is; `None` if this one was.
    pub(crate) wait: Option<Duration>,
}

/// Threads seldom meet at one of so many locks.
const SHARDS: usize = 16;
/// The most buckets in each.
const MOST: usize = 16_384;
/// How often a shard that is full is looked through for buckets that are full again.
const SWEEP: u64 = 1_000_000_000;

/// Who asks, and whom.
type Key = (Arc<str>, Caller);

/// All buckets. A bucket that is full is not kept: it is as good as none.
#[derive(Debug)]
pub(super) struct Rates {
    began: Instant,
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    /// When each bucket is full again, in nanoseconds since we began.
    full_at: HashMap<Key, u64, RandomState>,
    swept: u64,
}

impl Rate {
    /// What one request takes, in nanoseconds.
    fn each(self) -> u64 {
        let per = u64::try_from(self.per.as_nanos()).unwrap_or(u64::MAX);
        // Far from where sums would not fit any more.
        (per.min(u64::MAX / 8) / u64::from(self.requests.max(1))).max(1)
    }
}

impl Rates {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            hasher: RandomState::default(),
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }

    /// Counts one request, if there is one left.
    pub(super) fn take(&self, agent: &Arc<str>, caller: &Caller, rate: Rate) -> Standing {
        let key = (Arc::clone(agent), caller.clone());
        let (each, now) = (rate.each(), self.now());
        let most = each * u64::from(rate.requests.max(1));
        let mut shard = self.shard(&key);
        let full_at = shard.full_at.get_mut(&key);
        let full_at = full_at.map_or(now, |full_at| {
            // What was taken at another rate keeps nobody waiting for longer than this one does.
            *full_at = (*full_at).min(now + most);
            now.max(*full_at)
        });
        let next = full_at + each;
        let missing = next.checked_sub(now + most).filter(|missing| *missing > 0);
        let used = match missing {
            Some(_) => full_at - now,
            None => {
                shard.keep(key, next, now);
                next - now
            }
        };
        Standing {
            rate,
            remaining: u32::try_from(most.saturating_sub(used) / each).unwrap_or(u32::MAX),
            full_in: Duration::from_nanos(used),
            wait: missing.map(Duration::from_nanos),
        }
    }

    /// Takes back what was counted for an agent that was not meant.
    pub(super) fn give_back(&self, agent: &Arc<str>, caller: &Caller, rate: Rate) {
        let key = (Arc::clone(agent), caller.clone());
        if let Some(full_at) = self.shard(&key).full_at.get_mut(&key) {
            *full_at = full_at.saturating_sub(rate.each());
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX / 2)
    }

    fn shard(&self, key: &Key) -> MutexGuard<'_, Shard> {
        // Bits from the middle: a table uses those at both ends itself.
        let at = usize::try_from(self.hasher.hash_one(key) >> 32).unwrap_or_default() % SHARDS;
        self.shards[at].lock()
    }
}

impl Shard {
    /// Where there is no room, nothing is kept: nobody is refused for what others do.
    fn keep(&mut self, key: Key, full_at: u64, now: u64) {
        if self.full_at.len() >= MOST && !self.full_at.contains_key(&key) {
            if now.saturating_sub(self.swept) >= SWEEP || self.swept == 0 {
                self.swept = now.max(1);
                self.full_at.retain(|_, full_at| *full_at > now);
            }
            if self.full_at.len() >= MOST {
                return;
            }
        }
        self.full_at.insert(key, full_at);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;
    use crate::task::Owner;

    const RATE: Rate = Rate {
        requests: 4,
        per: Duration::from_secs(60),
    };

    fn agent(name: &str) -> Arc<str> {
        name.into()
    }

    fn ann() -> Caller {
        Caller::Known(Owner::new("ann"))
    }

    #[tokio::test(start_paused = true)]
    async fn all_may_come_at_once_and_then_one_at_a_time() {
        let rates = Rates::new();
        let take = || rates.take(&agent("a"), &ann(), RATE);
        for left in [3, 2, 1, 0] {
            let standing = take();
            assert_eq!((standing.remaining, standing.wait), (left, None));
            let full_in = Duration::from_secs(15 * u64::from(4 - left));
            assert_eq!(standing.full_in, full_in);
        }
        let refused = take();
        assert_eq!(refused.remaining, 0);
        assert_eq!(refused.wait, Some(Duration::from_secs(15)));
        // Being refused costs nothing.
        tokio::time::advance(Duration::from_secs(14)).await;
        assert_eq!(take().wait, Some(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(take().wait, None);
        assert!(take().wait.is_some());
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(take().remaining, 3, "it does not fill beyond what it holds");
    }

    #[tokio::test(start_paused = true)]
    async fn everyone_has_a_bucket_of_their_own_for_each_agent() {
        let rates = Rates::new();
        let at = |address: &str| Caller::at(address.parse().unwrap());
        let exhaust = |name: &str, caller: &Caller| {
            while rates.take(&agent(name), caller, RATE).wait.is_none() {}
        };
        exhaust("a", &ann());
        exhaust("a", &at("2001:db8::1"));
        exhaust("a", &at("10.0.0.1"));
        for (name, caller, allowed) in [
            ("b", ann(), true),
            ("a", Caller::Known(Owner::new("bob")), true),
            ("a", at("2001:db8::ffff"), false),
            ("a", at("2001:db8:0:1::1"), true),
            ("a", at("10.0.0.2"), true),
            ("a", at("::ffff:10.0.0.1"), false),
        ] {
            let standing = rates.take(&agent(name), &caller, RATE);
            assert_eq!(standing.wait.is_none(), allowed, "{name} {caller:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_given_back_can_be_taken_again() {
        let rates = Rates::new();
        let take = || rates.take(&agent("a"), &ann(), RATE);
        while take().wait.is_none() {}
        rates.give_back(&agent("a"), &ann(), RATE);
        assert_eq!(take().wait, None);
        assert!(take().wait.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_what_was_taken_at_another_rate() {
        let rates = Rates::new();
        while rates.take(&agent("a"), &ann(), RATE).wait.is_none() {}
        let faster = Rate {
            requests: 2,
            per: Duration::from_secs(1),
        };
        let take = || rates.take(&agent("a"), &ann(), faster);
        assert_eq!(take().wait, Some(Duration::from_millis(500)));
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(take().wait, None);
        let slower = rates.take(&agent("a"), &ann(), RATE);
        assert_eq!((slower.wait, slower.remaining), (None, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded_and_nobody_is_refused_for_it() {
        let rates = Rates::new();
        let once = Rate {
            requests: 1,
            per: Duration::from_secs(60),
        };
        let many = u128::try_from(SHARDS * MOST).unwrap() * 5 / 4;
        let ask = |n: u128| {
            let caller = Caller::At(Ipv6Addr::from_bits(n << 64).into());
            rates.take(&agent("a"), &caller, once).wait
        };
        for n in 1..=many {
            assert_eq!(ask(n), None);
        }
        let kept = || {
            let shards = rates.shards.iter();
            shards.map(|s| s.lock().full_at.len()).sum::<usize>()
        };
        assert_eq!(kept(), SHARDS * MOST);
        assert!(ask(1).is_some(), "those who are known are remembered");
        tokio::time::advance(Duration::from_secs(61)).await;
        for n in many..many + 1_000 {
            assert_eq!(ask(n), None);
        }
        assert!(kept() < SHARDS * MOST / 2, "full buckets make room");
    }

    #[tokio::test(start_paused = true)]
    async fn odd_rates_do_no_harm() {
        for (requests, per) in [
            (u32::MAX, Duration::from_nanos(1)),
            (0, Duration::from_secs(1)),
            (1, Duration::MAX),
            (u32::MAX, Duration::MAX),
        ] {
            let rates = Rates::new();
            let rate = Rate { requests, per };
            assert_eq!(rates.take(&agent("a"), &ann(), rate).wait, None, "{rate:?}");
        }
    }
}
