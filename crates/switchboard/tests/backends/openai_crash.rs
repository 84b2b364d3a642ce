//! `kill -9`, of ours and of the model's server, in the middle of an answer.

use std::process::Stdio;

use serde_json::json;
use switchboard_testkit::model::{Model, Step, events, stream, word};
use switchboard_testkit::{Server, say, text_of};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::openai::{answer, at, before, said, soon};

/// Reads a stream until there is some of the answer; gives the task.
async fn some_of(server: &Server) -> serde_json::Value {
    let mut stream = server.stream("chat", "message/stream", say("write")).await;
    let task = stream.next().await.unwrap().data["result"]["id"].clone();
    while soon(stream.next()).await.unwrap().data["result"]["kind"] != "artifact-update" {}
    task
}

#[tokio::test]
async fn after_a_crash_of_ours_the_model_is_asked_again_and_the_new_answer_replaces_the_half() {
    let model = Model::open(|_, n| match n {
        1 => vec![events(), word("half of "), Step::Hang],
        _ => stream(&["the whole ", "answer"]),
    })
    .await;
    let mut ours = before(&model).await;
    let task = some_of(&ours).await;
    ours.kill().await;
    soon(model.hung_up(1)).await;
    ours.restart().await;
    let done = ours.until("chat", &task, &["completed", "failed"]).await;
    assert_eq!(done["status"]["state"], "completed", "{done}");
    assert_eq!(answer(&done), "the whole answer");
    // Once before, once after: a completion leaves nothing behind.
    assert_eq!(model.asked().len(), 2);
    assert_eq!(model.asked()[0].body, model.asked()[1].body);
    // Who reads it all is told where the new one begins.
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": task}});
    let request = ours.http.post(ours.url("/a2a/chat"));
    let request = request.header("Last-Event-ID", "0").json(&body);
    let all = switchboard_testkit::events(request).await.results().await;
    let mut shown = String::new();
    for event in all.iter().filter(|e| e["kind"] == "artifact-update") {
        if event["append"] != true {
            shown.clear();
        }
        shown += &text_of(&event["artifact"]);
    }
    assert_eq!(shown, "the whole answer");
}

#[tokio::test]
async fn after_a_crash_a_task_that_was_over_is_not_asked_for_again() {
    let model = Model::saying(&["done"]).await;
    let mut ours = before(&model).await;
    let task = ours.result("chat", "message/send", say("x")).await;
    ours.kill().await;
    ours.restart().await;
    let mut next = say("second");
    next["message"]["contextId"] = task["contextId"].clone();
    ours.result("chat", "message/send", next).await;
    assert_eq!(model.asked().len(), 2);
    let messages = model.asked()[1].messages().as_array().unwrap().len();
    assert_eq!(messages, 4, "the conversation is still known");
}

/// A chat endpoint that is a process: it begins an answer, and then says nothing more.
const SERVER: &str = r#"
import http.server, sys
class Chat(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b'data: {"choices": [{"delta": {"content": "half of "}}]}\n\n')
        self.wfile.flush()
        sys.stdin.read()
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Chat)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

async fn process() -> (Child, String) {
    let mut child = Command::new("python3")
        .args(["-c", SERVER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut port = String::new();
    let stdout = BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut port)
        .await;
    stdout.unwrap();
    (child, format!("http://127.0.0.1:{}/v1", port.trim()))
}

#[tokio::test]
async fn when_the_server_of_the_model_is_killed_the_task_fails_and_keeps_what_there_was() {
    let (mut server, url) = process().await;
    let ours = at(&url).await;
    let task = some_of(&ours).await;
    server.kill().await.unwrap();
    let failed = ours.until("chat", &task, &["failed", "completed"]).await;
    assert_eq!(failed["status"]["state"], "failed");
    let why = "the model's response was cut off: send the message again";
    assert_eq!(said(&failed), why);
    assert_eq!(answer(&failed), "half of ");
    // Nobody is there now, and that is said, too.
    let begun = json!({"message": say("again")["message"], "configuration": {"blocking": false}});
    let begun = ours.result("chat", "message/send", begun).await;
    let waits = ours
        .until_says("chat", &begun["id"], "is unreachable, retrying")
        .await;
    let why =
        format!("upstream {url} is unreachable, retrying for up to 120 s: Connection refused");
    assert!(said(&waits).starts_with(&why), "{waits}");
}
