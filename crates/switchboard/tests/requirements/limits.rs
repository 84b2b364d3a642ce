//! How often, and how much at once (S1 §10.2, S2 rate limiting).

use serde_json::{Value, json};
use switchboard_testkit::{Server, answer, eventually, say};

fn call(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// S2-099, S2-100, S2-101, S2-102: the sample of the specification, and another limit for one agent.
#[tokio::test]
async fn s2_099_answers_say_how_often_one_may_ask() {
    let yaml = "limits: {rate: {requests: 100, per: 60s}}\n\
                agents:\n  quick: {script: [{complete: hi}]}\n  \
                rare: {script: [{complete: hi}], limits: {rate: {requests: 1, per: 1h}}}\n  \
                free: {script: [{complete: hi}], limits: {rate: unlimited}}\n";
    let server = Server::serve(yaml).await;
    let send = call("message/send", &say("hi"));
    for left in ["99", "98"] {
        let taken = server.post("/a2a/quick", &send).await;
        assert_eq!(taken.status, 200);
        assert_eq!(taken.headers["x-ratelimit-limit"], "100");
        assert_eq!(taken.headers["x-ratelimit-remaining"], left);
        let reset = taken.headers["x-ratelimit-reset"]
            .to_str()
            .map(str::parse::<u64>);
        assert!(
            matches!(reset, Ok(Ok(at)) if at > 1_700_000_000),
            "{reset:?}"
        );
    }
    assert_eq!(server.post("/a2a/rare", &send).await.status, 200);
    let refused = server.post("/a2a/rare", &send).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.headers["x-ratelimit-limit"], "1");
    assert_eq!(refused.headers["x-ratelimit-remaining"], "0");
    assert_eq!(refused.headers["retry-after"], "3600");
    let error = &refused.body["error"];
    assert_eq!(error["code"], -32056);
    assert_eq!(error["data"]["retryAfterSeconds"], "3600");
    let free = server.post("/a2a/free", &send).await;
    assert!(!free.headers.contains_key("x-ratelimit-limit"));
}

#[tokio::test]
async fn s1_040_tasks_beyond_the_limit_wait_and_are_kept() {
    let yaml = "limits: {tasks: 1, queue: {length: 2}}\n\
                agents: {slow: {script: [{say: Processing}, {wait: 60s}]}}\n";
    let server = Server::serve(yaml).await;
    let mut params = say("hi");
    params["configuration"] = json!({"blocking": false});
    let send = call("message/send", &params);
    let first = server.post("/a2a/slow", &send).await;
    let second = server.post("/a2a/slow", &send).await;
    assert_eq!(second.body["result"]["status"]["state"], "submitted");
    // One caller has half of the line.
    let third = server.post("/a2a/slow", &send).await;
    assert_eq!(third.status, 429);
    assert_eq!(third.body["error"]["data"]["reason"], "RESOURCE_EXHAUSTED");
    let id = &first.body["result"]["id"];
    let canceled = server
        .post("/a2a/slow", &call("tasks/cancel", &json!({"id": id})))
        .await;
    assert_eq!(canceled.body["result"]["status"]["state"], "canceled");
    let get = call("tasks/get", &json!({"id": second.body["result"]["id"]}));
    eventually("the turn of the second one", async || {
        server.post("/a2a/slow", &get).await.body["result"]["status"]["state"] == "working"
    })
    .await;
}

#[tokio::test]
async fn a_page_of_elsewhere_is_refused_and_one_on_the_list_is_not() {
    let yaml =
        "cors: {origins: ['https://app.example']}\nagents: {quick: {script: [{complete: hi}]}}\n";
    let server = Server::serve(yaml).await;
    let body = call("message/send", &say("hi"));
    let from = |origin: &str| {
        let request = server.http.post(server.url("/a2a/quick")).json(&body);
        answer(request.header("origin", origin))
    };
    assert_eq!(from("https://evil.example").await.status, 403);
    let taken = from("https://app.example").await;
    assert_eq!(taken.status, 200);
    let allowed = &taken.headers["access-control-allow-origin"];
    assert_eq!(allowed, "https://app.example");
}
