//! What an agent's card says, and what that means for calls.

use switchboard_types::model::{AgentCard, Binding, Interface, Message};
use switchboard_types::wire::card::CardShape;
use switchboard_types::{Error, ErrorKind, FileBytes, ProtocolVersion};

/// Whether gRPC is built in.
const HAS_GRPC: bool = cfg!(feature = "grpc");

/// What an agent's card says. Interfaces are filled in for the address a caller used.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The public card, without interfaces.
    pub card: AgentCard,
    /// The card for those who authenticate, without interfaces.
    pub extended: Option<AgentCard>,
    /// How the public card is spelled unless the caller asks for a version.
    pub shape: CardShape,
    /// What the field for the bytes of a file holds in 0.3 over HTTP+JSON and gRPC; decided by caller if nothing is
    /// configured.
    pub file_bytes: Option<FileBytes>,
    /// Which interfaces the cards offer.
    pub interfaces: Interfaces,
    /// Whether this agent is meant when nobody is named.
    pub is_default: bool,
}

/// The interfaces that cards offer. All bindings are served, whatever the cards say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interfaces {
    /// The bindings, best first. One of them is JSON-RPC or HTTP+JSON: those reach every agent in every version.
    pub bindings: Vec<Binding>,
    /// How the address of gRPC is spelled.
    pub grpc_address: GrpcAddress,
}

/// How a card spells the address of gRPC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GrpcAddress {
    /// An absolute URL, as every released version asks for (A2A 1.0.1 §4.4.6). Some readers refuse the whole card for
    /// anything else.
    #[default]
    Url,
    /// `host:port`, for clients that pass the address to their gRPC library as it is.
    HostPort,
}

impl Default for Interfaces {
    /// Without gRPC: clients disagree on its address, and some drop the card for the spelling they do not expect.
    fn default() -> Self {
        Self {
            bindings: vec![Binding::JsonRpc, Binding::HttpJson],
            grpc_address: GrpcAddress::Url,
        }
    }
}

impl Profile {
    /// A card that clients of every version read, and that offers JSON-RPC and HTTP+JSON.
    #[must_use]
    pub fn new(card: AgentCard) -> Self {
        Self {
            card,
            extended: None,
            shape: CardShape::Union,
            file_bytes: None,
            interfaces: Interfaces::default(),
            is_default: false,
        }
    }

    /// The extensions of this agent among those asked for.
    ///
    /// # Errors
    ///
    /// If a required one is not asked for (A2A 1.0 §3.3.4).
    pub fn activate(&self, asked: &[String]) -> Result<Vec<String>, Error> {
        let known = &self.card.capabilities.extensions;
        for extension in known.iter().filter(|e| e.required) {
            if !asked.contains(&extension.uri) {
                return Err(Error::new(
                    ErrorKind::ExtensionSupportRequired,
                    format!(
                        "this agent requires the extension {}: request it with A2A-Extensions",
                        extension.uri
                    ),
                )
                .fact("extension", extension.uri.clone()));
            }
        }
        let mut active: Vec<String> = Vec::new();
        for uri in asked {
            if known.iter().any(|e| e.uri == *uri) && !active.contains(uri) {
                active.push(uri.clone());
            }
        }
        Ok(active)
    }

    /// # Errors
    ///
    /// If the agent does not stream.
    pub(crate) fn require_streaming(&self) -> Result<(), Error> {
        match self.card.capabilities.streaming {
            Some(true) => Ok(()),
            _ => Err(Error::unsupported("this agent does not support streaming")),
        }
    }

    /// # Errors
    ///
    /// If the agent calls no webhooks.
    pub(crate) fn require_push(&self) -> Result<(), Error> {
        match self.card.capabilities.push_notifications {
            Some(true) => Ok(()),
            _ => Err(Error::new(
                ErrorKind::PushNotificationNotSupported,
                "this agent does not support push notifications",
            )),
        }
    }

    /// # Errors
    ///
    /// If a part says a media type that neither the card nor a skill takes (A2A 1.0 §3.1.1).
    pub fn require_input(&self, message: &Message) -> Result<(), Error> {
        for (at, part) in message.parts.iter().enumerate() {
            let Some(said) = &part.media_type else {
                continue;
            };
            if !self.takes(said) {
                return Err(Error::new(
                    ErrorKind::ContentTypeNotSupported,
                    format!("this agent does not accept {said} (message.parts[{at}])"),
                )
                .fact("mediaType", said.clone())
                .fact("supported", self.card.default_input_modes.join(",")));
            }
        }
        Ok(())
    }

    fn takes(&self, media_type: &str) -> bool {
        let skills = self.card.skills.iter().flat_map(|s| &s.input_modes);
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        self.card
            .default_input_modes
            .iter()
            .chain(skills)
            .any(|mode| mode_takes(mode, essence))
    }

    /// Whether there is a second card.
    pub(crate) fn has_extended(&self) -> bool {
        self.extended.is_some() && self.card.capabilities.extended_agent_card == Some(true)
    }

    /// The public card for a caller at `base_url`.
    #[must_use]
    pub(crate) fn card_at(&self, base_url: &str, name: &str) -> AgentCard {
        self.complete(self.card.clone(), base_url, name)
    }

    /// A card as it is served at `base_url`: with interfaces, newest version first, and with the modes of each skill.
    pub(crate) fn complete(&self, mut card: AgentCard, base_url: &str, name: &str) -> AgentCard {
        card.interfaces.clear();
        for version in ProtocolVersion::ALL {
            let bindings = self.interfaces.bindings.iter();
            let offered = bindings.filter_map(|b| self.interface(b, version, base_url, name));
            card.interfaces.extend(offered);
        }
        // Optional in every version, but some clients read a skill only if it has them.
        for skill in &mut card.skills {
            if skill.input_modes.is_empty() {
                skill.input_modes.clone_from(&card.default_input_modes);
            }
            if skill.output_modes.is_empty() {
                skill.output_modes.clone_from(&card.default_output_modes);
            }
        }
        card
    }

    /// One interface of the agent at `base_url`, if it can be reached so. JSON-RPC and HTTP+JSON share one address.
    fn interface(
        &self,
        binding: &Binding,
        version: ProtocolVersion,
        base_url: &str,
        name: &str,
    ) -> Option<Interface> {
        let (url, tenant) = match binding {
            Binding::Grpc => {
                // An rpc names its agent by its tenant, if its version has one.
                let tenant = (!self.is_default).then(|| name.to_owned());
                if tenant.is_some() && !version.has_tenants() {
                    return None;
                }
                (grpc_url(base_url, self.interfaces.grpc_address)?, tenant)
            }
            _ => (format!("{base_url}/a2a/{name}"), None),
        };
        Some(Interface {
            url,
            binding: binding.clone(),
            version: version.name().to_owned(),
            tenant,
        })
    }
}

/// Whether an input mode (`text/plain`, `image/*`, `*/*`) takes a media type.
fn mode_takes(mode: &str, media_type: &str) -> bool {
    let mode = mode.split(';').next().unwrap_or_default().trim();
    match mode.strip_suffix("/*") {
        Some("*") => true,
        Some(kind) => media_type
            .split_once('/')
            .is_some_and(|(k, _)| k.eq_ignore_ascii_case(kind)),
        None => mode == "*" || mode.eq_ignore_ascii_case(media_type),
    }
}

/// The address of gRPC at `base_url`, always with a port. None below a path: the path of an rpc is fixed.
fn grpc_url(base_url: &str, spelling: GrpcAddress) -> Option<String> {
    let (scheme, host) = base_url.split_once("://")?;
    if !HAS_GRPC || host.contains('/') {
        return None;
    }
    let port = if scheme == "https" { 443 } else { 80 };
    let named = match host.rsplit_once(':') {
        Some((_, port)) => port.bytes().all(|b| b.is_ascii_digit()),
        None => false,
    };
    let target = if named {
        host.to_owned()
    } else {
        format!("{host}:{port}")
    };
    Some(match spelling {
        GrpcAddress::Url => format!("{scheme}://{target}"),
        GrpcAddress::HostPort => target,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::agent::profile;
    use switchboard_types::model::Skill;

    #[test]
    fn grpc_address_is_an_absolute_url_or_host_and_port() {
        for (base_url, url, target) in [
            ("http://here:7420", "http://here:7420", "here:7420"),
            ("http://here", "http://here:80", "here:80"),
            ("https://here", "https://here:443", "here:443"),
            ("https://[::1]", "https://[::1]:443", "[::1]:443"),
            ("http://[::1]:5", "http://[::1]:5", "[::1]:5"),
        ] {
            for (spelling, wanted) in [(GrpcAddress::Url, url), (GrpcAddress::HostPort, target)] {
                let wanted = HAS_GRPC.then(|| wanted.to_owned());
                assert_eq!(grpc_url(base_url, spelling), wanted, "{base_url}");
            }
        }
        assert_eq!(grpc_url("http://here/below", GrpcAddress::Url), None);
    }

    #[test]
    fn interfaces_are_offered_in_the_configured_order_and_grpc_only_if_it_is_configured() {
        let offered = |bindings: Vec<Binding>| {
            let mut profile = profile();
            profile.interfaces.bindings = bindings;
            let offered = profile.card_at("http://here:1", "poet").interfaces;
            let newest = offered.into_iter().filter(|i| i.version == "1.0");
            newest.map(|i| i.binding).collect::<Vec<_>>()
        };
        let (rpc, rest, grpc) = (Binding::JsonRpc, Binding::HttpJson, Binding::Grpc);
        let default = offered(Interfaces::default().bindings);
        assert_eq!(default, [rpc.clone(), rest.clone()]);
        if HAS_GRPC {
            let all = vec![grpc, rest, rpc];
            assert_eq!(offered(all.clone()), all);
        }
    }

    #[test]
    fn skills_have_the_modes_of_the_agent_unless_they_have_their_own() {
        let mut profile = profile();
        profile.card.default_input_modes = vec!["text/plain".to_owned()];
        profile.card.default_output_modes = vec!["image/png".to_owned()];
        let skill = |id: &str, input_modes| Skill {
            input_modes,
            ..Skill::new(id, id, "")
        };
        let own = vec!["audio/wav".to_owned()];
        profile.card.skills = vec![skill("plain", Vec::new()), skill("own", own)];
        let skills = profile.card_at("http://here:1", "poet").skills;
        assert_eq!(skills[0].input_modes, ["text/plain"]);
        assert_eq!(skills[0].output_modes, ["image/png"]);
        assert_eq!(skills[1].input_modes, ["audio/wav"]);
        assert_eq!(skills[1].output_modes, ["image/png"]);
    }

    #[test]
    fn an_agent_that_is_not_the_default_is_named_by_its_tenant() {
        let offered = |is_default| {
            let mut profile = Profile {
                is_default,
                ..profile()
            };
            profile.interfaces.bindings.push(Binding::Grpc);
            let interfaces = profile.card_at("http://here:1", "poet").interfaces;
            let grpc = interfaces
                .into_iter()
                .filter(|i| i.binding == Binding::Grpc);
            let offered = grpc.map(|interface| (interface.version, interface.tenant));
            offered.collect::<Vec<_>>()
        };
        if HAS_GRPC {
            let (new, old) = ("1.0".to_owned(), "0.3".to_owned());
            assert_eq!(offered(true), [(new.clone(), None), (old, None)]);
            assert_eq!(offered(false), [(new, Some("poet".to_owned()))]);
        }
    }
}
