//! Agents that are not in the file: each assistant of a LangGraph server is one. They are looked for at the start and from
//! time to time. What was found is kept in the data directory, so that after a restart their tasks go on, also while the
//! server is away.
//!
//! - [`Sources`], here: the servers and what was found there. [`Finder`], here: looks for it.
//! - `name`: what they are called. `kept`: what was found before.

mod kept;
mod name;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use switchboard_agents::langgraph::{self, Assistant};
use switchboard_agents::profile::Fact;
use switchboard_agents::refresh::refresh;
use switchboard_server::shutdown::Tasks;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use self::kept::{keep, kept};
use self::name::{Named, name};
use crate::config::{self, Backend, Config, Print};
use crate::remotes::PATIENCE;

/// How soon a server is asked whose assistants are not known yet.
const FIRST_DELAY: Duration = Duration::from_secs(1);

/// How many that are gone are called as before if they come back.
const MOST_GONE: usize = 1_000;

/// Which entry of a configuration is meant, and which version of it.
type Entry = (Arc<str>, Print);

/// All servers whose assistants are agents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources(Vec<Source>);

/// One of them.
#[derive(Debug, Clone)]
struct Source {
    /// What its agents look like.
    template: config::Agent,
    /// Those that are there, or were when it was asked last.
    named: Named,
    /// Those that were there before, the first to go first. One that comes back is called as before.
    gone: Vec<(Arc<str>, Assistant)>,
    /// The one at the root address, if it is one of these. It stays there as long as it is there.
    first: Option<Arc<str>>,
    /// Whether it was asked about them, and answered.
    answered: bool,
}

/// What a server has now.
#[derive(Debug)]
pub(crate) struct News {
    of: Entry,
    found: Vec<Assistant>,
}

/// Looks for agents as long as the process lives.
#[derive(Debug)]
pub(crate) struct Finder {
    sources: Sources,
    /// What ends looking for those of an entry.
    looks: HashMap<Entry, CancellationToken>,
    heard: mpsc::Receiver<News>,
    told: mpsc::Sender<News>,
    tasks: Tasks,
}

impl Finder {
    /// Looks for agents for the first time. Waits a little only: for the rest, what was found the last time counts.
    pub(crate) async fn start(config: &Config, tasks: &Tasks) -> Self {
        let (told, heard) = mpsc::channel(1);
        let mut finder = Self {
            sources: Sources::default(),
            looks: HashMap::new(),
            heard,
            told,
            tasks: tasks.clone(),
        };
        let mut sources = finder.sources.following(config);
        let asked = config.discover.iter().map(|template| async move {
            let asked = timeout(PATIENCE, ask(template)).await;
            (template, asked)
        });
        for (template, asked) in join_all(asked).await {
            match asked.unwrap_or_else(|_| Err("it does not answer".to_owned())) {
                Ok(found) => {
                    let of = entry(template);
                    sources.learn(News { of, found }, config);
                }
                Err(error) => warn(template, &error),
            }
        }
        if let Err(error) = finder.keep(&sources, config) {
            tracing::warn!(%error, "could not store discovered agents");
        }
        finder.take(sources);
        finder
    }

    /// What is known.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Waits until a server was asked.
    pub(crate) async fn news(&mut self) -> News {
        match self.heard.recv().await {
            Some(news) => news,
            // There is a sender as long as there is this.
            None => std::future::pending().await,
        }
    }

    /// Keeps what was found, if it is something else. Before it counts: a task belongs to an agent by its name.
    ///
    /// # Errors
    ///
    /// If it cannot be kept.
    pub(crate) fn keep(&self, sources: &Sources, config: &Config) -> io::Result<()> {
        for source in &sources.0 {
            let before = self.sources.named(&source.template.name);
            if before.is_none_or(|before| before.named != source.named) {
                keep(config, &source.template, &source.named, &source.gone)?;
            }
        }
        Ok(())
    }

    /// From now on these count, and no others are looked at.
    pub(crate) fn take(&mut self, sources: Sources) {
        self.sources = sources;
        let entries: Vec<Entry> = self.sources.0.iter().map(|s| entry(&s.template)).collect();
        self.looks.retain(|entry, over| {
            let stays = entries.contains(entry);
            if !stays {
                over.cancel();
            }
            stays
        });
        for (source, entry) in self.sources.0.iter().zip(entries) {
            let over = self.looks.entry(entry);
            over.or_insert_with(|| begin(source, self.told.clone(), &self.tasks));
        }
    }
}

impl Source {
    /// Those that are there, and those that were.
    fn ever(&self) -> Named {
        let gone = self.gone.iter().cloned();
        gone.chain(self.named.clone()).collect()
    }

    /// These are there now. A name that is taken is given up.
    fn call(&mut self, found: Vec<Assistant>, taken: &BTreeSet<Arc<str>>) {
        let mut ever = self.ever();
        ever.retain(|name, _| !taken.contains(name));
        let named = name(found, &self.template.name, &ever, taken);
        self.gone.extend(std::mem::replace(&mut self.named, named));
        let named = &self.named;
        self.gone
            .retain(|(name, _)| !named.contains_key(name) && !taken.contains(name));
        let too_many = self.gone.len().saturating_sub(MOST_GONE);
        self.gone.drain(..too_many);
        let stays = |first: &Arc<str>| self.named.contains_key(first);
        let stays = self.first.take().filter(stays);
        self.first = stays.or_else(|| self.named.keys().next().cloned());
    }
}

impl Sources {
    fn named(&self, entry: &str) -> Option<&Source> {
        let mut all = self.0.iter();
        all.find(|source| *source.template.name == *entry)
    }

    /// What is known where a configuration counts that may be another one.
    pub(crate) fn following(&self, config: &Config) -> Self {
        let mut next = Self::default();
        for template in &config.discover {
            let mut source = match self.named(&template.name) {
                Some(before) => before.clone(),
                None => {
                    let (named, gone) = kept(config, template);
                    Source {
                        template: template.clone(),
                        named,
                        gone,
                        first: None,
                        answered: false,
                    }
                }
            };
            if base(&source.template) != base(template) {
                // Others may be there.
                source.gone.extend(std::mem::take(&mut source.named));
            }
            source.answered &= source.template.print == template.print;
            source.template = template.clone();
            let taken = next.taken(&template.name, config);
            let found = source.named.values().cloned().collect();
            source.call(found, &taken);
            next.0.push(source);
        }
        next
    }

    /// Takes in what a server has. Whether something is different.
    pub(crate) fn learn(&mut self, news: News, config: &Config) -> bool {
        let taken = self.taken(&news.of.0, config);
        let mut all = self.0.iter_mut();
        // One that was looked for by what was written before does not count.
        let Some(source) = all.find(|source| entry(&source.template) == news.of) else {
            return false;
        };
        let before = source.named.clone();
        source.answered = true;
        source.call(news.found, &taken);
        source.named != before
    }

    /// The names that those of an entry cannot have: of the agents in the file, and of those that others have found.
    fn taken(&self, entry: &str, config: &Config) -> BTreeSet<Arc<str>> {
        let written = config.agents.iter().chain(&config.discover);
        let written = written.map(|agent| &agent.name);
        let others = self.0.iter().filter(|s| *s.template.name != *entry);
        let others = others.flat_map(|source| source.ever().into_keys());
        written.cloned().chain(others).collect()
    }

    /// The configuration, with the agents that were found.
    pub(crate) fn added_to(&self, config: &Config) -> Config {
        let mut config = config.clone();
        let meant = self.named(&config.default_agent);
        if let Some(first) = meant.and_then(|source| source.first.clone()) {
            config.default_agent = first;
        }
        for source in &self.0 {
            for (name, found) in &source.named {
                let is_default = *name == config.default_agent;
                let agent = agent(&source.template, name, found, is_default);
                config.agents.push(agent);
            }
        }
        config
    }
}

/// Begins to look for the agents of a server; what it gives ends that.
fn begin(source: &Source, told: mpsc::Sender<News>, tasks: &Tasks) -> CancellationToken {
    let over = tasks.stopping().child_token();
    let (template, until) = (source.template.clone(), over.clone());
    let interval = interval(&template);
    // What is not there yet is looked for soon.
    let pause = match source.answered && !source.named.is_empty() {
        true => interval,
        false => FIRST_DELAY.min(interval),
    };
    tasks.spawn(async move {
        until.run_until_cancelled(sleep(pause)).await;
        let read = || async {
            let found = ask(&template).await?;
            let of = entry(&template);
            if told.send(News { of, found }).await.is_err() {
                until.cancel();
            }
            Ok(())
        };
        let report = |error: &String| warn(&template, error);
        refresh(interval, &until, read, report).await;
    });
    over
}

async fn ask(template: &config::Agent) -> Result<Vec<Assistant>, String> {
    let Backend::Assistants(settings, identity) = &template.backend else {
        return Ok(Vec::new());
    };
    let identity = identity.outbound().map_err(|error| error.to_string())?;
    let mut found = langgraph::assistants(&settings.base, &identity).await?;
    // Nobody can talk to one without.
    found.retain(|assistant| !assistant.id.is_empty());
    Ok(found)
}

fn warn(template: &config::Agent, error: &str) {
    tracing::warn!(
        agents = &*template.name,
        error,
        "could not list LangGraph assistants, keeping previous"
    );
}

fn entry(template: &config::Agent) -> Entry {
    (Arc::clone(&template.name), template.print)
}

fn interval(template: &config::Agent) -> Duration {
    match &template.backend {
        Backend::Assistants(settings, _) => settings.refresh,
        _ => Duration::MAX,
    }
}

/// Where the server is.
fn base(template: &config::Agent) -> Option<&str> {
    match &template.backend {
        Backend::Assistants(settings, _) => Some(settings.base.as_str()),
        _ => None,
    }
}

/// An agent that is this assistant.
fn agent(
    template: &config::Agent,
    name: &Arc<str>,
    assistant: &Assistant,
    is_default: bool,
) -> config::Agent {
    let mut agent = template.clone();
    agent.name = Arc::clone(name);
    let made_from = (name, &assistant.id, &assistant.name, is_default);
    agent.print = template.print.with(&made_from);
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
