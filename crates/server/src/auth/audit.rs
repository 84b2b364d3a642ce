//! What happened at the doors, written down: beside the request, never before its answer, and never so much that
//! someone could fill the disk by knocking.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};

use crate::principal::Principal;
use crate::shutdown::Tasks;
use crate::store::access::{AccessStore, AuditEntry, What};

/// How often what was noted is written.
const BATCH: Duration = Duration::from_secs(1);

/// How many batches are a minute: what happens again within it is counted, and written once at its end.
const BATCHES: u32 = 60;

/// The most lines that wait for a store that takes none.
const MOST_UNWRITTEN: usize = 10_000;

/// How many different things are noted in a minute; the rest is only counted.
const MOST: usize = 1000;

/// How many tasks that one caller cancels at an agent in a minute are a line each; the rest is counted.
const CANCELS: u32 = 100;

/// Writes down what happens; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Audit(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    store: Arc<dyn AccessStore>,
    noted: Mutex<Noted>,
}

/// What is not written yet.
#[derive(Debug, Default)]
struct Noted {
    fresh: Vec<AuditEntry>,
    /// This minute: what was written, and what is to be written of it again at the end.
    seen: HashMap<Same, Option<AuditEntry>>,
    /// How many tasks were canceled this minute, by whom and where.
    cancels: HashMap<(String, Option<String>), u32>,
    /// What else happened this minute.
    more: Option<AuditEntry>,
}

/// Two entries that are the same but for their time.
type Same = (
    What,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    String,
);

impl Audit {
    /// Writes nothing down.
    #[must_use]
    pub fn off() -> Self {
        Self::default()
    }

    /// Writes to that store, once a second until the server stops.
    #[must_use]
    pub fn start(store: Arc<dyn AccessStore>, tasks: &Tasks) -> Self {
        let shared = Arc::new(Shared {
            store,
            noted: Mutex::default(),
        });
        let stopping = tasks.stopping().clone();
        let ours = Arc::clone(&shared);
        tasks.spawn(async move {
            let mut tick = interval(BATCH);
            tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
            for batch in 1_u32.. {
                let stop = tokio::select! {
                    _ = tick.tick() => false,
                    () = stopping.cancelled() => true,
                };
                ours.write(stop || batch.is_multiple_of(BATCHES)).await;
                if stop {
                    return;
                }
            }
        });
        Self(Some(shared))
    }

    /// Writes what is left, after everyone has stopped.
    pub async fn close(&self) {
        if let Some(shared) = &self.0 {
            shared.write(true).await;
        }
    }

    /// Writes that down before long.
    pub(crate) fn note(&self, entry: AuditEntry) {
        let Some(shared) = &self.0 else { return };
        shared.noted.lock().add(entry);
    }
}

impl Shared {
    async fn write(&self, minute: bool) {
        let entries = self.noted.lock().take(minute);
        if !entries.is_empty()
            && let Err(error) = self.store.note(entries.clone()).await
        {
            let lost = self.noted.lock().put_back(entries);
            tracing::error!(%error, lost, "could not write the audit log, will retry");
        }
    }
}

impl Noted {
    fn add(&mut self, mut entry: AuditEntry) {
        match entry.what {
            What::KeyCreated | What::KeyRevoked | What::RuleStored | What::RuleDeleted => {
                return self.push(entry);
            }
            What::Canceled => {
                let by = (entry.who.clone(), entry.agent.clone());
                let count = self.cancels.entry(by).or_insert(0);
                *count += 1;
                if *count <= CANCELS {
                    return self.push(entry);
                }
                // Which one it was is not told any more.
                entry.object = None;
            }
            What::LoginFailed | What::Denied => {}
        }
        let room = self.seen.len() < MOST;
        match self.seen.entry(same(&entry)) {
            Entry::Occupied(mut again) => count(again.get_mut(), entry),
            Entry::Vacant(first) if room => {
                first.insert(None);
                self.push(entry);
            }
            Entry::Vacant(_) => {
                let rest = AuditEntry {
                    at: entry.at,
                    ..AuditEntry::new(entry.what, "")
                };
                count(&mut self.more, rest.with("more", true));
            }
        }
    }

    /// Also a line of the log, for each that is to be one of the audit.
    fn push(&mut self, entry: AuditEntry) {
        let (what, who) = (entry.what.name(), &entry.who);
        let (agent, object, address) = (&entry.agent, &entry.object, &entry.address);
        tracing::info!(target: "audit", event = what, caller = who, agent, object, address, "audit");
        self.fresh.push(entry);
    }

    /// Keeps for later what could not be written; how many found no room.
    fn put_back(&mut self, mut entries: Vec<AuditEntry>) -> usize {
        let room = MOST_UNWRITTEN.saturating_sub(self.fresh.len());
        let lost = entries.len().saturating_sub(room);
        entries.truncate(room);
        entries.append(&mut self.fresh);
        self.fresh = entries;
        lost
    }

    /// What is to be written now; at the end of a minute, also what was only counted.
    fn take(&mut self, minute: bool) -> Vec<AuditEntry> {
        let mut entries = mem::take(&mut self.fresh);
        if minute {
            self.cancels.clear();
            entries.extend(mem::take(&mut self.seen).into_values().flatten());
            entries.extend(self.more.take());
            entries.sort_by_key(|entry| entry.at);
        }
        entries
    }
}

/// One more of the same.
fn count(counted: &mut Option<AuditEntry>, entry: AuditEntry) {
    match counted {
        Some(so_far) => {
            so_far.count = so_far.count.saturating_add(1);
            so_far.at = entry.at;
        }
        None => *counted = Some(entry),
    }
}

fn same(entry: &AuditEntry) -> Same {
    (
        entry.what,
        entry.who.clone(),
        entry.agent.clone(),
        entry.object.clone(),
        entry.address.clone(),
        serde_json::Value::Object(entry.detail.clone()).to_string(),
    )
}

/// An entry about what this caller did at that agent.
pub(crate) fn noted(what: What, who: &Principal, agent: &str) -> AuditEntry {
    AuditEntry {
        agent: Some(agent.to_owned()),
        address: who.address().map(|address| address.to_string()),
        ..AuditEntry::new(what, who.owner().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(who: &str) -> AuditEntry {
        AuditEntry::new(What::Denied, who)
    }

    #[test]
    fn what_happens_again_within_a_minute_is_counted() {
        let mut noted = Noted::default();
        for _ in 0..5 {
            noted.add(denied("ann"));
        }
        noted.add(denied("bob"));
        let first = noted.take(false);
        let who: Vec<_> = first.iter().map(|e| (&*e.who, e.count)).collect();
        assert_eq!(who, [("ann", 1), ("bob", 1)]);
        noted.add(denied("bob"));
        let rest: HashMap<_, _> = noted
            .take(true)
            .into_iter()
            .map(|e| (e.who, e.count))
            .collect();
        assert_eq!(
            rest,
            HashMap::from([("ann".to_owned(), 4), ("bob".to_owned(), 1)])
        );
        noted.add(denied("ann"));
        assert_eq!(noted.take(false).len(), 1, "the next minute begins anew");
    }

    #[test]
    fn nobody_fills_the_disk_by_knocking() {
        let mut noted = Noted::default();
        for number in 0..MOST + 500 {
            noted.add(denied(&number.to_string()));
        }
        assert_eq!(noted.take(false).len(), MOST);
        let rest = noted.take(true);
        assert_eq!(rest.len(), 1);
        assert_eq!(rest[0].count, 500);
        assert_eq!(rest[0].detail["more"], true);
    }

    #[test]
    fn every_key_and_almost_every_cancel_is_a_line() {
        let mut noted = Noted::default();
        let canceled =
            |who: &str, n: u32| AuditEntry::new(What::Canceled, who).about(n.to_string());
        for number in 0..CANCELS + 50 {
            noted.add(canceled("ann", number));
            noted.add(AuditEntry::new(What::KeyCreated, "ann").about(number.to_string()));
        }
        noted.add(canceled("bob", 0));
        let lines = noted.take(false);
        let of = |what: What, who: &str| {
            let of = lines
                .iter()
                .filter(|line| line.what == what && line.who == who);
            u32::try_from(of.count()).unwrap()
        };
        assert_eq!(of(What::KeyCreated, "ann"), CANCELS + 50);
        assert_eq!(of(What::Canceled, "ann"), CANCELS + 1);
        assert_eq!(
            of(What::Canceled, "bob"),
            1,
            "nobody else is counted with her"
        );
        let rest = noted.take(true);
        assert_eq!((rest.len(), rest[0].count), (1, 49));
        assert_eq!(rest[0].object, None);
        noted.add(canceled("ann", 0));
        assert_eq!(noted.take(false).len(), 1, "the next minute begins anew");
    }
}
