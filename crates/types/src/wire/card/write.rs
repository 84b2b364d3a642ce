//! The model card to JSON, in each shape.
//!
//! One set of structs with the members of both versions; a shape fills those it has. Presence
//! follows A2A 1.0 §5.7: REQUIRED members always, explicit optionals iff set, all others unless
//! they hold their default. 0.x has no rule of its own, so the same holds there. Security is
//! written by `write_security`. Called by `encode_card` and `canonical_card` only.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::CardShape;
use super::node::is_empty;
use super::split::Split;
use super::write_security as security;
use crate::model;
use crate::model::{AgentCard, Binding, Object};

/// The version a 0.x client is told; 0.2 and 0.3 are served alike.
pub(crate) const VERSION_0X: &str = "0.3.0";

/// Which versions' members are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Versions {
    pub(super) v0: bool,
    pub(super) v1: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Card<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol_version: Option<&'a str>,
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_transport: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    additional_interfaces: Vec<Address<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supported_interfaces: Option<Vec<Interface<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<Provider<'a>>,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<&'a str>,
    capabilities: Capabilities<'a>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    security_schemes: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security_requirements: Vec<Value>,
    default_input_modes: &'a [String],
    default_output_modes: &'a [String],
    skills: Vec<Skill<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supports_authenticated_extended_card: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    signatures: Vec<Signature<'a>>,
}

/// An address as 0.x lists it.
#[derive(Serialize)]
struct Address<'a> {
    url: &'a str,
    transport: &'a str,
}

/// An address as 1.0 lists it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Interface<'a> {
    url: &'a str,
    protocol_binding: &'a str,
    protocol_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
}

#[derive(Serialize)]
struct Provider<'a> {
    organization: &'a str,
    url: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Capabilities<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    streaming: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notifications: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extended_agent_card: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_transition_history: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<Extension<'a>>,
}

#[derive(Serialize)]
struct Extension<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Skill<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    tags: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    examples: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    input_modes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    output_modes: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security_requirements: Vec<Value>,
}

#[derive(Serialize)]
struct Signature<'a> {
    protected: &'a str,
    signature: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<&'a RawValue>,
}

/// Appends the card in that shape.
pub(super) fn card(shape: CardShape, card: &AgentCard, out: &mut Vec<u8>) {
    let versions = match shape {
        CardShape::Union => Versions {
            v0: card.interfaces.iter().any(speaks_0x),
            v1: true,
        },
        CardShape::V1 => Versions {
            v0: false,
            v1: true,
        },
        CardShape::V0 => Versions {
            v0: true,
            v1: false,
        },
    };
    let mut wire = wire(versions, card);
    wire.signatures = card.signatures.iter().map(signature).collect();
    put(&wire, out);
}

/// The 1.0 shape without signatures, its interfaces in the order of the model.
pub(super) fn signing_payload(card: &AgentCard) -> Vec<u8> {
    let mut wire = wire(
        Versions {
            v0: false,
            v1: true,
        },
        card,
    );
    wire.supported_interfaces = Some(card.interfaces.iter().map(interface).collect());
    let mut out = Vec::new();
    put(&wire, &mut out);
    out
}

fn put(wire: &Card<'_>, out: &mut Vec<u8>) {
    // Cannot fail: memory takes every write, and every key is a string.
    let written = serde_json::to_writer(out, wire);
    debug_assert!(written.is_ok(), "{written:?}");
}

fn wire<'a>(versions: Versions, card: &'a AgentCard) -> Card<'a> {
    let split = Split::plan(&card.security_schemes);
    let (security, security_requirements) =
        security::requirements(versions, &split, &card.security);
    let main = main_interface(card).filter(|_| versions.v0);
    Card {
        protocol_version: versions.v0.then_some(VERSION_0X),
        name: &card.name,
        description: &card.description,
        // 0.x requires `url`; a card asked for in the 0.x shape without a 0.x interface says
        // nothing rather than name an address where 0.x is not spoken.
        url: versions.v0.then(|| main.map_or("", |main| &main.url)),
        preferred_transport: main.map(|main| main.binding.name()),
        additional_interfaces: if versions.v0 {
            let each = addresses_0x(card).into_iter();
            each.map(|(url, transport)| Address { url, transport })
                .collect()
        } else {
            Vec::new()
        },
        supported_interfaces: versions
            .v1
            .then(|| in_order(card).into_iter().map(interface).collect()),
        provider: card.provider.as_ref().map(provider),
        version: &card.version,
        documentation_url: card.documentation_url.as_deref(),
        icon_url: card.icon_url.as_deref(),
        capabilities: capabilities(versions, &card.capabilities),
        security_schemes: security::schemes(versions, &split, &card.security_schemes),
        security,
        security_requirements,
        default_input_modes: &card.default_input_modes,
        default_output_modes: &card.default_output_modes,
        skills: card
            .skills
            .iter()
            .map(|one| skill(versions, &split, one))
            .collect(),
        supports_authenticated_extended_card: card
            .capabilities
            .extended_agent_card
            .filter(|_| versions.v0),
        signatures: Vec::new(),
    }
}

fn speaks_0x(interface: &model::Interface) -> bool {
    interface.version.split('.').next() == Some("0")
}

/// What a 0.x client calls: JSON-RPC if there is any, as most of them speak nothing else.
pub(crate) fn main_interface(card: &AgentCard) -> Option<&model::Interface> {
    let spoken = || card.interfaces.iter().filter(|i| speaks_0x(i));
    spoken()
        .find(|i| i.binding == Binding::JsonRpc)
        .or_else(|| spoken().next())
}

/// All 0.x addresses including the main one (A2A 0.3 §5.6.2), none twice.
pub(crate) fn addresses_0x(card: &AgentCard) -> Vec<(&str, &str)> {
    let mut addresses = Vec::new();
    for interface in card.interfaces.iter().filter(|i| speaks_0x(i)) {
        let address = (interface.url.as_str(), interface.binding.name());
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

/// All interfaces, 0.x last: a client takes the first it can speak (A2A 1.0 §8.3.2), and 1.0 says
/// more. A signed card keeps its order, which the signature covers.
pub(crate) fn in_order(card: &AgentCard) -> Vec<&model::Interface> {
    let mut all: Vec<_> = card.interfaces.iter().collect();
    if card.signatures.is_empty() {
        all.sort_by_key(|i| speaks_0x(i));
    }
    all
}

fn interface(interface: &model::Interface) -> Interface<'_> {
    Interface {
        url: &interface.url,
        protocol_binding: interface.binding.name(),
        protocol_version: &interface.version,
        tenant: set(interface.tenant.as_deref()),
    }
}

fn provider(provider: &model::Provider) -> Provider<'_> {
    Provider {
        organization: &provider.organization,
        url: &provider.url,
    }
}

fn capabilities(versions: Versions, capabilities: &model::Capabilities) -> Capabilities<'_> {
    Capabilities {
        streaming: capabilities.streaming,
        push_notifications: capabilities.push_notifications,
        extended_agent_card: capabilities.extended_agent_card.filter(|_| versions.v1),
        state_transition_history: capabilities
            .state_transition_history
            .filter(|_| versions.v0),
        extensions: capabilities.extensions.iter().map(extension).collect(),
    }
}

fn extension(extension: &model::Extension) -> Extension<'_> {
    Extension {
        uri: &extension.uri,
        description: set(extension.description.as_deref()),
        required: extension.required.then_some(true),
        params: raw(extension.params.as_ref()),
    }
}

fn skill<'a>(versions: Versions, split: &Split<'_>, skill: &'a model::Skill) -> Skill<'a> {
    let (security, security_requirements) =
        security::requirements(versions, split, &skill.security);
    Skill {
        id: &skill.id,
        name: &skill.name,
        description: &skill.description,
        tags: &skill.tags,
        examples: &skill.examples,
        input_modes: &skill.input_modes,
        output_modes: &skill.output_modes,
        security,
        security_requirements,
    }
}

fn signature(signature: &model::CardSignature) -> Signature<'_> {
    Signature {
        protected: &signature.protected,
        signature: &signature.signature,
        header: raw(signature.header.as_ref()),
    }
}

/// A string without presence of its own: empty is absent.
fn set(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// Free JSON as it stands; an empty object is absent (A2A 1.0 §8.4.1).
fn raw(object: Option<&Object>) -> Option<&RawValue> {
    object
        .filter(|object| !is_empty(object))
        .map(|object| object.as_json().as_raw())
}
