//! Connections that break, and `kill -9`, in the middle of a run.

use serde_json::{Value, json};
use switchboard_testkit::{Server, eventually, say, text_of};

use crate::langgraph::{pair, pair_with};
use crate::langgraph_server::LangGraph;

fn words() -> String {
    let words: Vec<String> = (0..100).map(|n| format!("w{n}")).collect();
    words.join(" ")
}

async fn begun(graph: &LangGraph) {
    eventually("a run", async || !graph.runs().is_empty()).await;
}

async fn begin(ours: &Server, text: &str) -> Value {
    let send = json!({"message": say(text)["message"], "configuration": {"blocking": false}});
    ours.result("poet", "message/send", send).await["id"].clone()
}

#[tokio::test]
async fn after_a_crash_of_ours_the_run_is_followed_and_not_repeated() {
    for old in [false, true] {
        let (graph, mut ours) = pair(old).await;
        let send = say(&format!("words {}", words()));
        let mut stream = ours.stream("poet", "message/stream", send).await;
        let task = stream.next().await.unwrap().data["result"]["id"].clone();
        let mut pieces = 0;
        while pieces < 4 {
            let event = stream.next().await.unwrap();
            pieces += u32::from(event.data["result"]["kind"] == "artifact-update");
        }
        ours.kill().await;
        ours.restart().await;
        let done = ours.until("poet", &task, &["completed", "failed"]).await;
        assert_eq!(text_of(&done["artifacts"][0]), words(), "old: {old}");
        assert_eq!(graph.runs().len(), 1, "old: {old}");
        // Nothing is told twice to those who read it all.
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": task}});
        let request = ours.http.post(ours.url("/a2a/poet"));
        let request = request.header("Last-Event-ID", "0").json(&body);
        let events = switchboard_testkit::events(request).await.results().await;
        let pieces = events.iter().filter(|e| e["kind"] == "artifact-update");
        let told: String = pieces.map(|e| text_of(&e["artifact"])).collect();
        assert_eq!(told, words(), "old: {old}");
    }
}

#[tokio::test]
async fn a_crash_before_anything_was_heard_does_not_send_it_twice() {
    for old in [false, true] {
        let (graph, mut ours) = pair_with(old, "streaming: false").await;
        let task = begin(&ours, "late").await;
        begun(&graph).await;
        ours.kill().await;
        ours.restart().await;
        let done = ours.until("poet", &task, &["completed", "failed"]).await;
        assert_eq!(text_of(&done["artifacts"][0]), "late, but here", "{done}");
        assert_eq!(graph.runs().len(), 1, "old: {old}");
    }
}

#[tokio::test]
async fn a_cancel_after_a_crash_reaches_the_run() {
    for old in [false, true] {
        let (graph, mut ours) = pair(old).await;
        let task = begin(&ours, "long").await;
        begun(&graph).await;
        ours.kill().await;
        ours.restart().await;
        let canceled = ours
            .result("poet", "tasks/cancel", json!({"id": task}))
            .await;
        assert_eq!(canceled["status"]["state"], "canceled");
        let stands: Vec<String> = graph.runs().into_iter().map(|run| run.1).collect();
        assert_eq!(stands, ["interrupted"], "old: {old}");
    }
}

#[tokio::test]
async fn after_a_crash_a_question_still_waits_for_the_same_answer() {
    for old in [false, true] {
        let (graph, mut ours) = pair(old).await;
        let asked = ours.result("poet", "message/send", say("input")).await;
        ours.kill().await;
        ours.restart().await;
        let mut answer = say("green");
        answer["message"]["taskId"] = asked["id"].clone();
        let done = ours.result("poet", "message/send", answer).await;
        assert_eq!(text_of(&done["artifacts"][0]), "you chose green", "{done}");
        assert_eq!(graph.runs().len(), 2);
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_followed_without_one() {
    let (graph, ours) = pair(false).await;
    let done = ours.result("poet", "message/send", say("late cut")).await;
    assert_eq!(text_of(&done["artifacts"][0]), "late, but here", "{done}");
    assert_eq!(graph.runs().len(), 1);
}

#[tokio::test]
async fn a_message_of_which_no_run_came_is_sent_again_after_a_crash() {
    for old in [false, true] {
        let (graph, mut ours) = pair(old).await;
        let task = begin(&ours, "lost").await;
        eventually("a message", async || !graph.asked().is_empty()).await;
        ours.kill().await;
        ours.restart().await;
        let done = ours.until("poet", &task, &["completed", "failed"]).await;
        assert_eq!(text_of(&done["artifacts"][0]), "echo: lost", "{done}");
        assert_eq!(graph.runs().len(), 1);
        let ids: Vec<Value> = graph
            .asked()
            .iter()
            .map(|asked| asked.2["params"]["message"]["messageId"].clone())
            .collect();
        assert_eq!(ids[0], ids[1], "it is the same message");
    }
}

/// The server takes longer to begin than we to come back.
#[tokio::test]
async fn a_message_that_was_on_its_way_during_a_crash_is_not_sent_again() {
    for old in [false, true] {
        let (graph, mut ours) = pair(old).await;
        let task = begin(&ours, "slow").await;
        eventually("a message", async || !graph.asked().is_empty()).await;
        ours.kill().await;
        ours.restart().await;
        let done = ours.until("poet", &task, &["completed", "failed"]).await;
        assert_eq!(text_of(&done["artifacts"][0]), "echo: slow", "{done}");
        assert_eq!(graph.runs().len(), 1, "old: {old}");
        assert_eq!(graph.asked().len(), 1, "old: {old}");
    }
}

/// A server in a runtime of its own, which ends with all its sockets; and how to end it.
async fn mortal() -> (String, impl FnOnce()) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let graph = LangGraph::start().await;
            sender.send(graph.base.clone()).ok().unwrap();
            let _ = stopped.await;
        });
    });
    let base = receiver.await.unwrap();
    let end = move || {
        stop.send(()).unwrap();
        server.join().unwrap();
    };
    (base, end)
}

async fn before(base: &str) -> Server {
    let yaml = format!(
        "agents: {{poet: {{langgraph: {{url: '{base}', assistant: poet, reconnect: 1s}}}}}}"
    );
    Server::serve(&yaml).await
}

#[tokio::test]
async fn when_the_server_dies_the_task_fails_and_says_why() {
    let (base, end) = mortal().await;
    let ours = before(&base).await;
    let send = say(&format!("words {}", words()));
    let mut stream = ours.stream("poet", "message/stream", send).await;
    let task = stream.next().await.unwrap().data["result"]["id"].clone();
    while stream.next().await.unwrap().data["result"]["kind"] != "artifact-update" {}
    end();
    let failed = ours.until("poet", &task, &["failed", "completed"]).await;
    let text = text_of(&failed["status"]["message"]);
    let lost =
        "the connection to the LangGraph server was lost and could not be re-established in time";
    assert_eq!(text, lost);
    assert!(text_of(&failed["artifacts"][0]).starts_with("w0 "));
}

#[tokio::test]
async fn a_server_that_comes_back_without_its_memory_is_told_of() {
    let (base, end) = mortal().await;
    let ours = before(&base).await;
    let mut stream = ours
        .stream("poet", "message/stream", say(&format!("words {}", words())))
        .await;
    let task = stream.next().await.unwrap().data["result"]["id"].clone();
    while stream.next().await.unwrap().data["result"]["kind"] != "artifact-update" {}
    end();
    let graph = LangGraph::at(base.trim_start_matches("http://"), false).await;
    let failed = ours.until("poet", &task, &["failed", "completed"]).await;
    let text = text_of(&failed["status"]["message"]);
    assert!(
        text.starts_with("the LangGraph server no longer knows the run"),
        "{text}"
    );
    assert!(text.ends_with("send the message again"), "{text}");
    assert!(graph.runs().is_empty(), "nothing is repeated");
}
