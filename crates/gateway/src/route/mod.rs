//! Which agent?
//!
//! - `table`: path, tenant or default name one.
//! - `rules`: what is said to it decides whether another one takes it.

pub(crate) mod rules;
mod table;

pub use table::Table;
