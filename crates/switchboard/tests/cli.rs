//! The binary as its users meet it: output, errors and exit codes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::process::{Command, Output};

fn command(dir: &tempfile::TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.args(args).current_dir(dir.path());
    command.env_clear().env("HOME", "/home/user");
    command
}

fn switchboard(dir: &tempfile::TempDir, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn dir_with(yaml: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("switchboard.yaml"), yaml).unwrap();
    dir
}

#[test]
fn check_sums_up_what_is_right() {
    let dir =
        dir_with("agents: {b: {script: []}, a: {script: []}}\npublic_url: https://x.example/\n");
    for args in [
        &["check"][..],
        &["check", "switchboard.yaml"],
        &["check", "-c", "switchboard.yaml"],
        &["check", "--config", "switchboard.yaml"],
    ] {
        let output = switchboard(&dir, args);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(text(&output.stderr), "");
        assert_eq!(
            text(&output.stdout),
            "switchboard.yaml: OK\nagents: b (default), a\nlisten: 127.0.0.1:7420\npublic: https://x.example\n\
             store: sqlite in /home/user/.local/share/switchboard\n"
        );
    }
}

#[test]
fn check_takes_one_file_and_one_that_is_named_rather_than_a_variable() {
    let dir = dir_with("agents: {a: {script: []}}\n");
    let both = switchboard(&dir, &["check", "switchboard.yaml", "-c", "other.yaml"]);
    assert_eq!(both.status.code(), Some(2));
    let said = text(&both.stderr);
    assert!(said.contains("cannot be used with '--config"), "{said}");
    for (args, found) in [
        (&["check"][..], false),
        (&["check", "switchboard.yaml"], true),
        (&["check", "-c", "switchboard.yaml"], true),
    ] {
        let mut command = command(&dir, args);
        let checked = command.env("SWITCHBOARD_CONFIG", "other.yaml").output();
        let checked = checked.unwrap();
        let said = text(&checked.stderr);
        assert_eq!(checked.status.success(), found, "{args:?} {said}");
        assert_eq!(said.contains("other.yaml"), !found, "{args:?} {said}");
    }
}

#[test]
fn check_tells_who_may_call() {
    let dir = tempfile::tempdir().unwrap();
    let yaml = "store: {kind: memory}\nauth: {methods: {corp: {jwt: {issuer: 'https://a.example', audience: [a]}}}}\n\
                agents: {a: {script: []}, b: {script: [], auth: none}, c: {script: [], auth: [corp, none]}}\n";
    std::fs::write(dir.path().join("switchboard.yaml"), yaml).unwrap();
    let output = switchboard(&dir, &["check"]);
    let told = text(&output.stdout);
    assert!(told.ends_with("\nauth: corp \u{b7} open: b, c\n"), "{told}");
}

#[test]
fn check_tells_what_is_wrong_on_standard_error() {
    let dir = dir_with("lisen: 1\nagents: {a: {script: []}}\n");
    let output = switchboard(&dir, &["check"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(
        text(&output.stderr),
        "switchboard.yaml:1:1: unknown key `lisen`\n  hint: did you mean `listen`?\n\
         error: 1 problem in the configuration; nothing was applied\n"
    );
}

#[test]
fn serve_without_a_file_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let output = switchboard(&dir, &["serve"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "error: no switchboard.yaml in this directory\n  hint: name a configuration file, or try \
         `switchboard up`, which needs none\n"
    );
}

#[test]
fn listening_beyond_this_machine_must_be_meant() {
    let dir = dir_with("agents: {a: {script: []}}\n");
    let output = switchboard(&dir, &["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "--listen: 0.0.0.0:0 can be reached from other machines, without authentication\n  hint: give `--auth \
         none` if everyone who can reach it may call the agents, or listen on 127.0.0.1\n\
         error: 1 problem in the configuration; nothing was applied\n"
    );
}

#[test]
fn wrong_usage_is_code_2_and_help_is_code_0() {
    let dir = tempfile::tempdir().unwrap();
    for (args, code) in [
        (&["--help"][..], 0),
        (&["--version"], 0),
        (&["help", "serve"], 0),
        (&[], 2),
        (&["sevre"], 2),
        (&["up", "--listen", "nowhere"], 2),
        (&["completion", "tcsh"], 2),
    ] {
        let output = switchboard(&dir, args);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        let quiet = if code == 0 {
            &output.stderr
        } else {
            &output.stdout
        };
        assert_eq!(text(quiet), "", "{args:?}");
    }
}

#[test]
fn version_is_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let output = switchboard(&dir, &["--version"]);
    let expected = format!("switchboard {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn schema_and_completions_go_to_standard_output() {
    let dir = tempfile::tempdir().unwrap();
    for args in [
        &["schema"][..],
        &["completion", "bash"],
        &["completion", "zsh"],
        &["completion", "fish"],
        &["completion", "powershell"],
    ] {
        let output = switchboard(&dir, args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stdout.len() > 500, "{args:?}");
    }
}

#[test]
fn what_is_only_looked_at_is_not_made() {
    let dir = dir_with("data: kept\nagents: {a: {script: []}}\n");
    let run = |args: &[&str]| switchboard(&dir, &[args, &["-c", "switchboard.yaml"]].concat());
    for args in [
        &["key", "list"][..],
        &["key", "revoke", "abc"],
        &["audit"],
        &["key", "list", "--data", "mistyped"],
        &["trace", "abc"],
        &["deliveries"],
        &["trace", "abc", "--data", "."],
        &["store", "check"],
        &["backup", "copy"],
    ] {
        let refused = run(args);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let said = text(&refused.stderr);
        assert!(said.starts_with("error: no data in"), "{said}");
        assert!(said.contains("-c") && said.contains("--data"), "{said}");
    }
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let made = run(&["key", "create", "--agent", "a"]);
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    assert_eq!(run(&["audit"]).status.code(), Some(0));
    // Keys may be made before the first task.
    let refused = run(&["trace", "abc"]);
    let said = text(&refused.stderr);
    assert!(said.starts_with("error: no data in"), "{said}");
}

#[test]
fn a_key_is_shown_when_it_is_made_and_never_again() {
    let dir = dir_with("data: kept\nagents: {a: {script: []}, b: {script: []}}\n");
    let run = |args: &[&str]| switchboard(&dir, &[args, &["-c", "switchboard.yaml"]].concat());
    let made = run(&[
        "key",
        "create",
        "--agent",
        "a",
        "--label",
        "ci",
        "--expires",
        "1d",
        "--tenant",
        "acme",
        "--subject",
        "ann",
    ]);
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    let key = text(&made.stdout).trim_end();
    let (id, secret) = key.strip_prefix("sbk_").unwrap().split_once('_').unwrap();
    assert!(text(&made.stderr).contains(id) && !text(&made.stderr).contains(secret));

    let listed = run(&["key", "list"]);
    for told in [
        id,
        "a",
        "\"ci\"",
        "tenant acme",
        "subject ann",
        "by operator",
        "never used",
        "expires",
    ] {
        assert!(text(&listed.stdout).contains(told), "{told}: {listed:?}");
    }
    let revoked = run(&["key", "revoke", id]);
    assert_eq!(text(&revoked.stdout), format!("key {id} is revoked\n"));
    let again = run(&["key", "revoke", id]);
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(
        text(&again.stderr),
        format!("error: no active key {id:?} in kept\n")
    );

    let json = run(&["key", "list", "-o", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["agents"], serde_json::json!(["a"]));
    assert!(json["revokedAt"].is_string(), "{json}");
    let audit = run(&["audit", "-o", "json"]);
    let lines: Vec<serde_json::Value> = text(&audit.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let what: Vec<_> = lines.iter().map(|line| &line["what"]).collect();
    assert_eq!(what, ["key-revoked", "key-created"]);
    assert!(lines.iter().all(|line| line["object"] == id), "{lines:?}");
    let some = run(&["audit", "--what", "key-created", "--since", "1h"]);
    assert_eq!(text(&some.stdout).lines().count(), 1, "{some:?}");
    for output in [listed, audit, some] {
        assert!(!text(&output.stdout).contains(secret), "{output:?}");
    }
}

#[test]
fn a_key_must_say_what_it_opens() {
    let dir = dir_with("data: kept\nagents: {a: {script: []}, b: {script: []}}\n");
    let run = |args: &[&str]| switchboard(&dir, &[args, &["-c", "switchboard.yaml"]].concat());
    for args in [
        &["key", "create"][..],
        &["key", "create", "--agent", "a", "--all-agents"],
        &["audit", "--what", "nonsense"],
    ] {
        assert_eq!(run(args).status.code(), Some(2), "{args:?}");
    }
    let unknown = run(&["key", "create", "--agent", "c"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert_eq!(
        text(&unknown.stderr),
        "error: no agent named \"c\"\n  hint: the configuration has a, b\n"
    );
    let odd = run(&["key", "create", "--all-agents", "--scope", "two words"]);
    assert_eq!(odd.status.code(), Some(1));
    assert!(text(&odd.stderr).contains("scopes"), "{odd:?}");
    let all = run(&["key", "create", "--all-agents", "-o", "json"]);
    let all: serde_json::Value = serde_json::from_slice(&all.stdout).unwrap();
    assert!(all["apiKey"].as_str().unwrap().starts_with("sbk_"));
    assert!(all["agents"].is_null(), "{all}");
    let listed = run(&["key", "list"]);
    assert_eq!(text(&listed.stdout).lines().count(), 1, "{listed:?}");
}
