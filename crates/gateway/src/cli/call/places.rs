//! The places where a setting is looked for, nearest first.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use super::dotenv::Dotenv;
use super::failure::Failure;
use crate::cli::args::Output;
use crate::config::Env;
use crate::config::value::Time;

/// What the names of the variables begin with.
pub(super) const PREFIX: &str = "A2ACLI_";

/// A setting, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Secrets are hidden.
    pub(super) value: String,
    pub(super) source: Source,
}

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    Flag,
    Environment,
    File(PathBuf),
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Environment => f.write_str("environment"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// The places where variables are looked for.
pub(super) struct Places<'a> {
    env: &'a Env,
    files: Vec<Dotenv>,
    pub(super) rows: Vec<Row>,
    /// Files that hold a secret that was taken.
    secret_files: Vec<PathBuf>,
}

impl<'a> Places<'a> {
    pub(super) fn new(named: Option<&Path>, env: &'a Env, dir: &Path) -> Result<Self, Failure> {
        let usage =
            |message: String| Failure::usage(&message, "see `switchboard config show --help`");
        let mut files = Vec::new();
        match named {
            Some(path) => {
                let missing = || usage(format!("{} is not there", path.display()));
                files.push(Dotenv::read(path).map_err(usage)?.ok_or_else(missing)?);
            }
            None => files.extend(Dotenv::nearest(dir).map_err(usage)?),
        }
        if let Some(path) = user_file(env) {
            files.extend(Dotenv::read(&path).map_err(usage)?);
        }
        Ok(Self {
            env,
            files,
            rows: Vec::new(),
            secret_files: Vec::new(),
        })
    }

    /// The value of a variable, and where it stands.
    fn variable(&self, name: &str) -> Option<(String, Source)> {
        let variable = format!("{PREFIX}{}", name.replace('-', "_").to_uppercase());
        if let Some(value) = self.env.get(&variable) {
            return Some((value.to_owned(), Source::Environment));
        }
        self.files.iter().find_map(|file| {
            let value = file.get(&variable)?;
            Some((value.to_owned(), Source::File(file.path.clone())))
        })
    }

    /// A setting in one word; empty ones count as not there.
    fn pick(&mut self, name: &'static str, flag: Option<String>) -> Option<(String, Source)> {
        let flag = flag.map(|value| (value, Source::Flag));
        flag.or_else(|| self.variable(name))
            .filter(|(value, _)| !value.is_empty())
    }

    fn note(&mut self, name: &'static str, value: impl Into<String>, source: Source) {
        let value = value.into();
        self.rows.push(Row {
            name,
            value,
            source,
        });
    }

    pub(super) fn text(&mut self, name: &'static str, flag: Option<&String>) -> Option<String> {
        let found = self.pick(name, flag.cloned());
        let (value, source) = match found {
            Some((value, source)) => (Some(value), source),
            None => (None, Source::Default),
        };
        self.note(name, value.clone().unwrap_or_default(), source);
        value
    }

    pub(super) fn path(&mut self, name: &'static str, flag: Option<&PathBuf>) -> Option<PathBuf> {
        let flag = flag.map(|path| path.display().to_string());
        self.text(name, flag.as_ref()).map(PathBuf::from)
    }

    pub(super) fn secret(&mut self, name: &'static str, flag: Option<&String>) -> Option<String> {
        let Some((value, source)) = self.pick(name, flag.cloned()) else {
            self.note(name, "", Source::Default);
            return None;
        };
        if let Source::File(path) = &source {
            self.secret_files.push(path.clone());
        }
        self.note(name, "***", source);
        Some(value)
    }

    /// Several values: repeated flags, or a variable with commas.
    pub(super) fn list(&mut self, name: &'static str, flags: &[String]) -> Vec<String> {
        let (values, source) = if flags.is_empty() {
            match self.variable(name) {
                Some((value, source)) => {
                    let values = value.split(',').map(str::trim).filter(|v| !v.is_empty());
                    (values.map(str::to_owned).collect(), source)
                }
                None => (Vec::new(), Source::Default),
            }
        } else {
            (flags.to_vec(), Source::Flag)
        };
        // A header may hold a credential: its name is enough.
        let shown = values
            .iter()
            .map(|value| match (name, value.split_once(':')) {
                ("svc-param", Some((name, _))) => format!("{name}:***"),
                _ => value.clone(),
            });
        let shown: Vec<String> = shown.collect();
        self.note(name, shown.join(","), source);
        values
    }

    pub(super) fn time(
        &mut self,
        name: &'static str,
        flag: Option<&String>,
        default: &str,
    ) -> Result<Duration, Failure> {
        let found = self.pick(name, flag.cloned());
        let (value, source) = found.unwrap_or_else(|| (default.to_owned(), Source::Default));
        let time = parse_time(&value).map_err(|why| wrong(name, &why))?;
        self.note(name, value, source);
        Ok(time)
    }

    pub(super) fn switch(&mut self, name: &'static str, flag: bool) -> Result<bool, Failure> {
        let found = self.pick(name, flag.then(|| "true".to_owned()));
        let (value, source) = found.unwrap_or_else(|| ("false".to_owned(), Source::Default));
        let on = match value.as_str() {
            "true" | "1" | "yes" => true,
            "false" | "0" | "no" => false,
            other => return Err(wrong(name, &format!("`{other}` is neither true nor false"))),
        };
        self.note(name, on.to_string(), source);
        Ok(on)
    }

    pub(super) fn output(&mut self, flag: Option<Output>) -> Result<Output, Failure> {
        let flag = flag.map(|output| output.name().to_owned());
        let found = self.pick("output", flag);
        let (value, source) = found.unwrap_or_else(|| ("text".to_owned(), Source::Default));
        let output = <Output as clap::ValueEnum>::from_str(&value, true)
            .map_err(|_| wrong("output", &format!("`{value}` is neither text nor json")))?;
        self.note("output", value, source);
        Ok(output)
    }

    pub(super) fn exposed_secrets(&self) -> Vec<String> {
        let exposed = self.files.iter().filter(|file| file.exposed);
        let holding = exposed.filter(|file| self.secret_files.contains(&file.path));
        holding
            .map(|file| {
                let path = file.path.display();
                format!("{path} holds a secret that others can read: chmod 600 {path}")
            })
            .collect()
    }
}

/// The user's own file.
pub(super) fn user_file(env: &Env) -> Option<PathBuf> {
    let base = env.get("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty());
    let base = base.map(PathBuf::from);
    let base = base.or_else(|| Some(Path::new(env.get("HOME")?).join(".config")))?;
    Some(base.join("a2a-cli/.env"))
}

pub(super) fn wrong(name: &str, why: &str) -> Failure {
    Failure::usage(&format!("--{name}: {why}"), "see --help")
}

/// A time with a unit, or a number of seconds.
fn parse_time(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => Time::from_str(text).map(|time| time.0),
    }
}
