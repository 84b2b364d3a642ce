//! What callers may ask of the machine, and of each agent.

use std::borrow::Cow;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use switchboard_server::engine::Settings;
use switchboard_server::http::Limits;
use switchboard_server::limit::{Queue, Rate};

use super::Agent;
use super::agent::{at_path, is_given, join};
use super::load::Check;
use super::raw;
use super::value::{Size, from_text};
use super::yaml::Step::{self, Key};

/// The least that large tasks may take which are held for answers. With less, a few callers would keep all others from
/// reading any.
const MIN_ANSWERS: usize = 64 << 20;

/// A number, or `unlimited`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) Option<usize>);

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "unlimited" {
            return Ok(Self(None));
        }
        let number = text.parse().ok().filter(|number| *number > 0);
        let wrong = || format!("`{text}` is not a valid number: write 1 or more, or `unlimited`");
        number.map(|number| Self(Some(number))).ok_or_else(wrong)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl JsonSchema for Count {
    fn schema_name() -> Cow<'static, str> {
        "NumberOrUnlimited".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["integer", "string"],
            "minimum": 1,
            "pattern": r"^unlimited$|\$\{",
            "description": "A number, or `unlimited`."
        })
    }
}

impl Check<'_> {
    pub(super) fn limits(&mut self, raw: &raw::Limits) -> Limits {
        let at = |key| [Key("limits"), Key(key)];
        let default = Limits::default();
        let bytes = |size: Option<Size>, default| {
            size.map_or(default, |size| {
                usize::try_from(size.0).unwrap_or(usize::MAX)
            })
        };
        let body = bytes(raw.body, default.body);
        if body == 0 {
            self.wrong(&at("body"), "must be more than zero".to_owned(), None);
        }
        let answers = bytes(raw.answers, default.answers);
        if answers < MIN_ANSWERS {
            let text = "must be at least 64MiB, so that several large tasks can be read at once";
            self.wrong(&at("answers"), text.to_owned(), None);
        }
        let of_one = raw.streams_per_caller;
        self.count(&at("streams_per_caller"), of_one, 1);
        let queue = raw.queue.unwrap_or_default();
        Limits {
            body,
            answers,
            connections: self.count(&at("connections"), raw.connections, default.connections),
            connections_per_address: raw.connections_per_address.and_then(|count| count.0),
            requests: self.count(&at("requests"), raw.requests, default.requests),
            queue: Queue {
                length: queue.length.unwrap_or(default.queue.length),
                wait: queue.wait.map_or(default.queue.wait, |time| time.0),
            },
            streams: self.count(&at("streams"), raw.streams, default.streams),
            streams_per_caller: of_one,
            header_timeout: self.some_time(
                &at("header_timeout"),
                raw.header_timeout,
                default.header_timeout,
            ),
            body_timeout: self.some_time(
                &at("body_timeout"),
                raw.body_timeout,
                default.body_timeout,
            ),
            heartbeat: self.some_time(&at("heartbeat"), raw.heartbeat, default.heartbeat),
        }
    }

    /// What each agent has of the limits of all.
    pub(super) fn shared_limits(&mut self, raw: &raw::Limits, agents: &mut [Agent]) {
        let at = |key| [Key("limits"), Key(key)];
        let default = Settings::default();
        let rate = raw.rate.map(|rate| self.rate(&at("rate"), rate));
        let most_parts = self.count(&at("parts"), raw.parts, default.most_parts);
        let longest_history = self.count(&at("history"), raw.history, default.longest_history);
        let deepest = self.count(&at("hops"), raw.hops, default.deepest);
        for agent in agents {
            agent.settings.deepest = deepest;
            agent.settings.most_parts = most_parts;
            agent.settings.longest_history = longest_history;
            let own = [Key("agents"), Key(&agent.name), Key("limits"), Key("rate")];
            if !at_path(self.tree, &own).is_some_and(is_given) {
                agent.rate = rate;
            }
        }
    }

    /// What is said of one agent: how often each caller may ask it, and how many of its tasks are worked on.
    pub(super) fn agent_limits(
        &mut self,
        at: &[Step<'_>],
        raw: Option<raw::AgentLimits>,
        default: Option<usize>,
    ) -> (Option<Rate>, Option<usize>) {
        let raw = raw.unwrap_or_default();
        let rate = match raw.rate {
            Some(raw::AgentRate::Rate(rate)) => {
                let at = [at, &[Key("limits"), Key("rate")]].concat();
                Some(self.rate(&at, rate))
            }
            Some(raw::AgentRate::Unlimited) | None => None,
        };
        (rate, raw.tasks.map_or(default, |count| count.0))
    }

    fn rate(&mut self, at: &[Step<'_>], raw: raw::Rate) -> Rate {
        if raw.requests == 0 {
            let at = join(at, Key("requests"));
            self.wrong(&at, "must be at least 1".to_owned(), None);
        }
        Rate {
            requests: raw.requests,
            per: self.some_time(&join(at, Key("per")), raw.per, Duration::from_secs(60)),
        }
    }
}
