//! `switchboard wrap`: a gateway for one agent, without a file. The flags become the keys that a file would have, so
//! everything else is as with `serve`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::args::{Global, Place};
use super::up::{curl_and_base, kept};
use super::{Failure, block_on, out};
use crate::app::{Listening, ToTrust};
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

What the agent is like is said by flags here; all else by variables, as with `serve`:
  SWITCHBOARD_AGENTS__AGENT__OPENAI__TEMPERATURE=0.2 switchboard wrap --openai URL --model M

Secrets come from the environment or from files: others can see the command line. Tasks are kept in
a directory of the agent's own, below that of `switchboard up`. For more than one agent, or to say
who may call, write a file: see `switchboard serve --help`.";

/// `switchboard wrap`
#[derive(Debug, Clone, Default, Args)]
#[command(group = ArgGroup::new("behind").required(true))]
pub struct WrapArgs {
    /// A model: what stands before /chat/completions at an OpenAI-compatible endpoint
    #[arg(long, value_name = "URL", group = "behind", requires = "model")]
    openai: Option<String>,
    /// An A2A agent elsewhere: its URL or its card's, a host, or HOST#NAME
    #[arg(long, value_name = "URL", group = "behind")]
    a2a: Option<String>,
    /// An assistant of a LangGraph server: where the server is
    #[arg(long, value_name = "URL", group = "behind")]
    langgraph: Option<String>,
    /// An agent of an OpenClaw gateway: where the gateway is
    #[arg(long, value_name = "URL", group = "behind")]
    openclaw: Option<String>,
    /// A command, run for each message: what stands behind `--`
    #[arg(long, group = "behind", requires = "command")]
    exec: bool,

    /// The agent's name, which is part of its address
    #[arg(long, default_value = "agent")]
    name: String,
    /// What the agent does, for its card
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Sends this header along, with the value of this variable; may be given more than once
    #[arg(long, value_name = "NAME=VARIABLE", value_parser = pair, conflicts_with_all = ["exec", "openclaw"])]
    header: Vec<(String, String)>,

    /// The model's name
    #[arg(long, conflicts_with_all = ["a2a", "exec", "langgraph", "openclaw"], help_heading = "With --openai")]
    model: Option<String>,
    /// The variable that holds the key, such as OPENAI_API_KEY
    #[arg(
        long,
        value_name = "VARIABLE",
        conflicts_with_all = ["a2a", "exec", "langgraph", "openclaw"],
        help_heading = "With --openai"
    )]
    key_env: Option<String>,
    /// The file that holds the key
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["a2a", "exec", "langgraph", "openclaw", "key_env"],
        help_heading = "With --openai"
    )]
    key_file: Option<String>,
    /// What the model is told before all else
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with_all = ["a2a", "exec", "langgraph", "openclaw"],
        help_heading = "With --openai"
    )]
    system: Option<String>,
    /// A file with what the model is told before all else
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["a2a", "exec", "langgraph", "openclaw", "system"],
        help_heading = "With --openai"
    )]
    system_file: Option<String>,

    /// The assistant: its id, the name of its graph, or its own; without it, each of the server is an agent
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["a2a", "exec", "openai", "openclaw"],
        help_heading = "With --langgraph"
    )]
    assistant: Option<String>,

    /// The agent of the gateway; by default `main`
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["a2a", "exec", "langgraph", "openai"],
        help_heading = "With --openclaw"
    )]
    agent: Option<String>,
    /// The variable that holds the gateway's token, such as OPENCLAW_GATEWAY_TOKEN
    #[arg(
        long,
        value_name = "VARIABLE",
        conflicts_with_all = ["a2a", "exec", "langgraph", "openai"],
        help_heading = "With --openclaw"
    )]
    token_env: Option<String>,
    /// The file that holds the gateway's token
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["a2a", "exec", "langgraph", "openai", "token_env"],
        help_heading = "With --openclaw"
    )]
    token_file: Option<String>,

    /// Lines of JSON for status, artifacts and questions, instead of text
    #[arg(long, conflicts_with_all = ["a2a", "langgraph", "openai", "openclaw"], help_heading = "With --exec")]
    json: bool,
    /// Where the command runs
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["a2a", "langgraph", "openai", "openclaw"],
        help_heading = "With --exec"
    )]
    directory: Option<PathBuf>,
    /// A variable that the command may see, beside PATH; may be given more than once
    #[arg(
        long,
        value_name = "VARIABLE",
        conflicts_with_all = ["a2a", "langgraph", "openai", "openclaw"],
        help_heading = "With --exec"
    )]
    inherit: Vec<String>,
    /// The program and its arguments; no shell reads them
    #[arg(
        last = true,
        conflicts_with_all = ["a2a", "langgraph", "openai", "openclaw"],
        value_name = "COMMAND",
        help_heading = "With --exec"
    )]
    command: Vec<String>,

    /// Where to listen and what to keep.
    #[command(flatten)]
    place: Place,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, variable)) if !name.is_empty() && !variable.is_empty() => {
            Ok((name.to_owned(), variable.to_owned()))
        }
        _ => Err(
            "write the header's name and the variable that holds its value, such as x-key=MY_KEY"
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
        let text = welcome(&shown, &listening);
        if let Err(error) = out(format_args!("{text}")) {
            tracing::warn!(%error, "cannot write to standard output");
        }
    }))
}

impl WrapArgs {
    /// The agent that the flags describe.
    pub(super) fn given(&self) -> Given {
        let mut keys = Vec::new();
        let mut say = |flag, path: &[&str], value| {
            let path = path.iter().map(|&step| step.to_owned()).collect();
            keys.push(GivenKey { flag, path, value });
        };
        let texts = [
            ("--openai", ["openai", "url"], &self.openai),
            ("--model", ["openai", "model"], &self.model),
            ("--key-file", ["openai", "key_file"], &self.key_file),
            ("--system", ["openai", "system"], &self.system),
            (
                "--system-file",
                ["openai", "system_file"],
                &self.system_file,
            ),
            ("--a2a", ["a2a", "url"], &self.a2a),
            ("--langgraph", ["langgraph", "url"], &self.langgraph),
            ("--assistant", ["langgraph", "assistant"], &self.assistant),
            ("--openclaw", ["openclaw", "url"], &self.openclaw),
            ("--agent", ["openclaw", "agent"], &self.agent),
            ("--token-file", ["openclaw", "token_file"], &self.token_file),
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
        if self.langgraph.is_some() && self.assistant.is_none() {
            let path = ["langgraph", "discover"];
            say("--langgraph", &path, GivenValue::True);
        }
        if let Some(name) = &self.key_env {
            let variable = GivenValue::Variable(name.clone());
            say("--key-env", &["openai", "key"], variable);
        }
        if let Some(name) = &self.token_env {
            let variable = GivenValue::Variable(name.clone());
            say("--token-env", &["openclaw", "token"], variable);
        }
        for (name, variable) in &self.header {
            let variable = GivenValue::Variable(variable.clone());
            say("--header", &["identity", "headers", name], variable);
        }
        if self.exec {
            let command = GivenValue::List(self.command.clone());
            say("--exec", &["exec", "command"], command);
        }
        if self.json {
            let json = GivenValue::Text("json".to_owned());
            say("--json", &["exec", "protocol"], json);
        }
        if let Some(directory) = &self.directory {
            let directory = GivenValue::Text(directory.display().to_string());
            say("--directory", &["exec", "directory"], directory);
        }
        if !self.inherit.is_empty() {
            let names = GivenValue::List(self.inherit.clone());
            say("--inherit", &["exec", "inherit"], names);
        }
        Given {
            name: self.name.clone(),
            keys,
        }
    }
}

/// Where the agent is, and how to talk to it at once.
pub(super) fn welcome(config: &Config, listening: &Listening) -> String {
    let (_, tls, base) = curl_and_base(listening);
    let name = &config.default_agent;
    // Of agents that are found, the first stands at the root.
    let (names, at) = match config.discover.is_empty() {
        true => (name.to_string(), format!("{base}/a2a/{name}")),
        false => (format!("{name}-*"), base.clone()),
    };
    let trust = match &listening.to_trust {
        None => String::new(),
        Some(ToTrust::File(file)) => format!(" --ca {}", file.display()),
        Some(ToTrust::Fingerprint(_)) => " --insecure".to_owned(),
    };
    let kept = kept(config);
    format!(
        "  agent     {names}   at {base}
  tasks     {kept}
{tls}
  address   {at}
  card      {at}/.well-known/agent-card.json
  try       switchboard send{trust} -a {at} \"hello there\"
"
    )
}
