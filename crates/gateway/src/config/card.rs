//! What the cards of an agent say: from the file, else from the script's own profile, else by default.

use std::collections::BTreeSet;

use switchboard_agents::profile as agents;
use switchboard_server::card::{GrpcAddress, Interfaces, Profile};
use switchboard_types::FileBytes;
use switchboard_types::model;
use switchboard_types::wire::card::CardShape;

use super::agent::{at_path, join};
use super::load::Check;
use super::value::Url;
use super::yaml::{Data, Step, Step::Item, Step::Key};
use super::{Agent, raw};

impl Check<'_> {
    pub(super) fn profile(
        &mut self,
        at: &[Step<'_>],
        name: &str,
        mut raw: raw::Agent,
        base: agents::Profile,
    ) -> Profile {
        let extended = raw.extended_card.take();
        let shape = match raw.card {
            None | Some(raw::CardShape::Union) => CardShape::Union,
            Some(raw::CardShape::V1_0) => CardShape::V1,
            Some(raw::CardShape::V0_3) => CardShape::V0,
        };
        let file_bytes = match raw.file_bytes {
            None | Some(raw::CallerFileBytes::Auto) => None,
            Some(raw::CallerFileBytes::Base64) => Some(FileBytes::Base64),
            Some(raw::CallerFileBytes::Raw) => Some(FileBytes::Raw),
        };
        let mut card = self.card(at, name, raw, base);
        card.capabilities.extended_agent_card = Some(extended.is_some());
        Profile {
            extended: extended.map(|extended| self.extended(at, &card, extended)),
            shape,
            file_bytes,
            ..Profile::new(card)
        }
    }

    /// What cards offer: as it is written at `at`, else as `default` has it.
    pub(super) fn interfaces(
        &mut self,
        at: &[Step<'_>],
        bindings: Option<Vec<raw::Binding>>,
        grpc_address: Option<raw::GrpcAddress>,
        default: &Interfaces,
    ) -> Interfaces {
        let at = join(at, Key("interfaces"));
        // A list with an item that could not be read has its problem already.
        let whole = |listed: &&Vec<raw::Binding>| match at_path(self.tree, &at) {
            Some(node) => match &node.data {
                Data::List(items) => items.len() == listed.len(),
                Data::Scalar(_) | Data::Map(_) => true,
            },
            None => true,
        };
        if let Some(listed) = bindings.as_ref().filter(whole) {
            let over_http = |b: &raw::Binding| *b != raw::Binding::Grpc;
            if !listed.iter().any(over_http) {
                let message = "must list `jsonrpc` or `http_json`".to_owned();
                let hint =
                    "gRPC does not reach every agent in every version: list it beside one of them";
                self.wrong(&at, message, Some(hint.to_owned()));
            }
            for (i, binding) in listed.iter().enumerate() {
                if listed[..i].contains(binding) {
                    let message = "is listed twice".to_owned();
                    self.wrong(&join(&at, Item(i)), message, None);
                }
            }
        }
        Interfaces {
            bindings: match bindings {
                Some(listed) => listed.into_iter().map(model::Binding::from).collect(),
                None => default.bindings.clone(),
            },
            grpc_address: match grpc_address {
                Some(raw::GrpcAddress::Url) => GrpcAddress::Url,
                Some(raw::GrpcAddress::HostPort) => GrpcAddress::HostPort,
                None => default.grpc_address,
            },
        }
    }

    /// The path of an rpc is fixed, so below a path there is no gRPC that a card could offer.
    pub(super) fn grpc_can_be_reached(&mut self, public_url: Option<&Url>, agents: &[Agent]) {
        let has_path = |url: &Url| {
            let after = url.0.split_once("://").map_or("", |(_, rest)| rest);
            after.contains('/')
        };
        let offers = |agent: &Agent| {
            let bindings = &agent.profile.interfaces.bindings;
            bindings.contains(&model::Binding::Grpc)
        };
        if public_url.is_some_and(has_path) && agents.iter().any(offers) {
            let message = "has a path, so no card offers gRPC: an rpc has no path to put it in";
            let hint = "leave `grpc` out of `interfaces`, or use an address without a path";
            self.doubt(
                &[Key("public_url")],
                message.to_owned(),
                Some(hint.to_owned()),
            );
        }
    }

    fn card(
        &mut self,
        at: &[Step<'_>],
        name: &str,
        raw: raw::Agent,
        base: agents::Profile,
    ) -> model::AgentCard {
        let title = raw.title.or(base.name).unwrap_or_else(|| name.to_owned());
        let described = Some(base.description).filter(|text| !text.is_empty());
        let description = raw
            .description
            .or(described)
            .unwrap_or_else(|| title.clone());
        let mut skills = match raw.skills {
            Some(skills) => self.skills(at, skills),
            None => base.skills.into_iter().map(skill).collect(),
        };
        if skills.is_empty() {
            skills.push(only_skill(name, &title, &description));
        }
        let card = model::AgentCard::new(title, description);
        let capabilities = model::Capabilities {
            streaming: Some(raw.streaming.unwrap_or(true)),
            push_notifications: Some(raw.push_notifications.unwrap_or(true)),
            extensions: self.extensions(at, raw.extensions.unwrap_or_default()),
            ..card.capabilities
        };
        model::AgentCard {
            version: raw.version.unwrap_or(base.version),
            provider: raw.provider.map(|provider| model::Provider {
                organization: provider.organization,
                url: provider.url.0,
            }),
            documentation_url: raw.documentation_url.map(text),
            icon_url: raw.icon_url.map(text),
            capabilities,
            default_input_modes: self.modes(at, "input_modes", raw.input_modes, base.input_modes),
            default_output_modes: self.modes(
                at,
                "output_modes",
                raw.output_modes,
                base.output_modes,
            ),
            skills,
            ..card
        }
    }

    /// The second card: the first, and what is added to it.
    fn extended(
        &mut self,
        at: &[Step<'_>],
        first: &model::AgentCard,
        raw: raw::ExtendedCard,
    ) -> model::AgentCard {
        let at = join(at, Key("extended_card"));
        let more = self.skills(&at, raw.skills.unwrap_or_default());
        for (i, skill) in more.iter().enumerate() {
            if first.skills.iter().any(|known| known.id == skill.id) {
                let place = [&at[..], &[Key("skills"), Item(i), Key("id")]].concat();
                let message = format!("the public card has a skill with the id `{}` too", skill.id);
                self.wrong(&place, message, None);
            }
        }
        let mut card = first.clone();
        card.skills.extend(more);
        if let Some(description) = raw.description {
            card.description = description;
        }
        card
    }

    fn modes(
        &mut self,
        at: &[Step<'_>],
        key: &str,
        modes: Option<Vec<String>>,
        base: Vec<String>,
    ) -> Vec<String> {
        let modes = modes.unwrap_or(base);
        if modes.is_empty() || modes.iter().any(|mode| mode.trim().is_empty()) {
            self.wrong(
                &join(at, Key(key)),
                "must name at least one media type, and no empty one".to_owned(),
                Some("leave the key out for the default".to_owned()),
            );
        }
        modes
    }

    fn skills(&mut self, at: &[Step<'_>], raw: Vec<raw::Skill>) -> Vec<model::Skill> {
        let mut seen = BTreeSet::new();
        let mut skills = Vec::with_capacity(raw.len());
        for (i, skill) in raw.into_iter().enumerate() {
            let place = [at, &[Key("skills"), Item(i), Key("id")]].concat();
            if skill.id.trim().is_empty() {
                self.wrong(&place, "must not be empty".to_owned(), None);
            } else if !seen.insert(skill.id.clone()) {
                let message = format!("there are two skills with the id `{}`", skill.id);
                self.wrong(&place, message, None);
            }
            skills.push(model::Skill {
                name: skill.name.unwrap_or_else(|| skill.id.clone()),
                id: skill.id,
                description: skill.description,
                tags: skill.tags.unwrap_or_default(),
                examples: skill.examples.unwrap_or_default(),
                input_modes: skill.input_modes.unwrap_or_default(),
                output_modes: skill.output_modes.unwrap_or_default(),
                security: Vec::new(),
            });
        }
        skills
    }

    fn extensions(&mut self, at: &[Step<'_>], raw: Vec<raw::Extension>) -> Vec<model::Extension> {
        let mut extensions: Vec<model::Extension> = Vec::with_capacity(raw.len());
        for (i, extension) in raw.into_iter().enumerate() {
            let place = [at, &[Key("extensions"), Item(i), Key("uri")]].concat();
            if !extension.uri.contains(':') {
                let message = format!("`{}` is not a URI", extension.uri);
                let hint = "write an absolute one, such as https://example.com/ext/v1 or urn:x:y";
                self.wrong(&place, message, Some(hint.to_owned()));
            } else if extensions.iter().any(|known| known.uri == extension.uri) {
                self.wrong(&place, format!("`{}` is given twice", extension.uri), None);
            }
            extensions.push(model::Extension {
                uri: extension.uri,
                description: extension.description,
                required: extension.required.unwrap_or(false),
                params: extension.params.as_ref().map(model::Object::from),
            });
        }
        extensions
    }
}

fn skill(own: agents::SkillProfile) -> model::Skill {
    model::Skill {
        id: own.id,
        name: own.name,
        description: own.description,
        tags: own.tags,
        examples: own.examples,
        input_modes: own.input_modes,
        output_modes: own.output_modes,
        security: Vec::new(),
    }
}

/// The skill of an agent that names none: what the agent is for.
fn only_skill(name: &str, title: &str, description: &str) -> model::Skill {
    model::Skill::new(name, title, description).with_tags([name])
}

fn text(url: Url) -> String {
    url.0
}
