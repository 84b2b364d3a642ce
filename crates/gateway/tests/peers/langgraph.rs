//! Where LangGraph differs from what its card says, and our client copes or says so.

use switchboard_client::{Client, Sent, answer_text, text};
use switchboard_types::ErrorKind;
use switchboard_types::model::{ContextId, Event, TaskState};

use crate::agent::Agent;

async fn connect(agent: &Agent) -> Client {
    let builder = Client::builder().address(agent.address);
    builder.connect(agent.url.as_str()).await.expect("a client")
}

#[tokio::test]
async fn langgraph_and_its_traps() {
    let agent = Agent::langgraph().await;
    let client = connect(&agent).await;
    a_stream_in_mixed_shapes_has_an_answer(&client).await;
    a_task_that_is_read_has_its_answer(&client).await;
    who_waits_for_a_canceled_task_is_told(&client).await;
    a_conversation_goes_on(&client).await;
    a_conversation_it_cannot_have_is_refused(&client).await;
    the_name_of_a_graph_is_no_address(&agent).await;
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
}

/// Nor is an agent found by the name of its graph, but by a UUID.
async fn the_name_of_a_graph_is_no_address(agent: &Agent) {
    let (base, _) = agent.url.rsplit_once('/').expect("a path");
    let error = Client::connect(format!("{base}/peer").as_str())
        .await
        .expect_err("there is no such agent");
    assert!(error.to_string().contains("no card was found"), "{error}");
}
