//! `switchboard conformance`: an agent against the checklist, and what came of it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use http::{HeaderName, HeaderValue};
use switchboard_client::Origin;
use switchboard_conformance::{Error, Level, Plan, request, run as check};
use switchboard_types::model::Secret;

use super::args::Output;
use super::{Failure, block_on, err, out};
use crate::config::value::Time;

pub(super) const CONFORMANCE: &str = "\
Examples:
  switchboard conformance -a http://127.0.0.1:7420/a2a/echo
  switchboard conformance -a agent.example.com --bearer \"$TOKEN\" --report conformance.html
  switchboard conformance -a card.json --message hi --long-message 'count to 20' --ask-message 'book a table'
  switchboard conformance -a 127.0.0.1:7420 --only S-05,S-117 --level must -o json
  switchboard conformance --request request.json

Tests every interface of the card, in its binding and version, with real messages: the agent should answer --message
soon and with a task. Checks that need --long-message or --ask-message are `not seen` without it.

Exit codes: 0 no MUST is violated, 1 at least one is, 2 usage error, 3 the agent is unreachable or has no card.";

/// `switchboard conformance`
#[derive(Clone, Args)]
pub struct ConformanceArgs {
    /// Agent: a host, the URL of its card, or a file
    #[arg(short, long, value_name = "REF", env = "A2ACLI_AGENT_CARD")]
    pub agent_card: Option<String>,
    /// Bearer token, sent as `Authorization: Bearer …`
    #[arg(
        long,
        value_name = "TOKEN",
        env = "A2ACLI_BEARER",
        hide_env_values = true
    )]
    pub bearer: Option<String>,
    /// API key, sent where the card says, or as X-API-Key
    #[arg(
        long,
        value_name = "KEY",
        env = "A2ACLI_API_KEY",
        hide_env_values = true
    )]
    pub api_key: Option<String>,
    /// Another origin that may receive credentials, such as `https://grpc.example.com` (repeatable)
    #[arg(long, value_name = "ORIGIN")]
    pub credentials_to: Vec<Origin>,
    /// Header or gRPC metadata for every request (repeatable)
    #[arg(long, value_name = "NAME:VALUE")]
    pub svc_param: Vec<String>,
    /// Timeout of one exchange
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub timeout: Time,
    /// Message that the agent answers soon, with a task
    #[arg(long, value_name = "TEXT", default_value = "hello")]
    pub message: String,
    /// Message that keeps the agent busy for some seconds
    #[arg(long, value_name = "TEXT")]
    pub long_message: Option<String>,
    /// Message that makes the agent ask for input
    #[arg(long, value_name = "TEXT")]
    pub ask_message: Option<String>,
    /// Address for the webhook receiver, reachable by the agent
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub webhook_host: String,
    /// Only rules with these number prefixes, separated by commas
    #[arg(long, value_name = "NUMBERS")]
    pub only: Vec<String>,
    /// Only rules of at least this level
    #[arg(long, value_name = "LEVEL", default_value = "should")]
    pub level: LevelFlag,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub output: Output,
    /// Also write an HTML report
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Check one JSON-RPC request in a file instead of an agent
    #[arg(long, value_name = "FILE", conflicts_with = "report")]
    pub request: Option<PathBuf>,
}

/// What matters at least so much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LevelFlag {
    /// MUST and MUST NOT
    Must,
    /// Also SHOULD and SHOULD NOT
    Should,
}

impl std::fmt::Debug for ConformanceArgs {
    /// Without credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConformanceArgs")
            .field("agent_card", &self.agent_card)
            .finish_non_exhaustive()
    }
}

pub(super) fn run(args: &ConformanceArgs) -> Result<(), Failure> {
    if let Some(file) = &args.request {
        return look_at(file, args.output);
    }
    let plan = plan(args)?;
    if plan.is_empty() {
        return Err(Failure::Usage(
            "--only and --level leave nothing to check".to_owned(),
            "rules are S-001 to S-126 and V03-001 to V03-050; S-01 names ten of them".to_owned(),
        ));
    }
    let mut result = Ok(());
    let ran = block_on(async {
        let report = check(plan, &|progress| {
            drop(err(format_args!("checking {progress}\n")));
        })
        .await?;
        if let Some(file) = &args.report {
            std::fs::write(file, report.html())
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        let text = match args.output {
            Output::Text => report.text(),
            Output::Json => report.json(),
        };
        out(format_args!("{text}"))?;
        let broken = report.count().must;
        if broken > 0 {
            let noun = if broken == 1 { "check" } else { "checks" };
            result = Err(Failure::failed(anyhow::anyhow!(
                "{broken} {noun} of level MUST failed"
            )));
        }
        Ok(())
    });
    match ran {
        Err(Failure::Failed(error)) => match error.downcast() {
            Ok(Error::Unreachable(why)) => Err(Failure::Unreachable(
                why,
                "name a host, the address of a card, or a file; is the agent running?".to_owned(),
            )),
            Ok(other) => Err(Failure::Failed(other.into())),
            Err(error) => Err(Failure::Failed(error)),
        },
        other => other.and(result),
    }
}

fn plan(args: &ConformanceArgs) -> Result<Plan, Failure> {
    let Some(agent) = args.agent_card.clone() else {
        return Err(Failure::Usage(
            "no agent to check".to_owned(),
            "name it: switchboard conformance -a http://127.0.0.1:7420".to_owned(),
        ));
    };
    let params = args
        .svc_param
        .iter()
        .map(|param| parameter(param))
        .collect::<Result<_, _>>()?;
    let numbers = args.only.iter().flat_map(|list| list.split(','));
    Ok(Plan {
        agent,
        bearer: args.bearer.clone().map(Secret::new),
        api_key: args.api_key.clone().map(Secret::new),
        credentials_to: args.credentials_to.clone(),
        params,
        timeout: args.timeout.0,
        message: args.message.clone(),
        long_message: args.long_message.clone(),
        ask_message: args.ask_message.clone(),
        webhook_host: args.webhook_host.clone(),
        only: numbers.map(|number| number.trim().to_uppercase()).collect(),
        level: match args.level {
            LevelFlag::Must => Level::Must,
            LevelFlag::Should => Level::Should,
        },
    })
}

/// `name:value`, for every request.
fn parameter(text: &str) -> Result<(HeaderName, HeaderValue), Failure> {
    let parsed = text.split_once(':').and_then(|(name, value)| {
        let mut value = HeaderValue::from_str(value.trim()).ok()?;
        // It may well be a secret.
        value.set_sensitive(true);
        Some((name.trim().parse().ok()?, value))
    });
    parsed.ok_or_else(|| {
        let name = text.split(':').next().unwrap_or_default();
        Failure::Usage(
            format!("--svc-param {name:?} is not a header"),
            "write it as name:value".to_owned(),
        )
    })
}

fn look_at(file: &Path, output: Output) -> Result<(), Failure> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read {}", file.display()))
        .map_err(|error| {
            Failure::Usage(
                format!("{error:#}"),
                "name a file with one JSON-RPC request".to_owned(),
            )
        })?;
    let findings = request::look(&text);
    let said = match output {
        Output::Text => request::text(&findings),
        Output::Json => request::json(&findings),
    };
    out(format_args!("{said}"))?;
    let wrong = findings
        .iter()
        .filter(|finding| finding.wrong.is_some())
        .count();
    if wrong > 0 {
        return Err(Failure::failed(anyhow::anyhow!(
            "{wrong} of {} checks failed",
            findings.len()
        )));
    }
    Ok(())
}
