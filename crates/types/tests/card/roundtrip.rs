//! Any card, written in each shape and read back: what is lost is listed in `after_v1` and
//! `after_v0` and nowhere else. And no key of one version appears in the other's shape.

use std::collections::BTreeMap;

use super::schema;
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use serde_json::Value;
use switchboard_types::model::{
    AgentCard, ApiKeyLocation, Binding, Capabilities, CardSignature, Extension, Interface, Json,
    OAuthFlow, Object, Provider, SecurityRequirement, SecurityScheme, Skill,
};
use switchboard_types::wire::card::{
    CardShape, canonical_card, canonical_received, decode_card, encode_card, signing_payloads,
};

fn encoded(shape: CardShape, card: &AgentCard) -> Vec<u8> {
    let mut out = Vec::new();
    encode_card(shape, card, &mut out);
    out
}

fn through(shape: CardShape, card: &AgentCard) -> AgentCard {
    decode_card(&encoded(shape, card)).unwrap()
}

fn is_0x(interface: &Interface) -> bool {
    interface.version.starts_with("0.")
}

/// What is left of a card after 1.0.
pub(crate) fn after_v1(mut card: AgentCard) -> AgentCard {
    card.capabilities.state_transition_history = None;
    if card.signatures.is_empty() {
        card.interfaces.sort_by_key(is_0x);
    }
    card
}

/// What is left of a card after 0.x.
pub(crate) fn after_v0(mut card: AgentCard) -> AgentCard {
    card.interfaces.retain(is_0x);
    for interface in &mut card.interfaces {
        "0.3".clone_into(&mut interface.version);
        interface.tenant = None;
    }
    let main = card
        .interfaces
        .iter()
        .position(|i| i.binding == Binding::JsonRpc);
    if let Some(main) = main {
        card.interfaces[..=main].rotate_right(1);
    }
    let mut once: Vec<Interface> = Vec::new();
    for interface in card.interfaces {
        if !once.contains(&interface) {
            once.push(interface);
        }
    }
    card.interfaces = once;
    for scheme in card.security_schemes.values_mut() {
        if let SecurityScheme::OAuth2 { flows, .. } = scheme {
            flows.retain(|flow| !matches!(flow, OAuthFlow::DeviceCode { .. }));
            for flow in flows {
                if let OAuthFlow::AuthorizationCode { pkce_required, .. } = flow {
                    *pkce_required = false;
                }
            }
        }
    }
    card
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{0,6}", any::<String>()]
}

/// A text that is not empty, for members without presence of their own.
fn set() -> impl Strategy<Value = Option<String>> {
    of(prop_oneof!["[a-z]{1,6}", "\\PC{1,4}"])
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..3)
}

fn object() -> impl Strategy<Value = Option<Object>> {
    let numbers = prop_oneof![Just("18446744073709551615"), Just("1.50"), Just("-0")];
    let values = btree_map("[a-z]{1,3}", numbers, 1..3);
    of(values.prop_map(|members| {
        let members: Vec<String> = members
            .iter()
            .map(|(k, v)| format!("\"{k}\": {v}"))
            .collect();
        Object::try_from(Json::parse(format!("{{{}}}", members.join(","))).unwrap()).unwrap()
    }))
}

fn scopes() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map("[a-z]{1,4}", text(), 0..3)
}

fn interface() -> impl Strategy<Value = Interface> {
    let binding = prop_oneof![
        Just(Binding::JsonRpc),
        Just(Binding::HttpJson),
        Just(Binding::Grpc),
        Just(Binding::Other("https://example.com/binding".to_owned())),
    ];
    let version = prop_oneof![Just("1.0"), Just("0.3"), Just("0.2"), Just("1.1")];
    ("http://localhost/[ab]", binding, version, set()).prop_map(
        |(url, binding, version, tenant)| Interface {
            url,
            binding,
            version: version.to_owned(),
            tenant,
        },
    )
}

fn flow() -> impl Strategy<Value = OAuthFlow> {
    prop_oneof![
        (text(), text(), set(), scopes(), any::<bool>()).prop_map(
            |(authorization_url, token_url, refresh_url, scopes, pkce_required)| {
                OAuthFlow::AuthorizationCode {
                    authorization_url,
                    token_url,
                    refresh_url,
                    scopes,
                    pkce_required,
                }
            }
        ),
        (text(), set(), scopes()).prop_map(|(token_url, refresh_url, scopes)| {
            OAuthFlow::ClientCredentials {
                token_url,
                refresh_url,
                scopes,
            }
        }),
        (text(), text(), set(), scopes()).prop_map(
            |(device_authorization_url, token_url, refresh_url, scopes)| OAuthFlow::DeviceCode {
                device_authorization_url,
                token_url,
                refresh_url,
                scopes,
            }
        ),
        (set(), set(), scopes()).prop_map(|(authorization_url, refresh_url, scopes)| {
            OAuthFlow::Implicit {
                authorization_url,
                refresh_url,
                scopes,
            }
        }),
        (set(), set(), scopes()).prop_map(|(token_url, refresh_url, scopes)| {
            OAuthFlow::Password {
                token_url,
                refresh_url,
                scopes,
            }
        }),
    ]
}

/// At most one flow: more are split, which `shapes` covers.
fn scheme() -> impl Strategy<Value = SecurityScheme> {
    let location = prop_oneof![
        Just(ApiKeyLocation::Query),
        Just(ApiKeyLocation::Header),
        Just(ApiKeyLocation::Cookie),
    ];
    prop_oneof![
        (set(), location, text()).prop_map(|(description, location, name)| {
            SecurityScheme::ApiKey {
                description,
                location,
                name,
            }
        }),
        (set(), text(), set()).prop_map(|(description, scheme, bearer_format)| {
            SecurityScheme::Http {
                description,
                scheme,
                bearer_format,
            }
        }),
        (set(), vec(flow(), 0..2), set()).prop_map(|(description, flows, metadata_url)| {
            SecurityScheme::OAuth2 {
                description,
                flows,
                metadata_url,
            }
        }),
        (set(), text())
            .prop_map(|(description, url)| SecurityScheme::OpenIdConnect { description, url }),
        set().prop_map(|description| SecurityScheme::MutualTls { description }),
    ]
}

fn security() -> impl Strategy<Value = Vec<SecurityRequirement>> {
    // `schemes` is a name that could be mistaken for the 1.0 wrapper.
    let name = prop_oneof!["[a-c]", Just("schemes".to_owned()), Just("list".to_owned())];
    vec(
        btree_map(name, texts(), 0..3).prop_map(SecurityRequirement),
        0..3,
    )
}

fn capabilities() -> impl Strategy<Value = Capabilities> {
    let extension = (text(), set(), any::<bool>(), object()).prop_map(
        |(uri, description, required, params)| Extension {
            uri,
            description,
            required,
            params,
        },
    );
    let flag = || of(any::<bool>());
    (flag(), flag(), flag(), flag(), vec(extension, 0..3)).prop_map(
        |(streaming, push_notifications, extended_agent_card, history, extensions)| Capabilities {
            streaming,
            push_notifications,
            extended_agent_card,
            state_transition_history: history,
            extensions,
        },
    )
}

fn skill() -> impl Strategy<Value = Skill> {
    (
        text(),
        text(),
        text(),
        texts(),
        texts(),
        texts(),
        texts(),
        security(),
    )
        .prop_map(
            |(id, name, description, tags, examples, input_modes, output_modes, security)| Skill {
                id,
                name,
                description,
                tags,
                examples,
                input_modes,
                output_modes,
                security,
            },
        )
}

fn signature() -> impl Strategy<Value = CardSignature> {
    (text(), text(), object()).prop_map(|(protected, signature, header)| CardSignature {
        protected,
        signature,
        header,
    })
}

pub(crate) fn card() -> impl Strategy<Value = AgentCard> {
    let provider = (text(), text()).prop_map(|(organization, url)| Provider { organization, url });
    let about = (text(), text(), text(), of(provider), of(text()), of(text()));
    let calls = (vec(interface(), 1..6), capabilities(), texts(), texts());
    let auth = (btree_map("[a-c]", scheme(), 0..3), security());
    (
        about,
        calls,
        auth,
        vec(skill(), 0..3),
        vec(signature(), 0..2),
    )
        .prop_map(|(about, calls, auth, skills, signatures)| AgentCard {
            name: about.0,
            description: about.1,
            version: about.2,
            provider: about.3,
            documentation_url: about.4,
            icon_url: about.5,
            interfaces: calls.0,
            capabilities: calls.1,
            default_input_modes: calls.2,
            default_output_modes: calls.3,
            security_schemes: auth.0,
            security: auth.1,
            skills,
            signatures,
        })
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

proptest! {
    #[test]
    fn v1_keeps_all_but_what_is_listed(card in card()) {
        prop_assert_eq!(through(CardShape::V1, &card), after_v1(card));
    }

    #[test]
    fn v0_keeps_all_but_what_is_listed(card in card()) {
        prop_assert_eq!(through(CardShape::V0, &card), after_v0(card));
    }

    #[test]
    fn the_union_reads_as_v1(card in card()) {
        let mut read = through(CardShape::Union, &card);
        if card.interfaces.iter().any(is_0x) {
            prop_assert_eq!(
                read.capabilities.state_transition_history,
                card.capabilities.state_transition_history
            );
        }
        read.capabilities.state_transition_history = None;
        prop_assert_eq!(read, through(CardShape::V1, &card));
    }

    /// A 0.x reader takes its own members out of the union and finds what the 0.3 shape says.
    #[test]
    fn the_union_contains_v0(card in card()) {
        prop_assume!(card.interfaces.iter().any(is_0x));
        let union = json(&encoded(CardShape::Union, &card));
        let v0 = json(&encoded(CardShape::V0, &card));
        prop_assert!(schema::contains(&union, &v0), "{union}\n{v0}");
    }

    #[test]
    fn every_shape_has_its_own_keys_only(card in card()) {
        schema::check(schema::V1, &json(&encoded(CardShape::V1, &card)));
        schema::check(schema::V0, &json(&encoded(CardShape::V0, &card)));
    }

    #[test]
    fn cards_are_written_on_one_line(card in card()) {
        for shape in [CardShape::Union, CardShape::V1, CardShape::V0] {
            prop_assert!(!encoded(shape, &card).contains(&b'\n'));
        }
    }

    /// Signing and then serving, in either shape, leaves the reader with the signed bytes.
    #[test]
    fn the_reader_of_a_signed_card_finds_the_signed_bytes(card in card(), signature in signature()) {
        let signed = canonical_card(&card);
        let mut card = card;
        card.signatures.push(signature);
        prop_assert_eq!(&canonical_card(&through(CardShape::V1, &card)), &signed);
        prop_assert_eq!(&canonical_card(&through(CardShape::Union, &card)), &signed);
        schema::check(schema::V1, &json(&signed));
    }

    /// Whichever way a card is read, one of the payloads is what the reader checks.
    #[test]
    fn every_reader_of_a_card_finds_a_payload_that_was_signed(card in card(), signature in signature()) {
        for shape in [CardShape::Union, CardShape::V1, CardShape::V0] {
            let payloads = signing_payloads(shape, &card);
            let mut card = card.clone();
            card.signatures.push(signature.clone());
            let served = encoded(shape, &card);
            prop_assert!(payloads.contains(&canonical_received(&served).unwrap()));
            prop_assert!(payloads.contains(&canonical_card(&through(shape, &card))));
        }
        prop_assert_eq!(signing_payloads(CardShape::V1, &card).len(), 1);
    }

    #[test]
    fn nothing_makes_the_reader_panic(text in any::<String>()) {
        drop(decode_card(text.as_bytes()));
        drop(decode_card(format!("{{\"name\":{text}}}").as_bytes()));
    }
}
