//! Being told: what an agent posts to a webhook is checked and becomes an event.
//!
//! A notification counts if it is authentic (the token, the authorization or the signature that was agreed on), if it
//! is about a task that we know, and if it was not told before. No framework: see `axum` for a ready handler.

#[cfg(feature = "webhook")]
mod axum;
#[cfg(feature = "webhook")]
mod flight;
mod seen;
mod signed;

use std::collections::HashSet;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use parking_lot::Mutex;
use switchboard_keys::same;
use switchboard_types::Dialect;
use switchboard_types::model::{Event, Secret, TaskId};
use switchboard_types::wire::decode_event;
use url::Url;

#[cfg(feature = "webhook")]
pub use self::axum::handler;
use self::seen::{Mark, Marks, Seen};
use self::signed::Audience;
use crate::keys::Keys;

const TOKEN: &str = "x-a2a-notification-token";
const EVENT_ID: &str = "x-a2a-event-id";
const SIGNATURE: &str = "x-a2a-signature";

/// Takes what is posted to a webhook.
#[derive(Debug, Default)]
pub struct Receiver {
    token: Option<Secret>,
    authorization: Option<(String, Secret)>,
    keys: Option<Keys>,
    audience: Option<Audience>,
    any_task: bool,
    expected: Mutex<HashSet<TaskId>>,
    seen: Mutex<Seen>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// To which task; a bare message may belong to none.
    pub task_id: Option<TaskId>,
    /// What.
    pub event: Event,
    /// The number of the event, from agents that number them.
    pub id: Option<String>,
}

/// Why a notification does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// It does not prove where it comes from.
    #[error("the notification is not authentic: {0}")]
    NotAuthentic(&'static str),
    /// Nobody waits for it.
    #[error("the notification is about a task that is not expected")]
    NotExpected,
    /// It says nothing that can be understood.
    #[error("the notification cannot be understood: {0}")]
    Unintelligible(String),
}

impl Rejected {
    /// The HTTP status to answer with.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::NotAuthentic(_) => 401,
            Self::NotExpected => 404,
            Self::Unintelligible(_) => 400,
        }
    }
}

impl Receiver {
    /// A receiver that asks for no proof and expects no task yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for the token that was registered with the webhook.
    #[must_use]
    pub fn token(mut self, token: Secret) -> Self {
        self.token = Some(token);
        self
    }

    /// Asks for the authorization that was registered with the webhook.
    #[must_use]
    pub fn authorization(mut self, scheme: impl Into<String>, credentials: Secret) -> Self {
        self.authorization = Some((scheme.into(), credentials));
        self
    }

    /// Asks for a signature made with one of these keys: a JWT in `X-A2A-Signature`, else as bearer. Whoever overhears
    /// a notification can post it again only as long as its signature holds, and it is then known by what was signed.
    #[must_use]
    pub fn keys(mut self, keys: Keys) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Asks for signatures that are meant for us: `url` is the address that was registered, and its origin or the whole
    /// of it must be the audience. Without this, what another receiver was sent can be posted here.
    #[must_use]
    pub fn audience(mut self, url: &Url) -> Self {
        self.audience = Some(Audience {
            origin: url.origin().ascii_serialization(),
            url: url.as_str().to_owned(),
        });
        self
    }

    /// Takes notifications about any task.
    #[must_use]
    pub fn any_task(mut self) -> Self {
        self.any_task = true;
        self
    }

    /// From now on, notifications about `task` count.
    pub fn expects(&self, task: &TaskId) {
        let mut expected = self.expected.lock();
        expected.insert(task.clone());
    }

    /// From now on, they do not.
    pub fn forgets(&self, task: &TaskId) {
        let mut expected = self.expected.lock();
        expected.remove(task);
    }

    /// Takes what was posted. Nothing comes of what was told before; both are to be answered with success.
    ///
    /// # Errors
    ///
    /// If it does not count; answer with [`Rejected::status`].
    pub fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Option<Notification>, Rejected> {
        let new = self.look(headers, body)?;
        Ok(new.and_then(|(notification, marks)| self.remember(&marks).then_some(notification)))
    }

    /// What was posted, unless it was told before. It counts as told once its marks are remembered.
    fn look(
        &self,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Option<(Notification, Marks)>, Rejected> {
        let proof = self.prove(headers, body)?;
        let event = read(body)?;
        let task_id = match &event {
            Event::Task(task) => Some(task.id.clone()),
            Event::Status(update) => Some(update.task_id.clone()),
            Event::Artifact(update) => Some(update.task_id.clone()),
            Event::Message(message) => message.task_id.clone(),
        };
        if !self.is_expected(task_id.as_ref()) {
            return Err(Rejected::NotExpected);
        }
        let named = proof.task.as_deref();
        if named.is_some_and(|named| task_id.as_ref().is_none_or(|id| id.as_str() != named)) {
            return Err(Rejected::NotAuthentic("it was signed for another task"));
        }
        let told = text(headers, EVENT_ID);
        let signed = proof.id.as_deref();
        if proof.numbers_events && told.is_some() && told != signed {
            return Err(Rejected::NotAuthentic("it was signed for another event"));
        }
        let task = task_id.as_ref().map(TaskId::as_str).unwrap_or_default();
        // Only what is signed is sure: another number in the header makes no other event of it.
        let signed_mark = signed.map(|number| Mark::numbered(task, number));
        let marks = Marks {
            plain: Mark::of(task, told.or(signed), &event, body),
            signed: signed_mark.or(proof.token).zip(proof.until),
        };
        let id = told.or(signed.filter(|_| proof.numbers_events));
        let id = id.map(str::to_owned);
        let mut seen = self.seen.lock();
        if seen.knows(&marks) {
            // It may be signed anew, and that must not count later either.
            seen.remember(&marks, signed::now());
            return Ok(None);
        }
        Ok(Some((Notification { task_id, event, id }, marks)))
    }

    /// It was told. Whether nobody else was quicker.
    fn remember(&self, marks: &Marks) -> bool {
        let mut seen = self.seen.lock();
        seen.remember(marks, signed::now())
    }

    fn is_expected(&self, task: Option<&TaskId>) -> bool {
        let expected = self.expected.lock();
        self.any_task || task.is_some_and(|task| expected.contains(task))
    }

    /// Everything that was asked for, not just one of it.
    fn prove(&self, headers: &HeaderMap, body: &[u8]) -> Result<signed::Proof, Rejected> {
        if let Some(token) = &self.token {
            let said = text(headers, TOKEN).unwrap_or_default();
            if !same(said.as_bytes(), token.reveal().as_bytes()) {
                return Err(Rejected::NotAuthentic("the token is missing or wrong"));
            }
        }
        let said = text(headers, AUTHORIZATION.as_str()).unwrap_or_default();
        let (scheme, credentials) = said.split_once(' ').unwrap_or((said, ""));
        if let Some((wanted, secret)) = &self.authorization {
            let right = same(credentials.trim().as_bytes(), secret.reveal().as_bytes());
            if !scheme.eq_ignore_ascii_case(wanted) || !right {
                return Err(Rejected::NotAuthentic(
                    "the authorization is missing or wrong",
                ));
            }
        }
        let Some(keys) = &self.keys else {
            return Ok(signed::Proof::default());
        };
        let bearer = scheme.eq_ignore_ascii_case("bearer").then_some(credentials);
        let Some(signature) = text(headers, SIGNATURE).or(bearer) else {
            return Err(Rejected::NotAuthentic("the signature is missing"));
        };
        signed::prove(keys, self.audience.as_ref(), signature.trim(), body)
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Agents post what their version streams, or the whole task.
fn read(body: &[u8]) -> Result<Event, Rejected> {
    let unintelligible = |why: String| Rejected::Unintelligible(why);
    let text = std::str::from_utf8(body).map_err(|error| unintelligible(error.to_string()))?;
    let mut first = None;
    for dialect in Dialect::ALL {
        match decode_event(dialect, text) {
            // Readers of answers take anything for an empty message.
            Ok(Event::Message(message)) if message.parts.is_empty() => {}
            Ok(event) => return Ok(event),
            Err(error) => {
                first.get_or_insert(error.to_string());
            }
        }
    }
    let why = first.unwrap_or_else(|| "it says nothing".to_owned());
    Err(unintelligible(why))
}
