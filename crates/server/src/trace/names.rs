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
/// A model is asked; also how the name of its span begins.
pub const CHAT: &str = "chat";
/// What kind of server is asked.
pub const PROVIDER: &str = "gen_ai.provider.name";
/// The model that is asked for.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// The model that has answered.
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// Why it stopped.
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// The tokens that it has read.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// The tokens that it has written.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// A command.
pub const EXECUTABLE: &str = "process.executable.name";
/// What went wrong, in a word.
pub const ERROR: &str = "error.type";
/// Where whoever is asked is.
pub const SERVER: &str = "server.address";
/// At which port.
pub const PORT: &str = "server.port";

/// A state, as 1.0 spells it.
#[must_use]
pub fn state(state: TaskState) -> String {
    let name = state.name().to_ascii_uppercase().replace('-', "_");
    format!("TASK_STATE_{name}")
}
