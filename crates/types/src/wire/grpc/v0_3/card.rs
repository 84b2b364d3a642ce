//! The agent card of `a2a.v1`, both ways.

use switchboard_proto::v0_3 as wire;

use crate::error::Error;
use crate::model::{AgentCard, Binding, Capabilities, Interface};
use crate::wire::card::{Split, VERSION_0X, addresses_0x, main_interface};
use crate::wire::grpc::field::{set, unset};
use crate::wire::grpc::{card, security};
use crate::wire::path::Path;

/// A card for the wire.
pub(super) fn write(model: &AgentCard) -> wire::AgentCard {
    let split = Split::plan(&model.security_schemes);
    let offered = &model.capabilities;
    let main = main_interface(model);
    let addresses = addresses_0x(model).into_iter();
    wire::AgentCard {
        name: model.name.clone(),
        description: model.description.clone(),
        url: unset(main.map(|main| main.url.as_str())),
        provider: model.provider.as_ref().map(card::write_provider),
        version: model.version.clone(),
        documentation_url: unset(model.documentation_url.as_deref()),
        capabilities: Some(wire::AgentCapabilities {
            streaming: offered.streaming.unwrap_or(false),
            push_notifications: offered.push_notifications.unwrap_or(false),
            extensions: card::write_extensions(&offered.extensions),
            state_transition_history: offered.state_transition_history.unwrap_or(false),
        }),
        security_schemes: security::write_schemes(&split, &model.security_schemes),
        security: security::write_requirements(&split, &model.security),
        default_input_modes: model.default_input_modes.clone(),
        default_output_modes: model.default_output_modes.clone(),
        skills: card::write_skills(&split, &model.skills),
        supports_authenticated_extended_card: offered.extended_agent_card.unwrap_or(false),
        preferred_transport: unset(main.map(|main| main.binding.name())),
        additional_interfaces: addresses
            .map(|(url, transport)| wire::AgentInterface {
                url: url.to_owned(),
                transport: transport.to_owned(),
            })
            .collect(),
        protocol_version: VERSION_0X.to_owned(),
        signatures: card::write_signatures(&model.signatures),
        icon_url: unset(model.icon_url.as_deref()),
    }
}

/// A card from the wire. What it does not say is not offered.
pub(super) fn read(wire: wire::AgentCard, at: &Path<'_>) -> Result<AgentCard, Error> {
    let offered = wire.capabilities.unwrap_or_default();
    let at_schemes = at.field("securitySchemes");
    let version = set(wire.protocol_version);
    let version = version.map_or("0.3".to_owned(), |said| major_minor(&said));
    let interface = |url: String, transport: &str| Interface {
        url,
        binding: Binding::from_name(transport),
        version: version.clone(),
        tenant: None,
    };
    // 0.3 §5.6.2: without a preferred transport it is JSON-RPC.
    let preferred = set(wire.preferred_transport).unwrap_or("JSONRPC".to_owned());
    let mut interfaces: Vec<Interface> = set(wire.url)
        .map(|url| interface(url, &preferred))
        .into_iter()
        .collect();
    for other in wire.additional_interfaces {
        let other = interface(other.url, &other.transport);
        if !interfaces.contains(&other) {
            interfaces.push(other);
        }
    }
    Ok(AgentCard {
        name: wire.name,
        description: wire.description,
        version: wire.version,
        interfaces,
        provider: wire.provider.map(card::read_provider),
        documentation_url: set(wire.documentation_url),
        icon_url: set(wire.icon_url),
        capabilities: Capabilities {
            streaming: offered.streaming.then_some(true),
            push_notifications: offered.push_notifications.then_some(true),
            extended_agent_card: wire.supports_authenticated_extended_card.then_some(true),
            state_transition_history: offered.state_transition_history.then_some(true),
            extensions: card::read_extensions(
                offered.extensions,
                &at.field("capabilities").field("extensions"),
            )?,
        },
        security_schemes: security::read_schemes(wire.security_schemes, &at_schemes)?,
        security: security::read_requirements(wire.security),
        default_input_modes: wire.default_input_modes,
        default_output_modes: wire.default_output_modes,
        skills: card::read_skills(wire.skills),
        signatures: card::read_signatures(wire.signatures, &at.field("signatures"))?,
    })
}

/// `0.3` of `0.3.0`.
fn major_minor(version: &str) -> String {
    let numbers: Vec<&str> = version.split('.').take(2).collect();
    numbers.join(".")
}
