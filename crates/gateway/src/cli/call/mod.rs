//! The commands that talk to agents, whoever serves them: `card`, `send`, `task`, `chat`, `config`.
//!
//! They keep to the A2A command line conventions: results on standard output, everything else on standard error;
//! text for people without control characters, or exactly one protocol object with `-o json`; an exit code that
//! tells whether the command did its work, not how the task ended.

pub(crate) mod args;
mod card;
mod chat;
mod config;
mod connect;
mod debug;
mod dotenv;
mod download;
mod failure;
mod follow;
mod login;
mod parts;
mod places;
mod progress;
mod push_config;
mod send;
mod settings;
mod task;
mod text;

use std::process::ExitCode;

use switchboard_types::Dialect;
use switchboard_types::model::{Event, Task};
use switchboard_types::printable;
use switchboard_types::wire;

use super::args::{Command, Output};
use crate::config::Env;
use args::{AgentFlags, AuthCommand, CardCommand, ConfigCommand, PushConfigCommand, TaskCommand};
use connect::Connected;
use failure::Failure;
use settings::Settings;
use text::Page;

/// What a process ends with that was interrupted from the keyboard.
const INTERRUPTED: u8 = 130;

/// How a command ended that did what it could.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Interrupted,
}

/// Runs a client command to its end.
pub(super) fn run(command: &Command, env: &Env) -> ExitCode {
    let Some(mut flags) = flags(command).cloned() else {
        return ExitCode::FAILURE;
    };
    if let Command::Card(CardCommand::Get(args)) = command {
        flags.agent_card = flags.agent_card.or_else(|| args.reference.clone());
    }
    let settings = std::env::current_dir()
        .map_err(Failure::from)
        .and_then(|dir| Settings::find(&flags, env, &dir));
    let json = match &settings {
        Ok(settings) => settings.output == Output::Json,
        Err(_) => flags.output == Some(Output::Json),
    };
    match settings.and_then(|settings| settled(command, settings, env)) {
        Ok(End::Done) => ExitCode::SUCCESS,
        Ok(End::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(failure) => {
            tell(&failure, json);
            ExitCode::from(failure.exit())
        }
    }
}

/// Tells a failure where the caller looks for it.
fn tell(failure: &Failure, json: bool) {
    // If nobody reads there is nobody to tell.
    if json {
        drop(super::out(format_args!("{}\n", failure.envelope())));
    } else {
        drop(super::err(format_args!("{failure}\n")));
    }
}

/// Tells a program that the command line was not understood.
pub(super) fn misused(error: &clap::Error) {
    let text = error.render().to_string();
    let message = text.lines().next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    tell(&Failure::usage(message, "see --help"), true);
}

fn settled(command: &Command, mut settings: Settings, env: &Env) -> Result<End, Failure> {
    if !matches!(command, Command::Auth(_)) {
        settings.take_login(env);
    }
    for warning in &settings.warnings {
        super::err(format_args!("warning: {}\n", printable::line(warning)))?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(dispatch(command, settings, env));
    // A read of standard input that nobody answers cannot be taken back, and must not be waited for.
    runtime.shutdown_background();
    ended
}

async fn dispatch(command: &Command, settings: Settings, env: &Env) -> Result<End, Failure> {
    match command {
        Command::Config(ConfigCommand::Show(_)) => config::show(&settings),
        Command::Card(CardCommand::Get(args)) => Box::pin(card::get(args, settings)).await,
        Command::Send(args) => send::run(args, &Connected::to(settings).await?).await,
        Command::Auth(AuthCommand::Login(_)) => {
            login::login(&Connected::to(settings).await?, env).await
        }
        Command::Chat(args) => chat::run(args, &Connected::to(settings).await?).await,
        Command::Task(command) => {
            let connected = Connected::to(settings).await?;
            match command {
                TaskCommand::Get(args) => task::get(args, &connected).await,
                TaskCommand::List(args) => task::list(args, &connected).await,
                TaskCommand::Cancel(args) => task::cancel(args, &connected).await,
                TaskCommand::Subscribe(args) => task::subscribe(args, &connected).await,
                TaskCommand::Download(args) => download::run(args, &connected).await,
                TaskCommand::PushConfig(command) => push_config::run(command, &connected).await,
            }
        }
        _ => unreachable!("only client commands come here"),
    }
}

/// The flags of a client command; none if it is another one.
pub(super) fn flags(command: &Command) -> Option<&AgentFlags> {
    Some(match command {
        Command::Card(CardCommand::Get(args)) => &args.agent,
        Command::Send(args) => &args.agent,
        Command::Chat(args) => &args.agent,
        Command::Auth(AuthCommand::Login(args)) => &args.agent,
        Command::Config(ConfigCommand::Show(args)) => &args.agent,
        Command::Task(command) => match command {
            TaskCommand::Get(args) => &args.agent,
            TaskCommand::List(args) => &args.agent,
            TaskCommand::Cancel(args) => &args.agent,
            TaskCommand::Subscribe(args) => &args.agent,
            TaskCommand::Download(args) => &args.agent,
            TaskCommand::PushConfig(command) => match command {
                PushConfigCommand::Create(args) => &args.agent,
                PushConfigCommand::Get(args) | PushConfigCommand::Delete(args) => &args.agent,
                PushConfigCommand::List(args) => &args.agent,
            },
        },
        _ => return None,
    })
}

/// Prints one object, encoded by `encode`.
fn print_json(encode: impl FnOnce(&mut Vec<u8>)) -> Result<(), Failure> {
    Ok(super::out(format_args!("{}", json_line(encode)))?)
}

/// One object on a line of its own.
fn json_line(encode: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut json = Vec::new();
    encode(&mut json);
    json.push(b'\n');
    String::from_utf8_lossy(&json).into_owned()
}

/// Prints an event on a line of its own.
fn print_event_json(event: &Event) -> Result<(), Failure> {
    print_json(|out| wire::encode_event(Dialect::V1, event, false, out))
}

/// Prints what was gathered.
fn print_text(page: Page) -> Result<(), Failure> {
    Ok(super::out(format_args!("{}", page.into_text()))?)
}

/// Prints a task, with the command that goes on with it.
fn print_task(connected: &Connected, task: &Task) -> Result<(), Failure> {
    if connected.json() {
        return print_json(|out| wire::encode_task(Dialect::V1, task, out));
    }
    let mut page = connected.page();
    page.task(task);
    connected.resume(&mut page, task);
    print_text(page)
}

#[cfg(test)]
mod tests;
