//! Which agent?

mod table;

pub use table::Table;
