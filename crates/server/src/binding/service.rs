//! The service behind the sockets: what all bindings share, and the way of a request through it.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;
use switchboard_types::model::{AgentCard, Timestamp};
use switchboard_types::operation::Response as Answer;
use switchboard_types::wire::card::CardShape;
use switchboard_types::{Error, ErrorKind, VersionHeader};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{Inbound, grpc};
use crate::auth::{Authenticator, refused_certificate};
use crate::call::{Answering, Call, CallRecorder, Handler, Reply, ReplyBody};
use crate::clock;
use crate::directory::{Directory, Listing};
use crate::http::{
    Body, Cors, Head, InboundRequest, Limits, Pages, Responder, WholeAnswers, read_body,
};
use crate::limit::{Admission, Admitted, Entrance, Room, Tallies};
use crate::log::StoreStatus;
use crate::metrics::Metrics;
use crate::net::{BaseUrl, Peer};
use crate::shutdown::Tasks;
use crate::sign::Signer;
use crate::trace::Spans;

/// How many bodies of the largest size are held at once; without a bound the connections alone would allow for
/// more than any machine has.
const LARGEST_BODIES: usize = 32;

/// How much is read of the body of a caller who is turned away: enough to find out what id to answer with.
const REFUSED_BODY: usize = 64 << 10;

/// What a [`Service`] is made of.
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

/// What answers HTTP requests: the A2A bindings and the pages beside them.
#[derive(Debug)]
pub struct Service {
    handler: Arc<dyn Handler>,
    pub(super) directory: Arc<dyn Directory>,
    pub(super) authenticator: Authenticator,
    admission: Admission,
    pub(super) tallies: Tallies,
    pages: Pages,
    pub(super) base_url: BaseUrl,
    pub(super) limits: Limits,
    pub(super) tasks: Tasks,
    /// Room for large request bodies, in KiB.
    bodies: Semaphore,
    /// Room for large answers that must be made whole before they are sent.
    pub(super) whole_answers: WholeAnswers,
    /// When agents came or went last, in microseconds.
    changed: AtomicI64,
    /// Whether requests must name their version.
    pub(super) version_header: VersionHeader,
    /// Signs cards, if they are signed.
    pub(super) signer: Option<Arc<Signer>>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) store: Arc<StoreStatus>,
    /// Who wants to know of what is done.
    pub(super) spans: Option<Spans>,
}

/// A call that the handler has, and the room in which it is answered.
enum AdmittedCall<'a> {
    Now(Room<'a>, Answering),
    /// The handler gets it once there is room; with the time that it has waited. Boxed: few calls wait.
    Later(BoxFuture<'a, Result<(Room<'a>, Answering, Duration), Error>>),
}

impl Service {
    /// Assembles it.
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
    pub(super) fn changed(&self) -> Timestamp {
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

    /// Admits a call, and hands it to the handler. The room that its stream takes is to be kept until the stream is over.
    ///
    /// Not an `async fn`: the handler has the call before the first poll, so that no future on the way has room for it.
    pub(super) fn dispatch(
        &self,
        mut call: Call,
    ) -> impl Future<Output = Result<(Reply, Admitted), Error>> + Send {
        let recorder = CallRecorder::begin(&mut call);
        let access = call.params.access.take();
        let dialect = call.params.dialect;
        let admitted = self.admit(call);
        async move {
            let replied = async {
                let (admitted, call) = admitted?;
                let (_room, answering) = match call {
                    AdmittedCall::Now(room, answering) => (room, answering),
                    AdmittedCall::Later(entrance) => {
                        let (room, answering, waited) = entrance.await?;
                        if let Some(recorder) = &recorder {
                            recorder.waited(waited);
                        }
                        (room, answering)
                    }
                };
                let mut reply = answering.await?;
                if admitted.is_revoked() {
                    let gone = "authentication required: the credentials are no longer valid";
                    return Err(Error::new(ErrorKind::Unauthenticated, gone));
                }
                if let ReplyBody::Response(Answer::Card(card)) = &mut reply.body {
                    self.sign(CardShape::answered_in(dialect), card);
                }
                Ok((reply, admitted))
            };
            let mut replied = replied.await;
            if let Some(recorder) = recorder {
                let reply = replied.as_mut().map(|(reply, _)| reply);
                recorder.answered(reply.map_err(|error| &*error));
            }
            if let (Some(access), Err(error)) = (access, &replied) {
                access.set_error(error);
            }
            replied
        }
    }

    fn admit(&self, call: Call) -> Result<(Admitted, AdmittedCall<'_>), Error> {
        let admitted = self.admission.admit(&call)?;
        let call = match self.admission.room(&call)? {
            Entrance::Now(room) => AdmittedCall::Now(room, self.handler.handle(call)),
            Entrance::Later(room) => {
                let began = Instant::now();
                AdmittedCall::Later(Box::pin(async move {
                    let room = room.await?;
                    let waited = began.elapsed();
                    Ok((room, self.handler.handle(call), waited))
                }))
            }
        };
        Ok((admitted, call))
    }

    /// Signs a card that is complete, if cards are signed.
    pub(super) fn sign(&self, shape: CardShape, card: &mut AgentCard) {
        if let Some(signer) = &self.signer {
            signer.sign_card(shape, card);
        }
    }

    /// The path is right, the verb is not. Whoever tries verbs at an agent's address is mostly looking for its card.
    pub(super) fn not_allowed(
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
    pub(super) async fn read_body(&self, head: &Head, incoming: Incoming) -> Result<Bytes, Error> {
        read_body(head, incoming, self.limits.body, &self.limits, &self.bodies).await
    }

    /// Reads the beginning of a body that nobody is going to answer; the rest is thrown away.
    pub(super) fn read_refused<'a>(
        &'a self,
        head: &'a Head,
        incoming: Incoming,
    ) -> BoxFuture<'a, Result<Bytes, Error>> {
        let most = REFUSED_BODY.min(self.limits.body);
        Box::pin(read_body(head, incoming, most, &self.limits, &self.bodies))
    }
}

impl Responder for Service {
    async fn respond(&self, mut request: InboundRequest) -> Response<Body> {
        let (head, peer) = (&mut request.head, &request.peer);
        let page = match self.pages.check(head, peer, &self.base_url) {
            Ok(page) => page.cloned(),
            Err(error) => return super::forbid(&error),
        };
        let tally = self.tallies.begin(&mut head.extensions);
        // One future for all of it: each more would copy the request once more.
        let mut response = if let Some(response) = self.pages.cors.preflight(head) {
            response
        } else if super::is_grpc(head) {
            Box::pin(grpc::answer(self, head, request.incoming, peer)).await
        } else {
            match self.read(request).await {
                Inbound::Call(call, frames) => super::answer(self, call, frames).await,
                Inbound::Done(response) => *response,
            }
        };
        let headers = response.headers_mut();
        if let Some(tally) = tally {
            tally.tell(headers);
        }
        self.pages.cors.decorate(page.as_ref(), headers);
        response
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    fn base_url(&self) -> &BaseUrl {
        &self.base_url
    }

    fn certificate_refused(&self, address: IpAddr, cause: &'static str) {
        self.audit().note(refused_certificate(address, cause));
    }
}
