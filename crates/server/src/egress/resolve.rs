//! How names become addresses: the system's resolver, seen through the guard.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::Guard;

type Finding = BoxFuture<'static, io::Result<Vec<IpAddr>>>;

/// Finds the addresses of a host name. Tests put their own in its place.
pub struct Lookup(Box<dyn Fn(String) -> Finding + Send + Sync>);

/// The resolver of one HTTP client: nothing it hands out has not passed the guard.
pub(crate) struct Guarded {
    pub(crate) guard: Arc<Guard>,
    /// The port that all requests of this client go to, if it matters to the guard.
    pub(crate) port: Option<u16>,
}

impl Lookup {
    /// Asks `find`.
    pub fn new<F>(find: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
    {
        Self(Box::new(move |name| Box::pin(find(name))))
    }

    /// Asks the system.
    #[must_use]
    pub fn system() -> Self {
        Self::new(|name| async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }

    pub(super) async fn find(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        (self.0)(name.to_owned()).await
    }
}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookup")
    }
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = Arc::clone(&self.guard);
        let port = self.port;
        Box::pin(async move {
            let allowed = guard.resolve(name.as_str(), port).await?;
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}
