//! Where each setting of the client commands comes from: a flag, else the environment, else the nearest file,
//! else the user's file, else the default.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use switchboard_types::ProtocolVersion;
use switchboard_types::model::{Binding, Secret};

use super::args::AgentFlags;
use super::dotenv::Dotenv;
use super::failure::Failure;
use super::login::{self, Found};
use crate::cli::args::Output;
use crate::config::Env;
use crate::config::value::Time;

/// What the names of the variables begin with.
pub(super) const PREFIX: &str = "A2ACLI_";

/// How long to wait for an outcome, and between questions.
const TIMEOUT: &str = "300s";
const POLL_INTERVAL: &str = "2s";

/// Everything the client commands can be told.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) agent_card: Option<String>,
    pub(super) version: Option<ProtocolVersion>,
    pub(super) bindings: Vec<Binding>,
    pub(super) bearer: Option<Secret>,
    pub(super) api_key: Option<Secret>,
    pub(super) basic: Option<(String, Secret)>,
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<Secret>,
    pub(super) scopes: Vec<String>,
    pub(super) service_parameters: Vec<(String, String)>,
    pub(super) extensions: Vec<String>,
    /// None: as long as it takes.
    pub(super) timeout: Option<Duration>,
    pub(super) poll_interval: Duration,
    pub(super) use_given_address: bool,
    pub(super) insecure: bool,
    pub(super) ca: Option<PathBuf>,
    pub(super) client_cert: Option<PathBuf>,
    pub(super) client_key: Option<PathBuf>,
    pub(super) output: Output,
    pub(super) verbose: bool,
    pub(super) debug: bool,
    /// All of it, as `config show` tells it.
    pub(super) rows: Vec<Row>,
    /// What the user should know before anything is done.
    pub(super) warnings: Vec<String>,
}

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
struct Places<'a> {
    env: &'a Env,
    files: Vec<Dotenv>,
    rows: Vec<Row>,
    /// Files that hold a secret that was taken.
    secret_files: Vec<PathBuf>,
}

impl Settings {
    /// Finds every setting.
    pub(super) fn find(flags: &AgentFlags, env: &Env, dir: &Path) -> Result<Self, Failure> {
        let mut places = Places::new(flags.config.as_deref(), env, dir)?;
        let p = &mut places;
        let agent_card = p.text("agent-card", flags.agent_card.as_ref());
        let version = p.text("a2a-version", flags.a2a_version.as_ref());
        let bindings = p.list("transport", &flags.transport);
        let bearer = p.secret("bearer", flags.bearer.as_ref());
        let api_key = p.secret("api-key", flags.api_key.as_ref());
        let basic = p.secret("basic", flags.basic.as_ref());
        let client_id = p.text("client-id", flags.client_id.as_ref());
        let client_secret = p.secret("client-secret", flags.client_secret.as_ref());
        let scopes = p.list("scope", &flags.scope);
        let parameters = p.list("svc-param", &flags.svc_param);
        let extensions = p.list("extension", &flags.extension);
        let timeout = p.time("timeout", flags.timeout.as_ref(), TIMEOUT)?;
        let poll_interval = p.time("poll-interval", flags.poll_interval.as_ref(), POLL_INTERVAL)?;
        let use_given_address = p.switch("use-given-address", flags.use_given_address)?;
        let insecure = p.switch("insecure", flags.insecure)?;
        let ca = p.path("ca", flags.ca.as_ref());
        let client_cert = p.path("client-cert", flags.client_cert.as_ref());
        let client_key = p.path("client-key", flags.client_key.as_ref());
        let output = p.output(flags.output)?;
        let mut warnings = places.exposed_secrets();
        if insecure {
            warnings.push("--insecure: any certificate is taken, anyone can read along".to_owned());
        }
        Ok(Self {
            agent_card,
            version: version.map(|v| parse_version(&v)).transpose()?,
            bindings: bindings
                .iter()
                .map(|b| parse_binding(b))
                .collect::<Result<_, _>>()?,
            bearer: bearer.map(Secret::new),
            api_key: api_key.map(Secret::new),
            basic: basic.map(|b| parse_basic(&b)).transpose()?,
            client_id,
            client_secret: client_secret.map(Secret::new),
            scopes,
            service_parameters: parameters
                .iter()
                .map(|p| parse_pair(p))
                .collect::<Result<_, _>>()?,
            extensions,
            timeout: Some(timeout).filter(|time| !time.is_zero()),
            poll_interval,
            use_given_address,
            insecure,
            ca,
            client_cert,
            client_key,
            output,
            verbose: flags.verbose,
            debug: flags.debug,
            rows: places.rows,
            warnings,
        })
    }

    /// Takes the token of an earlier login, if there is one and no other credential was given.
    pub(super) fn take_login(&mut self, env: &Env) {
        let given = self.bearer.is_some() || self.api_key.is_some() || self.basic.is_some();
        let Some(agent) = self.agent_card.as_deref().filter(|_| !given) else {
            return;
        };
        match login::find(agent, env) {
            Found::Good(token, path) => {
                self.bearer = Some(token);
                for row in self.rows.iter_mut().filter(|row| row.name == "bearer") {
                    row.value = "***".to_owned();
                    row.source = Source::File(path.clone());
                }
            }
            Found::Expired => {
                let hint = "log in again with `switchboard auth login`";
                self.warnings
                    .push(format!("the login at {agent} has expired: {hint}"));
            }
            Found::Nothing => {}
        }
    }

    /// The agent, or how to name one.
    pub(super) fn agent(&self) -> Result<&str, Failure> {
        self.agent_card.as_deref().ok_or_else(|| {
            Failure::usage(
                "no agent was named",
                "give -a HOST, -a CARD_URL or -a FILE, or set A2ACLI_AGENT_CARD",
            )
        })
    }
}

impl<'a> Places<'a> {
    fn new(named: Option<&Path>, env: &'a Env, dir: &Path) -> Result<Self, Failure> {
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

    fn text(&mut self, name: &'static str, flag: Option<&String>) -> Option<String> {
        let found = self.pick(name, flag.cloned());
        let (value, source) = match found {
            Some((value, source)) => (Some(value), source),
            None => (None, Source::Default),
        };
        self.note(name, value.clone().unwrap_or_default(), source);
        value
    }

    fn path(&mut self, name: &'static str, flag: Option<&PathBuf>) -> Option<PathBuf> {
        let flag = flag.map(|path| path.display().to_string());
        self.text(name, flag.as_ref()).map(PathBuf::from)
    }

    fn secret(&mut self, name: &'static str, flag: Option<&String>) -> Option<String> {
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
    fn list(&mut self, name: &'static str, flags: &[String]) -> Vec<String> {
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

    fn time(
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

    fn switch(&mut self, name: &'static str, flag: bool) -> Result<bool, Failure> {
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

    fn output(&mut self, flag: Option<Output>) -> Result<Output, Failure> {
        let flag = flag.map(|output| output.name().to_owned());
        let found = self.pick("output", flag);
        let (value, source) = found.unwrap_or_else(|| ("text".to_owned(), Source::Default));
        let output = <Output as clap::ValueEnum>::from_str(&value, true)
            .map_err(|_| wrong("output", &format!("`{value}` is neither text nor json")))?;
        self.note("output", value, source);
        Ok(output)
    }

    fn exposed_secrets(&self) -> Vec<String> {
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

fn wrong(name: &str, why: &str) -> Failure {
    Failure::usage(&format!("--{name}: {why}"), "see --help")
}

/// A time with a unit, or a number of seconds.
fn parse_time(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => Time::from_str(text).map(|time| time.0),
    }
}

fn parse_version(text: &str) -> Result<ProtocolVersion, Failure> {
    let version = ProtocolVersion::requested(text);
    version.map_err(|error| Failure::usage(error.message(), "give 1.0, 0.3 or 0.2"))
}

fn parse_binding(text: &str) -> Result<Binding, Failure> {
    match text.to_ascii_lowercase().as_str() {
        "jsonrpc" | "json-rpc" => Ok(Binding::JsonRpc),
        "http+json" | "rest" => Ok(Binding::HttpJson),
        "grpc" => Ok(Binding::Grpc),
        _ => Err(wrong(
            "transport",
            &format!("`{text}` is none of jsonrpc, http+json, grpc"),
        )),
    }
}

fn parse_basic(text: &str) -> Result<(String, Secret), Failure> {
    let pair = text.split_once(':');
    let pair = pair.map(|(user, password)| (user.to_owned(), Secret::new(password)));
    // The value is a secret: it is not said back.
    pair.ok_or_else(|| wrong("basic", "write USER:PASSWORD"))
}

fn parse_pair(text: &str) -> Result<(String, String), Failure> {
    let pair = text.split_once(':');
    let pair = pair.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    pair.filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| wrong("svc-param", "write NAME:VALUE"))
}
