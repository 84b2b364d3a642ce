//! The head and the body of a streaming request.

use std::sync::{Arc, Mutex};

use http::{HeaderName, HeaderValue};
use switchboard_client::{CallOptions, Client, Credential, Credentials, text};
use switchboard_types::model::Secret;

use crate::support::{Asked, Odd, Then, sse};

#[tokio::test]
async fn s2_004_a_streaming_request_says_what_it_is_and_where_it_belongs() {
    let sent: Arc<Mutex<Option<Asked>>> = Arc::default();
    let seen = Arc::clone(&sent);
    let odd = Odd::serve(move |asked: Asked| {
        let seen = Arc::clone(&seen);
        async move {
            if asked.method == "GET" {
                return asked.card("0.3");
            }
            *seen.lock().unwrap() = Some(asked);
            let done = r#"{"result":{"kind":"message","role":"agent","messageId":"m","parts":[]}}"#;
            sse(vec![format!("data: {done}\n\n")], Then::Close)
        }
    })
    .await;
    let agent = Client::builder()
        .credentials(Credentials::any(Credential::Bearer(Secret::new("token"))))
        .header(
            HeaderName::from_static("x-team"),
            HeaderValue::from_static("blue"),
        )
        .connect(odd.base.as_str())
        .await
        .unwrap();
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let options = CallOptions::new().traceparent(trace).idempotency_key("k1");
    agent
        .stream_with(text("hi"), &options)
        .await
        .unwrap()
        .finish()
        .await
        .unwrap();
    let asked = sent.lock().unwrap().take().unwrap();
    for (name, value) in [
        ("content-type", "application/json"),
        ("authorization", "Bearer token"),
        ("accept", "application/json, text/event-stream"),
        ("traceparent", trace),
        ("a2a-version", "0.3"),
        ("idempotency-key", "k1"),
        ("x-team", "blue"),
    ] {
        assert_eq!(asked.header(name), Some(value), "{name}");
    }
    let message = &asked.json()["params"]["message"];
    assert_eq!(
        (&message["kind"], &message["role"]),
        (&"message".into(), &"user".into()),
        "S2-009"
    );
    assert!(message["parts"].is_array() && message["messageId"].is_string());
}
