//! Assistants of a LangGraph server behind our agents.

use switchboard_agents::langgraph::Settings;

use super::agent::join;
use super::load::Check;
use super::raw;
use super::yaml::{Step, Step::Key};
use super::{Agent, Backend, Config, Identity};

/// Where a LangGraph server is if nothing else is said: where `langgraph dev` puts it.
const USUAL: &str = "http://localhost:2024";

impl Check<'_> {
    pub(super) fn langgraph(
        &mut self,
        at: &[Step<'_>],
        raw: raw::LangGraph,
        identity: Identity,
    ) -> Option<Backend> {
        let at = join(at, Key("langgraph"));
        let before = self.problems.len();
        let discovers = raw.discover.unwrap_or(false);
        match (&raw.assistant, discovers) {
            (Some(name), false) if name.is_empty() => {
                self.wrong(&join(&at, Key("assistant")), "is empty".to_owned(), None);
            }
            (Some(_), false) | (None, true) => {}
            (Some(_), true) => {
                let message = "`assistant` and `discover` are mutually exclusive".to_owned();
                let hint = Some("keep one of them".to_owned());
                self.wrong(&join(&at, Key("discover")), message, hint);
            }
            (None, false) => {
                let hint = "add `assistant`, or `discover: true` for all of them".to_owned();
                self.wrong(&at, "names no assistant".to_owned(), Some(hint));
            }
        }
        let url = raw.url.map_or_else(|| USUAL.to_owned(), |url| url.0);
        let Ok(base) = url.parse() else {
            let message = format!("`{url}` is not the address of a server");
            self.wrong(&join(&at, Key("url")), message, None);
            return None;
        };
        let mut settings = Settings::new(base, raw.assistant.unwrap_or_default());
        // A password in it would be shown in logs.
        if !settings.base.username().is_empty() || settings.base.password().is_some() {
            let message = "must not have credentials in it".to_owned();
            let hint = Some("say who the agent is with `identity`".to_owned());
            self.wrong(&join(&at, Key("url")), message, hint);
        }
        settings.timeout =
            self.some_bound(&join(&at, Key("timeout")), raw.timeout, settings.timeout);
        settings.reconnect = raw.reconnect.map_or(settings.reconnect, |time| time.0);
        settings.streaming = raw.streaming.unwrap_or(settings.streaming);
        settings.data_keys = raw.data_keys;
        settings.show_errors = raw.show_errors.unwrap_or(settings.show_errors);
        settings.refresh =
            self.some_time(&join(&at, Key("refresh")), raw.refresh, settings.refresh);
        if self.problems.len() > before {
            return None;
        }
        let settings = Box::new(settings);
        Some(match discovers {
            true => Backend::Assistants(settings, identity),
            false => Backend::LangGraph(settings, identity),
        })
    }
}

impl Config {
    /// What is said of the agent of that name: its own entry, or the one that it may be found for.
    pub(crate) fn said_of(&self, name: &str) -> Option<&Agent> {
        meant(self.agents.iter().chain(&self.discover), name)
    }
}

/// Of these, the one that a name means: the one that has it, or the one that may find such an agent.
pub(super) fn meant<'a>(
    agents: impl IntoIterator<Item = &'a Agent, IntoIter: Clone>,
    name: &str,
) -> Option<&'a Agent> {
    let mut agents = agents.into_iter();
    let own = agents.clone().find(|agent| *agent.name == *name);
    own.or_else(|| agents.find(|agent| agent.may_find(name)))
}

impl Agent {
    /// Whether it stands for agents that are still to be found.
    pub(crate) fn discovers(&self) -> bool {
        matches!(self.backend, Backend::Assistants(..))
    }

    /// Whether an agent that is found for it may be called so.
    pub(crate) fn may_find(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&*self.name);
        self.discovers() && rest.is_some_and(|rest| rest.len() > 1 && rest.starts_with('-'))
    }
}
