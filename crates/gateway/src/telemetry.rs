//! Logs: one line per event, on standard error, as text or JSON.
//!
//! Logs tell *that* something happened to *which* task; what callers and agents say never goes in.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{Log, LogFormat};
use crate::printable;

/// Starts logging.
///
/// # Errors
///
/// If logging was started before, or the level cannot be read (which [`check_level`] would have told).
pub fn start(log: &Log) -> anyhow::Result<()> {
    let filter: Targets = log.level.parse()?;
    let terminal = io::stderr().is_terminal();
    let format = log.format.unwrap_or(if terminal {
        LogFormat::Text
    } else {
        LogFormat::Json
    });
    let ansi = terminal && std::env::var_os("NO_COLOR").is_none();
    let coloured = ansi && format == LogFormat::Text;
    let lines = tracing_subscriber::fmt::layer().with_writer(move || LogWriter { coloured });
    let lines = match format {
        LogFormat::Text => lines.with_ansi(ansi).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let all = tracing_subscriber::registry().with(lines.with_filter(filter));
    Ok(all.try_init()?)
}

/// Writes lines to standard error without what drives or deceives a terminal: errors may quote what others said.
struct LogWriter {
    coloured: bool,
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let safe = match self.coloured {
            true => printable::escape_coloured(&text),
            false => printable::escape(&text),
        };
        io::stderr().lock().write_all(safe.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

/// Whether `level` is a level, or directives such as `info,switchboard=debug`.
///
/// # Errors
///
/// What is wrong with it. A single word that is no level is refused: it would be taken as the name of a
/// module and silence everything else.
pub fn check_level(level: &str) -> Result<(), String> {
    let directives = level.split(',').map(str::trim);
    for directive in directives {
        let named = directive.contains('=') || directive.contains("::");
        let known = named || directive.parse::<LevelFilter>().is_ok();
        if !known || directive.chars().all(|c| c.is_ascii_digit()) {
            return Err(format!("`{directive}` is not a log level"));
        }
    }
    match level.parse::<Targets>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("`{level}` cannot be read as log directives")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_directives_are_told_from_typos() {
        for level in [
            "info",
            "WARN",
            "off",
            "info,switchboard=debug",
            "warn,hyper::proto=trace",
            "warn, hyper=trace",
        ] {
            assert_eq!(check_level(level), Ok(()), "{level}");
        }
        for level in ["", "infos", "debgu", "3", "info,", "switchboard=loud"] {
            assert!(check_level(level).is_err(), "{level}");
        }
    }
}
