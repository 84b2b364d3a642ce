//! Agents that hand work to each other: how far, and not in a circle; and the rules by which they do.

#![expect(clippy::expect_used, reason = "a test may stop where it is surprised")]

mod budgets;
mod chat;
mod decided;
mod links;
mod rules;
mod secrets;
mod withdrawn;

use serde_json::{Value, json};
use switchboard_testkit::{Server, answer, say, text_of};

/// Three agents, each of which asks the next one; and a line of such that is as long as one wants.
const TRIANGLE: &str = "
agents:
  a: { script: [{ call: { agent: b } }, { complete: 'a done' }] }
  b: { script: [{ call: { agent: c } }, { complete: 'b done' }] }
  c: { script: [{ call: { agent: a } }, { complete: 'c done' }] }
";

/// The text of a status.
fn said(task: &Value) -> String {
    text_of(&task["status"]["message"])
}

#[tokio::test]
async fn a_triangle_of_agents_is_stopped_with_a_clear_answer() {
    let server = Server::serve(TRIANGLE).await;
    let task = server.result("a", "message/send", say("go")).await;
    assert_eq!(task["status"]["state"], "failed", "{task}");
    let text = said(&task);
    assert!(text.contains("delegation loop: a → b → c → a"), "{text}");
    // Each agent has worked on it once.
    for agent in ["a", "b", "c"] {
        let list = server
            .get(&format!("/a2a/{agent}/tasks?A2A-Version=1.0"))
            .await;
        let tasks = list.body["tasks"].as_array().unwrap().len();
        assert_eq!(tasks, 1, "{agent}: {}", list.body);
    }
}

#[tokio::test]
async fn an_agent_that_asks_itself_is_stopped() {
    let server = Server::serve(
        "agents: { me: { script: [{ call: { agent: me, failed: [{ complete: 'alone: {{call.me.text}}' }] } }] } }",
    )
    .await;
    let task = server.result("me", "message/send", say("go")).await;
    let text = said(&task);
    assert!(
        text.starts_with("alone: delegation loop: me → me"),
        "{task}"
    );
}

#[tokio::test]
async fn a_call_comes_through_five_agents_or_as_many_as_is_said() {
    let line = |limits: &str| {
        let agents = (1..=8).map(|n| {
            let next = n + 1;
            format!(
                "  a{n}: {{ script: [{{ call: {{ agent: a{next} }} }}, {{ complete: done }}] }}\n"
            )
        });
        let agents: String = agents.collect();
        format!("{limits}\nagents:\n{agents}  a9: {{ script: [{{ complete: done }}] }}\n")
    };
    let server = Server::serve(&line("")).await;
    let task = server.result("a1", "message/send", say("go")).await;
    let text = said(&task);
    let expected = "maximum delegation depth of 5 agents reached (a1 → a2 → a3 → a4 → a5)";
    assert!(text.contains(expected), "{text}");
    let task = server.result("a5", "message/send", say("go")).await;
    assert_eq!(task["status"]["state"], "completed", "{task}");

    let server = Server::serve(&line("limits: { hops: 9 }")).await;
    let task = server.result("a1", "message/send", say("go")).await;
    assert_eq!(task["status"]["state"], "completed", "{task}");
}

#[tokio::test]
async fn the_way_comes_in_by_header_or_metadata_and_must_be_readable() {
    let server = Server::serve("agents: { echo: { script: [{ complete: done }] } }").await;
    let send = |header: Option<&str>, metadata: Value| {
        let body = json!({"message": {"messageId": "m", "role": "ROLE_USER",
            "parts": [{"text": "x"}], "metadata": metadata}});
        let request = server.http.post(server.url("/a2a/echo/message:send"));
        let request = request.header("A2A-Version", "1.0").json(&body);
        answer(match header {
            Some(way) => request.header("X-Switchboard-Hops", way),
            None => request,
        })
    };
    let far = "a@x, b@x, c@x, d@x, e@x";
    let five = json!({"switchboard/hops": ["a@x", "b@x", "c@x", "d@x", "e@x"]});
    for (header, metadata, status) in [
        (None, json!({}), 200),
        (Some("a@x"), json!({"other": 1}), 200),
        (Some(far), json!({}), 400),
        (None, five.clone(), 400),
        // What the message says counts.
        (Some(far), json!({"switchboard/hops": ["a@x"]}), 200),
        (Some("a@x"), five, 400),
        (None, json!({"switchboard/hops": "a"}), 400),
        (Some("a@x"), json!({"switchboard/hops": "a"}), 400),
    ] {
        let answered = send(header, metadata.clone()).await;
        assert_eq!(
            answered.status, status,
            "{header:?} {metadata}: {answered:?}"
        );
    }
    let kept = send(Some("a@x"), json!({"other": 1})).await;
    let history = &kept.body["task"]["history"][0]["metadata"];
    assert_eq!(history, &json!({"other": 1, "switchboard/hops": ["a@x"]}));
}

#[tokio::test]
async fn an_agent_that_not_everyone_may_know_of_is_not_named_on_the_way() {
    let server = Server::serve(
        "agents:\n  back: { visible: false, script: [{ call: { agent: front } }, { complete: done }] }\n  \
         front: { script: [{ complete: done }] }\n  desk: { script: [{ call: { agent: back } }, { complete: done }] }\n",
    )
    .await;
    let task = server.result("desk", "message/send", say("go")).await;
    assert_eq!(task["status"]["state"], "completed", "{task}");
    let list = server
        .get("/a2a/front/tasks?A2A-Version=1.0&historyLength=9")
        .await
        .body;
    let way = &list["tasks"][0]["history"][0]["metadata"]["switchboard/hops"];
    let hops = way.as_array().unwrap();
    assert_eq!(hops.len(), 2, "{list}");
    assert!(hops[0].as_str().unwrap().starts_with("desk@"), "{way}");
    assert!(hops[1].as_str().unwrap().starts_with('#'), "{way}");
    assert!(!list.to_string().contains("back"), "{list}");
}
