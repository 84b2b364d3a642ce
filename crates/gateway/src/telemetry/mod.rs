//! Logs: one line per event, on standard error, as text or JSON.
//!
//! Logs say *that* something happened to *which* task; what callers and agents say does not go in, unless a directive
//! names the target for it.

mod json;
mod writer;

use std::io::{self, IsTerminal};

use switchboard_client::CONTENT_LOG;
use switchboard_server::access_log::ACCESS_LOG;
use tracing::Level;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{Log, LogFormat};
use json::FlatJson;
use writer::LogWriter;
pub(crate) use writer::flush;

/// Starts logging.
///
/// # Errors
///
/// If logging was started before, or the level cannot be read (which [`check_level`] would have told).
pub fn start(log: &Log) -> anyhow::Result<()> {
    let filter = filter(log)?;
    writer::start()?;
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
        LogFormat::Json => lines
            .fmt_fields(JsonFields::new())
            .event_format(FlatJson)
            .boxed(),
    };
    let all = tracing_subscriber::registry().with(lines.with_filter(filter));
    Ok(all.try_init()?)
}

/// Which lines are written. Two kinds depend on more than their level: the access log on its switch, or on `debug`; the
/// content of upstream calls only on a directive that names it, since `debug` is used in production, too.
fn filter(log: &Log) -> anyhow::Result<Targets> {
    let mut filter: Targets = log.level.parse()?;
    let names = |filter: &Targets, target: &str| filter.iter().any(|(named, _)| named == target);
    if !names(&filter, ACCESS_LOG) {
        if log.access {
            filter = filter.with_target(ACCESS_LOG, LevelFilter::INFO);
        } else if !filter.would_enable(ACCESS_LOG, &Level::DEBUG) {
            filter = filter.with_target(ACCESS_LOG, LevelFilter::OFF);
        }
    }
    if !names(&filter, CONTENT_LOG) {
        filter = filter.with_target(CONTENT_LOG, LevelFilter::OFF);
    }
    Ok(filter)
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
    fn the_access_log_has_a_switch_and_content_is_asked_for_by_name() {
        let writes = |level: &str, access: bool, target: &str| {
            let log = Log {
                level: level.to_owned(),
                format: None,
                access,
            };
            filter(&log).unwrap().would_enable(target, &Level::INFO)
        };
        for (level, access, written) in [
            ("info", false, false),
            ("info", true, true),
            ("off", true, true),
            ("debug", false, true),
            ("info,switchboard=debug", false, true),
            ("info,switchboard::access=info", false, true),
            ("debug,switchboard::access=off", true, false),
        ] {
            assert_eq!(
                writes(level, access, ACCESS_LOG),
                written,
                "{level} {access}"
            );
        }
        assert!(!writes("trace", true, CONTENT_LOG));
        assert!(writes("info,switchboard::content=debug", true, CONTENT_LOG));
        assert!(writes("info", false, "switchboard_server::engine"));
    }

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
