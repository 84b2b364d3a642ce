//! Routing rules: each takes the messages that it matches, and hands their tasks off to another agent or answers them.
//!
//! The rules of an agent are asked by priority, the highest first, and in the order they are written; the first one that
//! a message matches decides. Without one, the agent takes the message itself.
//!
//! - `router`: decides by rules who takes a new task.
//! - `heard`: what rules can look at.
//! - `stored`: rules that come and go while the server runs.

mod heard;
mod router;
pub(crate) mod stored;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::{Value, json};
use switchboard_agents::script::{InvalidTemplate, Pattern, Template};
use switchboard_server::clock;

use crate::cel::{Expression, Unusable};
use crate::config::Place;
use crate::policy::Seldom;

pub(crate) use self::heard::Heard;
use self::heard::VARIABLES;
pub(crate) use self::router::RuleRouter;
pub(crate) use self::stored::Stored;

/// How long the search of a text may take, about: it runs on a thread that serves other requests.
const MAX_SEARCH_NANOS: u64 = 10_000_000;

/// One rule.
#[derive(Debug)]
pub struct Route {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// What it is for.
    pub(crate) description: Option<String>,
    /// Where it is written.
    pub(crate) place: Place,
    /// Higher ones are asked first.
    pub(crate) priority: i64,
    /// It is asked at all.
    pub(crate) enabled: bool,
    /// The text must match.
    pub(crate) text: Option<Pattern>,
    /// One of these skills must be asked for, if there are any.
    pub(crate) skills: Vec<String>,
    /// This must be true.
    pub(crate) when: Option<Expression>,
    /// What becomes of the message.
    pub(crate) action: Action,
    pub(crate) told: Seldom,
}

/// What becomes of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// This agent takes the task.
    To(Arc<str>),
    /// This is the answer; a template, known to be readable.
    Answer(String),
}

/// What came of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is about this message.
    Matches,
    /// It is not asked.
    Off,
    /// The text is another one.
    OtherText,
    /// The skill is another one.
    OtherSkill,
    /// Its expression is not true.
    False,
    /// It cannot be told whether its expression is true: then it is not.
    Failed(String),
    /// Another one came first.
    NotReached,
}

/// What came of the rules, in their order.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) outcomes: Vec<Outcome>,
    /// The rule that decided.
    pub(crate) chosen: Option<Arc<Route>>,
}

/// The rules of one agent, in the order they are asked.
#[derive(Debug, Default, Clone)]
pub(crate) struct Rules(Vec<Arc<Route>>);

/// The rules of one agent, those of the file and those that are stored.
#[derive(Debug)]
pub(crate) struct Routes {
    agent: Arc<str>,
    written: Vec<Arc<Route>>,
    stored: Arc<Stored>,
    /// All of them, as of that change of the stored ones.
    all: RwLock<(u64, Arc<Rules>)>,
}

impl Route {
    /// A rule that takes every message.
    pub(crate) fn new(name: impl Into<Arc<str>>, place: Place, action: Action) -> Self {
        Self {
            name: name.into(),
            description: None,
            place,
            priority: 0,
            enabled: true,
            text: None,
            skills: Vec::new(),
            when: None,
            action,
            told: Seldom::default(),
        }
    }

    /// The same for messages of which this expression is true.
    ///
    /// # Errors
    ///
    /// If the expression cannot be used.
    pub(crate) fn when(mut self, expression: &str) -> Result<Self, Unusable> {
        self.when = Some(Expression::compile(expression, &VARIABLES)?);
        Ok(self)
    }

    fn ask(&self, heard: &Heard<'_>) -> Outcome {
        if !self.enabled {
            return Outcome::Off;
        }
        if let Some(pattern) = &self.text {
            if pattern.cost().nanos(heard.text()) > MAX_SEARCH_NANOS {
                return self.failed("the text is too long to be searched for `text`".to_owned());
            }
            if !pattern.is_in(heard.text()) {
                return Outcome::OtherText;
            }
        }
        let named = |skill: &String| heard.skill() == Some(skill.as_str());
        if !self.skills.is_empty() && !self.skills.iter().any(named) {
            return Outcome::OtherSkill;
        }
        let Some(when) = &self.when else {
            return Outcome::Matches;
        };
        let answer = match heard.refusal(when) {
            Some(why) => Err(why),
            None => when.is_true(&heard.values(when)),
        };
        match answer {
            Ok(true) => Outcome::Matches,
            Ok(false) => Outcome::False,
            Err(cause) => self.failed(cause),
        }
    }

    fn failed(&self, cause: String) -> Outcome {
        if self.told.is_due(clock::now()) {
            let rule = &*self.name;
            tracing::warn!(rule, error = cause, "could not evaluate a routing rule");
        }
        Outcome::Failed(cause)
    }
}

impl Action {
    /// An answer.
    ///
    /// # Errors
    ///
    /// If the template cannot be read.
    pub(crate) fn answer(template: &str) -> Result<Self, InvalidTemplate> {
        let _: Template = template.parse()?;
        Ok(Self::Answer(template.to_owned()))
    }

    /// The decision of a rule, as it is stored with a task.
    fn to_json(&self, rule: &str) -> Value {
        match self {
            Self::To(agent) => json!({ "rule": rule, "to": &**agent }),
            Self::Answer(template) => json!({ "rule": rule, "answer": template }),
        }
    }

    /// Reads a stored decision.
    fn from_json(stored: &Value) -> Option<Self> {
        let text = |name: &str| stored[name].as_str();
        text("to")
            .map(|agent| Self::To(Arc::from(agent)))
            .or_else(|| Self::answer(text("answer")?).ok())
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::To(agent) => write!(f, "to {agent}"),
            Self::Answer(_) => f.write_str("answered"),
        }
    }
}

impl Rules {
    /// These rules, by priority.
    pub(crate) fn new(mut rules: Vec<Arc<Route>>) -> Self {
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.priority));
        Self(rules)
    }

    /// In the order they are asked.
    pub(crate) fn all(&self) -> &[Arc<Route>] {
        &self.0
    }

    /// Asks one rule after the other until one takes the message.
    pub(crate) fn walk(&self, heard: &Heard<'_>) -> Walk {
        let mut chosen = None;
        let outcomes = self.0.iter().map(|rule| {
            if chosen.is_some() {
                return Outcome::NotReached;
            }
            let outcome = rule.ask(heard);
            if outcome == Outcome::Matches {
                chosen = Some(Arc::clone(rule));
            }
            outcome
        });
        let outcomes = outcomes.collect();
        Walk { outcomes, chosen }
    }
}

impl Routes {
    /// The rules of an agent in the file, and those that are stored.
    pub(crate) fn new(agent: Arc<str>, written: Vec<Arc<Route>>, stored: Arc<Stored>) -> Self {
        Self {
            agent,
            written,
            stored,
            all: RwLock::default(),
        }
    }

    /// Whether there is nothing to ask.
    pub(crate) fn are_none(&self) -> bool {
        self.written.is_empty() && self.stored.are_none()
    }

    /// The rules as they are now.
    pub(crate) fn now(&self) -> Arc<Rules> {
        let changes = self.stored.changes();
        {
            let all = self.all.read();
            if all.0 == changes {
                return Arc::clone(&all.1);
            }
        }
        let stored = self.stored.of(&self.agent);
        let rules = Arc::new(Rules::new([self.written.clone(), stored].concat()));
        *self.all.write() = (changes, Arc::clone(&rules));
        rules
    }
}
