//! `switchboard key`: makes, lists and revokes API keys, beside a running server.

use std::fmt::Write;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use switchboard_server::auth::keys::{self, By, NewKey};
use switchboard_server::clock;
use switchboard_server::store::access::{AccessStore as _, KeyId, KeyRecord};
use switchboard_types::model::Timestamp;
use switchboard_types::printable;

use super::args::{Global, Kept, name_dir};
use super::{Failure, block_on, err, out};
use crate::app;
use crate::config::Env;
use crate::config::value::Time;

pub(super) const KEY: &str = "\
Examples:
  switchboard key create --agent echo --label ci --expires 90d
  switchboard key create --all-agents --scope read -c switchboard.yaml -o json
  switchboard key list
  switchboard key revoke 4kq7m2xw9abc

A key is printed once, on standard output, and stored as a hash. A running server accepts a new key, and rejects a
revoked one, within a second.";

/// Who the audit says it was.
const OPERATOR: &str = "operator";

/// `switchboard key`
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Create a key and print it once
    Create(CreateArgs),
    /// List all keys, without the keys themselves
    List(ListArgs),
    /// Revoke a key
    Revoke(RevokeArgs),
}

/// `switchboard key create`
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// Agent that the key may call (repeatable)
    #[arg(
        long = "agent",
        value_name = "NAME",
        required_unless_present = "all_agents"
    )]
    agents: Vec<String>,
    /// Allow all agents, including future ones
    #[arg(long, conflicts_with = "agents")]
    all_agents: bool,
    /// Label
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
    /// Scope that the key grants (repeatable)
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Lifetime, such as 90d
    #[arg(long, value_name = "TIME")]
    expires: Option<Time>,
    /// Subject: keys with the same subject share their tasks
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// Tenant of the caller
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    #[command(flatten)]
    kept: Kept,
}

/// `switchboard key list`
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    kept: Kept,
}

/// `switchboard key revoke`
#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// Key id, as shown by `key list`
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    kept: Kept,
}

pub(super) fn run(command: KeyCommand, global: &Global, env: &Env) -> Result<(), Failure> {
    match command {
        KeyCommand::Create(args) => create(args, global, env),
        KeyCommand::List(args) => list(&args, global, env),
        KeyCommand::Revoke(args) => revoke(&args, global, env),
    }
}

fn create(args: CreateArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let config = args.kept.load(global, env)?;
    let is_agent = |name: &String| config.said_of(name).is_some();
    if let Some(unknown) = args.agents.iter().find(|name| !is_agent(name)) {
        let known: Vec<&str> = config.agents.iter().map(|agent| &*agent.name).collect();
        return Err(Failure::Usage(
            format!("no agent named {unknown:?}"),
            format!("the configuration has {}", known.join(", ")),
        ));
    }
    let new = NewKey {
        label: args.label,
        agents: (!args.all_agents).then_some(args.agents),
        scopes: args.scopes,
        tenant: args.tenant,
        subject: args.subject,
        expires: args.expires.map(|Time(lasts)| clock::after_now(lasts)),
    };
    let json = args.kept.json();
    block_on(async {
        let store = app::access_store_on_disk(&config)?;
        let (record, key) = keys::issue(&*store, new, &By::here(OPERATOR)).await?;
        if json {
            let mut told = shown(&record);
            told["apiKey"] = key.reveal().into();
            out(format_args!("{told}\n"))?;
            return Ok(());
        }
        out(format_args!("{}\n", key.reveal()))?;
        let id = &record.id;
        err(format_args!("key {id} created; it is not shown again\n"))?;
        Ok(())
    })
}

fn list(args: &ListArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let config = args.kept.load(global, env)?;
    let mut text = String::new();
    block_on(async {
        let keys = app::access_store_to_read(&config)?.keys().await?;
        for record in &keys {
            if args.kept.json() {
                writeln!(text, "{}", shown(record))?;
            } else {
                line(record, &mut text)?;
            }
        }
        if keys.is_empty() {
            name_dir(&config)?;
            text.push_str(if args.kept.json() { "" } else { "no keys\n" });
        }
        Ok(())
    })?;
    out(format_args!("{text}")).map_err(Failure::failed)
}

fn revoke(args: &RevokeArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let config = args.kept.load(global, env)?;
    let id = KeyId::new(&*args.id);
    block_on(async {
        let store = app::existing_access_store(&config)?;
        if !keys::revoke(&*store, &id, &By::here(OPERATOR)).await? {
            let dir = app::dir_on_disk(&config)?.display();
            anyhow::bail!("no active key {id:?} in {dir}", id = id.as_str());
        }
        if args.kept.json() {
            out(format_args!(
                "{}\n",
                json!({"id": id.as_str(), "revoked": true})
            ))?;
        } else {
            out(format_args!("key {id} is revoked\n"))?;
        }
        Ok(())
    })
}

/// All that may be known of a key.
fn shown(record: &KeyRecord) -> Value {
    let moment = |at: Option<Timestamp>| at.map(|at| at.to_string());
    json!({
        "id": record.id.as_str(),
        "label": record.label,
        "agents": record.agents,
        "scopes": record.scopes,
        "tenant": record.tenant,
        "subject": record.subject,
        "madeAt": record.made.to_string(),
        "madeBy": record.made_by,
        "expiresAt": moment(record.expires),
        "lastUsedAt": moment(record.last_used),
        "revokedAt": moment(record.revoked),
    })
}

fn line(record: &KeyRecord, text: &mut String) -> std::fmt::Result {
    let agents = record.agents.as_ref();
    let agents = agents.map_or_else(|| "all agents".to_owned(), |agents| agents.join(", "));
    write!(text, "{}  {}", record.id, printable::line(&agents))?;
    if !record.label.is_empty() {
        write!(text, "  {:?}", record.label)?;
    }
    if let Some(tenant) = &record.tenant {
        write!(text, "  tenant {}", printable::line(tenant))?;
    }
    // A key without a subject of its own has one that says no more than its id.
    if record.subject != format!("key:{}", record.id) {
        write!(text, "  subject {}", printable::line(&record.subject))?;
    }
    if !record.scopes.is_empty() {
        let scopes = printable::line(&record.scopes.join(" "));
        write!(text, "  scopes {scopes}")?;
    }
    write!(
        text,
        "  made {} by {}",
        record.made,
        printable::line(&record.made_by)
    )?;
    match record.last_used {
        Some(at) => write!(text, "  used {at}")?,
        None => text.push_str("  never used"),
    }
    if let Some(at) = record.expires {
        write!(text, "  expires {at}")?;
    }
    if let Some(at) = record.revoked {
        write!(text, "  REVOKED {at}")?;
    }
    text.push('\n');
    Ok(())
}
