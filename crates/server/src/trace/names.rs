//! What spans and their attributes are called. The conventions are young: if they change, they change here.

use switchboard_types::model::TaskState;

/// The operation, as 1.0 calls it; also the name of the span of a call.
pub const METHOD: &str = "a2a.method.name";
/// The version that the caller speaks.
pub const VERSION: &str = "a2a.protocol.version";
/// The message of a send.
pub const MESSAGE: &str = "a2a.message.id";
/// The tasks that it refers to.
pub const REFERENCES: &str = "a2a.message.reference_task_ids";
/// The task.
pub const TASK: &str = "a2a.task.id";
/// Its state, when it was told of.
pub const STATE: &str = "a2a.task.state";
/// The tenant of the request.
pub const TENANT: &str = "a2a.tenant";
/// The conversation.
pub const CONTEXT: &str = "gen_ai.conversation.id";
/// The agent.
pub const AGENT: &str = "gen_ai.agent.name";
/// What is done: [`INVOKE_AGENT`], mostly.
pub const OPERATION: &str = "gen_ai.operation.name";
/// A turn of an agent; also how the name of its span begins.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// What went wrong, in a word.
pub const ERROR: &str = "error.type";
/// Where a webhook is.
pub const SERVER: &str = "server.address";

/// A state, as 1.0 spells it.
#[must_use]
pub fn state(state: TaskState) -> String {
    let name = state.name().to_ascii_uppercase().replace('-', "_");
    format!("TASK_STATE_{name}")
}
