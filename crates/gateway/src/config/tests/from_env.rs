//! The environment: filled into the file, and over it.

use super::{PARROT, Written};
use crate::config::value::Listen;
use crate::config::{Env, Flags, Source, Store, load};

#[test]
fn variables_are_filled_in_and_typed_by_the_key() {
    let written = Written::new(
        "listen: ${HOST:-127.0.0.1}:${PORT}\nlimits: {streams: \"${N}\"}\nagents:\n  a:\n    streaming: ${S}\n    \
         description: \"${TEXT}\"\n    script: []\n",
    );
    let odd = "a: [b]\n# \"c\" }";
    let env = [("PORT", "9000"), ("N", "7"), ("S", "false"), ("TEXT", odd)];
    let config = written.load_with(&env, &Flags::default()).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:9000");
    assert_eq!(config.limits.streams, 7);
    let card = &config.agents[0].profile.card;
    assert_eq!(card.capabilities.streaming, Some(false));
    assert_eq!(card.description, odd);
}

#[test]
fn what_a_variable_holds_stays_text() {
    let written = Written::new(
        "agents: {a: {title: '${T}', description: \"${T}\", script: [], \
         extensions: [{uri: 'urn:x', params: {v: \"${T}\"}}]}}\n",
    );
    let config = written
        .load_with(&[("T", "null")], &Flags::default())
        .unwrap();
    let card = &config.agents[0].profile.card;
    assert_eq!(
        (card.name.as_str(), card.description.as_str()),
        ("null", "null")
    );
    let params = card.capabilities.extensions[0].params.as_ref().unwrap();
    assert_eq!(params.as_str(), r#"{"v":"null"}"#);
}

#[test]
fn an_empty_result_counts_as_left_out() {
    let written = Written::new(&format!("public_url: ${{URL:-}}\nlisten: ${{L}}\n{PARROT}"));
    let config = written.load_with(&[("L", "")], &Flags::default()).unwrap();
    assert_eq!(config.public_url, None);
    assert_eq!(config.listen.port(), 7420);
}

#[test]
fn a_missing_variable_is_told_with_its_place() {
    let written = Written::new(&format!("public_url: https://${{HOST}}/x\n{PARROT}"));
    assert_eq!(
        written.problems(&[]),
        "switchboard.yaml:1:13: public_url: the environment variable `HOST` is not set\n  hint: set it, or give \
         a default: `${HOST:-value}`"
    );
}

#[test]
fn a_dollar_can_be_written() {
    let written = Written::new("agents: {a: {description: 'costs $5, $${x}', script: []}}\n");
    let config = written.load().unwrap();
    assert_eq!(config.agents[0].profile.card.description, "costs $5, ${x}");
}

#[test]
fn every_key_can_be_set_by_a_variable() {
    let written = Written::new("listen: 7421\nagents: {my-agent: {script: [], reply: message}}\n");
    let env = [
        ("SWITCHBOARD_LISTEN", "7422"),
        ("SWITCHBOARD_LIMITS__BODY", "1MiB"),
        ("SWITCHBOARD_TRUST_FORWARDED", "127.0.0.1, 10.0.0.0/8"),
        ("SWITCHBOARD_PUSH__ALLOW", "localhost"),
        ("SWITCHBOARD_STORE__KIND", "memory"),
        ("SWITCHBOARD_AGENTS__MY_AGENT__REPLY", "task"),
        ("SWITCHBOARD_AGENTS__MY_AGENT__TIMEOUTS__TASK", "1s"),
    ];
    let config = written.load_with(&env, &Flags::default()).unwrap();
    assert_eq!(config.listen.port(), 7422);
    assert_eq!(config.limits.body, 1 << 20);
    assert_eq!(config.trust_forwarded.len(), 2);
    assert_eq!(config.push.allow.len(), 1);
    assert!(matches!(config.store, Store::Memory));
    let settings = &config.agents[0].settings;
    assert!(!settings.reply_with_message);
    assert_eq!(settings.task_timeout.as_secs(), 1);
}

#[test]
fn flags_win_over_variables_and_variables_over_the_file() {
    let written = Written::new(&format!(
        "log: {{level: warn}}\nlisten: 1\ndata: /file\n{PARROT}"
    ));
    let env = [
        ("SWITCHBOARD_LISTEN", "2"),
        ("SWITCHBOARD_DATA", "relative"),
        ("SWITCHBOARD_LOG", "debug"),
    ];
    let config = written.load_with(&env, &Flags::default()).unwrap();
    assert_eq!(config.listen.port(), 2);
    assert_eq!(config.log.level, "debug");
    let Store::Sqlite(sqlite) = config.store else {
        panic!("{:?}", config.store)
    };
    assert_eq!(sqlite.dir.to_str(), Some("relative"));

    let flags = Flags {
        listen: Some(Listen(([127, 0, 0, 1], 3).into())),
        log_level: Some("trace".to_owned()),
        memory: true,
        ..Flags::default()
    };
    let config = written.load_with(&env, &flags).unwrap();
    assert_eq!(config.listen.port(), 3);
    assert_eq!(config.log.level, "trace");
    assert!(matches!(config.store, Store::Memory));
}

#[test]
fn mistakes_in_variables_are_told_by_their_name() {
    let written = Written::new(PARROT);
    for (name, value, told) in [
        (
            "SWITCHBOARD_LIMITS__BODI",
            "1MiB",
            "environment variable SWITCHBOARD_LIMITS__BODI: limits: unknown key `bodi`\n  hint: did you mean `body`?",
        ),
        (
            "SWITCHBOARD_LISTEN",
            "0.0.0.0:1",
            "environment variable SWITCHBOARD_LISTEN: listen: 0.0.0.0:1 can be reached from other machines, without \
             authentication\n  hint: write `auth: none` if everyone who can reach it may call the agents, or listen \
             on 127.0.0.1",
        ),
        (
            "SWITCHBOARD_LIMITS__STREAMS",
            "x",
            "environment variable SWITCHBOARD_LIMITS__STREAMS: limits.streams: expected a whole number, found `x`",
        ),
        (
            "SWITCHBOARD_LOG",
            "loud",
            "environment variable SWITCHBOARD_LOG: `loud` is not a log level\n  hint: write error, warn, info, debug \
             or trace, or directives such as info,switchboard=debug",
        ),
    ] {
        assert_eq!(written.problems(&[(name, value)]), told, "{name}");
    }
}

#[test]
fn names_that_others_give_are_left_alone() {
    // What Kubernetes sets beside a service called `switchboard`.
    let env = [
        ("SWITCHBOARD_PORT", "tcp://10.0.0.1:7420"),
        ("SWITCHBOARD_SERVICE_HOST", "10.0.0.1"),
        ("SWITCHBOARD_PORT_7420_TCP_ADDR", "10.0.0.1"),
        ("SWITCHBOARD_CONFIG", "x"),
    ];
    let config = Written::new(PARROT).load_with(&env, &Flags::default());
    assert_eq!(config.unwrap().listen.port(), 7420);
}

#[test]
fn built_in_agents_can_be_tuned_by_variables() {
    let env = [
        ("HOME", "/h"),
        ("SWITCHBOARD_AGENTS__RESEARCH__TIMEOUTS__TASK", "1h"),
    ];
    let config = load(&Source::BuiltIn, &Env::from_pairs(env), &Flags::default()).unwrap();
    assert_eq!(config.agents[1].settings.task_timeout.as_secs(), 3600);
    assert_eq!(config.agents.len(), 5);
}
