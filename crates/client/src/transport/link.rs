//! One interface of one agent over HTTP: its address and version, with credentials and service parameters put on
//! every request. Every binding sends through it.

use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderValue, StatusCode};
use switchboard_types::{Dialect, ProtocolVersion};
use tokio::time::Instant;
use url::Url;

use super::headers::ServiceParams;
use super::http::{Http, Opened, Outgoing};
use crate::auth::Authority;
use crate::error::Error;
use crate::options::{CallOptions, Limits};

/// What all interfaces of an agent share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) http: Http,
    pub(crate) authority: Authority,
    pub(crate) params: ServiceParams,
    pub(crate) limits: Limits,
    /// How long a call may take, unless it says otherwise.
    pub(crate) timeout: Duration,
    /// How long a stream may be silent before it counts as broken.
    pub(crate) silence: Duration,
}

/// One interface. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) url: Url,
    pub(crate) version: ProtocolVersion,
    pub(crate) dialect: Dialect,
    /// The extended card is no call, but a GET.
    pub(crate) plain_card: bool,
    /// Sent back with every request, exactly as the card has it (A2A 1.0 §8.3.2).
    pub(crate) tenant: Option<String>,
    pub(crate) shared: Arc<Shared>,
}

impl Link {
    /// When a call that begins now is over.
    pub(crate) fn deadline(&self, options: &CallOptions) -> Instant {
        let timeout = options.timeout.unwrap_or(self.shared.timeout);
        // A year is as good as never, and can be added to any moment.
        Instant::now() + timeout.min(Duration::from_secs(365 * 24 * 3600))
    }

    /// Sends a request with all that goes with it, and waits for the head of the answer. A token that is refused is
    /// replaced once.
    pub(crate) async fn open(
        &self,
        mut out: Outgoing,
        options: &CallOptions,
        deadline: Instant,
    ) -> Result<Opened, Error> {
        let Shared {
            http,
            authority,
            params,
            ..
        } = &*self.shared;
        out.headers.extend(params.headers(self.version, options)?);
        let mut bare = authority.may_renew().then(|| out.clone());
        loop {
            authority.apply(&mut out, deadline).await?;
            let sent = out.headers.get(AUTHORIZATION).cloned();
            let opened = http.open(out, deadline).await?;
            match bare.take() {
                Some(again) if is_refused(&opened) && authority.renew(sent.as_ref()) => {
                    out = again;
                }
                _ => return Ok(opened),
            }
        }
    }
}

/// Whether credentials were refused: by HTTP, or by the status of gRPC.
fn is_refused(opened: &Opened) -> bool {
    let unauthenticated = |status: &HeaderValue| status == "16";
    let status = opened.headers().get("grpc-status");
    opened.status() == StatusCode::UNAUTHORIZED || status.is_some_and(unauthenticated)
}
