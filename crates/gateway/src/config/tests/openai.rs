//! Models behind agents: what is right, and what is wrong.

use std::time::Duration;

use switchboard_agents::openai::Settings;

use super::{Flags, Written, good};
use crate::config::{Backend, Config, Identity};

const ENV: [(&str, &str); 3] = [("KEY", "s3cr3t"), ("NONE", "a\nb"), ("EMPTY", "")];

/// One agent with these keys of the model, beside where and which it is; and these of its own.
fn agent(keys: &str, more: &str) -> String {
    let model = "url: 'http://127.0.0.1:11434/v1', model: small";
    format!("agents: {{poet: {{openai: {{{model}, {keys}}}, {more}}}}}\n")
}

fn model(config: &Config) -> (&Settings, &Identity) {
    match &config.agents[0].backend {
        Backend::OpenAi(settings, identity) => (settings, identity),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_address_and_a_model_are_enough() {
    let config = good(&agent("", ""));
    let (settings, identity) = model(&config);
    assert_eq!(settings.base.as_str(), "http://127.0.0.1:11434/v1");
    assert_eq!(settings.model, "small");
    assert!(settings.system.is_none() && settings.parameters.is_empty());
    assert!(matches!(identity, Identity::Nobody));
    let modes = &config.agents[0].profile.card.default_input_modes;
    assert!(modes.contains(&"image/*".to_owned()), "{modes:?}");
    assert_eq!(config.agents[0].tasks, None);
}

#[test]
fn everything_can_be_said() {
    let written = Written::new(&agent(
        "key: '${KEY}', system_file: prompt.txt, temperature: 0, max_tokens: 100, \
         parameters: {top_p: 0.9, stop: [END], n_probs: 3}, history_tokens: 0, history_tasks: 5, usage: false, \
         retry: {attempts: 1, first: 1s, longest: 2s}, idle_timeout: 20s, max_answer: 1MiB, coalesce: 0s",
        "input_modes: [text/plain]",
    ));
    written.file("prompt.txt", "Be brief.\n");
    let config = written.load_with(&ENV, &Flags::default()).unwrap();
    let (settings, identity) = model(&config);
    assert_eq!(settings.system.as_deref(), Some("Be brief.\n"));
    let said = serde_json::to_value(&settings.parameters).unwrap();
    let wanted = serde_json::json!({"top_p": 0.9, "stop": ["END"], "n_probs": 3, "temperature": 0.0, "max_tokens": 100});
    assert_eq!(said, wanted);
    assert_eq!((settings.history_tokens, settings.history_tasks), (0, 5));
    assert!(!settings.ask_usage);
    assert_eq!(settings.retry.attempts, 1);
    assert_eq!(settings.retry.longest, Duration::from_secs(2));
    assert_eq!(settings.idle_timeout, Duration::from_secs(20));
    assert_eq!(settings.max_answer_bytes, 1 << 20);
    assert!(settings.coalesce.is_zero());
    assert!(!identity.outbound().unwrap().is_nothing());
    assert!(!format!("{config:?}").contains("s3cr3t"));
    let modes = &config.agents[0].profile.card.default_input_modes;
    assert_eq!(modes, &["text/plain"]);
}

#[test]
fn a_key_comes_from_a_file_or_an_identity_as_well() {
    let written = Written::new(&agent("key_file: key.txt", ""));
    written.file("key.txt", "s3cr3t\n");
    let config = written.load().unwrap();
    let Identity::Headers(headers) = model(&config).1 else {
        panic!("{config:?}");
    };
    assert_eq!(headers[0].0, "authorization");
    assert_eq!(headers[0].1.reveal(), "Bearer s3cr3t");
    let other = agent("", "identity: {headers: {api-key: '${KEY}'}}");
    let config = Written::new(&other).load_with(&ENV, &Flags::default());
    let config = config.unwrap();
    assert!(matches!(model(&config).1, Identity::Headers(headers) if headers[0].0 == "api-key"));
}

#[test]
fn what_is_wrong_is_named_where_it_stands_with_what_to_do() {
    let at = |url: &str| format!("agents: {{poet: {{openai: {{url: '{url}', model: m}}}}}}\n");
    let keys = |keys: &str| agent(keys, "");
    let cases = [
        (
            at("ollama"),
            "openai.url: is not a URL\n  hint: write the base URL before /chat/completions",
        ),
        (
            at("ftp://a.example"),
            "openai.url: must begin with http:// or https://",
        ),
        (
            at("https://u:p@a.example"),
            "openai.url: must not have credentials in it",
        ),
        (
            at("http://a/v1/chat/completions"),
            "openai.url: must not contain /chat/completions",
        ),
        (
            "agents: {poet: {openai: {url: 'http://a/v1'}}}\n".to_owned(),
            "agents.poet.openai: the key `model` is missing",
        ),
        (
            "agents: {poet: {openai: {url: 'http://a/v1', model: ' '}}}\n".to_owned(),
            "openai.model: is empty\n  hint: write the model's name",
        ),
        (
            keys("key: plain"),
            "openai.key: secrets must not be written in the file\n  hint: write `${NAME}`, or give `key_file`",
        ),
        (keys("key: '${NONE}'"), "openai.key: "),
        (
            keys("key: '${KEY}', key_file: k"),
            "openai.key_file: `key` and `key_file` are mutually exclusive",
        ),
        (
            keys("key_file: none.txt"),
            "openai.key_file: none.txt cannot be read",
        ),
        (
            keys("system: a, system_file: b"),
            "openai.system_file: `system` and `system_file` are mutually exclusive",
        ),
        (
            keys("system_file: none.txt"),
            "openai.system_file: none.txt cannot be read",
        ),
        (
            keys("temperature: -1"),
            "openai.temperature: must be a number, and not below zero",
        ),
        (keys("temperature: hot"), "openai.temperature: "),
        (
            keys("max_tokens: 0"),
            "openai.max_tokens: must be at least 1",
        ),
        (
            keys("temperature: 1, parameters: {temperature: 1}"),
            "openai.parameters.temperature: `temperature` is set twice",
        ),
        (
            keys("parameters: {stream: false}"),
            "openai.parameters: the parameter \"stream\" is set by Switchboard",
        ),
        (
            keys("retry: {attempts: 0}"),
            "openai.retry.attempts: must be at least 1\n  hint: write 1",
        ),
        (
            keys("idle_timeout: 0s"),
            "openai.idle_timeout: must be longer than zero",
        ),
        (
            keys("ca_file: switchboard.yaml"),
            "openai.ca_file: no HTTP client: no PEM certificate found",
        ),
        (
            keys("max_answer: 0B"),
            "openai.max_answer: must be more than zero",
        ),
        (
            keys("modle: x"),
            "openai: unknown key `modle`\n  hint: did you mean `model`?",
        ),
        (
            agent("key: '${KEY}'", "identity: {forward: [authorization]}"),
            "agents.poet.identity: `openai.key` and `identity` are mutually exclusive",
        ),
        (
            agent("", "exec: {command: [cat]}"),
            "`openai` and `exec` are mutually exclusive",
        ),
    ];
    for (yaml, wanted) in cases {
        let found = Written::new(&yaml).problems(&ENV);
        assert!(found.contains(wanted), "{yaml}\n{found}");
        assert!(found.starts_with("switchboard.yaml:1:"), "{found}");
        assert!(!found.contains("s3cr3t"), "{found}");
    }
}
