//! An agent of somebody else that keeps its tasks, wants a key, and does not always answer at once. It remembers what it
//! was told. It speaks 0.3; or 1.0, and lists its tasks. It does not stream.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

type Known = State<Arc<Server>>;

/// A task: how it stands, what it says, and the messages that it was sent.
#[derive(Debug, Clone)]
struct Kept {
    state: &'static str,
    says: String,
    context: Value,
    heard: Vec<Value>,
}

#[derive(Debug)]
struct Server {
    new: bool,
    base: String,
    key: Mutex<Option<String>>,
    /// What is answered to everybody in its place.
    away: Mutex<Option<StatusCode>>,
    /// It gives its own names to conversations.
    names: AtomicBool,
    tasks: watch::Sender<Vec<Kept>>,
    /// How often it was asked how a task stands.
    looks: watch::Sender<usize>,
    /// How often it was asked for all of them.
    lists: AtomicUsize,
    canceled: Mutex<Vec<String>>,
    /// It cancels nothing, and tasks are in that state then.
    refuses: Mutex<Option<&'static str>>,
    /// The ids of all messages that came, those of strangers as well.
    came: Mutex<Vec<String>>,
    /// How long it takes to show its card, and how often that was asked for.
    shy: Mutex<Duration>,
    cards: watch::Sender<usize>,
}

/// The agent on a socket; gone when it is dropped.
pub(crate) struct Keeper {
    pub(crate) base: String,
    server: Arc<Server>,
    _serving: JoinSet<()>,
}

impl Keeper {
    pub(crate) async fn start() -> Self {
        Self::speaking(false).await
    }

    /// One that speaks 1.0, and lists its tasks.
    pub(crate) async fn lists() -> Self {
        Self::speaking(true).await
    }

    async fn speaking(new: bool) -> Self {
        Self::at("127.0.0.1:0", new).await
    }

    /// One at this address.
    pub(crate) async fn at(address: &str, new: bool) -> Self {
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let server = Arc::new(Server {
            new,
            base: base.clone(),
            key: Mutex::default(),
            away: Mutex::default(),
            names: AtomicBool::new(false),
            tasks: watch::Sender::new(Vec::new()),
            looks: watch::Sender::new(0),
            lists: AtomicUsize::new(0),
            canceled: Mutex::default(),
            refuses: Mutex::default(),
            came: Mutex::default(),
            shy: Mutex::default(),
            cards: watch::Sender::new(0),
        });
        let app = Router::new()
            .route("/.well-known/agent-card.json", get(card))
            .route("/", post(answer))
            .with_state(Arc::clone(&server));
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
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

    /// From now on it answers nobody, and what stands before it answers so; or it answers everybody.
    pub(crate) fn is_away(&self, away: Option<StatusCode>) {
        *self.server.away.lock().unwrap() = away;
    }

    /// From now on it refuses to cancel. Each task that it is to cancel turns out to be in this state.
    pub(crate) fn refuses_to_cancel(&self, state: &'static str) {
        *self.server.refuses.lock().unwrap() = Some(state);
    }

    /// It gives its own names to conversations from now on.
    pub(crate) fn names_conversations(&self) {
        self.server.names.store(true, Ordering::Relaxed);
    }

    /// The conversations of its tasks.
    pub(crate) fn conversations(&self) -> Vec<Value> {
        let tasks = self.server.tasks.borrow().clone();
        tasks.into_iter().map(|task| task.context).collect()
    }

    /// It takes its time to show its card from now on.
    pub(crate) fn is_shy(&self) {
        // Longer than a start waits for it, and not as long as a cancel waits for an agent.
        *self.server.shy.lock().unwrap() = Duration::from_secs(3);
        self.server.cards.send_replace(0);
    }

    /// Waits until somebody asks for its card.
    pub(crate) async fn until_looked_up(&self) {
        let mut cards = self.server.cards.subscribe();
        let asked = cards.wait_for(|cards| *cards > 0);
        let asked = tokio::time::timeout(Duration::from_secs(20), asked).await;
        asked.unwrap().unwrap();
    }

    /// All tasks that work ask something.
    pub(crate) fn asks(&self) {
        self.server.tasks.send_modify(|tasks| {
            for task in tasks.iter_mut().filter(|task| task.state == "working") {
                (task.state, task.says) = ("input-required", "Which?".to_owned());
            }
        });
    }

    /// All that was said to it, in the order of its tasks.
    pub(crate) fn heard(&self) -> Vec<String> {
        let tasks = self.server.tasks.borrow().clone();
        let heard = tasks.iter().flat_map(|task| &task.heard);
        heard.map(switchboard_testkit::text_of).collect()
    }

    /// The ids of all messages that came, also of those that were refused.
    pub(crate) fn came(&self) -> Vec<String> {
        self.server.came.lock().unwrap().clone()
    }

    /// How many tasks it has.
    pub(crate) fn tasks(&self) -> usize {
        self.server.tasks.borrow().len()
    }

    /// How often it was asked for all of its tasks.
    pub(crate) fn was_listed(&self) -> usize {
        self.server.lists.load(Ordering::Relaxed)
    }

    /// The tasks that were canceled, each time.
    pub(crate) fn canceled(&self) -> Vec<String> {
        self.server.canceled.lock().unwrap().clone()
    }

    /// Waits until it was told so much.
    pub(crate) async fn until_heard(&self, many: usize) {
        let mut tasks = self.server.tasks.subscribe();
        let told =
            tasks.wait_for(|tasks| tasks.iter().map(|t| t.heard.len()).sum::<usize>() >= many);
        let told = tokio::time::timeout(Duration::from_secs(20), told).await;
        told.unwrap().unwrap();
    }

    /// Waits until someone who knows its tasks follows one.
    pub(crate) async fn until_followed(&self) {
        let mut looks = self.server.looks.subscribe();
        let before = *looks.borrow();
        let followed = looks.wait_for(|looks| *looks > before + 2);
        let followed = tokio::time::timeout(Duration::from_secs(20), followed).await;
        followed.unwrap().unwrap();
    }

    /// Waits until one is canceled.
    pub(crate) async fn until_canceled(&self) {
        let mut tasks = self.server.tasks.subscribe();
        let gone = tasks.wait_for(|tasks| tasks.iter().any(|task| task.state == "canceled"));
        let gone = tokio::time::timeout(Duration::from_secs(20), gone).await;
        gone.unwrap().unwrap();
    }

    /// All tasks that work say this.
    pub(crate) fn speaks(&self, text: &str) {
        self.server.tasks.send_modify(|tasks| {
            for task in tasks.iter_mut().filter(|task| task.state == "working") {
                text.clone_into(&mut task.says);
            }
        });
    }

    /// All tasks that work are done.
    pub(crate) fn finishes(&self) {
        self.server.tasks.send_modify(|tasks| {
            for task in tasks.iter_mut().filter(|task| task.state == "working") {
                (task.state, task.says) = ("completed", "at last".to_owned());
            }
        });
    }
}

async fn card(State(server): Known) -> String {
    server.cards.send_modify(|cards| *cards += 1);
    let shy = *server.shy.lock().unwrap();
    tokio::time::sleep(shy).await;
    let (at, new) = (&server.base, server.new);
    let version = if new { "1.0" } else { "0.3" };
    json!({
        "name": "Keeper", "description": "Keeps", "version": "1", "protocolVersion": "0.3.0", "url": at,
        "supportedInterfaces": [{"url": at, "protocolBinding": "JSONRPC", "protocolVersion": version}],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "keep", "name": "keep", "description": "keeps", "tags": ["t"]}],
    })
    .to_string()
}

async fn answer(State(server): Known, headers: HeaderMap, body: Bytes) -> Response {
    let call: Value = serde_json::from_slice(&body).unwrap();
    if call["method"] == "ListTasks" {
        server.lists.fetch_add(1, Ordering::Relaxed);
    }
    if let Some(status) = *server.away.lock().unwrap() {
        return status.into_response();
    }
    let shown = headers
        .get("x-key")
        .map(|key| key.to_str().unwrap().to_owned());
    let params = &call["params"];
    if let Some(id) = params["message"]["messageId"].as_str() {
        server.came.lock().unwrap().push(id.to_owned());
    }
    let wanted = server.key.lock().unwrap().clone();
    if wanted.is_some() && wanted != shown {
        return (StatusCode::UNAUTHORIZED, "who are you?").into_response();
    }
    let result = match call["method"].as_str().unwrap_or_default() {
        "message/send" | "SendMessage" if is(params, "echo") => {
            let said = format!("what is {}?", shown.unwrap_or_default());
            Err((-32603, said))
        }
        "message/send"
            if ["repeat", "reject", "wonder"]
                .iter()
                .any(|it| is(params, it)) =>
        {
            let said = format!("{} is no good", shown.unwrap_or_default());
            let parts = json!([{"kind": "text", "text": said}, {"kind": "data", "data": {"why": said}, "metadata": {"why": said}}]);
            let message = json!({"kind": "message", "messageId": "r", "role": "agent", "parts": parts, "metadata": {"why": said}});
            let state = match switchboard_testkit::text_of(&params["message"]).as_str() {
                "repeat" => "failed",
                "reject" => "rejected",
                _ => "input-required",
            };
            let status = json!({"state": state, "message": message});
            Ok(
                json!({"kind": "task", "id": "task-9", "contextId": params["message"]["contextId"], "status": status}),
            )
        }
        "message/send" if is(params, "claim") => {
            // As if an agent of ours had done it.
            let asked = &params["message"]["metadata"];
            let claim = json!({"delegate": asked["claim"], "more": 1});
            let parts = json!([{"kind": "text", "text": "done"}]);
            let message = json!({"kind": "message", "messageId": "c", "role": "agent", "parts": parts, "metadata": claim});
            let artifact = json!({"artifactId": "a", "parts": parts, "metadata": claim});
            let status = json!({"state": asked["state"], "message": message});
            Ok(
                json!({"kind": "task", "id": "task-9", "contextId": params["message"]["contextId"], "status": status, "artifacts": [artifact]}),
            )
        }
        "message/send" => Ok(server.told(params).await),
        "SendMessage" => Ok(json!({"task": server.told(params).await})),
        "tasks/get" | "GetTask" => {
            server.looks.send_modify(|looks| *looks += 1);
            if server.tasks.borrow()[place(&params["id"])].says == "gibberish" {
                return ([("content-type", "application/json")], "[[").into_response();
            }
            Ok(server.shown(place(&params["id"])))
        }
        "tasks/cancel" | "CancelTask" => {
            let id = params["id"].as_str().unwrap().to_owned();
            server.canceled.lock().unwrap().push(id);
            let at = place(&params["id"]);
            let refuses = *server.refuses.lock().unwrap();
            let state = refuses.unwrap_or("canceled");
            server.tasks.send_modify(|tasks| tasks[at].state = state);
            match refuses {
                Some(_) => Err((-32002, "I never stop".to_owned())),
                None => Ok(server.shown(at)),
            }
        }
        "ListTasks" => {
            let many = server.tasks.borrow().len();
            let tasks: Vec<Value> = (0..many).map(|at| server.shown(at)).collect();
            Ok(json!({"tasks": tasks, "nextPageToken": "", "pageSize": many, "totalSize": many}))
        }
        _ => Err((-32601, "no such method".to_owned())),
    };
    let answer = match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": call["id"], "result": result}),
        Err((code, said)) => {
            let error = json!({"code": code, "message": said});
            json!({"jsonrpc": "2.0", "id": call["id"], "error": error})
        }
    };
    ([("content-type", "application/json")], answer.to_string()).into_response()
}

fn is(params: &Value, text: &str) -> bool {
    switchboard_testkit::text_of(&params["message"]) == text
}

fn place(id: &Value) -> usize {
    let id = id.as_str().unwrap().strip_prefix("task-").unwrap();
    id.parse().unwrap()
}

impl Server {
    /// Takes a message. The word in it says what becomes of it.
    async fn told(&self, params: &Value) -> Value {
        let message = params["message"].clone();
        let text = switchboard_testkit::text_of(&message);
        let task = &message["taskId"];
        let at = match task.is_string() {
            true => place(task),
            false => self.tasks.borrow().len(),
        };
        let named = |context: &Value| context.as_str().is_some_and(|c| c.starts_with("theirs-"));
        let context = match &message["contextId"] {
            other if self.names.load(Ordering::Relaxed) && !named(other) => {
                format!("theirs-{at}").into()
            }
            context => context.clone(),
        };
        self.tasks.send_modify(|tasks| {
            if at == tasks.len() {
                tasks.push(Kept {
                    state: "working",
                    says: String::new(),
                    context,
                    heard: Vec::new(),
                });
            }
            let task = &mut tasks[at];
            task.heard.push(message.clone());
            (task.state, task.says) = match text.as_str() {
                "ask" | "again" => ("input-required", "Which?".to_owned()),
                "login" => ("auth-required", "Token?".to_owned()),
                "long" | "block" | "late" => ("working", String::new()),
                text => ("completed", format!("took {text}")),
            };
        });
        if text == "block" {
            // It answers when it is over, whatever it is asked.
            let mut tasks = self.tasks.subscribe();
            let over = tasks.wait_for(|tasks| tasks[at].state != "working");
            drop(over.await);
        }
        if text == "late" {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.shown(at)
    }

    fn shown(&self, at: usize) -> Value {
        let task = self.tasks.borrow()[at].clone();
        let id = format!("task-{at}");
        let mut status = json!({"state": task.state});
        if self.new {
            let name = task.state.to_uppercase().replace('-', "_");
            status["state"] = format!("TASK_STATE_{name}").into();
        }
        if !task.says.is_empty() {
            let (role, part) = match self.new {
                true => ("ROLE_AGENT", json!({"text": task.says})),
                false => ("agent", json!({"kind": "text", "text": task.says})),
            };
            let said = format!("{id}-{}", task.heard.len());
            status["message"] = json!({"messageId": said, "role": role, "parts": [part]});
            if !self.new {
                status["message"]["kind"] = "message".into();
            }
        }
        let mut shown =
            json!({"id": id, "contextId": task.context, "status": status, "history": task.heard});
        if !self.new {
            shown["kind"] = "task".into();
        }
        shown
    }
}
