//! Sockets: accepting, bounding and draining connections.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::base_url::Peer;
use super::{Body, Service};

/// How long to wait after the system refused a connection (out of file descriptors, usually).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What a client hears when there is no room: written by hand, so that it costs next to nothing.
const NO_ROOM: &str = r#"{"error":{"code":503,"status":"UNAVAILABLE","message":"too many connections: try again later"}}"#;

/// Serves `listener` until shutdown begins, then lets open requests finish. The caller drains the tasks.
pub async fn serve(listener: TcpListener, service: Arc<Service>) {
    let room = Arc::new(Semaphore::new(service.limits.connections));
    let stopping = service.tasks.stopping().clone();
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, address)) => admit(stream, address, &room, &service),
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn admit(stream: TcpStream, address: SocketAddr, room: &Arc<Semaphore>, service: &Arc<Service>) {
    match Arc::clone(room).try_acquire_owned() {
        Ok(permit) => {
            let service = Arc::clone(service);
            let tasks = service.tasks.clone();
            tasks.spawn(async move { connection(stream, address, service, permit).await });
        }
        Err(_) => service.tasks.spawn(turn_away(stream)),
    }
}

async fn turn_away(mut stream: TcpStream) {
    let length = NO_ROOM.len();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{NO_ROOM}"
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
    service: Arc<Service>,
    _room: OwnedSemaphorePermit,
) {
    // Small frames must not wait for more; a socket that refuses the option still works.
    drop(stream.set_nodelay(true));
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let peer = Peer { address, local };
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(service.limits.header_timeout)
        .max_buf_size(64 << 10);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(256)
        .keep_alive_interval(Duration::from_secs(30));
    let stopping = service.tasks.stopping().clone();
    let asked = Arc::new(AtomicBool::new(false));
    let silent = silence(Arc::clone(&asked), service.limits.header_timeout);
    let answer = service_fn(move |request: Request<Incoming>| {
        asked.store(true, Ordering::Relaxed);
        let service = Arc::clone(&service);
        async move {
            let version = request.version();
            let mut response = service.respond(request, peer).await;
            if version == Version::HTTP_11 && matches!(response.body(), Body::Stream(_)) {
                // It goes without saying; some proxies and clients want it said.
                let stay = HeaderValue::from_static("keep-alive");
                response.headers_mut().insert(CONNECTION, stay);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let connection = builder.serve_connection(TokioIo::new(stream), answer);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = silent => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, %address, "connection ended");
    }
}

/// Ends when a connection has not asked anything in time: until its first bytes tell which HTTP it speaks, no
/// other clock runs.
async fn silence(asked: Arc<AtomicBool>, patience: Duration) {
    tokio::time::sleep(patience).await;
    if asked.load(Ordering::Relaxed) {
        std::future::pending().await
    }
}
