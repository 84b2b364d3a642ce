//! Decisions of the card writer that a round trip does not show.

use super::schema;
use serde_json::{Value, json};
use switchboard_types::model::{
    AgentCard, Binding, Capabilities, CardSignature, Extension, Interface, Json, OAuthFlow, Object,
    Scopes, SecurityRequirement, SecurityScheme, Skill,
};
use switchboard_types::wire::card::{
    CardShape, canonical_card, canonical_without_empty, decode_card, encode_card,
};

fn interface(binding: Binding, version: &str) -> Interface {
    Interface {
        url: format!("http://localhost/{}", binding.name()),
        binding,
        version: version.to_owned(),
        tenant: None,
    }
}

fn card(interfaces: Vec<Interface>) -> AgentCard {
    AgentCard {
        version: "1".to_owned(),
        interfaces,
        capabilities: Capabilities::default(),
        default_input_modes: Vec::new(),
        default_output_modes: Vec::new(),
        ..AgentCard::new("Echo", "")
    }
}

fn encoded(shape: CardShape, card: &AgentCard) -> Value {
    let mut out = Vec::new();
    encode_card(shape, card, &mut out);
    serde_json::from_slice(&out).unwrap()
}

fn canonical(card: &AgentCard) -> String {
    String::from_utf8(canonical_card(card)).unwrap()
}

/// Binding and version of each entry of `supportedInterfaces`.
fn listed(card: &Value) -> Vec<String> {
    let entries = card["supportedInterfaces"].as_array().unwrap().iter();
    entries
        .map(|e| format!("{} {}", e["protocolBinding"], e["protocolVersion"]).replace('"', ""))
        .collect()
}

fn requirement(names: &[&str]) -> SecurityRequirement {
    SecurityRequirement(
        names
            .iter()
            .map(|n| ((*n).to_owned(), Vec::new()))
            .collect(),
    )
}

/// Authorization code with PKCE, and device code: two flows in one scheme.
fn two_flows() -> AgentCard {
    let mut card = card(vec![
        interface(Binding::JsonRpc, "1.0"),
        interface(Binding::JsonRpc, "0.3"),
    ]);
    let flows = vec![
        OAuthFlow::AuthorizationCode {
            authorization_url: "https://auth.example.com/a".to_owned(),
            token_url: "https://auth.example.com/t".to_owned(),
            refresh_url: None,
            scopes: Scopes::new(),
            pkce_required: true,
        },
        OAuthFlow::DeviceCode {
            device_authorization_url: "https://auth.example.com/d".to_owned(),
            token_url: "https://auth.example.com/t".to_owned(),
            refresh_url: None,
            scopes: Scopes::new(),
        },
    ];
    let oauth = SecurityScheme::OAuth2 {
        description: None,
        flows,
        metadata_url: None,
    };
    let mtls = SecurityScheme::MutualTls { description: None };
    card.security_schemes = [("oauth".to_owned(), oauth), ("tls".to_owned(), mtls)].into();
    card.security = vec![requirement(&["oauth", "tls"])];
    card
}

#[test]
fn old_clients_are_sent_to_json_rpc_and_see_old_interfaces_only() {
    let card = card(vec![
        interface(Binding::Grpc, "0.3"),
        interface(Binding::HttpJson, "1.0"),
        interface(Binding::JsonRpc, "0.3"),
        interface(Binding::JsonRpc, "1.0"),
    ]);
    for shape in [CardShape::V0, CardShape::Union] {
        let written = encoded(shape, &card);
        assert_eq!(written["protocolVersion"], "0.3.0");
        assert_eq!(written["url"], "http://localhost/JSONRPC");
        assert_eq!(written["preferredTransport"], "JSONRPC");
        let all = json!([
            { "url": "http://localhost/GRPC", "transport": "GRPC" },
            { "url": "http://localhost/JSONRPC", "transport": "JSONRPC" },
        ]);
        assert_eq!(written["additionalInterfaces"], all);
    }
    let order = ["HTTP+JSON 1.0", "JSONRPC 1.0", "GRPC 0.3", "JSONRPC 0.3"];
    assert_eq!(listed(&encoded(CardShape::Union, &card)), order);
    assert_eq!(listed(&encoded(CardShape::V1, &card)), order);
}

#[test]
fn without_json_rpc_the_first_old_interface_is_the_main_one() {
    let card = card(vec![
        interface(Binding::JsonRpc, "1.0"),
        interface(Binding::HttpJson, "0.3"),
        interface(Binding::Grpc, "0.3"),
    ]);
    let written = encoded(CardShape::V0, &card);
    assert_eq!(written["url"], "http://localhost/HTTP+JSON");
    assert_eq!(written["preferredTransport"], "HTTP+JSON");
}

#[test]
fn a_union_without_old_interfaces_is_pure_1_0() {
    let mut card = card(vec![interface(Binding::JsonRpc, "1.0")]);
    card.capabilities.state_transition_history = Some(true);
    card.capabilities.extended_agent_card = Some(true);
    card.security = vec![requirement(&["key"])];
    let union = encoded(CardShape::Union, &card);
    assert_eq!(union, encoded(CardShape::V1, &card));
    schema::check(schema::V1, &union);
}

/// 0.x requires `url`, but no address is named where 0.x is not spoken.
#[test]
fn the_old_shape_names_no_address_that_speaks_1_0_only() {
    let written = encoded(
        CardShape::V0,
        &card(vec![interface(Binding::JsonRpc, "1.0")]),
    );
    assert_eq!(written["url"], "");
    assert!(written.get("preferredTransport").is_none());
    assert!(
        decode_card(written.to_string().as_bytes())
            .unwrap()
            .interfaces
            .is_empty()
    );
}

#[test]
fn a_signed_card_keeps_the_order_its_signature_covers() {
    let mut card = card(vec![
        interface(Binding::JsonRpc, "0.3"),
        interface(Binding::JsonRpc, "1.0"),
    ]);
    assert_eq!(
        listed(&encoded(CardShape::V1, &card)),
        ["JSONRPC 1.0", "JSONRPC 0.3"]
    );
    let before = canonical(&card);
    card.signatures.push(CardSignature {
        protected: "e30".to_owned(),
        signature: "AA".to_owned(),
        header: None,
    });
    assert_eq!(canonical(&card), before);
    assert_eq!(
        listed(&encoded(CardShape::V1, &card)),
        ["JSONRPC 0.3", "JSONRPC 1.0"]
    );
}

#[test]
fn the_extended_card_is_advertised_as_each_version_does() {
    let mut card = card(vec![interface(Binding::JsonRpc, "0.3")]);
    card.capabilities.extended_agent_card = Some(true);
    let (v0, v1) = (encoded(CardShape::V0, &card), encoded(CardShape::V1, &card));
    assert_eq!(v0["supportsAuthenticatedExtendedCard"], true);
    assert_eq!(v0["capabilities"], json!({}));
    assert_eq!(v1["capabilities"], json!({ "extendedAgentCard": true }));
    let union = encoded(CardShape::Union, &card);
    assert_eq!(union["supportsAuthenticatedExtendedCard"], true);
    assert_eq!(union["capabilities"], json!({ "extendedAgentCard": true }));
}

#[test]
fn several_flows_become_several_schemes_in_1_0() {
    let written = encoded(CardShape::V1, &two_flows());
    schema::check(schema::V1, &written);
    let code = json!({ "authorizationCode": {
        "authorizationUrl": "https://auth.example.com/a", "tokenUrl": "https://auth.example.com/t",
        "scopes": {}, "pkceRequired": true,
    } });
    let device = json!({ "deviceCode": {
        "deviceAuthorizationUrl": "https://auth.example.com/d",
        "tokenUrl": "https://auth.example.com/t", "scopes": {},
    } });
    let schemes = json!({
        "oauth": { "oauth2SecurityScheme": { "flows": code } },
        "oauth-2": { "oauth2SecurityScheme": { "flows": device } },
        "tls": { "mtlsSecurityScheme": {} },
    });
    assert_eq!(written["securitySchemes"], schemes);
    let required = json!([
        { "schemes": { "oauth": {}, "tls": {} } },
        { "schemes": { "oauth-2": {}, "tls": {} } },
    ]);
    assert_eq!(written["securityRequirements"], required);
}

#[test]
fn several_flows_stay_in_one_scheme_in_0_x_but_for_what_it_lacks() {
    let flows = json!({ "authorizationCode": {
        "authorizationUrl": "https://auth.example.com/a", "tokenUrl": "https://auth.example.com/t",
        "scopes": {},
    } });
    let schemes = json!({
        "oauth": { "type": "oauth2", "flows": flows },
        "tls": { "type": "mutualTLS" },
    });
    let written = encoded(CardShape::V0, &two_flows());
    assert_eq!(written["securitySchemes"], schemes);
    assert_eq!(written["security"], json!([{ "oauth": [], "tls": [] }]));
}

#[test]
fn the_union_is_split_for_both_readers() {
    let card = two_flows();
    let union = encoded(CardShape::Union, &card);
    assert!(schema::contains(&union, &encoded(CardShape::V1, &card)));
    let either = json!([{ "oauth": [], "tls": [] }, { "oauth-2": [], "tls": [] }]);
    assert_eq!(union["security"], either);
    // a2a-python 0.3 chokes on a scheme without `type`; 1.3 makes the 1.0 member anew from the 0.x
    // members, and chokes if there is more than one flow in them.
    for (name, flow) in [("oauth", "authorizationCode"), ("oauth-2", "deviceCode")] {
        let scheme = &union["securitySchemes"][name];
        assert_eq!(scheme["type"], "oauth2");
        assert_eq!(scheme["flows"], scheme["oauth2SecurityScheme"]["flows"]);
        assert_eq!(scheme["flows"].as_object().unwrap().len(), 1);
        assert!(scheme["flows"].get(flow).is_some());
    }
    let mut read = decode_card(union.to_string().as_bytes()).unwrap();
    read.capabilities.state_transition_history = None;
    assert_eq!(
        Ok(read),
        decode_card(encoded(CardShape::V1, &card).to_string().as_bytes())
    );
}

#[test]
fn a_scheme_with_several_flows_survives_0_x() {
    let mut card = two_flows();
    let flows = vec![
        OAuthFlow::ClientCredentials {
            token_url: "https://auth.example.com/t".to_owned(),
            refresh_url: Some("https://auth.example.com/r".to_owned()),
            scopes: [("read".to_owned(), "Reading".to_owned())].into(),
        },
        OAuthFlow::Implicit {
            authorization_url: None,
            refresh_url: None,
            scopes: Scopes::new(),
        },
    ];
    let oauth = SecurityScheme::OAuth2 {
        description: Some("any of two".to_owned()),
        flows,
        metadata_url: Some("https://auth.example.com/m".to_owned()),
    };
    card.security_schemes.insert("oauth".to_owned(), oauth);
    let written = encoded(CardShape::V0, &card);
    let read = decode_card(written.to_string().as_bytes()).unwrap();
    assert_eq!(read.security_schemes, card.security_schemes);
}

/// A2A 1.0 §8.4.1: REQUIRED stays though empty, explicit optionals stay iff set, defaults go.
#[test]
fn the_signed_payload_follows_the_presence_rules() {
    let mut card = card(vec![interface(Binding::JsonRpc, "1.0")]);
    card.capabilities.streaming = Some(false);
    card.icon_url = Some(String::new());
    card.capabilities.extensions = vec![Extension {
        uri: "urn:x".to_owned(),
        description: Some(String::new()),
        required: false,
        params: Some(Object::try_from(Json::parse("{ }").unwrap()).unwrap()),
    }];
    card.skills = vec![Skill::new("s", "S", "")];
    let mtls = SecurityScheme::MutualTls {
        description: Some(String::new()),
    };
    card.security_schemes = [("tls".to_owned(), mtls)].into();
    card.security = vec![requirement(&["tls"])];
    card.interfaces[0].tenant = Some(String::new());
    let expected = concat!(
        r#"{"capabilities":{"extensions":[{"uri":"urn:x"}],"streaming":false},"#,
        r#""defaultInputModes":[],"defaultOutputModes":[],"description":"","iconUrl":"","#,
        r#""name":"Echo","securityRequirements":[{"schemes":{"tls":{}}}],"#,
        r#""securitySchemes":{"tls":{"mtlsSecurityScheme":{}}},"#,
        r#""skills":[{"description":"","id":"s","name":"S","tags":[]}],"#,
        r#""supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","#,
        r#""url":"http://localhost/JSONRPC"}],"version":"1"}"#,
    );
    assert_eq!(canonical(&card), expected);
}

#[test]
fn free_json_is_served_as_it_came_and_signed_in_canonical_form() {
    let mut card = card(vec![interface(Binding::JsonRpc, "1.0")]);
    let params = r#"{"z":1.50,"a":{},"é":"\u00e9","n":9007199254740993}"#;
    card.capabilities.extensions = vec![Extension {
        uri: String::new(),
        description: None,
        required: true,
        params: Some(Object::try_from(Json::parse(params).unwrap()).unwrap()),
    }];
    let mut served = Vec::new();
    encode_card(CardShape::V1, &card, &mut served);
    assert!(String::from_utf8(served).unwrap().contains(params));
    let signed = r#""params":{"a":{},"n":9007199254740992,"z":1.5,"é":"é"},"required":true"#;
    assert!(canonical(&card).contains(signed), "{}", canonical(&card));
}

/// The encoder appends: the caller may have written an envelope before it.
#[test]
fn a_version_in_the_url_wins_over_the_configuration_and_that_over_the_header() {
    use CardShape::{Union, V0, V1};
    for (configured, query, header, expected) in [
        (Union, None, None, Union),
        (Union, None, Some("1.0"), V1),
        (Union, None, Some("0.3"), Union),
        (Union, Some("0.3"), Some("1.0"), V0),
        (Union, Some("1.0"), Some("0.3"), V1),
        (Union, Some(""), Some("1.0"), V1),
        (Union, Some("7.0"), None, Union),
        (V0, None, Some("1.0"), V0),
        (V0, Some("1.0"), None, V1),
        (V1, None, Some("0.3"), V1),
        (V1, Some("0.3"), Some("1.0"), V0),
    ] {
        let shape = configured.requested(query, header);
        assert_eq!(shape, expected, "{configured:?} {query:?} {header:?}");
    }
}

#[test]
fn encoding_appends() {
    let mut out = b"{\"result\":".to_vec();
    encode_card(CardShape::V1, &card(Vec::new()), &mut out);
    assert!(out.starts_with(b"{\"result\":{\"name\":\"Echo\""));
}

/// As the SDKs for Python and JavaScript do it.
#[test]
fn a_reading_without_what_is_empty_loses_what_a_card_asks_for() {
    let params = r#"{"a":[],"b":{"c":[null,""]},"d":[0,{}],"e":false}"#;
    let mut card = card(vec![interface(Binding::JsonRpc, "1.0")]);
    card.security = vec![requirement(&["key"]), requirement(&[])];
    card.capabilities.extensions = vec![Extension {
        uri: "urn:x".to_owned(),
        description: None,
        required: false,
        params: Some(Object::try_from(Json::parse(params).unwrap()).unwrap()),
    }];
    let read = String::from_utf8(canonical_without_empty(&card)).unwrap();
    assert_eq!(
        read,
        concat!(
            r#"{"capabilities":{"extensions":[{"params":{"d":[0],"e":false},"uri":"urn:x"}]},"#,
            r#""name":"Echo","supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","#,
            r#""url":"http://localhost/JSONRPC"}],"version":"1"}"#,
        )
    );
}
