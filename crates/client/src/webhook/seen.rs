//! What was told before: agents post at least once, so sometimes twice; and others may post again what they overheard.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use switchboard_types::model::Event;

/// How many notifications are remembered.
const MOST: usize = 10_000;

/// How many signatures are remembered that still hold. Only those who have a key can fill this.
const MOST_SIGNED: usize = 1_000_000;

/// The last notifications, and all whose signature still holds.
#[derive(Debug, Default)]
pub(super) struct Seen {
    known: HashSet<Mark>,
    order: VecDeque<Mark>,
    signed: HashMap<Mark, Duration>,
    by_end: BTreeSet<(Duration, Mark)>,
}

/// What tells a notification from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Mark(u64);

/// All that a notification is known by.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    /// By what it says itself: anyone can say it.
    pub(super) plain: Option<Mark>,
    /// By what its signature says, and since 1970 until when that holds.
    pub(super) signed: Option<(Mark, Duration)>,
}

impl Mark {
    /// A numbered event is known by its number. Without one, the same words are the same event, but for pieces of an
    /// artifact, which have no mark: an agent may well say the same piece twice.
    pub(super) fn of(task: &str, number: Option<&str>, event: &Event, body: &[u8]) -> Option<Self> {
        match (number, event) {
            (Some(number), _) => Some(Self::numbered(task, number)),
            (None, Event::Artifact(update)) if update.append => None,
            (None, _) => Some(Self::hashed((task, false, body))),
        }
    }

    /// The mark of an event of that number.
    pub(super) fn numbered(task: &str, number: &str) -> Self {
        Self::hashed((task, true, number))
    }

    /// The mark of what a signature without a number was made for.
    pub(super) fn token(token: &str, body: &[u8]) -> Self {
        Self::hashed((token, body))
    }

    fn hashed(what: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl Seen {
    /// Whether this was told before, by whatever it is known.
    pub(super) fn knows(&self, marks: &Marks) -> bool {
        let known = |mark: Mark| self.known.contains(&mark) || self.signed.contains_key(&mark);
        marks.plain.is_some_and(known) || marks.signed.is_some_and(|(mark, _)| known(mark))
    }

    /// From now on it was. Whether that is new.
    pub(super) fn remember(&mut self, marks: &Marks, now: Duration) -> bool {
        let new = !self.knows(marks);
        if let Some(mark) = marks.plain
            && self.known.insert(mark)
        {
            self.order.push_back(mark);
            if self.order.len() > MOST
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
        }
        if let Some((mark, until)) = marks.signed {
            self.hold(mark, until);
            while let Some((end, mark)) = self.by_end.first().copied()
                && (end < now || self.by_end.len() > MOST_SIGNED)
            {
                self.by_end.pop_first();
                self.signed.remove(&mark);
            }
        }
        new
    }

    /// Keeps a mark as long as its signature holds; a repetition may be signed anew.
    fn hold(&mut self, mark: Mark, until: Duration) {
        let held = self.signed.entry(mark).or_insert(until);
        if *held < until {
            self.by_end.remove(&(*held, mark));
            *held = until;
        }
        self.by_end.insert((*held, mark));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn signed(number: &str, until: u64) -> Marks {
        Marks {
            plain: None,
            signed: Some((Mark::numbered("t", number), at(until))),
        }
    }

    #[test]
    fn signatures_are_forgotten_when_they_hold_no_longer_and_not_before() {
        let mut seen = Seen::default();
        assert!(seen.remember(&signed("1", 100), at(0)));
        assert!(!seen.remember(&signed("1", 200), at(10)), "signed anew");
        assert!(seen.remember(&signed("2", 300), at(150)));
        assert!(seen.knows(&signed("1", 100)));
        assert!(seen.remember(&signed("3", 300), at(201)));
        assert!(!seen.knows(&signed("1", 100)));
        assert_eq!(seen.signed.len(), 2);
        assert_eq!(seen.by_end.len(), 2);
    }

    #[test]
    fn either_mark_is_enough_to_be_known() {
        let mut seen = Seen::default();
        let (one, two) = (Mark::numbered("t", "1"), Mark::numbered("t", "2"));
        let both = Marks {
            plain: Some(one),
            signed: Some((two, at(100))),
        };
        assert!(seen.remember(&both, at(0)));
        for (plain, signed) in [(Some(one), None), (Some(two), None), (None, Some(two))] {
            let signed = signed.map(|mark| (mark, at(100)));
            assert!(seen.knows(&Marks { plain, signed }), "{plain:?} {signed:?}");
        }
        assert!(!seen.knows(&Marks::default()));
    }
}
