//! The rules of an agent, and what they were asked.

use std::fmt::Write as _;
use std::sync::Arc;

use parking_lot::Mutex;

use switchboard_server::auth::{About, Ask, Policy, Verdict};

use crate::policy::facts::Facts;
use crate::policy::{Effect, Outcome, Rules};

/// The rules, and what they were asked.
#[derive(Debug)]
pub(super) struct Heard {
    rules: Option<Rules>,
    log: Mutex<Vec<Asked>>,
}

/// One question to the rules, as it is shown.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) lines: Vec<String>,
    /// What decided, and why.
    pub(super) decided: Option<(String, String)>,
}

impl Heard {
    pub(super) fn new(rules: Option<Rules>) -> Self {
        Self {
            rules,
            log: Mutex::default(),
        }
    }

    pub(super) fn log(&self) -> Vec<Asked> {
        self.log.lock().clone()
    }

    fn decide(&self, ask: &Ask<'_>) -> Verdict {
        let Some(rules) = &self.rules else {
            return Verdict::Allow;
        };
        let walk = rules.walk(ask);
        let facts = Facts::of(ask, &rules.skills, rules.all());
        let mut asked = Asked {
            lines: Vec::new(),
            decided: None,
        };
        let about = match ask.task {
            About::Unseen => ", before the task is loaded",
            About::Own(_) => ", with the task",
            About::Nothing => "",
        };
        let skill = ask.skill.map(|skill| format!(", skill {skill}"));
        let skill = skill.unwrap_or_default();
        asked
            .lines
            .push(format!("{}{skill}{about}:", ask.action.name()));
        for (at, (rule, outcome)) in rules.all().iter().zip(&walk.outcomes).enumerate() {
            let (name, place, effect) = (&rule.name, &rule.place, rule.effect.name());
            let when = rule.when.source();
            let outcome = told(outcome);
            asked
                .lines
                .push(format!("  {name} ({place}) {effect}: {outcome}"));
            if walk.decided == Some(at) {
                let mut because = format!("{when}: {outcome}");
                for (path, value) in rule.when.looks_at(&facts.values) {
                    let value = value.map_or_else(|| "not there".to_owned(), |v| v.to_string());
                    let _ = write!(because, "; {path} is {value}");
                }
                asked.decided = Some((format!("{name} ({place})"), because));
            }
        }
        if let (None, Verdict::Deny(_)) = (&asked.decided, &walk.verdict) {
            let first = rules.all().iter().find(|rule| rule.effect == Effect::Allow);
            let by = first.map(|rule| format!("{} ({}) and those after it", rule.name, rule.place));
            let because = "no allow rule matched".to_owned();
            asked.decided = Some((by.unwrap_or_default(), because));
        }
        let verdict = walk.verdict;
        let mut log = self.log.lock();
        log.push(asked);
        verdict
    }
}

fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::True => "true".to_owned(),
        Outcome::False => "false".to_owned(),
        Outcome::Failed(cause) => format!("could not be evaluated ({cause})"),
        Outcome::Elsewhere => "does not apply to this kind of call".to_owned(),
        Outcome::Unseen => "not evaluated before the task is known to be the caller's".to_owned(),
        Outcome::NotNeeded => "not evaluated: another rule allows the call".to_owned(),
    }
}

/// The rules of an agent, as its door asks them.
#[derive(Debug)]
pub(super) struct Listening(pub(super) Arc<Heard>);

impl Policy for Listening {
    fn decide(&self, ask: &Ask<'_>) -> Verdict {
        self.0.decide(ask)
    }

    fn looks_at_tasks(&self) -> bool {
        self.0.rules.as_ref().is_some_and(Policy::looks_at_tasks)
    }

    fn restricts(&self, skill: &str) -> bool {
        let rules = self.0.rules.as_ref();
        rules.is_some_and(|rules| rules.restricts(skill))
    }
}
