//! Encrypted connections, on the real binary.
//!
//! | file | what is shown |
//! |---|---|
//! | `versions` | what is spoken, and what is not |
//! | `bindings` | every binding and streams, with our own client |
//! | `reload` | certificates that change while we serve |
//! | `clients` | callers who are known by their certificates |
//! | `sockets` | those who say nothing, too little or something else |
//! | `self_signed` | `--tls self-signed` |
#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]

mod bindings;
mod clients;
mod reload;
mod self_signed;
mod sockets;
mod versions;
mod world;
