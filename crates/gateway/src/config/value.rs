//! Values people write: durations (`10m`), sizes (`10MiB`), addresses to listen on, URLs.
//!
//! Each is read by one `FromStr`, whose error says what to write instead; file, environment and command
//! line all use it.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use switchboard_server::egress::Allow;
use switchboard_server::net::Cidr;
use switchboard_types::model::Secret;

/// A length of time: `500ms`, `30s`, `10m`, `24h`, `7d`, `1h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Duration);

/// A length of time, or `unlimited`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound(pub Option<Duration>);

/// A number of bytes: `512B`, `64KiB`, `10MiB`, `1GB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

/// An address to listen on: `127.0.0.1:7420`, `[::]:7420`, `localhost:7420`, `7420`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen(pub SocketAddr);

/// An absolute `http` or `https` URL without query, fragment or trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url(pub String);

/// A network: `10.0.0.0/8`, `::1`, `192.168.1.7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network(pub Cidr);

/// Where webhooks may go that they otherwise may not: a host, an address or a network, for all ports or one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushTarget(pub Allow);

/// A secret. Where it came from is checked by who knows the tree.
#[derive(Debug, Clone)]
pub struct SecretText(pub Secret);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const WRITE: &str = "write a number and a unit, such as 500ms, 30s, 10m, 24h or 7d";
        let wrong = || format!("`{text}` is not a duration: {WRITE}");
        let mut rest = text.trim();
        let mut total = Duration::ZERO;
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let (number, unit, after) = amount(rest).ok_or_else(wrong)?;
            let millis = match unit {
                "ms" => 1,
                "s" => 1_000,
                "m" | "min" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                "" if after.is_empty() => return Err(format!("`{text}` has no unit: {WRITE}")),
                _ => return Err(wrong()),
            };
            let part = number.checked_mul(millis).map(Duration::from_millis);
            total = part
                .and_then(|part| total.checked_add(part))
                .filter(|total| total.as_secs() <= 100 * 365 * 86_400)
                .ok_or_else(|| {
                    format!("`{text}` is too long: write `unlimited` where it may be")
                })?;
            rest = after;
        }
        Ok(Self(total))
    }
}

/// The number and unit a text begins with, and what follows.
fn amount(text: &str) -> Option<(u64, &str, &str)> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, rest) = text.split_at(digits);
    let letters = rest
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(letters);
    Some((number.parse().ok()?, unit, rest))
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "unlimited" {
            return Ok(Self(None));
        }
        let time: Result<Time, _> = text.parse();
        time.map(|time| Self(Some(time.0)))
            .map_err(|error| format!("{error}, or `unlimited`"))
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const WRITE: &str = "write a number and a unit, such as 64KiB or 10MiB";
        let wrong = || format!("`{text}` is not a size: {WRITE}");
        let (number, unit, rest) = amount(text.trim()).ok_or_else(wrong)?;
        let factor = match unit.to_ascii_lowercase().as_str() {
            "b" => 1,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "kib" => 1 << 10,
            "mib" => 1 << 20,
            "gib" => 1 << 30,
            "" if rest.is_empty() => return Err(format!("`{text}` has no unit: {WRITE}")),
            _ => return Err(wrong()),
        };
        match number.checked_mul(factor) {
            Some(bytes) if rest.is_empty() => Ok(Self(bytes)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match units
            .iter()
            .find(|(_, n)| self.0 >= *n && self.0.is_multiple_of(*n))
        {
            Some((unit, n)) => write!(f, "{}{unit}", self.0 / n),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let port = text.strip_prefix("localhost:").unwrap_or(text);
        if let Ok(port) = port.parse() {
            return Ok(Self(SocketAddr::new(here, port)));
        }
        text.parse().map(Self).map_err(|_| {
            format!(
                "`{text}` is not an address to listen on: write an IP address and a port, \
                 such as 127.0.0.1:7420 or 0.0.0.0:7420"
            )
        })
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            Err(format!(
                "`{text}` {why}, such as https://agents.example.com"
            ))
        };
        let trimmed = text.trim().trim_end_matches('/');
        let Ok(uri) = trimmed.parse::<http::Uri>() else {
            return wrong("is not a URL: write an absolute one");
        };
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return wrong("is not an absolute http or https URL: write one");
        }
        if uri.query().is_some() || text.contains(['#', '@']) {
            return wrong("has a query, a fragment or credentials: write one without");
        }
        Ok(Self(trimmed.to_owned()))
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Cidr::parse(text.trim()).map(Self)
    }
}

impl FromStr for PushTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains("://") {
            return Err(format!(
                "`{text}` is a URL: write the host alone, such as localhost or localhost:9000"
            ));
        }
        Allow::parse(text).map(Self)
    }
}

/// Reads any of the values above from a text.
pub(super) fn from_text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(de::Error::custom)
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for Url {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for PushTarget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Secret::new(text)))
    }
}

impl JsonSchema for SecretText {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^\$\{[A-Za-z_][A-Za-z0-9_]*\}$",
            "description": "A secret, from an environment variable: `${NAME}`."
        })
    }
}

impl JsonSchema for Network {
    fn schema_name() -> Cow<'static, str> {
        "Network".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^[0-9a-fA-F.:]+(/[0-9]+)?$|\$\{",
            "description": "An IP address or a range: `127.0.0.1`, `10.0.0.0/8`, `::1`."
        })
    }
}

impl JsonSchema for PushTarget {
    fn schema_name() -> Cow<'static, str> {
        "PushTarget".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A host (`hooks.internal`, `*.internal`), an IP address or a range (`10.0.0.0/8`), for \
                all ports or one (`localhost:9000`)."
        })
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^([0-9]+(ms|s|m|min|h|d))+$|\$\{",
            "description": "A length of time: `500ms`, `30s`, `10m`, `24h`, `7d`, `1h30m`."
        })
    }
}

impl JsonSchema for Bound {
    fn schema_name() -> Cow<'static, str> {
        "DurationOrUnlimited".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^([0-9]+(ms|s|m|min|h|d))+$|^unlimited$|\$\{",
            "description": "A length of time such as `10m` or `24h`, or `unlimited`."
        })
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^[0-9]+([KkMmGg][Ii]?)?[Bb]$|\$\{",
            "description": "A number of bytes: `512B`, `64KiB`, `10MiB`, `1GB`."
        })
    }
}

impl JsonSchema for Listen {
    fn schema_name() -> Cow<'static, str> {
        "Listen".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "description": "An IP address and a port: `127.0.0.1:7420`, `[::]:7420`. A port alone is on 127.0.0.1."
        })
    }
}

impl JsonSchema for Url {
    fn schema_name() -> Cow<'static, str> {
        "Url".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^https?://|\$\{",
            "description": "An absolute `http` or `https` URL."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_durations() {
        for (text, millis) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("24h", 86_400_000),
            ("7d", 604_800_000),
            ("0s", 0),
        ] {
            assert_eq!(
                text.parse(),
                Ok(Time(Duration::from_millis(millis))),
                "{text}"
            );
        }
        assert_eq!("unlimited".parse(), Ok(Bound(None)));
    }

    #[test]
    fn says_what_to_write_for_a_duration() {
        let write = "write a number and a unit, such as 500ms, 30s, 10m, 24h or 7d";
        for (text, error) in [
            (
                "5 minutes",
                format!("`5 minutes` is not a duration: {write}"),
            ),
            ("", format!("`` is not a duration: {write}")),
            ("-5s", format!("`-5s` is not a duration: {write}")),
            ("1.5h", format!("`1.5h` is not a duration: {write}")),
            ("30", format!("`30` has no unit: {write}")),
            (
                "9999999999999d",
                "`9999999999999d` is too long: write `unlimited` where it may be".to_owned(),
            ),
        ] {
            assert_eq!(text.parse::<Time>(), Err(error), "{text}");
        }
    }

    #[test]
    fn reads_and_shows_sizes() {
        for (text, bytes, shown) in [
            ("10MiB", 10 << 20, "10MiB"),
            ("64KiB", 64 << 10, "64KiB"),
            ("1GB", 1_000_000_000, "1000000000B"),
            ("512B", 512, "512B"),
            ("1024b", 1024, "1KiB"),
        ] {
            let size: Size = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, shown));
        }
        for text in [
            "10",
            "10 MiB of",
            "MiB",
            "10TiB",
            "",
            "99999999999999GiB",
            "1MiB1",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn reads_addresses_to_listen_on() {
        for (text, address) in [
            ("127.0.0.1:7420", "127.0.0.1:7420"),
            ("localhost:80", "127.0.0.1:80"),
            ("9000", "127.0.0.1:9000"),
            ("[::]:7420", "[::]:7420"),
        ] {
            assert_eq!(text.parse::<Listen>().unwrap().to_string(), address);
        }
        for text in [
            "",
            "127.0.0.1",
            "example.com:80",
            "1.2.3.4:99999",
            "localhost",
        ] {
            assert!(text.parse::<Listen>().is_err(), "{text}");
        }
    }

    #[test]
    fn reads_urls() {
        assert_eq!(
            "https://a.example/x/".parse(),
            Ok(Url("https://a.example/x".to_owned()))
        );
        for text in [
            "",
            "a.example",
            "ftp://a",
            "https://a?x=1",
            "https://u:p@a",
            "https://a/#x",
            "/x",
        ] {
            assert!(text.parse::<Url>().is_err(), "{text}");
        }
    }
}
