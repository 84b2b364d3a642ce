//! The agent card of `lf.a2a.v1`, both ways.

use switchboard_proto::v1_0 as wire;

use crate::error::Error;
use crate::model::{AgentCard, Binding, Capabilities, Interface};
use crate::wire::card::{Split, in_order};
use crate::wire::grpc::field::{set, unset};
use crate::wire::grpc::{card, security};
use crate::wire::path::Path;

/// A card for the wire.
pub(super) fn write(model: &AgentCard) -> wire::AgentCard {
    let split = Split::plan(&model.security_schemes);
    let offered = &model.capabilities;
    let interfaces = in_order(model).into_iter();
    wire::AgentCard {
        name: model.name.clone(),
        description: model.description.clone(),
        supported_interfaces: interfaces
            .map(|interface| wire::AgentInterface {
                url: interface.url.clone(),
                protocol_binding: interface.binding.name().to_owned(),
                tenant: unset(interface.tenant.as_deref()),
                protocol_version: interface.version.clone(),
            })
            .collect(),
        provider: model.provider.as_ref().map(card::write_provider),
        version: model.version.clone(),
        documentation_url: model.documentation_url.clone(),
        capabilities: Some(wire::AgentCapabilities {
            streaming: offered.streaming,
            push_notifications: offered.push_notifications,
            extensions: card::write_extensions(&offered.extensions),
            extended_agent_card: offered.extended_agent_card,
        }),
        security_schemes: security::write_schemes(&split, &model.security_schemes),
        security_requirements: security::write_requirements(&split, &model.security),
        default_input_modes: model.default_input_modes.clone(),
        default_output_modes: model.default_output_modes.clone(),
        skills: card::write_skills(&split, &model.skills),
        signatures: card::write_signatures(&model.signatures),
        icon_url: model.icon_url.clone(),
    }
}

/// A card from the wire.
pub(super) fn read(wire: wire::AgentCard, at: &Path<'_>) -> Result<AgentCard, Error> {
    let offered = wire.capabilities.unwrap_or_default();
    let at_schemes = at.field("securitySchemes");
    let interfaces = wire.supported_interfaces.into_iter();
    Ok(AgentCard {
        name: wire.name,
        description: wire.description,
        version: wire.version,
        interfaces: interfaces
            .map(|interface| Interface {
                url: interface.url,
                binding: Binding::from_name(&interface.protocol_binding),
                version: interface.protocol_version,
                tenant: set(interface.tenant),
            })
            .collect(),
        provider: wire.provider.map(card::read_provider),
        documentation_url: wire.documentation_url,
        icon_url: wire.icon_url,
        capabilities: Capabilities {
            streaming: offered.streaming,
            push_notifications: offered.push_notifications,
            extended_agent_card: offered.extended_agent_card,
            state_transition_history: None,
            extensions: card::read_extensions(
                offered.extensions,
                &at.field("capabilities").field("extensions"),
            )?,
        },
        security_schemes: security::read_schemes(wire.security_schemes, &at_schemes)?,
        security: security::read_requirements(wire.security_requirements),
        default_input_modes: wire.default_input_modes,
        default_output_modes: wire.default_output_modes,
        skills: card::read_skills(wire.skills),
        signatures: card::read_signatures(wire.signatures, &at.field("signatures"))?,
    })
}
