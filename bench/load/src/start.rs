//! From nothing to the first answer, and what the process holds when nobody asks anything.

use std::time::Duration;

use crate::bench::Bench;
use crate::machine;
use crate::report::{Report, Target, median, megabytes};
use crate::server::{Kind, Start};

/// How often it is started.
const TIMES: usize = 15;

/// Measures `switchboard up`.
pub async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    report.heading("Start: `switchboard up`, from exec to the first card");
    report.table(&["figure", "", "unit", "target"]);
    for kind in [Kind::Memory, Kind::Sqlite] {
        let start = Start {
            built_in: true,
            ..bench.start(kind)
        };
        let mut times = Vec::new();
        let mut last = None;
        for _ in 0..TIMES {
            drop(last.take());
            let server = start.fresh()?;
            times.push(server.came_up.as_secs_f64() * 1e3);
            last = Some(server);
        }
        let name = format!("{}: first start", kind.name());
        report.figure(&name, median(times), "ms", Target::AtMost(50.0));
        let Some(server) = last else { continue };
        tokio::time::sleep(Duration::from_secs(1)).await;
        let name = format!("{}: memory when idle", kind.name());
        let held = megabytes(machine::resident(server.process())?);
        report.figure(&name, held, "MB", Target::AtMost(20.0));
    }
    again(bench, report)
}

/// Starts on a data directory that is there already.
fn again(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let start = Start {
        built_in: true,
        ..bench.start(Kind::Sqlite)
    };
    let mut data = start.fresh()?.data.clone();
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let server = start.on(data)?;
        times.push(server.came_up.as_secs_f64() * 1e3);
        data = server.data.clone();
    }
    report.figure(
        "SQLite: start again",
        median(times),
        "ms",
        Target::AtMost(50.0),
    );
    Ok(())
}
