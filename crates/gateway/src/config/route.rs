//! Rules by which messages go to other agents.

use std::fmt;
use std::sync::Arc;

use super::agent::join;
use super::load::Check;
use super::problem::Place;
use super::raw;
use super::yaml::{self, Step, Step::Item, Step::Key};
use crate::route::rules::{Action, Route};

impl Check<'_> {
    /// The rules of an agent.
    pub(super) fn routes(
        &mut self,
        at: &[Step<'_>],
        raw: Option<Vec<raw::Route>>,
    ) -> Vec<Arc<Route>> {
        let at = join(at, Key("routes"));
        let rules = raw.unwrap_or_default().into_iter().enumerate();
        let rules = rules.filter_map(|(n, rule)| self.route(&join(&at, Item(n)), rule));
        rules.map(Arc::new).collect()
    }

    fn route(&mut self, at: &[Step<'_>], raw: raw::Route) -> Option<Route> {
        let name = raw.name.clone().unwrap_or_else(|| yaml::show(at));
        let place = self.tree.place_of(at).clone();
        match Route::read(raw, &name, place) {
            Ok(route) => {
                if let Some(when) = &route.when {
                    self.doubt_expense(&join(at, Key("when")), when);
                }
                Some(route)
            }
            Err(wrong) => {
                let key = wrong.key.as_deref().map(Key);
                let at = [at, key.as_slice()].concat();
                self.wrong(&at, wrong.message, wrong.hint);
                None
            }
        }
    }
}

/// What is wrong with a rule.
#[derive(Debug)]
pub(crate) struct WrongRoute {
    /// The key, if it is one.
    pub(crate) key: Option<String>,
    /// What is wrong with it.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

impl fmt::Display for WrongRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl Route {
    /// A rule as it is written.
    ///
    /// # Errors
    ///
    /// If nobody could follow it.
    pub(crate) fn read(raw: raw::Route, name: &str, place: Place) -> Result<Self, WrongRoute> {
        let action = match (raw.to, raw.answer) {
            (Some(to), None) => Action::To(to.into()),
            (None, Some(answer)) => Action::answer(&answer).map_err(|error| WrongRoute {
                key: Some("answer".to_owned()),
                message: error.to_string(),
                hint: None,
            })?,
            (both, _) => {
                let message = match both {
                    Some(_) => "`to` and `answer` are mutually exclusive",
                    None => "does nothing with the messages it takes",
                };
                let hint = "add `to` with the name of an agent, or `answer` with a text";
                return Err(WrongRoute {
                    key: None,
                    message: message.to_owned(),
                    hint: Some(hint.to_owned()),
                });
            }
        };
        let route = Self {
            description: raw.description,
            priority: raw.priority.unwrap_or(0),
            enabled: raw.enabled.unwrap_or(true),
            text: raw.text,
            skills: raw.skill.map(raw::OneOrMore::into_vec).unwrap_or_default(),
            ..Self::new(name, place, action)
        };
        match raw.when {
            None => Ok(route),
            Some(when) => route.when(&when).map_err(|error| WrongRoute {
                key: Some("when".to_owned()),
                message: error.message,
                hint: error.hint,
            }),
        }
    }
}
