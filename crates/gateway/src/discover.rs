//! Agents that are not in the file: each assistant of a LangGraph server is one. They are looked for at the start and from
//! time to time. What was found is kept in the data directory, so that after a restart their tasks go on, also while the
//! server is away.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_agents::langgraph::{self, Assistant};
use switchboard_agents::profile::Fact;
use switchboard_server::auth::Authorized;
use tokio::time::{sleep, timeout};

use crate::config::{self, Backend, Config, Store};
use crate::make::Maker;
use crate::remotes::PATIENCE;

/// How soon a server that cannot be asked is asked again; each pause is twice the last.
const AGAIN: Duration = Duration::from_secs(1);
/// Longer names make addresses no one can read.
const LONGEST_NAME: usize = 63;

/// The assistants of a server, by the names of our agents.
type Named = BTreeMap<Arc<str>, Assistant>;

/// A server whose assistants are agents.
pub(crate) struct Source {
    /// What they look like.
    template: config::Agent,
    /// Those that are there, or were when it was asked last.
    named: Named,
    /// Those that ever were. One that comes back is called as before.
    ever: Named,
    /// The names of the agents in the file.
    taken: BTreeSet<Arc<str>>,
    /// Those that were made. One that comes back is the same.
    made: HashMap<Arc<str>, Arc<Authorized>>,
}

/// Looks for agents for the first time, and adds them to the others. Waits a little only: for the rest, what was found the
/// last time counts.
pub(crate) async fn first(config: &mut Config) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut taken: BTreeSet<Arc<str>> = BTreeSet::new();
    taken.extend(config.agents.iter().map(|agent| Arc::clone(&agent.name)));
    for template in config.discover.clone() {
        let kept = kept(config, &template);
        let asked = timeout(PATIENCE, ask(&template)).await;
        let named = match asked.unwrap_or_else(|_| Err("it does not answer".to_owned())) {
            Ok(found) => name(found, &template.name, &kept, &taken),
            Err(error) => {
                let known = kept.len();
                tracing::warn!(
                    agents = &*template.name,
                    error,
                    known,
                    "a LangGraph server cannot be asked about its assistants"
                );
                kept
            }
        };
        keep(config, &template, &named);
        if config.default_agent == template.name
            && let Some(first) = named.keys().next()
        {
            config.default_agent = Arc::clone(first);
        }
        let agents = named
            .iter()
            .map(|(name, found)| agent(&template, name, found));
        config.agents.extend(agents);
        sources.push(Source {
            template,
            ever: named.clone(),
            named,
            taken: taken.clone(),
            made: HashMap::new(),
        });
    }
    sources
}

/// Puts those that were found on the table, and keeps looking for others until the end.
pub(crate) fn keep_looking(
    sources: Vec<Source>,
    mut engines: HashMap<Arc<str>, Authorized>,
    maker: &Arc<Maker>,
) -> HashMap<Arc<str>, Authorized> {
    for mut source in sources {
        for name in source.named.keys() {
            if let Some(agent) = engines.remove(name) {
                let agent = Arc::new(agent);
                maker.table.offer(Arc::clone(name), Arc::clone(&agent));
                source.made.insert(Arc::clone(name), agent);
            }
        }
        let maker = Arc::clone(maker);
        let tasks = maker.tasks.clone();
        tasks.clone().spawn(async move {
            tokio::select! {
                () = look(source, &maker) => {}
                () = tasks.stopping().cancelled() => {}
            }
        });
    }
    engines
}

async fn look(mut source: Source, maker: &Maker) {
    let mut failed = 0;
    let Backend::Assistants(settings, _) = &source.template.backend else {
        return;
    };
    let refresh = settings.refresh;
    // What is not there yet is looked for soon.
    let mut pause = match source.named.is_empty() {
        true => AGAIN.min(refresh),
        false => refresh,
    };
    loop {
        sleep(pause).await;
        pause = match ask(&source.template).await {
            Ok(found) => {
                failed = 0;
                if let Err(error) = source.learn(found, maker).await {
                    tracing::warn!(error = %format!("{error:#}"), "agents that were found cannot be used");
                }
                refresh
            }
            Err(error) => {
                if failed == 0 {
                    tracing::warn!(
                        agents = &*source.template.name,
                        error,
                        "a LangGraph server cannot be asked about its assistants"
                    );
                }
                failed += 1;
                (AGAIN * (1 << (failed - 1).min(10))).min(refresh)
            }
        };
    }
}

impl Source {
    /// Takes over what is there now. Tasks of those that are gone end by themselves.
    async fn learn(&mut self, found: Vec<Assistant>, maker: &Maker) -> anyhow::Result<()> {
        let config = &maker.config;
        let mut new = Vec::new();
        let now = name(found, &self.template.name, &self.ever, &self.taken);
        self.ever.extend(now.clone());
        for gone in self.named.keys().filter(|name| !now.contains_key(*name)) {
            tracing::info!(agent = &**gone, "an agent is gone");
            maker.table.withdraw(gone);
        }
        for (name, assistant) in now
            .iter()
            .filter(|(name, _)| !self.named.contains_key(*name))
        {
            if !self.made.contains_key(name) {
                let agent = [agent(&self.template, name, assistant)];
                let made = maker.make(&agent)?;
                let guarded = made.guarded(&maker.audit).remove(name);
                self.made
                    .extend(guarded.map(|g| (Arc::clone(name), Arc::new(g))));
                new.push((agent, made));
            }
            if let Some(agent) = self.made.get(name) {
                tracing::info!(agent = &**name, "an agent was found");
                maker.table.offer(Arc::clone(name), Arc::clone(agent));
            }
        }
        if now != self.named {
            keep(config, &self.template, &now);
            self.named = now;
        }
        for (agent, made) in new {
            maker.follow_cards(&agent, &made).await;
        }
        Ok(())
    }
}

async fn ask(template: &config::Agent) -> Result<Vec<Assistant>, String> {
    let Backend::Assistants(settings, identity) = &template.backend else {
        return Ok(Vec::new());
    };
    let identity = identity.outbound().map_err(|error| error.to_string())?;
    langgraph::assistants(&settings.base, &identity).await
}

/// An agent that is this assistant.
fn agent(template: &config::Agent, name: &Arc<str>, assistant: &Assistant) -> config::Agent {
    let mut agent = template.clone();
    agent.name = Arc::clone(name);
    if let Backend::Assistants(settings, identity) = &template.backend {
        let mut settings = settings.clone();
        settings.assistant.clone_from(&assistant.id);
        agent.backend = Backend::LangGraph(settings, identity.clone());
    }
    if agent.gaps.contains(&Fact::Name) && !assistant.name.is_empty() {
        agent.profile.card.name.clone_from(&assistant.name);
    }
    agent
}

/// Gives each a name that can be part of an address. One that had a name keeps it.
fn name(found: Vec<Assistant>, prefix: &str, before: &Named, taken: &BTreeSet<Arc<str>>) -> Named {
    let known: HashMap<&str, &Arc<str>> = before
        .iter()
        .map(|(name, assistant)| (assistant.id.as_str(), name))
        .collect();
    let mut named = Named::new();
    let (old, mut new): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|assistant| known.contains_key(assistant.id.as_str()));
    for assistant in old {
        named.insert(Arc::clone(known[assistant.id.as_str()]), assistant);
    }
    // Of two with one name, the one that the server made itself is called so.
    new.sort_by_key(|a| (!a.is_default(), a.name.clone(), a.id.clone()));
    for assistant in new {
        let called = match assistant.name.as_str() {
            "" => &assistant.graph,
            name => name,
        };
        let plain: Arc<str> = Arc::from(address(prefix, called));
        let is_free = |name: &Arc<str>, named: &Named| {
            !named.contains_key(name)
                && !before.contains_key(name)
                && !taken.contains(name)
                && **name != *prefix
        };
        let short: String = assistant.id.chars().take(8).collect();
        let name = match is_free(&plain, &named) {
            true => plain,
            false => Arc::from(address(prefix, &format!("{short}-{called}"))),
        };
        named.insert(name, assistant);
    }
    named
}

fn address(prefix: &str, called: &str) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_');
    let called = called.to_lowercase();
    let called = called.replace(|c: char| !fits(c), "-");
    let mut address = format!("{prefix}-{}", called.trim_matches('-'));
    address.truncate(LONGEST_NAME);
    address.trim_end_matches('-').to_owned()
}

/// Where it is kept what was found; nowhere, if nothing is.
fn place(config: &Config, template: &config::Agent) -> Option<PathBuf> {
    match &config.store {
        Store::Memory => None,
        Store::Sqlite(options) => Some(options.dir.join(format!("found-{}.json", template.name))),
    }
}

fn kept(config: &Config, template: &config::Agent) -> Named {
    let text = place(config, template).and_then(|file| std::fs::read(file).ok());
    let read = text.map(|text| serde_json::from_slice::<BTreeMap<String, Assistant>>(&text));
    match read {
        Some(Ok(named)) => {
            let named = named
                .into_iter()
                .map(|(name, found)| (Arc::from(name), found));
            named.collect()
        }
        Some(Err(error)) => {
            tracing::warn!(%error, "what was found before cannot be read");
            Named::new()
        }
        None => Named::new(),
    }
}

fn keep(config: &Config, template: &config::Agent, named: &Named) {
    let Some(file) = place(config, template) else {
        return;
    };
    let plain: BTreeMap<&str, &Assistant> = named.iter().map(|(n, a)| (&**n, a)).collect();
    let written = serde_json::to_vec(&plain)
        .map_err(std::io::Error::from)
        .and_then(|text| {
            if let Some(dir) = file.parent() {
                std::fs::create_dir_all(dir)?;
            }
            let half = file.with_extension("json.new");
            std::fs::write(&half, text)?;
            std::fs::rename(half, &file)
        });
    if let Err(error) = written {
        tracing::warn!(%error, "what was found cannot be kept");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn assistant(id: &str, name: &str, by: &str) -> Assistant {
        let json = json!({"assistant_id": id, "graph_id": "g", "name": name, "metadata": {"created_by": by}});
        serde_json::from_value(json).unwrap()
    }

    fn names(named: &Named) -> Vec<(&str, &str)> {
        named
            .iter()
            .map(|(name, found)| (&**name, found.id.as_str()))
            .collect()
    }

    #[test]
    fn names_fit_into_addresses_are_unique_and_stay() {
        let taken = BTreeSet::from([Arc::from("lg-file")]);
        let found = vec![
            assistant("11111111-2", "Two  Words!", "user"),
            assistant("22222222-2", "g", "user"),
            assistant("33333333-2", "g", "system"),
            assistant("44444444-2", "file", "user"),
            assistant("55555555-2", "", "user"),
            assistant("66666666-2", "?!", "user"),
        ];
        let first = name(found.clone(), "lg", &Named::new(), &taken);
        let expected = [
            ("lg-22222222-g", "22222222-2"),
            ("lg-44444444-file", "44444444-2"),
            ("lg-55555555-g", "55555555-2"),
            ("lg-66666666", "66666666-2"),
            ("lg-g", "33333333-2"),
            ("lg-two--words", "11111111-2"),
        ];
        assert_eq!(names(&first), expected);
        // The one that had the name is gone, but the others keep theirs.
        let less: Vec<Assistant> = found.into_iter().filter(|a| a.id != "33333333-2").collect();
        let now = name(less, "lg", &first, &taken);
        assert_eq!(names(&now).len(), 5);
        assert_eq!(names(&now)[0], expected[0]);
        assert_eq!(address("lg", &"x".repeat(80)).len(), LONGEST_NAME);
    }
}
