//! Whether an agent has answered a stream: a refusal is no answer, also if it comes in the stream.

use serde_json::json;
use switchboard_client::text;

use crate::resume::{client, frame, task};
use crate::support::{Asked, Odd, Then, sse};

#[tokio::test]
async fn a_refusal_in_a_stream_is_no_answer() {
    for greets in [false, true] {
        let odd = Odd::serve(move |asked: Asked| async move {
            if asked.rpc().is_empty() {
                return asked.card("1.0");
            }
            let error = json!({"code": -32603, "message": "who are you?"});
            let refusal = json!({"jsonrpc": "2.0", "id": asked.json()["id"], "error": error});
            let mut frames = vec![format!("data: {refusal}\n\n")];
            if greets {
                let begun = json!({"task": task("WORKING", "")});
                frames.insert(0, frame(&asked, &begun));
            }
            sse(frames, Then::Hang)
        })
        .await;
        let mut events = client(&odd).await.stream(text("hello")).await.unwrap();
        while events.next().await.unwrap().is_ok() {}
        assert_eq!(events.has_answered(), greets);
    }
}
