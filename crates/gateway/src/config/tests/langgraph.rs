//! Assistants of LangGraph servers: what is right, and what is wrong.

use std::time::Duration;

use super::{Written, good};
use crate::config::{Backend, Config};

fn agent(keys: &str) -> String {
    format!("agents: {{poet: {{{keys}}}}}\n")
}

fn problems(keys: &str) -> String {
    Written::new(&agent(keys)).problems(&[])
}

fn settings(config: &Config) -> &switchboard_agents::langgraph::Settings {
    match &config.agents[0].backend {
        Backend::LangGraph(settings, _) => settings,
        other => panic!("{other:?}"),
    }
}

#[test]
fn s0_050_a_server_on_this_machine_and_300_seconds_are_usual() {
    let config = good(&agent("langgraph: {assistant: poet}"));
    let settings = settings(&config);
    assert_eq!(settings.base.as_str(), "http://localhost:2024/");
    assert_eq!(settings.assistant, "poet");
    assert_eq!(settings.timeout, Duration::from_secs(300), "S0-026");
    assert!(settings.streaming && !settings.show_errors && settings.data_keys.is_none());
    // Until its card is known, it is not for us to refuse anything.
    assert_eq!(config.agents[0].profile.card.default_input_modes, ["*/*"]);
}

#[test]
fn everything_can_be_said() {
    let config = good(&agent(
        "langgraph: {url: 'https://lg.example/deep', assistant: poet, timeout: 10m, reconnect: 1s, streaming: false, \
         data_keys: [topic], show_errors: true, refresh: 1m}, title: Poet",
    ));
    let settings = settings(&config);
    assert_eq!(settings.base.as_str(), "https://lg.example/deep");
    assert_eq!(settings.timeout, Duration::from_secs(600), "S0-027");
    assert_eq!(settings.reconnect, Duration::from_secs(1));
    assert_eq!(settings.refresh, Duration::from_secs(60));
    assert!(!settings.streaming && settings.show_errors);
    assert_eq!(
        settings.data_keys.as_deref(),
        Some(&["topic".to_owned()][..])
    );
}

#[test]
fn agents_can_be_left_to_be_found() {
    let config = good(
        "agents: {lg: {langgraph: {discover: true}}, desk: {script: [{call: {agent: lg-poet, text: x}}, {complete: done}]}}\n",
    );
    assert_eq!(config.agents.len(), 1);
    assert_eq!(&*config.discover[0].name, "lg");
    assert_eq!(&*config.default_agent, "desk");
    let of = |name: &str| config.said_of(name).map(|agent| &*agent.name);
    assert_eq!(of("lg-poet"), Some("lg"));
    assert_eq!(
        (of("desk"), of("lgpoet"), of("lg-")),
        (Some("desk"), None, None)
    );
    let config = good("default_agent: lg-poet\nagents: {lg: {langgraph: {discover: true}}}\n");
    assert_eq!(&*config.default_agent, "lg-poet");
    let config = good("agents: {lg: {langgraph: {discover: true}}}\n");
    assert_eq!(&*config.default_agent, "lg", "the first that is found");
}

#[test]
fn what_is_wrong_is_named() {
    for (keys, problem) in [
        ("langgraph: {}", "names no assistant"),
        ("langgraph: {assistant: ''}", "is empty"),
        (
            "langgraph: {assistant: a, discover: true}",
            "`assistant` and `discover` are mutually exclusive",
        ),
        (
            "langgraph: {assistant: a, timeout: 0s}",
            "must be longer than zero",
        ),
        (
            "langgraph: {assistant: a, url: 'http://u:p@h'}",
            "credentials",
        ),
        ("langgraph: {assistant: a, url: 'ftp://h'}", "url"),
        (
            "langgraph: {assistant: a}, script: [{complete: x}]",
            "are mutually exclusive",
        ),
        (
            "title: x",
            "add `script`, `script_file`, `a2a`, `openai`, `openclaw`, `exec` or `langgraph`",
        ),
    ] {
        let said = problems(keys);
        assert!(said.contains(problem), "{keys}: {said}");
    }
}
