//! Sockets: accepting, bounding and draining connections.

use std::convert::Infallible;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::h2_streams::StreamExecutor;
use super::outgoing::OutgoingBody;
use super::pulse::{Busy, End, Felt, Pulse};
use super::tls::{self, Tls};
use super::{EVENT_STREAM, InboundRequest, Responder};
use crate::access_log::AccessLine;
use crate::limit::{Counted, Counts};
use crate::net::{LastFingerprint, Peer, network};

/// How long to wait after the system refused a connection (out of file descriptors, usually).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long a connection that is to end may take to do so, if nothing is under way on it.
const GOODBYE: Duration = Duration::from_secs(1);

/// The largest head of a request, in bytes.
const LARGEST_HEAD: u32 = 64 << 10;

/// How many requests of HTTP/2 a client may take back before anyone has looked at them, and how many it may spoil: work
/// that costs the client nothing.
const MOST_RESETS: usize = 20;
const MOST_FAULTS: usize = 256;

/// What a client hears when there is no room: written by hand, so that it costs next to nothing.
const NO_ROOM: &str = r#"{"error":{"code":503,"status":"UNAVAILABLE","message":"too many connections: try again later"}}"#;

/// What the first byte of an encrypted connection says.
const HANDSHAKE: u8 = 0x16;

/// What a client hears that does not know that connections are encrypted here.
const NOT_PLAIN: &str = r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"connections are encrypted here: use https"}}"#;

/// Serves `listener` until shutdown begins, then lets open requests finish. The caller drains the tasks. Connections are
/// encrypted if there is something to encrypt them with.
pub async fn serve<R: Responder>(listener: TcpListener, responder: Arc<R>, tls: Option<Arc<Tls>>) {
    let room = Room::new(&*responder);
    let stopping = responder.tasks().stopping().clone();
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, address)) => admit(stream, address, &room, &responder, tls.as_ref()),
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection, will retry");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Room for connections.
struct Room {
    all: Arc<Semaphore>,
    by_address: Option<Counts<IpAddr>>,
}

/// The room of one connection.
type Taken = (OwnedSemaphorePermit, Option<Counted<IpAddr>>);

impl Room {
    fn new(responder: &impl Responder) -> Self {
        let by_address = responder.limits().connections_per_address;
        Self {
            all: Arc::new(Semaphore::new(responder.limits().connections)),
            by_address: by_address.map(Counts::new),
        }
    }

    fn take(&self, address: SocketAddr) -> Option<Taken> {
        let one = Arc::clone(&self.all).try_acquire_owned().ok()?;
        let of_address = match &self.by_address {
            Some(by_address) => Some(by_address.take(network(address.ip()))?),
            None => None,
        };
        Some((one, of_address))
    }
}

fn admit(
    stream: TcpStream,
    address: SocketAddr,
    room: &Room,
    responder: &Arc<impl Responder>,
    tls: Option<&Arc<Tls>>,
) {
    match room.take(address) {
        Some(taken) => {
            let responder = Arc::clone(responder);
            let (tasks, tls) = (responder.tasks().clone(), tls.cloned());
            tasks.spawn(async move { connection(stream, address, responder, tls, taken).await });
        }
        None if tls.is_none() => {
            let status = "503 Service Unavailable\r\nRetry-After: 1";
            responder.tasks().spawn(turn_away(stream, status, NO_ROOM));
        }
        // To tell it would cost more than there is: the connection is closed.
        None => {}
    }
}

async fn turn_away(mut stream: TcpStream, status: &str, body: &str) {
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let told = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    };
    // Whoever does not listen for a second is not told.
    drop(tokio::time::timeout(Duration::from_secs(1), told).await);
}

async fn connection(
    stream: TcpStream,
    address: SocketAddr,
    responder: Arc<impl Responder>,
    tls: Option<Arc<Tls>>,
    _room: Taken,
) {
    let _open = responder.metrics().connection_opened();
    // Small frames must not wait for more; a socket that refuses the option still works.
    drop(stream.set_nodelay(true));
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let peer = Peer {
        address,
        local,
        encrypted: None,
        last_fingerprint: LastFingerprint::default(),
    };
    let pulse = Pulse::default();
    let ended = match tls {
        None => converse(Felt::new(stream, pulse.clone()), pulse, peer, responder).await,
        // Boxed: other connections need no room for it.
        Some(tls) => Box::pin(encrypted(stream, pulse, peer, responder, &tls)).await,
    };
    if let Err(error) = ended {
        tracing::debug!(%error, %address, "connection ended");
    }
}

/// Shakes hands first. The pulse is felt below what encrypts: what was written there has left.
async fn encrypted(
    stream: TcpStream,
    pulse: Pulse,
    mut peer: Peer,
    responder: Arc<impl Responder>,
    tls: &Tls,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let stopping = responder.tasks().stopping();
    let shaken = async {
        let mut first = [HANDSHAKE];
        stream.peek(&mut first).await?;
        if first != [HANDSHAKE] {
            // What was not read undoes the answer when the connection is closed.
            drop(stream.try_read(&mut [0; 8 << 10]));
            turn_away(stream, "400 Bad Request", NOT_PLAIN).await;
            return Ok(None);
        }
        tls.accept(Felt::new(stream, pulse.clone())).await.map(Some)
    };
    let shaken = tokio::select! {
        () = stopping.cancelled() => return Ok(()),
        shaken = tokio::time::timeout(responder.limits().header_timeout, shaken) => shaken?,
    };
    if let Err(error) = &shaken
        && let Some(cause) = tls::refused_certificate(error)
    {
        responder.certificate_refused(peer.address.ip(), cause);
    }
    let Some((stream, seen)) = shaken? else {
        return Ok(());
    };
    peer.encrypted = Some(seen);
    converse(stream, pulse, peer, responder).await
}

/// Answers what comes over a connection, whatever carries it, until it ends.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    pulse: Pulse,
    peer: Peer,
    responder: Arc<impl Responder>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let peer = Arc::new(peer);
    let mut builder = Builder::new(StreamExecutor {
        pulse: pulse.clone(),
        tasks: responder.tasks().clone(),
    });
    // Head and body leave in one plain write: copying a small answer costs less than a vectored one.
    builder
        .http1()
        .max_buf_size(LARGEST_HEAD as usize)
        .writev(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(256)
        .max_header_list_size(LARGEST_HEAD)
        .max_pending_accept_reset_streams(MOST_RESETS)
        .max_local_error_reset_streams(MOST_FAULTS)
        .keep_alive_interval(Duration::from_secs(30));
    let stopping = responder.tasks().stopping().clone();
    let patience = responder.limits().header_timeout;
    let answer = {
        let pulse = pulse.clone();
        service_fn(move |request: Request<Incoming>| {
            let request = InboundRequest::new(request, Arc::clone(&peer));
            answer(Arc::clone(&responder), request, pulse.begin())
        })
    };
    let connection = builder.serve_connection(TokioIo::new(stream), answer);
    tokio::pin!(connection);
    // Asked only when they have something to say, not at every wake of the connection.
    let mut ends = FuturesUnordered::from_iter([
        stopping.cancelled().map(|()| End::Quiet).boxed(),
        pulse.clone().stops(patience).boxed(),
    ]);
    let end = tokio::select! {
        biased;
        ended = &mut connection => return ended,
        end = ends.next() => end,
    };
    if end == Some(End::Stuck) {
        return Ok(());
    }
    connection.as_mut().graceful_shutdown();
    let mut checked = Instant::now();
    loop {
        let before = pulse.beats();
        match tokio::time::timeout(GOODBYE, &mut connection).await {
            Ok(ended) => return ended,
            Err(_) if pulse.beats() != before => {}
            Err(_) if pulse.is_busy() && !pulse.is_unread() => {}
            // Whoever drains us has a clock of its own.
            Err(_) if pulse.is_unread() && stopping.is_cancelled() => {}
            // Half a request is left, and nobody to finish it.
            Err(_) => return Ok(()),
        }
        // Callers that do not read are not waited for here either.
        if checked.elapsed() >= patience {
            checked = Instant::now();
            if pulse.streams().reset_unread() {
                return Ok(());
            }
        }
    }
}

/// Not an `async fn`: its future would have room for the request twice, and hyper moves it about.
fn answer(
    responder: Arc<impl Responder>,
    mut request: InboundRequest,
    busy: Busy,
) -> impl Future<Output = Result<Response<OutgoingBody>, Infallible>> + Send {
    let version = request.head.version;
    let mut access = AccessLine::begin(&mut request.head, &request.peer, responder.base_url());
    async move {
        let mut response = responder.respond(request).await;
        let events = response.headers().get(CONTENT_TYPE) == Some(&EVENT_STREAM);
        if events && version == Version::HTTP_11 {
            // It goes without saying; some proxies and clients want it said.
            let stay = HeaderValue::from_static("keep-alive");
            response.headers_mut().insert(CONNECTION, stay);
        }
        if let Some(access) = &mut access {
            access.answered(response.status());
        }
        Ok(response.map(|body| OutgoingBody::new(body, busy, access)))
    }
}
