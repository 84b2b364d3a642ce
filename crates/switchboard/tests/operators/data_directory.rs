//! Commands that read a data directory find that of `switchboard serve` without flags, and say which one they read.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use switchboard_testkit::{Server, say};

const AGENTS: &str = "
data: here
auth: { methods: { keys: { api_key: {} } } }
agents: { echo: { auth: none, script: [{ complete: 'x' }] } }
";

/// A command in that directory, with a home directory of its own and no flags.
fn run(dir: &Path, home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.args(args).current_dir(dir).env("HOME", home);
    command
        .env_remove("XDG_DATA_HOME")
        .env_remove("SWITCHBOARD_CONFIG");
    command.output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn commands_without_flags_read_the_directory_of_serve() {
    let home = tempfile::tempdir().expect("a directory");
    let variables = [
        ("HOME", home.path().to_str().expect("text")),
        ("XDG_DATA_HOME", ""),
    ];
    let server = Server::start_with(&["serve"], AGENTS, &[], &variables).await;
    let config = server.configuration();
    let dir = config.parent().expect("a directory");
    let data = dir.join("here");
    let task = server.result("echo", "message/send", say("go")).await;
    let id = task["id"].as_str().expect("an id");
    let works = |args: &[&str]| {
        let output = run(dir, home.path(), args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        (text(&output.stdout), text(&output.stderr))
    };
    assert!(works(&["tasks"]).0.contains(id));
    assert!(works(&["trace", id]).0.contains(id));
    assert!(works(&["store", "check"]).0.contains("here (in use"));
    works(&["key", "create", "--agent", "echo", "--label", "mine"]);
    assert!(works(&["key", "list"]).0.contains("mine"));
    assert!(works(&["audit"]).0.contains("key-created"));

    // An empty result names the directory, since it is often that of another one.
    let named = format!("data directory: {}\n", data.display());
    let nothing = works(&["tasks", "--agent", "nobody"]);
    assert_eq!(nothing, ("no task matches\n".to_owned(), named.clone()));
    let nothing = works(&["tasks", "--agent", "nobody", "--json"]);
    assert_eq!(nothing, (String::new(), named.clone()));
    assert_eq!(
        works(&["deliveries"]),
        ("no delivery fails\n".to_owned(), named.clone())
    );
    let nothing = works(&["audit", "--what", "denied"]);
    assert_eq!(nothing, (String::new(), named.clone()));
    let unknown = run(dir, home.path(), &["trace", "no-such-task"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    let place = data.display().to_string();
    assert!(text(&unknown.stderr).contains(&place), "{unknown:?}");

    // So does a backup, unless the command line names it.
    let copy = home.path().join("copy");
    let copied = works(&["backup", copy.to_str().expect("text"), "-o", "json"]);
    assert_eq!(copied.1, named);
    let report: Value = serde_json::from_str(&copied.0).expect("JSON");
    let canonical = data.canonicalize().expect("a directory");
    assert_eq!(report["source"], canonical.display().to_string());
    let copy = home.path().join("copy-2");
    let args = ["backup", copy.to_str().expect("text"), "--data", &place];
    assert_eq!(works(&args).1, "");

    // Without a file it is the directory of `up`, which is not made by looking at it.
    let elsewhere = tempfile::tempdir().expect("a directory");
    let none = run(elsewhere.path(), home.path(), &["tasks"]);
    assert_eq!(none.status.code(), Some(1), "{none:?}");
    let built_in = home.path().join(".local/share/switchboard");
    let said = format!("no data in {}", built_in.display());
    assert!(text(&none.stderr).contains(&said), "{none:?}");
    assert!(!built_in.exists());
}
