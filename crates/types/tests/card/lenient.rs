//! What the card reader forgives, and what it does not.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::model::{
    AgentCard, ApiKeyLocation, Binding, OAuthFlow, SecurityRequirement, SecurityScheme,
};
use switchboard_types::wire::card::decode_card;

fn read(card: &Value) -> AgentCard {
    decode_card(card.to_string().as_bytes()).unwrap()
}

/// A card that says `members` besides its name.
fn with(members: &Value) -> AgentCard {
    let mut card = members.clone();
    card["name"] = "n".into();
    read(&card)
}

/// The path that is refused.
fn refused(card: &Value) -> String {
    let error = decode_card(card.to_string().as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    assert!(error.message().contains(&error.violations()[0].field));
    error.violations()[0].field.clone()
}

fn addresses(card: &AgentCard) -> Vec<(&str, &str, &str)> {
    let line = |i| -> (&str, &str, &str) {
        let i: &switchboard_types::model::Interface = i;
        (i.binding.name(), &i.version, &i.url)
    };
    card.interfaces.iter().map(line).collect()
}

fn requirement(of: &[(&str, &[&str])]) -> SecurityRequirement {
    let own = |(name, scopes): &(&str, &[&str])| {
        let scopes = scopes.iter().map(|s| (*s).to_owned()).collect();
        ((*name).to_owned(), scopes)
    };
    SecurityRequirement(of.iter().map(own).collect())
}

fn bearer() -> SecurityScheme {
    SecurityScheme::Http {
        description: None,
        scheme: "bearer".to_owned(),
        bearer_format: None,
    }
}

#[test]
fn a_name_is_enough() {
    let card = with(&json!({}));
    assert_eq!(card.name, "n");
    assert!(card.interfaces.is_empty() && card.skills.is_empty());
}

#[test]
fn null_is_absent_everywhere() {
    let nulls = with(&json!({
        "description": null, "version": null, "url": null, "provider": null, "iconUrl": null,
        "protocolVersion": null, "preferredTransport": null, "additionalInterfaces": null,
        "supportedInterfaces": null, "capabilities": null, "securitySchemes": null,
        "security": null, "securityRequirements": null, "defaultInputModes": null,
        "skills": null, "signatures": null, "authentication": null, "documentationUrl": null,
        "supportsAuthenticatedExtendedCard": null,
    }));
    assert_eq!(nulls, with(&json!({})));
    let inner = with(&json!({
        "capabilities": { "streaming": null, "extensions": [null, { "uri": "u", "params": null }] },
        "skills": [null, { "id": "s", "tags": null, "examples": [null, "e"] }],
        "securitySchemes": { "gone": null },
    }));
    assert_eq!(inner.capabilities.extensions.len(), 1);
    assert_eq!(inner.skills[0].examples, ["e"]);
    assert!(inner.security_schemes.is_empty());
}

#[test]
fn snake_case_is_read_at_every_level() {
    let snake = with(&json!({
        "supported_interfaces": [{ "url": "u", "protocol_binding": "GRPC", "protocol_version": "1.0" }],
        "documentation_url": "d", "icon_url": "i",
        "capabilities": { "push_notifications": true, "extended_agent_card": true },
        "default_input_modes": ["a"], "default_output_modes": ["b"],
        "skills": [{ "id": "s", "input_modes": ["c"], "security_requirements": [{ "schemes": { "k": {} } }] }],
        "security_schemes": {
            "o": { "oauth2_security_scheme": { "flows": { "client_credentials": { "token_url": "t" } } } },
            "k": { "api_key_security_scheme": { "name": "K", "location": "cookie" } },
        },
        "security_requirements": [{ "schemes": { "k": { "list": ["x"] } } }],
    }));
    let camel = with(&json!({
        "supportedInterfaces": [{ "url": "u", "protocolBinding": "GRPC", "protocolVersion": "1.0" }],
        "documentationUrl": "d", "iconUrl": "i",
        "capabilities": { "pushNotifications": true, "extendedAgentCard": true },
        "defaultInputModes": ["a"], "defaultOutputModes": ["b"],
        "skills": [{ "id": "s", "inputModes": ["c"], "securityRequirements": [{ "schemes": { "k": {} } }] }],
        "securitySchemes": {
            "o": { "oauth2SecurityScheme": { "flows": { "clientCredentials": { "tokenUrl": "t" } } } },
            "k": { "apiKeySecurityScheme": { "name": "K", "location": "cookie" } },
        },
        "securityRequirements": [{ "schemes": { "k": { "list": ["x"] } } }],
    }));
    assert_eq!(snake, camel);
    assert_eq!(camel.interfaces[0].binding, Binding::Grpc);
    assert_eq!(camel.security, [requirement(&[("k", &["x"])])]);
    assert_eq!(camel.security_schemes.len(), 2);
}

#[test]
fn both_spellings_of_a_member_may_stand_together() {
    let card = with(&json!({ "iconUrl": "camel", "icon_url": "snake" }));
    assert_eq!(card.icon_url.as_deref(), Some("camel"));
}

#[test]
fn old_addresses_become_interfaces_without_duplicates() {
    let card = with(&json!({
        "url": "http://localhost/rpc", "protocolVersion": "0.2.6",
        "additionalInterfaces": [
            { "url": "http://localhost/rpc", "transport": "JSONRPC" },
            { "url": "http://localhost/rpc", "transport": "HTTP+JSON" },
            { "url": "http://localhost/rpc", "transport": "HTTP+JSON" },
            { "url": "localhost:50051", "transport": "grpc" },
            { "transport": "GRPC" },
        ],
    }));
    assert_eq!(
        addresses(&card),
        [
            ("JSONRPC", "0.2", "http://localhost/rpc"),
            ("HTTP+JSON", "0.2", "http://localhost/rpc"),
            ("GRPC", "0.2", "localhost:50051"),
        ]
    );
}

#[test]
fn versions_are_read_as_major_and_minor() {
    for (text, version) in [
        (json!("0.3.0"), "0.3"),
        (json!("0.2"), "0.2"),
        (json!("v0.3"), "0.3"),
        (json!(""), "0.3"),
        (json!("1"), "1.0"),
        (json!(0.3), "0.3"),
        (json!("next"), "next"),
    ] {
        let card = with(&json!({ "url": "u", "protocolVersion": text }));
        assert_eq!(card.interfaces[0].version, version, "{text}");
    }
    let listed = with(
        &json!({ "supportedInterfaces": [{ "url": "u" }, { "url": "v", "protocolVersion": "1.0.1" }] }),
    );
    assert_eq!(
        addresses(&listed),
        [("JSONRPC", "1.0", "u"), ("JSONRPC", "1.0", "v")]
    );
}

#[test]
fn an_empty_interface_list_does_not_hide_the_url() {
    let card =
        with(&json!({ "supportedInterfaces": [], "url": "u", "preferredTransport": "rest" }));
    assert_eq!(addresses(&card), [("HTTP+JSON", "0.3", "u")]);
}

#[test]
fn foreign_bindings_keep_their_name() {
    let binding = "https://example.com/bindings/websocket";
    let card =
        with(&json!({ "supportedInterfaces": [{ "url": "u", "protocolBinding": binding }] }));
    assert_eq!(
        card.interfaces[0].binding,
        Binding::Other(binding.to_owned())
    );
}

#[test]
fn security_has_two_names_and_two_shapes() {
    let both = [requirement(&[("a", &["s"]), ("b", &[])]), requirement(&[])];
    let v0 = json!([{ "a": ["s"], "b": [] }, {}]);
    let v1 = json!([{ "schemes": { "a": { "list": ["s"] }, "b": {} } }, { "schemes": {} }]);
    for shape in [&v0, &v1] {
        for name in ["security", "securityRequirements"] {
            assert_eq!(
                with(&json!({ name: shape })).security,
                both,
                "{name}: {shape}"
            );
            let skill = json!({ "skills": [{ "id": "s", name: shape }] });
            assert_eq!(with(&skill).skills[0].security, both, "{name}: {shape}");
        }
    }
}

#[test]
fn requirements_survive_an_empty_twin_and_null_scopes() {
    let card = with(&json!({ "securityRequirements": [], "security": [{ "a": null }] }));
    assert_eq!(card.security, [requirement(&[("a", &[])])]);
    let card = with(&json!({ "security": [{ "schemes": ["s"] }, { "schemes": null }] }));
    assert_eq!(
        card.security,
        [requirement(&[("schemes", &["s"])]), requirement(&[])]
    );
}

#[test]
fn tagged_and_named_schemes_stand_in_one_object() {
    let card = with(&json!({ "securitySchemes": {
        "tagged": { "type": "apiKey", "in": "query", "name": "k" },
        "named": { "apiKeySecurityScheme": { "location": "query", "name": "k" } },
        "both": {
            "type": "oauth2", "flows": { "implicit": { "authorizationUrl": "a", "scopes": {} } },
            "oauth2SecurityScheme": { "flows": { "deviceCode": { "deviceAuthorizationUrl": "d", "tokenUrl": "t", "scopes": { "s": null } } } },
        },
        "case": { "type": "HTTP", "scheme": "bearer" },
        "mtls": { "mtlsSecurityScheme": {} },
        "unknown": { "type": "palmReading" },
    } }));
    let key = SecurityScheme::ApiKey {
        description: None,
        location: ApiKeyLocation::Query,
        name: "k".to_owned(),
    };
    assert_eq!(card.security_schemes["tagged"], key);
    assert_eq!(card.security_schemes["named"], key);
    assert_eq!(card.security_schemes["case"], bearer());
    assert_eq!(
        card.security_schemes["mtls"],
        SecurityScheme::MutualTls { description: None }
    );
    let SecurityScheme::OAuth2 { flows, .. } = &card.security_schemes["both"] else {
        panic!("{card:?}");
    };
    assert!(matches!(&flows[..], [OAuthFlow::DeviceCode { scopes, .. }] if scopes["s"].is_empty()));
    assert!(!card.security_schemes.contains_key("unknown"));
}

#[test]
fn the_authentication_of_the_first_cards_is_read() {
    let card = with(
        &json!({ "authentication": { "schemes": ["Bearer", "apiKey", "none"], "apiKeyEndpoint": "/k" } }),
    );
    assert_eq!(card.security_schemes["Bearer"], bearer());
    assert!(matches!(
        card.security_schemes["apiKey"],
        SecurityScheme::ApiKey { .. }
    ));
    let any = [
        requirement(&[("Bearer", &[])]),
        requirement(&[("apiKey", &[])]),
        requirement(&[]),
    ];
    assert_eq!(card.security, any);
    let open = with(&json!({ "authentication": { "schemes": ["public"] } }));
    assert!(open.security.is_empty() && open.security_schemes.is_empty());
    let newer = with(&json!({
        "authentication": { "schemes": ["basic"] },
        "securitySchemes": { "b": { "type": "http", "scheme": "bearer" } },
    }));
    assert_eq!(newer.security_schemes.len(), 1);
    assert!(newer.security.is_empty());
}

#[test]
fn the_extended_card_is_advertised_in_two_places() {
    let extended = |card: Value| with(&card).capabilities.extended_agent_card;
    let old = "supportsAuthenticatedExtendedCard";
    assert_eq!(extended(json!({ old: false })), Some(false));
    assert_eq!(
        extended(json!({ old: true, "capabilities": {} })),
        Some(true)
    );
    assert_eq!(
        extended(json!({ old: true, "capabilities": { "extendedAgentCard": false } })),
        Some(false)
    );
    let listed = json!([{ "url": "u" }]);
    assert_eq!(
        extended(json!({ old: true, "supportedInterfaces": listed })),
        Some(true)
    );
    assert_eq!(
        extended(json!({ old: false, "supportedInterfaces": listed })),
        None
    );
}

#[test]
fn errors_name_the_path() {
    for (path, card) in [
        ("card", json!([])),
        ("card", json!(null)),
        ("name", json!({ "detail": "Not Found" })),
        ("name", json!({ "name": {} })),
        (
            "capabilities",
            json!({ "name": "n", "capabilities": ["streaming"] }),
        ),
        (
            "capabilities.streaming",
            json!({ "name": "n", "capabilities": { "streaming": "yes" } }),
        ),
        (
            "capabilities.extensions[0].params",
            json!({ "name": "n", "capabilities": { "extensions": [{ "params": [] }] } }),
        ),
        (
            "skills[1].tags[0]",
            json!({ "name": "n", "skills": [{}, { "tags": [true] }] }),
        ),
        (
            "skills[0].input_modes",
            json!({ "name": "n", "skills": [{ "input_modes": "a" }] }),
        ),
        (
            "supportedInterfaces[0].url",
            json!({ "name": "n", "supportedInterfaces": [{ "url": [] }] }),
        ),
        (
            "securitySchemes.k.in",
            json!({ "name": "n", "securitySchemes": { "k": { "type": "apiKey", "in": "body" } } }),
        ),
        (
            "securitySchemes.o.oauth2SecurityScheme.flows.password.scopes",
            json!({ "name": "n", "securitySchemes": { "o": { "oauth2SecurityScheme": { "flows": { "password": { "scopes": [] } } } } } }),
        ),
        (
            "security[0].a",
            json!({ "name": "n", "security": [{ "a": "s" }] }),
        ),
        (
            "signatures[0].header",
            json!({ "name": "n", "signatures": [{ "header": 1 }] }),
        ),
    ] {
        assert_eq!(refused(&card), path, "{card}");
    }
}

#[test]
fn what_is_not_json_is_a_parse_error() {
    for text in [
        &b"<html>"[..],
        b"",
        b"{\"name\":\"n\"",
        b"{\"name\":\"n\"} x",
        b"\xff",
    ] {
        assert_eq!(decode_card(text).unwrap_err().kind(), ErrorKind::Parse);
    }
}

#[test]
fn hostile_nesting_is_an_error() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let text = format!(
        "{{\"name\":\"n\",\"capabilities\":{{\"extensions\":[{{\"params\":{{\"a\":{deep}}}}}]}}}}"
    );
    let error = decode_card(text.as_bytes()).unwrap_err();
    assert_eq!(
        error.violations()[0].field,
        "capabilities.extensions[0].params"
    );
    let ignored = format!("{{\"name\":\"n\",\"other\":{deep}}}");
    assert!(decode_card(ignored.as_bytes()).is_ok());
}
