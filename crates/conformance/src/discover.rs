//! Finds the card: a host, the address of a card, or a file.

use std::path::Path;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use serde_json::Value;
use switchboard_types::ProtocolVersion;
use switchboard_types::model::AgentCard;
use switchboard_types::wire::card::decode_card;
use url::Url;

use super::exchange::Exchange;
use super::http::{Caller, Outgoing};

/// Where cards are, best first: 1.0 and 0.3, then 0.2.
const PLACES: [&str; 2] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

/// A card, and how it came.
#[derive(Debug, Clone)]
pub(crate) struct Discovered {
    pub(crate) card: AgentCard,
    /// The card as it was received.
    pub(crate) raw: Value,
    pub(crate) headers: HeaderMap,
    pub(crate) exchange: Arc<Exchange>,
    /// Its address; none if it was a file.
    pub(crate) url: Option<Url>,
}

impl Discovered {
    /// Whether an interface of that version is offered.
    pub(crate) fn offers(&self, version: &str) -> bool {
        let mut interfaces = self.card.interfaces.iter();
        interfaces.any(|interface| speaks(&interface.version) == Some(version))
    }
}

/// The version that an interface speaks, if we do.
pub(crate) fn speaks(version: &str) -> Option<&'static str> {
    ProtocolVersion::requested(version)
        .ok()
        .map(ProtocolVersion::name)
}

/// Finds the card of an agent, or says in which places there is none.
pub(crate) async fn discover(caller: &Caller, reference: &str) -> Result<Discovered, String> {
    if let Some(path) = file(reference) {
        return read(path);
    }
    let url = address(reference)?;
    let mut tried = Vec::new();
    for place in places(&url) {
        match fetch(caller, &place, None).await {
            Ok(found) => return Ok(newest(caller, found).await),
            Err(why) => tried.push(format!("{place}: {why}")),
        }
    }
    Err(format!("there is no agent card\n  {}", tried.join("\n  ")))
}

/// Some servers show what they offer in 1.0 only to those who ask in 1.0.
async fn newest(caller: &Caller, found: Discovered) -> Discovered {
    let newest = ProtocolVersion::ALL[0].name();
    let Some(url) = found.url.clone().filter(|_| !found.offers(newest)) else {
        return found;
    };
    match fetch(caller, &url, Some(newest)).await {
        Ok(other) if other.offers(newest) => other,
        _ => found,
    }
}

fn file(reference: &str) -> Option<&Path> {
    let named = reference.strip_prefix("file://").map(Path::new);
    named.or_else(|| Some(Path::new(reference)).filter(|path| path.is_file()))
}

fn read(path: &Path) -> Result<Discovered, String> {
    let name = path.display();
    let bytes = std::fs::read(path).map_err(|error| format!("{name}: {error}"))?;
    let (card, raw) = parse(&bytes).map_err(|why| format!("{name}: {why}"))?;
    Ok(Discovered {
        card,
        raw,
        headers: HeaderMap::new(),
        exchange: Arc::new(Exchange {
            line: format!("read {name}"),
            headers: Vec::new(),
            body: String::new(),
            status: "a file".to_owned(),
            answer_headers: Vec::new(),
            answer: super::exchange::body(&bytes),
        }),
        url: None,
    })
}

/// An address; without a scheme it is `https`, and on this machine `http`.
fn address(reference: &str) -> Result<Url, String> {
    if reference.contains("://") {
        let url = Url::parse(reference);
        let url = url.map_err(|error| format!("{reference}: {error}"))?;
        return match url.scheme() {
            "http" | "https" => Ok(url),
            _ => Err(format!("{reference}: only http and https")),
        };
    }
    let host = reference.split(['/', ':']).next().unwrap_or_default();
    let here = host == "localhost" || host.starts_with("127.") || reference.starts_with("[::1]");
    let scheme = if here { "http" } else { "https" };
    Url::parse(&format!("{scheme}://{reference}")).map_err(|error| format!("{reference}: {error}"))
}

/// An address that ends in `.json` is a card's; others are an agent's, and may yet be a card's.
fn places(url: &Url) -> Vec<Url> {
    let base = url.path().trim_end_matches('/');
    if base.ends_with(".json") {
        return vec![url.clone()];
    }
    let mut all = Vec::new();
    for place in PLACES {
        let mut one = url.clone();
        one.set_path(&format!("{base}{place}"));
        all.push(one);
    }
    if !base.is_empty() {
        all.push(url.clone());
    }
    all
}

async fn fetch(
    caller: &Caller,
    url: &Url,
    version: Option<&'static str>,
) -> Result<Discovered, String> {
    let mut headers = HeaderMap::new();
    headers.insert("accept", HeaderValue::from_static("application/json"));
    if let Some(version) = version {
        headers.insert("a2a-version", HeaderValue::from_static(version));
    }
    let whole = caller
        .whole(Outgoing {
            verb: "GET",
            url: url.clone(),
            headers,
            body: Vec::new(),
            anonymous: false,
            titled: false,
            rpc: None,
        })
        .await;
    if let Some(why) = whole.broken {
        return Err(why);
    }
    if whole.status != 200 {
        return Err(format!("HTTP {}", whole.status));
    }
    let (card, raw) = parse(&whole.body)?;
    Ok(Discovered {
        card,
        raw,
        headers: whole.headers,
        exchange: whole.exchange,
        url: Some(url.clone()),
    })
}

fn parse(bytes: &[u8]) -> Result<(AgentCard, Value), String> {
    let card = decode_card(bytes).map_err(|error| format!("not an agent card: {error}"))?;
    let raw = serde_json::from_slice(bytes).map_err(|error| format!("not JSON: {error}"))?;
    Ok((card, raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_looked_at_where_cards_are_and_a_card_where_it_is() {
        for (reference, expected) in [
            (
                "127.0.0.1:7420",
                "http://127.0.0.1:7420/.well-known/agent-card.json",
            ),
            ("localhost", "http://localhost/.well-known/agent-card.json"),
            (
                "example.com/a2a/echo/",
                "https://example.com/a2a/echo/.well-known/agent-card.json",
            ),
            (
                "http://example.com/x/card.json",
                "http://example.com/x/card.json",
            ),
        ] {
            let url = address(reference).unwrap();
            assert_eq!(places(&url)[0].as_str(), expected, "{reference}");
        }
        assert!(address("ftp://example.com").is_err());
        assert!(address("http://").is_err());
    }
}
