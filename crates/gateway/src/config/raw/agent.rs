//! One agent as it is written in the file.

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

/// The agents, in the order of the file.
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

/// One agent: what its card says, what stands behind it (`script`, `script_file`, `a2a`, `openai`, `openclaw`, `exec` or
/// `langgraph`), and how it is served.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agent {
    /// The name on the card; by default the agent's name here.
    pub(crate) title: Option<String>,
    /// What it does, for people and for other agents that look for help.
    pub(crate) description: Option<String>,
    /// The agent's own version.
    #[schemars(extend("default" = "1.0.0", "type" = ["string", "number", "null"]))]
    pub(crate) version: Option<String>,
    /// Who runs it.
    pub(crate) provider: Option<Provider>,
    /// Where it is documented.
    pub(crate) documentation_url: Option<Url>,
    /// A picture.
    pub(crate) icon_url: Option<Url>,
    /// What it can do, one by one. By default one skill made from title and description.
    pub(crate) skills: Option<Vec<Skill>>,
    /// Media types it takes; parts that state another one are refused. An `a2a` agent takes all unless they are given
    /// here, and shows those of the remote agent.
    #[schemars(extend("default" = ["text/plain"]))]
    pub(crate) input_modes: Option<Vec<String>>,
    /// Media types it gives.
    #[schemars(extend("default" = ["text/plain"]))]
    pub(crate) output_modes: Option<Vec<String>>,

    /// What stands behind it: steps to follow, written here.
    pub(crate) script: Option<Script>,
    /// What stands behind it: a YAML file of steps to follow. It may be a list of steps, or have `profile` and
    /// `script`; what the profile says counts where nothing is said here. The path is relative to this file.
    pub(crate) script_file: Option<String>,
    /// What stands behind it: any A2A agent elsewhere.
    pub(crate) a2a: Option<A2a>,
    /// What stands behind it: a model behind an OpenAI-compatible chat endpoint.
    pub(crate) openai: Option<OpenAi>,
    /// What stands behind it: a command, run for each message.
    pub(crate) exec: Option<Exec>,
    /// What stands behind it: an agent of an OpenClaw gateway.
    pub(crate) openclaw: Option<OpenClaw>,
    /// What stands behind it: an assistant of a LangGraph server.
    pub(crate) langgraph: Option<LangGraph>,
    /// Who it is to what stands behind it elsewhere.
    pub(crate) identity: Option<Identity>,

    /// Rules by which other agents take messages that this one is asked; the others are its own.
    pub(crate) routes: Option<Vec<Route>>,
    /// Who may call it: `none` is everyone, else a list as in `auth.require`, which counts if nothing is said here.
    pub(crate) auth: Option<AgentAuth>,
    /// What every call must have been granted, all of it.
    #[schemars(extend("default" = []))]
    pub(crate) scopes: Option<Vec<String>>,
    /// What those may do who may call it.
    pub(crate) access: Option<Access>,
    /// Everyone may know of it. If not, it is not there for those who may not use it.
    #[schemars(extend("default" = true))]
    pub(crate) visible: Option<bool>,
    /// What callers may ask of it.
    pub(crate) limits: Option<AgentLimits>,
    /// What it answers with. With `message` the agent may reply directly, without a task, as long as its caller waits:
    /// a caller that does not (`returnImmediately`, 0.3 `blocking: false`) gets a task unless the reply is ready, and so
    /// does a stream after one second.
    #[schemars(extend("default" = "task"))]
    pub(crate) reply: Option<ReplyKind>,
    /// Offers streaming and subscriptions.
    #[schemars(extend("default" = true))]
    pub(crate) streaming: Option<bool>,
    /// Offers webhooks.
    #[schemars(extend("default" = true))]
    pub(crate) push_notifications: Option<bool>,
    /// Offers a second, richer card; given here is what it has beyond the first. `{}` gives the same card again.
    pub(crate) extended_card: Option<ExtendedCard>,
    /// Protocol extensions it knows.
    pub(crate) extensions: Option<Vec<Extension>>,
    /// The shape of the card.
    #[schemars(extend("default" = "union"))]
    pub(crate) card: Option<CardShape>,
    /// What `file_with_bytes` holds in A2A 0.3 over HTTP+JSON and gRPC, where the official SDKs disagree.
    #[schemars(extend("default" = "auto"))]
    pub(crate) file_bytes: Option<CallerFileBytes>,
    /// The bindings that its card offers, best first; by default those of `interfaces` at the top level.
    pub(crate) interfaces: Option<Vec<Binding>>,
    /// How its card spells the address of gRPC; by default as `grpc_address` at the top level says.
    pub(crate) grpc_address: Option<GrpcAddress>,
    /// What a task may cost, with all that it hands on to other agents: they get what is left of it.
    pub(crate) budget: Option<Budget>,
    /// How long things may take; by default as `timeouts` at the top level says.
    pub(crate) timeouts: Option<Timeouts>,
    /// What becomes of a task whose question was not answered in time.
    #[schemars(extend("default" = "fail"))]
    pub(crate) on_input_timeout: Option<OnInputTimeout>,
    /// What becomes of a running task when the caller who waits for it goes away.
    #[schemars(extend("default" = "keep"))]
    pub(crate) on_disconnect: Option<OnDisconnect>,
    /// Treats a message whose `messageId` was seen before as a repetition, even without an `Idempotency-Key`.
    /// Some clients use the same id for different messages.
    #[schemars(extend("default" = false))]
    pub(crate) dedupe_by_message_id: Option<bool>,
    /// How an answer finds the task that asked. With `context`, a message without a `taskId` answers the question of
    /// the caller's only task that waits in its `contextId`, for clients that cannot send a task id; without such a task
    /// it begins a new one.
    #[schemars(extend("default" = "task"))]
    pub(crate) answers: Option<Answers>,
    /// Puts the form of a question that programs read beside its text, as a data part marked
    /// `switchboard/machineReadable` in its metadata. Some clients show it to people as raw JSON: `false` leaves it out.
    #[schemars(extend("default" = true))]
    pub(crate) question_data: Option<bool>,
}

/// How an answer finds the task that asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answers {
    /// By `taskId`.
    Task,
    /// By `taskId`, or else by `contextId`.
    Context,
}

/// Who runs an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Provider {
    /// The organisation.
    pub(crate) organization: String,
    /// Its home page.
    pub(crate) url: Url,
}

/// One thing an agent can do.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Skill {
    /// Unique within the agent.
    pub(crate) id: String,
    /// Its name for people; by default the id.
    pub(crate) name: Option<String>,
    /// What it does.
    pub(crate) description: String,
    /// Key words to find it by.
    pub(crate) tags: Option<Vec<String>>,
    /// Requests it can take, as one would write them.
    pub(crate) examples: Option<Vec<String>>,
    /// Media types it takes, if they differ from the agent's.
    pub(crate) input_modes: Option<Vec<String>>,
    /// Media types it gives, if they differ from the agent's.
    pub(crate) output_modes: Option<Vec<String>>,
    /// What a call for it must have been granted, beside what the agent asks for.
    #[schemars(extend("default" = []))]
    pub(crate) scopes: Option<Vec<String>>,
    /// Stands on the public card although not everyone may use it.
    #[schemars(extend("default" = false))]
    pub(crate) listed: Option<bool>,
}

/// What the second card has beyond the first.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExtendedCard {
    /// Replaces the description.
    pub(crate) description: Option<String>,
    /// Skills to add.
    pub(crate) skills: Option<Vec<Skill>>,
}

/// A protocol extension.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extension {
    /// Names it.
    pub(crate) uri: String,
    /// For people.
    pub(crate) description: Option<String>,
    /// Refuses callers who do not ask for it.
    #[schemars(extend("default" = false))]
    pub(crate) required: Option<bool>,
    /// Its own settings.
    pub(crate) params: Option<serde_json::Map<String, serde_json::Value>>,
}

/// What a task may cost. Anything, if nothing is said.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    /// How many calls of other agents, theirs included.
    pub(crate) calls: Option<u64>,
    /// How many tokens of models.
    pub(crate) tokens: Option<u64>,
    /// How long, from its first message to its end.
    pub(crate) time: Option<Time>,
}

/// How long things may take.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeouts {
    /// One turn of a task; then the task fails.
    #[schemars(extend("default" = "10m"))]
    pub(crate) task: Option<Bound>,
    /// An answer to a question of the agent (`input-required`); then see `on_input_timeout`. Also the credentials that it
    /// asked for (`auth-required`); then the task fails.
    #[schemars(extend("default" = "24h"))]
    pub(crate) input: Option<Bound>,
    /// A call that waits for the end of the task; then it returns the task as it stands.
    #[schemars(extend("default" = "300s"))]
    pub(crate) blocking: Option<Bound>,
    /// An upstream that is down before the message was sent to it: it is retried for so long, and the task says so in
    /// its status. `0s` does not retry.
    #[schemars(extend("default" = "2m"))]
    pub(crate) upstream: Option<Bound>,
    /// What an agent may still do after its task was canceled.
    #[schemars(extend("default" = "5s"))]
    pub(crate) cancel_grace: Option<Time>,
}

/// What an agent answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReplyKind {
    /// Always a task.
    Task,
    /// A bare message where the agent chooses so, otherwise a task.
    Message,
}

/// What `file_with_bytes` holds in A2A 0.3 over HTTP+JSON and gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallerFileBytes {
    /// The base64 text of the file; the file itself for callers whose user agent is a JavaScript runtime.
    Auto,
    /// The base64 text of the file, as the SDKs for Python, Java and Go have it.
    Base64,
    /// The file itself, as the .proto file says and the SDK for JavaScript has it.
    Raw,
}

/// The shape of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum CardShape {
    /// 1.0, and beside it what clients of 0.3 look for.
    #[serde(rename = "union")]
    Union,
    /// 1.0 by the letter.
    #[serde(rename = "1.0")]
    V1_0,
    /// 0.3 by the letter.
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
            "description": "`union`: 1.0, and beside it what clients of 0.3 look for. `1.0`, `0.3`: by the letter.",
            "enum": ["union", "1.0", "0.3", 1.0, 0.3],
        })
    }
}

/// How a card spells the address of gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GrpcAddress {
    /// An absolute URL, as A2A asks for: `https://agents.example.com:443`.
    Url,
    /// `agents.example.com:443`, for clients that pass the address to their gRPC library as it is, such as those of the
    /// official SDKs. Other clients may refuse a card with such an address.
    HostPort,
}

/// What becomes of a task whose question was not answered in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnInputTimeout {
    /// The agent goes on without an answer.
    Continue,
    /// The task fails.
    Fail,
}

/// What becomes of a running task when the caller who waits for it goes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnDisconnect {
    /// It goes on; the caller can come back for it.
    Keep,
    /// It is canceled.
    Cancel,
}
