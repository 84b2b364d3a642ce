//! What an agent's card says, and what that means for calls.

use switchboard_types::model::{AgentCard, Binding, Interface, Message};
use switchboard_types::operation::Response;
use switchboard_types::wire::card::CardShape;
use switchboard_types::{Error, ErrorKind, FileBytes, ProtocolVersion};

use super::{Engine, Scope};
use crate::binding::grpc;

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
    /// Whether this agent is meant when nobody is named.
    pub is_default: bool,
}

impl Profile {
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
                        "this agent requires the extension {}: name it in A2A-Extensions",
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
    pub fn require_streaming(&self) -> Result<(), Error> {
        match self.card.capabilities.streaming {
            Some(true) => Ok(()),
            _ => Err(Error::unsupported("this agent does not stream")),
        }
    }

    /// # Errors
    ///
    /// If the agent calls no webhooks.
    pub fn require_push(&self) -> Result<(), Error> {
        match self.card.capabilities.push_notifications {
            Some(true) => Ok(()),
            _ => Err(Error::new(
                ErrorKind::PushNotificationNotSupported,
                "push notification is not supported by this agent",
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
                    format!("this agent does not take {said} (message.parts[{at}])"),
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
    pub fn card_at(&self, base_url: &str, name: &str) -> AgentCard {
        self.with_interfaces(self.card.clone(), base_url, name)
    }

    /// All interfaces of an agent at `base_url`, newest version first. JSON-RPC and REST share one address.
    fn with_interfaces(&self, mut card: AgentCard, base_url: &str, name: &str) -> AgentCard {
        let url = format!("{base_url}/a2a/{name}");
        card.interfaces.clear();
        for version in ProtocolVersion::ALL {
            let mut add = |binding, url, tenant| {
                card.interfaces.push(Interface {
                    url,
                    binding,
                    version: version.name().to_owned(),
                    tenant,
                });
            };
            add(Binding::JsonRpc, url.clone(), None);
            add(Binding::HttpJson, url.clone(), None);
            // An rpc names its agent by its tenant, if its version has one.
            let tenant = (!self.is_default).then(|| name.to_owned());
            if let Some(url) = grpc_target(base_url)
                && (tenant.is_none() || version.has_tenants())
            {
                add(Binding::Grpc, url, tenant);
            }
        }
        card
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

/// The address of gRPC at `base_url`. None below a path: the path of an rpc is fixed. It has no scheme in any
/// version: the clients of the official SDKs hand it to gRPC as it is, which looks a scheme up as a name.
fn grpc_target(base_url: &str) -> Option<String> {
    let (scheme, host) = base_url.split_once("://")?;
    if !grpc::SPOKEN || host.contains('/') {
        return None;
    }
    let port = if scheme == "https" { 443 } else { 80 };
    let named = match host.rsplit_once(':') {
        Some((_, port)) => port.bytes().all(|b| b.is_ascii_digit()),
        None => false,
    };
    Some(if named {
        host.to_owned()
    } else {
        format!("{host}:{port}")
    })
}

impl Engine {
    pub(super) fn extended_card(&self, scope: &Scope) -> Result<Response, Error> {
        let profile = self.profile();
        match (
            &profile.extended,
            profile.card.capabilities.extended_agent_card,
        ) {
            (Some(_), Some(true)) if scope.principal.is_anonymous() => Err(Error::new(
                ErrorKind::PermissionDenied,
                "the extended card is shown after authentication only",
            )),
            (Some(card), Some(true)) => {
                let base_url = &scope.params.base_url;
                let card = profile.with_interfaces(card.clone(), base_url, self.name());
                Ok(Response::Card(Box::new(card)))
            }
            (None, Some(true)) => Err(Error::new(
                ErrorKind::ExtendedAgentCardNotConfigured,
                "the extended card is advertised but not configured",
            )),
            _ => Err(Error::unsupported("this agent has no extended card")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::agent::profile;

    #[test]
    fn an_address_of_grpc_has_a_host_and_a_port() {
        for (base_url, wanted) in [
            ("http://here:7420", "here:7420"),
            ("http://here", "here:80"),
            ("https://here", "here:443"),
            ("https://[::1]", "[::1]:443"),
            ("http://[::1]:5", "[::1]:5"),
        ] {
            let wanted = grpc::SPOKEN.then(|| wanted.to_owned());
            assert_eq!(grpc_target(base_url), wanted, "{base_url}");
        }
        assert_eq!(grpc_target("http://here/below"), None);
    }

    #[test]
    fn an_agent_that_is_not_the_default_is_named_by_its_tenant() {
        let offered = |is_default| {
            let profile = Profile {
                is_default,
                ..profile()
            };
            let interfaces = profile.card_at("http://here:1", "poet").interfaces;
            let grpc = interfaces
                .into_iter()
                .filter(|i| i.binding == Binding::Grpc);
            let offered = grpc.map(|interface| (interface.version, interface.tenant));
            offered.collect::<Vec<_>>()
        };
        if grpc::SPOKEN {
            let (new, old) = ("1.0".to_owned(), "0.3".to_owned());
            assert_eq!(offered(true), [(new.clone(), None), (old, None)]);
            assert_eq!(offered(false), [(new, Some("poet".to_owned()))]);
        }
    }
}
