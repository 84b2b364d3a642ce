//! Files over HTTP+JSON of A2A 0.3, as the official SDKs write and read them, with an agent in default settings. What
//! arrived is read in A2A 1.0, which has one form only: a round trip in 0.3 cannot see a file that was encoded twice.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use switchboard_testkit::{Answer, Server, answer};

const COPIER: &str = "
agents:
  copier: { input_modes: ['*/*'], script: [{ artifact: { name: it, parts: [{ copy: attachments }] } }] }
";

const PYTHON: &str = "python-httpx/0.28.1";
const JAVASCRIPT: &str = "node";

/// Sends a file under that user agent, with a name and metadata that only other bindings have.
async fn send(server: &Server, user_agent: &str, field: &str) -> Answer {
    let file = json!({"fileWithBytes": field, "mimeType": "image/png", "name": "a.png"});
    let parts = json!([{"file": file, "metadata": {"kept": "in 1.0"}}]);
    let message = json!({"messageId": user_agent, "role": "ROLE_USER", "content": parts});
    let request = server
        .http
        .post(server.url("/a2a/copier/v1/message:send"))
        .header("User-Agent", user_agent);
    let body = json!({"message": message, "configuration": {"blocking": true}});
    let sent = answer(request.json(&body)).await;
    assert_eq!(sent.status, 200, "{}", sent.body);
    sent
}

/// The task as it is stored.
async fn stored(server: &Server, task: &Value) -> Value {
    let id = task["id"].as_str().unwrap_or_default();
    let request = server
        .http
        .get(server.url(&format!("/a2a/copier/tasks/{id}")));
    answer(request.header("A2A-Version", "1.0")).await.body
}

/// The Python SDK puts base64 text into the field, which is base64 of it in JSON; so do those for Java and Go. The one
/// for JavaScript puts the file there.
#[tokio::test]
async fn a_file_arrives_and_returns_byte_for_byte_in_the_form_of_each_sdk() {
    let server = Server::serve(COPIER).await;
    let file: Vec<u8> = (0..=255).collect();
    let once = BASE64.encode(&file);
    let twice = BASE64.encode(&once);
    for (user_agent, field) in [(PYTHON, &twice), (JAVASCRIPT, &once)] {
        let task = send(&server, user_agent, field).await.body["task"].take();
        let whole = stored(&server, &task).await;
        for part in [
            &whole["history"][0]["parts"][0],
            &whole["artifacts"][0]["parts"][0],
        ] {
            assert_eq!(part["raw"], *once, "{user_agent}: {part}");
        }
        let back = &task["artifacts"][0]["parts"][0]["file"]["fileWithBytes"];
        assert_eq!(back, field, "{user_agent}: {task}");
    }
}

/// The proto of the release has neither, and strict parsers fail on members that they do not know.
#[tokio::test]
async fn names_of_files_and_metadata_of_parts_are_left_out() {
    let server = Server::serve(COPIER).await;
    let sent = send(&server, JAVASCRIPT, "AAH+/w==").await.body;
    let task = &sent["task"];
    let copied = &task["artifacts"][0]["parts"][0];
    assert_eq!(copied["file"]["mimeType"], "image/png", "{task}");
    for part in [copied, &task["history"][0]["content"][0]] {
        assert_eq!(part.get("metadata"), None, "{task}");
        assert_eq!(part["file"].get("name"), None, "{task}");
    }
    // They are not lost: whoever reads the task in a version that has them gets them.
    let part = &stored(&server, task).await["history"][0]["parts"][0];
    assert_eq!(part["filename"], "a.png", "{part}");
    assert_eq!(part["metadata"]["kept"], "in 1.0", "{part}");
}
