//! `switchboard conformance`: an agent against the checklist, and what came of it.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use http::{HeaderName, HeaderValue};
use switchboard_types::model::Secret;

use super::args::{ConformanceArgs, LevelFlag, Output};
use super::{Failure, block_on, out};
use crate::conformance::{Level, Plan, Unreachable, report, request, run as check};

pub(super) fn run(args: &ConformanceArgs) -> Result<(), Failure> {
    if let Some(file) = &args.request {
        return look_at(file, args.output);
    }
    let plan = plan(args)?;
    if plan.is_empty() {
        return Err(Failure::Usage(
            "--only and --level leave nothing to check".to_owned(),
            "rules are S-001 to S-122 and V03-001 to V03-024; S-01 names ten of them".to_owned(),
        ));
    }
    let mut result = Ok(());
    let ran = block_on(async {
        let report = check(plan, &|progress| {
            drop(writeln!(io::stderr().lock(), "checking {progress}"));
        })
        .await?;
        if let Some(file) = &args.report {
            let page = report::html::write(&report);
            std::fs::write(file, page)
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        let text = match args.output {
            Output::Text => report::text::write(&report),
            Output::Json => report::json::write(&report),
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
        Err(Failure::Failed(error)) => match error.downcast::<Unreachable>() {
            Ok(unreachable) => Err(Failure::Unreachable(
                unreachable.to_string(),
                "name a host, the address of a card, or a file; is the agent running?".to_owned(),
            )),
            Err(error) => Err(Failure::Failed(error)),
        },
        other => other.and(result),
    }
}

fn plan(args: &ConformanceArgs) -> Result<Plan, Failure> {
    let Some(agent) = args.agent_card.clone() else {
        return Err(Failure::Usage(
            "there is no agent to check".to_owned(),
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
            format!("--svc-param {name:?} is no header"),
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
