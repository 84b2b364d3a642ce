//! What tests need: of this crate, and of others that bring a store of their own.

pub mod store_suite;
