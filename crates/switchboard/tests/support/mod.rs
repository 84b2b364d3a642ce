//! The real binary on a port of its own, with a data directory that outlives it; and the few ways to talk to it.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "no test file uses all of it"
)]

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::Instant;

/// How long a server may take to start, and an answer to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the profiles of the conformance kit check tokens with.
const KIT_SECRET: &str = "the conformance kit and Switchboard share this";

/// A token made with it, for the audience `kit`, good until 2096.
pub(crate) const KIT_TOKEN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJraXQiLCJhdWQiOiJraXQiLCJleHAiOjQwMDAwMDAwMDB9.CdDnNvJb7rkqev1Q-4hvkISuzs2H9n_6CKVvaZkd37o";

/// A running server.
pub(crate) struct Server {
    child: Child,
    dir: TempDir,
    args: Vec<String>,
    variables: Vec<(String, String)>,
    /// `http://127.0.0.1:PORT`, or `https` if it is encrypted.
    pub(crate) base: String,
    /// Speaks to it.
    pub(crate) http: reqwest::Client,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The headers.
    pub(crate) headers: reqwest::header::HeaderMap,
    /// The body.
    pub(crate) body: Value,
}

/// One event of a stream.
#[derive(Debug, Clone)]
pub(crate) struct SseEvent {
    /// Its `id:`, if it has one.
    pub(crate) id: Option<u64>,
    /// Its `data:`.
    pub(crate) data: Value,
}

/// A stream that is read event by event.
pub(crate) struct Events {
    response: Response,
    buffer: String,
}

impl Server {
    /// The built-in agents.
    pub(crate) async fn up() -> Self {
        Self::start(&["up"], "").await
    }

    /// The agents of a configuration.
    pub(crate) async fn serve(yaml: &str) -> Self {
        Self::start(&["serve", "-c", "switchboard.yaml"], yaml).await
    }

    /// The agents of a configuration with files beside it and variables.
    pub(crate) async fn serve_with(
        yaml: &str,
        files: &[(&str, Vec<u8>)],
        variables: &[(&str, &str)],
    ) -> Self {
        let args = ["serve", "-c", "switchboard.yaml"];
        Self::start_with(&args, yaml, files, variables).await
    }

    /// The agents of a configuration that has a place of its own, with nothing on disk.
    pub async fn profile(file: &Path) -> Self {
        let file = file.to_str().expect("a path of text");
        Self::start(&["serve", "-c", file, "--memory"], "").await
    }

    /// Some command that serves, in a directory with a configuration.
    pub(crate) async fn start(args: &[&str], yaml: &str) -> Self {
        Self::start_with(args, yaml, &[], &[]).await
    }

    /// The same, with files beside it and variables.
    pub(crate) async fn start_with(
        args: &[&str],
        yaml: &str,
        files: &[(&str, Vec<u8>)],
        variables: &[(&str, &str)],
    ) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("switchboard.yaml"), yaml).expect("a configuration");
        for (name, content) in files {
            let place = dir.path().join(name);
            let above = place.parent().expect("a file is in a directory");
            std::fs::create_dir_all(above).expect("a directory");
            std::fs::write(place, content).expect("a file");
        }
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let variables: Vec<(String, String)> = variables.iter().map(owned).collect();
        let (child, base) = launch(&args, dir.path(), &variables).await;
        let http = reqwest::Client::builder()
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("a client");
        Self {
            child,
            dir,
            args,
            variables,
            base,
            http,
        }
    }

    /// Ends the process as a crash does.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.expect("it was running");
    }

    /// Ends the process as service managers do, and waits until it has.
    pub(crate) async fn stop(&mut self) {
        let pid = i32::try_from(self.pid()).expect("a number of a process");
        let pid = rustix::process::Pid::from_raw(pid).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it was running");
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        ended.expect("it ends in time").expect("it has ended");
    }

    /// Starts again on the same data, at another port.
    pub(crate) async fn restart(&mut self) {
        let (child, base) = launch(&self.args, self.dir.path(), &self.variables).await;
        self.child = child;
        self.base = base;
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id().expect("it is running")
    }

    /// Where it keeps its tasks.
    pub(crate) fn data(&self) -> std::path::PathBuf {
        self.dir.path().join("data")
    }

    /// What it has written to standard output.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("out.txt")).expect("an output")
    }

    /// Its configuration.
    pub(crate) fn configuration(&self) -> std::path::PathBuf {
        self.dir.path().join("switchboard.yaml")
    }

    /// What it has logged since it was started.
    pub(crate) fn logged(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log.txt")).expect("a log")
    }

    /// An address on this server.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// A GET.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        answer(self.http.get(self.url(path))).await
    }

    /// A JSON-RPC call of 0.3 at an agent's address.
    pub(crate) async fn rpc(&self, agent: &str, method: &str, params: Value) -> Answer {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(&format!("/a2a/{agent}"), &body).await
    }

    /// The result of a JSON-RPC call of 0.3 that must succeed.
    pub(crate) async fn result(&self, agent: &str, method: &str, params: Value) -> Value {
        let answer = self.rpc(agent, method, params).await;
        assert_eq!(answer.body.get("error"), None, "{method}");
        answer.body["result"].clone()
    }

    /// The number of the error of a JSON-RPC call of 0.3 that must fail.
    pub(crate) async fn error(&self, agent: &str, method: &str, params: Value) -> Value {
        let answer = self.rpc(agent, method, params).await;
        assert_eq!(answer.body.get("result"), None, "{method}");
        answer.body["error"].clone()
    }

    /// A POST of JSON.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        answer(self.http.post(self.url(path)).json(body)).await
    }

    /// A POST of JSON in A2A 1.0.
    pub(crate) async fn post_v1(&self, path: &str, body: &Value) -> Answer {
        let request = self.http.post(self.url(path)).header("A2A-Version", "1.0");
        answer(request.json(body)).await
    }

    /// A JSON-RPC call of 0.3 that streams.
    pub(crate) async fn stream(&self, agent: &str, method: &str, params: Value) -> Events {
        let body = json!({"jsonrpc": "2.0", "id": "s1", "method": method, "params": params});
        let path = self.url(&format!("/a2a/{agent}"));
        events(self.http.post(path).json(&body)).await
    }

    /// Reads a task until it is in one of these states (0.3 names).
    pub(crate) async fn until(&self, agent: &str, task: &Value, states: &[&str]) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = self.result(agent, "tasks/get", json!({"id": task})).await;
            let state = found["status"]["state"].as_str().unwrap_or_default();
            if states.contains(&state) {
                return found;
            }
            assert!(Instant::now() < deadline, "still {state}, not {states:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Server {
    /// Reads a task until its status says this; it may be over then.
    pub(crate) async fn until_says(&self, agent: &str, task: &Value, text: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = self.result(agent, "tasks/get", json!({"id": task})).await;
            if text_of(&found["status"]["message"]).contains(text) {
                return found;
            }
            assert!(Instant::now() < deadline, "not {text:?}: {found}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn launch(args: &[String], dir: &Path, variables: &[(String, String)]) -> (Child, String) {
    let file = |name: &str| File::create(dir.join(name)).expect("a file");
    // What stands behind `--` stays last.
    let (command, more) = args.split_at(1);
    let mut server = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    server
        .args(command)
        .args(["--listen", "127.0.0.1:0", "--log-format", "json"]);
    // With a home of its own it uses the data directory there.
    if !variables.iter().any(|(name, _)| name == "HOME") {
        server.arg("--data").arg(dir.join("data"));
    }
    let mut child = server
        .args(more)
        .current_dir(dir)
        .env_remove("SWITCHBOARD_LOG")
        .env("KIT_SECRET", KIT_SECRET)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(file("out.txt"))
        .stderr(file("log.txt"))
        .kill_on_drop(true)
        .spawn()
        .expect("the binary starts");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let said = std::fs::read_to_string(dir.join("out.txt")).unwrap_or_default();
        let logged = std::fs::read_to_string(dir.join("log.txt")).unwrap_or_default();
        if let Some(base) = welcomed(&said).or_else(|| logged.lines().find_map(listening)) {
            return (child, base);
        }
        let over = child.try_wait().expect("a process of ours").is_some();
        let late = Instant::now() >= deadline;
        assert!(!over && !late, "not ready:\n{said}{logged}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The address in the welcome of `up`.
fn welcomed(said: &str) -> Option<String> {
    let (_, rest) = said.split_once(" at http")?;
    let (rest, _) = rest.split_once('\n')?;
    Some(format!("http{rest}"))
}

/// The address in a line that `serve` logs.
fn listening(line: &str) -> Option<String> {
    let record: Value = serde_json::from_str(line).ok()?;
    let address = record.get("addr")?.as_str()?;
    let scheme = if record["tls"] == true {
        "https"
    } else {
        "http"
    };
    (record["message"] == "listening").then(|| format!("{scheme}://{address}"))
}

/// Sends a request and reads the whole answer.
pub(crate) async fn answer(request: RequestBuilder) -> Answer {
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let text = response.text().await.expect("a body");
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Answer {
        status,
        headers,
        body,
    }
}

/// Sends a request and follows the stream it opens.
pub(crate) async fn events(request: RequestBuilder) -> Events {
    let response = request.send().await.expect("an answer");
    Events {
        response,
        buffer: String::new(),
    }
}

impl Events {
    /// The HTTP status.
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// A header of the answer.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The next event; `None` when the server has closed the stream.
    pub(crate) async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(end) = self.buffer.find("\n\n") {
                let frame: String = self.buffer.drain(..end + 2).collect();
                if let Some(event) = parse(&frame) {
                    return Some(event);
                }
                continue;
            }
            let chunk = self.response.chunk().await.expect("the stream goes on")?;
            self.buffer.push_str(&String::from_utf8_lossy(&chunk));
        }
    }

    /// All events to the end.
    pub(crate) async fn rest(mut self) -> Vec<SseEvent> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        all
    }

    /// The `result` of all events to the end.
    pub(crate) async fn results(self) -> Vec<Value> {
        let events = self.rest().await;
        events
            .into_iter()
            .map(|e| e.data["result"].clone())
            .collect()
    }
}

/// One frame; comments are no events.
fn parse(frame: &str) -> Option<SseEvent> {
    let field = |name: &str| {
        let mut lines = frame.lines().filter_map(|line| line.strip_prefix(name));
        lines.next().map(str::to_owned)
    };
    let data = field("data: ")?;
    Some(SseEvent {
        id: field("id: ").and_then(|id| id.parse().ok()),
        data: serde_json::from_str(&data).expect("each data line is JSON"),
    })
}

/// A message of the user, in 0.3 form, with one text part.
pub(crate) fn message(text: &str) -> Value {
    json!({
        "kind": "message",
        "messageId": format!("m-{}", text.len()),
        "role": "user",
        "parts": [{"kind": "text", "text": text}],
    })
}

/// Parameters with such a message.
pub(crate) fn say(text: &str) -> Value {
    json!({"message": message(text)})
}

/// A message that is not waited for.
pub(crate) fn begin(text: &str) -> Value {
    json!({"message": say(text)["message"], "configuration": {"blocking": false}})
}

/// A message with one more part.
pub(crate) fn with(text: &str, part: Value) -> Value {
    let mut said = say(text);
    said["message"]["parts"]
        .as_array_mut()
        .expect("parts")
        .push(part);
    said
}

/// A part with a file.
pub(crate) fn file(name: &str, media: &str, bytes: &str) -> Value {
    json!({"kind": "file", "file": {"name": name, "mimeType": media, "bytes": bytes}})
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The text of all text parts of an object that has `parts`.
pub(crate) fn text_of(parts: &Value) -> String {
    let parts = parts["parts"].as_array().cloned().unwrap_or_default();
    parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect()
}

/// Where operators look.
pub(crate) fn admin(server: &Server) -> String {
    let line = server.logged();
    let address = line.lines().find_map(|line| {
        let record: Value = serde_json::from_str(line).ok()?;
        let looks = record["message"] == "admin listening";
        looks.then(|| record["addr"].as_str().map(str::to_owned))?
    });
    format!("http://{}", address.expect("an address"))
}

pub(crate) fn token(server: &Server) -> String {
    let token = std::fs::read_to_string(server.data().join("admin.token")).expect("a token");
    token.trim().to_owned()
}

/// What is told at an address for operators.
pub(crate) async fn look(server: &Server, path: &str) -> Answer {
    let request = server.http.get(format!("{}{path}", admin(server)));
    answer(request.bearer_auth(token(server))).await
}
