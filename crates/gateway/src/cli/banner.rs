//! What `up`, `serve` and `wrap` print once they listen: agents and their addresses, the admin address, where tasks are
//! stored, and commands to try.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::out;
use crate::app::{Listening, ToTrust};
use crate::config::{Config, Store};

/// How many agents are listed with their addresses.
const MAX_LISTED_AGENTS: usize = 20;

/// Prints a banner. A server whose output nobody reads goes on.
pub(super) fn print(text: &str) {
    if let Err(error) = out(format_args!("{text}")) {
        tracing::warn!(%error, "could not write to standard output");
    }
}

/// The parts that the banners share.
#[derive(Debug)]
pub(super) struct Banner<'a> {
    config: &'a Config,
    listening: &'a Listening,
    /// The URL that callers use.
    pub(super) base: String,
}

impl<'a> Banner<'a> {
    pub(super) fn new(config: &'a Config, listening: &'a Listening) -> Self {
        let scheme = if listening.encrypted { "https" } else { "http" };
        let base = match &config.public_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("{scheme}://{}", reachable(listening.address)),
        };
        Self {
            config,
            listening,
            base,
        }
    }

    /// The admin address, the data directory, and what clients must trust.
    pub(super) fn facts(&self) -> String {
        let mut text = String::new();
        if let Some(address) = self.listening.admin {
            // Writing to a String cannot fail.
            _ = writeln!(text, "  admin     http://{}", reachable(address));
        }
        let tasks = match &self.config.store {
            Store::Memory => "in memory only: lost when the process ends".to_owned(),
            Store::Sqlite(sqlite) => sqlite.dir.display().to_string(),
        };
        _ = writeln!(text, "  tasks     {tasks}");
        match &self.listening.to_trust {
            None => {}
            Some(ToTrust::File(file)) => {
                let file = file.display();
                _ = writeln!(text, "  tls       {file}: clients must trust it");
            }
            Some(ToTrust::Fingerprint(fingerprint)) => {
                _ = writeln!(text, "  tls       self-signed, {fingerprint}");
            }
        }
        text
    }

    /// A line for each agent with its address, up to a limit.
    pub(super) fn addresses(&self) -> String {
        let mut text = String::new();
        let agents = &self.listening.agents;
        let width = agents.iter().take(MAX_LISTED_AGENTS).map(|name| name.len());
        let width = width.max().unwrap_or_default();
        for (index, name) in agents.iter().take(MAX_LISTED_AGENTS).enumerate() {
            let label = if index == 0 { "agents" } else { "" };
            let url = self.agent(name);
            _ = writeln!(text, "  {label:<9} {name:<width$}  {url}");
        }
        if agents.len() > MAX_LISTED_AGENTS {
            let more = agents.len() - MAX_LISTED_AGENTS;
            _ = writeln!(text, "            and {more} more: {}/agents", self.base);
        }
        text
    }

    /// The address of an agent.
    pub(super) fn agent(&self, name: &str) -> String {
        format!("{}/a2a/{name}", self.base)
    }

    /// `switchboard COMMAND` as it is to be called, with what it must trust.
    pub(super) fn switchboard(&self, command: &str) -> String {
        let trust = match &self.listening.to_trust {
            None => String::new(),
            Some(ToTrust::File(file)) => format!(" --ca {}", file.display()),
            Some(ToTrust::Fingerprint(_)) => " --insecure".to_owned(),
        };
        format!("switchboard {command}{trust}")
    }

    /// `curl`, with what it must trust.
    pub(super) fn curl(&self) -> String {
        match &self.listening.to_trust {
            None => "curl".to_owned(),
            Some(ToTrust::File(file)) => format!("curl --cacert {}", file.display()),
            Some(ToTrust::Fingerprint(_)) => "curl -k".to_owned(),
        }
    }

    /// Three commands: send a message to an agent, stream from one, and read the card.
    pub(super) fn commands(&self, at: &str, slow: Option<(&str, &str)>) -> String {
        let (streamed, text) = slow.unwrap_or((at, "hello there"));
        let (send, curl) = (self.switchboard("send"), self.curl());
        format!(
            "  try       {send} -a {at} \"hello there\"
            {send} -a {streamed} --stream \"{text}\"
            {curl} -s {at}/.well-known/agent-card.json
"
        )
    }
}

/// An address to connect to: one that listens everywhere is also here.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    SocketAddr::new(ip, address.port())
}
