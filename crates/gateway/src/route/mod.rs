//! Rules: what is said to an agent decides whether another one takes it. Which agent a path or tenant names is decided by
//! the server's [`Table`](switchboard_server::table::Table).

pub(crate) mod rules;
