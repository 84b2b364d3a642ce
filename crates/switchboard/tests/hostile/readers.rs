//! Readers that ask for much and do not read: what they have asked for is rendered as they take it, so they cost
//! next to nothing, and others are answered meanwhile.
//!
//! The sizes are those of a debug build. The bounds do not depend on them: before answers were rendered piece by piece,
//! each reader cost the size of the task and more.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_testkit::{Answer, Server, answer, eventually};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::wire::{connect, exchange, memory, request, until};

/// What all readers together may cost, in MiB, beside the task itself.
const ROOM: u64 = 64;

/// How long `/readyz` may take meanwhile. A debug build renders a hundred times slower than a release, and may run
/// beside other tests.
const READY_WITHIN: Duration =
    Duration::from_millis(if cfg!(debug_assertions) { 3000 } else { 100 });

/// An agent that repeats what it is told so many times, as pieces of one artifact, and then waits or is done.
async fn server(times: usize, end: &str) -> Server {
    server_with("", times, end).await
}

/// The same, with more settings.
async fn server_with(settings: &str, times: usize, end: &str) -> Server {
    Server::serve(&format!(
        "
{settings}
agents:
  heavy:
    description: Repeats what it is told
    script:
      - repeat:
          times: {times}
          do: [{{ chunk: {{ name: much, text: '{{{{text}}}}' }} }}]
      - {end}: 'done'
"
    ))
    .await
}

/// Makes a task of so many bytes times what the agent repeats.
async fn task(server: &Server, bytes: usize) -> String {
    let body = json!({
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x".repeat(bytes)}]},
        "configuration": {"historyLength": 0, "returnImmediately": true},
    });
    let answer = server.post_v1("/a2a/heavy/message:send", &body).await;
    let id = answer.body["task"]["id"].as_str().expect("a task");
    eventually("the end of the task", async || {
        let listed = get(server, "/a2a/heavy/tasks?pageSize=100").await;
        let tasks = listed.body["tasks"].as_array().expect("tasks").clone();
        let found = tasks.iter().find(|task| task["id"] == *id);
        let state = found.map(|task| task["status"]["state"].clone());
        state.is_some_and(|state| state != "TASK_STATE_WORKING" && state != "TASK_STATE_SUBMITTED")
    })
    .await;
    id.to_owned()
}

async fn get(server: &Server, path: &str) -> Answer {
    let request = server.http.get(server.url(path));
    answer(request.header("A2A-Version", "1.0")).await
}

/// Asks, reads the beginning of the answer and no more.
async fn ask(server: &Server, verb: &str, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut socket = connect(server).await;
    let headers = format!("A2A-Version: 1.0\r\n{headers}");
    let bytes = request(verb, path, &headers, body.as_bytes());
    socket.write_all(&bytes).await.expect("bytes are taken");
    let head = until(&mut socket, "\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    socket
}

/// One reader of each kind: of the task, of its stream from now on, and of its events from the first on.
async fn readers(server: &Server, id: &str) -> [TcpStream; 4] {
    let task = format!("/a2a/heavy/tasks/{id}");
    let stream = format!("{task}:subscribe");
    let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}});
    let json = "Content-Type: application/json\r\n";
    [
        ask(server, "GET", &task, "", "").await,
        ask(server, "POST", "/a2a/heavy", json, &rpc.to_string()).await,
        ask(server, "GET", &stream, "", "").await,
        ask(server, "GET", &stream, "Last-Event-ID: 0\r\n", "").await,
    ]
}

/// The most memory that the server takes for a while, in MiB, during which it must be quick to answer.
async fn observe(server: &Server) -> u64 {
    let mut most = 0;
    let mut slowest = Duration::ZERO;
    for _ in 0..50 {
        let asked = Instant::now();
        assert_eq!(server.get("/readyz").await.status, 200);
        slowest = slowest.max(asked.elapsed());
        most = most.max(memory(server).0);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(slowest <= READY_WITHIN, "/readyz took {slowest:?}");
    most
}

#[tokio::test]
async fn readers_of_a_large_task_that_do_not_read_cost_next_to_nothing() {
    let mut server = server(24, "ask").await;
    let id = task(&server, 1 << 20).await;
    let first = readers(&server, &id).await;
    let before = observe(&server).await;
    let mut open = Vec::new();
    for _ in 0..10 {
        open.push(readers(&server, &id).await);
    }
    let after = observe(&server).await;
    assert!(
        after <= before + ROOM,
        "{before} MiB before, {after} MiB with {} readers",
        open.len() * 4
    );
    drop((first, open));

    // The same for a task that is not in memory: it is read once for all who ask at the same time.
    server.stop().await;
    server.restart().await;
    let task = format!("/a2a/heavy/tasks/{id}");
    let one = ask(&server, "GET", &task, "", "").await;
    observe(&server).await;
    let (_, alone) = memory(&server);
    drop(one);
    server.stop().await;
    server.restart().await;
    let many =
        futures_util::future::join_all((0..10).map(|_| ask(&server, "GET", &task, "", ""))).await;
    observe(&server).await;
    let (_, together) = memory(&server);
    assert!(
        together <= alone + ROOM,
        "{alone} MiB for one, {together} MiB for {}",
        many.len()
    );
}

#[tokio::test]
async fn a_large_task_is_read_whole() {
    let server = server(8, "complete").await;
    let id = task(&server, 1 << 20).await;
    let whole = exchange(
        &server,
        &request(
            "GET",
            &format!("/a2a/heavy/tasks/{id}"),
            "A2A-Version: 1.0\r\n",
            b"",
        ),
    )
    .await;
    assert_eq!(whole.status(), 200);
    let answer = get(&server, &format!("/a2a/heavy/tasks/{id}")).await;
    assert_eq!(text_length(&answer.body), Some(8 << 20));
    let rpc = server.rpc("heavy", "tasks/get", json!({"id": id})).await;
    assert_eq!(text_length(&rpc.body["result"]), Some(8 << 20));
}

/// How long the text of a task's only artifact is; streamed text is one part.
fn text_length(task: &Value) -> Option<usize> {
    let parts = task["artifacts"][0]["parts"].as_array().expect("parts");
    assert_eq!(parts.len(), 1);
    parts[0]["text"].as_str().map(str::len)
}

#[tokio::test]
async fn lists_of_large_tasks_end_by_bytes() {
    const TASKS: usize = 7;
    let server = server(4, "complete").await;
    let mut made = HashSet::new();
    for _ in 0..TASKS {
        made.insert(task(&server, 1 << 20).await);
    }
    let page = get(&server, "/a2a/heavy/tasks").await.body;
    assert!(
        page.to_string().len() < 64 << 10,
        "artifacts and history were not asked for"
    );

    let ids = |page: &Value| -> Vec<String> {
        let tasks = page["tasks"].as_array().expect("tasks");
        tasks
            .iter()
            .map(|task| task["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    let (mut seen, mut token, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let path = format!("/a2a/heavy/tasks?includeArtifacts=true&pageSize=100&pageToken={token}");
        let page = get(&server, &path).await.body;
        assert!(
            page.to_string().len() < 9 << 20,
            "a page holds at most two of these tasks"
        );
        assert_eq!(page["totalSize"], TASKS, "{}", page["totalSize"]);
        seen.extend(ids(&page));
        pages += 1;
        token = page["nextPageToken"].as_str().expect("a token").to_owned();
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(seen.len(), TASKS, "none is missing and none comes twice");
    assert_eq!(seen.into_iter().collect::<HashSet<_>>(), made);
    assert!(pages >= TASKS / 2, "{pages}");

    let path = "/a2a/heavy/tasks?includeArtifacts=true&historyLength=10&pageSize=100";
    let first = ask(&server, "GET", path, "", "").await;
    let before = observe(&server).await;
    let mut open = vec![first];
    for _ in 0..10 {
        open.push(ask(&server, "GET", path, "", "").await);
    }
    let after = observe(&server).await;
    assert!(
        after <= before + ROOM,
        "{before} MiB before, {after} MiB with {} lists",
        open.len()
    );
}

/// Each of the tasks fits into the budget, and two do; the third does not until somebody is done.
#[tokio::test]
async fn large_tasks_beyond_the_budget_for_answers_are_refused_until_others_are_read() {
    let server = server_with("limits: { answers: 64MiB }", 24, "complete").await;
    let mut paths = Vec::new();
    for bytes in [1 << 20, 1 << 20, 1 << 20, 1] {
        let id = task(&server, bytes).await;
        paths.push(format!("/a2a/heavy/tasks/{id}"));
    }
    let mut unread = Vec::new();
    for path in &paths[..2] {
        unread.push(ask(&server, "GET", path, "", "").await);
    }
    let refused = get(&server, &paths[2]).await;
    assert_eq!(refused.status, 429, "{refused:?}");
    assert_eq!(refused.body["error"]["status"], "RESOURCE_EXHAUSTED");
    // Whoever reads a task that is held already takes no more, and small tasks are not counted.
    unread.push(ask(&server, "GET", &paths[0], "", "").await);
    assert_eq!(get(&server, &paths[3]).await.status, 200);
    // Nor does a list that shows no content need any of it.
    let listed = get(&server, "/a2a/heavy/tasks").await;
    assert_eq!(listed.status, 200, "{listed:?}");
    assert_ne!(listed.body["tasks"], json!([]));

    drop(unread);
    // The server notices the closed connections a moment later.
    let whole = eventually("room for the answer", async || {
        let answer = get(&server, &paths[2]).await;
        match answer.status {
            200 => Ok(answer.body),
            other => Err(other),
        }
    })
    .await;
    assert_eq!(text_length(&whole), Some(24 << 20));
}
