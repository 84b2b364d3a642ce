//! Runs the benchmarks; `bench/run` builds what it needs and starts it.

mod bench;
mod burst;
mod compare;
mod http;
mod idle;
mod machine;
mod million;
mod report;
mod server;
mod start;
mod wrk;

use std::time::Duration;

use anyhow::bail;

use bench::Bench;
use report::Report;

/// What can be measured.
const USAGE: &str = "\
usage: bench/run [MODE…]

  calls      send, GetTask and streaming send against a bare axum server, at 1, 16 and 64 connections
  quick      the same at 64 connections only
  burst      one task that hands over thousands of chunks at once
  start      from exec to the first answer; memory when idle
  idle       10,000 open streams on which nothing happens
  million    1,000,000 stored tasks: memory, disk, reading (takes minutes; needs about 2 GB of disk)
  hundred    the same with 100,000 tasks

without a mode: start burst calls idle";

/// What is measured if nothing is named: all that is done in a few minutes.
const SHORT: [&str; 4] = ["start", "burst", "calls", "idle"];

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut modes: Vec<String> = std::env::args().skip(1).collect();
    if modes.is_empty() {
        modes = SHORT.map(str::to_owned).to_vec();
    }
    let bench = Bench::from_env()?;
    let machine = machine::describe();
    machine::pin(bench.cores.load)?;
    let mut report = Report::default();
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
        "burst" => burst::run(bench, report).await,
        "start" => start::run(bench, report).await,
        "idle" => idle::run(bench, report).await,
        "million" => million::run(bench, 1_000_000, report).await,
        "hundred" => million::run(bench, 100_000, report).await,
        _ => bail!("{USAGE}"),
    }
}
