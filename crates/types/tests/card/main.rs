//! The card codecs: real cards, leniency, the shapes, and round trips.

#[cfg(test)]
mod golden;
#[cfg(test)]
#[cfg(feature = "grpc")]
mod grpc;
#[cfg(test)]
mod lenient;
#[cfg(test)]
mod roundtrip;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod shapes;
