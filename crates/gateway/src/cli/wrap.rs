//! `switchboard wrap`: a gateway for one agent, without a file. The flags become the keys that a file would have, so
//! everything else is as with `serve`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::args::{Global, Place};
use super::banner::{self, Banner};
use super::{Failure, block_on};
use crate::app::Listening;
use crate::config::{Config, Env, Given, GivenKey, GivenValue, Source, load};
use crate::{app, telemetry};

pub(super) const WRAP: &str = "\
Examples:
  switchboard wrap --openai http://127.0.0.1:11434/v1 --model llama3.2
  switchboard wrap --openai https://api.openai.com/v1 --model gpt-4o-mini --key-env OPENAI_API_KEY \\
    --system 'Answer in one sentence.'
  switchboard wrap --a2a https://agents.example.com/a2a/poet --header authorization=POET_AUTH
  switchboard wrap --langgraph http://localhost:2024 --assistant researcher
  switchboard wrap --openclaw http://127.0.0.1:18789 --token-env OPENCLAW_GATEWAY_TOKEN
  switchboard wrap --exec -- tr a-z A-Z
  switchboard wrap --name worker --exec --json --inherit HOME -- python3 agent.py

Flags describe the agent; everything else is set by environment variables, as with `serve`:
  SWITCHBOARD_AGENTS__AGENT__OPENAI__TEMPERATURE=0.2 switchboard wrap --openai URL --model M

Pass secrets by environment or file: others can read the command line. Tasks are stored in a directory
per agent, below that of `switchboard up`. For several agents, or for authentication, write a
configuration file: see `switchboard serve --help`.";

/// `switchboard wrap`
#[derive(Debug, Clone, Default, Args)]
#[command(group = ArgGroup::new("behind").required(true))]
pub struct WrapArgs {
    /// OpenAI-compatible endpoint: its base URL, before /chat/completions
    #[arg(long, value_name = "URL", group = "behind", requires = "model")]
    openai: Option<String>,
    /// Remote A2A agent: its URL, the URL of its card, a host, or HOST#NAME
    #[arg(long, value_name = "URL", group = "behind")]
    a2a: Option<String>,
    /// LangGraph server: its URL
    #[arg(long, value_name = "URL", group = "behind")]
    langgraph: Option<String>,
    /// OpenClaw gateway: its URL
    #[arg(long, value_name = "URL", group = "behind")]
    openclaw: Option<String>,
    /// Command to run for each message: give it after `--`
    #[arg(long, group = "behind", requires = "command")]
    exec: bool,

    /// Name of the agent, part of its URL
    #[arg(long, default_value = "agent")]
    name: String,
    /// Description for the agent card
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Header to send upstream, with the value of an environment variable (repeatable)
    #[arg(long, value_name = "NAME=VARIABLE", value_parser = pair, conflicts_with_all = ["exec", "openclaw"])]
    header: Vec<(String, String)>,

    /// Where to listen and what to keep.
    #[command(flatten)]
    place: Place,

    /// With a model.
    #[command(flatten)]
    with_model: WithModel,
    /// With an assistant.
    #[command(flatten)]
    with_langgraph: WithLangGraph,
    /// With an agent of a gateway.
    #[command(flatten)]
    with_openclaw: WithOpenClaw,
    /// With a command.
    #[command(flatten)]
    with_exec: WithExec,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "With --openai")]
struct WithModel {
    /// Model name
    #[arg(long, conflicts_with_all = all_but("openai"))]
    model: Option<String>,
    /// Environment variable with the API key, such as OPENAI_API_KEY
    #[arg(long, conflicts_with_all = all_but("openai"), value_name = "VARIABLE")]
    key_env: Option<String>,
    /// File with the API key
    #[arg(long, conflicts_with_all = all_but("openai"), value_name = "FILE", conflicts_with = "key_env")]
    key_file: Option<String>,
    /// System prompt
    #[arg(long, conflicts_with_all = all_but("openai"), value_name = "TEXT")]
    system: Option<String>,
    /// File with the system prompt
    #[arg(long, conflicts_with_all = all_but("openai"), value_name = "FILE", conflicts_with = "system")]
    system_file: Option<String>,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "With --langgraph")]
struct WithLangGraph {
    /// Assistant: its id, its name or the name of its graph [default: every assistant of the server]
    #[arg(long, conflicts_with_all = all_but("langgraph"), value_name = "ID")]
    assistant: Option<String>,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "With --openclaw")]
struct WithOpenClaw {
    /// Agent of the gateway [default: main]
    #[arg(long, conflicts_with_all = all_but("openclaw"), value_name = "ID")]
    agent: Option<String>,
    /// Environment variable with the gateway token, such as OPENCLAW_GATEWAY_TOKEN
    #[arg(long, conflicts_with_all = all_but("openclaw"), value_name = "VARIABLE")]
    token_env: Option<String>,
    /// File with the gateway token
    #[arg(long, conflicts_with_all = all_but("openclaw"), value_name = "FILE", conflicts_with = "token_env")]
    token_file: Option<String>,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "With --exec")]
struct WithExec {
    /// Use the JSON Lines protocol (status, artifacts, questions) instead of text
    #[arg(long, conflicts_with_all = all_but("exec"))]
    json: bool,
    /// Working directory of the command
    #[arg(long, conflicts_with_all = all_but("exec"), value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Environment variable to pass to the command, besides PATH (repeatable)
    #[arg(long, conflicts_with_all = all_but("exec"), value_name = "VARIABLE")]
    inherit: Vec<String>,
    /// Program and arguments; no shell is involved
    #[arg(last = true, conflicts_with_all = all_but("exec"), value_name = "COMMAND")]
    command: Vec<String>,
}

/// What can stand behind the agent, apart from this: flags for one kind are none for another.
fn all_but(kind: &str) -> impl Iterator<Item = &'static str> {
    let all = ["a2a", "exec", "langgraph", "openai", "openclaw"];
    all.into_iter().filter(move |known| *known != kind)
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, variable)) if !name.is_empty() && !variable.is_empty() => {
            Ok((name.to_owned(), variable.to_owned()))
        }
        _ => Err(
            "write the header name and the environment variable with its value, such as x-key=MY_KEY"
                .to_owned(),
        ),
    }
}

pub(super) fn run(args: &WrapArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let source = Source::Given(args.given());
    let config = load(&source, env, &args.place.flags(global))?;
    telemetry::start(&config.log).map_err(Failure::Failed)?;
    let shown = config.clone();
    block_on(app::serve(config, None, move |listening| {
        banner::print(&welcome(&shown, &listening));
    }))
}

impl WrapArgs {
    /// The agent that the flags describe.
    pub(super) fn given(&self) -> Given {
        let (model, exec) = (&self.with_model, &self.with_exec);
        let (assistant, claw) = (&self.with_langgraph.assistant, &self.with_openclaw);
        let mut keys = Vec::new();
        let mut say = |flag, path: &[&str], value| {
            let path = path.iter().map(|&step| step.to_owned()).collect();
            keys.push(GivenKey { flag, path, value });
        };
        let texts = [
            ("--openai", ["openai", "url"], &self.openai),
            ("--model", ["openai", "model"], &model.model),
            ("--key-file", ["openai", "key_file"], &model.key_file),
            ("--system", ["openai", "system"], &model.system),
            (
                "--system-file",
                ["openai", "system_file"],
                &model.system_file,
            ),
            ("--a2a", ["a2a", "url"], &self.a2a),
            ("--langgraph", ["langgraph", "url"], &self.langgraph),
            ("--assistant", ["langgraph", "assistant"], assistant),
            ("--openclaw", ["openclaw", "url"], &self.openclaw),
            ("--agent", ["openclaw", "agent"], &claw.agent),
            ("--token-file", ["openclaw", "token_file"], &claw.token_file),
        ];
        for (flag, path, text) in texts {
            if let Some(text) = text {
                say(flag, &path, GivenValue::Text(text.clone()));
            }
        }
        if let Some(text) = &self.description {
            let text = GivenValue::Text(text.clone());
            say("--description", &["description"], text);
        }
        if self.langgraph.is_some() && assistant.is_none() {
            let path = ["langgraph", "discover"];
            say("--langgraph", &path, GivenValue::True);
        }
        let variables = [
            ("--key-env", ["openai", "key"], &model.key_env),
            ("--token-env", ["openclaw", "token"], &claw.token_env),
        ];
        for (flag, path, name) in variables {
            if let Some(name) = name {
                say(flag, &path, GivenValue::Variable(name.clone()));
            }
        }
        for (name, variable) in &self.header {
            let variable = GivenValue::Variable(variable.clone());
            say("--header", &["identity", "headers", name], variable);
        }
        if self.exec {
            let command = GivenValue::List(exec.command.clone());
            say("--exec", &["exec", "command"], command);
        }
        if exec.json {
            let json = GivenValue::Text("json".to_owned());
            say("--json", &["exec", "protocol"], json);
        }
        if let Some(directory) = &exec.directory {
            let directory = GivenValue::Text(directory.display().to_string());
            say("--directory", &["exec", "directory"], directory);
        }
        if !exec.inherit.is_empty() {
            let names = GivenValue::List(exec.inherit.clone());
            say("--inherit", &["exec", "inherit"], names);
        }
        Given {
            name: self.name.clone(),
            keys,
        }
    }
}

/// Where the agent is, and how to call it.
pub(super) fn welcome(config: &Config, listening: &Listening) -> String {
    let banner = Banner::new(config, listening);
    // Discovered agents may come later; the first of them is the default agent.
    let (names, at) = match listening.agents.first() {
        Some(first) => (listening.agents.join(" "), banner.agent(first)),
        None => (format!("{}-*", config.default_agent), banner.base.clone()),
    };
    let (base, facts, commands) = (&banner.base, banner.facts(), banner.commands(&at, None));
    format!("  agents    {names}   at {base}\n{facts}\n{commands}")
}
