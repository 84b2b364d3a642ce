//! gRPC from outside: a server on a socket, and a client that knows nothing but tonic and the messages.

#![expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]

mod calls_0_3;
mod calls_1_0;
mod edges;
mod peer;
mod streams;
