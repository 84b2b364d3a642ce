//! Agents of OpenClaw gateways: what is right, and what is wrong.

use std::time::Duration;

use switchboard_agents::openclaw::{Tools, Transport};
use switchboard_agents::profile::Fact;

use super::Written;
use crate::config::{Agent, Backend, Flags, OpenClaw};

const ENV: [(&str, &str); 1] = [("TOKEN", "s3cr3t")];

/// One agent with these keys.
fn agent(keys: &str) -> String {
    format!("agents: {{lobster: {{{keys}}}}}\n")
}

fn good(keys: &str) -> (Agent, OpenClaw) {
    let written = Written::new(&agent(keys));
    let config = written.load_with(&ENV, &Flags::default()).unwrap();
    let agent = config.agents[0].clone();
    let Backend::OpenClaw(claw) = agent.backend.clone() else {
        panic!("{:?}", agent.backend);
    };
    (agent, *claw)
}

#[test]
fn an_address_and_a_token_are_enough() {
    let (agent, claw) = good("openclaw: {url: 'ws://127.0.0.1:18789', token: '${TOKEN}'}");
    assert_eq!(claw.place.token.reveal(), "s3cr3t");
    let settings = claw.settings;
    assert_eq!(settings.agent, "main");
    assert_eq!(settings.transport, Transport::Auto);
    assert_eq!(settings.tools, Tools::Names);
    assert_eq!(settings.max_file_bytes, 5 << 20);
    assert_eq!(settings.reconnect, Duration::from_secs(120));
    assert!(!settings.data_as_text);
    // The gateway is told how long a task may take.
    assert_eq!(settings.timeout, Some(Duration::from_secs(600)));
    assert_eq!(agent.profile.card.default_input_modes, ["*/*"]);
    assert!(agent.gaps.contains(&Fact::Skills) && !agent.gaps.contains(&Fact::MoreSkills));
    assert!(!format!("{agent:?}").contains("s3cr3t"));
}

#[test]
fn a_run_is_reconnected_to_for_some_time_whatever_the_upstream_timeout_is() {
    for (upstream, reconnect) in [("0s", 120), ("unlimited", 120), ("30s", 30), ("10m", 600)] {
        let (_, claw) = good(&format!(
            "timeouts: {{upstream: {upstream}}}, openclaw: {{url: 'ws://127.0.0.1:18789', token: '${{TOKEN}}'}}"
        ));
        let reconnect = Duration::from_secs(reconnect);
        assert_eq!(claw.settings.reconnect, reconnect, "{upstream}");
    }
}

#[test]
fn everything_can_be_said() {
    let (agent, claw) = good(
        "skills: [{id: x, description: X}], timeouts: {task: unlimited}, openclaw: {url: 'https://claw.example', \
         agent: research, token: '${TOKEN}', transport: websocket, data: text, tools: none, max_file: 1MiB, \
         reconnect: 10s, refresh: 1m}",
    );
    let settings = claw.settings;
    assert_eq!(settings.agent, "research");
    assert_eq!(settings.transport, Transport::WebSocket);
    assert_eq!(settings.tools, Tools::Off);
    assert_eq!(settings.max_file_bytes, 1 << 20);
    assert_eq!(settings.reconnect, Duration::from_secs(10));
    assert_eq!(settings.refresh, Duration::from_secs(60));
    assert_eq!(settings.timeout, None);
    assert!(settings.data_as_text);
    assert!(agent.gaps.contains(&Fact::MoreSkills));
}

#[test]
fn what_is_wrong_is_named_where_it_stands() {
    let claw = |keys: &str| format!("openclaw: {{url: 'http://h', token: '${{TOKEN}}'{keys}}}");
    for (keys, problem) in [
        (
            "openclaw: {url: 'http://u:p@h', token: '${TOKEN}'}".to_owned(),
            "agents.lobster.openclaw.url: must not have credentials in it",
        ),
        (
            "openclaw: {url: 'ftp://h', token: '${TOKEN}'}".to_owned(),
            "agents.lobster.openclaw.url: `ftp://h` is not the address of a gateway",
        ),
        (
            "openclaw: {url: 'http://h', token: plain}".to_owned(),
            "agents.lobster.openclaw.token: secrets must not be written in the file\n  hint: write `${NAME}`, or give `token_file`",
        ),
        (
            "openclaw: {url: 'http://h'}".to_owned(),
            "agents.lobster.openclaw: there is no token",
        ),
        (
            claw(", agent: 'a b'"),
            "agents.lobster.openclaw.agent: `a b` is not an agent id",
        ),
        (
            claw(", max_file: 17MiB"),
            "agents.lobster.openclaw.max_file: must be greater than zero and at most 16MiB",
        ),
        (
            claw(", reconnect: 0s"),
            "agents.lobster.openclaw.reconnect: must be longer than zero",
        ),
        (
            claw(", refresh: 0s"),
            "agents.lobster.openclaw.refresh: must be longer than zero",
        ),
        (
            claw(", transport: carrier"),
            "agents.lobster.openclaw.transport: ",
        ),
        (
            claw(", ca_file: no.pem"),
            "agents.lobster.openclaw.ca_file: no.pem cannot be read",
        ),
        (
            format!("{}, identity: {{forward: [x-a]}}", claw("")),
            "agents.lobster.identity: an OpenClaw gateway authenticates only with `openclaw.token`",
        ),
        (
            format!("{}, script: [{{complete: x}}]", claw("")),
            "`script` and `openclaw` are mutually exclusive",
        ),
    ] {
        let problems = Written::new(&agent(&keys)).problems(&ENV);
        assert!(problems.contains(problem), "{keys}\n{problems}");
    }
}
