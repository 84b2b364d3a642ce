//! `POST /a2a/{agent}/api-key`: a caller with a token makes an API key for one agent. The key is in the answer, and
//! nowhere else ever again.

use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_types::model::{Secret, Timestamp};
use switchboard_types::wire::rest;
use switchboard_types::{Dialect, Error, ErrorKind};

use super::{Destination, JSON, Service, challenge, tell_scopes, tell_when_to_retry};
use crate::auth::keys::{By, NewKey, may_make};
use crate::auth::{About, Action, Ask, Refusal};
use crate::call::Origin;
use crate::clock;
use crate::directory::no_such_agent;
use crate::http::Body;
use crate::net::Peer;
use crate::store::access::KeyRecord;

/// What a body may ask for.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    label: String,
    scopes: Vec<String>,
    expires_in_seconds: Option<u64>,
}

/// Makes a key.
pub(super) async fn answer(
    service: &Service,
    head: &Parts,
    incoming: Incoming,
    peer: &Peer,
    agent: &str,
) -> Response<Body> {
    if head.method != Method::POST {
        return service.not_allowed(head, peer, Some(agent), "POST");
    }
    let mut response = match make(service, head, incoming, peer, agent).await {
        Ok((record, key)) => {
            let told = json!({
                "apiKey": key.reveal(),
                "id": record.id.as_str(),
                "label": record.label,
                "agents": record.agents,
                "scopes": record.scopes,
                "expiresAt": record.expires.as_ref().map(Timestamp::to_string),
            });
            super::json(StatusCode::CREATED, JSON, told.to_string().into_bytes())
        }
        Err(refusal) => refuse(&refusal),
    };
    let never = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, never);
    response
}

async fn make(
    service: &Service,
    head: &Parts,
    incoming: Incoming,
    peer: &Peer,
    agent: &str,
) -> Result<(KeyRecord, Secret), Refusal> {
    let authentication = service.authenticate(head, peer, Some(agent)).await?;
    let destination = authentication.destination;
    let Destination { listing, admitted } = destination.ok_or_else(|| no_such_agent(agent))?;
    let (name, access) = (&listing.name, &listing.access);
    let caller = admitted?;
    let desk = service.key_desk().ok_or_else(|| {
        let nowhere = "API keys are created with `switchboard key create` only";
        Error::new(ErrorKind::MethodNotFound, nowhere)
    })?;
    let ask = Ask {
        caller: &caller,
        agent: name,
        action: Action::CreateApiKey,
        skill: None,
        task: About::Nothing,
        origin: &Origin::Network,
        now: clock::now(),
    };
    let refuse = |rule: &str, error: Error| {
        ask.note_denial(rule, service.audit());
        error
    };
    may_make(&caller, &desk.scope).map_err(|error| refuse("create_scope", error))?;
    access.allow(&ask, service.audit())?;
    if !access.looks_at(desk.keys.scheme()) {
        let message =
            format!("{name:?} does not accept API keys: see the security schemes of its card");
        return Err(Error::unsupported(message).into());
    }
    let wanted = read(&service.read_body(head, incoming).await?)?;
    let granted = |scope: &String| caller.scopes().any(|had| had == *scope);
    if let Some(more) = wanted.scopes.iter().find(|scope| !granted(scope)) {
        let message = format!("you cannot grant the scope {more:?}, which you do not have");
        let error = Error::new(ErrorKind::PermissionDenied, message);
        return Err(refuse("scopes", error).into());
    }
    let tenant = caller.identity().and_then(|known| known.tenant.as_deref());
    let lasts = desk.lasting(wanted.expires_in_seconds.map(Duration::from_secs))?;
    let new = NewKey {
        label: wanted.label,
        agents: Some(vec![name.to_string()]),
        scopes: wanted.scopes,
        tenant: tenant.map(str::to_owned),
        subject: None,
        expires: lasts.map(clock::after_now),
    };
    let by = By {
        who: caller.owner().as_str().to_owned(),
        address: caller.address(),
    };
    let made = desk.keys.issue(new, &by, desk.most).await?;
    made.ok_or_else(|| {
        let most = desk.most;
        let message = format!(
            "you have {most} active keys, the maximum: revoke one, or wait until one expires"
        );
        refuse("max_keys", Error::new(ErrorKind::PermissionDenied, message)).into()
    })
}

fn read(body: &[u8]) -> Result<Wanted, Error> {
    if body.is_empty() {
        return Ok(Wanted::default());
    }
    // A list would be taken for the fields in their order.
    let read = serde_json::from_slice(body).map(Value::Object);
    read.and_then(serde_json::from_value)
        .map_err(|error| Error::invalid_params("body", error.to_string()))
}

fn refuse(refusal: &Refusal) -> Response<Body> {
    let (status, body) = rest::write_error(Dialect::V1, &refusal.error);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = super::json(status, JSON, body);
    challenge(response.headers_mut(), refusal);
    tell_scopes(response.headers_mut(), &refusal.error);
    tell_when_to_retry(response.headers_mut(), &refusal.error);
    response
}
