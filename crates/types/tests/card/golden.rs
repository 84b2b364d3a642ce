//! Cards of real peers and of the specification, read and written again in every shape.
//!
//! `peers/<peer>.json` is what the peer served (addresses replaced by localhost);
//! `<peer>.{v1,v0,union}.json` is what Switchboard writes for it. `UPDATE_GOLDENS=1` rewrites the
//! latter.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use switchboard_types::model::{AgentCard, Binding, SecurityRequirement, SecurityScheme};
use switchboard_types::wire::card::{
    CardShape, canonical_card, canonical_received, decode_card, encode_card,
};

/// Every member of both versions, with several OAuth flows in one scheme.
const MADE_BY_HAND: &str = "everything";

const PEERS: [&str; 10] = [
    "a2a-js-1.3.0",
    "a2a-js-1.3.0-compat",
    "a2a-python-0.3.26",
    "a2a-python-1.3.0",
    "a2a-python-1.3.0-compat",
    MADE_BY_HAND,
    "langgraph-0.6.39",
    "langgraph-0.16.7",
    "openclaw-2026.9.6",
    "specification-0.2",
];

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/card/peers/{name}.json"))
}

fn json(name: &str) -> Value {
    serde_json::from_slice(&fs::read(file(name)).unwrap()).unwrap()
}

fn card(name: &str) -> AgentCard {
    decode_card(&fs::read(file(name)).unwrap()).unwrap()
}

fn encoded(shape: CardShape, card: &AgentCard) -> Value {
    let mut out = Vec::new();
    encode_card(shape, card, &mut out);
    serde_json::from_slice(&out).unwrap()
}

/// Each interface as one line.
fn interfaces(card: &AgentCard) -> Vec<String> {
    let line = |i: &switchboard_types::model::Interface| {
        format!("{} {} {}", i.binding.name(), i.version, i.url)
    };
    card.interfaces.iter().map(line).collect()
}

#[test]
fn every_peer_is_written_as_recorded() {
    for peer in PEERS {
        for (shape, suffix) in [
            (CardShape::V1, "v1"),
            (CardShape::V0, "v0"),
            (CardShape::Union, "union"),
        ] {
            let name = format!("{peer}.{suffix}");
            let written = encoded(shape, &card(peer));
            if std::env::var_os("UPDATE_GOLDENS").is_some() {
                let text = serde_json::to_string_pretty(&written).unwrap();
                fs::write(file(&name), text + "\n").unwrap();
            }
            assert_eq!(written, json(&name), "{name}");
        }
    }
}

#[test]
fn every_shape_written_for_a_peer_reads_back_the_same() {
    for peer in PEERS.into_iter().filter(|peer| *peer != MADE_BY_HAND) {
        let mut card = card(peer);
        // Lost in 1.0, and in a union that has nobody to tell.
        if !card.interfaces.iter().any(|i| i.version == "0.3") {
            card.capabilities.state_transition_history = None;
        }
        assert_eq!(
            decode_card(encoded(CardShape::Union, &card).to_string().as_bytes()).as_ref(),
            Ok(&card),
            "{peer}"
        );
        card.capabilities.state_transition_history = None;
        assert_eq!(
            decode_card(encoded(CardShape::V1, &card).to_string().as_bytes()),
            Ok(card),
            "{peer}"
        );
    }
}

/// Peers that omit defaults as 1.0 demands get their own card back, member for member.
#[test]
fn strict_1_0_cards_come_back_unchanged() {
    for peer in ["a2a-python-1.3.0", "openclaw-2026.9.6"] {
        assert_eq!(encoded(CardShape::V1, &card(peer)), json(peer), "{peer}");
    }
}

/// S1-074: the sample card of the 0.2 document loses nothing; it gains what 0.3 added.
#[test]
fn the_specification_sample_parses_without_loss() {
    let written = encoded(CardShape::V0, &card("specification-0.2"));
    let mut expected = json("specification-0.2");
    let url = expected["url"].clone();
    expected["protocolVersion"] = "0.3.0".into();
    expected["preferredTransport"] = "JSONRPC".into();
    expected["additionalInterfaces"] = serde_json::json!([{ "url": url, "transport": "JSONRPC" }]);
    assert_eq!(written, expected);
}

#[test]
fn the_specification_sample_is_understood() {
    let card = card("specification-0.2");
    assert_eq!(
        interfaces(&card),
        ["JSONRPC 0.3 https://georoute-agent.example.com/a2a/v1"]
    );
    assert_eq!(card.capabilities.extended_agent_card, Some(true));
    assert_eq!(card.capabilities.state_transition_history, Some(false));
    let scopes = ["openid", "profile", "email"].map(str::to_owned).to_vec();
    assert_eq!(
        card.security,
        [SecurityRequirement([("google".to_owned(), scopes)].into())]
    );
    assert!(matches!(
        card.security_schemes["google"],
        SecurityScheme::OpenIdConnect { .. }
    ));
}

/// A card with `supportedInterfaces` is 1.0-shaped: its `url` is no further interface.
#[test]
fn mixed_cards_yield_each_interface_once() {
    assert_eq!(
        interfaces(&card("a2a-js-1.3.0-compat")),
        [
            "JSONRPC 1.0 http://localhost:8080/a2a/jsonrpc",
            "HTTP+JSON 1.0 http://localhost:8080/a2a/rest",
            "JSONRPC 0.3 http://localhost:8080/a2a/jsonrpc",
        ]
    );
    let langgraph = card("langgraph-0.16.7");
    assert_eq!(langgraph.interfaces.len(), 1);
    assert_eq!(langgraph.interfaces[0].version, "1.0");
    assert_eq!(card("langgraph-0.6.39").interfaces[0].version, "0.3");
    assert_eq!(
        card("a2a-python-0.3.26").interfaces[0].binding,
        Binding::JsonRpc
    );
}

#[test]
fn extension_parameters_are_kept_as_they_came() {
    let extensions = card("langgraph-0.16.7").capabilities.extensions;
    let params = extensions[0].params.as_ref().unwrap();
    let order = ["header", "values", "default", "methods"].map(|key| params.as_str().find(key));
    assert!(order.is_sorted(), "{params:?}");
}

#[test]
fn the_signed_bytes_of_a_real_card() {
    let canonical = String::from_utf8(canonical_card(&card("a2a-js-1.3.0"))).unwrap();
    let expected = concat!(
        r#"{"capabilities":{"extendedAgentCard":false,"pushNotifications":false,"streaming":true},"#,
        r#""defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"#,
        r#""description":"echo","name":"js-echo","#,
        r#""skills":[{"description":"e","id":"echo","name":"echo","tags":["t"]}],"#,
        r#""supportedInterfaces":["#,
        r#"{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"http://localhost:8080/a2a/jsonrpc"},"#,
        r#"{"protocolBinding":"HTTP+JSON","protocolVersion":"1.0","url":"http://localhost:8080/a2a/rest"}],"#,
        r#""version":"1"}"#,
    );
    assert_eq!(canonical, expected);
}

#[test]
fn a_card_of_1_0_is_signed_the_same_as_it_is_and_as_it_came() {
    for name in ["a2a-python-1.3.0", "a2a-js-1.3.0", "openclaw-2026.9.6"] {
        let card = card(name);
        let mut served = Vec::new();
        encode_card(CardShape::V1, &card, &mut served);
        assert_eq!(
            canonical_received(&served).unwrap(),
            canonical_card(&card),
            "{name}"
        );
    }
}

#[test]
fn what_came_is_signed_with_every_member_but_the_signatures() {
    let came = r#"{ "url":"u", "name" : "n","signatures":[{"protected":"x"}],"odd":[1.0,{"b":1,"a":"\u0041"}]}"#;
    let signed = canonical_received(came.as_bytes()).unwrap();
    let expected = r#"{"name":"n","odd":[1,{"a":"A","b":1}],"url":"u"}"#;
    assert_eq!(String::from_utf8(signed).unwrap(), expected);
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    for bad in ["", "{", "[]", "\"x\"", deep.as_str()] {
        assert!(canonical_received(bad.as_bytes()).is_err());
    }
    assert!(canonical_received(b"{\"a\":\"\xff\"}").is_err());
}
