//! One agent, as written in the file.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use switchboard_agents::script::Script;

use super::{
    A2a, Access, AgentAuth, AgentLimits, Binding, Exec, Identity, LangGraph, OpenAi, OpenClaw,
    Route,
};
use crate::config::value::{Bound, Time, Url};

/// Agents by name, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Agents(pub(crate) Vec<(String, Agent)>);

impl<'de> Deserialize<'de> for Agents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Agents;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping from names to agents")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Agents, A::Error> {
                let mut agents = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    agents.push(entry);
                }
                Ok(Agents(agents))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

impl JsonSchema for Agents {
    fn schema_name() -> Cow<'static, str> {
        "Agents".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "propertyNames": { "pattern": "^[a-z0-9][a-z0-9._-]{0,62}$" },
            "additionalProperties": generator.subschema_for::<Agent>(),
        })
    }
}

/// An agent: the content of its card, its backend (`script`, `script_file`, `a2a`, `openai`, `openclaw`, `exec` or
/// `langgraph`), and its settings.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agent {
    /// Name on the agent card. Default: the key of the agent in this file.
    pub(crate) title: Option<String>,
    /// What the agent does, for people and for agents that choose another agent.
    pub(crate) description: Option<String>,
    /// Version of the agent, shown on its card.
    #[schemars(extend("default" = "1.0.0", "type" = ["string", "number", "null"]))]
    pub(crate) version: Option<String>,
    /// Organization that provides the agent.
    pub(crate) provider: Option<Provider>,
    /// URL of the agent's documentation.
    pub(crate) documentation_url: Option<Url>,
    /// URL of an icon.
    pub(crate) icon_url: Option<Url>,
    /// Skills on the agent card. Default: one skill made from title and description.
    pub(crate) skills: Option<Vec<Skill>>,
    /// Accepted media types. A part with another media type is rejected. A remote agent (`a2a`) accepts every media
    /// type unless you set this; its card shows the upstream's list.
    #[schemars(extend("default" = ["text/plain"]))]
    pub(crate) input_modes: Option<Vec<String>>,
    /// Media types of the agent's output.
    #[schemars(extend("default" = ["text/plain"]))]
    pub(crate) output_modes: Option<Vec<String>>,

    /// Backend: a script, written here as a list of steps.
    pub(crate) script: Option<Script>,
    /// Backend: a script in a YAML file of its own, either a list of steps or a mapping with `profile` and `script`.
    /// Keys in this file take precedence over the profile. The path is relative to this file.
    pub(crate) script_file: Option<String>,
    /// Backend: a remote A2A agent.
    pub(crate) a2a: Option<A2a>,
    /// Backend: a model with an OpenAI-compatible chat endpoint.
    pub(crate) openai: Option<OpenAi>,
    /// Backend: a command that runs once per message.
    pub(crate) exec: Option<Exec>,
    /// Backend: an agent of an OpenClaw gateway.
    pub(crate) openclaw: Option<OpenClaw>,
    /// Backend: an assistant of a LangGraph server.
    pub(crate) langgraph: Option<LangGraph>,
    /// Credentials that are sent to the upstream.
    pub(crate) identity: Option<Identity>,

    /// Routing rules: which messages go to other agents. Messages that no rule matches go to this agent's backend.
    pub(crate) routes: Option<Vec<Route>>,
    /// Authentication for this agent: `none` for anonymous access, or a list as in `auth.require`. Default:
    /// `auth.require`.
    pub(crate) auth: Option<AgentAuth>,
    /// Scopes that every call must have. All of them are required.
    #[schemars(extend("default" = []))]
    pub(crate) scopes: Option<Vec<String>>,
    /// Authorization rules for this agent. They apply after those at the top level.
    pub(crate) access: Option<Access>,
    /// Whether callers who may not use the agent can see it. With `false` they get the same response as for an unknown
    /// agent.
    #[schemars(extend("default" = true))]
    pub(crate) visible: Option<bool>,
    /// Rate limit and concurrency limit of this agent.
    pub(crate) limits: Option<AgentLimits>,
    /// Kind of the response. With `message` the agent may send a direct message reply, without a task, while the caller
    /// waits. A caller that does not wait (`returnImmediately`, 0.3 `blocking: false`) gets a task unless the reply is
    /// ready, and a stream gets a task after one second.
    #[schemars(extend("default" = "task"))]
    pub(crate) reply: Option<ReplyKind>,
    /// Declares streaming and subscriptions on the card and supports them.
    #[schemars(extend("default" = true))]
    pub(crate) streaming: Option<bool>,
    /// Declares push notifications (webhooks) on the card and supports them.
    #[schemars(extend("default" = true))]
    pub(crate) push_notifications: Option<bool>,
    /// Serves an extended agent card to authenticated callers, with these additions. `{}` serves the same card again.
    pub(crate) extended_card: Option<ExtendedCard>,
    /// Protocol extensions that the agent supports.
    pub(crate) extensions: Option<Vec<Extension>>,
    /// Format of the agent card.
    #[schemars(extend("default" = "union"))]
    pub(crate) card: Option<CardShape>,
    /// Encoding of `file_with_bytes` in A2A 0.3 over HTTP+JSON and gRPC, where the official SDKs differ.
    #[schemars(extend("default" = "auto"))]
    pub(crate) file_bytes: Option<CallerFileBytes>,
    /// Bindings on the agent card, preferred first. Default: `interfaces` at the top level.
    pub(crate) interfaces: Option<Vec<Binding>>,
    /// Format of the gRPC address on the agent card. Default: `grpc_address` at the top level.
    pub(crate) grpc_address: Option<GrpcAddress>,
    /// Budget of a task, including the tasks that it delegates: they share what is left of it.
    pub(crate) budget: Option<Budget>,
    /// Timeouts of this agent. Default: `timeouts` at the top level.
    pub(crate) timeouts: Option<Timeouts>,
    /// What happens to a task that is not answered within `timeouts.input`.
    #[schemars(extend("default" = "fail"))]
    pub(crate) on_input_timeout: Option<OnInputTimeout>,
    /// What happens to a running task when the caller that waits for it disconnects.
    #[schemars(extend("default" = "keep"))]
    pub(crate) on_disconnect: Option<OnDisconnect>,
    /// Treats a message with a known `messageId` as a retry, even without an `Idempotency-Key`. Some clients use the
    /// same id for different messages.
    #[schemars(extend("default" = false))]
    pub(crate) dedupe_by_message_id: Option<bool>,
    /// How an answer is matched to a task that waits for input. With `context`, a message without a `taskId` answers
    /// the caller's only waiting task in its `contextId`, for clients that cannot send a task id; if there is none, it
    /// starts a new task.
    #[schemars(extend("default" = "task"))]
    pub(crate) answers: Option<Answers>,
    /// Adds a machine-readable form of a question to its text, as a data part with `switchboard/machineReadable` in its
    /// metadata. Some clients show it to people as raw JSON; `false` omits it.
    #[schemars(extend("default" = true))]
    pub(crate) question_data: Option<bool>,
}

/// How an answer is matched to a task that waits for input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answers {
    /// By `taskId`.
    Task,
    /// By `taskId` or, without one, by `contextId`.
    Context,
}

/// Organization that provides an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Provider {
    /// Name of the organization.
    pub(crate) organization: String,
    /// URL of its website.
    pub(crate) url: Url,
}

/// A skill on the agent card.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Skill {
    /// Identifier, unique within the agent.
    pub(crate) id: String,
    /// Display name. Default: the id.
    pub(crate) name: Option<String>,
    /// What the skill does.
    pub(crate) description: String,
    /// Keywords for search.
    pub(crate) tags: Option<Vec<String>>,
    /// Example requests.
    pub(crate) examples: Option<Vec<String>>,
    /// Accepted media types, if they differ from the agent's.
    pub(crate) input_modes: Option<Vec<String>>,
    /// Media types of the output, if they differ from the agent's.
    pub(crate) output_modes: Option<Vec<String>>,
    /// Scopes that a call of this skill must have, in addition to those of the agent.
    #[schemars(extend("default" = []))]
    pub(crate) scopes: Option<Vec<String>>,
    /// Lists the skill on the public card even if not every caller may use it.
    #[schemars(extend("default" = false))]
    pub(crate) listed: Option<bool>,
}

/// Additions of the extended agent card.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExtendedCard {
    /// Replaces the description.
    pub(crate) description: Option<String>,
    /// Additional skills.
    pub(crate) skills: Option<Vec<Skill>>,
}

/// A protocol extension.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extension {
    /// URI that identifies the extension.
    pub(crate) uri: String,
    /// Description for people.
    pub(crate) description: Option<String>,
    /// Rejects callers that do not activate the extension.
    #[schemars(extend("default" = false))]
    pub(crate) required: Option<bool>,
    /// Parameters of the extension.
    pub(crate) params: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Budget of a task. A limit that is not set does not apply.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    /// Maximum number of calls to other agents, including calls that those agents make.
    pub(crate) calls: Option<u64>,
    /// Maximum number of LLM tokens.
    pub(crate) tokens: Option<u64>,
    /// Maximum time from the first message to the end of the task.
    pub(crate) time: Option<Time>,
}

/// Timeouts of tasks and calls.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeouts {
    /// Maximum duration of one turn; then the task fails.
    #[schemars(extend("default" = "10m"))]
    pub(crate) task: Option<Bound>,
    /// Maximum time to wait for an answer (`input-required`), after which `on_input_timeout` applies, or for
    /// credentials (`auth-required`), after which the task fails.
    #[schemars(extend("default" = "24h"))]
    pub(crate) input: Option<Bound>,
    /// Maximum duration of a blocking call; then it returns the task in its current state.
    #[schemars(extend("default" = "300s"))]
    pub(crate) blocking: Option<Bound>,
    /// How long to retry an upstream that is down before the message is sent; the status of the task shows it. `0s`
    /// disables the retry.
    #[schemars(extend("default" = "2m"))]
    pub(crate) upstream: Option<Bound>,
    /// Time for a canceled turn to stop by itself; then it is stopped.
    #[schemars(extend("default" = "5s"))]
    pub(crate) cancel_grace: Option<Time>,
}

/// Kind of an agent's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReplyKind {
    /// Always a task.
    Task,
    /// A direct message reply where the agent chooses it, otherwise a task.
    Message,
}

/// Encoding of `file_with_bytes` in A2A 0.3 over HTTP+JSON and gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallerFileBytes {
    /// The base64 text of the file; the file itself for callers whose user agent is a JavaScript runtime.
    Auto,
    /// The base64 text of the file, as in the SDKs for Python, Java and Go.
    Base64,
    /// The bytes of the file, as in the .proto file and the SDK for JavaScript.
    Raw,
}

/// Format of an agent card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum CardShape {
    /// A 1.0 card that also has the fields that 0.3 clients read.
    #[serde(rename = "union")]
    Union,
    /// Strictly A2A 1.0.
    #[serde(rename = "1.0")]
    V1_0,
    /// Strictly A2A 0.3.
    #[serde(rename = "0.3")]
    V0_3,
}

impl JsonSchema for CardShape {
    fn schema_name() -> Cow<'static, str> {
        "CardShape".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Editors read `1.0` without quotes as a number.
        json_schema!({
            "description": "`union`: a 1.0 card that also has the fields that 0.3 clients read. `1.0`, `0.3`: strictly that version.",
            "enum": ["union", "1.0", "0.3", 1.0, 0.3],
        })
    }
}

/// Format of the gRPC address on an agent card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GrpcAddress {
    /// An absolute URL, as A2A requires: `https://agents.example.com:443`.
    Url,
    /// `agents.example.com:443`, for clients that pass the address unchanged to their gRPC library, such as those of
    /// the official SDKs. Other clients may reject such a card.
    HostPort,
}

/// What happens to a task that is not answered in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnInputTimeout {
    /// The agent continues without an answer.
    Continue,
    /// The task fails.
    Fail,
}

/// What happens to a running task when the caller that waits for it disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnDisconnect {
    /// The task continues; the caller can reconnect to it.
    Keep,
    /// The task is canceled.
    Cancel,
}
