//! `examples/counter.rs` as a process of its own: called, killed and started again.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use switchboard_testkit::{eventually, text_of};

use crate::{Caller, said, state};

/// Cargo builds the examples of a package with its tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples/counter");
    let missing = "build it: cargo build -p switchboard-server --example counter";
    assert!(program.exists(), "no {}; {missing}", program.display());
    program
}

/// The example; killed when it is dropped, without a word of warning.
struct Counter {
    process: Child,
    caller: Caller,
}

impl Counter {
    fn start(args: &[&str]) -> Self {
        let mut command = Command::new(program());
        command.args(["--listen", "127.0.0.1:0"]).args(args);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        let mut printed = BufReader::new(process.stdout.take().unwrap());
        printed.read_line(&mut url).unwrap();
        let caller = Caller::new(url.trim());
        Self { process, caller }
    }

    fn on(data: &Path, args: &[&str]) -> Self {
        let data = ["--data", data.to_str().unwrap()];
        Self::start(&[&data[..], args].concat())
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn report(task: &Value) -> String {
    text_of(&task["artifacts"][0])
}

#[tokio::test]
async fn the_example_has_a_card_and_counts_words() {
    let counter = Counter::start(&[]);
    let card = counter.caller.card().await;
    assert_eq!(card["name"], "Counter");
    assert_eq!(card["skills"][0]["id"], "count");
    assert_eq!(card["supportedInterfaces"][0]["url"], counter.caller.url);
    let task = counter.caller.send("one two\nthree").await;
    assert_eq!(state(&task), "TASK_STATE_COMPLETED");
    assert_eq!(said(&task), "3 words");
    assert_eq!(report(&task), "line 1: 2 words\nline 2: 1 words\n");
}

#[tokio::test]
async fn the_example_streams_an_artifact() {
    let counter = Counter::start(&[]);
    let events = counter.caller.stream("one two\nthree\nfour").await;
    let results = events.results().await;
    let pieces = results.iter().map(|result| &result["artifactUpdate"]);
    let pieces: Vec<&Value> = pieces.filter(|piece| piece.is_object()).collect();
    let texts: Vec<String> = pieces.iter().map(|p| text_of(&p["artifact"])).collect();
    let lines = [
        "line 1: 2 words\n",
        "line 2: 1 words\n",
        "line 3: 1 words\n",
    ];
    assert_eq!(texts, lines);
    assert_eq!(pieces[2]["lastChunk"], true);
    let last = &results.last().unwrap()["statusUpdate"];
    assert_eq!(state(last), "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn the_example_asks_and_waits_for_the_answer_across_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let counter = Counter::on(dir.path(), &[]);
    let task = counter.caller.send(" ").await;
    assert_eq!(state(&task), "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(said(&task), "Which text shall I count?");
    drop(counter);
    let counter = Counter::on(dir.path(), &[]);
    let task = counter.caller.answer(&task, "one two three").await;
    assert_eq!(state(&task), "TASK_STATE_COMPLETED");
    assert_eq!(said(&task), "3 words");
}

/// The first process streams one line and is killed while it rests for an hour; the second one goes on there.
#[tokio::test]
async fn the_example_resumes_a_turn_that_was_killed() {
    const HOUR: &str = "3600000";
    let dir = tempfile::tempdir().unwrap();
    let text = "one two\nthree\nfour five six";
    let counter = Counter::on(dir.path(), &["--pause", HOUR]);
    let mut events = counter.caller.stream(text).await;
    let mut task = None;
    loop {
        let result = events.next().await.unwrap().data["result"].clone();
        if let Some(id) = result["task"]["id"].as_str() {
            task = Some(id.to_owned());
        }
        if result["artifactUpdate"].is_object() {
            break;
        }
    }
    drop(counter);
    let counter = Counter::on(dir.path(), &[]);
    let task = task.unwrap();
    let ended = eventually("the task completes", async || {
        let task = counter.caller.get(&task).await;
        match state(&task) {
            "TASK_STATE_COMPLETED" => Ok(task),
            other => Err(other.to_owned()),
        }
    });
    let ended = ended.await;
    assert_eq!(said(&ended), "6 words");
    let lines = "line 1: 2 words\nline 2: 1 words\nline 3: 3 words\n";
    assert_eq!(report(&ended), lines);
    let listed = counter.caller.call("ListTasks", &json!({})).await;
    assert_eq!(listed["totalSize"], 1);
}
