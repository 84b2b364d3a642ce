//! The wire codecs from outside: what real peers sent, what each version must look like, and what
//! survives the way there and back.

mod encode;
mod errors;
mod golden;
mod jsonrpc;
mod lenient;
mod losses;
mod rest;
mod roundtrip;
mod sample;
