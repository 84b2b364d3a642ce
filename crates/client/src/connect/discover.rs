//! Where a card may be, and looking there.

use std::fmt::Write as _;

use bytes::Bytes;
use switchboard_types::model::AgentCard;
use url::Url;
use uuid::Uuid;

use super::fetch::{Fetched, Fetcher};
use crate::auth::Authority;
use crate::error::{Error, Kind};
use crate::transport::record::shown;

/// A card that was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) card: AgentCard,
    /// The text it came as, for its signatures.
    pub(super) text: Option<Bytes>,
}

/// One place to look.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    url: Url,
    /// Not below what the user named: a card from here counts only if it speaks of that.
    elsewhere: bool,
}

/// Whether a URL names a card, not an agent.
fn is_card(url: &Url) -> bool {
    let path = url.path();
    path.ends_with(".json")
        || path.contains("/.well-known/")
        || path.ends_with("/agent-card")
        || url.query().is_some()
}

/// The address of the agent whose card stands at `url`, as far as it can be told.
pub(super) fn agent_of(url: &Url) -> Url {
    let mut base = url.clone();
    base.set_fragment(None);
    if is_card(url) {
        let path = url.path();
        let end = path.find("/.well-known/").or_else(|| path.rfind('/'));
        base.set_path(&path[..end.unwrap_or(0)]);
        base.set_query(None);
    }
    base
}

/// Everywhere a card may be, in the order of likelihood.
fn places(base: &Url) -> Vec<Place> {
    let place = |url: Url, elsewhere| Place { url, elsewhere };
    if is_card(base) {
        return vec![place(base.clone(), false)];
    }
    let below = |path: &str| {
        let mut url = base.clone();
        url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
        place(url, false)
    };
    let mut places = vec![
        below("/.well-known/agent-card.json"),
        below("/.well-known/agent.json"),
        below("/agent-card"),
        below("/.well-known/agent"),
        place(base.clone(), false),
        below("/v1/card"),
    ];
    let path = base.path().trim_end_matches('/');
    if !path.is_empty() {
        let at_root = |path| {
            let mut url = base.clone();
            url.set_path(path);
            url
        };
        for path in ["/.well-known/agent-card.json", "/.well-known/agent.json"] {
            places.push(place(at_root(path), true));
        }
        // Where LangGraph had it before 0.7.
        if let Some((_, id)) = path.rsplit_once("/a2a/")
            && Uuid::parse_str(id).is_ok()
        {
            let mut url = at_root("/.well-known/agent-card.json");
            url.query_pairs_mut().append_pair("assistant_id", id);
            places.push(place(url, true));
        }
    }
    places
}

/// Looks for a card. The credentials are shown only to an address that asks for them.
pub(super) async fn find(
    base: &Url,
    fetcher: Fetcher<'_>,
    credentials: &Authority,
) -> Result<Found, Error> {
    let nobody = Authority::default();
    let mut tried = String::new();
    let mut odd = false;
    let mut said_before = String::new();
    let mut away = None;
    for place in places(base) {
        let mut fetched = fetcher.card(&place.url, &nobody).await?;
        if let Fetched::Refused(_) = fetched
            && !credentials.is_empty()
        {
            fetched = fetcher.card(&place.url, credentials).await?;
        }
        let said = match fetched {
            Fetched::Card(card, text) if !place.elsewhere || names(&card, base) => {
                return Ok(Found {
                    card: *card,
                    text: Some(text),
                });
            }
            Fetched::Card(..) => "the card of another agent".to_owned(),
            Fetched::Refused(status) => return Err(refused(&place.url, status, credentials)),
            Fetched::Nothing { said, good } => {
                odd |= good;
                said
            }
            Fetched::Away(status) => {
                away = Some(status);
                format!("status {status}")
            }
        };
        // What a server says at each address is said once.
        let short = match said == said_before {
            true => said.split(':').next().unwrap_or_default(),
            false => &said,
        };
        // A String takes every write.
        let _ = write!(tried, "\n  {}: {short}", shown(&place.url));
        said_before = said;
    }
    let only = is_card(base);
    let kind = if odd && only {
        Kind::CardInvalid
    } else {
        Kind::CardNotFound
    };
    let missing = Error::new(kind, format!("no card was found:{tried}"));
    Err(match away {
        // There may be one when it is back.
        Some(status) => missing
            .with_status(status)
            .hinting("the server cannot answer now: try again later"),
        None => missing.hinting("give the URL of the card itself, or a file"),
    })
}

fn refused(url: &Url, status: u16, credentials: &Authority) -> Error {
    let kind = if credentials.is_empty() {
        Kind::CredentialsMissing
    } else {
        Kind::Refused
    };
    let url = shown(url);
    let message = format!("{url} does not show its card to everyone (status {status})");
    Error::new(kind, message).with_status(status)
}

/// Whether a card speaks of an address.
fn names(card: &AgentCard, base: &Url) -> bool {
    let wanted = base.path().trim_end_matches('/');
    card.interfaces.iter().any(|interface| {
        let url = Url::parse(&interface.url);
        // Whole steps of the path: the card of `poetry` is none of `poet`.
        let below = |url: &Url| {
            let rest = url.path().strip_prefix(wanted);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        url.is_ok_and(|url| below(&url))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked_at(base: &str) -> Vec<String> {
        let places = places(&Url::parse(base).unwrap());
        places.iter().map(|place| place.url.to_string()).collect()
    }

    #[test]
    fn an_address_is_looked_at_in_all_known_places() {
        assert_eq!(
            looked_at("http://h:1/a2a/poet/"),
            [
                "http://h:1/a2a/poet/.well-known/agent-card.json",
                "http://h:1/a2a/poet/.well-known/agent.json",
                "http://h:1/a2a/poet/agent-card",
                "http://h:1/a2a/poet/.well-known/agent",
                "http://h:1/a2a/poet/",
                "http://h:1/a2a/poet/v1/card",
                "http://h:1/.well-known/agent-card.json",
                "http://h:1/.well-known/agent.json",
            ]
        );
        let id = "428beae3-73c7-54e3-98cd-c3af7524420d";
        assert_eq!(
            looked_at(&format!("http://h:1/a2a/{id}")).last(),
            Some(&format!(
                "http://h:1/.well-known/agent-card.json?assistant_id={id}"
            ))
        );
        assert_eq!(looked_at("http://h:1").len(), 6);
    }

    #[test]
    fn the_address_of_a_card_is_taken_as_it_is() {
        for url in [
            "http://h/.well-known/agent-card.json",
            "http://h/cards/poet.json",
            "http://h/a2a/x/agent-card",
            "http://h/card?assistant_id=1",
        ] {
            assert_eq!(looked_at(url), [url]);
        }
    }

    #[test]
    fn a_card_speaks_of_whole_steps_of_a_path() {
        let base = Url::parse("http://h/a2a/poet").unwrap();
        for (url, speaks) in [
            ("http://h/a2a/poet", true),
            ("http://h/a2a/poet/", true),
            ("http://h/a2a/poet/v1", true),
            ("http://h/a2a/poetry", false),
            ("http://h/a2a", false),
        ] {
            let card = format!(r#"{{"name":"a","url":"{url}"}}"#);
            let card = switchboard_types::wire::card::decode_card(card.as_bytes()).unwrap();
            assert_eq!(names(&card, &base), speaks, "{url}");
        }
    }

    #[test]
    fn the_agent_of_a_card_is_where_the_card_is() {
        for (card, agent) in [
            ("http://h/a/.well-known/agent-card.json?x=1", "http://h/a"),
            ("http://h/a/agent-card", "http://h/a"),
            ("http://h/.well-known/agent.json", "http://h/"),
            ("http://h/a2a/poet", "http://h/a2a/poet"),
        ] {
            assert_eq!(agent_of(&Url::parse(card).unwrap()).as_str(), agent);
        }
    }
}
