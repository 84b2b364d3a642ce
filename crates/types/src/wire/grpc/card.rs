//! What cards of both packages hold: skills, extensions, provider and signatures are the same messages.

use switchboard_proto::v1_0 as wire;

use super::field::{self, set, unset};
use super::{json, security};
use crate::error::Error;
use crate::model::{CardSignature, Extension, Provider, Skill};
use crate::wire::card::Split;
use crate::wire::path::Path;

pub(super) fn write_provider(provider: &Provider) -> wire::AgentProvider {
    wire::AgentProvider {
        url: provider.url.clone(),
        organization: provider.organization.clone(),
    }
}

pub(super) fn read_provider(provider: wire::AgentProvider) -> Provider {
    Provider {
        organization: provider.organization,
        url: provider.url,
    }
}

pub(super) fn write_extensions(extensions: &[Extension]) -> Vec<wire::AgentExtension> {
    let each = extensions.iter();
    each.map(|extension| wire::AgentExtension {
        uri: extension.uri.clone(),
        description: unset(extension.description.as_deref()),
        required: extension.required,
        params: json::to_optional_struct(extension.params.as_ref()),
    })
    .collect()
}

pub(super) fn read_extensions(
    extensions: Vec<wire::AgentExtension>,
    at: &Path<'_>,
) -> Result<Vec<Extension>, Error> {
    field::each(extensions, at, |extension, at| {
        let params = extension.params.as_ref();
        Ok(Extension {
            uri: extension.uri,
            description: set(extension.description),
            required: extension.required,
            params: json::from_optional_struct(params, &at.field("params"))?,
        })
    })
}

pub(super) fn write_skills(split: &Split<'_>, skills: &[Skill]) -> Vec<wire::AgentSkill> {
    let each = skills.iter();
    each.map(|skill| wire::AgentSkill {
        id: skill.id.clone(),
        name: skill.name.clone(),
        description: skill.description.clone(),
        tags: skill.tags.clone(),
        examples: skill.examples.clone(),
        input_modes: skill.input_modes.clone(),
        output_modes: skill.output_modes.clone(),
        security_requirements: security::write_requirements(split, &skill.security),
    })
    .collect()
}

pub(super) fn read_skills(skills: Vec<wire::AgentSkill>) -> Vec<Skill> {
    let each = skills.into_iter();
    each.map(|skill| Skill {
        id: skill.id,
        name: skill.name,
        description: skill.description,
        tags: skill.tags,
        examples: skill.examples,
        input_modes: skill.input_modes,
        output_modes: skill.output_modes,
        security: security::read_requirements(skill.security_requirements),
    })
    .collect()
}

pub(super) fn write_signatures(signatures: &[CardSignature]) -> Vec<wire::AgentCardSignature> {
    let each = signatures.iter();
    each.map(|signature| wire::AgentCardSignature {
        protected: signature.protected.clone(),
        signature: signature.signature.clone(),
        header: json::to_optional_struct(signature.header.as_ref()),
    })
    .collect()
}

pub(super) fn read_signatures(
    signatures: Vec<wire::AgentCardSignature>,
    at: &Path<'_>,
) -> Result<Vec<CardSignature>, Error> {
    field::each(signatures, at, |signature, at| {
        let header = signature.header.as_ref();
        Ok(CardSignature {
            header: json::from_optional_struct(header, &at.field("header"))?,
            protected: signature.protected,
            signature: signature.signature,
        })
    })
}
