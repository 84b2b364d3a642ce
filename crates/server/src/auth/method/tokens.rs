//! Tokens that were found good. A signature costs more to check than the rest of a request.

use std::collections::VecDeque;
use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use parking_lot::{Mutex, MutexGuard};
use switchboard_types::model::Timestamp;

use crate::net::Fingerprint;
use crate::principal::Principal;

/// Threads seldom meet at one of so many locks.
const SHARDS: usize = 16;
/// The most tokens in each.
const MOST: usize = 1_024;

/// Good tokens; bounded, and the least used go first.
pub(super) struct Tokens {
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Default)]
struct Shard {
    known: HashMap<Fingerprint, Entry, RandomState>,
    /// In the order in which they may have to go.
    order: VecDeque<Fingerprint>,
}

struct Entry {
    caller: Principal,
    until: Timestamp,
    /// The keys it was checked with; with others it may be good no more.
    keys: u64,
    used: bool,
}

impl Tokens {
    pub(super) fn new() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }

    /// Who has this token, if it is still good.
    pub(super) fn find(
        &self,
        fingerprint: &Fingerprint,
        keys: u64,
        now: Timestamp,
    ) -> Option<Principal> {
        let mut shard = self.shard(fingerprint);
        let entry = shard.known.get_mut(fingerprint)?;
        if entry.keys != keys || now >= entry.until {
            return None;
        }
        entry.used = true;
        Some(entry.caller.clone())
    }

    pub(super) fn keep(
        &self,
        fingerprint: Fingerprint,
        caller: Principal,
        until: Timestamp,
        keys: u64,
        now: Timestamp,
    ) {
        let mut shard = self.shard(&fingerprint);
        let entry = Entry {
            caller,
            until,
            keys,
            used: false,
        };
        if shard.known.insert(fingerprint, entry).is_none() {
            shard.order.push_back(fingerprint);
            shard.make_room(keys, now);
        }
    }

    fn shard(&self, fingerprint: &Fingerprint) -> MutexGuard<'_, Shard> {
        let shard = &self.shards[usize::from(fingerprint[0]) % SHARDS];
        shard.lock()
    }
}

/// Tokens that are someone else's, whatever the keys and the time: to find that out costs as much as the rest of a
/// request. Apart from the good ones: nobody drives those out by making up others.
pub(super) struct Strangers {
    /// Nobody has come yet: where there is one issuer only, nobody is looked for.
    any: AtomicBool,
    hasher: RandomState,
    shards: [Mutex<HashSet<u64, RandomState>>; SHARDS],
}

impl Strangers {
    pub(super) fn new() -> Self {
        Self {
            any: AtomicBool::new(false),
            hasher: RandomState::default(),
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }

    pub(super) fn knows(&self, token: &str) -> bool {
        if !self.any.load(Ordering::Relaxed) {
            return false;
        }
        let (mark, shard) = self.place(token);
        shard.contains(&mark)
    }

    pub(super) fn keep(&self, token: &str) {
        let (mark, mut shard) = self.place(token);
        if shard.len() >= MOST {
            shard.clear();
        }
        shard.insert(mark);
        self.any.store(true, Ordering::Relaxed);
    }

    fn place(&self, token: &str) -> (u64, MutexGuard<'_, HashSet<u64, RandomState>>) {
        let mark = self.hasher.hash_one(token);
        let shard = &self.shards[(mark >> 60) as usize % SHARDS];
        (mark, shard.lock())
    }
}

impl fmt::Debug for Strangers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Strangers")
    }
}

impl Shard {
    /// Those that were used since they were last looked at get another turn.
    fn make_room(&mut self, keys: u64, now: Timestamp) {
        while self.known.len() > MOST {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            match self.known.get_mut(&oldest) {
                Some(entry) if entry.used && entry.keys == keys && now < entry.until => {
                    entry.used = false;
                    self.order.push_back(oldest);
                }
                _ => drop(self.known.remove(&oldest)),
            }
        }
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

#[cfg(test)]
mod tests {
    use switchboard_keys::sha256;

    use super::*;

    fn fingerprint(token: &str) -> Fingerprint {
        sha256(token.as_bytes())
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn strangers_are_known_again_and_not_all_of_them() {
        let strangers = Strangers::new();
        assert!(!strangers.knows("a.b.c"));
        strangers.keep("a.b.c");
        assert!(strangers.knows("a.b.c"));
        assert!(!strangers.knows("a.b.d"));
        for n in 0..SHARDS * MOST * 2 {
            strangers.keep(&n.to_string());
        }
        let kept = strangers.shards.iter().map(|shard| shard.lock().len());
        assert!(kept.sum::<usize>() <= SHARDS * MOST);
    }

    #[test]
    fn a_token_is_known_until_it_expires_or_the_keys_change() {
        let tokens = Tokens::new();
        let abc = fingerprint("a.b.c");
        tokens.keep(abc, Principal::anonymous(), at(100), 1, at(0));
        assert!(tokens.find(&abc, 1, at(99)).is_some());
        assert!(tokens.find(&abc, 1, at(100)).is_none());
        assert!(tokens.find(&abc, 2, at(50)).is_none());
        assert!(tokens.find(&fingerprint("a.b.d"), 1, at(50)).is_none());
        tokens.keep(abc, Principal::anonymous(), at(200), 2, at(50));
        assert!(tokens.find(&abc, 2, at(150)).is_some());
    }

    #[test]
    fn there_is_room_for_so_many_and_those_in_use_stay() {
        let tokens = Tokens::new();
        let used = fingerprint("used");
        tokens.keep(used, Principal::anonymous(), at(100), 1, at(0));
        for n in 0..4 * SHARDS * MOST {
            let other = fingerprint(&n.to_string());
            tokens.keep(other, Principal::anonymous(), at(100), 1, at(0));
            assert!(tokens.find(&used, 1, at(0)).is_some(), "{n}");
        }
        for shard in &tokens.shards {
            let shard = shard.lock();
            assert_eq!((shard.known.len(), shard.order.len()), (MOST, MOST));
        }
    }
}
