//! Where each setting of the client commands comes from: a flag, else the environment, else the nearest file,
//! else the user's file, else the default.

use std::path::{Path, PathBuf};
use std::time::Duration;

use switchboard_client::Origin;
use switchboard_types::model::{Binding, Secret};
use switchboard_types::{FileBytes, ProtocolVersion};

use super::args::AgentFlags;
use super::connect::failure;
use super::failure::Failure;
use super::login::{self, Found};
use super::places::{Places, Row, Source, wrong};
use crate::cli::args::Output;
use crate::config::Env;

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
    /// Who may receive them, beside the agent that was named.
    pub(super) credentials_to: Vec<Origin>,
    /// The values may be credentials; nobody can tell.
    pub(super) service_parameters: Vec<(String, Secret)>,
    pub(super) extensions: Vec<String>,
    /// None: as long as it takes.
    pub(super) timeout: Option<Duration>,
    pub(super) poll_interval: Duration,
    pub(super) use_given_address: bool,
    pub(super) file_bytes: FileBytes,
    pub(super) insecure: bool,
    pub(super) ca: Option<PathBuf>,
    pub(super) client_cert: Option<PathBuf>,
    pub(super) client_key: Option<PathBuf>,
    pub(super) card_keys: Option<PathBuf>,
    pub(super) require_signature: bool,
    pub(super) output: Output,
    pub(super) verbose: bool,
    pub(super) debug: bool,
    /// All of it, as `config show` tells it.
    pub(super) rows: Vec<Row>,
    /// What the user should know before anything is done.
    pub(super) warnings: Vec<String>,
}

impl Settings {
    /// Finds every setting.
    pub(super) fn find(flags: &AgentFlags, env: &Env, dir: &Path) -> Result<Self, Failure> {
        let mut places = Places::new(flags.config.as_deref(), env, dir)?;
        let p = &mut places;
        let agent_card = p.text("agent-card", flags.agent_card.as_ref());
        for row in &mut p.rows {
            row.value = shown(&row.value);
        }
        let version = p.text("a2a-version", flags.a2a_version.as_ref());
        let bindings = p.list("transport", &flags.transport);
        let bearer = p.secret("bearer", flags.bearer.as_ref());
        let api_key = p.secret("api-key", flags.api_key.as_ref());
        let basic = p.secret("basic", flags.basic.as_ref());
        let client_id = p.text("client-id", flags.client_id.as_ref());
        let client_secret = p.secret("client-secret", flags.client_secret.as_ref());
        let scopes = p.list("scope", &flags.scope);
        let credentials_to = p.list("credentials-to", &flags.credentials_to);
        let parameters = p.list("svc-param", &flags.svc_param);
        let extensions = p.list("extension", &flags.extension);
        let timeout = p.time("timeout", flags.timeout.as_ref(), TIMEOUT)?;
        let poll_interval = p.time("poll-interval", flags.poll_interval.as_ref(), POLL_INTERVAL)?;
        let use_given_address = p.switch("use-given-address", flags.use_given_address)?;
        let file_bytes = p.text("file-bytes", flags.file_bytes.as_ref());
        let insecure = p.switch("insecure", flags.insecure)?;
        let ca = p.path("ca", flags.ca.as_ref());
        let client_cert = p.path("client-cert", flags.client_cert.as_ref());
        let client_key = p.path("client-key", flags.client_key.as_ref());
        let card_keys = p.path("card-keys", flags.card_keys.as_ref());
        let require_signature = p.switch("require-signature", flags.require_signature)?;
        if require_signature && card_keys.is_none() {
            let message = "--require-signature: no keys to verify with";
            return Err(Failure::usage(message, "give --card-keys FILE"));
        }
        let output = p.output(flags.output)?;
        let mut warnings = places.exposed_secrets();
        if insecure {
            warnings.push(
                "--insecure: certificates are not verified; traffic can be intercepted".to_owned(),
            );
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
            credentials_to: credentials_to
                .iter()
                .map(|text| text.parse().map_err(|error| failure(&error)))
                .collect::<Result<_, _>>()?,
            service_parameters: parameters
                .iter()
                .map(|p| parse_pair(p))
                .collect::<Result<_, _>>()?,
            extensions,
            timeout: Some(timeout).filter(|time| !time.is_zero()),
            poll_interval,
            use_given_address,
            file_bytes: file_bytes.map_or(Ok(FileBytes::default()), |f| parse_file_bytes(&f))?,
            insecure,
            ca,
            client_cert,
            client_key,
            card_keys,
            require_signature,
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

    /// The agent, as it may be shown.
    pub(super) fn shown_agent(&self) -> String {
        shown(self.agent_card.as_deref().unwrap_or_default())
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

/// A reference without the password that may stand in it.
fn shown(reference: &str) -> String {
    let Some((scheme, rest)) = reference.split_once("://") else {
        return reference.to_owned();
    };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://***{}", &rest[at..]),
        None => reference.to_owned(),
    }
}

fn parse_version(text: &str) -> Result<ProtocolVersion, Failure> {
    let version = ProtocolVersion::requested(text);
    version.map_err(|_| {
        let message = format!("--a2a-version: A2A {text:?} is not supported");
        Failure::usage(&message, "give 1.0, or 0.3, which is used for 0.2 as well")
    })
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

fn parse_file_bytes(text: &str) -> Result<FileBytes, Failure> {
    match text.to_ascii_lowercase().as_str() {
        "base64" => Ok(FileBytes::Base64),
        "raw" => Ok(FileBytes::Raw),
        _ => Err(wrong(
            "file-bytes",
            &format!("`{text}` is neither base64 nor raw"),
        )),
    }
}

fn parse_basic(text: &str) -> Result<(String, Secret), Failure> {
    let pair = text.split_once(':');
    let pair = pair.map(|(user, password)| (user.to_owned(), Secret::new(password)));
    // The value is a secret: it is not said back.
    pair.ok_or_else(|| wrong("basic", "write USER:PASSWORD"))
}

fn parse_pair(text: &str) -> Result<(String, Secret), Failure> {
    // The tool of the A2A project writes NAME=VALUE; no name has either character.
    let pair = text.split_once([':', '=']);
    let pair = pair.map(|(name, value)| (name.trim().to_owned(), Secret::new(value.trim())));
    pair.filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| wrong("svc-param", "write NAME:VALUE"))
}
