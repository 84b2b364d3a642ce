//! The card codecs: real cards, leniency, the shapes, and round trips.

#[cfg(test)]
mod golden;
#[cfg(all(test, feature = "grpc"))]
mod grpc;
#[cfg(test)]
mod lenient;
#[cfg(test)]
mod roundtrip;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod shapes;
