//! Rules by which messages go to other agents.

use std::sync::Arc;

use super::agent::join;
use super::load::Check;
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
        let action = match (raw.to, raw.answer) {
            (Some(to), None) => Action::To(to.into()),
            (None, Some(answer)) => match Action::answer(&answer) {
                Ok(answer) => answer,
                Err(error) => {
                    self.wrong(&join(at, Key("answer")), error.to_string(), None);
                    return None;
                }
            },
            (both, _) => {
                let message = match both {
                    Some(_) => "`to` and `answer` cannot stand together",
                    None => "does nothing with the messages it takes",
                };
                let hint = "add `to` with the name of an agent, or `answer` with a text".to_owned();
                self.wrong(at, message.to_owned(), Some(hint));
                return None;
            }
        };
        let name = raw.name.unwrap_or_else(|| yaml::show(at));
        let place = self.tree.place_of(at).clone();
        let route = Route {
            description: raw.description,
            priority: raw.priority.unwrap_or(0),
            enabled: raw.enabled.unwrap_or(true),
            text: raw.text,
            skills: raw.skill.map(raw::OneOrMore::into_vec).unwrap_or_default(),
            ..Route::new(name, place, action)
        };
        let Some(when) = raw.when else {
            return Some(route);
        };
        match route.when(&when) {
            Ok(route) => Some(route),
            Err(error) => {
                self.wrong(&join(at, Key("when")), error.message, error.hint);
                None
            }
        }
    }
}
