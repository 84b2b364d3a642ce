//! The commands: flags are read, a configuration is loaded, and the work is left to [`crate::app`].
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 failed,
//! 2 wrong usage or a wrong configuration, 3 an agent cannot be reached.

mod args;
mod audit;
mod backup;
mod banner;
mod call;
mod check;
mod conformance;
mod deliveries;
mod key;
mod route;
mod serve;
mod store;
mod tasks;
mod trace;
mod up;
mod wrap;

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use switchboard_types::printable;

pub use args::{Cli, Command};

use crate::config::{Env, Problems, schema};
use crate::telemetry;

/// Reads the command line, does what it says, and tells how it went.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misused(&error),
    };
    if call::flags(&cli.command).is_some() {
        return call::run(&cli.command, &Env::of_process());
    }
    let done = dispatch(cli);
    telemetry::flush();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If nobody reads there is nobody to tell.
            drop(err(format_args!("{failure}\n")));
            ExitCode::from(failure.code())
        }
    }
}

/// The command line was not understood, or asked for help.
fn misused(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // If the terminal is gone there is nobody to tell.
        drop(error.print());
        return ExitCode::SUCCESS;
    }
    let args: Vec<_> = std::env::args().skip(1).collect();
    let json = args.iter().any(|arg| arg == "-ojson" || arg == "--output=json")
        || args.windows(2).any(|pair| matches!(pair, [flag, value] if (flag == "-o" || flag == "--output") && value == "json"));
    if json {
        call::misused(error);
    } else {
        drop(error.print());
    }
    ExitCode::from(2)
}

fn dispatch(cli: Cli) -> Result<(), Failure> {
    let env = Env::of_process();
    match cli.command {
        Command::Up(args) => up::run(&args, &cli.global, &env),
        Command::Serve(args) => serve::run(&args, &cli.global, &env),
        Command::Wrap(args) => wrap::run(&args, &cli.global, &env),
        Command::Check(args) => check::run(&args, &cli.global, &env),
        Command::Route(args) => route::run(&args, &cli.global, &env),
        Command::Deliveries(args) => deliveries::run(&args, &cli.global, &env),
        Command::Key(command) => key::run(command, &cli.global, &env),
        Command::Audit(args) => audit::run(args, &cli.global, &env),
        Command::Store(command) => store::run(&command, &cli.global, &env),
        Command::Backup(args) => backup::create(args, &cli.global, &env),
        Command::Restore(args) => backup::restore(args, &cli.global, &env),
        Command::Tasks(args) => tasks::run(&args, &cli.global, &env),
        Command::Trace(args) => trace::run(&args, &cli.global, &env),
        Command::Conformance(args) => conformance::run(&args),
        Command::Schema => {
            let text = schema::text().map_err(Failure::failed)?;
            Ok(out(format_args!("{text}"))?)
        }
        Command::Completion { shell } => completion(shell),
        Command::Card(_)
        | Command::Send(_)
        | Command::Task(_)
        | Command::Chat(_)
        | Command::Auth(_)
        | Command::Config(_) => unreachable!("they are run by `call`"),
    }
}

fn completion(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "switchboard", &mut script);
    Ok(out(format_args!("{}", String::from_utf8_lossy(&script)))?)
}

/// Writes a result to standard output, text or JSON, without what would drive the terminal. A reader that has gone away (`| head`) is no error.
pub(crate) fn out(text: fmt::Arguments<'_>) -> io::Result<()> {
    heard(text).map(drop)
}

/// Writes to standard error what is no result.
pub(crate) fn err(text: fmt::Arguments<'_>) -> io::Result<()> {
    let text = text.to_string();
    io::stderr()
        .lock()
        .write_all(printable::escape(&text).as_bytes())
}

/// Writes to standard output, and tells whether someone reads it.
fn heard(text: fmt::Arguments<'_>) -> io::Result<bool> {
    let text = text.to_string();
    let text = printable::escape(&text);
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
    }
}

/// Runs a future to its end on a runtime of its own.
fn block_on<F>(future: F) -> Result<(), Failure>
where
    F: Future<Output = anyhow::Result<()>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::failed)?;
    runtime.block_on(future).map_err(Failure::Failed)
}

/// Why a command did not do what it should.
#[derive(Debug)]
enum Failure {
    /// The configuration is wrong.
    Config(Problems),
    /// The command line asks for something impossible; with a hint.
    Usage(String, String),
    /// An agent does not answer or has no card; with a hint.
    Unreachable(String, String),
    /// Something broke.
    Failed(anyhow::Error),
}

impl Failure {
    fn failed(error: impl Into<anyhow::Error>) -> Self {
        Self::Failed(error.into())
    }

    fn code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Usage(..) => 2,
            Self::Unreachable(..) => 3,
            Self::Failed(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(problems) => f.write_str(&problems.report()),
            Self::Usage(message, hint) | Self::Unreachable(message, hint) => {
                write!(f, "error: {message}\n  hint: {hint}")
            }
            // The chain on one line: what failed, then why.
            Self::Failed(error) => write!(f, "error: {error:#}"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::failed(error)
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self::Config(problems)
    }
}

#[cfg(test)]
mod tests;
