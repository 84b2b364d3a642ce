//! What it costs to ask who calls: the same calls with a token of one of two issuers, with an API key, and without.

use anyhow::Context;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::compare::{Subject, in_turns};
use crate::http::Connection;
use crate::issuers::Issuers;
use crate::report::{Report, Target, number};
use crate::server::{Kind, Server, Start};
use crate::versus::{CPU, PER_SECOND, Versus};

const CONNECTIONS: u32 = 64;

/// What callers show.
const SHOWN: [&str; 3] = ["token", "second issuer's token", "API key"];

/// The least share of the throughput without credentials.
const TARGET: Target = Target::AtLeast(0.9);

/// Compares everything and reports it.
pub async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let issuers = Issuers::start()?;
    let (token, other) = (issuers.token(false)?, issuers.token(true)?);
    report.heading("With credentials, against without");
    report.table(&[
        "call",
        "shown",
        "req/s",
        "without",
        "**ratio**",
        "target",
        "CPU µs",
        "without",
        "**CPU ratio**",
    ]);
    for method in ["SendMessage", "GetTask"] {
        for kind in [Kind::Memory, Kind::Sqlite] {
            let mut subjects = vec![Subject::new(bench.start(kind).fresh()?, None, method).await?];
            for shown in SHOWN {
                let server = closed(bench, kind, &issuers.url)?;
                let shown = match shown {
                    "token" => token.clone(),
                    "second issuer's token" => other.clone(),
                    _ => key(&server, &token).await?,
                };
                subjects.push(Subject::new(server, Some(shown), method).await?);
            }
            in_turns(bench, CONNECTIONS, method, &mut subjects)?;
            for (shown, subject) in SHOWN.into_iter().zip(&subjects[1..]) {
                let versus = Versus {
                    ours: &subject.runs,
                    bare: &subjects[0].runs,
                };
                let name = format!("{method}, {}", kind.name());
                tell(report, &name, shown, versus);
            }
        }
    }
    Ok(())
}

fn tell(report: &mut Report, name: &str, shown: &str, versus: Versus<'_>) {
    let share = versus.ratio(PER_SECOND);
    let cpu = versus.ratio(|run| 1.0 / run.cpu_us);
    let full_name = format!("{name}, with {shown}");
    let mut row = vec![name.to_owned(), shown.to_owned()];
    row.extend(versus.middles(PER_SECOND).map(number));
    row.extend([
        share.to_string(),
        report.judge(&full_name, share.middle, TARGET),
    ]);
    row.extend(versus.middles(CPU).map(number));
    row.push(cpu.to_string());
    report.row(&row);
    report.record(
        &full_name,
        json!({ "ratio": share.middle, "cpu_ratio": cpu.middle,
                "with": versus.ours, "without": versus.bare }),
    );
}

/// A server that asks who calls.
fn closed(bench: &Bench, kind: Kind, issuers: &str) -> anyhow::Result<Server> {
    let start = Start {
        closed_by: Some(issuers),
        ..bench.start(kind)
    };
    start.fresh()
}

/// A key, from the server itself.
async fn key(server: &Server, token: &str) -> anyhow::Result<String> {
    let connection = Connection::open(server.address, None).await?;
    let mut connection = connection.with_token(Some(token));
    let made = connection.ask("/a2a/one/api-key", "{}").await?;
    let made: Value = serde_json::from_slice(&made)?;
    let key = made["apiKey"].as_str();
    Ok(key.with_context(|| format!("no key: {made}"))?.to_owned())
}
