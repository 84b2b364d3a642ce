//! Switchboard.
fn main() {}
