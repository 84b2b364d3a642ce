//! Questions of a graph that nobody answers any more, in both releases: they are withdrawn there, and nobody else's are.

use serde_json::{Value, json};
use switchboard_testkit::{Server, begin, eventually, say, text_of};

use crate::langgraph::{pair, within};
use crate::langgraph_credentials::{call, pair as guarded, state, tell};
use crate::langgraph_server::LangGraph;

async fn ask(ours: &Server) -> Value {
    let asked = ours.result("poet", "message/send", say("input")).await;
    assert_eq!(state(&asked), "input-required", "{asked}");
    asked
}

async fn cancel(ours: &Server, task: &Value) {
    let gone = ours.result("poet", "tasks/cancel", json!({"id": task}));
    assert_eq!(state(&gone.await), "canceled");
}

async fn until_withdrawn(graph: &LangGraph) {
    eventually("a withdrawal", async || graph.asks().is_empty()).await;
}

/// How often it was told that a question is withdrawn.
fn withdrawals(graph: &LangGraph) -> usize {
    let asked = graph.asked();
    let told = asked.iter().filter(|a| a.2["method"] == "tasks/cancel");
    told.count() + graph.ends()
}

#[tokio::test]
async fn a_question_is_withdrawn_with_its_task_and_what_is_said_later_is_no_answer() {
    for old in [false, true] {
        let (graph, ours) = pair(old).await;
        let asked = ask(&ours).await;
        assert_eq!(graph.asks().len(), 1, "old: {old}");
        cancel(&ours, &asked["id"]).await;
        until_withdrawn(&graph).await;
        let later = within(&asked["contextId"], "hello");
        let done = ours.result("poet", "message/send", later).await;
        assert_eq!(text_of(&done["artifacts"][0]), "echo: hello", "{done}");
    }
}

#[tokio::test]
async fn a_question_is_withdrawn_though_its_answer_stands_in_line() {
    for old in [false, true] {
        let graph = LangGraph::release(old).await;
        let yaml = format!(
            "limits: {{tasks: 1}}\nagents: {{poet: {{langgraph: {{url: '{}', assistant: poet}}}}}}",
            graph.base
        );
        let ours = Server::serve(&yaml).await;
        let asked = ask(&ours).await;
        ours.result("poet", "message/send", begin("long")).await;
        let mut answer = begin("green");
        answer["message"]["taskId"] = asked["id"].clone();
        ours.result("poet", "message/send", answer).await;
        cancel(&ours, &asked["id"]).await;
        until_withdrawn(&graph).await;
    }
}

#[tokio::test]
async fn a_question_is_withdrawn_though_its_answer_could_not_be_sent() {
    for old in [false, true] {
        let (graph, ours) = guarded(old).await;
        let asked = tell(&ours, "right", "input", &Value::Null, true).await;
        let wanted = tell(&ours, "old", "green", &asked["id"], true).await;
        assert_eq!(state(&wanted), "auth-required", "{wanted}");
        assert_eq!(graph.asks().len(), 1, "old: {old}");
        let gone = json!({"id": asked["id"]});
        call(&ours, "poet", "right", "tasks/cancel", gone).await;
        until_withdrawn(&graph).await;
    }
}

/// A server that is away when the task is canceled is told when it is back, though ours was killed meanwhile.
#[tokio::test]
async fn what_is_asked_or_runs_at_a_server_that_is_away_ends_after_a_crash() {
    for (old, said) in [
        (false, "input"),
        (true, "input"),
        (false, "long"),
        (true, "long"),
    ] {
        let (graph, mut ours) = pair(old).await;
        let task = ours.result("poet", "message/send", begin(said)).await["id"].clone();
        let waits =
            || !graph.asks().is_empty() || graph.runs().iter().any(|run| run.1 == "running");
        eventually("a run", async || waits()).await;
        if said == "input" {
            ours.until("poet", &task, &["input-required"]).await;
        }
        graph.is_away(true);
        cancel(&ours, &task).await;
        ours.kill().await;
        assert!(waits(), "old: {old}, {said}");
        graph.is_away(false);
        ours.restart().await;
        eventually("the end of the run", async || !waits()).await;
    }
}

#[tokio::test]
async fn a_question_of_another_task_in_the_conversation_stays() {
    for old in [false, true] {
        let (graph, ours) = pair(old).await;
        let first = ask(&ours).await;
        let again = within(&first["contextId"], "input");
        let second = ours.result("poet", "message/send", again).await;
        assert_eq!(state(&second), "input-required", "{second}");
        let looks = graph.looks();
        cancel(&ours, &first["id"]).await;
        eventually("a request", async || match old {
            true => graph.looks() > looks,
            false => withdrawals(&graph) > 0,
        })
        .await;
        ours.result("poet", "message/send", say("hello")).await;
        assert_eq!(graph.asks().len(), 1, "old: {old}");
        let mut answer = say("green");
        answer["message"]["taskId"] = second["id"].clone();
        let done = ours.result("poet", "message/send", answer).await;
        assert_eq!(text_of(&done["artifacts"][0]), "you chose green", "{done}");
    }
}

/// One that is canceled before it has begun leaves the thread as it was: with a question that it did not answer.
#[tokio::test]
async fn a_question_that_stood_before_a_task_stays() {
    let (graph, ours) = pair(true).await;
    let first = ask(&ours).await;
    let mut second = within(&first["contextId"], "queue");
    second["configuration"] = json!({"blocking": false});
    let second = ours.result("poet", "message/send", second).await;
    eventually("a second run", async || graph.runs().len() == 2).await;
    let looks = graph.looks();
    cancel(&ours, &second["id"]).await;
    eventually("a request", async || graph.looks() > looks).await;
    assert_eq!(graph.ends(), 0);
    let mut answer = say("green");
    answer["message"]["taskId"] = first["id"].clone();
    let done = ours.result("poet", "message/send", answer).await;
    assert_eq!(text_of(&done["artifacts"][0]), "you chose green", "{done}");
}

/// Neither a restart, nor who comes too late, withdraws it again.
#[tokio::test]
async fn a_question_that_nobody_answers_is_withdrawn_there_once() {
    for old in [false, true] {
        let graph = LangGraph::release(old).await;
        let yaml = format!(
            "agents: {{poet: {{langgraph: {{url: '{}', assistant: poet}}, timeouts: {{input: 1s}}}}}}",
            graph.base
        );
        let mut ours = Server::serve(&yaml).await;
        let asked = ask(&ours).await;
        // What is left of its time is kept.
        ours.kill().await;
        ours.restart().await;
        ours.until("poet", &asked["id"], &["failed"]).await;
        until_withdrawn(&graph).await;
        let gone = json!({"id": asked["id"]});
        ours.error("poet", "tasks/cancel", gone).await;
        let mut late = say("green");
        late["message"]["taskId"] = asked["id"].clone();
        ours.error("poet", "message/send", late).await;
        ours.kill().await;
        ours.restart().await;
        let done = ours.result("poet", "message/send", say("hello")).await;
        assert_eq!(text_of(&done["artifacts"][0]), "echo: hello", "{done}");
        assert_eq!(withdrawals(&graph), 1, "old: {old}");
    }
}
