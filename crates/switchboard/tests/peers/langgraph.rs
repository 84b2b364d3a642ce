//! Where LangGraph differs from what its card says, and our client copes or says so. The same traps, each with a test
//! of its own and a recorded answer, are in `crates/client/tests/calls/langgraph`.

use serde_json::{Value, json};
use switchboard_client::{Client, Sent, answer_text, parts, text};
use switchboard_testkit::answer;
use switchboard_types::ErrorKind;
use switchboard_types::model::{ContextId, Event, Json, MessageId, Part, TaskState};

use crate::agent::Agent;
use crate::environment::Environment;

async fn connect(agent: &Agent) -> Client {
    let builder = Client::builder().address(agent.address);
    builder.connect(agent.url.as_str()).await.expect("a client")
}

#[tokio::test]
async fn langgraph_and_its_traps() {
    let agent = Agent::langgraph(Environment::LangGraph).await;
    let client = connect(&agent).await;
    a_stream_in_mixed_shapes_has_an_answer(&client).await;
    a_task_that_is_read_has_its_answer(&client).await;
    who_waits_for_a_canceled_task_is_told(&client).await;
    a_conversation_goes_on(&client).await;
    a_conversation_it_cannot_have_is_refused(&client).await;
    the_name_of_a_graph_is_no_address(&agent).await;
    a_message_id_that_is_used_again_takes_the_first_ones_place(&client).await;
    the_keys_of_data_become_state(&agent, &client).await;
    who_does_not_say_what_it_takes_is_refused(&agent).await;
    parameters_in_a_list_crash_it(&agent).await;
}

#[tokio::test]
async fn langgraph_0_6_39_and_its_traps() {
    let agent = Agent::langgraph(Environment::LangGraph06).await;
    let client = connect(&agent).await;
    a_stream_in_mixed_shapes_has_an_answer(&client).await;
    a_conversation_goes_on(&client).await;
    a_conversation_it_cannot_have_is_refused(&client).await;
    who_does_not_say_what_it_takes_is_refused(&agent).await;
    a_task_cannot_be_read_by_its_id(&client).await;
    a_question_looks_like_an_answer(&client).await;
    its_answers_are_shown(&agent).await;
}

/// Its first event is one of 1.0, the others are of 0.3, and each text holds all that was said so far.
async fn a_stream_in_mixed_shapes_has_an_answer(client: &Client) {
    let mut events = client.stream(text("stream")).await.expect("a stream");
    let mut states = Vec::new();
    while let Some(item) = events.next().await {
        if let Event::Status(update) = item.expect("an event").event {
            states.push(update.status.state);
        }
    }
    assert_eq!(states.last(), Some(&TaskState::Completed));
    let sent = events.finish().await.expect("an end");
    assert_eq!(answer_text(&sent), "one two three");
}

/// Its tasks have no artifacts when they are read again: the answer is in the history.
async fn a_task_that_is_read_has_its_answer(client: &Client) {
    let Ok(Sent::Task(task)) = client.send(text("hello again")).await else {
        panic!("no task");
    };
    let read = client.get(&task.id, None).await.expect("a task");
    assert_eq!(read.artifacts.len(), 0);
    assert_eq!(answer_text(&*read), "echo: hello again");
}

/// Who waits for a task that is canceled is told that it was completed, with an empty answer.
async fn who_waits_for_a_canceled_task_is_told(client: &Client) {
    let mut events = client.stream(text("long")).await.expect("a stream");
    while events.task().is_none() {
        events.next().await.expect("a task").expect("an event");
    }
    let id = events.task().expect("a task").id.clone();
    client.cancel(&id).await.expect("it is canceled");
    let Ok(Sent::Task(task)) = events.finish().await else {
        panic!("no task");
    };
    assert_eq!(task.status.state, TaskState::Canceled);
}

async fn a_conversation_goes_on(client: &Client) {
    let Ok(Sent::Task(first)) = client.send(text("hello")).await else {
        panic!("no task");
    };
    let mut second = text("turns");
    second.message.context_id = Some(first.context_id.clone());
    let sent = client.send(second).await.expect("an answer");
    assert_eq!(answer_text(&sent), "2");
}

/// A conversation is a UUID there.
async fn a_conversation_it_cannot_have_is_refused(client: &Client) {
    let mut message = text("hello");
    message.message.context_id = ContextId::new("router_task_1").ok();
    let error = client.send(message).await.expect_err("it is refused");
    assert!(error.is(ErrorKind::InvalidParams), "{error}");
    assert!(error.to_string().contains("Invalid thread ID"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("UUID")));
}

/// Nor is an agent found by the name of its graph, but by a UUID.
async fn the_name_of_a_graph_is_no_address(agent: &Agent) {
    let (base, _) = agent.url.rsplit_once('/').expect("a path");
    let error = Client::connect(format!("{base}/peer").as_str())
        .await
        .expect_err("there is no such agent");
    assert!(error.to_string().contains("no card was found"), "{error}");
}

/// What happens to those who use one; ours are always new, and so the first of two is still there.
async fn a_message_id_that_is_used_again_takes_the_first_ones_place(client: &Client) {
    for (again, turns) in [(true, "1"), (false, "2")] {
        let first = text("hello");
        let id: MessageId = first.message.id.clone();
        let Ok(Sent::Task(task)) = client.send(first).await else {
            panic!("no task");
        };
        let mut second = text("turns");
        second.message.context_id = Some(task.context_id.clone());
        if again {
            second.message.id = id;
        }
        let sent = client.send(second).await.expect("an answer");
        assert_eq!(answer_text(&sent), turns);
    }
}

/// Data goes where the graph keeps what it knows: `messages` takes the place of the text.
async fn the_keys_of_data_become_state(agent: &Agent, client: &Client) {
    let injected = json!({"messages": [{"role": "user", "content": "injected"}]}).to_string();
    let data = Part::data(Json::parse(&injected).expect("JSON"));
    let message = parts(vec![Part::text("the text"), data]);
    let warnings = client.warnings(&message);
    assert!(warnings[0].contains("`messages`"), "{warnings:?}");
    let sent = client.send(message).await.expect("an answer");
    assert_eq!(answer_text(&sent), "echo: injected");

    let told = switchboard(
        agent,
        &["send", "--text", "the text", "--data", "-"],
        &injected,
    )
    .await;
    assert!(
        told.1.contains("warning: the agent takes `messages`"),
        "{told:?}"
    );
    assert!(told.0.contains("echo: injected"), "{told:?}");
}

/// The command line, in a folder of its own: what it prints, and what it tells people.
async fn switchboard(agent: &Agent, args: &[&str], input: &str) -> (String, String) {
    use tokio::io::AsyncWriteExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(args)
        .args(["-a", &agent.url, "--use-given-address"])
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("its input");
    // It may have no use for it.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    let done = child.wait_with_output().await.expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&done.stdout), text(&done.stderr))
}

fn call(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": "1", "method": method, "params": params}).to_string()
}

/// Every request of ours says so; who does not is refused in a way that is no JSON-RPC.
async fn who_does_not_say_what_it_takes_is_refused(agent: &Agent) {
    let message =
        json!({"role": "user", "messageId": "m", "parts": [{"kind": "text", "text": "x"}]});
    let body = call("message/send", &json!({"message": message}));
    let post = reqwest::Client::new().post(&agent.url).body(body);
    let refused = answer(post.header("accept", "text/html")).await;
    assert_eq!(refused.status, 400);
    assert_eq!(
        refused.body["error"],
        "Accept header must include application/json"
    );
}

/// Ours are always an object.
async fn parameters_in_a_list_crash_it(agent: &Agent) {
    let body = call("tasks/get", &json!(["x"]));
    let post = reqwest::Client::new().post(&agent.url).body(body);
    let crashed = post.header("accept", "application/json").send().await;
    let crashed = crashed.expect("an answer");
    assert_eq!(crashed.status(), 500);
    assert_eq!(
        crashed.text().await.expect("a text"),
        "Internal Server Error"
    );
}

/// It wants the conversation with it, which A2A does not send.
async fn a_task_cannot_be_read_by_its_id(client: &Client) {
    let Ok(Sent::Task(task)) = client.send(text("hello")).await else {
        panic!("no task");
    };
    let error = client.get(&task.id, None).await.expect_err("refused");
    assert!(error.is(ErrorKind::InvalidParams), "{error}");
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains("by its id alone"))
    );
}

/// Which nobody can tell: it is said to be completed, with what was sent as its answer.
async fn a_question_looks_like_an_answer(client: &Client) {
    let Ok(Sent::Task(task)) = client.send(text("input")).await else {
        panic!("no task");
    };
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(answer_text(&*task), "input");
}

/// Its streams have no artifact: the answer is what it said last.
async fn its_answers_are_shown(agent: &Agent) {
    let (out, err) = switchboard(agent, &["send", "hello"], "").await;
    assert!(out.contains("Text:\necho: hello\n"), "{out}{err}");
}
