//! What a task may cost, with all that it hands on.

use serde_json::{Value, json};
use switchboard_testkit::{Server, say, text_of};

/// Each asks the next one, and tells what comes of it.
const LINE: &str = "
agents:
  a: { BUDGET, script: [{ call: { agent: b } }, { complete: 'a: {{call.b.text}}' }] }
  b: { budget: { calls: 100 }, script: [{ call: { agent: c, failed: [{ complete: 'b: {{call.c.text}}' }] } }, { complete: 'b: {{call.c.text}}' }] }
  c: { script: [{ call: { agent: d, failed: [{ complete: 'c: {{call.d.text}}' }] } }, { complete: 'c: {{call.d.text}}' }] }
  d: { script: [{ complete: done }] }
";

fn with(budget: &str) -> String {
    LINE.replace("BUDGET", budget)
}

fn said(task: &Value) -> String {
    text_of(&task["status"]["message"])
}

#[tokio::test]
async fn calls_are_counted_all_the_way_and_nobody_can_allow_more() {
    for (budget, expected) in [
        ("budget: { calls: 3 }", "a: b: c: done"),
        (
            "budget: { calls: 2 }",
            "a: b: c: the budget of this task has no calls of other agents left",
        ),
        (
            "budget: { calls: 1 }",
            "a: b: the budget of this task has no calls of other agents left",
        ),
    ] {
        let server = Server::serve(&with(budget)).await;
        let task = server.result("a", "message/send", say("go")).await;
        assert_eq!(said(&task), expected, "{budget}: {task}");
    }
}

#[tokio::test]
async fn what_others_have_spent_is_gone() {
    let server = Server::serve(
        "
agents:
  a:
    budget: { calls: 5 }
    script:
      - repeat:
          times: 4
          do:
            - call: { agent: b, failed: [{ say: 'no: {{call.b.text}}' }] }
            - say: '{{call.b.text}}'
      - complete: end
  b: { script: [{ call: { agent: c, failed: [{ complete: alone }] } }, { complete: with c }] }
  c: { script: [{ complete: done }] }
",
    )
    .await;
    let events = server.stream("a", "message/stream", say("go")).await;
    let events = events.results().await;
    let texts: Vec<String> = events
        .iter()
        .filter(|event| event["metadata"]["delegate"].is_null())
        .map(|event| text_of(&event["status"]["message"]))
        .filter(|text| !text.is_empty())
        .collect();
    let spent = "no: the budget of this task has no calls of other agents left";
    // Two for each that can, one for one that cannot.
    assert_eq!(texts[..3], ["with c", "with c", "alone"], "{texts:?}");
    assert_eq!(texts[3], spent, "{texts:?}");
    let told = &events.last().unwrap()["metadata"]["switchboard/spent"];
    assert_eq!(told["calls"], 5, "{events:?}");
}

#[tokio::test]
async fn time_is_up_for_all_of_them() {
    let server = Server::serve(
        "
agents:
  a: { budget: { time: 500ms }, script: [{ call: { agent: b } }] }
  b: { script: [{ wait: 60s }] }
",
    )
    .await;
    let task = server.result("a", "message/send", say("go")).await;
    assert_eq!(task["status"]["state"], "failed", "{task}");
    let text = said(&task);
    assert!(text.contains("has no time left"), "{text}");
    let path = "/a2a/b/tasks?A2A-Version=1.0";
    let children = server.get(path).await.body;
    let child = &children["tasks"][0]["id"];
    server.until("b", child, &["failed", "canceled"]).await;
}

#[tokio::test]
async fn a_caller_can_give_one_and_it_must_be_readable() {
    let server = Server::serve(&with("reply: task")).await;
    let send = |budget: Value| {
        let mut params = say("go");
        params["message"]["metadata"] = json!({ "switchboard/budget": budget });
        params
    };
    let task = server
        .result("a", "message/send", send(json!({"calls": 1})))
        .await;
    assert!(
        said(&task).contains("no calls of other agents left"),
        "{task}"
    );
    let task = server.result("a", "message/send", send(json!({}))).await;
    assert_eq!(said(&task), "a: b: c: done");
    for wrong in [json!(3), json!({"calls": -1}), json!({"time": "1s"})] {
        let error = server.error("a", "message/send", send(wrong.clone())).await;
        assert_eq!(error["code"], -32602, "{wrong}: {error}");
    }
    // It is over before it has begun.
    let late = send(json!({"until": 1000}));
    let task = server.result("a", "message/send", late).await;
    assert!(said(&task).contains("no time left"), "{task}");
}

#[tokio::test]
async fn a_call_that_a_crash_cut_off_is_paid_for_once() {
    let mut server = Server::serve(
        "
agents:
  a:
    budget: { calls: 2 }
    script:
      - call: { agent: slow }
      - call: { agent: quick }
      - complete: '{{call.slow.text}}, {{call.quick.text}}'
  slow: { script: [{ say: begun }, { wait: 400ms }, { complete: slow }] }
  quick: { script: [{ complete: quick }] }
",
    )
    .await;
    let mut events = server.stream("a", "message/stream", say("go")).await;
    let first = events.next().await.unwrap().data["result"].clone();
    loop {
        let event = events.next().await.unwrap();
        if text_of(&event.data["result"]["status"]["message"]).contains("begun") {
            break;
        }
    }
    server.kill().await;
    server.restart().await;
    let ended = ["completed", "failed"];
    let done = server.until("a", &first["id"], &ended).await;
    assert_eq!(said(&done), "slow, quick", "{done}");
}

#[tokio::test]
async fn what_fails_has_cost_what_it_has_spent() {
    let server = Server::serve(
        "
agents:
  a:
    budget: { calls: 3 }
    script:
      - call: { agent: b, failed: [{ say: failed }] }
      - call: { agent: d }
      - call: { agent: d, failed: [{ complete: 'no: {{call.d.text}}' }] }
      - complete: too much
  b: { script: [{ call: { agent: d } }, { fail: broken }] }
  d: { script: [{ complete: done }] }
",
    )
    .await;
    let task = server.result("a", "message/send", say("go")).await;
    let expected = "no: the budget of this task has no calls of other agents left";
    assert_eq!(said(&task), expected, "{task}");
}

#[tokio::test]
async fn an_answer_is_no_other_call() {
    let server = Server::serve(
        "
agents:
  a: { budget: { calls: 1 }, script: [{ call: { agent: asker } }, { complete: '{{call.asker.text}}' }] }
  asker:
    script:
      - choose:
          - when: { turn: 1 }
            do: [{ ask: which one? }]
      - complete: 'you chose {{text}}'
",
    )
    .await;
    let task = server.result("a", "message/send", say("go")).await;
    assert_eq!(task["status"]["state"], "input-required", "{task}");
    let mut second = say("this");
    second["message"]["taskId"] = task["id"].clone();
    let task = server.result("a", "message/send", second).await;
    assert_eq!(said(&task), "you chose this", "{task}");
}

#[tokio::test]
async fn what_asks_has_cost_what_it_has_spent_so_far() {
    let server = Server::serve(
        "
agents:
  a:
    budget: { calls: 3 }
    script:
      - choose:
          - when: { turn: 1 }
            do: [{ call: { agent: b } }]
      - call: { agent: d }
      - call: { agent: d, failed: [{ complete: 'no: {{call.d.text}}' }] }
      - complete: too much
  b: { script: [{ call: { agent: d } }, { ask: which one? }] }
  d: { script: [{ complete: done }] }
",
    )
    .await;
    let task = server.result("a", "message/send", say("go")).await;
    assert_eq!(task["status"]["state"], "input-required", "{task}");
    let mut second = say("this");
    second["message"]["taskId"] = task["id"].clone();
    let task = server.result("a", "message/send", second).await;
    let expected = "no: the budget of this task has no calls of other agents left";
    assert_eq!(said(&task), expected, "{task}");
}

#[tokio::test]
async fn what_took_too_long_and_what_failed_elsewhere_has_cost_what_it_has_spent() {
    let far = Server::serve(
        "
agents:
  b: { script: [{ call: { agent: d } }, { fail: broken }] }
  d: { script: [{ complete: done }] }
",
    )
    .await;
    let near = "
agents:
  a:
    budget: { calls: 3 }
    script:
      - call: { agent: CALLED, failed: [{ say: failed }] }
      - call: { agent: d }
      - call: { agent: d, failed: [{ complete: 'no: {{call.d.text}}' }] }
      - complete: too much
  slow: { timeouts: { task: 300ms }, script: [{ call: { agent: d } }, { wait: 60s }] }
  far: { a2a: { url: FAR } }
  d: { script: [{ complete: done }] }
";
    let near = near.replace("FAR", &far.url("/a2a/b"));
    for called in ["slow", "far"] {
        let server = Server::serve(&near.replace("CALLED", called)).await;
        let task = server.result("a", "message/send", say("go")).await;
        let expected = "no: the budget of this task has no calls of other agents left";
        assert_eq!(said(&task), expected, "{called}: {task}");
    }
}
