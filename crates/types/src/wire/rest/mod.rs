//! HTTP with JSON bodies: from a route, a query and a body to an operation, and errors back; and the other way, from
//! an operation to a request.
//!
//! - `route`: which operation a verb and a path name.
//! - `query`: query parameters.
//! - `ask`: the request of a client.
//!
//! Called by the server's REST binding and the client's. Successful bodies are `wire::encode_response` and
//! `wire::decode_response`, stream items `wire::encode_event` and `wire::decode_event`.

mod ask;
mod query;
mod route;

pub use ask::{Asked, encode_segment, write_request};
pub use route::{Route, RouteError, route};

use self::query::Query;
use super::count;
use super::object::PushConfig as WirePushConfig;
use super::read::{self, Text};
use super::{Request, v0_3, v1_0};
use crate::error::{Error, ErrorKind};
use crate::operation::{Method, Operation};
use crate::version::{Dialect, FileBytes, ProtocolVersion, VersionHeader};

/// Decodes a request to `route` of a caller with this form of files, and tells in which dialect to answer.
///
/// 0.3 has two spellings; a body shows which one, and without a body it is `ProtoJSON`, which the
/// official SDKs expect.
///
/// # Errors
///
/// `Parse` for a body that is no JSON, `InvalidParams` for anything wrong in path, query or body;
/// with the dialect to say it in.
pub fn decode(
    route: &Route,
    files: FileBytes,
    query: Option<&str>,
    body: &[u8],
) -> Result<(Dialect, Request), (Dialect, Error)> {
    match route.version {
        ProtocolVersion::V1_0 => decode_v1(route, query, body)
            .map(|request| (Dialect::V1, request))
            .map_err(|error| (Dialect::V1, error)),
        ProtocolVersion::V0_3 => {
            decode_v0(route, files, query, body).map(|(dialect, operation)| {
                let request = Request {
                    operation,
                    tenant: None,
                };
                (dialect, request)
            })
        }
    }
}

/// How answers to a version are spelled, before a body shows it.
#[must_use]
pub fn dialect_of(version: ProtocolVersion) -> Dialect {
    match version {
        ProtocolVersion::V1_0 => Dialect::V1,
        ProtocolVersion::V0_3 => Dialect::V0Proto(FileBytes::default()),
    }
}

/// How to spell an error at an address that is nobody's.
#[must_use]
pub fn dialect_of_errors(asked: &str) -> Dialect {
    ProtocolVersion::requested(asked).map_or(Dialect::V1, dialect_of)
}

impl Route {
    /// The path says the version; a header that says another one is refused, and so is its absence on a path of 1.0 if
    /// it is required.
    ///
    /// # Errors
    ///
    /// `VersionNotSupported`, with what to do about it.
    pub fn require_version(&self, asked: &str, header: VersionHeader) -> Result<(), Error> {
        let unnamed = asked.trim().is_empty() && header == VersionHeader::Optional;
        if ProtocolVersion::requested(asked)? == self.version || unnamed {
            return Ok(());
        }
        let hint = match self.version {
            ProtocolVersion::V1_0 => {
                "this address speaks A2A 1.0: send the header A2A-Version: 1.0"
            }
            ProtocolVersion::V0_3 => "this address speaks A2A 0.3: 1.0 has no /v1 in its paths",
        };
        let error = Error::new(ErrorKind::VersionNotSupported, hint);
        Err(error.fact("supportedVersions", self.version.name()))
    }
}

/// What the bodies of a dialect are called.
#[must_use]
pub fn media_type(dialect: Dialect) -> &'static str {
    match dialect.version() {
        ProtocolVersion::V1_0 => "application/a2a+json",
        ProtocolVersion::V0_3 => "application/json",
    }
}

/// Writes an error: its HTTP status and its body.
#[must_use]
pub fn write_error(dialect: Dialect, error: &Error) -> (u16, Vec<u8>) {
    let mut out = Vec::with_capacity(256);
    match dialect {
        Dialect::V1 => v1_0::error::rest(error, &mut out),
        Dialect::V0Json | Dialect::V0Proto(_) => v0_3::error::rest(error, &mut out),
    }
    (super::error_status(dialect, error.kind()), out)
}

/// Whether a query may name a tenant: one that cannot be read may.
#[must_use]
pub fn may_name_tenant(query: Option<&str>) -> bool {
    let tenant = Query::parse(query).and_then(|query| query.text(&["tenant"]).map(|t| t.is_some()));
    tenant.unwrap_or(true)
}

/// What the path names must be what body and query name, where they name it too.
fn agree<'a>(
    name: &'static str,
    path: Option<&'a str>,
    said: Option<Text<'a>>,
) -> Result<Option<Text<'a>>, Error> {
    let said = said.filter(|said| !said.as_str().is_empty());
    match (path, said) {
        (Some(path), Some(said)) if said.as_str() != path => Err(Error::invalid_params(
            name,
            "must be the same in the path, the query and the body",
        )),
        (Some(path), _) => Ok(Some(Text(path.into()))),
        (None, said) => Ok(said),
    }
}

/// A body that may be left out.
fn optional_body<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<T, Error> {
    if body.trim_ascii().is_empty() {
        read::decode("{}")
    } else {
        read::decode_bytes(body)
    }
}

fn decode_v1(route: &Route, query: Option<&str>, body: &[u8]) -> Result<Request, Error> {
    let query = Query::parse(query)?;
    let (task, config) = (route.task_id.as_deref(), route.config_id.as_deref());
    let tenant = agree("tenant", route.tenant.as_deref(), query.text(&["tenant"])?)?;
    let tenant = tenant.as_ref().map(Text::as_str);
    match route.method {
        Method::Send | Method::Stream => {
            let mut params: v1_0::request::SendMessage<'_> = count::decode_bytes(body)?;
            params.tenant = agree("tenant", tenant, params.tenant)?;
            params.request(if route.method == Method::Send {
                Operation::Send
            } else {
                Operation::Stream
            })
        }
        Method::Get | Method::Cancel | Method::Subscribe | Method::ExtendedCard => {
            let mut params: v1_0::request::TaskParams<'_> = optional_body(body)?;
            params.tenant = agree("tenant", tenant, params.tenant)?;
            let id = agree("id", task, query.text(&["id"])?)?;
            params.id = agree("id", id.as_ref().map(Text::as_str), params.id)?;
            let length = query.int(&["historyLength", "history_length"])?;
            params.history_length = params.history_length.or(length);
            match route.method {
                Method::Get => params.get(),
                Method::Cancel => params.cancel(),
                Method::Subscribe => params.subscribe(),
                _ => Ok(params.extended_card()),
            }
        }
        Method::List => list_tasks(&query, tenant)?.request(),
        Method::CreatePushConfig => {
            let mut params: WirePushConfig<'_> = read::decode_bytes(body)?;
            params.tenant = agree("tenant", tenant, params.tenant)?;
            params.task_id = agree("taskId", task, params.task_id)?;
            v1_0::request::create_push_config(params)
        }
        Method::GetPushConfig | Method::ListPushConfigs | Method::DeletePushConfig => {
            let params = v1_0::request::PushParams {
                tenant: tenant.map(|tenant| Text(tenant.into())),
                task_id: agree("taskId", task, query.text(&["taskId", "task_id"])?)?,
                id: agree("id", config, query.text(&["id"])?)?,
                page_size: query.int(&["pageSize", "page_size"])?,
                page_token: query.text(&["pageToken", "page_token"])?,
            };
            match route.method {
                Method::GetPushConfig => params.get(),
                Method::ListPushConfigs => params.list(),
                _ => params.delete(),
            }
        }
    }
}

fn list_tasks<'a>(
    query: &Query<'a>,
    tenant: Option<&'a str>,
) -> Result<v1_0::request::ListTasks<'a>, Error> {
    Ok(v1_0::request::ListTasks {
        tenant: tenant.map(|tenant| Text(tenant.into())),
        context_id: query.text(&["contextId", "context_id"])?,
        status: query.word(&["status"])?,
        page_size: query.int(&["pageSize", "page_size"])?,
        page_token: query.text(&["pageToken", "page_token"])?,
        history_length: query.int(&["historyLength", "history_length"])?,
        status_timestamp_after: query.text(&["statusTimestampAfter", "status_timestamp_after"])?,
        include_artifacts: query.bool(&["includeArtifacts", "include_artifacts"])?,
    })
}

fn decode_v0(
    route: &Route,
    files: FileBytes,
    query: Option<&str>,
    body: &[u8],
) -> Result<(Dialect, Operation), (Dialect, Error)> {
    // Until the body says otherwise.
    let proto = |error| (Dialect::V0Proto(files), error);
    let (dialect, operation) = match route.method {
        Method::Send | Method::Stream => {
            let params: v0_3::request::SendParams<'_> = count::decode_bytes(body).map_err(proto)?;
            let dialect = params.dialect().with_files(files);
            let operation = params.send(
                dialect,
                if route.method == Method::Send {
                    Operation::Send
                } else {
                    Operation::Stream
                },
            );
            (dialect, operation)
        }
        Method::CreatePushConfig => {
            let params: v0_3::push::SetPushConfig<'_> = read::decode_bytes(body).map_err(proto)?;
            let dialect = params.dialect().with_files(files);
            (dialect, params.operation(dialect, route.task_id.as_deref()))
        }
        _ => (Dialect::V0Proto(files), bodiless_v0(route, query, body)),
    };
    operation
        .map(|operation| (dialect, operation))
        .map_err(|error| (dialect, error))
}

/// The operations of 0.3 that the path names completely; a body may hold no more than metadata.
fn bodiless_v0(route: &Route, query: Option<&str>, body: &[u8]) -> Result<Operation, Error> {
    let query = Query::parse(query)?;
    if route.method == Method::List {
        return Ok(list_tasks(&query, None)?.request()?.operation);
    }
    let mut params: v0_3::request::TaskParams<'_> = optional_body(body)?;
    let said = params.id.take().or(params.task_id.take());
    params.id = agree("id", route.task_id.as_deref(), said)?;
    params.config_id = agree("configId", route.config_id.as_deref(), params.config_id)?;
    params.history_length = query.int(&["historyLength", "history_length"])?;
    match route.method {
        Method::Get => params.get(),
        Method::Cancel => params.cancel(),
        Method::Subscribe => params.subscribe(),
        Method::GetPushConfig => params.get_push_config(),
        Method::ListPushConfigs => params.list_push_configs(),
        Method::DeletePushConfig => params.delete_push_config(),
        // The first three have a body and the fourth has been answered above.
        Method::Send
        | Method::Stream
        | Method::CreatePushConfig
        | Method::List
        | Method::ExtendedCard => Ok(Operation::ExtendedCard),
    }
}
