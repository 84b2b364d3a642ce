//! Runs the benchmarks; `bench/run` builds what it needs and starts it.

mod a2a;
mod auth;
mod bench;
mod bindings;
mod burst;
mod compare;
mod fanout;
mod http;
mod idle;
mod instructions;
mod issuers;
mod machine;
mod million;
mod report;
mod server;
mod start;
mod versus;
mod wrk;

use std::process::ExitCode;

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
  bindings   send, GetTask and streaming send by our own client, over JSON-RPC, HTTP+JSON and gRPC
  auth       send and GetTask with a token and with an API key, against the same without either
  a2a        send and streaming send to an agent directly, and through the gateway before it
  instructions  instructions per send, GetTask and streaming send, counted by callgrind (needs valgrind)
  fanout     tasks of 1,000 events, each with 100 subscribers, over each binding

Without a mode: start burst calls idle.";

/// One thing to measure.
#[derive(Debug, Clone, Copy)]
enum Mode {
    Calls(&'static [u32]),
    Burst,
    Start,
    Idle,
    Million(usize),
    Bindings,
    Fanout,
    Auth,
    A2a,
    Instructions,
}

/// What is measured if nothing is named: all that is done in a few minutes.
const SHORT: [Mode; 4] = [
    Mode::Start,
    Mode::Burst,
    Mode::Calls(&[1, 16, 64]),
    Mode::Idle,
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let modes: Option<Vec<Mode>> = names.iter().map(|name| Mode::named(name)).collect();
    let Some(mut modes) = modes else {
        return Ok(usage(&names));
    };
    if modes.is_empty() {
        modes = SHORT.to_vec();
    }
    let bench = Bench::from_env()?;
    let machine = machine::describe();
    machine::pin(bench.cores.load)?;
    let mut report = Report::default();
    report.note(&format!(
        "{machine}; server on core {}, load on core {}",
        bench.cores.server, bench.cores.load
    ));
    for mode in modes {
        mode.run(&bench, &mut report).await?;
    }
    report.finish(&machine, &bench.places.bench.join("results"))?;
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line")]
fn usage(names: &[String]) -> ExitCode {
    if names == ["help"] {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

impl Mode {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "calls" => Self::Calls(&[1, 16, 64]),
            "quick" => Self::Calls(&[64]),
            "burst" => Self::Burst,
            "start" => Self::Start,
            "idle" => Self::Idle,
            "million" => Self::Million(1_000_000),
            "bindings" => Self::Bindings,
            "fanout" => Self::Fanout,
            "auth" => Self::Auth,
            "a2a" => Self::A2a,
            "instructions" => Self::Instructions,
            "hundred" => Self::Million(100_000),
            _ => return None,
        })
    }

    async fn run(self, bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
        match self {
            Self::Calls(connections) => compare::run(bench, connections, report).await,
            Self::Burst => burst::run(bench, report).await,
            Self::Start => start::run(bench, report).await,
            Self::Idle => idle::run(bench, report).await,
            Self::Million(most) => million::run(bench, most, report).await,
            Self::Bindings => bindings::run(bench, report).await,
            Self::Fanout => fanout::run(bench, report).await,
            Self::Auth => auth::run(bench, report).await,
            Self::A2a => a2a::run(bench, report).await,
            Self::Instructions => instructions::run(bench, report).await,
        }
    }
}
