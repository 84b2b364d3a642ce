//! What those who are let in may do at one agent: what it asks to be granted, then its skills, then its policy. The
//! server decides by it, and explanations of what it would decide are made of it.

use std::sync::Arc;

use switchboard_types::model::AgentCard;
use switchboard_types::operation::Method;
use switchboard_types::{Error, ErrorKind};

use super::skill::{insufficient, unknown};
use super::{About, Access, Action, Ask, Audit, Denial, SkillAccess, Verdict, noted};
use crate::call::Origin;
use crate::clock;
use crate::principal::Principal;
use crate::store::access::What;

/// The rule that says what must be granted for all calls.
const SCOPES: &str = "scopes";
/// The rule that wants a skill to be named.
const SKILLS: &str = "skills";

impl Access {
    /// May they?
    #[must_use]
    pub fn decide(&self, ask: &Ask<'_>) -> Verdict {
        let missing = self.missing(&self.scopes, ask);
        if !missing.is_empty() {
            let message = format!("this needs {}", words(&missing));
            return deny(SCOPES, message, missing);
        }
        match ask.skill {
            Some(skill) => self.decide_skill(ask, skill),
            // A message goes on with the skill of its task, once that is seen.
            None if ask.action.needs_skill()
                && !matches!(ask.task, About::Unseen)
                && self.leaves_out_skill(ask) =>
            {
                let message =
                    "you may not use all skills of this agent: name one in metadata.skillId";
                deny(SKILLS, message.to_owned(), Vec::new())
            }
            None => self.policy().decide(ask),
        }
    }

    /// # Errors
    ///
    /// If a skill is named that is none of the agent's, and skills matter. To those who may not know all skills it is
    /// refused like one of these.
    pub fn knows_skill(&self, ask: &Ask<'_>) -> Result<(), Error> {
        let Some(skill) = ask.skill.filter(|_| self.has_restricted_skills()) else {
            return Ok(());
        };
        if self.skills.iter().any(|known| *known.id == *skill) {
            return Ok(());
        }
        let kept_from_them = |known: &SkillAccess| {
            let skill = Some(&*known.id);
            !known.listed && self.decide(&Ask { skill, ..*ask }) != Verdict::Allow
        };
        if self.restricted().any(kept_from_them) {
            return Err(Error::new(ErrorKind::PermissionDenied, insufficient(skill)));
        }
        Err(unknown(skill))
    }

    /// What a caller is told who is denied. A skill that stands on no public card is not told from one that is not
    /// there.
    pub(super) fn told(&self, ask: &Ask<'_>, denial: Denial) -> Error {
        let is_there = |skill: &str| self.skills.iter().any(|known| *known.id == *skill);
        let on_card = |skill: &str| is_there(skill) && self.is_public(skill);
        let hidden = |skill: &str| !on_card(skill) && denial.message == insufficient(skill);
        if ask.skill.is_some_and(hidden) {
            return Error::new(ErrorKind::PermissionDenied, denial.message);
        }
        denial.into()
    }

    /// Whether there is nothing to decide.
    pub(crate) fn allows_all(&self) -> bool {
        self.policy.is_none() && self.scopes.is_empty() && !self.has_restricted_skills()
    }

    /// Whether there are skills that are not everyone's.
    pub(crate) fn has_restricted_skills(&self) -> bool {
        self.restricted().next().is_some()
    }

    /// Whether this caller may know of the agent, or of one of its skills: those who may use it do.
    #[must_use]
    pub fn shows(&self, agent: &str, who: &Principal, skill: Option<&str>) -> bool {
        let ask = Ask {
            caller: who,
            agent,
            action: match skill {
                Some(_) => Action::Call(Method::Send),
                None => Action::ReadCard,
            },
            skill,
            task: About::Nothing,
            origin: &Origin::Network,
            now: clock::now(),
        };
        self.decide(&ask) == Verdict::Allow
    }

    /// Takes the skills off a card that this caller may not know of.
    pub(crate) fn show(&self, agent: &str, who: &Principal, card: &mut AgentCard) {
        if !self.has_restricted_skills() {
            return;
        }
        if who.is_anonymous() || !self.shows(agent, who, None) {
            card.skills.retain(|skill| self.is_public(&skill.id));
        } else {
            card.skills
                .retain(|skill| self.shows(agent, who, Some(&skill.id)));
        }
    }

    fn is_public(&self, id: &str) -> bool {
        let mut restricted = self.restricted();
        restricted.all(|skill| *skill.id != *id || skill.listed)
    }

    /// Skills that are not everyone's.
    fn restricted(&self) -> impl Iterator<Item = &SkillAccess> {
        let skills = self.skills.iter();
        skills.filter(|skill| !skill.scopes.is_empty() || self.policy().restricts(&skill.id))
    }

    fn decide_skill(&self, ask: &Ask<'_>, skill: &str) -> Verdict {
        let known = self.skills.iter().find(|known| *known.id == *skill);
        let missing = known.map(|known| self.missing(&known.scopes, ask));
        if let Some(missing) = missing.filter(|missing| !missing.is_empty()) {
            return deny(&format!("{SKILLS}.{skill}"), insufficient(skill), missing);
        }
        let matters = || match known {
            Some(_) => self.policy().restricts(skill),
            None => self.has_restricted_skills(),
        };
        match self.policy().decide(ask) {
            Verdict::Deny(denial) if matters() => Verdict::Deny(Denial {
                message: insufficient(skill),
                ..denial
            }),
            verdict => verdict,
        }
    }

    /// Whether a caller who names no skill could mean one that is not theirs.
    fn leaves_out_skill(&self, ask: &Ask<'_>) -> bool {
        let may = |skill: &SkillAccess| {
            let skill = Some(&*skill.id);
            self.decide(&Ask { skill, ..*ask }) == Verdict::Allow
        };
        !self.restricted().all(may)
    }

    /// What the caller has not been granted of this. Agents that call each other are wired by the operator, and after
    /// a restart nobody knows what their callers were granted: only rules can forbid them something.
    fn missing(&self, scopes: &[Arc<str>], ask: &Ask<'_>) -> Vec<Arc<str>> {
        if *ask.origin != Origin::Network {
            return Vec::new();
        }
        let granted = |scope: &Arc<str>| ask.caller.scopes().any(|had| *had == **scope);
        let missing = scopes.iter().filter(|scope| !granted(scope));
        missing.map(Arc::clone).collect()
    }
}

fn deny(rule: &str, message: String, missing: Vec<Arc<str>>) -> Verdict {
    Verdict::Deny(Denial {
        missing,
        ..Denial::by(rule, message)
    })
}

fn words(scopes: &[Arc<str>]) -> String {
    let quoted: Vec<String> = scopes.iter().map(|scope| format!("{scope:?}")).collect();
    let many = if scopes.len() > 1 { "scopes" } else { "scope" };
    format!("the {many} {}", quoted.join(", "))
}

impl Access {
    /// Says no, if it may not be, and writes that down.
    ///
    /// # Errors
    ///
    /// What the caller is told.
    pub(crate) fn allow(&self, ask: &Ask<'_>, audit: &Audit) -> Result<(), Error> {
        let Verdict::Deny(denial) = self.decide(ask) else {
            return Ok(());
        };
        ask.note_denial(&denial.rule, audit);
        Err(self.told(ask, denial))
    }
}

impl Ask<'_> {
    /// Writes down that this rule has said no.
    pub(crate) fn note_denial(&self, rule: &str, audit: &Audit) {
        let (who, operation) = (self.caller.owner().as_str(), self.action.name());
        tracing::debug!(caller = who, agent = self.agent, operation, %rule, "call denied by policy");
        let denied = noted(What::Denied, self.caller, self.agent);
        audit.note(denied.about(operation).with("rule", rule));
    }
}

impl From<Denial> for Error {
    fn from(denial: Denial) -> Self {
        let mut error = Self::new(ErrorKind::PermissionDenied, denial.message);
        if denial.tell {
            error = error.fact("rule", &*denial.rule);
        }
        if !denial.missing.is_empty() {
            error = error.fact("scope", denial.missing.join(" "));
        }
        error
    }
}
