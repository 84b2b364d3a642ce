//! Configurations that are right, and what becomes of them.

use std::time::Duration;

use switchboard_server::limit::Rate;
use switchboard_server::store::sqlite::Durability;
use switchboard_types::FileBytes;
use switchboard_types::wire::card::CardShape;

use super::{PARROT, Written, good};
use crate::config::{Backend, Env, Flags, Source, Store, UNLIMITED, load};

#[test]
fn the_least_there_can_be_gets_the_defaults() {
    let config = good(PARROT);
    assert_eq!(config.listen.to_string(), "127.0.0.1:7420");
    assert_eq!(&*config.default_agent, "parrot");
    let Store::Sqlite(sqlite) = &config.store else {
        panic!("{:?}", config.store)
    };
    assert_eq!(
        sqlite.dir.to_str(),
        Some("/home/user/.local/share/switchboard")
    );
    assert_eq!(sqlite.durability, Durability::PowerLoss);
    let parrot = &config.agents[0];
    let card = &parrot.profile.card;
    assert_eq!(
        (card.name.as_str(), card.version.as_str()),
        ("parrot", "1.0.0")
    );
    assert_eq!(card.skills[0].id, "parrot");
    assert_eq!(card.default_input_modes, ["text/plain"]);
    assert_eq!(card.capabilities.streaming, Some(true));
    assert_eq!(card.capabilities.extended_agent_card, Some(false));
    assert_eq!(parrot.profile.shape, CardShape::Union);
    assert_eq!(
        parrot.settings.input_timeout,
        Duration::from_secs(24 * 3600)
    );
    assert_eq!(parrot.settings.upstream_timeout, Duration::from_secs(120));
}

#[test]
fn agents_keep_the_order_of_the_file_and_the_first_is_the_default() {
    let config = good("agents: {second: {script: []}, first: {script: []}}\n");
    let names: Vec<&str> = config.agents.iter().map(|agent| &*agent.name).collect();
    assert_eq!(names, ["second", "first"]);
    assert_eq!(&*config.default_agent, "second");
}

#[test]
fn words_that_look_like_numbers_stay_as_they_are_written() {
    let config = good("agents: {a: {version: 1.10, title: 007, card: 1.0, script: []}}\n");
    let profile = &config.agents[0].profile;
    assert_eq!(profile.card.version, "1.10");
    assert_eq!(profile.card.name, "007");
    assert_eq!(profile.shape, CardShape::V1);
}

#[test]
fn file_bytes_is_decided_by_caller_unless_it_is_set() {
    for (keys, file_bytes) in [
        ("", None),
        (", file_bytes: auto", None),
        (", file_bytes: base64", Some(FileBytes::Base64)),
        (", file_bytes: raw", Some(FileBytes::Raw)),
    ] {
        let config = good(&format!("agents: {{a: {{script: []{keys}}}}}\n"));
        assert_eq!(config.agents[0].profile.file_bytes, file_bytes, "{keys}");
    }
}

#[test]
fn free_json_keeps_its_types() {
    let config = good(
        "agents: {a: {script: [], extensions: [{uri: 'urn:x', params: {n: 1, f: 0.5, t: true, s: '1', z: null, \
         l: [a]}}]}}\n",
    );
    let params = config.agents[0].profile.card.capabilities.extensions[0]
        .params
        .clone();
    assert_eq!(
        params.unwrap().as_str(),
        r#"{"n":1,"f":0.5,"t":true,"s":"1","z":null,"l":["a"]}"#
    );
}

#[test]
fn sections_left_empty_count_as_left_out() {
    let config = good(&format!(
        "limits:\npush:\n  # allow: [localhost]\nlog: ~\n{PARROT}"
    ));
    assert_eq!(config.limits.body, 10 << 20);
    assert_eq!(config.log.level, "info");
}

#[test]
fn merge_keys_share_settings_between_agents() {
    let config = good(
        "agents:\n  a: &base\n    script: []\n    reply: message\n    version: 2.0.0\n  b:\n    <<: *base\n    \
         reply: task\n",
    );
    let [a, b] = &config.agents[..] else {
        panic!("two agents")
    };
    assert_eq!(b.profile.card.version, "2.0.0");
    assert!(a.settings.reply_with_message && !b.settings.reply_with_message);
}

#[test]
fn unlimited_is_longer_than_any_process_lives() {
    let config = good(&format!(
        "retention: {{completed: unlimited, failed: 7d}}\n{}",
        PARROT.replace("script:", "timeouts: {task: unlimited}, script:")
    ));
    assert_eq!(config.retention.completed, None);
    assert_eq!(
        config.retention.failed,
        Some(Duration::from_secs(7 * 86_400))
    );
    assert_eq!(config.agents[0].settings.task_timeout, UNLIMITED);
}

#[test]
fn an_agent_has_the_timeouts_of_all_unless_it_says_its_own() {
    let written = Written::new(
        "timeouts: {input: unlimited, upstream: 5m}\nagents:\n  a: {timeouts: {upstream: 0s}, script: []}\n  \
         b: {script: []}\n  c: {openclaw: {url: 'http://h', token: '${TOKEN}'}}\n",
    );
    let config = written
        .load_with(&[("TOKEN", "t0ken")], &Flags::default())
        .unwrap();
    let [a, b, c] = &config.agents[..] else {
        panic!("three agents")
    };
    assert_eq!(a.settings.input_timeout, UNLIMITED);
    assert_eq!(a.settings.upstream_timeout, Duration::ZERO);
    assert_eq!(b.settings.upstream_timeout, Duration::from_secs(300));
    assert_eq!(b.settings.task_timeout, Duration::from_secs(600));
    // A gateway that is gone in the middle of a run is waited for as long.
    let Backend::OpenClaw(claw) = &c.backend else {
        panic!("{c:?}")
    };
    assert_eq!(claw.settings.reconnect, Duration::from_secs(300));
}

#[test]
fn finished_tasks_are_kept_for_thirty_days_and_their_events_for_one() {
    let day = Duration::from_secs(86_400);
    let kept = good(PARROT).retention;
    for state in [kept.completed, kept.failed, kept.canceled, kept.rejected] {
        assert_eq!(state, Some(day * 30));
    }
    assert_eq!(
        (kept.replay_window, kept.idempotency_keys),
        (Some(day), day)
    );
    let in_memory = good(&format!("store: {{kind: memory}}\n{PARROT}")).retention;
    assert_eq!(in_memory.completed, Some(day));
}

#[test]
fn an_agent_has_the_rate_of_all_unless_it_says_its_own() {
    let config = good(
        "limits: {rate: {requests: 100}, tasks: 9, parts: 7, history: 8}\nagents:\n  a: {script: []}\n  \
         b: {script: [], limits: {rate: {requests: 5, per: 1s}, tasks: 2}}\n  \
         c: {script: [], limits: {rate: unlimited, tasks: unlimited}}\n",
    );
    let rate = |requests, seconds| {
        Some(Rate {
            requests,
            per: Duration::from_secs(seconds),
        })
    };
    let agents = config.agents.iter();
    let said: Vec<_> = agents.map(|agent| (agent.rate, agent.tasks)).collect();
    assert_eq!(
        said,
        [(rate(100, 60), None), (rate(5, 1), Some(2)), (None, None)]
    );
    assert_eq!(config.tasks, Some(9));
    for agent in &config.agents {
        let settings = &agent.settings;
        assert_eq!((settings.most_parts, settings.longest_history), (7, 8));
    }
}

#[test]
fn nothing_is_counted_and_no_page_may_call_unless_it_is_said() {
    let config = good(PARROT);
    assert_eq!((config.agents[0].rate, config.tasks), (None, None));
    assert_eq!(config.limits.connections_per_address, None);
    assert!(config.cors.origins.is_empty());
}

#[test]
fn the_built_in_agents_have_the_rate_of_all_too() {
    let env = Env::from_pairs([
        ("HOME", "/home/user"),
        ("SWITCHBOARD_LIMITS__RATE__REQUESTS", "3"),
    ]);
    let config = load(&Source::BuiltIn, &env, &Flags::default()).unwrap();
    let rates = config.agents.iter().map(|agent| agent.rate);
    assert!(rates.flatten().all(|rate| rate.requests == 3));
    assert!(config.agents.iter().all(|agent| agent.rate.is_some()));
}

#[test]
fn json_is_yaml() {
    let config =
        good(r#"{"agents": {"a": {"script": [{"complete": "hi"}]}}, "listen": "[::1]:80"}"#);
    assert_eq!(config.listen.to_string(), "[::1]:80");
}

#[test]
fn paths_in_the_file_are_relative_to_the_file() {
    let written = Written::new("data: ./here\nagents: {a: {script_file: a.yaml}}\n");
    written.file("a.yaml", "- complete: done\n");
    let config = written.load().unwrap();
    let Store::Sqlite(sqlite) = config.store else {
        panic!("{:?}", config.store)
    };
    assert_eq!(sqlite.dir, written.dir.path().join("here"));
}

#[test]
fn the_profile_of_a_script_file_counts_where_the_entry_says_nothing() {
    let written = Written::new("agents: {a: {script_file: a.yaml, title: Mine}}\n");
    written.file(
        "a.yaml",
        "profile: {title: Theirs, description: does things, reply: message, output_modes: [image/png]}\n\
         script: [{reply: hello}]\n",
    );
    let agent = written.load().unwrap().agents.remove(0);
    assert_eq!(agent.profile.card.name, "Mine");
    assert_eq!(agent.profile.card.description, "does things");
    assert_eq!(agent.profile.card.default_output_modes, ["image/png"]);
    assert!(agent.settings.reply_with_message);
}

#[test]
fn the_second_card_is_the_first_and_more() {
    let config = good(
        "agents: {a: {script: [], extended_card: {description: more, skills: [{id: x, description: y}]}}}\n",
    );
    let profile = &config.agents[0].profile;
    assert_eq!(profile.card.capabilities.extended_agent_card, Some(true));
    let extended = profile.extended.as_ref().unwrap();
    let ids: Vec<&str> = extended
        .skills
        .iter()
        .map(|skill| skill.id.as_str())
        .collect();
    assert_eq!(
        (extended.description.as_str(), ids),
        ("more", vec!["a", "x"])
    );
}

#[test]
fn open_to_all_only_if_that_is_said() {
    let config = good(&format!("listen: 0.0.0.0:7420\nauth: none\n{PARROT}"));
    assert_eq!(config.listen.to_string(), "0.0.0.0:7420");
}

#[test]
fn the_agents_we_bring_along_need_nothing() {
    let env = Env::from_pairs([("HOME", "/home/user")]);
    let config = load(&Source::BuiltIn, &env, &Flags::default()).unwrap();
    let names: Vec<&str> = config.agents.iter().map(|agent| &*agent.name).collect();
    assert_eq!(names, ["echo", "research", "approver", "flaky", "desk"]);
    assert_eq!(&*config.default_agent, "echo");
    assert_eq!(config.agents[0].profile.card.name, "Echo");
}

#[test]
fn without_a_home_data_needs_a_place() {
    let flags = |memory| Flags {
        memory,
        ..Flags::default()
    };
    let problems = load(&Source::BuiltIn, &Env::default(), &flags(false)).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "default settings: data: there is no directory for data: neither XDG_DATA_HOME nor HOME is set\n  \
         hint: write `data: DIRECTORY`, or give `--data DIRECTORY`"
    );
    let config = load(&Source::BuiltIn, &Env::default(), &flags(true)).unwrap();
    assert!(matches!(config.store, Store::Memory));
}
