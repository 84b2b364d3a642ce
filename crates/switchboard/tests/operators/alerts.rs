//! The alert rules and the dashboard in docs/examples, and the page that lists the metrics: they are about metrics that
//! this server has. `promtool` checks the rules and runs their tests; `scripts/test` installs it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use switchboard_testkit::{Server, begin, message, say};
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

/// A server whose tasks have ended in every way, with an upstream that is down, and calls that were queued.
async fn used_in_every_way() -> Server {
    let server = Server::serve(
        "agents:
  echo: { script: [{ complete: 'x' }] }
  inkless: { script: [{ fail: 'no ink' }] }
  choosy: { script: [{ reject: 'not today' }] }
  slow: { script: [{ wait: 60s }] }
  far: { a2a: { url: 'http://127.0.0.1:9' } }
  one: { limits: { tasks: 1 }, script: [{ wait: 100ms }, { complete: 'x' }] }
",
    )
    .await;
    for agent in ["echo", "inkless", "choosy"] {
        server.result(agent, "message/send", say("go")).await;
    }
    let task = server.result("slow", "message/send", begin("go")).await;
    server
        .result("slow", "tasks/cancel", json!({"id": task["id"]}))
        .await;
    let first = server.result("one", "message/send", begin("go"));
    let second = server.result("one", "message/send", begin("go"));
    for task in <[Value; 2]>::from(tokio::join!(first, second)) {
        server.until("one", &task["id"], &["completed"]).await;
    }
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

/// Labels, each with values.
type Labels<'a> = Vec<(&'a str, Vec<&'a str>)>;

/// The labels of a list such as `a="x",b=~"y|z"`, with the values that are asked for.
fn labels(list: &str) -> Labels<'_> {
    let pairs = list.split("\",").filter(|pair| !pair.is_empty());
    let read = |pair| {
        let (name, values): (&str, &str) = str::split_once(pair, '=').expect("a label");
        let values = values.trim_start_matches('~').trim_matches('"');
        (name.trim(), values.split('|').collect())
    };
    pairs.map(read).collect()
}

/// The metrics in an expression, each with the labels that it is asked for by.
fn selectors(expression: &str) -> Vec<(&str, Labels<'_>)> {
    let found = named(expression).into_iter().flat_map(|name| {
        let places = expression.match_indices(name);
        places.map(move |(at, _)| (name, &expression[at + name.len()..]))
    });
    let is_whole =
        |(_, rest): &(&str, &str)| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    found
        .filter(is_whole)
        .map(|(name, rest)| {
            let list = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
            (name, list.map_or_else(Vec::new, |(list, _)| labels(list)))
        })
        .collect()
}

/// The labels of a series that an alert needs beside those it selects by: what it sums by, and what its texts name.
fn needed(rule: &str) -> BTreeSet<&str> {
    let sums = rule
        .split("by (")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let sums = sums.flat_map(|list| list.split(',').map(str::trim));
    let texts = rule.split("$labels.").skip(1);
    let texts = texts.filter_map(|rest| {
        rest.split(|c: char| !c.is_alphanumeric() && c != '_')
            .next()
    });
    // Prometheus adds the instance, and no text needs more of a histogram than its buckets.
    sums.chain(texts)
        .filter(|label| *label != "instance")
        .collect()
}

#[tokio::test]
async fn alerts_ask_for_labels_and_values_that_series_have() {
    let server = used_in_every_way().await;
    let text = exposition(&server).await;
    let series = |name: &str| -> Vec<BTreeMap<&str, &str>> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let of_it = lines.filter_map(|line| {
            let (found, rest) = line.split_at(line.find(['{', ' '])?);
            (found == name).then_some(rest)
        });
        let read = |rest| {
            let list = str::strip_prefix(rest, '{').and_then(|rest| rest.rsplit_once('}'));
            let list = list.map_or("", |(list, _)| list);
            labels(list)
                .into_iter()
                .map(|(name, values)| (name, values[0]))
                .collect()
        };
        of_it.map(read).collect()
    };
    let rules = read("docs/examples/alerts.yaml");
    let mut checked = 0;
    for rule in rules.split("- alert: ").skip(1) {
        let (expression, _) = rule.split_once("labels: {").expect("labels");
        for (metric, asked) in selectors(expression) {
            let found = series(metric);
            assert!(!found.is_empty(), "{metric} has no series: {rule}");
            for label in needed(rule)
                .into_iter()
                .chain(asked.iter().map(|(name, _)| *name))
            {
                let has = found.iter().all(|labels| labels.contains_key(label));
                assert!(has, "{metric} has no label {label}: {rule}");
            }
            // Statuses of errors that this server has not made are checked below.
            for (label, values) in asked.iter().filter(|(label, _)| *label != "status") {
                for value in values {
                    let has = found.iter().any(|labels| labels.get(label) == Some(value));
                    assert!(has, "{metric} has no {label} {value}: {found:?}");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 5, "{checked}");
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
