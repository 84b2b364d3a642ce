//! Which operation a verb and a path name, below an agent's base.
//!
//! `/v1/…` is 0.3, everything else 1.0, there with one optional leading segment for the tenant.

use std::borrow::Cow;

use super::query::decode;
use crate::operation::Method;
use crate::version::ProtocolVersion;

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The version the path belongs to.
    pub version: ProtocolVersion,
    /// The operation.
    pub method: Method,
    /// The tenant in the path.
    pub tenant: Option<String>,
    /// The task in the path.
    pub task_id: Option<String>,
    /// The push config in the path.
    pub config_id: Option<String>,
}

/// Why a request goes nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteError {
    /// No such path.
    NotFound,
    /// The path is fine, the verb is not; holds the `Allow` header.
    MethodNotAllowed(&'static str),
}

/// One segment of a path.
struct Segment<'a> {
    raw: &'a str,
    text: Cow<'a, str>,
}

/// What a path offers: a verb and what it does there.
type Offer = &'static [(&'static str, Method)];

/// Finds the operation.
///
/// # Errors
///
/// If there is no such path, or it takes another verb.
pub fn route(verb: &str, path: &str) -> Result<Route, RouteError> {
    let segments = split(path).ok_or(RouteError::NotFound)?;
    let (version, tenant, rest) = match segments.as_slice() {
        [first, rest @ ..] if first.text == "v1" => (ProtocolVersion::V0_3, None, rest),
        [first, ..] if starts_a_path(&first.text) => (ProtocolVersion::V1_0, None, &segments[..]),
        // A tenant is one segment: one with a slash inside could not be told from two.
        [tenant, rest @ ..] if !tenant.text.contains('/') => {
            (ProtocolVersion::V1_0, Some(tenant.text.as_ref()), rest)
        }
        _ => return Err(RouteError::NotFound),
    };
    let (offer, task_id, config_id) = offer(version, rest).ok_or(RouteError::NotFound)?;
    let found = offer.iter().find(|(allowed, _)| *allowed == verb);
    let Some((_, method)) = found else {
        return Err(RouteError::MethodNotAllowed(allow(offer)));
    };
    Ok(Route {
        version,
        method: *method,
        tenant: tenant.map(str::to_owned),
        task_id,
        config_id,
    })
}

/// First segments that are no tenants.
pub(super) fn starts_a_path(segment: &str) -> bool {
    matches!(
        segment,
        "tasks" | "message:send" | "message:stream" | "extendedAgentCard"
    )
}

fn split(path: &str) -> Option<Vec<Segment<'_>>> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    path.split('/')
        .map(|raw| {
            let text = decode(raw, false).filter(|text| !text.is_empty())?;
            Some(Segment { raw, text })
        })
        .collect()
}

/// What stands at a path, and the task and the config it names.
fn offer(
    version: ProtocolVersion,
    path: &[Segment<'_>],
) -> Option<(Offer, Option<String>, Option<String>)> {
    let older = version == ProtocolVersion::V0_3;
    match path {
        [one] => match one.text.as_ref() {
            "message:send" => Some((&[("POST", Method::Send)], None, None)),
            "message:stream" => Some((&[("POST", Method::Stream)], None, None)),
            "tasks" => Some((&[("GET", Method::List)], None, None)),
            "card" if older => Some((&[("GET", Method::ExtendedCard)], None, None)),
            "extendedAgentCard" if !older => Some((&[("GET", Method::ExtendedCard)], None, None)),
            _ => None,
        },
        [tasks, id] if tasks.text == "tasks" => {
            let (offer, id) = verb_of_task(id)?;
            Some((offer, Some(id), None))
        }
        // The proto of 0.3 spells this path `task/*`, a slip its SDKs repaired.
        [tasks, id, configs, rest @ ..]
            if (tasks.text == "tasks" || (older && tasks.text == "task"))
                && configs.text == "pushNotificationConfigs" =>
        {
            let task = Some(id.text.to_string());
            match rest {
                [] => Some((
                    &[
                        ("GET", Method::ListPushConfigs),
                        ("POST", Method::CreatePushConfig),
                    ],
                    task,
                    None,
                )),
                [config] => Some((
                    &[
                        ("GET", Method::GetPushConfig),
                        ("DELETE", Method::DeletePushConfig),
                    ],
                    task,
                    Some(config.text.to_string()),
                )),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `{id}`, `{id}:cancel` or `{id}:subscribe`, split at the last colon as it was sent: a colon in an
/// id that ends like a verb arrives percent-encoded. The proto has GET for subscribe, the text
/// POST: both are served.
fn verb_of_task(segment: &Segment<'_>) -> Option<(Offer, String)> {
    let (id, offer): (_, Offer) = match segment.raw.rsplit_once(':') {
        Some((id, "cancel")) => (id, &[("POST", Method::Cancel)]),
        Some((id, "subscribe")) => (
            id,
            &[("GET", Method::Subscribe), ("POST", Method::Subscribe)],
        ),
        _ => (segment.raw, &[("GET", Method::Get)]),
    };
    let id = decode(id, false)?;
    (!id.is_empty()).then(|| (offer, id.into_owned()))
}

/// The `Allow` header of an offer.
fn allow(offer: Offer) -> &'static str {
    match offer {
        [("GET", _)] => "GET",
        [("POST", _)] => "POST",
        [("GET", _), ("DELETE", _)] => "GET, DELETE",
        _ => "GET, POST",
    }
}
