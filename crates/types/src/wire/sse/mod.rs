//! Server-sent events.
//!
//! - `write`: how one JSON document becomes a frame. Called by the server's streams.
//! - `read`: frames out of the pieces that a connection gives. Called by the client's streams.

mod read;
mod write;

pub use read::{Frame, Reader, TooLong};
pub use write::{KEEP_ALIVE, around_data, write_frame};
