//! What callers may do: rules, and what must be granted for agents and skills.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_server::auth::SkillAccess;
use switchboard_server::card::Profile;

use super::agent::join;
use super::load::Check;
use super::problem::Place;
use super::raw;
use super::yaml::{self, Step, Step::Item, Step::Key};
use crate::cel::Expression;
use crate::policy::{Effect, On, Rule};

/// What those may do who may call an agent.
#[derive(Debug, Clone)]
pub struct Rights {
    /// The rules, those for all agents first.
    pub rules: Vec<Arc<Rule>>,
    /// What every call must have been granted.
    pub scopes: Vec<Arc<str>>,
    /// All skills, and what each of them asks for.
    pub skills: Vec<SkillAccess>,
    /// Everyone may know that there is this agent.
    pub visible: bool,
    /// Where it is written what must be granted: `scopes`, and `skills.` with the skill's id.
    pub(crate) places: BTreeMap<String, Place>,
}

/// A skill that asks for something.
struct Asking {
    id: String,
    scopes: Vec<Arc<str>>,
    listed: bool,
    place: Place,
}

impl Check<'_> {
    /// Rules that stand below `at`.
    pub(super) fn rules(&mut self, at: &[Step<'_>], raw: Option<raw::Access>) -> Vec<Arc<Rule>> {
        let at = [at, &[Key("access"), Key("rules")]].concat();
        let raw = raw.and_then(|access| access.rules).unwrap_or_default();
        let rules = raw.into_iter().enumerate();
        let rules = rules.filter_map(|(n, rule)| self.rule(&join(&at, Item(n)), rule));
        rules.map(Arc::new).collect()
    }

    fn rule(&mut self, at: &[Step<'_>], raw: raw::Rule) -> Option<Rule> {
        let (effect, when) = match (raw.allow, raw.deny) {
            (Some(when), None) => (Effect::Allow, when),
            (None, Some(when)) => (Effect::Deny, when),
            (both, _) => {
                let message = match both {
                    Some(_) => "`allow` and `deny` are mutually exclusive",
                    None => "neither allows nor denies anything",
                };
                let hint = "write one rule with `allow`, or one with `deny`".to_owned();
                self.wrong(at, message.to_owned(), Some(hint));
                return None;
            }
        };
        let name = raw.name.unwrap_or_else(|| yaml::show(at));
        let place = self.tree.place_of(at).clone();
        match Rule::new(name, place, effect, &when) {
            Ok(mut rule) => {
                self.doubt_expense(&join(at, Key(effect.name())), &rule.when);
                rule.tell = raw.tell.unwrap_or(false);
                rule.on = match raw.on {
                    None | Some(raw::RuleOn::Caller) => On::Caller,
                    Some(raw::RuleOn::Delegation) => On::Delegation,
                    Some(raw::RuleOn::Both) => On::Both,
                };
                Some(rule)
            }
            Err(error) => {
                self.wrong(&join(at, Key(effect.name())), error.message, error.hint);
                None
            }
        }
    }

    /// Warns of an expression that may be refused when callers bring large lists.
    pub(super) fn doubt_expense(&mut self, at: &[Step<'_>], when: &Expression) {
        if let Some(message) = when.expense() {
            let hint = "use one loop, or `in`; a rule that is not evaluated denies, or does not allow; a route does \
                        not apply";
            self.doubt(at, message, Some(hint.to_owned()));
        }
    }

    /// What an agent asks for, its skills apart.
    pub(super) fn rights(
        &mut self,
        at: &[Step<'_>],
        raw: &mut raw::Agent,
        for_all: &[Arc<Rule>],
    ) -> (Rights, Skills) {
        let mut rules = for_all.to_vec();
        rules.extend(self.rules(at, raw.access.take()));
        let here = join(at, Key("scopes"));
        let scopes = self.scopes(&here, raw.scopes.take());
        let mut asking = Vec::new();
        let more = join(at, Key("extended_card"));
        let extended = raw.extended_card.as_mut();
        for (at, skills) in [
            (at, raw.skills.as_mut()),
            (&more, extended.and_then(|card| card.skills.as_mut())),
        ] {
            for (n, skill) in skills.into_iter().flatten().enumerate() {
                let at = [at, &[Key("skills"), Item(n), Key("scopes")]].concat();
                asking.push(Asking {
                    id: skill.id.clone(),
                    scopes: self.scopes(&at, skill.scopes.take()),
                    listed: skill.listed.unwrap_or(false),
                    place: self.tree.place_of(&at).clone(),
                });
            }
        }
        let mut places = BTreeMap::new();
        if !scopes.is_empty() {
            places.insert("scopes".to_owned(), self.tree.place_of(&here).clone());
        }
        let rights = Rights {
            rules,
            scopes,
            skills: Vec::new(),
            visible: raw.visible.unwrap_or(true),
            places,
        };
        (rights, Skills(asking))
    }

    fn scopes(&mut self, at: &[Step<'_>], raw: Option<Vec<String>>) -> Vec<Arc<str>> {
        let raw = raw.unwrap_or_default();
        for (n, scope) in raw.iter().enumerate() {
            let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
            if scope.is_empty() || !scope.bytes().all(fits) {
                let message = format!("`{scope}` is not a valid scope");
                let hint = "write one word without quotes and backslashes".to_owned();
                self.wrong(&join(at, Item(n)), message, Some(hint));
            }
        }
        raw.into_iter().map(Arc::from).collect()
    }

    /// Nobody who need not show who they are has been granted anything.
    pub(super) fn scopes_can_be_had(&mut self, at: &[Step<'_>], agent: &super::Agent) {
        if agent.access.iter().any(|way| !way.is_empty()) {
            return;
        }
        let agent_asks = !agent.rights.scopes.is_empty();
        if agent_asks || agent.rights.skills.iter().any(|s| !s.scopes.is_empty()) {
            let at = join(at, Key(if agent_asks { "scopes" } else { "skills" }));
            let message = "no caller can have this scope: the agent requires no authentication";
            let hint = "name a method under `auth`, or leave the scopes out".to_owned();
            self.wrong(&at, message.to_owned(), Some(hint));
        }
    }
}

/// Skills that say what they ask for.
pub(super) struct Skills(Vec<Asking>);

impl Skills {
    /// All skills of an agent, whether they ask for something or not.
    pub(super) fn of(self, profile: &Profile, rights: &mut Rights) {
        let cards = [Some(&profile.card), profile.extended.as_ref()];
        for skill in cards.into_iter().flatten().flat_map(|card| &card.skills) {
            if rights.skills.iter().any(|known| *known.id == *skill.id) {
                continue;
            }
            let asking = self.0.iter().find(|asking| asking.id == skill.id);
            rights.skills.push(SkillAccess {
                id: skill.id.as_str().into(),
                scopes: asking
                    .map(|asking| asking.scopes.clone())
                    .unwrap_or_default(),
                listed: asking.is_some_and(|asking| asking.listed),
            });
            if let Some(asking) = asking.filter(|asking| !asking.scopes.is_empty()) {
                let rule = format!("skills.{}", skill.id);
                rights.places.insert(rule, asking.place.clone());
            }
        }
    }
}
