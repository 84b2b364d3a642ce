//! A2A 1.0: `ProtoJSON` of package `lf.a2a.v1` (A2A 1.0 §5.5 to §5.7).
//!
//! - `object`: messages, parts and stream items, read.
//! - `request`: the parameters of the eleven operations, read.
//! - `params`: the same, written.
//! - `encode`: everything else that leaves.
//! - [`error`]: numbers, statuses and bodies of errors.
//!
//! Called by `wire` for [`Dialect::V1`](crate::Dialect::V1); also the form of stored rows.

pub(crate) mod encode;
pub mod error;
pub(crate) mod object;
pub(crate) mod params;
pub(crate) mod request;
