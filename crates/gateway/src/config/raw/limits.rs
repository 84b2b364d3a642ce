//! Limits, as they are written in the file.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::config::limits::Count;
use crate::config::value::{Size, Time};

/// What a caller may ask of the machine.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// The largest body of a request.
    #[schemars(extend("default" = "10MiB"))]
    pub(crate) body: Option<Size>,
    /// How much large tasks may take in memory that are held only for answers which callers have not read yet. Beyond
    /// it, reading another one is refused with 429. At least 64MiB.
    #[schemars(extend("default" = "512MiB"))]
    pub(crate) answers: Option<Size>,
    /// Connections open at the same time.
    #[schemars(extend("default" = 16_384, "minimum" = 1))]
    pub(crate) connections: Option<usize>,
    /// Connections that one address may have open at the same time. A proxy is one address.
    #[schemars(extend("default" = "unlimited"))]
    pub(crate) connections_per_address: Option<Count>,
    /// Messages worked on at the same time. One that waits for its task to end counts until it is answered. As many
    /// other requests have room of their own, streams until they begin.
    #[schemars(extend("default" = 4_096, "minimum" = 1))]
    pub(crate) requests: Option<usize>,
    /// Where requests beyond that wait, and tasks beyond `tasks`. Callers take turns.
    pub(crate) queue: Option<Queue>,
    /// Tasks worked on at the same time, of all agents. Until there is room, new ones stand as `submitted`, and those
    /// that go on with an answer as `working`.
    #[schemars(extend("default" = "unlimited"))]
    pub(crate) tasks: Option<Count>,
    /// How often each caller may ask each agent. Without it, any number of times.
    pub(crate) rate: Option<Rate>,
    /// Event streams open at the same time.
    #[schemars(extend("default" = 12_288, "minimum" = 1))]
    pub(crate) streams: Option<usize>,
    /// Event streams that one caller may have open at the same time. By default a quarter of `streams` for one who is
    /// known by name, any number for one who is known by address only.
    #[schemars(extend("minimum" = 1))]
    pub(crate) streams_per_caller: Option<usize>,
    /// The parts of one message.
    #[schemars(extend("default" = 1_000, "minimum" = 1))]
    pub(crate) parts: Option<usize>,
    /// The messages of one task; then it takes no more.
    #[schemars(extend("default" = 10_000, "minimum" = 1))]
    pub(crate) history: Option<usize>,
    /// The agents that a call may come through, one handing it to the next; the one after that refuses it. So is a call
    /// that comes back to an agent it has come through.
    #[schemars(extend("default" = 5, "minimum" = 1))]
    pub(crate) hops: Option<usize>,
    /// How long the head of a request may take to arrive.
    #[schemars(extend("default" = "10s"))]
    pub(crate) header_timeout: Option<Time>,
    /// How long the body of a request may take to arrive.
    #[schemars(extend("default" = "30s"))]
    pub(crate) body_timeout: Option<Time>,
    /// A stream on which nothing happens gets a comment this often, so that proxies keep it open.
    #[schemars(extend("default" = "15s"))]
    pub(crate) heartbeat: Option<Time>,
    /// How often an address may fail to show who it is; then only what nobody can guess is listened to for as long.
    pub(crate) failed_logins: Option<FailedLogins>,
}

/// How often an address may fail to show who it is.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailedLogins {
    /// So often; 20 by default.
    #[schemars(extend("minimum" = 1))]
    pub(crate) requests: Option<u32>,
    /// In this time; `60s` by default.
    pub(crate) per: Option<Time>,
}

/// How often each caller may ask. Who is not known is told apart by address.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rate {
    /// So often, also all at once.
    #[schemars(extend("minimum" = 1))]
    pub(crate) requests: u32,
    /// In this time; `60s` by default.
    pub(crate) per: Option<Time>,
}

/// Where those wait for whom there is no room.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Queue {
    /// How many may wait, half of them of one caller; 4096 by default. 0: nobody.
    pub(crate) length: Option<usize>,
    /// How long a request may wait; `5s` by default. Tasks wait as long as it takes.
    pub(crate) wait: Option<Time>,
}

/// What callers may ask of one agent.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentLimits {
    /// How often each caller may ask it; `limits.rate` counts if nothing is said here.
    pub(crate) rate: Option<AgentRate>,
    /// Its tasks that are worked on at the same time. Until there is room, new ones stand as `submitted`, and those
    /// that go on with an answer as `working`.
    #[schemars(extend("default" = "unlimited"))]
    pub(crate) tasks: Option<Count>,
}

/// How often each caller may ask an agent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AgentRate {
    /// `unlimited`
    Unlimited,
    /// So often.
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
