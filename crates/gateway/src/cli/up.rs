//! `switchboard up`: built-in agents, no configuration, and a few lines that say what to try.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::args::{Global, UpArgs};
use super::{Failure, block_on, out};
use crate::app::{Listening, ToTrust};
use crate::config::{Config, Env, Source, Store, load};
use crate::{app, telemetry};

pub(super) fn run(args: &UpArgs, global: &Global, env: &Env) -> Result<(), Failure> {
    let config = load(&Source::BuiltIn, env, &args.place.flags(global))?;
    telemetry::start(&config.log).map_err(Failure::Failed)?;
    let shown = config.clone();
    block_on(app::serve(config, None, move |listening| {
        let text = welcome(&shown, &listening, std::process::id());
        if let Err(error) = out(format_args!("{text}")) {
            tracing::warn!(%error, "cannot write to standard output");
        }
    }))
}

/// What a newcomer sees: at most twelve lines, each command ready to paste.
pub(super) fn welcome(config: &Config, listening: &Listening, process: u32) -> String {
    let names: Vec<&str> = config.agents.iter().map(|agent| &*agent.name).collect();
    let (curl, tls, base) = curl_and_base(listening);
    let first = &config.default_agent;
    let kept = kept(config);
    let mut text = format!(
        "  agents    {agents}   at {base}
  tasks     {kept}
{tls}
  card      {curl} -s {base}/a2a/{first}/.well-known/agent-card.json
  stream    {curl} -N {base}/a2a/{first}/message:stream -H 'A2A-Version: 1.0' \\
              --json '{{\"message\":{{\"messageId\":\"1\",\"role\":\"ROLE_USER\",\"parts\":[{{\"text\":\"hello there\"}}]}}}}'
",
        agents = names.join(" "),
    );
    if let (Some(slow), Store::Sqlite(_)) =
        (names.iter().find(|n| **n == "research"), &config.store)
    {
        text.push_str(&format!(
            "  survive   stream from {slow} instead; remember the task's id and the last `id:`; then, from elsewhere,
              kill -9 {process}
            start again, and go on at the next event:
              {curl} -N -X POST {base}/a2a/{slow}/tasks/TASK_ID:subscribe -H 'A2A-Version: 1.0' \\
                -H 'Last-Event-ID: LAST_ID'
"
        ));
    }
    text
}

/// How to call, a line about whom to trust if there is something to say, and where.
pub(super) fn curl_and_base(listening: &Listening) -> (String, String, String) {
    let scheme = if listening.encrypted { "https" } else { "http" };
    let base = format!("{scheme}://{}", reachable(listening.address));
    match &listening.to_trust {
        None => ("curl".to_owned(), String::new(), base),
        Some(ToTrust::File(file)) => {
            let file = file.display();
            let tls = format!("  tls       {file}: tell clients to trust it\n");
            (format!("curl --cacert {file}"), tls, base)
        }
        Some(ToTrust::Fingerprint(fingerprint)) => {
            let tls = format!("  tls       {fingerprint}\n");
            ("curl -k".to_owned(), tls, base)
        }
    }
}

/// Where tasks are kept.
pub(super) fn kept(config: &Config) -> String {
    match &config.store {
        Store::Memory => "nowhere: everything is lost at the end".to_owned(),
        Store::Sqlite(sqlite) => sqlite.dir.display().to_string(),
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
