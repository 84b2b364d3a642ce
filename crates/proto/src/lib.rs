//! A2A over gRPC: the messages of both packages, generated from our own .proto files.
//!
//! Only messages: one function serves all operations, so there are no services to implement. The code is committed;
//! `tests/generated.rs` makes it anew and compares (`BLESS=1` writes it). Used by `switchboard-types` and by nobody else.

/// Package `lf.a2a.v1`: A2A 1.0.
#[rustfmt::skip]
#[expect(missing_docs, reason = "generated; the .proto file says what there is to say")]
pub mod v1_0;

/// Package `a2a.v1`: A2A 0.3. Messages that say the same under the same numbers are those of 1.0.
#[rustfmt::skip]
#[expect(missing_docs, reason = "generated; the .proto file says what there is to say")]
pub mod v0_3;

/// Package `google.rpc`: what an error says beside its code.
#[rustfmt::skip]
#[expect(missing_docs, reason = "generated; the .proto file says what there is to say")]
pub mod rpc;

/// Package `grpc.health.v1`: whether a service takes requests.
#[rustfmt::skip]
#[expect(missing_docs, reason = "generated; the .proto file says what there is to say")]
pub mod health;

/// Package `grpc.reflection.v1`: what services there are. `v1alpha` says the same under the same numbers.
#[rustfmt::skip]
#[expect(missing_docs, reason = "generated; the .proto file says what there is to say")]
pub mod reflection;

/// The .proto files and what they import, as an encoded `google.protobuf.FileDescriptorSet`: for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!("descriptors.bin");
