//! `switchboard tasks`: the latest tasks of all callers, beside a running server and after it.

use std::process::{Command, Output};

use serde_json::{Value, json};
use switchboard_testkit::{Server, answer, begin, eventually, say};

const AGENTS: &str = "
auth: { methods: { keys: { api_key: {} } } }
agents:
  echo: { auth: none, script: [{ complete: 'a secret answer' }] }
  inkless: { script: [{ fail: 'no ink' }] }
  choosy: { auth: none, script: [{ reject: 'not today' }] }
  asks: { auth: none, script: [{ ask: 'which one?' }] }
";

fn switchboard(server: &Server, args: &[&str]) -> Output {
    let data = server.data();
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.arg("tasks").args(args).arg("--data").arg(data);
    command.env_remove("SWITCHBOARD_CONFIG");
    command.output().expect("it runs")
}

fn listed(server: &Server, args: &[&str]) -> Vec<Value> {
    let output = switchboard(server, &[args, &["--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("JSON")
}

fn ids(tasks: &[Value]) -> Vec<&Value> {
    tasks.iter().map(|task| &task["task"]).collect()
}

fn key(server: &Server) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    let config = server.configuration();
    command.args(["key", "create", "--agent", "inkless", "--label", "ci"]);
    command.args(["--subject", "build-robot", "-c"]);
    command.arg(config).arg("--data").arg(server.data());
    let made = command.output().expect("it runs");
    assert!(made.status.success(), "{made:?}");
    String::from_utf8(made.stdout)
        .expect("text")
        .trim()
        .to_owned()
}

#[tokio::test]
async fn failed_tasks_of_all_callers_are_found_without_their_ids() {
    let mut server = Server::serve(AGENTS).await;
    let key = key(&server);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("go")});
    // A new key takes effect in a running server within a second.
    let failed = eventually("the key is accepted", async || {
        let request = server
            .http
            .post(server.url("/a2a/inkless"))
            .bearer_auth(&key);
        let failed = answer(request.json(&call)).await.body["result"].clone();
        failed.is_object().then_some(failed)
    })
    .await;
    let rejected = server.result("choosy", "message/send", say("go")).await;
    let done = server.result("echo", "message/send", say("go")).await;
    let waits = server.result("asks", "message/send", begin("go")).await;
    server
        .until("asks", &waits["id"], &["input-required"])
        .await;

    let found = listed(&server, &["--failed"]);
    assert_eq!(ids(&found), [&rejected["id"], &failed["id"]], "{found:?}");
    let task = &found[1];
    assert_eq!(task["reason"], "no ink");
    assert_eq!(
        (&task["agent"], &task["state"]),
        (&json!("inkless"), &json!("failed"))
    );
    assert_eq!(task["context"], failed["contextId"]);
    assert_eq!(task["caller"], "key||build-robot", "the subject of the key");
    assert!(
        task["duration_ms"].is_u64() && task["created"].is_string(),
        "{task}"
    );

    let all = listed(&server, &[]);
    assert_eq!(ids(&all).len(), 4, "{all:?}");
    assert_eq!(all[0]["task"], waits["id"], "the latest first");
    assert_eq!(ids(&listed(&server, &["--agent", "echo"])), [&done["id"]]);
    assert_eq!(
        ids(&listed(&server, &["--state", "input-required"])),
        [&waits["id"]]
    );
    assert_eq!(listed(&server, &["--since", "1h", "--limit", "2"]).len(), 2);
    assert!(listed(&server, &["--agent", "nobody"]).is_empty());

    let text = switchboard(&server, &["--failed", "--agent", "inkless"]);
    let text = String::from_utf8(text.stdout).expect("text");
    let id = failed["id"].as_str().expect("an id");
    assert!(
        text.contains(id) && text.contains("failed") && text.contains("reason: no ink"),
        "{text}"
    );
    assert!(!text.contains("secret"), "{text}");
    let none = switchboard(&server, &["--agent", "nobody"]);
    assert_eq!(String::from_utf8_lossy(&none.stdout), "no task matches\n");

    // The same of a server that is gone, and its journal with tasks that the database does not have.
    let more = server.result("choosy", "message/send", say("go")).await;
    server.kill().await;
    let found = listed(&server, &["--failed"]);
    assert_eq!(ids(&found), [&more["id"], &rejected["id"], &failed["id"]]);
    server.restart().await;
}

#[tokio::test]
async fn a_running_server_is_neither_held_up_nor_missed() {
    let server = Server::serve(AGENTS).await;
    for _ in 0..3 {
        let task = server.result("choosy", "message/send", say("go")).await;
        let found = listed(&server, &["--failed", "--limit", "1"]);
        assert_eq!(ids(&found), [&task["id"]], "what was acknowledged is there");
    }
}

#[test]
fn mistakes_get_a_clear_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
        command.current_dir(dir.path()).arg("tasks").args(args);
        let output = command.output().expect("it runs");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (code, said) = run(&["--data", "nowhere"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("nowhere") && said.contains("-c"), "{said}");
    for wrong in [
        &["--state", "broken"][..],
        &["--since", "yesterday"],
        &["--failed", "--state", "failed"],
    ] {
        let (code, said) = run(wrong);
        assert_eq!(code, Some(2), "{wrong:?}: {said}");
        assert!(said.starts_with("error:"), "{said}");
    }
    assert!(!dir.path().join("nowhere").exists());
}
