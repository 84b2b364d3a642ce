//! `switchboard route`: which agent takes a message, and why.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::{Map, Value};
use switchboard_server::principal::{Identity, Principal};

use super::args::{Global, Place};
use super::serve::file;
use super::{Failure, block_on, out};
use crate::app::existing_access_store;
use crate::config::problem::did_you_mean;
use crate::config::{Agent, Config, Env, Source, load};
use crate::route::rules::stored::route;
use crate::route::rules::{Heard, Outcome, Route, Rules};

pub(super) const ROUTE: &str = "\
Examples:
  switchboard route \"where is my invoice?\"
  switchboard route --explain --agent desk --skill billing \"where is my invoice?\"
  switchboard route --caller '{\"subject\": \"ann\", \"scopes\": [\"vip\"]}' \"hello\"";

/// `switchboard route`
#[derive(Debug, Clone, Default, Args)]
pub struct RouteArgs {
    /// Text of the message
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// Agent that receives the message [default: the default agent]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Explain for every rule why it matches or not
    #[arg(long)]
    pub explain: bool,
    /// Requested skill
    #[arg(long, value_name = "ID")]
    pub skill: Option<String>,
    /// Caller as JSON: method, subject, tenant, scopes, claims
    #[arg(long, value_name = "JSON")]
    pub caller: Option<String>,
    /// Message metadata as JSON
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
    /// Configuration file [default: switchboard.yaml]
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "SWITCHBOARD_CONFIG",
        hide_env_values = true
    )]
    pub config: Option<PathBuf>,
}

pub(super) fn run(args: &RouteArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let file = file(args.config.clone())?;
    let config = load(&Source::File(file), env, &Place::default().flags(global))?;
    let agent = agent(&config, args.agent.as_deref())?;
    let caller = caller(args.caller.as_deref())?;
    let heard = Heard {
        text: args.text.clone(),
        skill: args.skill.clone(),
        caller: &caller,
        metadata: object("--metadata", args.metadata.as_deref())?,
        unread: None,
        parts: vec!["text"],
    };
    let rules = Rules::new([agent.routes.clone(), stored(&config, agent)?].concat());
    let walk = rules.walk(&heard);
    let mut told = match &walk.chosen {
        Some(rule) => format!("{} by {}\n", rule.action, named(rule)),
        None => format!("{} handles it itself\n", agent.name),
    };
    if args.explain {
        for (rule, outcome) in rules.all().iter().zip(&walk.outcomes) {
            let (name, why) = (named(rule), why(rule, outcome, &heard));
            // Writing to a text cannot fail.
            let _ = writeln!(told, "  {name}: {why}");
        }
    }
    Ok(out(format_args!("{told}"))?)
}

/// The rules that operators have stored for a server with this configuration.
fn stored(config: &Config, agent: &Agent) -> Result<Vec<Arc<Route>>, Failure> {
    let Ok(access) = existing_access_store(config) else {
        return Ok(Vec::new());
    };
    let mut rules = Vec::new();
    block_on(async {
        for record in access.rules().await? {
            if *record.agent == *agent.name
                && let Ok(rule) = route(&record.id, record.rule)
            {
                rules.push(Arc::new(rule));
            }
        }
        Ok(())
    })?;
    Ok(rules)
}

fn agent<'c>(config: &'c Config, name: Option<&str>) -> Result<&'c Agent, Failure> {
    let name = name.unwrap_or(&config.default_agent);
    let names = config.agents.iter().map(|agent| &*agent.name);
    config.said_of(name).ok_or_else(|| {
        let hint =
            did_you_mean(name, names).unwrap_or_else(|| "see `agents` in the file".to_owned());
        Failure::Usage(format!("no agent named `{name}`"), hint)
    })
}

/// Who asks; nobody in particular if nothing is said.
fn caller(text: Option<&str>) -> Result<Principal, Failure> {
    let Some(text) = text else {
        return Ok(Principal::known(Vec::new()));
    };
    let mut said = object("--caller", Some(text))?;
    let mut taken = |name: &str| said.remove(name);
    let word = |value: Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
    let identity = Identity {
        scheme: word(taken("method")).unwrap_or_default().into(),
        subject: word(taken("subject")).unwrap_or_default().into(),
        tenant: word(taken("tenant")).map(Into::into),
        scopes: match taken("scopes") {
            Some(Value::Array(scopes)) => {
                let texts = scopes.iter().filter_map(Value::as_str);
                texts.map(Into::into).collect()
            }
            _ => Default::default(),
        },
        claims: match taken("claims") {
            Some(Value::Object(claims)) => claims,
            _ => Map::new(),
        },
        ..Identity::default()
    };
    match said.keys().next() {
        None => Ok(Principal::from(identity)),
        Some(other) => Err(Failure::Usage(
            format!("--caller has no `{other}`"),
            "it has method, subject, tenant, scopes and claims".to_owned(),
        )),
    }
}

fn object(flag: &str, text: Option<&str>) -> Result<Map<String, Value>, Failure> {
    let Some(text) = text else {
        return Ok(Map::new());
    };
    serde_json::from_str(text).map_err(|error| {
        let hint = "write a JSON object, such as '{\"lang\": \"de\"}'".to_owned();
        Failure::Usage(format!("{flag} cannot be read: {error}"), hint)
    })
}

fn named(rule: &Route) -> String {
    let (name, place) = (&rule.name, &rule.place);
    match &rule.description {
        Some(description) => format!("{name} ({place}; {description})"),
        None => format!("{name} ({place})"),
    }
}

fn why(rule: &Route, outcome: &Outcome, heard: &Heard<'_>) -> String {
    let seen = || {
        let when = rule.when.as_ref();
        let seen = when.map(|when| when.looks_at(&heard.values(when)));
        let seen = seen.into_iter().flatten();
        let seen = seen.map(|(name, value)| match value {
            Some(value) => format!("{name} is {value}"),
            None => format!("{name} is missing"),
        });
        seen.collect::<Vec<_>>().join("; ")
    };
    match outcome {
        Outcome::Matches => format!("matches: {}", rule.action),
        Outcome::Off => "is off".to_owned(),
        Outcome::OtherText => "the text does not match".to_owned(),
        Outcome::OtherSkill => format!("is for {}", rule.skills.join(", ")),
        Outcome::False => format!("`when` is false: {}", seen()),
        Outcome::Failed(cause) => {
            format!(
                "`when` could not be evaluated, so it is false: {cause}; {}",
                seen()
            )
        }
        Outcome::NotReached => "not evaluated: an earlier rule matched".to_owned(),
    }
}
