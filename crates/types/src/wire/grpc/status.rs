//! Errors as gRPC says them: a code, a message, and `google.rpc.Status` with details (A2A 1.0 §10.6).

use prost::{Message as _, Name as _};
use switchboard_proto::rpc;

use super::parse;
use crate::error::{Error, ErrorKind};
use crate::version::ProtocolVersion;
use crate::wire::{v0_3, v1_0};

/// An error in the trailers of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The number of the gRPC code.
    pub code: i32,
    /// For people.
    pub message: String,
    /// An encoded `google.rpc.Status`, for `grpc-status-details-bin`.
    pub details: Vec<u8>,
}

/// The names of the codes, each at its number.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];
