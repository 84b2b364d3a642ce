//! The server's own settings: where it listens and keeps things, how much it takes, what it logs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use switchboard_server::log::Retention;
use switchboard_server::store::sqlite::{Durability, SqliteOptions};
use switchboard_types::VersionHeader;

use super::flags::Flags;
use super::load::Check;
use super::problem::{Place, Problem};
use super::raw;
use super::value::{Bound, Listen};
use super::yaml::Step::Key;
use super::{Log, Push, Store};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Check<'_> {
    pub(super) fn listen(&mut self, raw: &raw::Config, flags: &Flags) -> SocketAddr {
        let here = Listen(([127, 0, 0, 1], 7420).into());
        let listen = flags.listen.or(raw.listen).unwrap_or(here).0;
        let open = flags.auth_none || matches!(raw.auth, Some(raw::Auth::None));
        if !listen.ip().is_loopback() && !open && self.tree.get("auth").is_none() {
            let written = self.tree.place_of(&[Key("listen")]).clone();
            let (place, path, way) = match flags.listen {
                Some(_) => (Place::Flag("--listen"), "", "give `--auth none`"),
                None => (written, "listen", "write `auth: none`"),
            };
            self.problems.push(Problem {
                place,
                path: path.to_owned(),
                message: format!(
                    "{listen} can be reached from other machines, without authentication"
                ),
                hint: Some(format!(
                    "{way} if everyone who can reach it may call the agents, or listen on 127.0.0.1"
                )),
            });
        }
        listen
    }

    /// The data directory; `None` if there is no place for one. `own` is where in the user's data it is.
    pub(super) fn data(
        &self,
        written: Option<String>,
        flags: &Flags,
        own: &Path,
    ) -> Option<PathBuf> {
        if let Some(data) = &flags.data {
            return Some(data.clone());
        }
        if let Some(data) = written.filter(|data| !data.is_empty()) {
            // What stands in a file is relative to the file; what comes from elsewhere, to where we are.
            return Some(match self.tree.place_of(&[Key("data")]) {
                Place::File { .. } => self.base.join(data).components().collect(),
                _ => PathBuf::from(data),
            });
        }
        let absolute = |name| {
            let path = PathBuf::from(self.env.get(name)?);
            path.is_absolute().then_some(path)
        };
        absolute("XDG_DATA_HOME")
            .or_else(|| absolute("LOCALAPPDATA"))
            .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
            .map(|dir| dir.join(own))
    }

    pub(super) fn store(
        &mut self,
        raw: &raw::Store,
        data: Option<PathBuf>,
        flags: &Flags,
    ) -> Option<Store> {
        if flags.memory || matches!(raw.kind, Some(raw::StoreKind::Memory)) {
            return Some(Store::Memory);
        }
        let Some(data) = data else {
            self.wrong(
                &[Key("data")],
                "there is no directory for data: neither XDG_DATA_HOME nor HOME is set".to_owned(),
                Some("write `data: DIRECTORY`, or give `--data DIRECTORY`".to_owned()),
            );
            return None;
        };
        Some(Store::Sqlite(SqliteOptions {
            durability: match raw.durability {
                None | Some(raw::Durability::PowerLoss) => Durability::PowerLoss,
                Some(raw::Durability::ProcessDeath) => Durability::ProcessDeath,
            },
            ..SqliteOptions::new(data)
        }))
    }

    pub(super) fn push(&mut self, raw: raw::Push) -> Push {
        let at = |key| [Key("push"), Key(key)];
        let allow = raw.allow.unwrap_or_default();
        Push {
            allow: allow.into_iter().map(|target| target.0).collect(),
            timeout: self.some_time(&at("timeout"), raw.timeout, Duration::from_secs(15)),
            give_up_after: raw.give_up_after.map_or(DAY, |time| time.0),
        }
    }

    pub(super) fn log(&mut self, raw: raw::Log, flags: &Flags) -> Log {
        let variable = self.env.get("SWITCHBOARD_LOG").map(str::to_owned);
        let (level, place) = match (&flags.log_level, variable, raw.level) {
            (Some(flag), ..) => (flag.clone(), Place::Flag("--log-level")),
            (None, Some(variable), _) if !variable.is_empty() => {
                (variable, Place::Variable("SWITCHBOARD_LOG".into()))
            }
            (.., Some(level)) => {
                let place = self.tree.place_of(&[Key("log"), Key("level")]);
                (level, place.clone())
            }
            (.., None) => ("info".to_owned(), Place::Default),
        };
        if let Err(problem) = crate::telemetry::check_level(&level) {
            self.problems.push(Problem {
                place,
                path: String::new(),
                message: problem,
                hint: Some(
                    "write error, warn, info, debug or trace, or directives such as info,switchboard=debug"
                        .to_owned(),
                ),
            });
        }
        Log {
            level,
            format: flags.log_format.or(raw.format),
            access: flags.access_log || raw.access == Some(true),
        }
    }
}

/// Whether requests must name their version.
pub(super) fn version_header(required: Option<bool>) -> VersionHeader {
    match required {
        Some(true) => VersionHeader::Required,
        Some(false) | None => VersionHeader::Optional,
    }
}

/// How long things are kept.
pub(super) fn retention(raw: &raw::Retention, store: Option<&Store>) -> Retention {
    let default = match store {
        Some(Store::Memory) => Retention::in_memory(),
        _ => Retention::default(),
    };
    let or = |bound: Option<Bound>, default| bound.map_or(default, |bound| bound.0);
    Retention {
        completed: or(raw.completed, default.completed),
        failed: or(raw.failed, default.failed),
        canceled: or(raw.canceled, default.canceled),
        rejected: or(raw.rejected, default.rejected),
        replay_window: or(raw.replay_window, default.replay_window),
        idempotency_keys: raw
            .idempotency_keys
            .map_or(default.idempotency_keys, |time| time.0),
    }
}
