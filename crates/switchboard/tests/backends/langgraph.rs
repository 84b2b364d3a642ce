//! An assistant of a LangGraph server behind our agent, in both releases.

use serde_json::{Value, json};
use switchboard_testkit::{Server, eventually, say, text_of};

use crate::langgraph_server::LangGraph;

/// A server and ours before it, with more keys for the backend.
pub(crate) async fn pair_with(old: bool, keys: &str) -> (LangGraph, Server) {
    let graph = LangGraph::release(old).await;
    let yaml = format!(
        "agents: {{poet: {{langgraph: {{url: '{}', assistant: poet, {keys}}}}}}}",
        graph.base
    );
    let ours = Server::serve(&yaml).await;
    (graph, ours)
}

pub(crate) async fn pair(old: bool) -> (LangGraph, Server) {
    pair_with(old, "reconnect: 2s").await
}

fn answer(task: &Value) -> String {
    assert_eq!(task["status"]["state"], "completed", "{task}");
    text_of(&task["artifacts"][0])
}

fn failure(task: &Value) -> String {
    assert_eq!(task["status"]["state"], "failed", "{task}");
    text_of(&task["status"]["message"])
}

/// A message of this conversation.
pub(crate) fn within(context: &Value, text: &str) -> Value {
    let mut message = say(text);
    message["message"]["contextId"] = context.clone();
    message
}

#[tokio::test]
async fn an_assistant_is_found_by_the_name_of_its_graph_and_answers() {
    for old in [false, true] {
        let (graph, ours) = pair(old).await;
        let done = ours.result("poet", "message/send", say("hello")).await;
        assert_eq!(answer(&done), "echo: hello");
        let id = crate::langgraph_server::id_of("poet");
        assert_eq!(graph.asked()[0].0, format!("/a2a/{id}"));
    }
}

#[tokio::test]
async fn a_run_belongs_to_the_trace_of_the_call_that_it_is_for() {
    let (graph, ours) = pair(false).await;
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("hello")});
    let request = ours
        .http
        .post(ours.url("/a2a/poet"))
        .header("traceparent", format!("00-{trace}-b7ad6b7169203331-01"))
        .header("tracestate", "vendor=1");
    let done = switchboard_testkit::answer(request.json(&body)).await.body["result"].clone();
    assert_eq!(answer(&done), "echo: hello");
    let headers = &graph.asked()[0].1;
    let told = headers["traceparent"].to_str().unwrap();
    assert!(told.starts_with(&format!("00-{trace}-")), "{told}");
    assert!(!told.contains("b7ad6b7169203331"), "{told}");
    assert_eq!(headers["tracestate"], "vendor=1");
}

#[tokio::test]
async fn text_that_is_told_whole_each_time_is_passed_on_piece_by_piece() {
    for old in [false, true] {
        let (_graph, ours) = pair(old).await;
        let words = "words one two three four five six";
        let stream = ours.stream("poet", "message/stream", say(words)).await;
        let events = stream.results().await;
        let pieces: Vec<&Value> = events
            .iter()
            .filter(|event| event["kind"] == "artifact-update")
            .collect();
        assert!(pieces.len() > 2, "{pieces:?}");
        let told: String = pieces.iter().map(|e| text_of(&e["artifact"])).collect();
        assert_eq!(told, "one two three four five six");
        let task = ours
            .result("poet", "tasks/get", json!({"id": events[0]["id"]}))
            .await;
        assert_eq!(answer(&task), "one two three four five six");
    }
}

#[tokio::test]
async fn of_a_graph_that_says_several_things_the_last_is_the_answer() {
    for old in [false, true] {
        let (_graph, ours) = pair(old).await;
        let done = ours.result("poet", "message/send", say("steps")).await;
        assert_eq!(answer(&done), "step 3");
        assert_eq!(done["artifacts"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_conversation_is_a_thread_of_its_own() {
    for old in [false, true] {
        let (graph, ours) = pair(old).await;
        let first = ours
            .result("poet", "message/send", within(&json!("ours"), "hello"))
            .await;
        let context = &first["contextId"];
        let second = ours
            .result("poet", "message/send", within(context, "turns"))
            .await;
        assert_eq!(answer(&second), "2");
        let other = ours.result("poet", "message/send", say("turns")).await;
        assert_eq!(answer(&other), "1");
        let sent = graph.asked();
        let thread = |at: usize| sent[at].2["params"]["message"]["contextId"].clone();
        assert_eq!(thread(0), thread(1));
        assert_ne!(thread(0), thread(2));
        let ids = |at: usize| sent[at].2["params"]["message"]["messageId"].clone();
        assert_ne!(
            ids(0),
            ids(1),
            "a message id that is used again rewrites the past there"
        );
    }
}

#[tokio::test]
async fn a_question_comes_to_the_caller_and_the_answer_to_the_graph() {
    for old in [false, true] {
        for (answered, chosen) in [
            (
                json!([{"kind": "text", "text": "green"}]),
                "you chose green",
            ),
            (
                json!([{"kind": "data", "data": {"rgb": 7}}]),
                r#"you chose {"rgb":7}"#,
            ),
        ] {
            let (graph, ours) = pair(old).await;
            let asked = ours.result("poet", "message/send", say("input")).await;
            assert_eq!(asked["status"]["state"], "input-required", "{asked}");
            let question = &asked["status"]["message"];
            assert_eq!(text_of(question), "which colour?");
            assert_eq!(question["parts"][1]["data"]["interrupts"][0]["id"], "6669");
            let mut reply = say("x");
            reply["message"]["taskId"] = asked["id"].clone();
            reply["message"]["parts"] = answered;
            let done = ours.result("poet", "message/send", reply).await;
            assert_eq!(answer(&done), chosen, "old: {old}");
            assert_eq!(graph.runs().len(), 2);
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_none_leaves_the_question_open() {
    let (graph, ours) = pair(false).await;
    let asked = ours.result("poet", "message/send", say("input")).await;
    let mut reply = say("both");
    reply["message"]["taskId"] = asked["id"].clone();
    reply["message"]["parts"] =
        json!([{"kind": "text", "text": "green"}, {"kind": "data", "data": {"n": 1}}]);
    let still = ours.result("poet", "message/send", reply).await;
    assert_eq!(still["status"]["state"], "input-required", "{still}");
    assert!(text_of(&still["status"]["message"]).contains("not with both"));
    let mut reply = say("green");
    reply["message"]["taskId"] = asked["id"].clone();
    let done = ours.result("poet", "message/send", reply).await;
    assert_eq!(answer(&done), "you chose green");
    assert_eq!(graph.runs().len(), 2);
}

#[tokio::test]
async fn a_cancel_stops_the_run() {
    for old in [false, true] {
        let (graph, ours) = pair(old).await;
        let mut stream = ours.stream("poet", "message/stream", say("long")).await;
        let task = stream.next().await.unwrap().data["result"]["id"].clone();
        eventually("a run", async || !graph.runs().is_empty()).await;
        let canceled = ours
            .result("poet", "tasks/cancel", json!({"id": task}))
            .await;
        assert_eq!(canceled["status"]["state"], "canceled");
        let (_, status) = graph.runs().remove(0);
        assert_eq!(status, "interrupted", "old: {old}");
    }
}

#[tokio::test]
async fn a_run_that_others_cancel_is_not_taken_for_an_answer() {
    for old in [false, true] {
        let (graph, ours) = pair(old).await;
        let send = json!({"message": say("long")["message"], "configuration": {"blocking": false}});
        let task = ours.result("poet", "message/send", send).await["id"].clone();
        eventually("a run", async || !graph.runs().is_empty()).await;
        let sent = graph.asked()[0].2["params"]["message"]["contextId"].clone();
        let at = format!("{}/threads/{}/runs", graph.base, sent.as_str().unwrap());
        let runs: Value = ours
            .http
            .get(&at)
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        let run = runs[0]["run_id"].as_str().unwrap();
        let at = format!("{at}/{run}/cancel");
        assert_eq!(ours.http.post(at).send().await.unwrap().status(), 200);
        let failed = ours.until("poet", &task, &["failed", "completed"]).await;
        assert_eq!(
            failure(&failed),
            "the run was canceled at the LangGraph server"
        );
    }
}

#[tokio::test]
async fn s0_027_a_run_that_takes_too_long_is_canceled_and_the_task_fails() {
    let (graph, ours) = pair_with(false, "timeout: 300ms").await;
    let failed = ours.result("poet", "message/send", say("long")).await;
    assert!(failure(&failed).starts_with("the assistant timed out after 0.3 s"));
    assert_eq!(graph.runs()[0].1, "interrupted");
}

#[tokio::test]
async fn what_a_graph_says_when_it_fails_is_told_only_if_it_may_be() {
    let (_graph, ours) = pair(false).await;
    let failed = ours.result("poet", "message/send", say("fail")).await;
    assert!(!failure(&failed).contains("123"), "{failed}");
    assert!(failure(&failed).starts_with("the assistant failed"));
    let (_graph, ours) = pair_with(false, "show_errors: true").await;
    let failed = ours.result("poet", "message/send", say("fail")).await;
    assert_eq!(
        failure(&failed),
        "the assistant failed: boom: the password is 123"
    );
}

#[tokio::test]
async fn texts_are_sent_as_one_and_data_sets_the_state() {
    let (graph, ours) = pair(false).await;
    let mut send = say("x");
    send["message"]["parts"] = json!([{"kind": "text", "text": "state"}, {"kind": "data", "data": {"n": 7}},
        {"kind": "text", "text": "more"}]);
    let done = ours.result("poet", "message/send", send.clone()).await;
    // Its first word is no longer alone.
    assert_eq!(answer(&done), "echo: state\nmore");
    assert_eq!(graph.runs()[0].0["input"]["n"], 7);
    for dangerous in ["messages", "resume"] {
        send["message"]["parts"] = json!([{"kind": "data", "data": {dangerous: []}}]);
        let refused = ours.result("poet", "message/send", send.clone()).await;
        assert_eq!(refused["status"]["state"], "rejected", "{refused}");
        assert!(text_of(&refused["status"]["message"]).contains(dangerous));
    }
    assert_eq!(graph.runs().len(), 1);
}

#[tokio::test]
async fn files_are_sent_where_they_are_taken_and_refused_where_not() {
    let mut send = say("look");
    send["message"]["parts"].as_array_mut().unwrap().push(
        json!({"kind": "file", "file": {"bytes": "aGVsbG8=", "mimeType": "image/png", "name": "a.png"}}),
    );
    let (graph, ours) = pair(false).await;
    let done = ours.result("poet", "message/send", send.clone()).await;
    assert_eq!(answer(&done), "echo: look");
    let sent = graph.asked().remove(0).2;
    let file = &sent["params"]["message"]["parts"][1]["file"];
    assert_eq!(
        *file,
        json!({"bytes": "aGVsbG8=", "mimeType": "image/png", "name": "a.png"})
    );
    let (graph, ours) = pair(true).await;
    let refused = ours.rpc("poet", "message/send", send.clone()).await;
    assert_eq!(
        refused.body["error"]["code"], -32005,
        "its card takes none: {:?}",
        refused.body
    );
    // Who does not say what it is, is told by the server.
    let last = send["message"]["parts"]
        .as_array_mut()
        .unwrap()
        .last_mut()
        .unwrap();
    last["file"] = json!({"bytes": "aGVsbG8="});
    let refused = ours.result("poet", "message/send", send).await;
    assert_eq!(refused["status"]["state"], "rejected", "{refused}");
    assert!(graph.runs().is_empty());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_what_to_do() {
    let yaml = "agents: {poet: {timeouts: {upstream: 0s}, langgraph: {url: 'http://127.0.0.1:9', assistant: poet}}}";
    let ours = Server::serve(yaml).await;
    let failed = ours.result("poet", "message/send", say("hello")).await;
    let text = failure(&failed);
    assert!(
        text.starts_with("upstream http://127.0.0.1:9/ is unreachable: Connection refused"),
        "{text}"
    );
}

#[tokio::test]
async fn an_assistant_that_is_not_there_is_named_with_what_to_do() {
    let (_graph, ours) = pair(false).await;
    let yaml = std::fs::read_to_string(ours.configuration()).unwrap();
    let ours = Server::serve(&yaml.replace("assistant: poet", "assistant: nobody")).await;
    let failed = ours.result("poet", "message/send", say("hello")).await;
    assert!(
        failure(&failed).ends_with("check the agent's `assistant`"),
        "{failed}"
    );
    assert!(ours.logged().contains("no graph or assistant named"));
}

#[tokio::test]
async fn the_card_is_the_assistants_with_what_the_file_says() {
    let (_graph, ours) = pair(false).await;
    let card = ours.get("/a2a/poet/.well-known/agent-card.json").await.body;
    assert_eq!(
        (&card["name"], &card["description"]),
        (&json!("poet"), &json!("poet assistant"))
    );
    assert_eq!(card["skills"][0]["name"], "poet Capabilities");
    let (graph, _) = pair(true).await;
    let yaml = format!(
        "agents: {{poet: {{langgraph: {{url: '{}', assistant: poet}}, title: Poet, skills: [{{id: rhyme, description: Rhymes}}]}}}}",
        graph.base
    );
    let ours = Server::serve(&yaml).await;
    let card = ours.get("/a2a/poet/.well-known/agent-card.json").await.body;
    assert_eq!(
        (&card["name"], &card["description"]),
        (&json!("Poet"), &json!("poet assistant"))
    );
    assert_eq!(card["skills"][0]["id"], "rhyme");
    assert_eq!(card["skills"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn it_is_shown_who_we_are_and_a_refusal_says_what_to_do() {
    let graph = LangGraph::start().await;
    graph.asks_for("s3cr3t");
    let yaml = format!(
        "agents: {{poet: {{langgraph: {{url: '{}', assistant: poet}}, identity: {{headers: {{x-api-key: '${{KEY}}'}}}}}}}}",
        graph.base
    );
    let ours = Server::serve_with(&yaml, &[], &[("KEY", "s3cr3t")]).await;
    let card = ours.get("/a2a/poet/.well-known/agent-card.json").await;
    assert_eq!(
        card.body["name"], "poet",
        "the card is asked for with it, too"
    );
    let done = ours.result("poet", "message/send", say("hello")).await;
    assert_eq!(answer(&done), "echo: hello");
    let ours = Server::serve_with(&yaml, &[], &[("KEY", "wr0ng")]).await;
    let failed = ours.result("poet", "message/send", say("hello")).await;
    let text = failure(&failed);
    assert!(text.contains("rejected the agent's credentials"), "{text}");
    assert!(!ours.logged().contains("wr0ng"));
}

#[tokio::test]
async fn who_forwards_the_callers_credentials_asks_the_caller_for_better_ones() {
    let graph = LangGraph::start().await;
    graph.asks_for("right");
    let yaml = format!(
        "agents: {{poet: {{langgraph: {{url: '{}', assistant: poet}}, identity: {{forward: [x-api-key]}}}}}}",
        graph.base
    );
    let ours = Server::serve(&yaml).await;
    let call = |key: &str, task: &Value| {
        let mut params = say("hello");
        if !task.is_null() {
            params["message"]["taskId"] = task.clone();
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params});
        let request = ours.http.post(ours.url("/a2a/poet")).json(&body);
        switchboard_testkit::answer(request.header("x-api-key", key))
    };
    let refused = call("wrong", &Value::Null).await.body["result"].clone();
    assert_eq!(refused["status"]["state"], "auth-required", "{refused}");
    let done = call("right", &refused["id"]).await.body["result"].clone();
    assert_eq!(answer(&done), "echo: hello");
    assert_eq!(graph.runs().len(), 1);
}

#[tokio::test]
async fn a_release_without_streams_is_asked_without() {
    let (graph, ours) = pair(true).await;
    graph.is_deaf();
    let done = ours
        .result("poet", "message/send", say("words a b c"))
        .await;
    assert_eq!(answer(&done), "a b c");
    assert_eq!(graph.runs().len(), 1);
}

#[tokio::test]
async fn s0_052_requests_and_answers_are_logged_for_those_who_look_for_a_fault() {
    let graph = LangGraph::start().await;
    let yaml = format!(
        "log: {{level: 'debug,switchboard::content=debug'}}\nagents: {{poet: {{langgraph: {{url: '{}', assistant: poet}}}}}}",
        graph.base
    );
    let ours = Server::serve(&yaml).await;
    ours.result("poet", "message/send", say("hello")).await;
    let logged = ours.logged();
    assert!(logged.contains("A2A Request: {"), "{logged}");
    assert!(logged.contains("A2A Response: {"), "S0-053");
}

#[tokio::test]
async fn a_cancel_stops_the_run_that_goes_on_after_a_question() {
    for old in [false, true] {
        let (graph, ours) = pair(old).await;
        let asked = ours.result("poet", "message/send", say("input")).await;
        let mut reply = say("never");
        reply["message"]["taskId"] = asked["id"].clone();
        reply["configuration"] = json!({"blocking": false});
        ours.result("poet", "message/send", reply).await;
        eventually("a second run", async || graph.runs().len() >= 2).await;
        let canceled = ours
            .result("poet", "tasks/cancel", json!({"id": asked["id"]}))
            .await;
        assert_eq!(canceled["status"]["state"], "canceled");
        let stands: Vec<String> = graph.runs().into_iter().map(|run| run.1).collect();
        assert_eq!(stands, ["success", "interrupted"], "old: {old}");
    }
}
