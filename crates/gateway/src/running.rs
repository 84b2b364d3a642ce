//! The agents as they run: made from a configuration, and made anew where a later one says something else.
//!
//! An agent that stays as it is keeps its engine. One that is changed gets a new engine: turns that have begun go on to
//! their end at the old one, all others begin at the new one. One that is not there any more takes no more calls; what it
//! works on goes on to its end.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use switchboard_server::auth::{Access, Audit};
use switchboard_server::authorize::Authorized;
use switchboard_server::card::Profile;
use switchboard_server::directory::Listing;
use switchboard_server::egress::{Guard, SealingKey};
use switchboard_server::engine::{self, Engine};
use switchboard_server::hops::Hop;
use switchboard_server::limit::{Gate, Turns};
use switchboard_server::log::Log;
use switchboard_server::shutdown::Tasks;
use switchboard_server::table::Table;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::backends::{Behind, backend};
use crate::claws::Claws;
use crate::config::{self, Config, Print};
use crate::remotes::{self, Far};
use crate::route::rules::{Route, Stored};
use crate::trust::{Methods, door};

/// What all agents stand on, as long as the process lives.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) table: Arc<Table>,
    pub(crate) log: Log,
    pub(crate) guard: Arc<Guard>,
    pub(crate) seal: Arc<SealingKey>,
    pub(crate) tasks: Tasks,
    pub(crate) audit: Audit,
    pub(crate) methods: Methods,
    /// Room for the turns of all agents.
    pub(crate) everywhere: Option<Gate>,
    /// How many turns may wait for room.
    pub(crate) queue: usize,
    /// Gateways that agents share.
    pub(crate) claws: Claws,
    /// Rules that operators have stored.
    pub(crate) stored: Arc<Stored>,
}

/// All agents that run, or did.
#[derive(Debug)]
pub(crate) struct Running {
    ground: Ground,
    agents: HashMap<Arc<str>, One>,
    /// Those that are not there any more, the first one first.
    gone: VecDeque<Arc<str>>,
}

/// How many agents that are gone others can still ask about what they gave them. Servers whose assistants come and go
/// would fill the memory with them.
const MOST_GONE: usize = 1_000;

/// One agent.
#[derive(Debug)]
struct One {
    /// What it was made from; nothing if it is not there any more.
    print: Option<Print>,
    guarded: Authorized,
    /// Its rules in the file.
    routes: Vec<Arc<Route>>,
    /// Room for its turns.
    room: Option<(usize, Gate)>,
    /// What stands behind it elsewhere, and what is to be said of that on its card.
    elsewhere: Option<Elsewhere>,
    /// Fires when it is another one, or gone.
    over: CancellationToken,
}

#[derive(Debug, Clone)]
struct Elsewhere {
    far: Far,
    agent: config::Agent,
    door: Arc<Access>,
    is_default: bool,
}

/// Agents that are ready to take over.
#[derive(Debug)]
pub(crate) struct Next {
    new: Vec<One>,
    gone: Vec<Arc<str>>,
    default: Arc<str>,
}

/// What is different now; names in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Agents that were not there before.
    pub added: Vec<Arc<str>>,
    /// Agents that are made from something else.
    pub changed: Vec<Arc<str>>,
    /// Agents that are not there any more.
    pub removed: Vec<Arc<str>>,
}

impl Changes {
    /// Whether all is as it was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

impl Next {
    /// The agents that come.
    pub(crate) fn listings(&self) -> Vec<Arc<Listing>> {
        let new = self.new.iter();
        new.map(|one| one.guarded.listing()).collect()
    }
}

impl Drop for Next {
    /// Whoever has not taken over never will.
    fn drop(&mut self) {
        for one in &self.new {
            one.over.cancel();
        }
    }
}

impl Running {
    /// None yet.
    pub(crate) fn new(ground: Ground) -> Self {
        Self {
            ground,
            agents: HashMap::new(),
            gone: VecDeque::new(),
        }
    }

    /// The engines of those that are there.
    pub(crate) fn engines(&self) -> HashMap<Arc<str>, Engine> {
        let there = self.agents.iter().filter(|(_, one)| one.print.is_some());
        there
            .map(|(name, one)| (Arc::clone(name), one.guarded.engine().clone()))
            .collect()
    }

    /// Makes the agents that are new or changed. Nothing counts yet. Waits a little for the cards of agents elsewhere.
    ///
    /// # Errors
    ///
    /// If one of them cannot be made.
    pub(crate) async fn prepare(&self, config: &Config) -> anyhow::Result<Next> {
        let mut next = Next {
            new: Vec::new(),
            gone: Vec::new(),
            default: Arc::clone(&config.default_agent),
        };
        for agent in &config.agents {
            let before = self.agents.get(&agent.name);
            if before.is_none_or(|one| one.print != Some(agent.print)) {
                next.new.push(self.make(agent, before, config)?);
                self.doubt(agent);
            }
        }
        for (name, one) in &self.agents {
            let stays = config.agents.iter().any(|agent| agent.name == *name);
            if one.print.is_some() && !stays {
                next.gone.push(Arc::clone(name));
            }
        }
        self.first_cards(&mut next.new).await;
        Ok(next)
    }

    /// From now on those count that were made.
    pub(crate) fn take(&mut self, mut next: Next) -> Changes {
        let new: Vec<_> = next.new.iter().map(|one| one.guarded.clone()).collect();
        self.ground.table.change(new, &next.gone, &next.default);
        let mut changes = Changes {
            removed: std::mem::take(&mut next.gone),
            ..Changes::default()
        };
        for name in &changes.removed {
            self.ground.log.metrics().gone(name);
            if let Some(one) = self.agents.get_mut(name) {
                one.print = None;
                one.over.cancel();
                self.ground.stored.beside(name, Vec::new());
                self.gone.retain(|gone| gone != name);
                self.gone.push_back(Arc::clone(name));
            }
        }
        while self.gone.len() > MOST_GONE {
            let first = self.gone.pop_front();
            if let Some(first) = first.filter(|name| !self.is_there(name)) {
                self.agents.remove(&first);
                self.ground.table.forget(&first);
                self.ground.log.metrics().forget(&first);
            }
        }
        for one in std::mem::take(&mut next.new) {
            let engine = one.guarded.engine();
            engine.take_over();
            self.follow_card(&one);
            let name = Arc::clone(engine.name());
            self.ground.stored.beside(&name, one.routes.clone());
            let before = self.agents.insert(Arc::clone(&name), one);
            if let Some(before) = &before {
                before.over.cancel();
            }
            match before.is_some_and(|before| before.print.is_some()) {
                true => changes.changed.push(name),
                false => changes.added.push(name),
            }
        }
        for names in [
            &mut changes.added,
            &mut changes.changed,
            &mut changes.removed,
        ] {
            names.sort();
        }
        changes
    }

    fn is_there(&self, name: &str) -> bool {
        let known = self.agents.get(name);
        known.is_some_and(|one| one.print.is_some())
    }

    /// Says what may not be meant.
    fn doubt(&self, agent: &config::Agent) {
        let name = &*agent.name;
        if agent.hides_extended_card() {
            tracing::warn!(
                agent = name,
                "extended card is unreachable: the agent requires no authentication"
            );
        }
        if let Some(method) = self.ground.methods.missing(agent) {
            tracing::warn!(
                agent = name,
                method = &**method,
                "authentication method takes effect after a restart"
            );
        }
    }

    fn make(
        &self,
        agent: &config::Agent,
        before: Option<&One>,
        config: &Config,
    ) -> anyhow::Result<One> {
        let ground = &self.ground;
        let door = Arc::new(door(agent, &ground.methods));
        let is_default = agent.name == config.default_agent;
        let room = agent.tasks.map(|most| {
            let same = before.and_then(|one| one.room.as_ref());
            let same = same.filter(|(before, _)| *before == most);
            let gate = same.map(|(_, gate)| gate.clone());
            (most, gate.unwrap_or_else(|| Gate::new(most, ground.queue)))
        });
        let Behind {
            agent: taker,
            router,
            far,
        } = backend(agent, config, ground)?;
        let elsewhere = far.map(|far| Elsewhere {
            far,
            agent: agent.clone(),
            door: Arc::clone(&door),
            is_default,
        });
        let parts = engine::Parts {
            name: Arc::clone(&agent.name),
            agent: taker,
            router,
            profile: shown(&door, is_default, agent.profile.clone()),
            settings: engine::Settings {
                turns: Turns {
                    everywhere: ground.everywhere.clone(),
                    here: room.as_ref().map(|(_, gate)| gate.clone()),
                },
                hop: Some(hop(agent, &ground.seal)),
                ..agent.settings.clone()
            },
            log: ground.log.clone(),
            guard: Arc::clone(&ground.guard),
            tasks: ground.tasks.clone(),
        };
        let engine = match before {
            Some(before) => before.guarded.engine().next(parts),
            None => Engine::new(parts),
        };
        let guarded = Authorized::new(engine, door);
        Ok(One {
            print: Some(agent.print),
            guarded: guarded.audited(ground.audit.clone()),
            routes: agent.routes.clone(),
            room,
            elsewhere,
            over: ground.tasks.stopping().child_token(),
        })
    }

    /// Begins to read the cards of agents elsewhere, and puts those on ours that come soon. Without one, our card says
    /// what the file does.
    async fn first_cards(&self, new: &mut [One]) {
        let first = Instant::now() + remotes::PATIENCE;
        for one in &*new {
            if let Some(elsewhere) = &one.elsewhere {
                let (far, over) = (elsewhere.far.clone(), one.over.clone());
                let name = Arc::clone(one.guarded.engine().name());
                self.ground.tasks.spawn(async move {
                    tokio::select! {
                        () = far.keep_card(&name, &over) => {}
                        () = over.cancelled() => {}
                    }
                });
            }
        }
        for one in new {
            if let Some(elsewhere) = &one.elsewhere {
                let mut card = elsewhere.far.card();
                drop(timeout_at(first, card.wait_for(Option::is_some)).await);
                if let Some(profile) = elsewhere.profile() {
                    one.guarded = one.guarded.renewed(profile);
                }
            }
        }
    }

    /// Puts what an agent elsewhere says of itself on our card whenever it changes.
    fn follow_card(&self, one: &One) {
        let Some(elsewhere) = one.elsewhere.clone() else {
            return;
        };
        let (engine, over) = (one.guarded.engine().clone(), one.over.clone());
        let table = Arc::clone(&self.ground.table);
        let mut card = elsewhere.far.card();
        // What came since it was looked at must not be missed.
        card.mark_changed();
        self.ground.tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = over.cancelled() => return,
                    changed = card.changed() => if changed.is_err() {
                        return;
                    }
                }
                card.mark_unchanged();
                if let Some(profile) = elsewhere.profile() {
                    table.renew(&engine, profile);
                }
            }
        });
    }
}

impl Elsewhere {
    /// What our card says, once the other one is known.
    fn profile(&self) -> Option<Profile> {
        let card = self.far.card().borrow().clone()?;
        let filled = remotes::filled(&self.agent, &card);
        Some(shown(&self.door, self.is_default, filled))
    }
}

/// What an agent is called in hop paths, here and nowhere else. One that not everyone may know of goes by another
/// name. After a restart it is the same: calls that are made again must be found to be the same.
fn hop(agent: &config::Agent, seal: &Arc<SealingKey>) -> Hop {
    let (name, visible, seal) = (
        Arc::clone(&agent.name),
        agent.rights.visible,
        Arc::clone(seal),
    );
    Hop::new(move || {
        let here = seal.name_for("gateway");
        Arc::from(match visible {
            true => format!("{name}@{here}"),
            false => format!("#{}@{here}", seal.name_for(&name)),
        })
    })
}

/// What an agent's card says, and what its door adds to it.
fn shown(door: &Access, is_default: bool, profile: Profile) -> Profile {
    let mut profile = Profile {
        is_default,
        ..profile
    };
    door.declare(&mut profile);
    profile
}
