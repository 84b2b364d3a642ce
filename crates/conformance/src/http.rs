//! Sends what no well-behaved client would, keeps what came back, and tells nobody the credentials.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use reqwest::{Client, ClientBuilder, Response, redirect};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::Error;
use super::access::Access;
use super::exchange::{self, Exchange};
use super::rpc::{self, Rpc};

/// The most of an answer that is read.
pub(crate) const LARGEST: usize = 16 * 1024 * 1024;

/// How many redirects are followed.
const MAX_REDIRECTS: usize = 5;

/// A request.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) verb: &'static str,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Without credentials.
    pub(crate) anonymous: bool,
    /// With header names In-Title-Case.
    pub(crate) titled: bool,
    /// If it is one of gRPC; then the body is a message in its frame.
    pub(crate) rpc: Option<Rpc>,
}

/// An answer whose body is still to be read.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) status: StatusCode,
    /// With the trailers, once they came.
    pub(crate) headers: HeaderMap,
    pub(crate) exchange: Exchange,
    pub(crate) rpc: Option<Rpc>,
    body: reqwest::Body,
    /// The name of the header that holds the key.
    secret: String,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) exchange: Arc<Exchange>,
    /// 0 if there was no answer.
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Why there was no answer, or not all of it.
    pub(crate) broken: Option<String>,
}

/// Sends requests.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    plain: Client,
    titled: Client,
    /// HTTP/2 without asking first.
    h2: Client,
    pub(crate) access: Access,
    timeout: Duration,
    log: Log,
}

/// All exchanges since somebody asked for them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Arc<Exchange>>>>);

impl Log {
    /// Keeps an exchange that is over.
    pub(crate) fn keep(&self, exchange: Exchange) -> Arc<Exchange> {
        let exchange = Arc::new(exchange);
        let mut all = self.0.lock();
        all.push(Arc::clone(&exchange));
        exchange
    }

    fn take(&self) -> Vec<Arc<Exchange>> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Caller {
    pub(crate) fn new(access: Access, timeout: Duration) -> Result<Self, Error> {
        let client = || {
            Client::builder()
                // A connection that the agent closes at the wrong moment would look like its fault.
                .pool_max_idle_per_host(0)
                .redirect(redirect::Policy::custom(within_origin))
                .connect_timeout(timeout)
        };
        let build = |builder: ClientBuilder| {
            let built = builder.build();
            built.map_err(Error::start("cannot make an HTTP client"))
        };
        Ok(Self {
            plain: build(client())?,
            titled: build(client().http1_title_case_headers())?,
            h2: build(client().http2_prior_knowledge())?,
            access,
            timeout,
            log: Log::default(),
        })
    }

    /// All exchanges since this was asked for.
    pub(crate) fn exchanges(&self) -> Vec<Arc<Exchange>> {
        self.log.take()
    }

    /// Where exchanges are kept.
    pub(crate) fn log(&self) -> Log {
        self.log.clone()
    }

    /// Sends a request, and waits for the head of the answer.
    pub(crate) async fn begin(&self, out: Outgoing) -> Result<Begun, Box<Whole>> {
        let Outgoing {
            mut headers,
            mut url,
            ..
        } = out;
        for (name, value) in &self.access.params {
            headers.insert(name.clone(), value.clone());
        }
        let allowed = if out.anonymous {
            Ok(())
        } else {
            self.access.apply(&mut headers, &mut url)
        };
        let trusted = self.access.require(&url);
        let secret = Some(self.access.secret());
        let exchange = Exchange {
            line: format!("{} {}", out.verb, exchange::address(&url, secret)),
            headers: exchange::shown(&headers, secret),
            body: match &out.rpc {
                Some(rpc) => exchange::body(rpc.shown(&out.body).as_bytes()),
                None => exchange::body(&out.body),
            },
            status: String::new(),
            answer_headers: Vec::new(),
            answer: String::new(),
        };
        let verb = reqwest::Method::from_bytes(out.verb.as_bytes());
        let (Ok(()), Ok(verb)) = (allowed, verb) else {
            return Err(broken(
                &self.log,
                exchange,
                "the credentials cannot be sent in a header",
            ));
        };
        if let Err(why) = trusted {
            return Err(broken(&self.log, exchange, &why));
        }
        // Over TLS it is agreed on.
        let client = match &out.rpc {
            Some(_) if url.scheme() == "http" => &self.h2,
            _ if out.titled => &self.titled,
            _ => &self.plain,
        };
        let request = client.request(verb, url).headers(headers).body(out.body);
        match tokio::time::timeout(self.timeout, request.send()).await {
            Ok(Ok(response)) => Ok(begun(response, exchange, self.access.secret(), out.rpc)),
            Ok(Err(error)) => Err(broken(&self.log, exchange, &chain(&error.without_url()))),
            Err(_) => Err(broken(
                &self.log,
                exchange,
                &format!("no answer within {:?}", self.timeout),
            )),
        }
    }

    /// What was not even sent, since it cannot be said.
    pub(crate) fn unsent(&self, line: String, params: &serde_json::Value, why: &str) -> Box<Whole> {
        let exchange = Exchange {
            line,
            headers: Vec::new(),
            body: exchange::body(params.to_string().as_bytes()),
            status: String::new(),
            answer_headers: Vec::new(),
            answer: String::new(),
        };
        broken(&self.log, exchange, why)
    }

    /// Sends a request and reads all of the answer.
    pub(crate) async fn whole(&self, out: Outgoing) -> Whole {
        match self.begin(out).await {
            Ok(begun) => self.finish(begun).await,
            Err(broken) => *broken,
        }
    }

    /// Reads the rest of an answer.
    pub(crate) async fn finish(&self, mut begun: Begun) -> Whole {
        let deadline = Instant::now() + self.timeout;
        let mut body = Vec::new();
        let mut broken = None;
        loop {
            match timeout_at(deadline, begun.chunk()).await {
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => broken = Some(chain(&error.without_url())),
                Err(_) => {
                    broken = Some(format!("the answer did not end within {:?}", self.timeout))
                }
            }
            if body.len() > LARGEST {
                broken = Some("the answer is larger than 16 MiB".to_owned());
            }
            if broken.is_some() {
                break;
            }
        }
        let messages = begun.rpc.as_ref().map(|rpc| rpc.frames().push(&body));
        begun.over(&self.log, messages, &body, broken)
    }
}

impl Begun {
    /// The next bytes of the body. Trailers are kept with the headers.
    pub(crate) async fn chunk(&mut self) -> reqwest::Result<Option<Bytes>> {
        while let Some(frame) = self.body.frame().await {
            match frame?.into_data() {
                Ok(data) => return Ok(Some(data)),
                Err(other) => {
                    let trailers = other.into_trailers().unwrap_or_default();
                    let shown = exchange::shown(&trailers, Some(&self.secret));
                    self.exchange.answer_headers.extend(shown);
                    self.headers.extend(trailers);
                }
            }
        }
        Ok(None)
    }

    /// The whole answer. Over gRPC it is told from `messages`, as HTTP+JSON would tell it.
    pub(crate) fn over(
        mut self,
        log: &Log,
        messages: Option<Vec<String>>,
        body: &[u8],
        mut broken: Option<String>,
    ) -> Whole {
        let mut status = self.status.as_u16();
        let mut body = Bytes::copy_from_slice(body);
        if let (Some(messages), 200, None) = (messages, status, &broken) {
            body = messages.join("\n").into();
            if let Some((meant, error)) = rpc::refusal(&self.headers) {
                status = meant;
                body = error.to_string().into();
            } else if !rpc::has_status(&self.headers) {
                broken = Some("the answer has no grpc-status".to_owned());
            } else if messages.len() != 1 {
                broken = Some(format!("{} messages came instead of one", messages.len()));
            }
        }
        self.exchange.answer = exchange::body(&body);
        Whole {
            exchange: log.keep(self.exchange),
            status,
            headers: self.headers,
            body,
            broken,
        }
    }
}

fn begun(response: Response, mut exchange: Exchange, secret: &str, rpc: Option<Rpc>) -> Begun {
    exchange.status = format!("HTTP {}", response.status());
    exchange.answer_headers = exchange::shown(response.headers(), Some(secret));
    Begun {
        status: response.status(),
        headers: response.headers().clone(),
        exchange,
        rpc,
        body: http::Response::from(response).into_body(),
        secret: secret.to_owned(),
    }
}

fn broken(log: &Log, mut exchange: Exchange, why: &str) -> Box<Whole> {
    exchange.status = format!("no answer: {why}");
    Box::new(Whole {
        exchange: log.keep(exchange),
        status: 0,
        headers: HeaderMap::new(),
        body: Bytes::new(),
        broken: Some(why.to_owned()),
    })
}

/// A redirect to another origin is not followed: our headers would go there, too.
fn within_origin(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let from = attempt.previous().last();
    let same = from.is_some_and(|from| from.origin() == attempt.url().origin());
    match same && attempt.previous().len() <= MAX_REDIRECTS {
        true => attempt.follow(),
        false => attempt.stop(),
    }
}

/// An error and its causes on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
