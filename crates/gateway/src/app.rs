//! The whole stack, assembled.

use std::net::SocketAddr;

use crate::cli::deliveries::Wanted;
use crate::config::Config;

/// Serves until a signal to stop. `ready` is called once, with the address, when calls can come in.
///
/// # Errors
///
/// If the address is taken, the store cannot be opened, or the server breaks.
pub async fn serve(config: Config, ready: impl FnOnce(SocketAddr) + Send) -> anyhow::Result<()> {
    drop((config, ready));
    anyhow::bail!("not wired yet")
}

/// Prints webhook deliveries that fail or were given up.
///
/// # Errors
///
/// If the store cannot be opened.
pub async fn deliveries(config: Config, wanted: Wanted) -> anyhow::Result<()> {
    drop((config, wanted));
    anyhow::bail!("not wired yet")
}
