//! A server that behaves as a LangGraph server does, in its releases 0.16.7 and 0.6.39, traps included. It remembers what
//! it was asked. The first word of a message says what happens.

mod threads;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::threads::{cancel, end, run, runs, state};

type Known = State<Arc<Server>>;

/// How a run stands: its status, and all that was said so far.
type Stand = (String, String);

pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) kwargs: Value,
    stand: watch::Sender<Stand>,
}

#[derive(Default)]
struct Thread {
    runs: Vec<Arc<Run>>,
    messages: Vec<Value>,
    /// What the last run asks, and the task that it belongs to.
    asks: Option<Value>,
    task: String,
    /// The run that has come as far as to change it.
    changed_by: String,
}

/// The server, gone with its runtime.
pub(crate) struct Server {
    old: bool,
    assistants: Mutex<Vec<Value>>,
    threads: Mutex<HashMap<String, Thread>>,
    asked: Mutex<Vec<(String, HeaderMap, Value)>>,
    /// What every request must show.
    key: Mutex<Option<String>>,
    /// It knows no streams, as before 0.4.48.
    deaf: AtomicBool,
    away: AtomicBool,
    /// How often a thread was brought to its end.
    ends: AtomicUsize,
    /// How often it was asked how one stands.
    looks: AtomicUsize,
    /// The runs, and who tells of them.
    tasks: Mutex<JoinSet<()>>,
}

pub(crate) struct LangGraph {
    pub(crate) base: String,
    server: Arc<Server>,
    _serving: JoinSet<std::io::Result<()>>,
}

pub(crate) fn id_of(graph: &str) -> String {
    let mut hex: String = graph.bytes().map(|b| format!("{b:02x}")).collect();
    hex = format!("{hex:0<32}");
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..32]
    )
}

fn assistant(graph: &str, name: &str, by: &str) -> Value {
    json!({"assistant_id": id_of(name), "graph_id": graph, "config": {}, "context": {}, "metadata": {"created_by": by},
        "name": name, "version": 1, "description": null})
}

impl LangGraph {
    /// One of the newest release.
    pub(crate) async fn start() -> Self {
        Self::release(false).await
    }

    pub(crate) async fn release(old: bool) -> Self {
        Self::at("127.0.0.1:0", old).await
    }

    /// One at this address.
    pub(crate) async fn at(address: &str, old: bool) -> Self {
        let server = Arc::new(Server {
            old,
            assistants: Mutex::new(vec![assistant("poet", "poet", "system")]),
            threads: Mutex::default(),
            asked: Mutex::default(),
            key: Mutex::default(),
            deaf: AtomicBool::new(false),
            away: AtomicBool::new(false),
            ends: AtomicUsize::new(0),
            looks: AtomicUsize::new(0),
            tasks: Mutex::default(),
        });
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new()
            .route("/info", get(info))
            .route("/assistants/search", post(search))
            .route("/assistants/{id}", get(one))
            .route("/a2a/{id}/.well-known/agent-card.json", get(card))
            .route("/a2a/{id}", post(a2a))
            .route("/threads/{thread}/runs", any(runs))
            .route("/threads/{thread}/runs/{run}", get(run))
            .route("/threads/{thread}/runs/{run}/cancel", post(cancel))
            .route("/threads/{thread}/state", get(state).post(end))
            .layer(axum::middleware::from_fn_with_state(
                Arc::clone(&server),
                guard,
            ))
            .with_state(Arc::clone(&server));
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await });
        Self {
            base,
            server,
            _serving: serving,
        }
    }

    /// Who does not show this is refused from now on.
    pub(crate) fn asks_for(&self, key: &str) {
        *self.server.key.lock().unwrap() = Some(key.to_owned());
    }

    /// It knows no streams from now on.
    pub(crate) fn is_deaf(&self) {
        self.server.deaf.store(true, Ordering::Relaxed);
    }

    /// From now on it answers nobody, or everybody.
    pub(crate) fn is_away(&self, away: bool) {
        self.server.away.store(away, Ordering::Relaxed);
    }

    /// There is one more from now on.
    pub(crate) fn adds(&self, graph: &str, name: &str) {
        let added = assistant(graph, name, "user");
        self.server.assistants.lock().unwrap().push(added);
    }

    /// There is one more from now on, that only who shows this key can see.
    pub(crate) fn adds_for(&self, key: &str, name: &str) {
        let mut added = assistant("song", name, "user");
        added["name"] = "muse".into();
        added["for"] = key.into();
        self.server.assistants.lock().unwrap().push(added);
    }

    /// One is no longer there.
    pub(crate) fn removes(&self, name: &str) {
        let mut assistants = self.server.assistants.lock().unwrap();
        assistants.retain(|assistant| assistant["name"] != name);
    }

    /// What was sent to the A2A endpoint: path, headers, body.
    pub(crate) fn asked(&self) -> Vec<(String, HeaderMap, Value)> {
        self.server.asked.lock().unwrap().clone()
    }

    /// What all threads ask now.
    pub(crate) fn asks(&self) -> Vec<Value> {
        let threads = self.server.threads.lock().unwrap();
        threads.values().filter_map(|t| t.asks.clone()).collect()
    }

    /// How often a thread was brought to its end.
    pub(crate) fn ends(&self) -> usize {
        self.server.ends.load(Ordering::Relaxed)
    }

    /// How often it was asked how a thread stands.
    pub(crate) fn looks(&self) -> usize {
        self.server.looks.load(Ordering::Relaxed)
    }

    /// All runs of all threads, and how they stand.
    pub(crate) fn runs(&self) -> Vec<(Value, String)> {
        let threads = self.server.threads.lock().unwrap();
        let runs = threads.values().flat_map(|thread| &thread.runs);
        runs.map(|run| (run.kwargs.clone(), run.stand.borrow().0.clone()))
            .collect()
    }
}

async fn guard(State(server): Known, request: Request, next: Next) -> Response {
    if server.away.load(Ordering::Relaxed) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let key = server.key.lock().unwrap().clone();
    let shown = request.headers().get("x-api-key");
    if key.is_some_and(|key| shown.is_none_or(|shown| *shown != *key)) {
        let body = json!({"detail": "Invalid authentication"}).to_string();
        return (StatusCode::UNAUTHORIZED, body).into_response();
    }
    next.run(request).await
}

fn json_answer(value: &Value) -> Response {
    ([("content-type", "application/json")], value.to_string()).into_response()
}

fn missing() -> Response {
    let body = json!({"detail": "Not Found"}).to_string();
    (StatusCode::NOT_FOUND, body).into_response()
}

async fn info(State(server): Known) -> Response {
    let version = if server.old { "0.6.39" } else { "0.16.7" };
    json_answer(&json!({"version": version}))
}

async fn search(State(server): Known, headers: HeaderMap, body: Bytes) -> Response {
    let query: Value = serde_json::from_slice(&body).unwrap();
    let known = server.assistants.lock().unwrap().clone();
    let graph = query.get("graph_id");
    let key = headers.get("x-api-key").and_then(|key| key.to_str().ok());
    let sees = |known: &Value| known["for"].is_null() || known["for"].as_str() == key;
    let known = known.into_iter().filter(sees);
    let mut found = known.filter(|known| graph.is_none_or(|graph| &known["graph_id"] == graph));
    let offset = usize::try_from(query["offset"].as_u64().unwrap_or(0)).unwrap();
    let limit = usize::try_from(query["limit"].as_u64().unwrap_or(10)).unwrap();
    let page: Vec<Value> = found.by_ref().skip(offset).take(limit).collect();
    json_answer(&json!(page))
}

async fn one(State(server): Known, Path(id): Path<String>) -> Response {
    let known = server.assistants.lock().unwrap();
    let found = known.iter().find(|known| known["assistant_id"] == id);
    found.map_or_else(missing, json_answer)
}

async fn card(State(server): Known, Path(id): Path<String>) -> Response {
    if server.old {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let modes = ["application/json", "text/plain"];
    // Of a graph without messages it says so.
    let schema = json!({"supportsA2A": id != id_of("silent")});
    json_answer(&json!({
        "name": "echo", "description": "poet assistant", "url": "http://127.0.0.1:1/", "version": "1",
        "supportedInterfaces": [{"url": "http://127.0.0.1:1/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": true}, "defaultInputModes": modes, "defaultOutputModes": modes,
        "skills": [{"id": format!("{id}-main"), "name": "poet Capabilities", "description": "poet assistant", "tags": ["langgraph"],
            "metadata": {"inputSchema": schema}}],
    }))
}

impl Server {
    fn find(&self, thread: &str, run: &str) -> Option<Arc<Run>> {
        let threads = self.threads.lock().unwrap();
        let found = threads
            .get(thread)?
            .runs
            .iter()
            .find(|known| known.id == run);
        found.cloned()
    }

    /// Begins a run; what it says is said by and by.
    fn begin(self: &Arc<Self>, thread: &str, kwargs: Value, resume: Value) -> Arc<Run> {
        let run = Arc::new(Run {
            id: uuid::Uuid::now_v7().to_string(),
            kwargs,
            stand: watch::Sender::new(("running".to_owned(), String::new())),
        });
        let mut threads = self.threads.lock().unwrap();
        let known = threads.entry(thread.to_owned()).or_default();
        known.runs.push(Arc::clone(&run));
        if run.kwargs["input"]["messages"][0]["content"] == "queue" {
            return run;
        }
        known.asks = None;
        known.changed_by.clone_from(&run.id);
        let told = run.kwargs["input"]["messages"].as_array();
        let told: Vec<Value> = told.into_iter().flatten().map(|message| {
            json!({"type": "human", "id": message["id"], "content": message["content"]})
        }).collect();
        known.messages.extend(told);
        drop(threads);
        let (server, thread, going) = (Arc::clone(self), thread.to_owned(), Arc::clone(&run));
        let mut tasks = self.tasks.lock().unwrap();
        tasks.spawn(async move { server.go(&thread, &going, resume).await });
        run
    }

    async fn go(&self, thread: &str, run: &Run, resume: Value) {
        let human = |m: &&Value| m["type"] == "human";
        let (text, turns) = {
            let threads = self.threads.lock().unwrap();
            let messages = &threads[thread].messages;
            let last = messages.iter().rev().find(human);
            let text = last.and_then(|m| m["content"].as_str()).unwrap_or_default();
            (text.to_owned(), messages.iter().filter(human).count())
        };
        let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
        let say = |text: String| {
            run.stand.send_modify(|stand| stand.1 = text);
        };
        let mut status = "success";
        match word {
            "words" => {
                let mut so_far = String::new();
                for word in rest.split_inclusive(' ') {
                    tokio::time::sleep(Duration::from_millis(15)).await;
                    so_far += word;
                    say(so_far.clone());
                    if run.stand.borrow().0 != "running" {
                        return;
                    }
                }
            }
            "steps" => {
                for step in ["step 1", "step 2", "step 3"] {
                    say(step.to_owned());
                    tokio::time::sleep(Duration::from_millis(60)).await;
                }
            }
            "input" if resume.is_null() => {
                let asks = json!([{"id": "6669", "value": {"question": "which colour?"}}]);
                self.threads.lock().unwrap().get_mut(thread).unwrap().asks = Some(asks);
            }
            "input" if resume == "never" => std::future::pending().await,
            "input" => say(format!(
                "you chose {}",
                resume
                    .as_str()
                    .map_or_else(|| resume.to_string(), str::to_owned)
            )),
            "long" => std::future::pending().await,
            "huge" => {
                say("x".repeat(5 << 20));
                std::future::pending().await
            }
            "late" => {
                tokio::time::sleep(Duration::from_millis(400)).await;
                say("late, but here".to_owned());
            }
            "fail" => {
                say("boom: the password is 123".to_owned());
                status = "error";
            }
            "turns" => say(turns.to_string()),
            "state" => say(run.kwargs["input"]["n"].to_string()),
            _ => say(format!("echo: {text}")),
        }
        if status == "success" {
            let said = run.stand.borrow().1.clone();
            let mut threads = self.threads.lock().unwrap();
            let known = threads.get_mut(thread).unwrap();
            if !said.is_empty() {
                known.messages.push(json!({"type": "ai", "content": said}));
            }
        }
        run.stand.send_modify(|stand| {
            if stand.0 == "running" {
                status.clone_into(&mut stand.0);
            }
        });
    }
}

fn refused(id: &Value, code: i32, message: &str) -> Response {
    let error = json!({"code": code, "message": message});
    json_answer(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

async fn a2a(
    State(server): Known,
    Path(assistant): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let call: Value = serde_json::from_slice(&body).unwrap();
    let asked = (uri.path().to_owned(), headers.clone(), call.clone());
    server.asked.lock().unwrap().push(asked);
    let accept = headers.get("accept").and_then(|value| value.to_str().ok());
    if !accept.is_some_and(|accept| accept.contains("application/json")) {
        let body = json!({"error": "Accept header must include application/json"}).to_string();
        return (StatusCode::BAD_REQUEST, body).into_response();
    }
    let id = &call["id"];
    let message = &call["params"]["message"];
    let streams = match call["method"].as_str() {
        Some("message/stream") if !server.deaf.load(Ordering::Relaxed) => true,
        Some("message/send") => false,
        Some("tasks/cancel") if !server.old => {
            let task = call["params"]["id"].as_str().unwrap();
            let (thread, _) = task.split_once(':').unwrap();
            server.is_answered(thread, Some(task));
            return json_answer(&json!({"jsonrpc": "2.0", "id": id, "result": {}}));
        }
        _ => return refused(id, -32601, "Method not found"),
    };
    let known = server
        .assistants
        .lock()
        .unwrap()
        .iter()
        .any(|known| known["assistant_id"] == assistant);
    if !known {
        return refused(id, -32602, &format!("Assistant '{assistant}' not found"));
    }
    let lost = |call: &Value| call["params"]["message"]["parts"][0]["text"] == "lost";
    let asked = server.asked.lock().unwrap().clone();
    if asked.iter().filter(|asked| lost(&asked.2)).count() == 1 && lost(&call) {
        // The first time it is as if it had never come.
        std::future::pending::<()>().await;
    }
    if asked.len() == 1 && message["parts"][0]["text"] == "slow" {
        slowly(&server, &call);
        std::future::pending::<()>().await;
    }
    let thread = message["contextId"].as_str().unwrap_or_default().to_owned();
    if uuid::Uuid::parse_str(&thread).is_err() {
        return refused(id, -32602, "Failed to create run: Invalid thread ID");
    }
    let parts = message["parts"].as_array().unwrap();
    if server.old && parts.iter().any(|part| part["kind"] == "file") {
        return refused(id, -32005, "Unsupported part kind 'file'.");
    }
    // Of several texts the last counts, and data goes into the state.
    let text = parts.iter().rev().find_map(|part| part["text"].as_str());
    let mut input = json!({"messages": []});
    if let Some(text) = text {
        let mut told = json!({"role": "human", "content": text});
        if !server.old {
            told["id"] = message["messageId"].clone();
        }
        input["messages"] = json!([told]);
    }
    let data = parts.iter().filter_map(|part| part["data"].as_object());
    for (key, value) in data.flatten() {
        input[key] = value.clone();
    }
    let resumes = message["taskId"].as_str().filter(|_| !server.old);
    let run = match resumes {
        Some(_) => {
            let value = input.get("resume").cloned().unwrap_or_else(|| json!(text));
            let kwargs = json!({"input": null, "command": {"resume": value}});
            server.begin(&thread, kwargs, value)
        }
        None => {
            let kwargs = json!({"input": input, "command": null});
            server.begin(&thread, kwargs, Value::Null)
        }
    };
    let task = match (resumes, server.old) {
        (Some(task), _) => task.to_owned(),
        (None, true) => run.id.clone(),
        (None, false) => format!("{thread}:{}", run.id),
    };
    if let Some(known) = server.threads.lock().unwrap().get_mut(&thread) {
        task.clone_into(&mut known.task);
    }
    let id = id.clone();
    if streams {
        let cut = text == Some("late cut");
        let events = stream(server, run, thread, task, id, cut);
        let body = Body::from_stream(events);
        return ([("content-type", "text/event-stream")], body).into_response();
    }
    let (status, said) = run
        .stand
        .subscribe()
        .wait_for(|stand| stand.0 != "running")
        .await
        .unwrap()
        .clone();
    let (state, artifacts) = server.told(&thread, &status, &said);
    let result = json!({"kind": "task", "id": task, "contextId": thread, "status": state, "artifacts": artifacts});
    json_answer(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// Takes its time to begin the run, whoever is gone meanwhile.
fn slowly(server: &Arc<Server>, call: &Value) {
    let message = &call["params"]["message"];
    let mut told = json!({"role": "human", "content": "slow"});
    if !server.old {
        told["id"] = message["messageId"].clone();
    }
    let thread = message["contextId"].as_str().unwrap().to_owned();
    let beginning = Arc::clone(server);
    server.tasks.lock().unwrap().spawn(async move {
        tokio::time::sleep(Duration::from_millis(2500)).await;
        let kwargs = json!({"input": {"messages": [told]}, "command": null});
        beginning.begin(&thread, kwargs, Value::Null);
    });
}

impl Server {
    /// The status and the artifacts of a run that is over, as A2A tells them: not always as they are.
    fn told(&self, thread: &str, status: &str, said: &str) -> (Value, Value) {
        let asks = self.threads.lock().unwrap()[thread].asks.clone();
        let answer = |text: &str| json!([{"artifactId": "a", "name": "Assistant Response", "parts": [{"kind": "text", "text": text}]}]);
        match (status, asks) {
            ("error", _) => {
                let message = json!({"kind": "message", "role": "agent", "messageId": "f", "parts": [{"kind": "text", "text": said}]});
                (json!({"state": "failed", "message": message}), json!([]))
            }
            (_, Some(asks)) if !self.old => {
                let asks = asks.as_array().unwrap().iter();
                let parts: Vec<Value> = asks
                    .map(|asked| json!({"kind": "data", "data": asked}))
                    .collect();
                (
                    json!({"state": "input-required"}),
                    json!([{"artifactId": "i", "name": "Interrupt", "parts": parts}]),
                )
            }
            _ => (json!({"state": "completed"}), answer(said)),
        }
    }
}

fn stream(
    server: Arc<Server>,
    run: Arc<Run>,
    thread: String,
    task: String,
    id: Value,
    cut: bool,
) -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> {
    let (sender, receiver) = tokio::sync::mpsc::channel(16);
    let telling = Arc::clone(&server);
    telling.tasks.lock().unwrap().spawn(async move {
        let send = async |result: Value| {
            let item = json!({"jsonrpc": "2.0", "id": id, "result": result});
            let frame = format!("event: message\r\ndata: {item}\r\n\r\n");
            sender.send(Ok(Bytes::from(frame))).await.is_ok()
        };
        let status = |status: Value| json!({"taskId": task, "contextId": thread, "kind": "status-update", "status": status, "final": false});
        let submitted = json!({"kind": "task", "id": task, "contextId": thread, "status": {"state": "submitted"}});
        send(submitted).await;
        if cut {
            return;
        }
        let mut stand = run.stand.subscribe();
        loop {
            let (now, said) = stand.borrow_and_update().clone();
            if now == "running" && !said.is_empty() {
                let message = json!({"kind": "message", "role": "agent", "messageId": said, "parts": [{"kind": "text", "text": said}]});
                if !send(status(json!({"state": "working", "message": message}))).await {
                    return;
                }
            }
            if now != "running" {
                let (state, artifacts) = server.told(&thread, &now, &said);
                for artifact in artifacts.as_array().unwrap().iter().filter(|_| !server.old) {
                    let update = json!({"taskId": task, "contextId": thread, "kind": "artifact-update", "artifact": artifact,
                        "append": false, "lastChunk": true});
                    send(update).await;
                }
                send(status(state)).await;
                return;
            }
            if stand.changed().await.is_err() {
                return;
            }
        }
    });
    futures_util::stream::unfold(receiver, |mut receiver| async {
        let item = receiver.recv().await?;
        Some((item, receiver))
    })
}
