//! From settings to an agent.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::HeaderValue;
use switchboard_client::{
    Address, Client, Credential, Credentials, Error, Keys, Kind, Preference, Prompt, Recorder,
    Reference, Signatures, Tls,
};
use switchboard_types::model::{Task, TaskState};
use switchboard_types::printable;
use switchboard_types::{ErrorKind, ProtocolVersion};

use tokio::time::Instant;

use super::debug;
use super::failure::{Failure, Local};
use super::settings::Settings;
use super::text::Page;
use crate::cli::args::Output;
use crate::cli::err;

/// An agent, and how its user wants to be talked to.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) settings: Settings,
    patience: Patience,
}

/// How long a user waits.
#[derive(Debug, Clone, Copy)]
struct Patience {
    timeout: Option<Duration>,
    deadline: Option<Instant>,
}

impl Patience {
    /// From now on.
    fn new(timeout: Option<Duration>) -> Self {
        Self {
            timeout,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
        }
    }

    /// Ends when it does.
    async fn ends(self) {
        match self.deadline {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    }

    /// Does something as long as it lasts, and the user does not break it off.
    async fn during<T>(self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
        tokio::select! {
            done = work => done.map_err(|error| failure(&error)),
            () = self.ends() => Err(timed_out(self.timeout.unwrap_or_default())),
            _ = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
        }
    }
}

impl Connected {
    /// Finds the agent. With keys, a card that is signed by others is refused.
    pub(super) async fn to(settings: Settings) -> Result<Self, Failure> {
        Box::pin(Self::through(settings, Signatures::IfPresent)).await
    }

    /// Finds the agent, whoever signed its card.
    pub(super) async fn to_any(settings: Settings) -> Result<Self, Failure> {
        Box::pin(Self::through(settings, Signatures::Reported)).await
    }

    async fn through(settings: Settings, asked: fn(Keys) -> Signatures) -> Result<Self, Failure> {
        let patience = Patience::new(settings.timeout);
        let reference: Reference = settings.agent()?.parse().map_err(|error| failure(&error))?;
        let mut builder = builder(&settings)?;
        if let Some(path) = &settings.card_keys {
            let keys = Keys::from_jwks(&read(path)?).map_err(|error| failure(&error))?;
            builder = builder.signatures(if settings.require_signature {
                Signatures::Required(keys)
            } else {
                asked(keys)
            });
        }
        let client = patience.during(builder.connect(reference)).await?;
        tell_version(&client, &settings)?;
        Ok(Self {
            client,
            settings,
            patience,
        })
    }

    /// The same agent, with all the time there was at first.
    pub(super) fn again(&self) -> Self {
        Self {
            client: self.client.clone(),
            settings: self.settings.clone(),
            patience: Patience::new(self.settings.timeout),
        }
    }

    /// Asks the agent something, as long as there is time and the user does not break it off.
    pub(super) async fn ask<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        self.patience.during(work).await
    }

    /// Ends when there is no time left.
    pub(super) async fn too_late(&self) {
        self.patience.ends().await;
    }

    pub(super) fn json(&self) -> bool {
        self.settings.output == Output::Json
    }

    /// An empty page of text.
    pub(super) fn page(&self) -> Page {
        Page::new(self.settings.verbose)
    }

    /// The command that goes on with a task, if it is not over.
    pub(super) fn resume(&self, page: &mut Page, task: &Task) {
        if let Some(command) = self.resume_command(task) {
            page.field("Resume", command);
        }
    }

    /// The command that goes on with a task.
    pub(super) fn resume_command(&self, task: &Task) -> Option<String> {
        let agent = quoted(&self.settings.shown_agent());
        let id = quoted(task.id.as_str());
        match task.status.state {
            TaskState::InputRequired | TaskState::AuthRequired => Some(format!(
                "switchboard send -a {agent} --task-id {id} \"...\""
            )),
            TaskState::Submitted | TaskState::Working | TaskState::Unknown => {
                Some(format!("switchboard task get -a {agent} --wait {id}"))
            }
            _ => None,
        }
    }
}

/// Tells the person at the terminal what to do.
#[derive(Debug)]
struct AtTheTerminal;

#[async_trait]
impl Prompt for AtTheTerminal {
    async fn device_code(&self, url: &str, code: &str) {
        let (url, code) = (printable::line(url), printable::line(code));
        // If nobody reads, nobody enters it, and the code expires.
        drop(err(format_args!("open {url} and enter the code {code}\n")));
    }
}

/// The failure when time is over.
pub(super) fn timed_out(timeout: Duration) -> Failure {
    Failure::local(
        Local::Timeout,
        format!("no outcome within {} s", timeout.as_secs_f64()),
    )
    .hint("give a longer --timeout, or use --async and poll with `task get --wait`")
}

fn builder(settings: &Settings) -> Result<switchboard_client::Builder, Failure> {
    let preference = Preference {
        bindings: settings.bindings.clone(),
        versions: settings.version.into_iter().collect(),
    };
    // A version that was asked for is spoken, or nothing is; of bindings the best that there is.
    let builder = match settings.version {
        Some(_) => Client::builder().only(preference),
        None => Client::builder().preference(preference),
    };
    let mut builder = builder
        .credentials(credentials(settings))
        .prompt(Arc::new(AtTheTerminal))
        .tls(tls(settings)?);
    if settings.use_given_address {
        builder = builder.address(Address::Given);
    }
    builder = builder.file_bytes(settings.file_bytes);
    builder = builder.timeout(settings.timeout.unwrap_or(Duration::MAX));
    for origin in &settings.credentials_to {
        builder = builder.credentials_to(origin.clone());
    }
    for extension in &settings.extensions {
        builder = builder.extension(extension);
    }
    for (name, value) in &settings.service_parameters {
        let wrong = || {
            let message = format!("--svc-param {name}: not valid in a header");
            Failure::usage(&message, "write NAME:VALUE")
        };
        let name = name.parse().map_err(|_| wrong())?;
        let mut value = HeaderValue::try_from(value.reveal()).map_err(|_| wrong())?;
        // It may be a credential; nobody can tell.
        value.set_sensitive(true);
        builder = builder.header(name, value);
    }
    if settings.debug {
        builder = builder.recorder(Recorder::new(|exchange| debug::tell(&exchange)));
    }
    Ok(builder)
}

fn tls(settings: &Settings) -> Result<Tls, Failure> {
    let mut tls = Tls::new();
    if let Some(path) = &settings.ca {
        tls = tls.trust(read(path)?);
    }
    if let (Some(certificate), Some(key)) = (&settings.client_cert, &settings.client_key) {
        tls = tls.identity(&read(certificate)?, &read(key)?);
    }
    Ok(if settings.insecure {
        tls.insecure()
    } else {
        tls
    })
}

/// An older version is spoken if there is no newer one, and said to be.
fn tell_version(client: &Client, settings: &Settings) -> Result<(), Failure> {
    let spoken = client.interface().version;
    if settings.version.is_none() && spoken != ProtocolVersion::ALL[0] {
        let warning = format!("the agent speaks A2A {}, an older version", spoken.name());
        err(format_args!("warning: {warning}\n"))?;
    }
    Ok(())
}

fn read(path: &std::path::Path) -> Result<Vec<u8>, Failure> {
    let wrong = |error: io::Error| {
        Failure::usage(
            &format!("{}: {error}", path.display()),
            "name a file that can be read",
        )
    };
    std::fs::read(path).map_err(wrong)
}

fn credentials(settings: &Settings) -> Credentials {
    let bearer = settings.bearer.clone().map(Credential::Bearer);
    let key = settings.api_key.clone().map(Credential::ApiKey);
    let basic = settings
        .basic
        .clone()
        .map(|(user, password)| Credential::Basic { user, password });
    let oauth = settings
        .client_id
        .clone()
        .map(|client_id| Credential::OAuth {
            client_id,
            client_secret: settings.client_secret.clone(),
            scopes: settings.scopes.clone(),
        });
    match bearer.or(key).or(basic).or(oauth) {
        Some(credential) => Credentials::any(credential),
        None => Credentials::none(),
    }
}

/// The failure that goes with an error of the client.
pub(super) fn failure(error: &Error) -> Failure {
    let failure = match (error.kind(), error.protocol()) {
        (Kind::Protocol | Kind::ExtensionRequired, Some(told)) => Failure::told(
            name(told.kind()),
            error.to_string(),
            error.code().unwrap_or_default(),
        ),
        (kind, _) => Failure::local(local(kind), error.to_string()),
    };
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn local(kind: Kind) -> Local {
    match kind {
        Kind::Reference => Local::Usage,
        Kind::CardNotFound => Local::CardNotFound,
        Kind::CardInvalid => Local::CardInvalid,
        Kind::Unreachable => Local::Unreachable,
        Kind::CredentialsMissing => Local::CredentialsMissing,
        Kind::Refused => Local::AuthFailed,
        Kind::Timeout => Local::Timeout,
        _ => Local::Internal,
    }
}

/// The name of an error in the protocol; kinds of our own have a prefix of our own.
fn name(kind: ErrorKind) -> String {
    let reason = kind.reason();
    match kind {
        ErrorKind::Parse => "JSONParseError".to_owned(),
        ErrorKind::InvalidRequest
        | ErrorKind::MethodNotFound
        | ErrorKind::InvalidParams
        | ErrorKind::Internal
        | ErrorKind::TaskNotFound
        | ErrorKind::TaskNotCancelable
        | ErrorKind::PushNotificationNotSupported
        | ErrorKind::UnsupportedOperation
        | ErrorKind::ContentTypeNotSupported
        | ErrorKind::InvalidAgentResponse
        | ErrorKind::ExtendedAgentCardNotConfigured
        | ErrorKind::ExtensionSupportRequired
        | ErrorKind::VersionNotSupported => {
            let words = reason.split('_').map(capitalized);
            format!("{}Error", words.collect::<String>())
        }
        _ => format!("SWITCHBOARD_ERR_{reason}"),
    }
}

fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(word.len().min(1));
    format!("{first}{}", rest.to_lowercase())
}

/// As a shell takes it: bare if it is plain, else in quotes.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_the_names_of_the_protocol() {
        for (kind, expected) in [
            (ErrorKind::TaskNotFound, "TaskNotFoundError"),
            (ErrorKind::Parse, "JSONParseError"),
            (
                ErrorKind::ExtendedAgentCardNotConfigured,
                "ExtendedAgentCardNotConfiguredError",
            ),
            (ErrorKind::InputTimeout, "SWITCHBOARD_ERR_INPUT_TIMEOUT"),
        ] {
            assert_eq!(name(kind), expected);
        }
    }

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        assert_eq!(quoted("localhost:7420"), "localhost:7420");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
