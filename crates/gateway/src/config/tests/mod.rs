//! Configurations, good and bad.

mod access;
mod admin;
mod auth;
mod bad;
mod exec;
mod from_env;
mod good;
mod interfaces;
mod langgraph;
mod openai;
mod openclaw;
mod published;
mod remote;
mod route;
mod signing;
mod tls;

use std::path::PathBuf;

use super::{Config, Env, Flags, Problems, Source, load};

/// A directory with a configuration in it.
struct Written {
    dir: tempfile::TempDir,
}

impl Written {
    fn new(yaml: &str) -> Self {
        let written = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        written.file("switchboard.yaml", yaml);
        written
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn load_with(&self, env: &[(&str, &str)], flags: &Flags) -> Result<Config, Problems> {
        let path = self.dir.path().join("switchboard.yaml");
        let env = Env::from_pairs(env.iter().copied().chain([("HOME", "/home/user")]));
        load(&Source::File(path), &env, flags)
    }

    fn load(&self) -> Result<Config, Problems> {
        self.load_with(&[], &Flags::default())
    }

    /// What is wrong, as the user sees it, with paths relative to the directory.
    fn problems(&self, env: &[(&str, &str)]) -> String {
        let problems = self.load_with(env, &Flags::default()).unwrap_err();
        let dir = format!("{}/", self.dir.path().display());
        problems.to_string().replace(&dir, "")
    }
}

/// Reads what must be right.
fn good(yaml: &str) -> Config {
    Written::new(yaml).load().unwrap()
}

/// An agent, so that there is one.
const PARROT: &str = "agents: {parrot: {script: [{complete: '{{text}}'}]}}\n";
