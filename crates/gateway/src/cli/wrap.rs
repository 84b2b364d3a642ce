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
    /// The model's name
    #[arg(long, conflicts_with_all = all_but("openai"))]
    model: Option<String>,
    /// The variable that holds the key, such as OPENAI_API_KEY
    #[arg(long, conflicts_with_all = all_but("openai"), value_name = "VARIABLE")]
    key_env: Option<String>,
    /// The file that holds the key
    #[arg(long, conflicts_with_all = all_but("openai"), value_name = "FILE", conflicts_with = "key_env")]
    key_file: Option<String>,
    /// What the model is told before all else
    #[arg(long, conflicts_with_all = all_but("openai"), value_name = "TEXT")]
    system: Option<String>,
    /// A file with what the model is told before all else
    #[arg(long, conflicts_with_all = all_but("openai"), value_name = "FILE", conflicts_with = "system")]
    system_file: Option<String>,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "With --langgraph")]
struct WithLangGraph {
    /// The assistant: its id, the name of its graph, or its own; without it, each of the server is an agent
    #[arg(long, conflicts_with_all = all_but("langgraph"), value_name = "ID")]
    assistant: Option<String>,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "With --openclaw")]
struct WithOpenClaw {
    /// The agent of the gateway; by default `main`
    #[arg(long, conflicts_with_all = all_but("openclaw"), value_name = "ID")]
    agent: Option<String>,
    /// The variable that holds the gateway's token, such as OPENCLAW_GATEWAY_TOKEN
    #[arg(long, conflicts_with_all = all_but("openclaw"), value_name = "VARIABLE")]
    token_env: Option<String>,
    /// The file that holds the gateway's token
    #[arg(long, conflicts_with_all = all_but("openclaw"), value_name = "FILE", conflicts_with = "token_env")]
    token_file: Option<String>,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "With --exec")]
struct WithExec {
    /// Lines of JSON for status, artifacts and questions, instead of text
    #[arg(long, conflicts_with_all = all_but("exec"))]
    json: bool,
    /// Where the command runs
    #[arg(long, conflicts_with_all = all_but("exec"), value_name = "DIR")]
    directory: Option<PathBuf>,
    /// A variable that the command may see, beside PATH; may be given more than once
    #[arg(long, conflicts_with_all = all_but("exec"), value_name = "VARIABLE")]
    inherit: Vec<String>,
    /// The program and its arguments; no shell reads them
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
