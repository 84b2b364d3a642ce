//! The wire codecs from outside: what real peers sent, what each version must look like, and what
//! survives the way there and back.

#[cfg(test)]
mod answered;
#[cfg(test)]
mod answers;
#[cfg(test)]
mod asked;
#[cfg(test)]
mod client;
#[cfg(test)]
mod duplicates;
#[cfg(test)]
mod encode;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod golden;
#[cfg(test)]
#[cfg(feature = "grpc")]
mod grpc;
#[cfg(test)]
mod jsonrpc;
#[cfg(test)]
mod lenient;
#[cfg(test)]
mod losses;
#[cfg(test)]
mod nesting;
#[cfg(test)]
mod rendering;
#[cfg(test)]
mod rest;
#[cfg(test)]
mod roundtrip;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod sse;
