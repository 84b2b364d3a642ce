//! A request's head, as every binding reads it.

use std::sync::Arc;

use hyper::Response;
use switchboard_types::model::Message;
use switchboard_types::operation::Operation;
use switchboard_types::{Dialect, Error, ErrorKind, FileBytes, VersionHeader};

use super::headers::{Headers, extensions};
use super::{Authentication, Destination, Service, file_bytes, version_in_query};
use crate::access_log::AccessDetails;
use crate::auth::{Carried, Presented, Refusal};
use crate::call::{Call, Origin, ServiceParams, Target};
use crate::directory::{no_such_agent, no_such_agent_but, no_such_tenant};
use crate::hops::Hops;
use crate::http::{Body, Head};
use crate::net::Peer;
use crate::trace::Trace;

/// A request's head. Borrowed: most of it is only looked at.
#[derive(Debug)]
pub(super) struct RequestHead<'a> {
    service: &'a Service,
    head: &'a Head,
    peer: &'a Peer,
    /// The agent the path names; the bare name if there is none of that name.
    agent: Result<Option<Arc<str>>, &'a str>,
    /// `A2A-Version`, by header or query; empty if absent.
    pub(super) version: &'a str,
    /// The media type of the body, with its parameters; empty if absent.
    content_type: &'a str,
    /// `Content-Encoding`; empty if absent.
    content_encoding: &'a str,
    accept: &'a str,
    idempotency_key: Option<&'a str>,
    last_event_id: Option<&'a str>,
    /// The agents that the call has come through.
    hops: Option<&'a str>,
    /// It says what it is part of.
    traced: bool,
    /// Extensions are asked for.
    extended: bool,
    presented: Presented,
    /// The agent that the path names, if the caller may know of it.
    destination: Option<Destination>,
    /// A header that cannot be read: it must not pass for one that is absent.
    odd: Option<Error>,
}

impl<'a> RequestHead<'a> {
    pub(super) fn new(
        service: &'a Service,
        head: &'a Head,
        peer: &'a Peer,
        agent: Option<&'a str>,
        authentication: Authentication,
    ) -> Self {
        let Authentication {
            presented,
            destination,
        } = authentication;
        let (read, odd) = Headers::read(&head.headers);
        let version = read
            .version
            .or_else(|| head.uri.query().and_then(version_in_query))
            .unwrap_or_default();
        let known = |name| match &destination {
            Some(known) => Ok(Some(Arc::clone(&known.listing.name))),
            None => Err(name),
        };
        Self {
            service,
            head,
            peer,
            agent: agent.map_or(Ok(None), known),
            version,
            content_type: read.content_type.unwrap_or_default(),
            content_encoding: read.content_encoding.unwrap_or_default().trim(),
            accept: read.accept.unwrap_or_default(),
            idempotency_key: read.idempotency_key,
            last_event_id: read.last_event_id,
            hops: read.hops,
            traced: read.traced,
            extended: read.extended,
            presented,
            destination,
            odd,
        }
    }

    /// The HTTP verb.
    pub(super) fn verb(&self) -> &'a str {
        self.head.method.as_str()
    }

    /// `Idempotency-Key`.
    pub(super) fn idempotency_key(&self) -> Option<&'a str> {
        self.idempotency_key
    }

    /// The query string.
    pub(super) fn query(&self) -> Option<&'a str> {
        self.head.uri.query()
    }

    /// The form of files that the caller writes and reads, where `dialect` has two.
    pub(super) fn file_bytes(&self, dialect: Dialect) -> FileBytes {
        let listing = self.destination.as_ref().map(|known| &*known.listing);
        let two_forms = dialect.files().is_some();
        let found = two_forms.then(|| file_bytes::of_caller(listing, &self.head.headers));
        found.unwrap_or_default()
    }

    /// The call, once the binding knows the operation. Only now is it sure which agent is meant, so only now is the
    /// caller let in.
    ///
    /// # Errors
    ///
    /// If a header is wrong, there is no such agent, or it does not let the caller in.
    pub(super) fn call(
        self,
        dialect: Dialect,
        mut operation: Operation,
        tenant: Option<String>,
    ) -> Result<Call, Refusal> {
        let last_event_id = match self.last_event_id.map(str::trim) {
            None | Some("") => None,
            Some(text) => Some(text.parse().map_err(|_| {
                Error::invalid_params("Last-Event-ID", "must be the id of an event of this task")
            })?),
        };
        if self
            .idempotency_key
            .is_some_and(|key| key.is_empty() || key.len() > 255)
        {
            return Err(
                Error::invalid_params("Idempotency-Key", "must be 1 to 255 characters").into(),
            );
        }
        let base_url = match operation {
            Operation::ExtendedCard => self.service.base_url.of(self.head, self.peer),
            _ => Arc::default(),
        };
        let trace = self.trace();
        if let Err(name) = self.agent {
            return Err(self.unknown_agent(name).into());
        }
        let target = Target {
            agent: self.agent.ok().flatten(),
            tenant,
        };
        let carried = Carried::new(self.head, self.peer, &self.service.base_url);
        let tenant = target.tenant.as_deref().filter(|name| !name.is_empty());
        let destination = match (self.destination, tenant) {
            (Some(named), None) => named,
            (named, tenant) => {
                let listing = self.service.directory.resolve(&target)?;
                let same = named.filter(|named| Arc::ptr_eq(&named.listing, &listing));
                same.or_else(|| Destination::evaluate(listing, &self.presented, &carried))
                    .ok_or_else(|| tenant.map_or_else(|| no_such_agent(""), no_such_tenant))?
            }
        };
        let Destination { listing, admitted } = destination;
        let (name, access) = (&listing.name, &listing.access);
        let mut principal = admitted?;
        self.service.count(self.head, &listing, &principal)?;
        if matches!(operation, Operation::ExtendedCard)
            && listing.profile.has_extended()
            && principal.is_anonymous()
        {
            access.ask_who(name, &carried)?;
        }
        if let (Some(path), Operation::Send(send) | Operation::Stream(send)) =
            (self.hops, &mut operation)
        {
            record_hops(&mut send.message, path);
        }
        // Who is behind the agent may have to be told of a cancel, too.
        if let (Some(wanted), Operation::Send(_) | Operation::Stream(_) | Operation::Cancel(_)) =
            (&listing.forwards, &operation)
        {
            principal = principal.bringing(&self.head.headers, wanted);
        }
        let access = AccessDetails::of(self.head);
        if let Some(access) = access {
            access.set_call(name, operation.method().name(), &principal, trace.as_ref());
        }
        Ok(Call {
            operation,
            target,
            principal,
            params: ServiceParams {
                dialect,
                extensions: match self.extended {
                    true => extensions(&self.head.headers),
                    false => Vec::new(),
                },
                idempotency_key: self.idempotency_key.map(str::to_owned),
                last_event_id,
                trace,
                meter: Some(Arc::clone(&listing.meter)),
                secret: false,
                only_if_waiting: false,
                base_url,
                access: access.cloned(),
            },
            origin: Origin::Network,
        })
    }

    /// Our own part of the trace that the caller is in; if someone wants to know of it, also of a new one.
    fn trace(&self) -> Option<Arc<Trace>> {
        let caller = self.traced.then(|| Trace::of(&self.head.headers));
        let caller = caller.flatten();
        let ours = match &self.service.spans {
            Some(spans) => Some(spans.continued(caller.as_ref())),
            None => caller.as_ref().map(Trace::child),
        };
        ours.map(Arc::new)
    }

    /// Whether the request must name its version.
    pub(super) fn version_header(&self) -> VersionHeader {
        self.service.version_header
    }

    /// The refusal of another verb than these.
    pub(super) fn not_allowed(&self, allow: &'static str) -> Response<Body> {
        let agent = match &self.agent {
            Ok(known) => known.as_deref(),
            Err(unknown) => Some(*unknown),
        };
        self.service.not_allowed(self.head, self.peer, agent, allow)
    }

    /// The caller can read an event stream.
    pub(super) fn takes_events(&self) -> bool {
        let takes = |accepted: &str| {
            let accepted = accepted.split(';').next().unwrap_or_default().trim();
            ["text/event-stream", "text/*", "*/*"]
                .iter()
                .any(|known| accepted.eq_ignore_ascii_case(known))
        };
        self.accept.is_empty() || self.accept.split(',').any(takes)
    }

    /// The caller takes nothing but an event stream.
    pub(super) fn wants_only_events(&self) -> bool {
        let mut types = self
            .accept
            .split(',')
            .map(|t| t.split(';').next().unwrap_or_default().trim());
        !self.accept.is_empty() && types.all(|t| t.eq_ignore_ascii_case("text/event-stream"))
    }

    /// The caller names plain JSON and not A2A's own media type.
    pub(super) fn prefers_plain_json(&self) -> bool {
        self.accept.contains("application/json") && !self.accept.contains("application/a2a+json")
    }

    /// # Errors
    ///
    /// If there is no agent of the name in the path.
    pub(super) fn require_agent(&self) -> Result<(), Error> {
        let known = self.agent.as_ref().map(|_| ());
        known.map_err(|name| self.unknown_agent(name))
    }

    /// The error about an agent that does not exist as far as this caller may know.
    fn unknown_agent(&self, name: &str) -> Error {
        let carried = Carried::new(self.head, self.peer, &self.service.base_url);
        no_such_agent_but(name, &self.service.visible_names(&self.presented, &carried))
    }

    /// # Errors
    ///
    /// If a header cannot be read.
    pub(super) fn require_headers(&self) -> Result<(), Error> {
        self.odd.clone().map_or(Ok(()), Err)
    }

    /// # Errors
    ///
    /// If the body is announced as something else than JSON, or as compressed.
    pub(super) fn require_json(&self) -> Result<(), Error> {
        let encoding = self.content_encoding;
        if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
            return Err(Error::new(
                ErrorKind::ContentTypeNotSupported,
                format!("the request body must not be compressed, not even by {encoding}"),
            ));
        }
        if self.content_type == "application/json" {
            return Ok(());
        }
        let said = self.content_type.split(';').next().unwrap_or_default();
        let said = said.trim();
        let suffix = said.len().checked_sub(5).and_then(|at| said.get(at..));
        if said.is_empty()
            || said.eq_ignore_ascii_case("application/json")
            || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("+json"))
        {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::ContentTypeNotSupported,
            format!("the request body must be application/json, not {said}"),
        ))
    }
}

/// Adds the hop path of a header to a message that has none.
fn record_hops(message: &mut Message, path: &str) {
    let path = Hops::from_header(path);
    if !path.is_empty() && Hops::of(message).is_ok_and(|own| own.is_empty()) {
        message.metadata = Some(path.marked(message.metadata.as_ref()));
    }
}
