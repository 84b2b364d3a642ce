//! Agents: names, what stands behind them, how they treat their tasks.

use std::collections::BTreeSet;
use std::sync::Arc;

use switchboard_agents::profile as agents;
use switchboard_agents::script::builtin;
use switchboard_server::budget::Allowance;
use switchboard_server::card::Interfaces;
use switchboard_server::directory::check_agent_name;
use switchboard_server::engine::{OnDisconnect, OnInputTimeout, Settings};

use super::auth::Ways;
use super::backend::most_at_once;
use super::langgraph::meant;
use super::load::Check;
use super::problem::did_you_mean;
use super::raw;
use super::remote::gaps;
use super::timeouts::Timeouts;
use super::yaml::{self, Step, Step::Item, Step::Key};
use super::{Agent, Backend, Print};
use crate::policy::{On, Rule};
use crate::route::rules::Action;

const SCRIPT: &str = "script";
const ROUTES: &str = "routes";

/// What counts for all agents.
#[derive(Debug)]
pub(super) struct Doors {
    /// What callers are asked for by agents that do not say it themselves.
    pub(super) ways: Ways,
    /// Rules.
    pub(super) rules: Vec<Arc<Rule>>,
    /// What the cards of agents offer that do not say it themselves.
    pub(super) interfaces: Interfaces,
    /// How long things may take at agents that do not say it themselves.
    pub(super) timeouts: Timeouts,
}

impl Agent {
    /// The agents that it calls, with the key that says so.
    pub(crate) fn calls(&self) -> BTreeSet<(&'static str, &str)> {
        let scripted = match &self.backend {
            Backend::Script(script) => script.calls(),
            _ => BTreeSet::new(),
        };
        let scripted = scripted.into_iter().map(|called| (SCRIPT, called));
        let routed = self.routes.iter().filter_map(|route| match &route.action {
            Action::To(agent) => Some((ROUTES, &**agent)),
            Action::Answer(_) => None,
        });
        scripted.chain(routed).collect()
    }

    /// Whether someone may call this one who may not call the other one, as far as it is written in doors and scopes.
    /// Rules about delegation are meant for such callers.
    fn is_more_open_than(&self, other: &Self) -> bool {
        let about_errands = |rule: &Arc<Rule>| rule.on != On::Caller;
        if other.rights.rules.iter().any(about_errands) {
            return false;
        }
        let opens = |shown: &Vec<Arc<str>>| {
            let enough = |way: &Vec<Arc<str>>| way.iter().all(|method| shown.contains(method));
            other.access.iter().any(enough)
        };
        let granted = |scope: &Arc<str>| self.rights.scopes.contains(scope);
        !self.access.iter().all(opens) || !other.rights.scopes.iter().all(granted)
    }
}

impl Check<'_> {
    /// All agents of the file.
    pub(super) fn agents(&mut self, raw: raw::Agents, doors: &Doors) -> Vec<Agent> {
        if raw.0.is_empty() && self.tree.get("agents").is_none_or(is_empty) {
            self.wrong(
                &[Key("agents")],
                "no agents configured".to_owned(),
                Some(
                    "add one under `agents:`, or try `switchboard up`, which brings its own"
                        .to_owned(),
                ),
            );
        }
        raw.0
            .into_iter()
            .filter_map(|(name, agent)| self.agent(&name, agent, doors))
            .collect()
    }

    /// Agents that others call must be there.
    pub(super) fn calls_reach_someone(&mut self, agents: &[Agent]) {
        let names: Vec<&str> = agents.iter().map(|agent| &*agent.name).collect();
        for agent in agents {
            for (key, called) in agent.calls() {
                let at = [Key("agents"), Key(&agent.name), Key(key)];
                if meant(agents, called).is_none() {
                    let message = format!("calls `{called}`, but there is no such agent");
                    self.wrong(&at, message, did_you_mean(called, names.iter().copied()));
                } else if key == ROUTES && *called == *agent.name {
                    let message = "hands tasks off to itself".to_owned();
                    let hint = "remove the rule: messages that match no rule stay with the agent"
                        .to_owned();
                    self.wrong(&at, message, Some(hint));
                }
            }
        }
    }

    /// Who may call an agent should be able to call those, too, that it calls for them.
    pub(super) fn calls_open_no_door(&mut self, agents: &[Agent]) {
        for agent in agents {
            for (key, called) in agent.calls() {
                let Some(closed) = meant(agents, called) else {
                    continue;
                };
                if agent.is_more_open_than(closed) {
                    let message = format!(
                        "calls `{}` for callers who are not authorized for it",
                        closed.name
                    );
                    let hint = format!(
                        "require the same authentication for both, or add a rule with `on: delegation` to `{}` that says who may",
                        closed.name
                    );
                    let at = [Key("agents"), Key(&agent.name), Key(key)];
                    self.doubt(&at, message, Some(hint));
                }
            }
        }
    }

    /// The agents Switchboard brings along; `raw` may change how they are served.
    pub(super) fn built_in(&mut self, mut raw: raw::Agents, doors: &Doors) -> Vec<Agent> {
        let built_in = builtin::agents().unwrap_or_else(|error| {
            self.wrong(&[], format!("a built-in agent is damaged: {error}"), None);
            Vec::new()
        });
        let mut agents = Vec::with_capacity(built_in.len());
        for own in built_in {
            let changes = raw.0.iter().position(|(name, _)| name == own.name);
            let changes = changes.map(|at| raw.0.remove(at).1).unwrap_or_default();
            let at = [Key("agents"), Key(own.name)];
            let backend = Backend::Script(own.script);
            agents.push(self.assemble(&at, own.name, changes, own.profile, backend, doors));
        }
        agents.extend(
            raw.0
                .into_iter()
                .filter_map(|(name, agent)| self.agent(&name, agent, doors)),
        );
        agents
    }

    fn agent(&mut self, name: &str, mut raw: raw::Agent, doors: &Doors) -> Option<Agent> {
        let at = [Key("agents"), Key(name)];
        if let Err(error) = check_agent_name(name) {
            self.wrong(&at, error.to_string(), Some(error.hint()));
        }
        let (profile, backend) = self.backend(&at, &mut raw)?;
        Some(self.assemble(&at, name, raw, profile, backend, doors))
    }

    /// An agent from what is said of it, here first and then in `base`.
    fn assemble(
        &mut self,
        at: &[Step<'_>],
        name: &str,
        mut raw: raw::Agent,
        base: agents::Profile,
        backend: Backend,
        doors: &Doors,
    ) -> Agent {
        let access = self.agent_auth(at, raw.auth.take(), &doors.ways);
        let (mut rights, skills) = self.rights(at, &mut raw, &doors.rules);
        let (rate, tasks) = self.agent_limits(at, raw.limits.take(), most_at_once(&backend));
        let timeouts = self.timeouts(at, raw.timeouts.take(), doors.timeouts);
        let mut settings = timeouts.applied_to(settings(&mut raw, &base));
        // Its card is shown as ours, but only the remote agent knows what it takes.
        settings.any_input = matches!(backend, Backend::Remote(..)) && raw.input_modes.is_none();
        let routes = self.routes(at, raw.routes.take());
        let backend = backend.within(&settings);
        let gaps = match backend {
            Backend::Remote(..)
            | Backend::OpenClaw(_)
            | Backend::LangGraph(..)
            | Backend::Assistants(..) => gaps(&raw, &backend),
            Backend::Script(_) | Backend::OpenAi(..) | Backend::Exec(_) => Vec::new(),
        };
        let (offered, address) = (raw.interfaces.take(), raw.grpc_address);
        let mut profile = self.profile(at, name, raw, base);
        profile.interfaces = self.interfaces(at, offered, address, &doors.interfaces);
        skills.of(&profile, &mut rights);
        let agent = Agent {
            name: Arc::from(name),
            profile,
            gaps,
            access,
            rights,
            rate,
            tasks,
            backend,
            routes,
            settings,
            print: Print::default(),
        };
        self.scopes_can_be_had(at, &agent);
        agent
    }
}

/// How an engine treats the tasks of an agent, but for how long things may take.
fn settings(raw: &mut raw::Agent, base: &agents::Profile) -> Settings {
    let default = Settings::default();
    let budget = raw.budget.take().unwrap_or_default();
    Settings {
        reply_with_message: match raw.reply {
            Some(reply) => reply == raw::ReplyKind::Message,
            None => base.reply_message(),
        },
        on_input_timeout: match raw.on_input_timeout {
            Some(raw::OnInputTimeout::Continue) => OnInputTimeout::Continue,
            Some(raw::OnInputTimeout::Fail) => OnInputTimeout::Fail,
            None => default.on_input_timeout,
        },
        on_disconnect: match raw.on_disconnect {
            Some(raw::OnDisconnect::Keep) => OnDisconnect::Keep,
            Some(raw::OnDisconnect::Cancel) => OnDisconnect::Cancel,
            None => default.on_disconnect,
        },
        dedupe_by_message_id: raw
            .dedupe_by_message_id
            .unwrap_or(default.dedupe_by_message_id),
        answers_by_context: raw.answers == Some(raw::Answers::Context),
        question_data: raw.question_data.unwrap_or(default.question_data),
        allowed: Allowance {
            calls: budget.calls,
            tokens: budget.tokens,
            time: budget.time.map(|time| time.0),
        },
        ..default
    }
}

/// Whether something stands behind a key.
pub(super) fn is_given(node: &yaml::Node) -> bool {
    !matches!(&node.data, yaml::Data::Scalar(scalar) if scalar.is_null())
}

fn is_empty(node: &yaml::Node) -> bool {
    match &node.data {
        yaml::Data::Scalar(scalar) => scalar.is_null(),
        yaml::Data::List(_) => false,
        yaml::Data::Map(entries) => entries.is_empty(),
    }
}

pub(super) fn at_path<'n>(tree: &'n yaml::Node, path: &[Step<'_>]) -> Option<&'n yaml::Node> {
    path.iter().try_fold(tree, |node, step| match step {
        Key(key) => node.get(key),
        Item(_) => None,
    })
}

pub(super) fn join<'a>(at: &[Step<'a>], step: Step<'a>) -> Vec<Step<'a>> {
    [at, &[step]].concat()
}
