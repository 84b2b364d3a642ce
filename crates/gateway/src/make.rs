//! From an agent of the configuration to one that can be called: what stands behind it, its engine, its door, and its card.

use std::collections::HashMap;
use std::sync::Arc;

use switchboard_agents::script::ScriptAgent;
use switchboard_server::agent::Agent;
use switchboard_server::auth::{Access, Audit, Authorized};
use switchboard_server::engine::{self, Engine, Profile};
use switchboard_server::limit::{Gate, Turns};
use switchboard_server::log::Log;
use switchboard_server::push::{Guard, SealingKey};
use switchboard_server::shutdown::Tasks;
use switchboard_types::model::AgentCard;
use tokio::time::{Instant, timeout_at};

use crate::config::{self, Backend, Config};
use crate::remotes::{self, Remotes, remotes};
use crate::route::Table;
use crate::trust::{Methods, doors};

/// Who may ask which agent.
type Doors = HashMap<Arc<str>, Arc<Access>>;

/// What agents are made with.
pub(crate) struct Maker {
    pub(crate) config: Config,
    pub(crate) methods: Methods,
    /// Where they call each other.
    pub(crate) table: Arc<Table>,
    pub(crate) log: Log,
    pub(crate) guard: Arc<Guard>,
    pub(crate) seal: Arc<SealingKey>,
    pub(crate) audit: Audit,
    /// Room for the tasks of all agents.
    pub(crate) everywhere: Option<Gate>,
    pub(crate) tasks: Tasks,
}

/// Agents that were made.
pub(crate) struct Made {
    pub(crate) engines: HashMap<Arc<str>, Engine>,
    doors: Doors,
    remotes: Remotes,
}

impl Made {
    /// Each engine behind its agent's door.
    pub(crate) fn guarded(&self, audit: &Audit) -> HashMap<Arc<str>, Authorized> {
        let guarded = self.doors.iter().filter_map(|(name, access)| {
            let engine = self.engines.get(name)?.clone();
            let guarded = Authorized::new(engine, Arc::clone(access)).audited(audit.clone());
            Some((Arc::clone(name), guarded))
        });
        guarded.collect()
    }
}

impl Maker {
    /// Makes these agents. Nothing is sent to what stands behind them yet.
    pub(crate) fn make(&self, agents: &[config::Agent]) -> anyhow::Result<Made> {
        for agent in agents.iter().filter(|agent| agent.hides_extended_card()) {
            tracing::warn!(
                agent = &*agent.name,
                "nobody can read the extended card: the agent asks nobody who they are"
            );
        }
        let doors = doors(agents, &self.methods);
        let remotes = remotes(agents)?;
        let length = self.config.limits.queue.length;
        let gate = |most: Option<usize>| most.map(|most| Gate::new(most, length));
        let engine = |agent: &config::Agent| {
            let profile = shown(&self.config, &doors, agent, agent.profile.clone());
            let parts = engine::Parts {
                name: Arc::clone(&agent.name),
                agent: self.backend(agent, &remotes),
                profile,
                settings: engine::Settings {
                    turns: Turns {
                        everywhere: self.everywhere.clone(),
                        here: gate(agent.tasks),
                    },
                    hop: hop(agent, &self.seal),
                    ..agent.settings.clone()
                },
                log: self.log.clone(),
                guard: Arc::clone(&self.guard),
                tasks: self.tasks.clone(),
            };
            (Arc::clone(&agent.name), Engine::new(parts))
        };
        Ok(Made {
            engines: agents.iter().map(engine).collect(),
            doors,
            remotes,
        })
    }

    fn backend(&self, agent: &config::Agent, remotes: &Remotes) -> Arc<dyn Agent> {
        match &agent.backend {
            Backend::Remote(..) | Backend::LangGraph(..) | Backend::Assistants(..) => {
                remotes[&agent.name].agent()
            }
            Backend::Script(script) => {
                let table = Arc::clone(&self.table);
                let agent = ScriptAgent::new(script.clone(), Some(table as _));
                let calls = script.calls().into_iter();
                let hidden = calls.filter(|name| {
                    let called = self.config.said_of(name);
                    called.is_some_and(|called| !called.rights.visible)
                });
                Arc::new(agent.hiding(hidden))
            }
        }
    }

    /// Puts what agents elsewhere say of themselves on our cards, now and whenever it changes. Waits a little for the first
    /// time.
    pub(crate) async fn follow_cards(&self, agents: &[config::Agent], made: &Made) {
        let first = Instant::now() + remotes::PATIENCE;
        for agent in agents {
            let Some(remote) = made.remotes.get(&agent.name) else {
                continue;
            };
            let keeper = (remote.clone(), Arc::clone(&agent.name), self.tasks.clone());
            self.tasks.spawn(async move {
                let (remote, name, tasks) = keeper;
                tokio::select! {
                    () = remote.keep_card(&name, &tasks) => {}
                    () = tasks.stopping().cancelled() => {}
                }
            });
        }
        for agent in agents {
            let Some(remote) = made.remotes.get(&agent.name) else {
                continue;
            };
            let mut card = remote.card();
            // Without it, our card says what the file does.
            drop(timeout_at(first, card.wait_for(Option::is_some)).await);
            let (config, doors) = (self.config.clone(), made.doors.clone());
            let (agent, table, tasks_) =
                (agent.clone(), Arc::clone(&self.table), self.tasks.clone());
            let renew = move |card: &AgentCard| {
                let profile = shown(&config, &doors, &agent, remotes::filled(&agent, card));
                table.renew(&agent.name, profile);
            };
            if let Some(card) = card.borrow_and_update().as_deref() {
                renew(card);
            }
            self.tasks.spawn(async move {
                loop {
                    tokio::select! {
                        () = tasks_.stopping().cancelled() => return,
                        changed = card.changed() => if changed.is_err() {
                            return;
                        }
                    }
                    if let Some(card) = card.borrow_and_update().as_deref() {
                        renew(card);
                    }
                }
            });
        }
    }
}

/// What an agent is called on the way of a call, here and nowhere else. One that not everyone may know of goes by another
/// name. After a restart it is the same: calls that are made again must be found to be the same.
fn hop(agent: &config::Agent, seal: &SealingKey) -> Arc<str> {
    let here = seal.name_for("gateway");
    Arc::from(match agent.rights.visible {
        true => format!("{}@{here}", agent.name),
        false => format!("#{}@{here}", seal.name_for(&agent.name)),
    })
}

/// What an agent's card says, and what its door adds to it.
fn shown(config: &Config, doors: &Doors, agent: &config::Agent, profile: Profile) -> Profile {
    let mut profile = Profile {
        is_default: agent.name == config.default_agent,
        ..profile
    };
    if let Some(door) = doors.get(&agent.name) {
        door.declare(&mut profile);
    }
    profile
}
