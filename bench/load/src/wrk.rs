//! Runs wrk and reads what its script prints.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use crate::report::percentile;
use crate::server::Server;

/// How a run went.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Outcome {
    pub requests: u64,
    pub seconds: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    #[serde(default)]
    pub bytes: u64,
    #[serde(default)]
    not_ok: u64,
    #[serde(default)]
    broken: u64,
    #[serde(default)]
    timeouts: u64,
    /// Server CPU a request, in microseconds.
    #[serde(default)]
    pub cpu_us: f64,
}

/// What to send.
#[derive(Debug, Clone)]
pub struct Load<'a> {
    pub script: &'a Path,
    pub method: &'a str,
    /// A file of task ids, for `GetTask`.
    pub ids: Option<&'a Path>,
    /// What the server wants to see.
    pub token: Option<&'a str>,
    pub connections: u32,
    pub time: Duration,
}

impl Outcome {
    /// Of answers that were all looked at, each with the time it took.
    pub fn of(times: &[f64], seconds: f64, cpu: Duration) -> Self {
        Self {
            requests: times.len() as u64,
            seconds,
            p50_us: percentile(times.iter().copied(), 0.5),
            p99_us: percentile(times.iter().copied(), 0.99),
            bytes: 0,
            not_ok: 0,
            broken: 0,
            timeouts: 0,
            cpu_us: cpu.as_secs_f64() * 1e6 / times.len() as f64,
        }
    }
}

impl Load<'_> {
    /// Sends it to an agent of `server`.
    pub fn run(&self, server: &Server, agent: &str) -> anyhow::Result<Outcome> {
        let mut command = Command::new("wrk");
        command
            .args(["--threads", "1", "--timeout", "10s"])
            .args(["--connections", &self.connections.to_string()])
            .args(["--duration", &format!("{}s", self.time.as_secs().max(1))])
            .arg("--script")
            .arg(self.script)
            .arg(format!("http://{}{}", server.address, server.path(agent)))
            .args(["--", self.method])
            .arg(self.ids.unwrap_or(Path::new("-")))
            .args(self.token);
        let before = server.cpu()?;
        let output = command.output().context("cannot run wrk")?;
        let cpu = server.cpu()? - before;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find_map(|line| line.strip_prefix("result "));
        let line = line.with_context(|| format!("wrk said:\n{text}"))?;
        let mut outcome: Outcome = serde_json::from_str(line)?;
        ensure!(
            outcome.not_ok + outcome.broken + outcome.timeouts == 0 && outcome.requests > 0,
            "{}: {} had errors: {line}",
            server.kind.name(),
            self.method
        );
        outcome.cpu_us = cpu.as_secs_f64() * 1e6 / outcome.requests as f64;
        Ok(outcome)
    }
}
