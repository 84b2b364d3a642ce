//! The two services that every gRPC server has beside its own: health and reflection.
//!
//! Pure: one message in, one message out. Reflection has the same messages as `v1` and `v1alpha`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use prost::Message as _;
use prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};
use switchboard_proto::health::health_check_response::ServingStatus;
use switchboard_proto::health::{HealthCheckRequest, HealthCheckResponse};
use switchboard_proto::reflection::server_reflection_request::MessageRequest;
use switchboard_proto::reflection::server_reflection_response::MessageResponse;
use switchboard_proto::reflection::{
    ErrorResponse, ExtensionNumberResponse, FileDescriptorResponse, ListServiceResponse,
    ServerReflectionRequest, ServerReflectionResponse, ServiceResponse,
};

use super::{DESCRIPTORS, parse};
use crate::error::Error;

/// The code of what is not found.
const NOT_FOUND: i32 = 5;
/// The code of what is not offered.
const UNIMPLEMENTED: i32 = 12;

/// Everything reflection can tell.
struct Known {
    services: Vec<String>,
    /// Encoded files by name.
    files: BTreeMap<String, Bytes>,
    /// The names of files by the full names in them.
    symbols: BTreeMap<String, String>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let set: FileDescriptorSet = parse(DESCRIPTORS).unwrap_or_default();
    let mut known = Known {
        services: Vec::new(),
        files: BTreeMap::new(),
        symbols: BTreeMap::new(),
    };
    for file in &set.file {
        known.learn(file);
    }
    known
});

impl Known {
    fn learn(&mut self, file: &FileDescriptorProto) {
        let mut names = Vec::new();
        let package = file.package();
        for message in &file.message_type {
            message_names(package, message, &mut names);
        }
        let enums = file.enum_type.iter();
        names.extend(enums.map(|one| format!("{package}.{}", one.name())));
        for service in &file.service {
            let name = format!("{package}.{}", service.name());
            let rpcs = service.method.iter();
            names.extend(rpcs.map(|rpc| format!("{name}.{}", rpc.name())));
            names.push(name.clone());
            self.services.push(name);
        }
        for name in names {
            self.symbols.insert(name, file.name().to_owned());
        }
        let encoded = Bytes::from(file.encode_to_vec());
        self.files.insert(file.name().to_owned(), encoded);
    }
}

fn message_names(prefix: &str, message: &DescriptorProto, names: &mut Vec<String>) {
    let name = format!("{prefix}.{}", message.name());
    for inner in &message.nested_type {
        message_names(&name, inner, names);
    }
    let enums = message.enum_type.iter();
    names.extend(enums.map(|one| format!("{name}.{}", one.name())));
    names.push(name);
}

/// Answers one question of server reflection.
///
/// # Errors
///
/// `Parse` if it is no question.
pub fn reflect(question: &[u8]) -> Result<Vec<u8>, Error> {
    let question: ServerReflectionRequest = parse(question)?;
    let answer = match &question.message_request {
        Some(MessageRequest::ListServices(_)) => {
            let names = KNOWN.services.iter().cloned();
            MessageResponse::ListServicesResponse(ListServiceResponse {
                service: names.map(|name| ServiceResponse { name }).collect(),
            })
        }
        Some(MessageRequest::FileByFilename(name)) => file(Some(name)),
        Some(MessageRequest::FileContainingSymbol(symbol)) => file(KNOWN.symbols.get(symbol)),
        Some(MessageRequest::AllExtensionNumbersOfType(name)) => {
            MessageResponse::AllExtensionNumbersResponse(ExtensionNumberResponse {
                base_type_name: name.clone(),
                extension_number: Vec::new(),
            })
        }
        Some(MessageRequest::FileContainingExtension(_)) => {
            sorry(NOT_FOUND, "there are no extensions")
        }
        None => sorry(UNIMPLEMENTED, "this question is not known"),
    };
    let answer = ServerReflectionResponse {
        valid_host: question.host.clone(),
        original_request: Some(question),
        message_response: Some(answer),
    };
    Ok(answer.encode_to_vec())
}

fn file(name: Option<&String>) -> MessageResponse {
    match name.and_then(|name| KNOWN.files.get(name)) {
        Some(file) => MessageResponse::FileDescriptorResponse(FileDescriptorResponse {
            file_descriptor_proto: vec![file.clone()],
        }),
        None => sorry(NOT_FOUND, "no such service or symbol"),
    }
}

fn sorry(error_code: i32, message: &str) -> MessageResponse {
    MessageResponse::ErrorResponse(ErrorResponse {
        error_code,
        error_message: message.to_owned(),
    })
}

/// Whether a health check asks for something that is there; the empty name means the whole server.
///
/// # Errors
///
/// `Parse` if it is no health check.
pub fn read_health(check: &[u8]) -> Result<bool, Error> {
    let check: HealthCheckRequest = parse(check)?;
    Ok(check.service.is_empty() || KNOWN.services.contains(&check.service))
}

/// The answer to a health check. `None`: no such service.
#[must_use]
pub fn write_health(serving: Option<bool>) -> Vec<u8> {
    let status = match serving {
        Some(true) => ServingStatus::Serving,
        Some(false) => ServingStatus::NotServing,
        None => ServingStatus::ServiceUnknown,
    };
    HealthCheckResponse {
        status: status.into(),
    }
    .encode_to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::grpc::SERVICES;

    fn ask(question: MessageRequest) -> MessageResponse {
        let question = ServerReflectionRequest {
            host: "here".to_owned(),
            message_request: Some(question),
        };
        let answer = reflect(&question.encode_to_vec()).unwrap();
        let answer = ServerReflectionResponse::decode(&*answer).unwrap();
        assert_eq!(answer.original_request, Some(question));
        answer.message_response.unwrap()
    }

    #[test]
    fn both_services_are_listed_and_described() {
        let MessageResponse::ListServicesResponse(list) =
            ask(MessageRequest::ListServices(String::new()))
        else {
            panic!("no list");
        };
        let listed: Vec<&str> = list.service.iter().map(|one| one.name.as_str()).collect();
        for service in SERVICES {
            assert!(listed.contains(&service), "{listed:?}");
            for symbol in [service.to_owned(), format!("{service}.SendMessage")] {
                let answer = ask(MessageRequest::FileContainingSymbol(symbol));
                let MessageResponse::FileDescriptorResponse(files) = answer else {
                    panic!("no file");
                };
                let file = FileDescriptorProto::decode(&*files.file_descriptor_proto[0]).unwrap();
                assert!(service.starts_with(file.package()));
                // What it imports can be asked for, too.
                for name in file.dependency {
                    let answer = ask(MessageRequest::FileByFilename(name));
                    assert!(matches!(answer, MessageResponse::FileDescriptorResponse(_)));
                }
            }
        }
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let answer = ask(MessageRequest::FileContainingSymbol("no.such.Thing".into()));
        let MessageResponse::ErrorResponse(error) = answer else {
            panic!("no error");
        };
        assert_eq!(error.error_code, NOT_FOUND);
        assert!(reflect(b"\xff").is_err());
    }

    #[test]
    fn health_is_that_of_the_server_or_of_a_service() {
        for (service, known) in [("", true), ("a2a.v1.A2AService", true), ("other", false)] {
            let check = HealthCheckRequest {
                service: service.to_owned(),
            };
            assert_eq!(read_health(&check.encode_to_vec()), Ok(known), "{service}");
        }
        assert_eq!(write_health(Some(true)), [8, 1]);
        assert_eq!(write_health(Some(false)), [8, 2]);
        assert_eq!(write_health(None), [8, 3]);
    }
}
