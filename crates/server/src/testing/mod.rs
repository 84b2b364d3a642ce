//! What tests of other crates need.
