//! gRPC messages, in both packages. What is taken must come back the same after encoding.

use switchboard_types::operation::Method;
use switchboard_types::wire::grpc::{self, Spoken};
use switchboard_types::{FileBytes, ProtocolVersion};

/// What may be spoken.
const SPOKEN: [Spoken; 3] = [
    Spoken {
        version: ProtocolVersion::V1_0,
        files: FileBytes::Raw,
    },
    Spoken {
        version: ProtocolVersion::V0_3,
        files: FileBytes::Raw,
    },
    Spoken {
        version: ProtocolVersion::V0_3,
        files: FileBytes::Base64,
    },
];

/// The first byte picks the method and what is spoken.
fn picked(data: &[u8]) -> Option<(Spoken, Method, &[u8])> {
    let (first, rest) = data.split_first()?;
    let first = usize::from(*first);
    let method = Method::ALL[first % Method::ALL.len()];
    let spoken = SPOKEN[first / Method::ALL.len() % SPOKEN.len()];
    Some((spoken, method, rest))
}

/// A request.
pub(crate) fn request(data: &[u8]) {
    let Some((spoken, method, bytes)) = picked(data) else {
        return;
    };
    match grpc::decode_request(spoken, method, bytes) {
        Ok(request) => {
            let tenant = request.tenant.as_deref();
            let again = grpc::encode_request(spoken, &request.operation, tenant).expect("an rpc");
            let again = grpc::decode_request(spoken, method, &again);
            assert_eq!(again.as_ref(), Ok(&request));
        }
        Err(error) => {
            let said = grpc::write_status(spoken.version, &error);
            let told = grpc::read_status(spoken.version, said.code, &said.message, &said.details);
            assert_eq!(told.kind(), error.kind());
        }
    }
    drop(grpc::reflect(bytes));
    drop(grpc::read_health(bytes));
}

/// An answer, a stream item, an error.
pub(crate) fn answer(data: &[u8]) {
    let Some((spoken, method, bytes)) = picked(data) else {
        return;
    };
    if let Ok(event) = grpc::decode_event(spoken, bytes) {
        let again = grpc::encode_event(spoken, &event, false);
        assert_eq!(grpc::decode_event(spoken, &again), Ok(event));
    }
    if let Ok(first) = grpc::decode_response(spoken, method, bytes) {
        let through = |response| {
            let bytes = grpc::encode_response(spoken, response);
            grpc::decode_response(spoken, method, &bytes).expect("what was written")
        };
        // The first time interfaces of a card are put in order.
        let second = through(&first);
        assert_eq!(through(&second), second);
    }
    drop(grpc::read_status(spoken.version, 9, "no", bytes));
}
