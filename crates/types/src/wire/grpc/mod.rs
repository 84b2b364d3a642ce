//! A2A over gRPC: bytes of protobuf messages and the model, in both packages.
//!
//! The package in an rpc's path is the version. Frames, metadata and trailers are the transport's: here are only the
//! messages in them. Called by the gRPC bindings of server and client.
//!
//! - `v1_0`, `v0_3`: the messages of a package.
//! - `card`, `security`: what cards of both have in common.
//! - `status`: errors; `services`: health and reflection.
//! - `json`, `field`: free JSON and single fields.
//! - `count`: the bound on what a message may hold.

mod card;
mod count;
mod field;
mod json;
mod losses;
mod security;
mod services;
mod status;
mod v0_3;
mod v1_0;

use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::model::{AgentCard, Binding, Event, Task};
use crate::operation::{Method, Operation, Response, TaskView};
use crate::version::{Dialect, FileBytes, ProtocolVersion};
use crate::wire::Request;

pub use losses::LOSSES;
pub use services::{read_health, reflect, write_health};
pub use status::{Status, read_status, write_status};
pub use switchboard_proto::DESCRIPTORS;

/// The services, as reflection and health name them.
pub const SERVICES: [&str; 2] = ["lf.a2a.v1.A2AService", "a2a.v1.A2AService"];

/// What is spoken with a peer: a package, and how it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoken {
    /// The version, which the package tells.
    pub version: ProtocolVersion,
    /// What the field for the bytes of a file holds. Only 0.3 has two forms.
    pub files: FileBytes,
}

impl Spoken {
    /// What is spoken in `version` with a peer that has this way with files: in 1.0 there is but one, so that what is
    /// encoded for one peer serves all.
    #[must_use]
    pub fn new(version: ProtocolVersion, files: FileBytes) -> Self {
        let files = match version {
            ProtocolVersion::V1_0 => FileBytes::Raw,
            ProtocolVersion::V0_3 => files,
        };
        Self { version, files }
    }

    /// Whether a stream item says that it is the last one.
    #[must_use]
    pub fn tells_last(self) -> bool {
        match self.version {
            ProtocolVersion::V1_0 => false,
            ProtocolVersion::V0_3 => true,
        }
    }

    /// The dialect its messages stand for.
    #[must_use]
    pub fn dialect(self) -> Dialect {
        Dialect::spoken(&Binding::Grpc, self.version).with_files(self.files)
    }
}

/// The rpcs of both packages. 0.3 has no list of tasks.
const RPCS: [(Method, &str, Option<&str>); 11] = [
    (Method::Send, "SendMessage", Some("SendMessage")),
    (
        Method::Stream,
        "SendStreamingMessage",
        Some("SendStreamingMessage"),
    ),
    (Method::Get, "GetTask", Some("GetTask")),
    (Method::List, "ListTasks", None),
    (Method::Cancel, "CancelTask", Some("CancelTask")),
    (
        Method::Subscribe,
        "SubscribeToTask",
        Some("TaskSubscription"),
    ),
    (
        Method::CreatePushConfig,
        "CreateTaskPushNotificationConfig",
        Some("CreateTaskPushNotificationConfig"),
    ),
    (
        Method::GetPushConfig,
        "GetTaskPushNotificationConfig",
        Some("GetTaskPushNotificationConfig"),
    ),
    (
        Method::ListPushConfigs,
        "ListTaskPushNotificationConfigs",
        Some("ListTaskPushNotificationConfig"),
    ),
    (
        Method::DeletePushConfig,
        "DeleteTaskPushNotificationConfig",
        Some("DeleteTaskPushNotificationConfig"),
    ),
    (
        Method::ExtendedCard,
        "GetExtendedAgentCard",
        Some("GetAgentCard"),
    ),
];

/// What the path of a request means: the version, and the method if that version has it. `None` if it is none of our
/// services.
#[must_use]
pub fn read_path(path: &str) -> Option<(ProtocolVersion, Option<Method>)> {
    let (service, rpc) = path.strip_prefix('/')?.split_once('/')?;
    let version = *ProtocolVersion::ALL
        .iter()
        .find(|version| service_name(**version) == service)?;
    let found = RPCS
        .iter()
        .find(|(method, _, _)| rpc_name(version, *method) == Some(rpc));
    Some((version, found.map(|(method, _, _)| *method)))
}

/// The path of an rpc; `None` if that version does not have it.
#[must_use]
pub fn write_path(version: ProtocolVersion, method: Method) -> Option<String> {
    let rpc = rpc_name(version, method)?;
    Some(format!("/{}/{rpc}", service_name(version)))
}

fn service_name(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::V1_0 => SERVICES[0],
        ProtocolVersion::V0_3 => SERVICES[1],
    }
}

fn rpc_name(version: ProtocolVersion, method: Method) -> Option<&'static str> {
    let (_, new, old) = RPCS.iter().find(|(known, _, _)| *known == method)?;
    match version {
        ProtocolVersion::V1_0 => Some(new),
        ProtocolVersion::V0_3 => *old,
    }
}

/// Whether the version in a request's metadata is that of its package. None is fine: the package says it.
///
/// # Errors
///
/// `VersionNotSupported` if it is another one.
pub fn require_version(version: ProtocolVersion, said: &str) -> Result<(), Error> {
    if said.trim().is_empty() || ProtocolVersion::requested(said) == Ok(version) {
        return Ok(());
    }
    Err(ProtocolVersion::not_supported(said))
}

/// Decodes a request.
///
/// # Errors
///
/// `InvalidParams` with the path of the bad field; `Parse` if it is no such message.
pub fn decode_request(spoken: Spoken, method: Method, bytes: &[u8]) -> Result<Request, Error> {
    match spoken.version {
        ProtocolVersion::V1_0 => v1_0::request::decode(method, bytes),
        ProtocolVersion::V0_3 => {
            let operation = v0_3::request::decode(spoken.files, method, bytes)?;
            Ok(Request {
                operation,
                tenant: None,
            })
        }
    }
}

/// Encodes a request. Only 1.0 can name a tenant.
///
/// # Errors
///
/// `UnsupportedOperation` if the version does not have the operation.
pub fn encode_request(
    spoken: Spoken,
    operation: &Operation,
    tenant: Option<&str>,
) -> Result<Vec<u8>, Error> {
    match spoken.version {
        ProtocolVersion::V1_0 => Ok(v1_0::request::encode(operation, tenant)),
        ProtocolVersion::V0_3 => v0_3::request::encode(spoken.files, operation),
    }
}

/// Encodes an answer.
#[must_use]
pub fn encode_response(spoken: Spoken, response: &Response) -> Vec<u8> {
    match spoken.version {
        ProtocolVersion::V1_0 => v1_0::answer::encode(response),
        ProtocolVersion::V0_3 => v0_3::answer::encode(spoken.files, response),
    }
}

/// Decodes the answer to `method`, streams apart.
///
/// # Errors
///
/// As [`decode_request`].
pub fn decode_response(spoken: Spoken, method: Method, bytes: &[u8]) -> Result<Response, Error> {
    count::check_answer(spoken.version, method, bytes)?;
    match spoken.version {
        ProtocolVersion::V1_0 => v1_0::answer::decode(method, bytes),
        ProtocolVersion::V0_3 => v0_3::answer::decode(spoken.files, method, bytes),
    }
}

/// A card as it comes out of the messages of 0.3: what they cannot say is lost.
pub(super) fn card_in_0x(card: &AgentCard) -> Option<AgentCard> {
    let files = FileBytes::default();
    let written = v0_3::answer::encode(files, &Response::Card(Box::new(card.clone())));
    match v0_3::answer::decode(files, Method::ExtendedCard, &written) {
        Ok(Response::Card(card)) => Some(*card),
        _ => None,
    }
}

/// Encodes a stream item. `last`: nothing follows it on this response, which 0.3 says as `final`.
#[must_use]
pub fn encode_event(spoken: Spoken, event: &Event, last: bool) -> Vec<u8> {
    match spoken.version {
        ProtocolVersion::V1_0 => v1_0::answer::encode_event(event),
        ProtocolVersion::V0_3 => v0_3::answer::encode_event(spoken.files, event, last),
    }
}

/// Decodes a stream item.
///
/// # Errors
///
/// As [`decode_request`].
pub fn decode_event(spoken: Spoken, bytes: &[u8]) -> Result<Event, Error> {
    count::check_answer(spoken.version, Method::Stream, bytes)?;
    match spoken.version {
        ProtocolVersion::V1_0 => v1_0::answer::decode_event(bytes),
        ProtocolVersion::V0_3 => v0_3::answer::decode_event(spoken.files, bytes),
    }
}

/// Whether a stream item says that it is the last one, which only 0.3 does.
#[must_use]
pub fn says_final(spoken: Spoken, bytes: &[u8]) -> bool {
    match spoken.version {
        ProtocolVersion::V1_0 => false,
        ProtocolVersion::V0_3 => v0_3::answer::says_final(bytes),
    }
}

/// Reads a protobuf message.
fn parse<M: prost::Message + Default>(bytes: &[u8]) -> Result<M, Error> {
    M::decode(bytes).map_err(|reason| {
        Error::new(
            ErrorKind::Parse,
            format!("the message cannot be read: {reason}"),
        )
    })
}

/// A task as it came.
fn whole(task: Task) -> TaskView {
    TaskView {
        task: Arc::new(task),
        history_length: None,
        artifacts: true,
    }
}

fn no_such_rpc() -> Error {
    Error::unsupported("A2A 0.3 has no list of tasks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rpc_has_its_path_and_no_other() {
        for version in ProtocolVersion::ALL {
            for method in Method::ALL {
                match write_path(version, method) {
                    Some(path) => assert_eq!(read_path(&path), Some((version, Some(method)))),
                    None => assert_eq!((version, method), (ProtocolVersion::V0_3, Method::List)),
                }
            }
        }
        let unknown = read_path("/a2a.v1.A2AService/ListTasks");
        assert_eq!(unknown, Some((ProtocolVersion::V0_3, None)));
        for path in [
            "",
            "/",
            "/a2a.v1.A2AService",
            "/grpc.health.v1.Health/Check",
        ] {
            assert_eq!(read_path(path), None, "{path}");
        }
    }

    #[test]
    fn the_version_said_must_be_that_of_the_package() {
        assert!(require_version(ProtocolVersion::V1_0, "").is_ok());
        assert!(require_version(ProtocolVersion::V1_0, "1.0").is_ok());
        assert!(require_version(ProtocolVersion::V0_3, "0.3.0").is_ok());
        for (version, said) in [
            (ProtocolVersion::V1_0, "99.0"),
            (ProtocolVersion::V1_0, "0.3"),
            (ProtocolVersion::V0_3, "1.0"),
        ] {
            let error = require_version(version, said).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::VersionNotSupported, "{said}");
        }
    }
}
