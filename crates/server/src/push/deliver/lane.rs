//! One lane of the queue: a fixed number of slots that owners share, then the hosts of each owner.
//!
//! Owners take turns, and so do the hosts of one owner. An owner may hold at most three quarters of the slots that
//! other owners have left, so its webhooks can hang in every slot it got and the next owner still finds one free.
//! Pure bookkeeping, no I/O; [`super::queue`] decides which webhook belongs into which lane.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::queue::{HostName, Key};
use crate::task::Owner;

/// An owner may start another webhook while it holds fewer slots than this many times what would still be free.
const MAX_OWNER_SHARE: usize = 3;

/// The webhooks of one lane that are ready to run, and the number of those that run.
#[derive(Debug)]
pub(super) struct Lane {
    slots: usize,
    /// Slots of one owner at one host.
    slots_per_host: usize,
    running: usize,
    owners: HashMap<Owner, Hosts>,
    /// Owners with ready webhooks that a host has a free slot for, each once.
    turns: VecDeque<Owner>,
}

/// The hosts that one owner's webhooks point to.
#[derive(Debug, Default)]
struct Hosts {
    running: usize,
    by_name: HashMap<HostName, Host>,
    /// Hosts with ready webhooks and a free slot, each once.
    turns: VecDeque<HostName>,
    /// In the lane's `turns`.
    listed: bool,
}

#[derive(Debug, Default)]
struct Host {
    ready: VecDeque<Key>,
    running: usize,
    /// The last attempt got no answer: until one does, a single slot has to do.
    silent: bool,
    /// In `turns`.
    listed: bool,
}

impl Lane {
    pub(super) fn new(slots: usize, slots_per_host: usize) -> Self {
        Self {
            slots: slots.max(1),
            slots_per_host: slots_per_host.max(1),
            running: 0,
            owners: HashMap::new(),
            turns: VecDeque::new(),
        }
    }

    /// Adds a webhook that is ready to run.
    pub(super) fn push(&mut self, owner: &Owner, host: &HostName, key: Key) {
        let hosts = self.owners.entry(owner.clone()).or_default();
        let entry = hosts.by_name.entry(Arc::clone(host)).or_default();
        entry.ready.push_back(key);
        self.list(owner, host);
    }

    /// Starts the next webhook, if a slot is free.
    pub(super) fn pop(&mut self) -> Option<(Key, Owner, HostName)> {
        // The slots that would still be free. Owners beyond their share keep their turn; each of them holds a slot,
        // so this looks at few.
        let free = self.slots.checked_sub(self.running + 1)?;
        for _ in 0..self.turns.len() {
            let owner = self.turns.pop_front()?;
            let Some(hosts) = self.owners.get_mut(&owner) else {
                continue;
            };
            if hosts.running > 0 && hosts.running >= MAX_OWNER_SHARE * free {
                self.turns.push_back(owner);
                continue;
            }
            hosts.listed = false;
            if let Some((key, host)) = hosts.pop(self.slots_per_host) {
                self.running += 1;
                self.list(&owner, &host);
                return Some((key, owner, host));
            }
        }
        None
    }

    /// Gives the slot of a webhook back. `answered` tells whether its host answered, if it was called.
    pub(super) fn release(&mut self, owner: &Owner, host: &HostName, answered: Option<bool>) {
        self.running = self.running.saturating_sub(1);
        if let Some(hosts) = self.owners.get_mut(owner) {
            hosts.running = hosts.running.saturating_sub(1);
            if let Some(host) = hosts.by_name.get_mut(host) {
                host.running = host.running.saturating_sub(1);
                host.silent = answered.map_or(host.silent, |answered| !answered);
            }
        }
        self.list(owner, host);
    }

    /// Gives a host and its owner their turns if they can use them; forgets what has nothing left.
    fn list(&mut self, owner: &Owner, host: &HostName) {
        let Some(hosts) = self.owners.get_mut(owner) else {
            return;
        };
        hosts.list(host, self.slots_per_host);
        if hosts.turns.is_empty() {
            if hosts.by_name.is_empty() && !hosts.listed {
                self.owners.remove(owner);
            }
        } else if !hosts.listed {
            hosts.listed = true;
            self.turns.push_back(owner.clone());
        }
    }
}

impl Hosts {
    fn pop(&mut self, slots_per_host: usize) -> Option<(Key, HostName)> {
        while let Some(name) = self.turns.pop_front() {
            let Some(host) = self.by_name.get_mut(&name) else {
                continue;
            };
            host.listed = false;
            // It may have fallen silent since it was listed.
            if host.running >= host.slots(slots_per_host) {
                continue;
            }
            if let Some(key) = host.ready.pop_front() {
                host.running += 1;
                self.running += 1;
                return Some((key, name));
            }
        }
        None
    }

    fn list(&mut self, name: &HostName, slots_per_host: usize) {
        let Some(host) = self.by_name.get_mut(name) else {
            return;
        };
        if host.ready.is_empty() {
            if host.running == 0 && !host.listed {
                self.by_name.remove(name);
            }
        } else if !host.listed && host.running < host.slots(slots_per_host) {
            host.listed = true;
            self.turns.push_back(Arc::clone(name));
        }
    }
}

impl Host {
    fn slots(&self, at_most: usize) -> usize {
        if self.silent { 1 } else { at_most }
    }
}

#[cfg(test)]
impl Lane {
    /// Whether nothing is left behind.
    pub(super) fn is_empty(&self) -> bool {
        self.running == 0 && self.owners.is_empty() && self.turns.is_empty()
    }
}
