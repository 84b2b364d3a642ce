//! LangGraph Server, as it was recorded (`connect/quirks.rs` has what is done about it).

mod replay;
mod traps;
