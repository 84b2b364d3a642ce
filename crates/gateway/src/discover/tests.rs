//! What is known of servers, without any.

use super::*;
use crate::config::{Env, Flags, load};
use serde_json::json;

fn config(agents: &str) -> Config {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("switchboard.yaml");
    let yaml = format!("store: {{kind: memory}}\nagents: {{{agents}}}\n");
    std::fs::write(&file, yaml).unwrap();
    load(
        &config::Source::File(file),
        &Env::default(),
        &Flags::default(),
    )
    .unwrap_or_else(|problems| panic!("{}", problems.report()))
}

fn lg(more: &str) -> String {
    format!("lg: {{langgraph: {{url: 'http://localhost:1', discover: true}}{more}}}")
}

fn news(config: &Config, names: &[&str]) -> News {
    let assistant = |name: &&str| {
        let json = json!({"assistant_id": format!("id of {name}"), "graph_id": "g", "name": name});
        serde_json::from_value(json).unwrap()
    };
    News {
        of: entry(&config.discover[0]),
        found: names.iter().map(assistant).collect(),
    }
}

fn found(config: &Config, names: &[&str]) -> Sources {
    let mut sources = Sources::default().following(config);
    assert!(sources.learn(news(config, names), config));
    sources
}

fn names(config: &Config) -> Vec<&str> {
    config.agents.iter().map(|agent| &*agent.name).collect()
}

fn print(config: &Config, name: &str) -> Print {
    let mut agents = config.agents.iter();
    agents.find(|agent| *agent.name == *name).unwrap().print
}

#[test]
fn only_what_is_different_is_made_anew() {
    let before = config(&lg(""));
    let mut sources = found(&before, &["a", "b"]);
    let first = sources.added_to(&before);
    assert_eq!(names(&first), ["lg-a", "lg-b"]);
    assert_ne!(print(&first, "lg-a"), print(&first, "lg-b"));
    assert!(!sources.learn(news(&before, &["b", "a"]), &before));
    assert!(sources.learn(news(&before, &["b", "c", "a"]), &before));
    let more = sources.added_to(&before);
    assert_eq!(names(&more), ["lg-a", "lg-b", "lg-c"]);
    for name in ["lg-a", "lg-b"] {
        assert_eq!(print(&first, name), print(&more, name));
    }
    let after = config(&lg(", description: other"));
    let sources = sources.following(&after);
    let other = sources.added_to(&after);
    assert_eq!(names(&other), names(&more));
    assert_ne!(print(&other, "lg-a"), print(&more, "lg-a"));
}

#[test]
fn what_was_found_by_an_entry_that_is_no_more_does_not_count() {
    let before = config(&lg(""));
    let sources = found(&before, &["a"]);
    let after = config("x: {script: []}");
    let mut gone = sources.following(&after);
    assert_eq!(names(&gone.added_to(&after)), ["x"]);
    assert!(!gone.learn(news(&before, &["a"]), &after));
    let elsewhere = config("lg: {langgraph: {url: 'http://localhost:2', discover: true}}");
    let moved = sources.following(&elsewhere);
    assert_eq!(
        names(&moved.added_to(&elsewhere)),
        Vec::<&str>::new(),
        "others may be there"
    );
}

#[test]
fn an_agent_in_the_file_keeps_its_name() {
    let before = config(&lg(""));
    let sources = found(&before, &["a", "b"]);
    let after = config(&format!("{}, lg-a: {{script: []}}", lg("")));
    let mut sources = sources.following(&after);
    let all = sources.added_to(&after);
    assert_eq!(names(&all), ["lg-a", "lg-b", "lg-id-of-a-a"]);
    assert!(!sources.learn(news(&after, &["a", "b"]), &after));
}

#[test]
fn the_first_stays_at_the_root_as_long_as_it_is_there() {
    let config = config(&lg(""));
    let mut sources = found(&config, &["b"]);
    assert_eq!(&*sources.added_to(&config).default_agent, "lg-b");
    sources.learn(news(&config, &["a", "b"]), &config);
    assert_eq!(&*sources.added_to(&config).default_agent, "lg-b");
    sources.learn(news(&config, &["a"]), &config);
    assert_eq!(&*sources.added_to(&config).default_agent, "lg-a");
}

#[test]
fn of_those_that_are_gone_only_so_many_are_remembered() {
    let config = config(&lg(""));
    let mut sources = found(&config, &["stays"]);
    for n in 0..MOST_GONE + 50 {
        let name = format!("n{n}");
        sources.learn(news(&config, &["stays", &name]), &config);
    }
    let source = &sources.0[0];
    assert_eq!(source.gone.len(), MOST_GONE);
    // Those that went last are called as before when they come back.
    let last = &source.gone.last().unwrap().0;
    assert_eq!(**last, *format!("lg-n{}", MOST_GONE + 48));
    assert!(source.named.contains_key("lg-stays"));
}
