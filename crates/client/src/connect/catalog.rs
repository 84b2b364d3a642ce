//! Agents by name, from a catalogue (`/.well-known/ai-catalog.json`, or any list of cards or of their addresses).

use serde_json::Value;
use switchboard_types::model::AgentCard;
use switchboard_types::wire::card::decode_card;
use url::Url;

use crate::error::{Error, Kind};
use crate::transport::record::shown;

/// Members by which catalogues call their list.
const LISTS: [&str; 4] = ["entries", "agents", "items", "cards"];
/// Members by which an entry is named.
const NAMES: [&str; 5] = ["name", "displayName", "title", "id", "identifier"];
/// Members that say where an entry's card is.
const ADDRESSES: [&str; 5] = ["url", "cardUrl", "agentCardUrl", "href", "card_url"];
/// Members that hold the card itself.
const CARDS: [&str; 4] = ["agentCard", "card", "data", "inline"];

/// What a catalogue says of an agent.
#[derive(Debug)]
pub(super) enum Entry {
    /// Its card.
    Card(Box<AgentCard>),
    /// Where its card, or the agent, is.
    At(Url),
}

/// Where the catalogue of a host is; a URL with a path of its own is one already.
pub(super) fn address(url: &Url) -> Url {
    let mut catalog = url.clone();
    if url.path().trim_end_matches('/').is_empty() {
        catalog.set_path("/.well-known/ai-catalog.json");
    }
    catalog
}

/// The entry of that name.
pub(super) fn find(catalog: &[u8], base: &Url, name: &str) -> Result<Entry, Error> {
    let list: Value = serde_json::from_slice(catalog).map_err(|error| {
        Error::new(
            Kind::CardInvalid,
            format!("{} is no catalogue: {error}", shown(base)),
        )
    })?;
    let entries = match &list {
        Value::Array(entries) => Some(entries),
        Value::Object(members) => LISTS.iter().find_map(|key| members.get(*key)?.as_array()),
        _ => None,
    };
    let Some(entries) = entries else {
        let message = format!("{} is no catalogue: it has no list", shown(base));
        return Err(Error::new(Kind::CardInvalid, message));
    };
    let mut known = Vec::new();
    for entry in entries {
        let card = CARDS.iter().find_map(|key| entry.get(key));
        let places = [Some(entry), card].into_iter().flatten();
        let names: Vec<&str> = places
            .flat_map(|place| NAMES.iter().filter_map(|key| place.get(key)?.as_str()))
            .collect();
        if names.contains(&name) {
            return read(entry, card, base);
        }
        known.extend(names.first().copied());
    }
    let message = format!(
        "{} has no agent {name:?}; it has {}",
        shown(base),
        known.join(", ")
    );
    Err(Error::new(Kind::CardNotFound, message))
}

fn read(entry: &Value, card: Option<&Value>, base: &Url) -> Result<Entry, Error> {
    let whole = ["supportedInterfaces", "protocolVersion", "skills"];
    let is_card = whole.iter().any(|key| entry.get(key).is_some());
    if let Some(card) = card.or(is_card.then_some(entry)) {
        let card = decode_card(card.to_string().as_bytes())
            .map_err(|error| Error::new(Kind::CardInvalid, error.to_string()))?;
        return Ok(Entry::Card(Box::new(card)));
    }
    let address = ADDRESSES.iter().find_map(|key| entry.get(key)?.as_str());
    match address.and_then(|address| base.join(address).ok()) {
        Some(url) => Ok(Entry::At(url)),
        None => {
            let message = format!(
                "the entry in {} does not say where the agent is",
                shown(base)
            );
            Err(Error::new(Kind::CardInvalid, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_found_by_name_in_every_form_of_list() {
        let base = Url::parse("https://h/.well-known/ai-catalog.json").unwrap();
        for (catalog, expected) in [
            (
                r#"{"entries":[{"displayName":"poet","url":"/a2a/poet"}]}"#,
                "at https://h/a2a/poet",
            ),
            (
                r#"{"agents":[{"name":"x"},{"id":"poet","cardUrl":"https://o/c.json"}]}"#,
                "at https://o/c.json",
            ),
            (r#"[{"name":"poet","supportedInterfaces":[]}]"#, "card poet"),
            (
                r#"{"items":[{"agentCard":{"name":"poet","url":"u"}}]}"#,
                "card poet",
            ),
        ] {
            let found = match find(catalog.as_bytes(), &base, "poet").unwrap() {
                Entry::Card(card) => format!("card {}", card.name),
                Entry::At(url) => format!("at {url}"),
            };
            assert_eq!(found, expected, "{catalog}");
        }
    }

    #[test]
    fn what_is_not_in_the_list_is_told_with_what_is() {
        let base = Url::parse("https://h/c").unwrap();
        let error = find(br#"[{"name":"a"},{"name":"b"}]"#, &base, "poet").unwrap_err();
        assert_eq!(error.kind(), Kind::CardNotFound);
        assert!(error.to_string().ends_with("it has a, b"), "{error}");
        for catalog in ["{}", "7", "oops", r#"[{"name":"poet"}]"#] {
            let error = find(catalog.as_bytes(), &base, "poet").unwrap_err();
            assert_eq!(error.kind(), Kind::CardInvalid, "{catalog}");
        }
    }
}
