//! Is this request bearable? Sockets, limits and addresses; then the bindings take over.

mod body;
mod cors;
mod door;
mod h2_streams;
mod health;
mod limits;
mod origin;
mod outgoing;
mod place;
mod pulse;
mod read;
mod serve;
pub mod tls;
mod wellknown;
pub(crate) mod whole;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts as Head;
use hyper::{Request, Response, StatusCode};
use serde_json::json;
use switchboard_types::model::{AgentCard, Timestamp};
use switchboard_types::operation::Response as Answer;
use switchboard_types::wire::card::CardShape;
use switchboard_types::{Error, ErrorKind, VersionHeader};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::auth::Authenticator;
use crate::binding;
use crate::call::{Call, CallRecorder, Handler, Reply, ReplyBody};
use crate::clock;
use crate::directory::{Directory, Listing};
use crate::limit::{Admission, Admitted, Entrance, Tallies};
use crate::log::StoreStatus;
use crate::metrics::Metrics;
use crate::net::{BaseUrl, Peer};
use crate::shutdown::Tasks;
use crate::sign::Signer;
use crate::trace::Spans;

pub use body::Body;
pub use cors::Cors;
pub use limits::Limits;
pub use serve::serve;

pub(crate) use body::PIECES_AT_ONCE;
use origin::Pages;
pub(crate) use whole::WholeAnswers;

/// How many bodies of the largest size are held at once; without a bound the connections alone would allow for
/// more than any machine has.
const LARGEST_BODIES: usize = 32;

/// How much is read of the body of a caller who is turned away: enough to find out what id to answer with.
const REFUSED_BODY: usize = 64 << 10;

/// What the server is made of.
#[derive(Debug)]
pub struct Parts {
    /// Answers calls.
    pub handler: Arc<dyn Handler>,
    /// Knows the agents.
    pub directory: Arc<dyn Directory>,
    /// Knows the callers.
    pub authenticator: Authenticator,
    /// How our own address is found out.
    pub base_url: BaseUrl,
    /// Which web pages may call.
    pub cors: Cors,
    /// What clients may ask of us.
    pub limits: Limits,
    /// Who owns connections and streams.
    pub tasks: Tasks,
}

/// The HTTP side of the server.
#[derive(Debug)]
pub struct Service {
    handler: Arc<dyn Handler>,
    pub(crate) directory: Arc<dyn Directory>,
    authenticator: Authenticator,
    admission: Admission,
    tallies: Tallies,
    pages: Pages,
    pub(crate) base_url: BaseUrl,
    pub(crate) limits: Limits,
    pub(crate) tasks: Tasks,
    /// Room for large request bodies, in KiB.
    bodies: Semaphore,
    /// Room for large answers that must be made whole before they are sent.
    pub(crate) whole_answers: WholeAnswers,
    /// When agents came or went last, in microseconds.
    changed: AtomicI64,
    /// Whether requests must name their version.
    pub(crate) version_header: VersionHeader,
    /// Signs cards, if they are signed.
    pub(crate) signer: Option<Arc<Signer>>,
    pub(crate) metrics: Arc<Metrics>,
    store: Arc<StoreStatus>,
    /// Who wants to know of what is done.
    pub(crate) spans: Option<Spans>,
}

/// A request and where it comes from. Boxed: it goes through many hands, and each future that passes it on has room
/// for it twice.
struct Asks {
    head: Box<Head>,
    incoming: Incoming,
    peer: Arc<Peer>,
}

impl Asks {
    fn new(request: Request<Incoming>, peer: Arc<Peer>) -> Self {
        let (head, incoming) = request.into_parts();
        Self {
            head: Box::new(head),
            incoming,
            peer,
        }
    }
}

impl Service {
    /// Assembles the HTTP side.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let limits = &parts.limits;
        let service = Self {
            handler: parts.handler,
            tallies: Tallies::new(),
            directory: parts.directory,
            pages: Pages {
                cors: parts.cors,
                by_name: AtomicBool::new(false),
            },
            authenticator: parts.authenticator,
            admission: Admission::new(
                limits.requests,
                limits.queue,
                limits.streams,
                limits.streams_per_caller,
            ),
            base_url: parts.base_url,
            bodies: Semaphore::new(parts.limits.body.div_ceil(1024) * LARGEST_BODIES),
            whole_answers: WholeAnswers::new(),
            limits: parts.limits,
            tasks: parts.tasks,
            changed: AtomicI64::new(0),
            version_header: VersionHeader::Optional,
            signer: None,
            metrics: Arc::default(),
            store: Arc::default(),
            spans: None,
        };
        service.agents_changed();
        service
    }

    /// Other agents are about to come. Call it before they can be found, and [`Service::agents_changed`] afterwards: in
    /// between, what the new ones and the old ones ask for counts.
    pub fn agents_change(&self, to: &[Arc<Listing>]) {
        let known = self.directory.list();
        self.adapt(|| known.iter().chain(to));
    }

    /// The agents are other ones, or say something else.
    pub fn agents_changed(&self) {
        let known = self.directory.list();
        self.adapt(|| known.iter());
        self.changed
            .store(clock::now().as_micros(), Ordering::Relaxed);
    }

    fn adapt<'a, I: Iterator<Item = &'a Arc<Listing>>>(&self, agents: impl Fn() -> I) {
        let rated = agents().any(|agent| agent.access.rate().is_some());
        self.tallies.set(rated);
        let open = agents().any(|agent| agent.access.is_open());
        self.pages.by_name.store(open, Ordering::Relaxed);
    }

    /// When agents came or went last.
    pub(crate) fn changed(&self) -> Timestamp {
        Timestamp::from_micros(self.changed.load(Ordering::Relaxed))
    }

    /// The same, which tells what it does.
    #[must_use]
    pub fn telling_spans(mut self, spans: Spans) -> Self {
        self.spans = Some(spans);
        self
    }

    /// The same, with its numbers among these.
    #[must_use]
    pub fn counting(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// The same, where requests must name their version or not.
    #[must_use]
    pub fn version_header(mut self, header: VersionHeader) -> Self {
        self.version_header = header;
        self
    }

    /// The same, which is not ready while the store refuses commits.
    #[must_use]
    pub fn watching_store(mut self, status: Arc<StoreStatus>) -> Self {
        self.store = status;
        self
    }

    /// The same, with cards that are signed.
    #[must_use]
    pub fn signing(mut self, signer: Arc<Signer>) -> Self {
        self.signer = Some(signer);
        self
    }

    /// Answers one request.
    async fn respond(&self, mut asks: Asks) -> Response<Body> {
        let checked = self.pages.check(&asks.head, &asks.peer, &self.base_url);
        let page = match checked {
            Ok(page) => page.cloned(),
            Err(error) => return binding::forbid(&error),
        };
        let tally = self.tallies.begin(&mut asks.head.extensions);
        // One future for all of it: each more would copy the request once more.
        let mut response = if let Some(response) = self.pages.cors.preflight(&asks.head) {
            response
        } else if binding::is_grpc(&asks.head) {
            let (head, peer) = (&asks.head, &asks.peer);
            Box::pin(binding::grpc::answer(self, head, asks.incoming, peer)).await
        } else {
            match self.read(asks).await {
                Ok(ready) => binding::answer(self, ready).await,
                Err(response) => *response,
            }
        };
        let headers = response.headers_mut();
        if let Some(tally) = tally {
            tally.tell(headers);
        }
        self.pages.cors.decorate(page.as_ref(), headers);
        response
    }

    /// Lets a call in, and hands it on. The room that its stream takes is to be kept until the stream is over.
    pub(crate) async fn take(&self, mut call: Call) -> Result<(Reply, Admitted), Error> {
        let recorder = CallRecorder::begin(&mut call);
        let access = call.params.access.take();
        let mut taken = self.let_in(call, recorder.as_ref()).await;
        if let Some(recorder) = recorder {
            recorder.answered(
                taken
                    .as_mut()
                    .map(|(reply, _)| reply)
                    .map_err(|error| &*error),
            );
        }
        if let (Some(access), Err(error)) = (access, &taken) {
            access.set_error(error);
        }
        taken
    }

    async fn let_in(
        &self,
        call: Call,
        recorder: Option<&CallRecorder>,
    ) -> Result<(Reply, Admitted), Error> {
        let admitted = self.admission.admit(&call)?;
        let _room = match self.admission.room(&call)? {
            Entrance::Now(room) => room,
            Entrance::Later(room) => {
                let began = Instant::now();
                let room = room.await?;
                if let Some(recorder) = recorder {
                    recorder.waited(began.elapsed());
                }
                room
            }
        };
        let dialect = call.params.dialect;
        let mut reply = self.handler.handle(call).await?;
        if admitted.is_revoked() {
            let gone = "authentication required: the credentials are no longer valid";
            return Err(Error::new(ErrorKind::Unauthenticated, gone));
        }
        if let ReplyBody::Response(Answer::Card(card)) = &mut reply.body {
            self.sign(CardShape::answered_in(dialect), card);
        }
        Ok((reply, admitted))
    }

    /// Signs a card that is complete, if cards are signed.
    pub(crate) fn sign(&self, shape: CardShape, card: &mut AgentCard) {
        if let Some(signer) = &self.signer {
            signer.sign_card(shape, card);
        }
    }

    /// The path is right, the verb is not. Whoever tries verbs at an agent's address is mostly looking for its card.
    pub(crate) fn not_allowed(
        &self,
        head: &Head,
        peer: &Peer,
        agent: Option<&str>,
        allow: &'static str,
    ) -> Response<Body> {
        let base = self.base_url.of(head, peer);
        let at = agent.map_or_else(String::new, |name| format!("/a2a/{name}"));
        let message = format!(
            "this path supports {allow}; the agent card is at {base}{at}/.well-known/agent-card.json"
        );
        let error = json!({ "code": 405, "status": "UNIMPLEMENTED", "message": message });
        let body = json!({ "error": error }).to_string().into_bytes();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        let headers = response.headers_mut();
        headers.insert(ALLOW, HeaderValue::from_static(allow));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }

    /// Reads the body of a request within the limits.
    pub(crate) async fn read_body(&self, head: &Head, incoming: Incoming) -> Result<Bytes, Error> {
        body::read(head, incoming, self.limits.body, &self.limits, &self.bodies).await
    }

    /// Reads the beginning of a body that nobody is going to answer; the rest is thrown away.
    pub(crate) fn read_refused<'a>(
        &'a self,
        head: &'a Head,
        incoming: Incoming,
    ) -> BoxFuture<'a, Result<Bytes, Error>> {
        let most = REFUSED_BODY.min(self.limits.body);
        Box::pin(body::read(head, incoming, most, &self.limits, &self.bodies))
    }
}

/// An empty answer with a status.
pub(crate) fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
