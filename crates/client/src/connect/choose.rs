//! Which interface of a card is spoken to. Pure.

use switchboard_types::ProtocolVersion;
use switchboard_types::model::{AgentCard, Binding, Interface};

use crate::error::{Error, Kind};
use crate::transport::grpc;

/// What the user would rather speak. Empty lists leave it to the card.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preference {
    /// Bindings, best first.
    pub bindings: Vec<Binding>,
    /// Versions, best first.
    pub versions: Vec<ProtocolVersion>,
}

/// An interface that can be spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// As the card has it.
    pub interface: Interface,
    /// What is spoken there.
    pub version: ProtocolVersion,
    /// Why this one.
    pub why: Why,
}

/// Why an interface was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It is the first of the card that we speak.
    ByCard,
    /// The user would rather have it.
    ByPreference,
    /// The user would rather have another one, which is not there.
    Fallback,
}

/// The interfaces of a card that can be spoken to, best first: in the card's order (A2A 1.0 §8.3.2), what the user
/// prefers before the rest.
pub(crate) fn choose(card: &AgentCard, preference: &Preference) -> Result<Vec<Chosen>, Error> {
    let exact = card.interfaces.iter().filter_map(|interface| {
        let version = ProtocolVersion::requested(&interface.version).ok()?;
        spoken(&interface.binding).then_some((interface, version))
    });
    let mut found: Vec<(&Interface, ProtocolVersion)> = exact.collect();
    if found.is_empty() {
        // A later minor version should still be good enough for what we say.
        let near = card.interfaces.iter().filter_map(|interface| {
            let (major, _) = interface.version.split_once('.')?;
            let version = ProtocolVersion::requested(&format!("{major}.0")).ok()?;
            spoken(&interface.binding).then_some((interface, version))
        });
        found.extend(near);
    }
    if found.is_empty() {
        return Err(nothing_spoken(card));
    }
    let rank = |binding: &Binding, version: ProtocolVersion| {
        let place = |found: Option<usize>| found.unwrap_or(usize::MAX);
        (
            place(
                preference
                    .bindings
                    .iter()
                    .position(|known| known == binding),
            ),
            place(
                preference
                    .versions
                    .iter()
                    .position(|known| *known == version),
            ),
        )
    };
    found.sort_by_key(|(interface, version)| rank(&interface.binding, *version));
    let chosen = found.into_iter().map(|(interface, version)| {
        let wanted = |empty: bool, place: usize| empty || place != usize::MAX;
        let (binding_at, version_at) = rank(&interface.binding, version);
        let anything = preference.bindings.is_empty() && preference.versions.is_empty();
        let fits = wanted(preference.bindings.is_empty(), binding_at)
            && wanted(preference.versions.is_empty(), version_at);
        let why = match (anything, fits) {
            (true, _) => Why::ByCard,
            (false, true) => Why::ByPreference,
            (false, false) => Why::Fallback,
        };
        Chosen {
            interface: interface.clone(),
            version,
            why,
        }
    });
    Ok(chosen.collect())
}

/// Those of `chosen` that the user would rather have.
pub(crate) fn only_preferred(
    card: &AgentCard,
    mut chosen: Vec<Chosen>,
) -> Result<Vec<Chosen>, Error> {
    chosen.retain(|one| one.why != Why::Fallback);
    if chosen.is_empty() {
        let message = format!(
            "the agent does not speak what was asked for: {}",
            offers(card)
        );
        return Err(Error::new(Kind::NotOffered, message));
    }
    Ok(chosen)
}

fn spoken(binding: &Binding) -> bool {
    match binding {
        Binding::JsonRpc | Binding::HttpJson => true,
        Binding::Grpc => grpc::SPOKEN,
        Binding::Other(_) => false,
    }
}

fn nothing_spoken(card: &AgentCard) -> Error {
    if card.interfaces.is_empty() {
        let message = format!("the card of {:?} names no address", card.name);
        return Error::new(Kind::CardInvalid, message);
    }
    let message = format!("nothing the agent speaks is spoken here: {}", offers(card));
    Error::new(Kind::NotOffered, message)
}

fn offers(card: &AgentCard) -> String {
    let offered = card
        .interfaces
        .iter()
        .map(|interface| format!("{} {}", interface.binding.name(), interface.version));
    let offered: Vec<String> = offered.collect();
    format!("it offers {}", offered.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_types::wire::card::decode_card;

    fn card(interfaces: &[(&str, &str)]) -> AgentCard {
        let list: Vec<String> = interfaces
            .iter()
            .map(|(binding, version)| {
                format!(
                    r#"{{"url":"http://h/{binding}{version}","protocolBinding":"{binding}","protocolVersion":"{version}"}}"#
                )
            })
            .collect();
        let json = format!(
            r#"{{"name":"a","supportedInterfaces":[{}]}}"#,
            list.join(",")
        );
        decode_card(json.as_bytes()).unwrap()
    }

    fn order(card: &AgentCard, preference: &Preference) -> Vec<(String, Why)> {
        let all = choose(card, preference).unwrap();
        let named = all.into_iter().map(|chosen| {
            let name = chosen.interface.binding.name().to_owned();
            (format!("{name} {}", chosen.version.name()), chosen.why)
        });
        named.collect()
    }

    #[test]
    fn the_cards_order_counts_unless_the_user_prefers_something() {
        let card = card(&[("HTTP+JSON", "1.0"), ("JSONRPC", "1.0"), ("JSONRPC", "0.3")]);
        let by_card = order(&card, &Preference::default());
        assert_eq!(by_card[0], ("HTTP+JSON 1.0".to_owned(), Why::ByCard));
        assert_eq!(by_card.len(), 3);
        let rpc = Preference {
            bindings: vec![Binding::JsonRpc],
            versions: Vec::new(),
        };
        let by_binding = order(&card, &rpc);
        assert_eq!(by_binding[0], ("JSONRPC 1.0".to_owned(), Why::ByPreference));
        assert_eq!(by_binding[2], ("HTTP+JSON 1.0".to_owned(), Why::Fallback));
        let old = Preference {
            bindings: Vec::new(),
            versions: vec![ProtocolVersion::requested("0.3").unwrap()],
        };
        assert_eq!(
            order(&card, &old)[0],
            ("JSONRPC 0.3".to_owned(), Why::ByPreference)
        );
    }

    #[test]
    fn a_later_minor_version_is_tried_only_where_there_is_nothing_else() {
        let both = card(&[("JSONRPC", "1.1"), ("JSONRPC", "0.2")]);
        assert_eq!(order(&both, &Preference::default())[0].0, "JSONRPC 0.3");
        let alone = card(&[("JSONRPC", "1.1")]);
        assert_eq!(order(&alone, &Preference::default())[0].0, "JSONRPC 1.0");
    }

    #[test]
    fn what_is_not_spoken_is_named() {
        let error = choose(
            &card(&[("urn:soap", "1.0"), ("JSONRPC", "7.0")]),
            &Preference::default(),
        );
        let error = error.unwrap_err();
        assert_eq!(error.kind(), Kind::NotOffered);
        assert!(
            error.to_string().contains("urn:soap 1.0, JSONRPC 7.0"),
            "{error}"
        );
        let error = choose(&card(&[]), &Preference::default()).unwrap_err();
        assert_eq!(error.kind(), Kind::CardInvalid);
    }
}
