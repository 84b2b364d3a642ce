//! Runs the benchmarks; `bench/run` builds what it needs and starts it.

mod bench;
mod compare;
mod http;
mod machine;
mod report;
mod server;
mod wrk;

use std::time::Duration;

use anyhow::bail;

use bench::Bench;
use report::Report;

/// What can be measured, and what is if nothing is named.
const USAGE: &str = "\
usage: bench/run [MODE…]
  calls     send, GetTask and streaming send against a bare axum server, at 1, 16 and 64 connections
  quick     the same, at 64 connections only
without a mode: calls";

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut modes: Vec<String> = std::env::args().skip(1).collect();
    if modes.is_empty() {
        modes = vec!["calls".to_owned()];
    }
    let bench = Bench::from_env()?;
    machine::pin(bench.cores.load)?;
    let mut report = Report::default();
    let machine = machine::describe();
    report.note(&format!(
        "{machine}; server on core {}, load on core {}",
        bench.cores.server, bench.cores.load
    ));
    for mode in &modes {
        run(mode, &bench, &mut report).await?;
    }
    report.finish(&machine, &bench.places.bench.join("results"))
}

async fn run(mode: &str, bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let plan = |connections: &[u32]| compare::Plan {
        connections: connections.to_vec(),
        rounds: 3,
        time: Duration::from_secs(2),
    };
    match mode {
        "calls" => compare::run(bench, &plan(&[1, 16, 64]), report).await,
        "quick" => compare::run(bench, &plan(&[64]), report).await,
        _ => bail!("{USAGE}"),
    }
}
