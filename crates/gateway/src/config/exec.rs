//! A command behind an agent.

use std::path::{Path, PathBuf};

use switchboard_agents::exec::{ExecAgent, Invalid, OnRestart, Protocol, Settings};
use switchboard_agents::profile as agents;
use switchboard_types::model::Secret;

use super::agent::join;
use super::load::Check;
use super::problem::Place;
use super::raw;
use super::yaml::{Step, Step::Item, Step::Key};

/// How many commands of one agent run at once, if nothing is said: each is a process.
pub(super) const AT_ONCE: usize = 16;

impl Check<'_> {
    pub(super) fn exec(&mut self, at: &[Step<'_>], raw: raw::Exec) -> Option<Settings> {
        let at = join(at, Key("exec"));
        let key = |key| join(&at, Key(key));
        let before = self.problems.len();
        let mut words = raw.command.0;
        if let Some(program) = words.first_mut() {
            self.program(&[&at[..], &[Key("command"), Item(0)]].concat(), program);
        }
        let mut settings = Settings::new(words);
        settings.directory = self.directory(&key("directory"), raw.directory);
        settings.inherit = raw.inherit.unwrap_or_default();
        let given = raw.environment.map(|named| named.0).unwrap_or_default();
        let given = given.into_iter();
        settings.environment = given.map(|(n, v)| (n, Secret::new(v))).collect();
        settings.protocol = match raw.protocol {
            None | Some(raw::Talk::Text) => Protocol::Text,
            Some(raw::Talk::Json) => Protocol::Json,
        };
        settings.on_restart = match raw.on_restart {
            None | Some(raw::OnRestart::Fail) => OnRestart::Fail,
            Some(raw::OnRestart::Retry) => OnRestart::Retry,
        };
        settings.timeout = self.some_bound(&key("timeout"), raw.timeout, settings.timeout);
        settings.grace = raw.grace.map_or(settings.grace, |time| time.0);
        let (output, line) = (settings.max_output_bytes, settings.max_line_bytes);
        settings.max_output_bytes = self.some_size(&key("max_output"), raw.max_output, output);
        settings.max_line_bytes = self.some_size(&key("max_line"), raw.max_line, line);
        settings.coalesce = raw.coalesce.map_or(settings.coalesce, |time| time.0);
        if let Err(error) = ExecAgent::new(settings.clone()) {
            let (place, hint) = match &error {
                Invalid::Empty => ("command", "write the program first, then its arguments"),
                Invalid::Nul => ("command", "take it out"),
                Invalid::Variable(name) if settings.inherit.contains(name) => {
                    ("inherit", "write the name alone, such as HOME")
                }
                Invalid::Variable(_) => ("environment", "write names such as MODEL"),
            };
            self.wrong(&key(place), error.to_string(), Some(hint.to_owned()));
        }
        (self.problems.len() == before).then_some(settings)
    }

    /// Finds the program: what has a `/` in it is relative to the file, all else is looked for in `PATH`. One that is
    /// missing is a warning in a file, since it may be installed later, and an error of `wrap`, which has one agent only.
    fn program(&mut self, at: &[Step<'_>], program: &mut String) {
        let candidates: Vec<PathBuf> = if program.contains('/') {
            let path = self.beside(program);
            *program = path.display().to_string();
            vec![path]
        } else {
            let path = self.env.get("PATH").filter(|path| !path.is_empty());
            let places = path.into_iter().flat_map(std::env::split_paths);
            places.map(|place| place.join(&*program)).collect()
        };
        // Without a path there is nowhere to look.
        let usable = candidates.iter().any(|path| is_executable(path));
        if usable || candidates.is_empty() || program.is_empty() {
            return;
        }
        let there = candidates.iter().find(|path| path.is_file());
        let (message, hint) = match there {
            Some(path) => (
                format!("{} is not executable", path.display()),
                "run chmod +x on it, or name its interpreter first, such as python3",
            ),
            None if program.contains(' ') => (
                format!("program not found: `{program}`"),
                "no shell reads it: write the program and each argument by itself",
            ),
            None => (
                format!("program not found: `{program}`"),
                "install it, or write its whole path",
            ),
        };
        let hint = Some(hint.to_owned());
        match self.tree.place_of(at) {
            Place::Flag(_) => self.wrong(at, message, hint),
            _ => self.doubt(at, message, hint),
        }
    }

    fn directory(&mut self, at: &[Step<'_>], written: Option<String>) -> Option<PathBuf> {
        let Some(written) = written else {
            // Nowhere is where we are.
            let base = Some(self.base).filter(|base| !base.as_os_str().is_empty());
            return base.and_then(|base| std::path::absolute(base).ok());
        };
        let path = self.beside(&written);
        if !path.is_dir() {
            let message = format!("{} is not a directory", path.display());
            let hint = if self.is_in_a_file(at) {
                "make it, or name another; the path is relative to the configuration file"
            } else {
                "make it, or name another"
            };
            self.wrong(at, message, Some(hint.to_owned()));
        }
        Some(path)
    }

    /// Whole, since the command may run elsewhere.
    fn beside(&self, path: &str) -> PathBuf {
        let path = self.base.join(path);
        std::path::absolute(&path).unwrap_or(path)
    }
}

/// What the card of a command says where the file says nothing.
pub(super) fn profile(protocol: Protocol) -> agents::Profile {
    let modes = |modes: &[&str]| modes.iter().map(|&mode| mode.to_owned()).collect();
    match protocol {
        Protocol::Text => agents::Profile {
            input_modes: modes(&["text/plain", "text/*", "application/json"]),
            ..agents::Profile::default()
        },
        Protocol::Json => agents::Profile {
            input_modes: modes(&["*/*"]),
            output_modes: modes(&["*/*"]),
            ..agents::Profile::default()
        },
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    let metadata = path.metadata();
    metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
