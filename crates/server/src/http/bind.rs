//! Binding the address to listen on.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::Instant;

/// How long a start waits for an address that is in use, and how often it tries.
pub const BIND_TIMEOUT: Duration = Duration::from_secs(5);
const BIND_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Binds an address. One that is in use is tried again for up to `timeout`: the process that this one replaces may not
/// have ended yet.
///
/// # Errors
///
/// If the address cannot be bound.
pub async fn bind(address: SocketAddr, timeout: Duration) -> io::Result<TcpListener> {
    let deadline = Instant::now() + timeout;
    let mut is_logged = false;
    loop {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                if !is_logged {
                    let seconds = timeout.as_secs();
                    tracing::info!(%address, seconds, "address in use, waiting for it");
                    is_logged = true;
                }
                tokio::time::sleep(BIND_RETRY_INTERVAL).await;
            }
            bound => return bound,
        }
    }
}
