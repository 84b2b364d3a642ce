//! JSON of any version to the model card.
//!
//! A card with `supportedInterfaces` is 1.0-shaped and its 0.x addresses are not looked at; any
//! other card is 0.x. Everything else is read in both spellings wherever it
//! stands. Called by `decode_card` only.

use super::node::{Members, Node};
use super::read_security as security;
use crate::error::Error;
use crate::model::{
    AgentCard, Binding, Capabilities, CardSignature, Extension, Interface, Provider, Skill,
};

/// What a 0.x card without `protocolVersion` speaks: 0.2 before 0.2.5, which is served as 0.3.
const DEFAULT_0X: &str = "0.3";
/// What an entry of `supportedInterfaces` without `protocolVersion` speaks.
const DEFAULT_1: &str = "1.0";

/// Reads a whole card.
pub(super) fn card(json: &[u8]) -> Result<AgentCard, Error> {
    let root = Node::root(json)?;
    if !root.is_object() {
        return Err(root.error("must be an object"));
    }
    let card = root.object()?;
    let name = card
        .get("name")
        .ok_or_else(|| Error::invalid_params("name", "is missing"))?
        .string()?;
    let listed = interfaces(&card, "supportedInterfaces", DEFAULT_1)?;
    let one_shaped = !listed.is_empty();
    let (security_schemes, security) = security::of_card(&card)?;
    Ok(AgentCard {
        name,
        description: card.text("description")?,
        version: card.text("version")?,
        interfaces: if one_shaped {
            listed
        } else {
            addresses(&card)?
        },
        provider: card
            .object("provider")?
            .as_ref()
            .map(provider)
            .transpose()?,
        documentation_url: card.explicit("documentationUrl")?,
        icon_url: card.explicit("iconUrl")?,
        capabilities: capabilities(&card, one_shaped)?,
        security_schemes,
        security,
        default_input_modes: card.strings("defaultInputModes")?,
        default_output_modes: card.strings("defaultOutputModes")?,
        skills: each(&card, "skills", skill)?,
        signatures: each(&card, "signatures", signature)?,
    })
}

/// Reads every item of a list member with `read`.
fn each<'a, T>(
    members: &Members<'a>,
    name: &str,
    read: impl Fn(&Members<'a>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let items = members.list(name)?;
    items.iter().map(|item| read(&item.object()?)).collect()
}

/// A list of interfaces, in either version's spelling; entries without address are dropped.
fn interfaces(card: &Members<'_>, name: &str, version: &str) -> Result<Vec<Interface>, Error> {
    let all = each(card, name, |entry| interface(entry, version))?;
    Ok(all.into_iter().filter(|i| !i.url.is_empty()).collect())
}

fn interface(entry: &Members<'_>, version: &str) -> Result<Interface, Error> {
    let spoken = entry.implicit("protocolBinding")?;
    let spoken = match spoken {
        None => entry.implicit("transport")?,
        some => some,
    };
    let version = entry
        .implicit("protocolVersion")?
        .map_or_else(|| version.to_owned(), |text| major_minor(&text));
    Ok(Interface {
        url: entry.text("url")?,
        binding: spoken.map_or(Binding::JsonRpc, |name| binding(&name)),
        version,
        tenant: entry.implicit("tenant")?,
    })
}

/// The interfaces of a 0.x card: the main address first, then the others, none twice.
fn addresses(card: &Members<'_>) -> Result<Vec<Interface>, Error> {
    let version = card
        .implicit("protocolVersion")?
        .map_or_else(|| DEFAULT_0X.to_owned(), |text| major_minor(&text));
    let mut found: Vec<Interface> = Vec::new();
    if let Some(url) = card.implicit("url")? {
        let transport = card.implicit("preferredTransport")?;
        found.push(Interface {
            url,
            binding: transport.map_or(Binding::JsonRpc, |name| binding(&name)),
            version: version.clone(),
            tenant: None,
        });
    }
    for other in interfaces(card, "additionalInterfaces", &version)? {
        if !found.contains(&other) {
            found.push(other);
        }
    }
    Ok(found)
}

/// The binding of that name, also in the spellings seen in the wild.
fn binding(name: &str) -> Binding {
    match name.to_ascii_uppercase().as_str() {
        "JSONRPC" | "JSON-RPC" => Binding::JsonRpc,
        "HTTP+JSON" | "HTTP" | "REST" => Binding::HttpJson,
        "GRPC" => Binding::Grpc,
        _ => Binding::Other(name.to_owned()),
    }
}

/// `0.3.0` as `0.3` and `1` as `1.0`; what is not made of numbers stays.
fn major_minor(text: &str) -> String {
    let numbers: Option<Vec<u32>> = text
        .trim()
        .trim_start_matches('v')
        .split('.')
        .take(2)
        .map(|number| number.parse().ok())
        .collect();
    match numbers.as_deref() {
        Some([major]) => format!("{major}.0"),
        Some([major, minor]) => format!("{major}.{minor}"),
        _ => text.to_owned(),
    }
}

fn provider(provider: &Members<'_>) -> Result<Provider, Error> {
    Ok(Provider {
        organization: provider.text("organization")?,
        url: provider.text("url")?,
    })
}

fn capabilities(card: &Members<'_>, one_shaped: bool) -> Result<Capabilities, Error> {
    // A mixture's `supportsAuthenticatedExtendedCard: false` says nothing new, and taking it over
    // would add a member to the payload of its 1.0 signature.
    let extended_0x = card
        .flag("supportsAuthenticatedExtendedCard")?
        .filter(|supported| *supported || !one_shaped);
    let Some(members) = card.object("capabilities")? else {
        return Ok(Capabilities {
            extended_agent_card: extended_0x,
            ..Capabilities::default()
        });
    };
    Ok(Capabilities {
        streaming: members.flag("streaming")?,
        push_notifications: members.flag("pushNotifications")?,
        extended_agent_card: members.flag("extendedAgentCard")?.or(extended_0x),
        state_transition_history: members.flag("stateTransitionHistory")?,
        extensions: each(&members, "extensions", extension)?,
    })
}

fn extension(extension: &Members<'_>) -> Result<Extension, Error> {
    Ok(Extension {
        uri: extension.text("uri")?,
        description: extension.implicit("description")?,
        required: extension.flag("required")?.unwrap_or(false),
        params: extension.free_object("params")?,
    })
}

fn skill(skill: &Members<'_>) -> Result<Skill, Error> {
    Ok(Skill {
        id: skill.text("id")?,
        name: skill.text("name")?,
        description: skill.text("description")?,
        tags: skill.strings("tags")?,
        examples: skill.strings("examples")?,
        input_modes: skill.strings("inputModes")?,
        output_modes: skill.strings("outputModes")?,
        security: security::requirements(skill)?,
    })
}

fn signature(signature: &Members<'_>) -> Result<CardSignature, Error> {
    Ok(CardSignature {
        protected: signature.text("protected")?,
        signature: signature.text("signature")?,
        header: signature.free_object("header")?,
    })
}
