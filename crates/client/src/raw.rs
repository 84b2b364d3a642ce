//! Requests that are sent as they are: for those who look at how an agent takes what no client would write.

use bytes::Bytes;
use http::{HeaderMap, Method, Response};
use tokio::time::Instant;
use url::Url;

use crate::client::Client;
use crate::error::Error;
use crate::transport::http::Outgoing;

/// A request, word for word.
#[derive(Debug, Clone)]
pub struct Raw {
    /// The HTTP method.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// All headers; none is added but the credentials.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Client {
    /// Sends a request as it is, with credentials, and reads the whole answer, whatever it is. Of a stream that is
    /// what comes before it ends.
    ///
    /// # Errors
    ///
    /// If nobody answers, in time and within the limits.
    pub async fn exchange(&self, raw: Raw) -> Result<Response<Bytes>, Error> {
        let shared = self.shared();
        let deadline = Instant::now() + shared.timeout;
        let mut out = Outgoing::new(raw.method, raw.url);
        out.headers = raw.headers;
        out.body = raw.body;
        shared.authority.apply(&mut out, deadline).await?;
        shared.http.fetch(out, shared.limits.body, deadline).await
    }

    /// Where the interface that is spoken to really is.
    #[must_use]
    pub fn address(&self) -> &Url {
        self.resolved()
    }
}
