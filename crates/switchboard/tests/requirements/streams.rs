//! Streams (S1 §7.2, §7.9; S2; S4).

use serde_json::json;
use switchboard_testkit::{events, message, say};

use crate::server;

#[tokio::test]
async fn s1_185_example_9_3_streams_an_artifact_in_pieces() {
    let server = server().await;
    let stream = server
        .stream("writer", "message/stream", say("write"))
        .await;
    assert_eq!(stream.status(), 200);
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert_eq!(stream.header("cache-control"), Some("no-cache"));
    assert_eq!(stream.header("connection"), Some("keep-alive"));
    let events = stream.rest().await;
    for event in &events {
        assert_eq!(event.data["jsonrpc"], "2.0");
        assert_eq!(event.data["id"], "s1");
    }
    let ids: Vec<Option<u64>> = events.iter().map(|event| event.id).collect();
    assert_eq!(ids, (1..=6).map(Some).collect::<Vec<_>>());
    let results: Vec<_> = events.iter().map(|event| &event.data["result"]).collect();
    assert_eq!(results[0]["kind"], "task");
    assert_eq!(results[0]["status"]["state"], "submitted");
    assert!(results[0]["status"]["timestamp"].is_string());
    assert_eq!(results[0]["history"][0]["messageId"], "m-5");
    assert_eq!(results[1]["kind"], "status-update");
    assert_eq!(results[1]["status"]["state"], "working");
    assert_eq!(results[1]["final"], false);
    for (piece, append, last) in [(2, false, false), (3, true, false), (4, true, true)] {
        let update = results[piece];
        assert_eq!(update["kind"], "artifact-update");
        assert_eq!(update["append"], append);
        assert_eq!(update["lastChunk"], last);
        assert_eq!(
            update["artifact"]["artifactId"],
            results[2]["artifact"]["artifactId"]
        );
        assert_eq!(update["taskId"], results[0]["id"]);
        assert_eq!(update["contextId"], results[0]["contextId"]);
    }
    assert_eq!(results[5]["status"]["state"], "completed");
    assert_eq!(results[5]["final"], true);
}

#[tokio::test]
async fn s2_015_each_data_line_is_one_whole_response() {
    let server = server().await;
    let body = json!({"jsonrpc": "2.0", "id": 9, "method": "message/stream", "params": say("hi")});
    let response = server
        .http
        .post(server.url("/api/a2a"))
        .json(&body)
        .send()
        .await;
    let text = response.expect("an answer").text().await.expect("a body");
    assert!(text.ends_with("\n\n"));
    for frame in text.split("\n\n").filter(|frame| !frame.is_empty()) {
        let data: Vec<&str> = frame
            .lines()
            .filter_map(|l| l.strip_prefix("data: "))
            .collect();
        assert_eq!(data.len(), 1, "{frame}");
        let response: serde_json::Value = serde_json::from_str(data[0]).expect("JSON");
        assert_eq!(response["id"], 9);
        let result = response["result"].as_object().expect("a result");
        assert_eq!(result.keys().next().map(String::as_str), Some("kind"));
    }
}

/// S4-050, S4-051, S4-052: the compliance test of the document.
#[tokio::test]
async fn s4_050_a_stream_complies() {
    let server = switchboard_testkit::Server::up().await;
    let text = "rivers in 2 chunks every 10ms";
    let events = server
        .stream("research", "message/stream", say(text))
        .await
        .results()
        .await;
    let kinds = ["task", "status-update", "artifact-update"];
    assert!(
        events
            .iter()
            .all(|e| kinds.iter().any(|kind| e["kind"] == *kind)),
        "{events:?}"
    );
    assert_eq!(events.first().map(|e| &e["kind"]), Some(&json!("task")));
    let last = events.last().expect("events");
    assert_eq!(last["kind"], "status-update");
    assert_eq!(last["final"], true);
    let others = &events[..events.len() - 1];
    assert!(others.iter().all(|e| e["final"] != true));
}

#[tokio::test]
async fn s4_018_the_last_event_carries_the_answer() {
    let server = server().await;
    let events = server
        .stream("quick", "message/stream", say("hi"))
        .await
        .results()
        .await;
    let last = events.last().expect("events");
    assert_eq!(last["status"]["message"]["parts"][0]["text"], "hi");
}

#[tokio::test]
async fn s4_019_a_failure_is_final_and_says_why() {
    let server = server().await;
    let events = server
        .stream("broken", "message/stream", say("hi"))
        .await
        .results()
        .await;
    let last = events.last().expect("events");
    assert_eq!(last["status"]["state"], "failed");
    assert_eq!(last["final"], true);
    assert_eq!(last["metadata"]["error"], "the printer is on fire");
}

/// S1-159: what was missed is replayed.
#[tokio::test]
async fn s1_157_a_reader_comes_back_to_a_running_task() {
    let server = server().await;
    let mut stream = server.stream("pause", "message/stream", say("hi")).await;
    let first = stream.next().await.expect("an event");
    drop(stream);
    let id = &first.data["result"]["id"];
    let body =
        json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/resubscribe", "params": {"id": id}});
    let request = server.http.post(server.url("/a2a/pause")).json(&body);
    let back = events(request.header("Last-Event-ID", "1"))
        .await
        .rest()
        .await;
    let ids: Vec<Option<u64>> = back.iter().map(|event| event.id).collect();
    assert_eq!(ids, [Some(2), Some(3), Some(4)]);
    assert_eq!(back[2].data["result"]["status"]["state"], "completed");
}

#[tokio::test]
async fn s2_059_without_a_place_the_stream_begins_with_the_task_as_it_stands() {
    let server = server().await;
    let task = json!({"message": message("hi"), "configuration": {"blocking": false}});
    let task = server.result("slow", "message/send", task).await;
    server.until("slow", &task["id"], &["working"]).await;
    let mut stream = server
        .stream("slow", "tasks/resubscribe", json!({"id": task["id"]}))
        .await;
    let first = stream.next().await.expect("an event").data;
    assert_eq!(first["result"]["kind"], "task");
    assert_eq!(first["result"]["status"]["state"], "working");
}

#[tokio::test]
async fn s2_060_tasks_get_that_takes_only_events_is_a_resubscription() {
    let server = server().await;
    let task = json!({"message": message("hi"), "configuration": {"blocking": false}});
    let task = server.result("pause", "message/send", task).await;
    let body =
        json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"taskId": task["id"]}});
    let request = server.http.post(server.url("/a2a/pause")).json(&body);
    let stream = events(request.header("Accept", "text/event-stream")).await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    let last = stream.results().await.pop().unwrap_or_default();
    assert_eq!(last["status"]["state"], "completed");
}

#[tokio::test]
async fn s1_160_a_stream_of_what_is_over_or_unknown_is_refused() {
    let server = server().await;
    let task = server.result("quick", "message/send", say("hi")).await;
    for (id, code) in [(task["id"].clone(), -32004), (json!("nobody"), -32001)] {
        let mut stream = server
            .stream("quick", "tasks/resubscribe", json!({"id": id}))
            .await;
        let refused = stream.next().await.expect("an event").data;
        assert_eq!(refused["error"]["code"], code);
        assert!(stream.next().await.is_none());
    }
}

#[tokio::test]
async fn s2_083_a_status_may_say_something() {
    let server = server().await;
    let events = server
        .stream("pause", "message/stream", say("hi"))
        .await
        .results()
        .await;
    let said = &events[2]["status"];
    assert_eq!(said["state"], "working");
    assert_eq!(said["message"]["parts"][0]["text"], "Processing");
    assert_eq!(said["message"]["role"], "agent");
    assert!(said["message"]["messageId"].is_string());
}

#[tokio::test]
async fn s2_062_a_client_that_goes_away_leaves_its_task_running() {
    let server = server().await;
    let mut stream = server.stream("pause", "message/stream", say("hi")).await;
    let task = stream.next().await.expect("an event").data["result"]["id"].clone();
    drop(stream);
    server.until("pause", &task, &["completed"]).await;
}

#[tokio::test]
async fn s2_115_or_cancels_it_if_the_agent_is_set_so() {
    let server = server().await;
    let mut stream = server.stream("fickle", "message/stream", say("hi")).await;
    let task = stream.next().await.expect("an event").data["result"]["id"].clone();
    drop(stream);
    server.until("fickle", &task, &["canceled"]).await;
}

#[tokio::test]
async fn a_killed_server_goes_on_and_so_does_its_reader() {
    let mut server = switchboard_testkit::Server::up().await;
    let text = "rivers in 6 chunks every 100ms";
    let mut stream = server.stream("research", "message/stream", say(text)).await;
    let mut seen = Vec::new();
    while seen.len() < 5 {
        seen.push(stream.next().await.expect("an event"));
    }
    let task = seen[0].data["result"]["id"].clone();
    server.kill().await;
    server.restart().await;
    let body =
        json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/resubscribe", "params": {"id": task}});
    let request = server.http.post(server.url("/a2a/research")).json(&body);
    let rest = events(request.header("Last-Event-ID", "5"))
        .await
        .rest()
        .await;
    let ids: Vec<u64> = seen
        .iter()
        .chain(&rest)
        .filter_map(|event| event.id)
        .collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>());
    assert_eq!(
        rest.last().map(|e| &e.data["result"]["status"]["state"]),
        Some(&json!("completed"))
    );
    let task = server
        .result("research", "tasks/get", json!({"id": task}))
        .await;
    let report = switchboard_testkit::text_of(&task["artifacts"][1]);
    assert_eq!(report.matches("Finding").count(), 6, "{report}");
}
