//! What a path means, versions and operations apart.

use super::catalog::CATALOG;
use crate::auth::RESOURCE;
use crate::sign::JWKS;

/// What a path means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UrlRoute<'a> {
    /// The process is alive.
    Live,
    /// The process can take requests.
    Ready,
    /// Which build this is.
    Version,
    /// A card; of the default agent if none is named.
    Card(Option<&'a str>),
    /// An old address of a card, which redirects.
    CardElsewhere,
    /// The extended card as 0.2 asks for it.
    ExtendedCard(Option<&'a str>),
    /// All agents, in short.
    Agents,
    /// All agents, as an AI catalogue.
    Catalog,
    /// The keys that our signatures are checked with.
    Jwks,
    /// Who issues tokens for an agent (RFC 9728); for the default one if none is named.
    Resource(Option<&'a str>),
    /// Where API keys are made.
    ApiKey(&'a str),
    /// Where one talks with an agent in plain texts.
    Chat(&'a str),
    /// An agent's base; the rest is empty for JSON-RPC, a path for REST.
    Agent(Option<&'a str>, &'a str),
}

impl<'a> UrlRoute<'a> {
    /// Reads a path. `is_agent` tells agents from tenants in the first segment.
    pub(super) fn of(path: &'a str, is_agent: impl Fn(&str) -> bool) -> Self {
        match path {
            "/livez" | "/healthz" => return Self::Live,
            "/readyz" => return Self::Ready,
            "/version" => return Self::Version,
            "/agents" => return Self::Agents,
            CATALOG => return Self::Catalog,
            JWKS => return Self::Jwks,
            RESOURCE => return Self::Resource(None),
            // `{card url}/../agent/authenticatedExtendedCard`, resolved as RFC 3986 has it.
            "/a2a/agent/authenticatedExtendedCard" => return Self::ExtendedCard(None),
            _ => {}
        }
        if let Some(below) = path.strip_prefix(RESOURCE)
            && let Some(agent) = below.strip_prefix("/a2a/")
            && !agent.contains('/')
        {
            return Self::Resource(Some(agent));
        }
        if let Some(below) = path.strip_prefix("/.well-known/")
            && let Some(agent) = below.strip_suffix("/agent-card.json")
            && !agent.contains('/')
        {
            return Self::Card(Some(agent));
        }
        let people = ["/agents/", "/bot-instances/"];
        if let Some(below) = people.iter().find_map(|first| path.strip_prefix(first))
            && let Some(agent) = below.strip_suffix("/chat")
            && !agent.contains('/')
        {
            return Self::Chat(agent);
        }
        if let Some(below) = path.strip_prefix("/a2a/") {
            let (agent, rest) = split(below);
            return Self::below(Some(agent), rest);
        }
        if let Some(rest) = path.strip_prefix("/api/a2a")
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return Self::below(None, rest);
        }
        let (first, rest) = split(path.strip_prefix('/').unwrap_or(path));
        if is_agent(first) {
            return Self::below(Some(first), rest);
        }
        Self::below(None, path)
    }

    fn below(agent: Option<&'a str>, rest: &'a str) -> Self {
        if let (Some(agent), "/api-key" | "/api-key/generate") = (agent, rest) {
            return Self::ApiKey(agent);
        }
        match rest {
            "/.well-known/agent-card.json" | "/.well-known/agent.json" | "/agent-card" => {
                Self::Card(agent)
            }
            "/.well-known/agent" => Self::CardElsewhere,
            "/agent/authenticatedExtendedCard" => Self::ExtendedCard(agent),
            rest => Self::Agent(agent, rest),
        }
    }
}

/// The first segment, and what follows with its slash.
fn split(path: &str) -> (&str, &str) {
    path.find('/')
        .map_or((path, ""), |slash| path.split_at(slash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_of_the_requirements() {
        let agent = |name| Some(name);
        for (path, route) in [
            ("/", UrlRoute::Agent(None, "/")),
            ("/agents/echo/chat", UrlRoute::Chat("echo")),
            ("/bot-instances/echo/chat", UrlRoute::Chat("echo")),
            (
                "/agents/echo/x/chat",
                UrlRoute::Agent(None, "/agents/echo/x/chat"),
            ),
            ("/api/a2a", UrlRoute::Agent(None, "")),
            ("/api/a2a/tasks/1", UrlRoute::Agent(None, "/tasks/1")),
            ("/api/a2ax", UrlRoute::Agent(None, "/api/a2ax")),
            (
                "/v1/message:send",
                UrlRoute::Agent(None, "/v1/message:send"),
            ),
            ("/tasks/7:cancel", UrlRoute::Agent(None, "/tasks/7:cancel")),
            ("/a2a/echo", UrlRoute::Agent(agent("echo"), "")),
            ("/a2a/echo/", UrlRoute::Agent(agent("echo"), "/")),
            (
                "/a2a/echo/v1/tasks/7",
                UrlRoute::Agent(agent("echo"), "/v1/tasks/7"),
            ),
            ("/a2a/nobody", UrlRoute::Agent(agent("nobody"), "")),
            ("/echo", UrlRoute::Agent(agent("echo"), "")),
            (
                "/echo/message:send",
                UrlRoute::Agent(agent("echo"), "/message:send"),
            ),
            (
                "/acme/message:send",
                UrlRoute::Agent(None, "/acme/message:send"),
            ),
            ("/.well-known/agent-card.json", UrlRoute::Card(None)),
            ("/.well-known/agent.json", UrlRoute::Card(None)),
            (
                "/.well-known/echo/agent-card.json",
                UrlRoute::Card(agent("echo")),
            ),
            ("/a2a/echo/agent-card", UrlRoute::Card(agent("echo"))),
            (
                "/a2a/echo/.well-known/agent-card.json",
                UrlRoute::Card(agent("echo")),
            ),
            (
                "/a2a/echo/.well-known/agent.json",
                UrlRoute::Card(agent("echo")),
            ),
            (
                "/echo/.well-known/agent-card.json",
                UrlRoute::Card(agent("echo")),
            ),
            ("/a2a/echo/.well-known/agent", UrlRoute::CardElsewhere),
            (
                "/agent/authenticatedExtendedCard",
                UrlRoute::ExtendedCard(None),
            ),
            (
                "/a2a/agent/authenticatedExtendedCard",
                UrlRoute::ExtendedCard(None),
            ),
            (
                "/a2a/echo/agent/authenticatedExtendedCard",
                UrlRoute::ExtendedCard(agent("echo")),
            ),
            ("/a2a/echo/api-key", UrlRoute::ApiKey("echo")),
            ("/a2a/echo/api-key/generate", UrlRoute::ApiKey("echo")),
            ("/echo/api-key", UrlRoute::ApiKey("echo")),
            ("/api-key", UrlRoute::Agent(None, "/api-key")),
            ("/agents", UrlRoute::Agents),
            ("/agents/echo", UrlRoute::Agent(None, "/agents/echo")),
            ("/.well-known/ai-catalog.json", UrlRoute::Catalog),
            ("/.well-known/jwks.json", UrlRoute::Jwks),
            (
                "/.well-known/oauth-protected-resource",
                UrlRoute::Resource(None),
            ),
            (
                "/.well-known/oauth-protected-resource/a2a/echo",
                UrlRoute::Resource(agent("echo")),
            ),
            ("/livez", UrlRoute::Live),
            ("/readyz", UrlRoute::Ready),
            ("/version", UrlRoute::Version),
        ] {
            assert_eq!(UrlRoute::of(path, |name| name == "echo"), route, "{path}");
        }
    }
}
