//! `switchboard audit`: what happened at the doors. Reads beside a running server.

use std::fmt::Write;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use switchboard_server::clock;
use switchboard_server::store::access::{AccessStore as _, AuditEntry, AuditQuery, What};
use switchboard_types::printable;

use super::args::{Global, Kept, name_dir};
use super::{Failure, block_on, out};
use crate::app;
use crate::config::Env;
use crate::config::value::Time;

pub(super) const AUDIT: &str = "\
Examples:
  switchboard audit --since 24h
  switchboard audit --what denied --who 'https://login.example.com||ann'
  switchboard audit --limit 1000 -o json      one JSON object per line

Shows failed logins, created and revoked keys, denied requests and cancels, newest first. Repeated events within a
minute are one line with a count.";

/// `switchboard audit`
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Only entries of this period, such as 24h
    #[arg(long, value_name = "TIME")]
    since: Option<Time>,
    /// Only this kind of event
    #[arg(long, value_name = "WHAT", value_parser = what())]
    what: Option<What>,
    /// Only this principal
    #[arg(long, value_name = "WHO")]
    who: Option<String>,
    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value = "100")]
    limit: usize,
    #[command(flatten)]
    kept: Kept,
}

fn what() -> impl TypedValueParser<Value = What> {
    PossibleValuesParser::new(What::ALL.map(What::name))
        .try_map(|name| What::from_name(&name).ok_or("is not an audit event"))
}

pub(super) fn run(args: AuditArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let config = args.kept.load(global, env)?;
    let query = AuditQuery {
        since: args.since.map(|Time(ago)| clock::before_now(ago)),
        what: args.what,
        who: args.who,
        limit: args.limit,
    };
    let mut text = String::new();
    block_on(async {
        let store = app::access_store_to_read(&config)?;
        for entry in store.audit(query).await? {
            if args.kept.json() {
                writeln!(text, "{}", shown(&entry))?;
            } else {
                line(&entry, &mut text)?;
            }
        }
        if text.is_empty() {
            name_dir(&config)?;
        }
        Ok(())
    })?;
    out(format_args!("{text}")).map_err(Failure::failed)
}

fn shown(entry: &AuditEntry) -> Value {
    json!({
        "at": entry.at.to_string(),
        "what": entry.what.name(),
        "who": entry.who,
        "agent": entry.agent,
        "object": entry.object,
        "address": entry.address,
        "count": entry.count,
        "detail": entry.detail,
    })
}

fn line(entry: &AuditEntry, text: &mut String) -> std::fmt::Result {
    write!(text, "{}  {}", entry.at, entry.what.name())?;
    if entry.count > 1 {
        write!(text, " ×{}", entry.count)?;
    }
    let told = [
        ("by", Some(&entry.who).filter(|who| !who.is_empty())),
        ("at", entry.agent.as_ref()),
        ("about", entry.object.as_ref()),
        ("from", entry.address.as_ref()),
    ];
    for (word, what) in told {
        if let Some(what) = what {
            write!(text, "  {word} {}", printable::line(what))?;
        }
    }
    if !entry.detail.is_empty() {
        write!(text, "  {}", Value::Object(entry.detail.clone()))?;
    }
    text.push('\n');
    Ok(())
}
