//! What came of it: every rule at every place, and how many of each.

mod html;
mod json;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_types::model::Interface;

use super::check::{Check, Level, Verdict};
use super::discover::Discovered;
use super::exchange::Exchange;

/// All results.
#[derive(Debug)]
pub struct Report {
    /// As it was named.
    pub(crate) agent: String,
    /// As it names itself.
    pub(crate) name: String,
    /// Where the card was found.
    pub(crate) card: String,
    pub(crate) interfaces: Vec<Place>,
    pub(crate) lines: Vec<Line>,
}

/// An interface of the card.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) place: String,
    pub(crate) url: String,
    /// Why it was left out.
    pub(crate) unchecked: Option<String>,
}

/// One rule at one place.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) check: &'static Check,
    /// `card`, or an interface.
    pub(crate) place: String,
    pub(crate) verdict: Verdict,
    /// What was said for it. An answer that several rules look at is the first one's.
    pub(crate) exchanges: Vec<Arc<Exchange>>,
}

/// How many of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Rules that hold.
    pub pass: usize,
    /// Violated rules of level MUST.
    pub must: usize,
    /// Violated rules of level SHOULD.
    pub should: usize,
    /// Rules about what the agent does not offer.
    pub not_offered: usize,
    /// Rules that could not be checked.
    pub not_seen: usize,
}

impl Line {
    pub(crate) fn new(check: &'static Check, place: &str, verdict: Verdict) -> Self {
        Self {
            check,
            place: place.to_owned(),
            verdict,
            exchanges: Vec::new(),
        }
    }

    /// How much it matters: the weaker half of a rule matters less.
    pub(crate) fn level(&self) -> Level {
        match &self.verdict {
            Verdict::Fail(fault) => fault.only.unwrap_or(self.check.level),
            _ => self.check.level,
        }
    }

    /// What to do about it.
    pub(crate) fn hint(&self) -> &str {
        match &self.verdict {
            Verdict::Fail(fault) => fault.hint.as_deref().unwrap_or(self.check.hint),
            _ => self.check.hint,
        }
    }

    /// Of several places the worst counts; one that holds tells more than one that was not seen.
    fn weight(&self) -> usize {
        match (&self.verdict, self.level()) {
            (Verdict::NotOffered(_), _) => 0,
            (Verdict::NotSeen(_), _) => 1,
            (Verdict::Pass, _) => 2,
            (Verdict::Fail(_), Level::Should) => 3,
            (Verdict::Fail(_), Level::Must) => 4,
        }
    }
}

impl Count {
    fn add(&mut self, line: &Line) {
        match (&line.verdict, line.level()) {
            (Verdict::Pass, _) => self.pass += 1,
            (Verdict::Fail(_), Level::Must) => self.must += 1,
            (Verdict::Fail(_), Level::Should) => self.should += 1,
            (Verdict::NotOffered(_), _) => self.not_offered += 1,
            (Verdict::NotSeen(_), _) => self.not_seen += 1,
        }
    }

    /// The count in words.
    pub(crate) fn text(&self) -> String {
        format!(
            "{} pass, {} fail (MUST {}, SHOULD {}), {} not offered, {} not seen",
            self.pass,
            self.must + self.should,
            self.must,
            self.should,
            self.not_offered,
            self.not_seen
        )
    }
}

impl Report {
    pub(super) fn of(found: &Discovered, agent: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            name: found.card.name.clone(),
            card: found
                .url
                .as_ref()
                .map_or_else(|| agent.to_owned(), ToString::to_string),
            interfaces: Vec::new(),
            lines: Vec::new(),
        }
    }

    pub(super) fn checked(
        &mut self,
        place: &str,
        interface: &Interface,
        unchecked: Option<String>,
    ) {
        self.interfaces.push(Place {
            place: place.to_owned(),
            url: interface.url.clone(),
            unchecked,
        });
    }

    /// The report for people.
    #[must_use]
    pub fn text(&self) -> String {
        text::write(self)
    }

    /// The report for programs.
    #[must_use]
    pub fn json(&self) -> String {
        json::write(self)
    }

    /// The report as a page.
    #[must_use]
    pub fn html(&self) -> String {
        html::write(self)
    }

    /// How many results of each kind, over all places.
    #[must_use]
    pub fn count(&self) -> Count {
        let mut count = Count::default();
        self.lines.iter().for_each(|line| count.add(line));
        count
    }

    /// The rules of A2A 1.0, each once, however many places it was checked at.
    pub(crate) fn checklist(&self) -> Count {
        let mut worst: BTreeMap<&str, &Line> = BTreeMap::new();
        for line in self
            .lines
            .iter()
            .filter(|line| line.check.id.starts_with("S-"))
        {
            let known = worst.entry(line.check.id).or_insert(line);
            if line.weight() > known.weight() {
                *known = line;
            }
        }
        let mut count = Count::default();
        worst.values().for_each(|line| count.add(line));
        count
    }

    /// What is wrong, the worst first.
    pub(crate) fn failures(&self) -> Vec<&Line> {
        let mut failures: Vec<&Line> = self
            .lines
            .iter()
            .filter(|l| matches!(l.verdict, Verdict::Fail(_)))
            .collect();
        failures.sort_by_key(|line| line.level() != Level::Must);
        failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{fail, unseen, weak};

    /// A report with something of everything, and texts that a page must not take for its own.
    pub(super) fn sample() -> Report {
        let exchange = Arc::new(Exchange {
            line: "POST http://agent/<script>".to_owned(),
            headers: vec![("x".to_owned(), "\"quoted\" & 'so'".to_owned())],
            body: "{\"a\":\"</pre><script>alert(1)</script>\"}".to_owned(),
            status: "HTTP 200 OK".to_owned(),
            answer_headers: Vec::new(),
            answer: "<b>bold</b>".to_owned(),
        });
        let rules: Vec<&'static Check> = crate::checks::newest().collect();
        let rule = |id: &str| rules.iter().copied().find(|check| check.id == id).unwrap();
        let line = |id: &str, place: &str, verdict| Line {
            exchanges: vec![Arc::clone(&exchange)],
            ..Line::new(rule(id), place, verdict)
        };
        Report {
            agent: "<agent>".to_owned(),
            name: "A & B <i>".to_owned(),
            card: "http://agent/card.json".to_owned(),
            interfaces: vec![
                Place {
                    place: "JSONRPC 1.0".to_owned(),
                    url: "http://agent".to_owned(),
                    unchecked: None,
                },
                Place {
                    place: "GRPC 1.0".to_owned(),
                    url: "agent:1".to_owned(),
                    unchecked: Some("not checked".to_owned()),
                },
            ],
            lines: vec![
                line("S-001", "JSONRPC 1.0", Verdict::Pass),
                line("S-013", "JSONRPC 1.0", weak("a size was taken", &exchange)),
                line("S-024", "JSONRPC 1.0", unseen("needs --long-message")),
                line("S-024", "HTTP+JSON 1.0", Verdict::Pass),
                line("S-052", "JSONRPC 1.0", fail("a <wrong> number", &exchange)),
                line(
                    "S-038",
                    "JSONRPC 1.0",
                    Verdict::NotOffered("a rule of the HTTP+JSON binding"),
                ),
                line("S-010", "card", unseen("needs two callers")),
            ],
        }
    }

    #[test]
    fn a_rule_counts_once_and_by_its_worst_place() {
        let report = sample();
        assert_eq!(
            report.count().text(),
            "2 pass, 2 fail (MUST 1, SHOULD 1), 1 not offered, 2 not seen"
        );
        assert_eq!(
            report.checklist().text(),
            "2 pass, 2 fail (MUST 1, SHOULD 1), 1 not offered, 1 not seen"
        );
    }

    #[test]
    fn what_must_be_comes_before_what_should_be() {
        let report = sample();
        let order: Vec<&str> = report.failures().iter().map(|line| line.check.id).collect();
        assert_eq!(order, ["S-052", "S-013"]);
    }
}
