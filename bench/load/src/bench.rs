//! What every benchmark needs.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use crate::machine::Cores;
use crate::server::{Kind, Places, Start};

/// Where things are and on which core they run.
#[derive(Debug)]
pub struct Bench {
    pub places: Places,
    pub cores: Cores,
    /// How often each call is measured.
    pub rounds: usize,
}

impl Bench {
    /// From the environment that `bench/run` prepares.
    pub fn from_env() -> anyhow::Result<Self> {
        let path = |name: &str| {
            let value = std::env::var_os(name);
            value
                .map(PathBuf::from)
                .with_context(|| format!("{name} is not set: use bench/run"))
        };
        let places = Places {
            baseline: path("BENCH_BASELINE")?,
            switchboard: path("BENCH_SWITCHBOARD")?,
            bench: path("BENCH_DIR")?,
            scratch: path("BENCH_SCRATCH")?.join(std::process::id().to_string()),
        };
        fs::create_dir_all(&places.scratch)?;
        let rounds = match std::env::var("BENCH_ROUNDS") {
            Ok(rounds) => rounds.parse().context("BENCH_ROUNDS is not a number")?,
            Err(_) => 3,
        };
        Ok(Self {
            places,
            cores: Cores::choose(),
            rounds,
        })
    }

    /// A server of that kind with the agents of the benchmarks.
    pub fn start(&self, kind: Kind) -> Start<'_> {
        Start {
            places: &self.places,
            cores: self.cores,
            kind,
            built_in: false,
            closed_by: None,
            before: None,
            counted_to: None,
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.places.scratch));
    }
}
