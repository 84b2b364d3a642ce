//! What tests need: of this crate, and of others that bring a store or an agent of their own.

pub mod access_suite;
pub mod agent;
pub mod store_suite;
pub mod troubled;
