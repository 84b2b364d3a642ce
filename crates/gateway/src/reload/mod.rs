//! A configuration that changes while the server runs: agents, with all that is said of them, are taken up when a file
//! changes or the process is sent `SIGHUP`. What cannot be used changes nothing. Agents that are found elsewhere are taken
//! up when they are, by the last configuration that could be used.
//!
//! - `files`: which files have changed.
//! - `history`: what became of it, for operators.

mod files;
mod history;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use switchboard_server::binding::Service;
use switchboard_server::clock;
use switchboard_server::engine::recover;
use switchboard_server::shutdown::Tasks;
use switchboard_types::model::Timestamp;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior};

use crate::config::{Config, Env, Flags, Place, Problem, Problems, Source, Written, read};
use crate::discover::{Finder, News, Sources};
pub use crate::running::Changes;
use crate::running::Running;
use files::Files;
pub use history::{ReloadCounts, Reloads};

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long files must stay as they are before they are read: whoever saves several of them, or one in pieces, is given
/// time to finish.
const QUIET: Duration = Duration::from_millis(100);
/// Files that never stay as they are, are read all the same.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where a configuration came from, to read it again.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The file.
    pub file: PathBuf,
    /// The variables, as they were at the start.
    pub env: Env,
    /// The flags.
    pub flags: Flags,
}

impl Origin {
    /// Whether it can be read again. A pipe cannot: whoever reads it waits for ever.
    fn lasts(&self) -> bool {
        std::fs::metadata(&self.file).is_ok_and(|data| data.is_file())
    }
}

/// What became of a configuration that was read again.
#[derive(Debug, Clone)]
pub struct Reload {
    /// When.
    pub at: Timestamp,
    /// The configuration.
    pub file: PathBuf,
    /// The files that had changed; none if the process was told to look.
    pub changed: Vec<PathBuf>,
    /// What became of it.
    pub outcome: Outcome,
}

/// See [`Reload::outcome`].
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It counts.
    Taken {
        /// What is different.
        changes: Changes,
        /// Keys that say something else since the start, and count only after a restart.
        needs_restart: Vec<String>,
    },
    /// It was not taken: the last good one counts. The text is that of `switchboard check`.
    Refused(String),
}

/// What was said at the start, as far as it matters later.
#[derive(Debug)]
struct Start {
    written: Written,
    listen: SocketAddr,
}

/// Keeps a server to its configuration.
#[derive(Debug)]
pub(crate) struct Reloader {
    /// Nothing, if it cannot be read again.
    origin: Option<Origin>,
    start: Start,
    /// The last good one, without what was found.
    config: Config,
    finder: Finder,
    running: Running,
    reloads: Arc<Reloads>,
    hangups: Option<Signal>,
}

impl Reloader {
    /// For agents that run by `config`. From now on `SIGHUP` does not end the process, if it came from somewhere.
    pub(crate) fn new(
        origin: Option<Origin>,
        config: &Config,
        finder: Finder,
        running: Running,
        reloads: Arc<Reloads>,
    ) -> Self {
        let hangups = origin.as_ref().and_then(|_| {
            signal(SignalKind::hangup())
                .inspect_err(|error| tracing::warn!(%error, "could not listen to SIGHUP"))
                .ok()
        });
        let reads_again = |origin: &Origin| {
            let lasts = origin.lasts();
            if !lasts {
                let file = origin.file.display();
                tracing::info!(%file, "hot reload disabled: the config is not a regular file");
            }
            lasts
        };
        Self {
            origin: origin.filter(reads_again),
            start: Start {
                written: config.written.clone(),
                listen: config.listen,
            },
            config: config.clone(),
            finder,
            running,
            reloads,
            hangups,
        }
    }

    /// Looks for changes until the server stops.
    pub(crate) async fn run(mut self, service: Arc<Service>, tasks: Tasks) {
        let stopping = tasks.stopping().clone();
        tokio::select! {
            () = stopping.cancelled() => {}
            () = self.look(&service) => {}
        }
    }

    async fn look(&mut self, service: &Service) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // None was looked at before: what was written while the server started is not missed.
        let origin = self.origin.clone();
        let mut read_from = origin.map(|origin| (Files::new(origin.file.clone()), origin));
        loop {
            let asked = tokio::select! {
                () = hangup(&mut self.hangups) => true,
                _ = looks.tick(), if read_from.is_some() => false,
                news = self.finder.news() => {
                    self.find(news, service).await;
                    continue;
                }
            };
            let Some((files, origin)) = &mut read_from else {
                continue;
            };
            if !asked && !files.have_changed() {
                continue;
            }
            let changed = files.settle(QUIET, Instant::now() + PATIENCE).await;
            let from = origin.clone();
            let read = tokio::task::spawn_blocking(move || {
                read(&Source::File(from.file), &from.env, &from.flags)
            });
            let Ok((config, named)) = read.await else {
                self.reloads.count(false);
                tracing::error!("config reload rejected, keeping previous: reading it panicked");
                continue;
            };
            files.also(named, config.is_ok());
            let outcome = match config {
                Ok(config) => self.consider(config, origin, service).await,
                Err(problems) => Outcome::Refused(problems.report()),
            };
            self.tell(outcome, origin, changed, asked);
        }
    }

    /// Takes a configuration up, or does not.
    async fn consider(&mut self, config: Config, origin: &Origin, service: &Service) -> Outcome {
        let config = match as_safe(config, origin, self.start.listen) {
            Ok(config) => config,
            Err(problems) => return Outcome::Refused(problems.report()),
        };
        let sources = self.finder.sources().following(&config);
        let changes = match self.take(sources, &config, service).await {
            Ok(changes) => changes,
            Err(error) => return Outcome::Refused(format!("error: {error:#}")),
        };
        self.tell_doubts(&config.doubts);
        let needs_restart = self.start.written.needs_restart(&config.written);
        self.config = config;
        let counts = |key: &String| !origin.flags.win_over(key);
        Outcome::Taken {
            changes,
            needs_restart: needs_restart.into_iter().filter(counts).collect(),
        }
    }

    /// Says what became of a configuration. One that is read because its files were not looked at before, as after the
    /// start, is a reload only if there is news.
    fn tell(&self, outcome: Outcome, origin: &Origin, mut changed: Vec<PathBuf>, asked: bool) {
        let before = self.reloads.latest();
        let before = before.as_ref().map(|before| &before.outcome);
        let is_known = !asked && outcome.is_known(before);
        if !is_known || !changed.is_empty() {
            self.reloads.count(matches!(outcome, Outcome::Taken { .. }));
        }
        if is_known {
            return;
        }
        if asked {
            changed.clear();
        }
        let file = origin.file.clone();
        outcome.tell(&file, before);
        self.reloads.set(Reload {
            at: clock::now(),
            file,
            changed,
            outcome,
        });
    }

    /// A server says which agents it has.
    async fn find(&mut self, news: News, service: &Service) {
        let mut sources = self.finder.sources().clone();
        if !sources.learn(news, &self.config) {
            return;
        }
        let config = self.config.clone();
        match self.take(sources, &config, service).await {
            Ok(changes) => {
                let [added, changed, removed] =
                    [&changes.added, &changes.changed, &changes.removed].map(|n| n.join(", "));
                tracing::info!(added, changed, removed, "discovered agents changed");
            }
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!(error, "discovered agents rejected");
            }
        }
    }

    async fn take(
        &mut self,
        sources: Sources,
        config: &Config,
        service: &Service,
    ) -> anyhow::Result<Changes> {
        let next = self.running.prepare(&sources.added_to(config)).await?;
        let kept = self.finder.keep(&sources, config);
        kept.context("what was found cannot be kept")?;
        service.agents_change(&next.listings());
        let changes = self.running.take(next);
        self.finder.take(sources);
        service.agents_changed();
        self.release_pending(&changes).await;
        Ok(changes)
    }

    /// What stands behind agents that were not there may have to be told of tasks that are over.
    async fn release_pending(&self, changes: &Changes) {
        let mut added = self.running.engines();
        added.retain(|name, _| changes.added.contains(name));
        if let Err(error) = recover::release_pending(&added).await {
            tracing::warn!(%error, "could not read pending upstream releases of added agents");
        }
    }

    fn tell_doubts(&self, doubts: &[Problem]) {
        let known = &self.config.doubts;
        for doubt in doubts.iter().filter(|doubt| !known.contains(doubt)) {
            tracing::warn!("{doubt}");
        }
    }
}

impl Outcome {
    /// Whether it need not be said, since it was, or nothing happened.
    fn is_known(&self, before: Option<&Self>) -> bool {
        match (self, before) {
            (Self::Refused(now), Some(Self::Refused(before))) => now == before,
            (Self::Refused(_), _) | (Self::Taken { .. }, Some(Self::Refused(_))) => false,
            (
                Self::Taken {
                    changes,
                    needs_restart,
                },
                before,
            ) => {
                let told = match before {
                    Some(Self::Taken { needs_restart, .. }) => needs_restart.as_slice(),
                    _ => &[],
                };
                changes.is_empty() && *needs_restart == told
            }
        }
    }

    fn tell(&self, file: &Path, before: Option<&Self>) {
        let file = file.display();
        match self {
            Self::Refused(problems) => {
                tracing::error!(%file, %problems, "config reload rejected, keeping previous");
            }
            Self::Taken {
                changes,
                needs_restart,
            } => {
                let Changes {
                    added,
                    changed,
                    removed,
                } = changes;
                let (added, changed, removed) =
                    (added.join(", "), changed.join(", "), removed.join(", "));
                match (changes.is_empty(), before) {
                    (true, Some(Self::Refused(_))) => {
                        tracing::info!(%file, "config reload accepted, no agent changed");
                    }
                    (true, _) => tracing::info!(%file, "config reload changed no agent"),
                    (false, _) => {
                        tracing::info!(%file, added, changed, removed, "config reloaded");
                    }
                }
                if !needs_restart.is_empty() {
                    let keys = needs_restart.join(", ");
                    tracing::warn!(%file, keys, "config changes need a restart");
                }
            }
        }
    }
}

/// Where we listen stays as it is until a restart: what may be open to this machine must not be open to others.
fn as_safe(config: Config, origin: &Origin, listen: SocketAddr) -> Result<Config, Problems> {
    if listen.ip().is_loopback() || origin.flags.auth_none || config.written.has("auth") {
        return Ok(config);
    }
    Err(Problems::from(Problem {
        place: Place::Whole(origin.file.display().to_string().into()),
        path: "auth".to_owned(),
        message: format!(
            "until a restart {listen} can be reached from other machines, without authentication"
        ),
        hint: Some(
            "write `auth: none` if everyone who can reach it may call the agents, or restart"
                .to_owned(),
        ),
    }))
}

/// The next `SIGHUP`; never, if there is no listening to it.
async fn hangup(signals: &mut Option<Signal>) {
    if let Some(signals) = signals
        && signals.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(changed: &[&str], needs_restart: &[&str]) -> Outcome {
        Outcome::Taken {
            changes: Changes {
                changed: changed.iter().map(|&name| name.into()).collect(),
                ..Changes::default()
            },
            needs_restart: needs_restart.iter().map(|&key| key.to_owned()).collect(),
        }
    }

    #[test]
    fn what_was_said_is_not_said_again() {
        let refused = |text: &str| Outcome::Refused(text.to_owned());
        for (now, before, known) in [
            (taken(&[], &[]), None, true),
            (taken(&["a"], &[]), None, false),
            (taken(&["a"], &[]), Some(taken(&["a"], &[])), false),
            (taken(&[], &["listen"]), None, false),
            (
                taken(&[], &["listen"]),
                Some(taken(&["a"], &["listen"])),
                true,
            ),
            (taken(&[], &[]), Some(taken(&[], &["listen"])), false),
            (taken(&[], &[]), Some(refused("x")), false),
            (refused("x"), None, false),
            (refused("x"), Some(taken(&[], &[])), false),
            (refused("x"), Some(refused("x")), true),
            (refused("y"), Some(refused("x")), false),
        ] {
            assert_eq!(
                now.is_known(before.as_ref()),
                known,
                "{now:?} after {before:?}"
            );
        }
    }

    #[test]
    fn what_is_no_file_is_not_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| dir.path().join(name));
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for (file, lasts) in [(file, true), (link, true), ("/dev/null".into(), false)] {
            let origin = Origin {
                file,
                env: Env::default(),
                flags: Flags::default(),
            };
            assert_eq!(origin.lasts(), lasts, "{origin:?}");
        }
    }

    #[test]
    fn an_address_that_others_reach_is_not_opened_by_a_file_that_means_another() {
        let dir = tempfile::tempdir().unwrap();
        let mut origin = Origin {
            file: dir.path().join("switchboard.yaml"),
            env: Env::from_pairs([("HOME", "/nowhere")]),
            flags: Flags::default(),
        };
        let check = |origin: &Origin, auth: &str, listen: &str| {
            let yaml = format!("{auth}listen: 127.0.0.1:1\nagents: {{a: {{script: []}}}}\n");
            std::fs::write(&origin.file, yaml).unwrap();
            let (config, _) = read(
                &Source::File(origin.file.clone()),
                &origin.env,
                &origin.flags,
            );
            as_safe(config.unwrap(), origin, listen.parse().unwrap())
        };
        assert!(check(&origin, "", "127.0.0.1:1").is_ok());
        assert!(check(&origin, "auth: none\n", "0.0.0.0:1").is_ok());
        let problems = check(&origin, "", "0.0.0.0:1").unwrap_err().report();
        assert!(
            problems.contains("until a restart 0.0.0.0:1 can be reached"),
            "{problems}"
        );
        origin.flags.auth_none = true;
        assert!(check(&origin, "", "0.0.0.0:1").is_ok());
    }
}
