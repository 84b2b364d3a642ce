//! `task get`, `list`, `cancel`, `subscribe`, `download`, `push-config`

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::agent::{Agent, interrupt};

#[tokio::test]
async fn a_task_is_canceled_and_stays_so() {
    let agent = Agent::start().await;
    let id = agent.long_task().await;
    let canceled = agent.json(&["task", "cancel", &id]).await;
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
    let again = agent.json(&["task", "cancel", &id]).await;
    assert_eq!(again["status"]["state"], "TASK_STATE_CANCELED");

    let done = agent.json(&["send", "hello"]).await;
    let id = done["task"]["id"].as_str().unwrap();
    let late = agent.run(&["task", "cancel", id, "-o", "json"]).await;
    assert_eq!(late.code, Some(1), "{late:?}");
    let error: Value = serde_json::from_str(&late.out).unwrap();
    assert_eq!(error["error"]["code"], "TaskNotCancelableError");
    assert_eq!(error["error"]["a2aCode"], -32002);
}

#[tokio::test]
async fn a_task_is_followed_to_its_end_from_elsewhere() {
    let agent = Agent::start().await;
    let id = agent.long_task().await;
    let mut follower = agent.spawn(&["task", "subscribe", &id, "-o", "json", "--stream"]);
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let first = lines.next_line().await.unwrap().unwrap();
    let first: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(first["task"]["id"], id.as_str());
    agent.json(&["task", "cancel", &id]).await;
    let mut last = first;
    while let Some(line) = lines.next_line().await.unwrap() {
        last = serde_json::from_str(&line).unwrap();
    }
    assert_eq!(
        last["statusUpdate"]["status"]["state"],
        "TASK_STATE_CANCELED"
    );
    assert!(follower.wait().await.unwrap().success());
}

#[tokio::test]
async fn get_can_wait() {
    let agent = Agent::start().await;
    let id = agent.long_task().await;
    let args = ["task", "get", "--wait", "--poll-interval", "20ms", &id];
    let waiting = agent.spawn(&args);
    let cancel = ["task", "cancel", &id];
    let (_, output) = tokio::join!(agent.json(&cancel), waiting.wait_with_output());
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(text.ends_with("State: TASK_STATE_CANCELED\n"), "{text}");
}

#[tokio::test]
async fn tasks_are_listed_by_state_and_page() {
    let agent = Agent::start().await;
    for n in 0..3 {
        agent.json(&["send", &format!("number {n}")]).await;
    }
    let long = agent.long_task().await;
    let working = agent.json(&["task", "list", "--status", "working"]).await;
    assert_eq!(working["tasks"][0]["id"], long.as_str());
    assert_eq!(working["totalSize"], 1);
    let page = agent.run(&["task", "list", "--page-size", "2"]).await;
    assert_eq!(page.field("Tasks"), "2 of 4");
    let token = page.field("Next page");
    let next = agent
        .run(&["task", "list", "--page-size", "2", "--page-token", token])
        .await;
    assert_eq!(next.field("Tasks"), "2 of 4");
    let all = agent
        .run(&[
            "task",
            "list",
            "--page-size",
            "1",
            "--all",
            "--stream",
            "-o",
            "json",
        ])
        .await;
    assert_eq!(all.out.lines().count(), 4, "{all:?}");
    let wrong = agent.run(&["task", "list", "--status", "sleeping"]).await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[tokio::test]
async fn what_a_task_has_made_is_saved() {
    let agent = Agent::start().await;
    let sent = agent.json(&["send", "files please"]).await;
    let id = sent["task"]["id"].as_str().unwrap();
    let saved = agent.run(&["task", "download", id, "--dir", "out"]).await;
    assert_eq!(saved.code, Some(0), "{saved:?}");
    let out = agent.dir.path().join("out");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    assert_eq!(read("notes.txt"), "first\n\nsecond");
    let data: Value = serde_json::from_str(&read("table.json")).unwrap();
    assert_eq!(data["n"], 1);
    let again = agent.run(&["task", "download", id, "--dir", "out"]).await;
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.err.contains("--overwrite"), "{}", again.err);
    let over = agent
        .json(&["task", "download", id, "--dir", "out", "--overwrite"])
        .await;
    assert_eq!(over["files"].as_array().unwrap().len(), 3, "{over}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_download_is_never_written_through_a_link() {
    let agent = Agent::start().await;
    let sent = agent.json(&["send", "files please"]).await;
    let id = sent["task"]["id"].as_str().unwrap();
    let (out, outside) = (agent.dir.path().join("out"), agent.dir.path().join("key"));
    std::fs::create_dir(&out).unwrap();
    std::fs::write(&outside, "precious").unwrap();
    std::os::unix::fs::symlink(&outside, out.join("notes.txt")).unwrap();
    let download = ["task", "download", id, "--dir", "out"];
    let refused = agent.run(&download).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    agent
        .json(&[&download[..], &["--overwrite"]].concat())
        .await;
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "precious");
    let notes = out.join("notes.txt");
    assert!(!std::fs::symlink_metadata(&notes).unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(notes).unwrap(), "first\n\nsecond");
}

#[tokio::test]
async fn a_streamed_text_is_saved_as_one_file() {
    let agent = Agent::start().await;
    let sent = agent.json(&["send", "pieces"]).await;
    let id = sent["task"]["id"].as_str().unwrap();
    let task = agent.json(&["task", "get", id]).await;
    assert_eq!(task["artifacts"][0]["parts"].as_array().unwrap().len(), 1);
    let saved = [
        "task",
        "download",
        id,
        "--artifact",
        "words",
        "--dir",
        "out",
    ];
    let saved = agent.json(&saved).await;
    assert_eq!(saved["files"].as_array().unwrap().len(), 1, "{saved}");
    let out = agent.dir.path().join("out/words.txt");
    let text = std::fs::read_to_string(out).unwrap();
    assert_eq!(
        text,
        task["artifacts"][0]["parts"][0]["text"].as_str().unwrap()
    );
    assert!(text.starts_with("one"), "{text}");
}

#[tokio::test]
async fn webhooks_are_made_shown_and_removed() {
    let agent = Agent::start().await;
    let id = agent.long_task().await;
    let create = [
        "task",
        "push-config",
        "create",
        &id,
        "--url",
        "http://127.0.0.1:9/hook",
        "--id",
        "mine",
        "--token",
        "hush-hush",
    ];
    let made = agent.json(&create).await;
    assert_eq!(made["id"], "mine");
    let shown = agent
        .run(&["task", "push-config", "get", &id, "mine"])
        .await;
    assert_eq!(shown.field("URL"), "http://127.0.0.1:9/hook");
    assert!(!shown.out.contains("hush-hush"), "{}", shown.out);
    let listed = agent.json(&["task", "push-config", "list", &id]).await;
    assert_eq!(listed["configs"].as_array().unwrap().len(), 1);
    let gone = agent
        .run(&["task", "push-config", "delete", &id, "mine"])
        .await;
    assert_eq!(gone.field("Deleted"), "mine");
    let listed = agent.run(&["task", "push-config", "list", &id]).await;
    assert_eq!(listed.field("Configs"), "0");
}

#[cfg(unix)]
#[tokio::test]
async fn an_interrupted_wait_tells_how_to_go_on() {
    let agent = Agent::start().await;
    let mut waiting = agent.spawn(&["send", "long"]);
    let mut told = BufReader::new(waiting.stderr.take().unwrap()).lines();
    // Progress shows that the task is known.
    while let Some(line) = told.next_line().await.unwrap() {
        if line.starts_with("working") {
            break;
        }
    }
    interrupt(&waiting).await;
    let mut rest = Vec::new();
    while let Some(line) = told.next_line().await.unwrap() {
        rest.push(line);
    }
    assert_eq!(waiting.wait().await.unwrap().code(), Some(130));
    let resume = rest.iter().find_map(|line| line.strip_prefix("Resume: "));
    let id = resume.unwrap().rsplit(' ').next().unwrap();
    let task = agent.json(&["task", "get", id]).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_WORKING");
}
