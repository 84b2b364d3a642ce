//! `kill -9`, of ours and of the command, in the middle of a task.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use switchboard_testkit::{Server, begin, eventually, say, text_of};

use crate::exec::{begun, commands, gone, lives, output, runs};
use crate::openai::{said, soon};

#[tokio::test]
async fn after_a_crash_of_ours_the_command_is_ended_and_not_run_again() {
    let mut ours = commands().await;
    let (_, task, pids) = begun(&ours, "stays").await;
    ours.kill().await;
    assert!(pids.iter().all(|pid| lives(*pid)), "it outlives us");
    ours.restart().await;
    let failed = ours.until("stays", &task, &["failed", "completed"]).await;
    assert_eq!(failed["status"]["state"], "failed");
    assert_eq!(
        said(&failed),
        "interrupted by a restart: send the message again"
    );
    gone(&pids).await;
    assert_eq!(runs(&ours), 1);
    // What is sent again is a task of its own.
    let (_, again, pids) = begun(&ours, "stays").await;
    assert_ne!(again, task);
    assert_eq!(runs(&ours), 2);
    ours.result("stays", "tasks/cancel", json!({"id": again}))
        .await;
    gone(&pids).await;
}

/// The numbers in the line that says what became of the tasks at start.
fn recovered(server: &Server) -> (u64, u64, u64) {
    let logged = server.logged();
    let lines = logged
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let line = lines.into_iter().find(|line| line.get("resumed").is_some());
    let line = line.unwrap();
    let number = |name: &str| line[name].as_u64().unwrap();
    (number("resumed"), number("waiting"), number("failed"))
}

#[tokio::test]
async fn the_line_of_recovery_counts_what_resumes_waits_and_fails() {
    let yaml = "agents:
  stays: {exec: {command: [sh, stays.sh]}}
  again: {exec: {command: [sh, stays.sh], on_restart: retry}}
  asks: {script: [{ask: 'which?'}]}
  slow: {script: [{wait: 30m}]}";
    let files = [("stays.sh", crate::exec::STAYS.as_bytes().to_vec())];
    let mut ours = Server::serve_with(yaml, &files, &[]).await;
    let (_, failed, mut pids) = begun(&ours, "stays").await;
    let (_, again, more) = begun(&ours, "again").await;
    pids.extend(more);
    ours.result("asks", "message/send", say("x")).await;
    ours.result("slow", "message/send", begin("x")).await;
    ours.kill().await;
    ours.restart().await;
    assert_eq!(recovered(&ours), (2, 1, 1), "{}", ours.logged());
    ours.until("stays", &failed, &["failed"]).await;
    gone(&pids).await;
    ours.result("again", "tasks/cancel", json!({"id": again}))
        .await;
}

#[tokio::test]
async fn a_command_that_may_be_retried_is_run_again_and_its_first_output_is_replaced() {
    let script = "cat > input; echo run >> runs.txt; if [ -e again ]; then cat input; exit; fi
        echo half; touch again; sleep 1000";
    let yaml = "agents: {job: {exec: {command: [sh, job.sh], on_restart: retry}}}";
    let files = [("job.sh", script.as_bytes().to_vec())];
    let mut ours = Server::serve_with(yaml, &files, &[]).await;
    let mut stream = ours.stream("job", "message/stream", say("the input")).await;
    let task = stream.next().await.unwrap().data["result"]["id"].clone();
    while soon(stream.next()).await.unwrap().data["result"]["kind"] != "artifact-update" {}
    ours.kill().await;
    ours.restart().await;
    let done = ours.until("job", &task, &["completed", "failed"]).await;
    assert_eq!(done["status"]["state"], "completed", "{done}");
    assert_eq!(output(&done), "the input");
    assert_eq!(runs(&ours), 2);
}

/// The second turn adds to what the first has produced, and is interrupted.
#[tokio::test]
async fn a_command_that_is_run_again_keeps_what_turns_before_have_produced() {
    let script = r#"read -r line
        case "$line" in
          *'"text":"green"'*)
            echo '{"type":"artifact","id":"picture","append":true,"text":" green"}'
            if ! [ -e again ]; then
              echo '{"type":"artifact","id":"sketch","text":"a sketch"}'
              touch again; sleep 1000
            fi
            echo '{"type":"done"}' ;;
          *)
            echo '{"type":"artifact","id":"picture","text":"a house in"}'
            echo '{"type":"ask","text":"Which colour?"}' ;;
        esac"#;
    let yaml = "agents: {job: {exec: {command: [sh, job.sh], protocol: json, on_restart: retry}}}";
    let files = [("job.sh", script.as_bytes().to_vec())];
    let mut ours = Server::serve_with(yaml, &files, &[]).await;
    let asked = ours.result("job", "message/send", say("paint")).await;
    let mut answer = begin("green");
    answer["message"]["taskId"] = asked["id"].clone();
    ours.result("job", "message/send", answer).await;
    eventually("the sketch", async || {
        let get = ours.result("job", "tasks/get", json!({"id": asked["id"]}));
        get.await["artifacts"][1]["artifactId"] == "sketch"
    })
    .await;
    ours.kill().await;
    ours.restart().await;
    let done = ours
        .until("job", &asked["id"], &["completed", "failed"])
        .await;
    assert_eq!(done["status"]["state"], "completed", "{done}");
    assert_eq!(output(&done), "a house in green");
    // What the second run did not produce again is taken back.
    assert_eq!(text_of(&done["artifacts"][1]), "", "{done}");
}

/// More than fits into a pipe, to a command that reads it only once we are dead.
#[tokio::test]
async fn a_command_that_outlives_a_crash_of_ours_has_its_whole_input() {
    let script = "echo run >> runs.txt
        while [ -e late.sh ] && ! [ -e go ]; do sleep 0.02; done
        cat > part && mv part got";
    for protocol in ["text", "json"] {
        let yaml =
            format!("agents: {{late: {{exec: {{command: [sh, late.sh], protocol: {protocol}}}}}}}");
        let files = [("late.sh", script.as_bytes().to_vec())];
        let mut ours = Server::serve_with(&yaml, &files, &[]).await;
        let text = "0123456789abcdef".repeat(20_000);
        let mut message = say(&text);
        message["configuration"] = json!({"blocking": false});
        ours.result("late", "message/send", message).await;
        eventually("a run", async || runs(&ours) >= 1).await;
        ours.kill().await;
        let here = ours.data();
        std::fs::write(here.with_file_name("go"), "").unwrap();
        let got = eventually("the input of the command", async || {
            std::fs::read_to_string(here.with_file_name("got"))
        })
        .await;
        match protocol {
            "text" => assert!(got == text, "{} of {} bytes", got.len(), text.len()),
            _ => {
                let line: Value = serde_json::from_str(&got).unwrap();
                assert!(line["text"] == text.as_str());
            }
        }
    }
}

#[tokio::test]
async fn what_a_command_left_behind_that_died_with_ours_is_ended_too() {
    let mut ours = commands().await;
    let (_, task, pids) = begun(&ours, "stays").await;
    ours.kill().await;
    let first = Pid::from_raw(i32::try_from(pids[0]).unwrap()).unwrap();
    kill_process(first, Signal::KILL).unwrap();
    gone(&pids[..1]).await;
    assert!(lives(pids[1]), "it outlives both");
    ours.restart().await;
    let failed = ours.until("stays", &task, &["failed", "completed"]).await;
    assert_eq!(failed["status"]["state"], "failed");
    gone(&pids).await;
}

#[tokio::test]
async fn what_runs_for_an_agent_that_is_not_there_any_more_is_ended_too() {
    for agents in [
        "agents: {other: {script: [{complete: x}]}}",
        // It is there, and runs no command.
        "agents: {stays: {script: [{complete: x}]}}",
    ] {
        let mut ours = commands().await;
        let (_, _, pids) = begun(&ours, "stays").await;
        ours.kill().await;
        assert!(pids.iter().all(|pid| lives(*pid)), "it outlives us");
        std::fs::write(ours.configuration(), agents).unwrap();
        ours.restart().await;
        gone(&pids).await;
    }
}

#[tokio::test]
async fn a_command_whose_task_is_over_by_a_restart_is_ended_also_after_a_second_crash() {
    let with_it = "agents: {deaf: {exec: {command: [sh, deaf.sh]}}}";
    let without = "agents: {other: {script: [{complete: x}]}}";
    let script = b"trap '' TERM; echo $$; while :; do sleep 0.1; done";
    let files = [("deaf.sh", script.to_vec())];
    for _ in 0..10 {
        let mut ours = Server::serve_with(with_it, &files, &[]).await;
        let (_, _, pids) = begun(&ours, "deaf").await;
        ours.kill().await;
        std::fs::write(ours.configuration(), without).unwrap();
        ours.restart().await;
        // Its task has failed, and it has a while to end.
        ours.kill().await;
        let outlived_us_twice = lives(pids[0]);
        std::fs::write(ours.configuration(), with_it).unwrap();
        ours.restart().await;
        gone(&pids).await;
        if outlived_us_twice {
            return;
        }
        // The second crash came too late for that: the machine is busy.
    }
    panic!("it never outlives us twice");
}

#[tokio::test]
async fn a_stop_of_ours_leaves_no_command_behind() {
    let mut ours = commands().await;
    let (_, task, pids) = begun(&ours, "stays").await;
    ours.stop().await;
    gone(&pids).await;
    ours.restart().await;
    let failed = ours.until("stays", &task, &["failed", "completed"]).await;
    assert_eq!(
        said(&failed),
        "interrupted by a restart: send the message again"
    );
    assert_eq!(runs(&ours), 1);
}

#[tokio::test]
async fn a_crash_in_the_second_turn_does_not_run_the_command_again_either() {
    let mut ours = commands().await;
    let asked = ours.result("asks", "message/send", say("paint")).await;
    assert_eq!(asked["status"]["state"], "input-required");
    // The same message id as before: some clients count badly.
    let mut answer = say("sleep");
    answer["message"]["taskId"] = asked["id"].clone();
    answer["configuration"] = json!({"blocking": false});
    ours.result("asks", "message/send", answer).await;
    eventually("a second run", async || runs(&ours) >= 2).await;
    ours.kill().await;
    ours.restart().await;
    let failed = ours.until(
        "asks",
        &asked["id"],
        &["failed", "completed", "input-required"],
    );
    let failed = failed.await;
    assert_eq!(
        said(&failed),
        "interrupted by a restart: send the message again"
    );
    assert_eq!(runs(&ours), 2);
}

#[tokio::test]
async fn when_the_command_is_killed_the_task_fails_and_nothing_of_its_group_is_left() {
    let ours = commands().await;
    let (stream, _, pids) = begun(&ours, "stays").await;
    let pid = Pid::from_raw(i32::try_from(pids[0]).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    let events: Vec<Value> = soon(stream.results()).await;
    let last = events.last().unwrap();
    assert_eq!(last["status"]["state"], "failed");
    assert_eq!(said(last), "the command was ended by signal 9");
    gone(&pids).await;
    // The next one finds all as it should be.
    let task = ours.result("loud", "message/send", say("still here")).await;
    assert_eq!(output(&task), "STILL HERE");
}
