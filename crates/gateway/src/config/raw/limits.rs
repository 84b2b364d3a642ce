//! Limits, as written in the file.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::config::limits::Count;
use crate::config::value::{Size, Time};

/// Rate limits, concurrency limits and size limits.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// Maximum size of a request body.
    #[schemars(extend("default" = "10MiB"))]
    pub(crate) body: Option<Size>,
    /// Maximum memory for large tasks that is held only because callers have not read their responses yet. Beyond it,
    /// further reads get 429. At least 64MiB.
    #[schemars(extend("default" = "512MiB"))]
    pub(crate) answers: Option<Size>,
    /// Maximum number of open connections.
    #[schemars(extend("default" = 16_384, "minimum" = 1))]
    pub(crate) connections: Option<usize>,
    /// Maximum number of open connections per client address. A proxy counts as one address.
    #[schemars(extend("default" = "unlimited"))]
    pub(crate) connections_per_address: Option<Count>,
    /// Maximum number of concurrent `SendMessage` calls. A blocking call counts until its response. All other calls
    /// have a separate pool of the same size, streams until they start.
    #[schemars(extend("default" = 4_096, "minimum" = 1))]
    pub(crate) requests: Option<usize>,
    /// Queue for calls beyond `requests` and tasks beyond `tasks`. Callers are served round-robin.
    pub(crate) queue: Option<Queue>,
    /// Maximum number of concurrently running tasks of all agents. Beyond it tasks are queued: new ones as `submitted`,
    /// tasks that continue after an answer as `working`.
    #[schemars(extend("default" = "unlimited"))]
    pub(crate) tasks: Option<Count>,
    /// Rate limit per caller and agent. Default: no limit.
    pub(crate) rate: Option<Rate>,
    /// Maximum number of open event streams.
    #[schemars(extend("default" = 12_288, "minimum" = 1))]
    pub(crate) streams: Option<usize>,
    /// Maximum number of open event streams per caller. Default: a quarter of `streams` for an authenticated caller, no
    /// limit for others.
    #[schemars(extend("minimum" = 1))]
    pub(crate) streams_per_caller: Option<usize>,
    /// Maximum number of parts of a message.
    #[schemars(extend("default" = 1_000, "minimum" = 1))]
    pub(crate) parts: Option<usize>,
    /// Maximum number of messages of a task. Beyond it, the task rejects further messages.
    #[schemars(extend("default" = 10_000, "minimum" = 1))]
    pub(crate) history: Option<usize>,
    /// Maximum delegation depth: the number of agents on the hop path of a call. A call that returns to an agent on its
    /// hop path is rejected, too.
    #[schemars(extend("default" = 5, "minimum" = 1))]
    pub(crate) hops: Option<usize>,
    /// Time for a request header to arrive.
    #[schemars(extend("default" = "10s"))]
    pub(crate) header_timeout: Option<Time>,
    /// Time for a request body to arrive.
    #[schemars(extend("default" = "30s"))]
    pub(crate) body_timeout: Option<Time>,
    /// Interval of comments on an idle stream, so that proxies keep it open.
    #[schemars(extend("default" = "15s"))]
    pub(crate) heartbeat: Option<Time>,
    /// Limit of failed authentication attempts per client address. Beyond it, the address gets 429 for that time; valid
    /// tokens, API keys and certificates still work, passwords do not.
    pub(crate) failed_logins: Option<FailedLogins>,
}

/// Limit of failed authentication attempts per client address.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailedLogins {
    /// Number of failed attempts. Default: 20.
    #[schemars(extend("minimum" = 1))]
    pub(crate) requests: Option<u32>,
    /// Time window. Default: `60s`.
    pub(crate) per: Option<Time>,
}

/// Rate limit per caller. Callers without authentication are distinguished by address.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rate {
    /// Number of requests in the time window; they may arrive as one burst.
    #[schemars(extend("minimum" = 1))]
    pub(crate) requests: u32,
    /// Time window. Default: `60s`.
    pub(crate) per: Option<Time>,
}

/// Queue of calls and tasks that wait for capacity.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Queue {
    /// Maximum queue length, of which one caller may use half. Default: 4096. 0 disables the queue.
    pub(crate) length: Option<usize>,
    /// Maximum time of a call in the queue. Default: `5s`. Tasks wait without a limit.
    pub(crate) wait: Option<Time>,
}

/// Limits of one agent.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentLimits {
    /// Rate limit per caller. Default: `limits.rate`.
    pub(crate) rate: Option<AgentRate>,
    /// Maximum number of concurrently running tasks of this agent. Beyond it tasks are queued: new ones as `submitted`,
    /// tasks that continue after an answer as `working`.
    #[schemars(extend("default" = "unlimited"))]
    pub(crate) tasks: Option<Count>,
}

/// Rate limit of one agent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AgentRate {
    /// `unlimited`
    Unlimited,
    /// A rate limit.
    Rate(Rate),
}

impl<'de> Deserialize<'de> for AgentRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl<'de> Visitor<'de> for Read {
            type Value = AgentRate;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`unlimited` or a mapping")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<AgentRate, E> {
                match text {
                    "unlimited" => Ok(AgentRate::Unlimited),
                    other => Err(E::unknown_variant(other, &["unlimited"])),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<AgentRate, A::Error> {
                Rate::deserialize(MapAccessDeserializer::new(map)).map(AgentRate::Rate)
            }
        }

        deserializer.deserialize_any(Read)
    }
}

impl JsonSchema for AgentRate {
    fn schema_name() -> Cow<'static, str> {
        "AgentRate".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string", "pattern": r"^unlimited$|\$\{" },
                generator.subschema_for::<Rate>(),
            ]
        })
    }
}
