//! What A2A says, in every version; no runtime, no network.
//!
//! # Layout
//!
//! - [`backoff`]: delays between attempts, and what `Retry-After` says; everything that retries uses it.
//! - [`model`]: the one strict model. It is shaped like A2A 1.0 and knows no wire: no type in it
//!   derives serde.
//! - [`operation`]: the eleven things a caller can ask for, and what is answered.
//! - [`error`]: the closed list of ways a call can fail.
//! - [`printable`]: text of others, made safe for terminals and reports.
//! - [`version`]: protocol versions and wire dialects, and how a request picks one.
//! - [`wire`]: codecs between bytes and the model, one folder per version. Versions are matched
//!   in [`version`] and [`wire`] and nowhere else in Switchboard.
//!
//! Bad input dies in the conversion from wire to model, as an [`error::Error`] that names the path
//! of the bad field.

pub mod backoff;
pub mod error;
pub mod model;
pub mod operation;
pub mod printable;
pub mod version;
pub mod wire;

pub use error::{Error, ErrorKind};
pub use version::{Dialect, FileBytes, Notified, ProtocolVersion, VersionHeader};
