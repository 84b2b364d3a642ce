//! The alert rules and the dashboard in docs/examples, and the page that lists the metrics: they are about metrics that
//! this server has. `promtool` checks the rules and runs their tests; `scripts/test` installs it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use switchboard_testkit::{Server, message, say};
use switchboard_types::ErrorKind;
use tokio::io::AsyncWriteExt as _;

use crate::metrics::exposition;
use crate::upstream;

/// What the names of our metrics begin with.
const PREFIXES: [&str; 4] = ["switchboard_", "a2a_", "gen_ai_", "process_"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).expect("a file")
}

/// The metrics that a text names.
fn named(text: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let words = text.split(|c| !is_part(c));
    let ours = |word: &&str| PREFIXES.iter().any(|prefix| word.starts_with(prefix));
    let is_metric = |word: &&str| ours(word) && !word.contains("::");
    words.filter(is_metric).collect()
}

/// The metrics of a server, by name, and their types.
fn offered(exposition: &str) -> BTreeMap<&str, &str> {
    let types = exposition
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "));
    types
        .map(|line| line.split_once(' ').expect("a type"))
        .collect()
}

/// Whether a server offers a series of that name.
fn is_offered(offered: &BTreeMap<&str, &str>, name: &str) -> bool {
    let parts = ["_bucket", "_sum", "_count"];
    let base = parts.iter().find_map(|part| name.strip_suffix(part));
    offered.contains_key(name) || base.is_some_and(|base| offered.get(base) == Some(&"histogram"))
}

/// A server with agents of several kinds, which has been used.
async fn used() -> Server {
    let model = upstream("400 Bad Request", "{}").await;
    let server = Server::serve(&format!(
        "agents:
  echo: {{ script: [{{ complete: 'x' }}] }}
  model: {{ openai: {{ url: '{model}/v1', model: m, key: '${{KIT_SECRET}}' }} }}
"
    ))
    .await;
    server.result("echo", "message/send", say("go")).await;
    server
        .result("model", "message/send", json!({"message": message("go")}))
        .await;
    server
}

fn promtool(args: &[&str]) {
    let run = Command::new("promtool")
        .current_dir(root().join("docs/examples"))
        .args(args)
        .output()
        .expect(
            "promtool runs: scripts/test tools installs it (Debian: apt-get install prometheus)",
        );
    let said = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "promtool {args:?}: {said}");
}

#[test]
fn the_alert_rules_are_right_and_fire_when_they_should() {
    promtool(&["check", "rules", "alerts.yaml"]);
    promtool(&["test", "rules", "alerts.test.yaml"]);
}

#[tokio::test]
async fn alerts_dashboard_and_page_are_about_metrics_that_exist() {
    let server = used().await;
    let text = exposition(&server).await;
    let offered = offered(&text);
    for file in [
        "docs/examples/alerts.yaml",
        "docs/examples/grafana-dashboard.json",
        "docs/observability.md",
    ] {
        let content = read(file);
        let names = named(&content);
        assert!(names.len() > 10, "{file}");
        let unknown: Vec<_> = names
            .iter()
            .filter(|name| !is_offered(&offered, name))
            .collect();
        // What the collector is told stands beside the metrics on the page, and only if there is one.
        let unknown: Vec<_> = unknown
            .into_iter()
            .filter(|name| **name != "switchboard_spans_total")
            .collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}");
    }
    let page = read("docs/observability.md");
    let listed = named(&page);
    let missing: Vec<_> = offered
        .keys()
        .filter(|name| !listed.contains(*name))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/observability.md does not list {missing:?}"
    );
}

#[test]
fn the_rules_ask_for_statuses_that_exist() {
    let rules = read("docs/examples/alerts.yaml");
    let mut asked = 0;
    for part in rules.split("status=~\"").skip(1) {
        let statuses = part.split('"').next().expect("an end");
        for status in statuses.split('|') {
            let known = ErrorKind::ALL.iter().any(|kind| kind.reason() == status);
            assert!(known, "{status}");
            asked += 1;
        }
    }
    assert!(asked > 0);
}

#[test]
fn the_dashboard_can_be_imported() {
    let dashboard: Value =
        serde_json::from_str(&read("docs/examples/grafana-dashboard.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().expect("an id")), "{panel}");
        assert!(
            panel["title"]
                .as_str()
                .is_some_and(|title| !title.is_empty())
        );
        let is_row = panel["type"] == "row";
        let targets = panel["targets"].as_array().map_or(0, Vec::len);
        assert!(is_row || targets > 0, "{panel}");
    }
    assert!(panels.len() > 15 && dashboard["title"] == "Switchboard");
}

#[tokio::test]
async fn help_lines_are_sentences_and_promtool_finds_nothing_wrong() {
    let server = used().await;
    let text = exposition(&server).await;
    for line in text.lines().filter_map(|line| line.strip_prefix("# HELP ")) {
        let (name, help) = line.split_once(' ').expect("a name and a help text");
        let begins = help
            .chars()
            .next()
            .is_some_and(|c| c.is_uppercase() || c.is_ascii_digit());
        assert!(begins && help.ends_with('.'), "{name}: {help}");
    }
    let mut command = tokio::process::Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool runs");
    let mut input = child.stdin.take().expect("an input");
    input.write_all(text.as_bytes()).await.expect("it reads");
    drop(input);
    let output = child.wait_with_output().await.expect("it ends");
    assert!(output.status.success(), "{output:?}");
}
