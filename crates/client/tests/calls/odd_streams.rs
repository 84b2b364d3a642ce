//! Streams as odd servers write them.

use serde_json::json as value;
use switchboard_client::{Client, Kind, Sent, answer_text, text};
use switchboard_types::ErrorKind;
use switchboard_types::model::TaskState;

use crate::support::{Asked, Odd, Then, sse};

async fn finish(frames: Vec<String>, then: Then) -> Result<Sent, switchboard_client::Error> {
    let odd = Odd::serve(move |asked: Asked| {
        let frames = frames.clone();
        async move {
            match asked.rpc().as_str() {
                "" => asked.card("0.3"),
                _ => sse(frames, then),
            }
        }
    })
    .await;
    let agent = Client::connect(odd.base.as_str()).await.unwrap();
    agent.stream(text("hi")).await?.finish().await
}

fn update(state: &str, said: &str, last: bool) -> String {
    value!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": last,
        "status": {"state": state, "message": {"role": "agent", "messageId": format!("m{said}"),
            "parts": [{"kind": "text", "text": said}]}}})
    .to_string()
}

fn wrapped(event: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"1","result":{event}}}"#)
}

#[tokio::test]
async fn s2_084_events_split_anywhere_are_put_together() {
    let whole = format!(
        "data: {}\r\n\r\n",
        wrapped(&update("completed", "söme", true))
    );
    // In the middle of a character, too.
    let frames = whole.as_bytes().chunks(3);
    let lossless: Vec<String> = {
        // A String cannot hold half a character: cut at characters, one at a time.
        drop(frames);
        whole.chars().map(String::from).collect()
    };
    let sent = finish(lossless, Then::Close).await.unwrap();
    assert_eq!(answer_text(&sent), "söme");
}

#[tokio::test]
async fn a_refusal_in_the_stream_is_the_answer_and_not_a_lost_connection() {
    let busy = value!([{"reason": "RESOURCE_EXHAUSTED", "domain": "a2a-protocol.org"}]);
    let mut come_back = busy.clone();
    come_back
        .as_array_mut()
        .unwrap()
        .push(value!({"retryDelay": "1s"}));
    for (data, kind, was_not_begun) in [
        (come_back, ErrorKind::ResourceExhausted, true),
        // It may have begun: this is also said of an answer that is too large.
        (busy, ErrorKind::ResourceExhausted, false),
        (value!([]), ErrorKind::Internal, false),
    ] {
        let refusal = value!({"jsonrpc": "2.0", "id": "1",
            "error": {"code": -32603, "message": "not now", "data": data}});
        let frames = vec![format!("data: {refusal}\n\n")];
        let error = finish(frames, Then::Close).await.unwrap_err();
        assert!(error.is(kind), "{error:?}");
        assert!(!error.may_have_arrived(), "{error:?}");
        assert_eq!(error.was_not_begun(), was_not_begun, "{error:?}");
    }
}

#[tokio::test]
async fn s2_088_comments_and_empty_data_are_ignored() {
    let frames = vec![
        ": keep-alive\n\n".to_owned(),
        "data:\n\n".to_owned(),
        "event: ping\ndata: \n\n".to_owned(),
        format!(
            "event: message\ndata: {}\n\n",
            wrapped(&update("completed", "x", true))
        ),
    ];
    assert_eq!(
        answer_text(&finish(frames, Then::Close).await.unwrap()),
        "x"
    );
}

#[tokio::test]
async fn s2_089_what_is_no_json_is_skipped_and_the_stream_goes_on() {
    let frames = vec![
        "data: {oops\n\n".to_owned(),
        format!("data: {}\n\n", wrapped(&update("completed", "x", true))),
    ];
    assert_eq!(
        answer_text(&finish(frames, Then::Close).await.unwrap()),
        "x"
    );
}

#[tokio::test]
async fn s2_090_reading_stops_after_the_final_event() {
    let frames = vec![
        format!(
            "data: {}\n\n",
            wrapped(&update("working", "all there is", true))
        ),
        format!("data: {}\n\n", wrapped(&update("failed", "not read", true))),
    ];
    let sent = finish(frames, Then::Hang).await.unwrap();
    let Sent::Task(task) = &sent else {
        panic!("{sent:?}")
    };
    assert_eq!(task.status.state, TaskState::Working);
    assert_eq!(answer_text(&sent), "all there is");
}

#[tokio::test]
async fn s2_086_an_error_in_the_stream_is_raised_with_its_message() {
    let frames = vec![
        format!("data: {}\n\n", wrapped(&update("working", "x", false))),
        "data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"error\":{\"code\":-32603,\"message\":\"it broke\"}}\n\n"
            .to_owned(),
    ];
    let error = finish(frames, Then::Close).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Protocol);
    assert_eq!(error.code(), Some(-32603));
    assert!(error.to_string().contains("it broke"), "{error}");
}

#[tokio::test]
async fn s2_119_bare_events_are_read_as_wrapped_ones() {
    let frames = vec![format!("data: {}\n\n", update("completed", "bare", true))];
    assert_eq!(
        answer_text(&finish(frames, Then::Close).await.unwrap()),
        "bare"
    );
}

#[tokio::test]
async fn a_stream_of_a_bare_message_is_over_with_it() {
    let message = r#"{"kind":"message","role":"agent","messageId":"m","parts":[{"kind":"text","text":"hi"}]}"#;
    let frames = vec![format!("data: {}\n\n", wrapped(message))];
    let sent = finish(frames, Then::Hang).await.unwrap();
    assert!(matches!(&sent, Sent::Message(_)), "{sent:?}");
    assert_eq!(answer_text(&sent), "hi");
}

#[tokio::test]
async fn a_stream_without_a_last_blank_line_is_read_to_its_end() {
    let frames = vec![format!(
        "data: {}",
        wrapped(&update("completed", "cut short", true))
    )];
    assert_eq!(
        answer_text(&finish(frames, Then::Close).await.unwrap()),
        "cut short"
    );
}

#[tokio::test]
async fn a_stream_without_any_event_is_an_error() {
    let error = finish(vec![": nothing\n\n".to_owned()], Then::Close)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Interrupted);
}

#[tokio::test]
async fn a_mixture_of_1_0_and_0_x_events_is_read() {
    let odd = Odd::serve(async |asked: Asked| match asked.rpc().as_str() {
        "" => asked.card("1.0"),
        _ => {
            let begun = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}}"#;
            let artifact = r#"{"kind":"artifact-update","taskId":"t","contextId":"c","append":false,"lastChunk":true,
                "artifact":{"artifactId":"a","parts":[{"kind":"text","text":"answer"}]}}"#;
            let artifact = artifact.replace('\n', "");
            let done = update("completed", "", true);
            let frames = [begun, artifact.as_str(), done.as_str()];
            sse(frames.iter().map(|f| format!("data: {}\r\n\r\n", wrapped(f))).collect(), Then::Close)
        }
    })
    .await;
    let agent = Client::connect(odd.base.as_str()).await.unwrap();
    let sent = agent
        .stream(text("hi"))
        .await
        .unwrap()
        .finish()
        .await
        .unwrap();
    assert_eq!(answer_text(&sent), "answer");
    assert!(matches!(sent, Sent::Task(task) if task.status.state == TaskState::Completed));
}

#[tokio::test]
async fn events_that_share_an_id_are_all_told() {
    let frame = |event: &str| format!("id: 1700000000000\ndata: {}\n\n", wrapped(event));
    let frames = vec![
        frame(&update("working", "one", false)),
        frame(&update("completed", "two", true)),
    ];
    let sent = finish(frames, Then::Close).await.unwrap();
    assert_eq!(answer_text(&sent), "two");
}
