//! Any card, sent over gRPC and read back: what is lost is what its version loses in JSON, what the list of losses of
//! gRPC says, and nothing else.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use switchboard_types::model::{
    AgentCard, Json, OAuthFlow, Object, SecurityRequirement, SecurityScheme,
};
use switchboard_types::operation::{Method, Response};
use switchboard_types::wire::grpc::{Spoken, decode_response, encode_response};
use switchboard_types::{FileBytes, ProtocolVersion};

use super::roundtrip::{after_v0, after_v1, card};

fn through(version: ProtocolVersion, card: &AgentCard) -> AgentCard {
    let spoken = Spoken::new(version, FileBytes::default());
    let bytes = encode_response(spoken, &Response::Card(Box::new(card.clone())));
    match decode_response(spoken, Method::ExtendedCard, &bytes).unwrap() {
        Response::Card(card) => *card,
        other => panic!("no card: {other:?}"),
    }
}

/// Free JSON in the one spelling that gRPC has: numbers are doubles, keys are sorted.
fn plain(object: &mut Option<Object>) {
    if let Some(inner) = object {
        let mut text = inner.as_str().replace(": ", ":");
        for (from, to) in [
            ("18446744073709551615", "1.8446744073709552e+19"),
            ("1.50", "1.5"),
        ] {
            text = text.replace(from, to);
        }
        *inner = Object::try_from(Json::parse(text).unwrap()).unwrap();
    }
}

fn plainly(mut card: AgentCard) -> AgentCard {
    for extension in &mut card.capabilities.extensions {
        plain(&mut extension.params);
    }
    for signature in &mut card.signatures {
        plain(&mut signature.header);
    }
    card
}

/// Without presence, what is not offered is not said.
fn without_presence(mut card: AgentCard) -> AgentCard {
    let offered = &mut card.capabilities;
    for flag in [
        &mut offered.streaming,
        &mut offered.push_notifications,
        &mut offered.extended_agent_card,
        &mut offered.state_transition_history,
    ] {
        *flag = flag.filter(|yes| *yes);
    }
    for text in [&mut card.documentation_url, &mut card.icon_url] {
        *text = text.take().filter(|text| !text.is_empty());
    }
    card
}

proptest! {
    #[test]
    fn v1_keeps_all_but_what_is_listed(card in card()) {
        prop_assert_eq!(through(ProtocolVersion::V1_0, &card), plainly(after_v1(card)));
    }

    #[test]
    fn v0_keeps_all_but_what_is_listed(card in card()) {
        // Device codes and PKCE come through: 0.3 readers skip what they do not know.
        let schemes = card.security_schemes.clone();
        let mut wanted = without_presence(plainly(after_v0(card.clone())));
        wanted.security_schemes = schemes;
        prop_assert_eq!(through(ProtocolVersion::V0_3, &card), wanted);
    }
}

#[test]
fn several_flows_become_several_schemes_in_both_versions() {
    let flow = OAuthFlow::ClientCredentials {
        token_url: "https://auth.example.com/token".to_owned(),
        refresh_url: None,
        scopes: [("read".to_owned(), "reading".to_owned())].into(),
    };
    let scheme = SecurityScheme::OAuth2 {
        description: None,
        flows: vec![flow.clone(), flow],
        metadata_url: None,
    };
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut one = card().new_tree(&mut runner).unwrap().current();
    one.security_schemes = [("oauth".to_owned(), scheme)].into();
    one.security = vec![SecurityRequirement(
        [("oauth".to_owned(), vec!["read".to_owned()])].into(),
    )];
    for version in ProtocolVersion::ALL {
        let back = through(version, &one);
        let names: Vec<&String> = back.security_schemes.keys().collect();
        assert_eq!(names, ["oauth", "oauth-2"]);
        assert_eq!(back.security.len(), 2);
    }
}
