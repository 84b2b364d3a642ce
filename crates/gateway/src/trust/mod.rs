//! From what the configuration says of trust to the parts that keep it.
//!
//! - `auth`: the ways to show who one is, and which of them open an agent's door.

mod auth;

pub(crate) use auth::{Methods, doors, ruled, rules};
