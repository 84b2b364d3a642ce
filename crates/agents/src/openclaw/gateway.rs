//! A gateway: one socket, kept open and shared by all agents that are behind it.
//!
//! [`Gateway::keep`] owns the socket and opens it again when it is lost. Whoever wants something sends an order along the
//! [`Line`] of the socket that is open now; when that is lost, so are the orders that were not answered, and who gave
//! them learns of it. What runs say is handed to those who [listen](Gateway::listen).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::{Client, ClientBuilder};
use serde_json::Value;
use switchboard_types::backoff::jittered;
use switchboard_types::model::Secret;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use url::Url;

use super::Invalid;
use super::device::Device;
use super::frame::Heard;
use super::keep::{AGAIN, INSISTENCE};
use super::line::Line;
use super::refused::Refused;
use crate::fetch::{self, hidden, in_texts, quoted, trusting};

/// How much of a run may wait to be heard. What does not fit is told again by what follows.
const HEARD: usize = 256;
/// The same, in bytes: each text is all of its piece.
const ROOM: usize = 8 << 20;

/// Where a gateway is, and who we are there.
#[derive(Clone)]
pub struct Place {
    /// Its address: `http`, `https`, `ws` or `wss`.
    pub url: Url,
    /// Its token (`gateway.auth.token`).
    pub token: Secret,
    /// Certificates to trust beside the system's, as PEM.
    pub roots: Option<Vec<u8>>,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("host", &self.url.host_str())
            .finish_non_exhaustive()
    }
}

/// A gateway.
#[derive(Debug)]
pub struct Gateway {
    pub(super) place: Place,
    /// Where it is, as callers may see it.
    pub(super) address: String,
    pub(super) http: Client,
    pub(super) device: Arc<Device>,
    state: watch::Sender<State>,
    pub(super) wake: Notify,
    runs: Mutex<HashMap<String, Listener>>,
    sessions: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// How it stands with the socket.
#[derive(Debug, Clone)]
struct State {
    /// How often it was opened, or not.
    attempts: u64,
    line: Result<Line, Refused>,
    since: Instant,
}

/// Where what a run says goes.
#[derive(Debug)]
struct Listener {
    to: mpsc::Sender<Waiting>,
    /// A permit for each byte that may wait.
    room: Arc<Semaphore>,
}

/// What waits to be heard, and the room that it takes.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) heard: Heard,
    _room: OwnedSemaphorePermit,
}

impl Gateway {
    /// The gateway at this place, where we are that device. Nothing is sent before [`Gateway::keep`].
    ///
    /// # Errors
    ///
    /// If it could never be talked to.
    pub fn new(mut place: Place, device: Arc<Device>) -> Result<Self, Invalid> {
        let scheme = match place.url.scheme() {
            "ws" | "http" => "http",
            "wss" | "https" => "https",
            _ => return Err(Invalid::Url),
        };
        place.url.set_scheme(scheme).map_err(|()| Invalid::Url)?;
        // An upgrade is one of HTTP/1.1.
        let http = trusting(place.roots.as_deref(), ClientBuilder::http1_only);
        let http = http.map_err(Invalid::Client)?;
        let state = State {
            attempts: 0,
            line: Err(Refused::Starting(None)),
            since: Instant::now(),
        };
        Ok(Self {
            address: fetch::place(place.url.as_str()),
            place,
            http,
            device,
            state: watch::Sender::new(state),
            wake: Notify::new(),
            runs: Mutex::default(),
            sessions: Mutex::default(),
        })
    }

    /// A text of the gateway, without what it was shown.
    pub(super) fn hide(&self, text: String) -> String {
        let password = self.place.url.password().unwrap_or_default();
        hidden(text, [self.place.token.reveal(), password])
    }

    /// The same, in short. Half a secret is one, too: it is cut only then.
    pub(super) fn quote(&self, text: String) -> String {
        quoted(&self.hide(text))
    }

    /// The same, for all texts that are in there.
    pub(super) fn hide_in(&self, value: Value) -> Value {
        in_texts(value, &|text| self.hide(text))
    }

    pub(super) fn tell(&self, line: Result<Line, Refused>) {
        self.state.send_modify(|state| {
            *state = State {
                attempts: state.attempts + 1,
                line,
                since: Instant::now(),
            };
        });
    }

    /// The line, if there is one within `patience`; otherwise the last reason why not.
    pub(super) async fn line(&self, patience: Duration) -> Result<Line, Refused> {
        let mut state = self.state.subscribe();
        let (seen, before) = {
            let now = state.borrow();
            match &now.line {
                Ok(line) if !line.is_gone() => return Ok(line.clone()),
                Ok(_) => (now.attempts, Refused::Away("the socket is gone".to_owned())),
                // Not so fast.
                Err(refused) if now.attempts > 0 && now.since.elapsed() < AGAIN => {
                    return Err(refused.clone());
                }
                Err(refused) => (now.attempts, refused.clone()),
            }
        };
        self.wake.notify_one();
        let by = Instant::now() + patience;
        let news = state.wait_for(|now| now.attempts > seen && !is_gone(&now.line));
        match timeout_at(by, news).await {
            Ok(Ok(now)) => now.line.clone(),
            _ => Err(before),
        }
    }

    /// A line, however often it takes until `by`.
    pub(super) async fn line_by(&self, by: Instant) -> Result<Line, Refused> {
        loop {
            let refused = match self
                .line(by.saturating_duration_since(Instant::now()))
                .await
            {
                Ok(line) => return Ok(line),
                Err(refused) => refused,
            };
            let pause = jittered(INSISTENCE);
            if Instant::now() + pause >= by {
                return Err(refused);
            }
            sleep(pause).await;
        }
    }

    /// The line, if there is one within `patience`, for who is in no hurry: it is not looked for sooner.
    pub(super) async fn line_at_leisure(&self, patience: Duration) -> Result<Line, Refused> {
        let mut state = self.state.subscribe();
        let open = state.wait_for(|now| now.line.is_ok() && !is_gone(&now.line));
        match timeout(patience, open).await {
            Ok(Ok(now)) => now.line.clone(),
            _ => match self.state.borrow().line.clone() {
                Ok(_) => Err(Refused::Away("the socket is gone".to_owned())),
                refused => refused,
            },
        }
    }

    /// Listens to a run, until what is given is dropped.
    pub(super) fn listen(self: &Arc<Self>, run: &str) -> (Listening, mpsc::Receiver<Waiting>) {
        let (to, heard) = mpsc::channel(HEARD);
        let room = Arc::new(Semaphore::new(ROOM));
        self.runs
            .lock()
            .insert(run.to_owned(), Listener { to, room });
        let listening = Listening {
            gateway: Arc::clone(self),
            run: run.to_owned(),
        };
        (listening, heard)
    }

    pub(super) fn hear(&self, run: &str, heard: Heard) {
        if let Some(Listener { to, room }) = self.runs.lock().get(run) {
            // If there is no room, the next one tells it all. What is larger than all of it needs all of it.
            let size = u32::try_from(heard.size.min(ROOM)).unwrap_or(u32::MAX);
            if let Ok(room) = Arc::clone(room).try_acquire_many_owned(size) {
                drop(to.try_send(Waiting { heard, _room: room }));
            }
        }
    }

    pub(super) fn is_listened_to(&self) -> bool {
        !self.runs.lock().is_empty()
    }

    /// One run at a time: a second one with files would be taken for a word to the first.
    pub(super) async fn turn_of(&self, session: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = {
            let mut sessions = self.sessions.lock();
            sessions.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(sessions.entry(session.to_owned()).or_default())
        };
        lock.lock_owned().await
    }
}

/// Whether a line was there, and is not any more.
fn is_gone(line: &Result<Line, Refused>) -> bool {
    line.as_ref().is_ok_and(Line::is_gone)
}

/// Somebody listens to a run.
#[derive(Debug)]
pub(super) struct Listening {
    gateway: Arc<Gateway>,
    run: String,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.gateway.runs.lock().remove(&self.run);
        // It may have been the last one.
        self.gateway.wake.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn gateway(url: &str) -> Result<Gateway, Invalid> {
        let place = Place {
            url: url.parse().unwrap(),
            token: Secret::new("s3cr3t"),
            roots: None,
        };
        Gateway::new(place, Arc::new(Device::fresh().unwrap()))
    }

    #[tokio::test]
    async fn what_waits_to_be_heard_is_bounded() {
        let gateway = Arc::new(gateway("ws://h").unwrap());
        let (_listening, mut heard) = gateway.listen("r");
        let say = |size: usize| {
            let (stream, data) = ("assistant".to_owned(), serde_json::Value::Null);
            gateway.hear("r", Heard { stream, data, size });
        };
        for size in [ROOM / 2, ROOM / 2 + 1, 10] {
            say(size);
        }
        let mut waiting = vec![heard.try_recv().unwrap(), heard.try_recv().unwrap()];
        let sizes: Vec<usize> = waiting.iter().map(|one| one.heard.size).collect();
        assert_eq!(sizes, [ROOM / 2, 10]);
        assert!(heard.try_recv().is_err());
        // What is heard makes room, also for what is larger than all of it.
        waiting.clear();
        say(ROOM + 1);
        say(1);
        assert_eq!(heard.try_recv().unwrap().heard.size, ROOM + 1);
        assert!(heard.try_recv().is_err());
    }

    #[test]
    fn what_it_was_shown_is_not_told() {
        let gateway = gateway("wss://me:p4ss@h/").unwrap();
        let told = gateway.hide("s3cr3t or p4ss?".to_owned());
        assert_eq!(told, "*** or ***?");
    }

    #[test]
    fn half_of_what_it_was_shown_is_not_told_either() {
        let gateway = gateway("ws://h").unwrap();
        let told = gateway.quote(format!("{} s3cr3t", "x".repeat(496)));
        assert_eq!(told, format!("{} ***", "x".repeat(496)));
    }

    #[test]
    fn what_it_was_shown_is_taken_out_of_texts_and_of_nothing_else() {
        let place = |token: &str| Place {
            url: "ws://h".parse().unwrap(),
            token: Secret::new(token),
            roots: None,
        };
        let device = Arc::new(Device::fresh().unwrap());
        for (token, said, told) in [
            (
                "true",
                json!({"isError": true, "result": ["is true"]}),
                json!({"isError": true, "result": ["is ***"]}),
            ),
            (
                r#"a"b\c"#,
                json!({"args": {r#"a"b\c"#: r#"-H a"b\c"#, "n": 1}}),
                json!({"args": {"***": "-H ***", "n": 1}}),
            ),
        ] {
            let gateway = Gateway::new(place(token), Arc::clone(&device)).unwrap();
            assert_eq!(gateway.hide_in(said), told);
        }
    }

    #[test]
    fn only_http_and_websockets_are_places() {
        for (url, place) in [
            ("ws://h:1/", "http://h:1/"),
            ("wss://h/x", "https://h/x"),
            ("http://h", "http://h/"),
        ] {
            let gateway = gateway(url).unwrap();
            assert_eq!(gateway.place.url.as_str(), place);
            assert!(!format!("{gateway:?}").contains("s3cr3t"));
        }
        assert_eq!(gateway("ftp://h").err(), Some(Invalid::Url));
    }
}
