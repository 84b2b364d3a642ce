//! The admin API: a listener of its own for operators, apart from that of callers, on the loopback address unless the
//! configuration names another one.
//!
//! - `door`: authentication.
//! - [`mod@metrics`]: `/metrics`; [`traces`], `health`, `rules`: below `/admin`.
//! - [`upstreams`]: whether the upstreams of agents answer, for metrics and health.
//!
//! A new endpoint is a file here and a line in [`Admin::answer`].

mod door;
mod health;
mod metrics;
mod rules;
mod traces;
mod upstreams;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use switchboard_server::http::{BIND_TIMEOUT, bind};
use switchboard_server::log::Log;
use switchboard_server::shutdown::Tasks;
use switchboard_server::table::Table;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use self::door::Door;
use self::upstreams::Upstreams;
use crate::app;
use crate::config::Config;
use crate::listener;
use crate::otlp::Exporter;
use crate::reload::Reloads;
use crate::route::rules::Stored;

/// How long a start waits for the default port. It may be that of another server, which keeps it: then there is no admin
/// API, and the start is not to be late for it.
const DEFAULT_PORT_TIMEOUT: Duration = Duration::from_millis(100);
/// How many may look at once.
const CONNECTIONS: usize = 64;
/// How long one may take to ask.
const PATIENCE: Duration = Duration::from_secs(30);

/// An answer.
type Answer = Response<Full<Bytes>>;

/// The admin API.
#[derive(Debug)]
pub(crate) struct Admin {
    door: Door,
    shows: Shows,
    upstreams: Upstreams,
    /// The data directory, if there is one.
    data: Option<PathBuf>,
}

/// What is shown.
#[derive(Debug)]
pub(crate) struct Shows {
    /// The tasks.
    pub(crate) log: Log,
    /// The agents.
    pub(crate) table: Arc<Table>,
    /// What became of configurations.
    pub(crate) reloads: Arc<Reloads>,
    /// Rules that operators store.
    pub(crate) stored: Arc<Stored>,
    /// Where spans go.
    pub(crate) exporter: Option<Arc<Exporter>>,
}

/// Listens where operators look. `None` if they do not, or if a port that nobody has asked for is taken.
///
/// # Errors
///
/// If an address that was asked for is taken.
pub(crate) async fn listen(config: &Config) -> anyhow::Result<Option<TcpListener>> {
    let Some(admin) = &config.admin else {
        return Ok(None);
    };
    let timeout = if admin.chosen {
        BIND_TIMEOUT
    } else {
        DEFAULT_PORT_TIMEOUT
    };
    match bind(admin.listen, timeout).await {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if !admin.chosen => {
            let address = admin.listen;
            tracing::warn!(addr = %address, %error, "admin API disabled, its default port is in use: set admin.listen to another address, or to off");
            Ok(None)
        }
        Err(error) => Err(listener::unusable(admin.listen, &error, "admin.listen")),
    }
}

impl Admin {
    /// What is shown to operators of this configuration.
    ///
    /// # Errors
    ///
    /// If the token cannot be read or made.
    pub(crate) fn new(
        config: &Config,
        listener: &TcpListener,
        shows: Shows,
        tasks: &Tasks,
    ) -> anyhow::Result<Self> {
        let address = listener.local_addr()?;
        let door = Door::new(config, address)?;
        tracing::info!(addr = %address, "admin listening");
        let upstreams = Upstreams::new(Arc::clone(&shows.table), tasks.clone());
        let data = app::dir_on_disk(config).ok().map(Path::to_owned);
        Ok(Self {
            door,
            shows,
            upstreams,
            data,
        })
    }

    /// Answers until shutdown.
    pub(crate) async fn serve(self, listener: TcpListener, tasks: Tasks) {
        let (admin, room) = (Arc::new(self), Arc::new(Semaphore::new(CONNECTIONS)));
        let stopping = tasks.stopping().clone();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stopping.cancelled() => return,
            };
            let Ok((socket, _)) = accepted else {
                // Out of sockets, perhaps: give others time to close theirs.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
                continue;
            };
            let (admin, stop) = (Arc::clone(&admin), stopping.clone());
            tasks.spawn(async move {
                let _place = place;
                tokio::select! { () = admin.converse(socket) => {}, () = stop.cancelled() => {} }
            });
        }
    }

    async fn converse(self: Arc<Self>, socket: TcpStream) {
        let service = service_fn(|request: Request<Incoming>| async {
            let (head, body) = request.into_parts();
            Ok::<_, Infallible>(self.respond(&head, body).await)
        });
        let mut server = http1::Builder::new();
        server
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE);
        // A connection that breaks is its caller's business.
        drop(server.serve_connection(TokioIo::new(socket), service).await);
    }

    async fn respond(&self, head: &http::request::Parts, body: Incoming) -> Answer {
        let mut answer = match self.door.check(head) {
            Ok(()) => self.answer(head, body).await,
            Err(refused) => *refused,
        };
        let headers = answer.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer
    }

    async fn answer(&self, head: &http::request::Parts, body: Incoming) -> Answer {
        let path: Vec<&str> = head.uri.path().split('/').skip(1).collect();
        if let ["admin", "rules", ref below @ ..] = path[..] {
            return rules::answer(&self.shows, &head.method, below, body).await;
        }
        if head.method != Method::GET && head.method != Method::HEAD {
            let mut answer = wrong(
                StatusCode::METHOD_NOT_ALLOWED,
                "this path supports GET and HEAD",
            );
            answer
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return answer;
        }
        match path[..] {
            ["metrics"] => metrics::answer(self).await,
            ["admin", "health"] => health::answer(&self.shows).await,
            ["admin", "traces", task] => {
                traces::answer(self.shows.log.store().as_ref(), task, head).await
            }
            _ => wrong(
                StatusCode::NOT_FOUND,
                "no such path: there are /metrics, /admin/health, /admin/rules and /admin/traces/TASK",
            ),
        }
    }
}

/// An answer in JSON.
fn in_json(status: StatusCode, body: &Value) -> Answer {
    let mut answer = Response::new(Full::from(body.to_string()));
    *answer.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}

/// Says what is wrong.
fn wrong(status: StatusCode, why: &str) -> Answer {
    in_json(status, &json!({ "error": why }))
}

/// Asks for the token.
fn unknown(why: &str) -> Answer {
    let mut answer = wrong(StatusCode::UNAUTHORIZED, why);
    let bearer = HeaderValue::from_static("Bearer realm=\"switchboard admin\"");
    answer.headers_mut().insert(WWW_AUTHENTICATE, bearer);
    answer
}
