//! A small OpenClaw gateway: it says what a real one says (2026.9), in the same order, to a few messages that it knows.
//! It can die, and come back at the same address with what it had written down.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

use crate::claw_http;

pub(crate) const TOKEN: &str = "tok-0123456789abcdef";

/// What it tells an agent whose run was cut off.
const RECOVERY: &str = "[System] Your previous turn was interrupted by a gateway restart";

/// What a gateway may be like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// It wants its owner to approve of devices.
    pub(crate) pairs: bool,
    /// It takes messages over HTTP.
    pub(crate) http: bool,
    /// It goes on with what it was at when it died.
    pub(crate) recovers: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            pairs: false,
            http: true,
            recovers: true,
        }
    }
}

/// A gateway on a socket.
pub(crate) struct Claw {
    pub(crate) world: Arc<World>,
    address: SocketAddr,
    life: Option<Life>,
}

/// One life of it: what ends when it dies.
struct Life {
    accepting: JoinHandle<()>,
    dead: watch::Sender<bool>,
}

/// What it knows.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) manner: Mutex<Manner>,
    inner: Mutex<Inner>,
    events: broadcast::Sender<String>,
}

#[derive(Debug, Default)]
struct Inner {
    boot: u32,
    connections: u32,
    /// What was asked for, besides handshakes.
    calls: Vec<(String, Value)>,
    /// Runs of this life: nothing, or how they ended.
    runs: HashMap<String, watch::Sender<Option<Value>>>,
    /// What outlives it.
    rows: Vec<Value>,
    history: Vec<(String, Value)>,
    skills: Vec<String>,
}

impl Claw {
    pub(crate) async fn start() -> Self {
        Self::with(Manner::default()).await
    }

    pub(crate) async fn with(manner: Manner) -> Self {
        let world = Arc::new(World {
            manner: Mutex::new(manner),
            inner: Mutex::new(Inner {
                skills: vec!["weather".to_owned()],
                ..Inner::default()
            }),
            events: broadcast::Sender::new(1024),
        });
        let mut claw = Self {
            world,
            address: ([127, 0, 0, 1], 0).into(),
            life: None,
        };
        claw.live().await;
        claw
    }

    /// Comes to life, at the same address.
    pub(crate) async fn live(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.address = listener.local_addr().unwrap();
        self.world.inner().boot += 1;
        let (dead, is_dead) = watch::channel(false);
        let world = Arc::clone(&self.world);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (world, mut dead) = (Arc::clone(&world), is_dead.clone());
                tokio::spawn(async move {
                    let boot = world.inner().boot;
                    tokio::select! {
                        () = serve(&world, stream, boot) => {}
                        _ = dead.wait_for(|dead| *dead) => {}
                    }
                });
            }
        });
        self.life = Some(Life { accepting, dead });
    }

    /// Comes to life after it died. What ran then runs no more; it may go on with it, in a run of another name.
    pub(crate) async fn revive(&mut self) {
        let mut cut_off = Vec::new();
        for row in &mut self.world.inner().rows {
            if row["status"] == "running" {
                row["status"] = "cancelled".into();
                row["error"] = "Task execution process exited before restart.".into();
                cut_off.push(row["runId"].as_str().unwrap().to_owned());
            }
        }
        self.live().await;
        if !self.world.manner.lock().unwrap().recovers {
            return;
        }
        for run in cut_off {
            let (world, boot) = (Arc::clone(&self.world), self.world.inner().boot);
            let key = json!(format!("{run}:user"));
            let rows = world.inner().history.clone();
            let (session, _) = rows
                .iter()
                .find(|(_, row)| row["idempotencyKey"] == key)
                .unwrap();
            let (session, run) = (session.clone(), format!("again-{run}"));
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                let ended = watch::Sender::new(None);
                world.inner().runs.insert(run.clone(), ended);
                world.run(run, session, RECOVERY.to_owned(), boot).await;
            });
        }
    }

    /// Dies as a process does that is killed: with all connections and runs, and all that it had in memory.
    pub(crate) async fn die(&mut self) {
        self.cut_off().await;
        self.world.inner().runs.clear();
    }

    /// Cuts all connections and takes no others, and lives on.
    pub(crate) async fn cut_off(&mut self) {
        let life = self.life.take().unwrap();
        life.accepting.abort();
        drop(life.accepting.await);
        life.dead.send_replace(true);
    }

    /// Can be reached again.
    pub(crate) async fn back(&mut self) {
        self.world.inner().boot -= 1;
        self.live().await;
    }

    /// Cuts all connections, and can be reached again at once.
    pub(crate) async fn cut(&mut self) {
        self.cut_off().await;
        self.back().await;
    }

    pub(crate) fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// What it was asked for by that name.
    pub(crate) fn calls(&self, method: &str) -> Vec<Value> {
        let inner = self.world.inner();
        let calls = inner.calls.iter().filter(|(name, _)| name == method);
        calls.map(|(_, params)| params.clone()).collect()
    }

    /// How many sockets were opened.
    pub(crate) fn connections(&self) -> u32 {
        self.world.inner().connections
    }

    pub(crate) fn learns(&self, skill: &str) {
        self.world.inner().skills.push(skill.to_owned());
    }

    /// Its owner approves of the device.
    pub(crate) fn approve(&self) {
        self.world.manner.lock().unwrap().pairs = false;
    }
}

impl World {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    pub(crate) fn note(&self, method: &str, params: Value) {
        self.inner().calls.push((method.to_owned(), params));
    }

    fn tell(&self, event: &str, payload: &Value) {
        let frame = json!({"type": "event", "event": event, "payload": payload, "seq": 1});
        drop(self.events.send(frame.to_string()));
    }

    fn say(&self, run: &str, stream: &str, data: &Value) {
        self.tell(
            "agent",
            &json!({"runId": run, "stream": stream, "data": data, "seq": 1, "ts": 1}),
        );
    }

    fn set_row(&self, run: &str, status: &str) {
        let mut inner = self.inner();
        inner.rows.retain(|row| row["runId"] != run);
        inner
            .rows
            .insert(0, json!({"runId": run, "status": status, "error": "boom"}));
    }

    fn write(&self, session: &str, row: Value) {
        self.inner().history.push((session.to_owned(), row));
    }

    /// Runs an agent, until it is done or stopped.
    async fn run(self: Arc<Self>, run: String, session: String, text: String, boot: u32) {
        self.set_row(&run, "running");
        let mut user =
            json!({"role": "user", "content": text, "idempotencyKey": format!("{run}:user")});
        if text == RECOVERY {
            user["provenance"] =
                json!({"kind": "internal_system", "sourceTool": "main_session_restart_recovery"});
        }
        self.write(&session, user);
        let says =
            |text: &str| self.say(&run, "assistant", &json!({"text": text, "itemId": "i:1"}));
        let is_over = || {
            let inner = self.inner();
            inner.boot != boot
                || inner
                    .runs
                    .get(&run)
                    .is_none_or(|end| end.borrow().is_some())
        };
        self.say(&run, "lifecycle", &json!({"phase": "start"}));
        let mut words = text.split_whitespace();
        let answer = match words.next().unwrap_or_default() {
            "count" => {
                let mut number = || words.next().unwrap().parse::<u64>().unwrap();
                let (most, pause) = (number(), number());
                let mut all = String::new();
                for n in 1..=most {
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                    if is_over() {
                        return;
                    }
                    all += &if n == 1 {
                        "1".to_owned()
                    } else {
                        format!(" {n}")
                    };
                    says(&all);
                }
                Ok(all)
            }
            "hang" => {
                says("hm");
                return;
            }
            "retry" => {
                says("something wro");
                tokio::time::sleep(Duration::from_millis(150)).await;
                let retry = json!({"phase": "retrying", "message": "Retrying in 1s (1/8)."});
                self.say(&run, "run_status", &retry);
                let replace = json!({"text": "", "delta": "", "itemId": "j:1", "replace": true});
                self.say(&run, "assistant", &replace);
                Ok("right".to_owned())
            }
            "tool" => {
                let call = json!({"phase": "start", "name": "exec", "toolCallId": "c1", "args": {"command": "ls"}});
                self.say(&run, "tool", &call);
                let result = json!({"phase": "result", "name": "exec", "toolCallId": "c1", "isError": false, "result": {"content": []}});
                self.say(&run, "tool", &result);
                Ok("used a tool".to_owned())
            }
            "break" => Err("the model broke"),
            "[System]" => Ok("went on after the restart".to_owned()),
            _ => Ok(format!("heard: {text}")),
        };
        let end = match answer {
            Ok(text) => {
                let said = json!({"role": "assistant", "content": [{"type": "text", "text": text}], "__openclaw": {"runId": run}});
                self.write(&session, said);
                self.set_row(&run, "completed");
                let meta = json!({"agentMeta": {"provider": "p", "model": "m", "usage": {"input": 1, "output": 2, "total": 3}}});
                json!({"ok": true, "payload": {"runId": run, "status": "ok", "summary": "completed",
                    "result": {"payloads": [{"text": text, "mediaUrl": null}], "meta": meta}}})
            }
            Err(why) => {
                self.set_row(&run, "failed");
                json!({"ok": false, "payload": {"runId": run, "status": "error", "summary": why},
                    "error": {"code": "UNAVAILABLE", "message": why}})
            }
        };
        self.end(&run, end);
    }

    fn end(&self, run: &str, end: Value) {
        if let Some(ended) = self.inner().runs.get(run) {
            ended.send_replace(Some(end));
        }
    }

    /// Whether a run has ended.
    pub(crate) fn is_over(&self, run: &str) -> bool {
        let inner = self.inner();
        inner
            .runs
            .get(run)
            .is_some_and(|ended| ended.borrow().is_some())
    }

    /// Whether there was something to stop.
    pub(crate) fn stop(&self, run: &str) -> bool {
        let runs = self.inner().runs.get(run).cloned();
        let Some(ended) = runs.filter(|ended| ended.borrow().is_none()) else {
            return false;
        };
        self.set_row(run, "cancelled");
        ended.send_replace(Some(json!({"ok": true, "payload": {
            "runId": run, "status": "timeout", "summary": "aborted", "stopReason": "rpc",
        }})));
        true
    }
}

async fn serve(world: &Arc<World>, stream: TcpStream, boot: u32) {
    let mut begin = [0; 2048];
    let known = loop {
        let known = stream.peek(&mut begin).await.unwrap_or(0);
        if known == 0
            || begin[..known].windows(4).any(|four| four == b"\r\n\r\n")
            || known == begin.len()
        {
            break known;
        }
        tokio::task::yield_now().await;
    };
    let head = String::from_utf8_lossy(&begin[..known]).to_ascii_lowercase();
    if head.contains("upgrade: websocket") {
        socket(world, stream, boot).await;
    } else {
        claw_http::serve(world, stream).await;
    }
}

async fn socket(world: &Arc<World>, stream: TcpStream, boot: u32) {
    let Ok(socket) = tokio_tungstenite::accept_async(stream).await else {
        return;
    };
    let (mut sink, mut frames) = socket.split();
    let challenge = json!({"type": "event", "event": "connect.challenge", "payload": {"nonce": "n-1", "ts": 17}});
    drop(sink.send(Message::text(challenge.to_string())).await);
    let Some(Ok(Message::Text(first))) = frames.next().await else {
        return;
    };
    let first: Value = serde_json::from_str(&first).unwrap();
    let answer = greeted(world, &first["params"], boot);
    let welcome = answer["ok"] == true;
    let mut frame = answer;
    frame["type"] = "res".into();
    frame["id"] = first["id"].clone();
    drop(sink.send(Message::text(frame.to_string())).await);
    if !welcome {
        drop(sink.close().await);
        return;
    }
    world.inner().connections += 1;
    let mut events = world.events.subscribe();
    let (answers, mut answered) = mpsc::channel::<Value>(64);
    loop {
        tokio::select! {
            frame = frames.next() => {
                let Some(Ok(frame)) = frame else { return };
                if let Message::Text(text) = frame {
                    let request: Value = serde_json::from_str(&text).unwrap();
                    tokio::spawn(answer_to(Arc::clone(world), request, answers.clone(), boot));
                }
            }
            Ok(event) = events.recv() => drop(sink.send(Message::text(event)).await),
            Some(frame) = answered.recv() => drop(sink.send(Message::text(frame.to_string())).await),
        }
    }
}

/// The answer to a handshake.
fn greeted(world: &World, params: &Value, boot: u32) -> Value {
    let refuse = |code: &str, message: &str, details: Value| json!({"ok": false, "error": {"code": code, "message": message, "details": details}});
    let version = |key: &str| params[key].as_u64().unwrap();
    if !(version("minProtocol")..=version("maxProtocol")).contains(&4) {
        return refuse(
            "INVALID_REQUEST",
            "protocol mismatch",
            json!({"code": "PROTOCOL_MISMATCH"}),
        );
    }
    if params["auth"]["token"] != TOKEN {
        let details = json!({"code": "AUTH_TOKEN_MISMATCH"});
        return refuse(
            "INVALID_REQUEST",
            "unauthorized: gateway token mismatch",
            details,
        );
    }
    let device = &params["device"];
    let key = switchboard_keys::decoded(device["publicKey"].as_str().unwrap()).unwrap();
    assert_eq!(device["id"], switchboard_keys::sha256_hex(&key).as_str());
    assert_eq!(
        (&device["nonce"], &device["signedAt"]),
        (&json!("n-1"), &json!(17))
    );
    assert_eq!(params["client"]["id"], "gateway-client");
    if world.manner.lock().unwrap().pairs {
        let details = json!({"code": "PAIRING_REQUIRED", "reason": "not-paired", "requestId": "98ca4865-586e"});
        return refuse(
            "NOT_PAIRED",
            "pairing required: device is not approved yet",
            details,
        );
    }
    json!({"ok": true, "payload": {
        "type": "hello-ok", "protocol": 4,
        "server": {"version": "2026.9.6", "bootId": format!("boot-{boot}"), "connId": "c"},
        "auth": {"method": "token", "role": "operator", "scopes": params["scopes"]},
        "policy": {"maxPayload": 26_214_400, "tickIntervalMs": 30000},
    }})
}

async fn answer_to(world: Arc<World>, request: Value, answers: mpsc::Sender<Value>, boot: u32) {
    let (method, params) = (request["method"].as_str().unwrap(), &request["params"]);
    world.note(method, params.clone());
    let send = async |mut frame: Value| {
        frame["type"] = "res".into();
        frame["id"] = request["id"].clone();
        drop(answers.send(frame).await);
    };
    let ok = |payload: Value| json!({"ok": true, "payload": payload});
    let word = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
    match method {
        "agent" | "chat.send" => {
            let run = word("idempotencyKey");
            let images = params["attachments"].as_array().into_iter().flatten();
            let is_file = |file: &Value| file["type"] != "image";
            if method == "agent" && images.clone().any(is_file) {
                let error = json!({"code": "INVALID_REQUEST", "message": "non-image attachments are not supported on this entrypoint"});
                return send(json!({"ok": false, "error": error})).await;
            }
            if method == "agent" && params["agentId"] != "main" {
                let error = json!({"code": "INVALID_REQUEST", "message": "invalid agent params: unknown agent id"});
                return send(json!({"ok": false, "error": error})).await;
            }
            let (known, ended) = {
                let mut inner = world.inner();
                let known = inner.runs.contains_key(&run);
                let ended = inner
                    .runs
                    .entry(run.clone())
                    .or_insert_with(|| watch::Sender::new(None));
                (known, ended.clone())
            };
            let begun = if method == "agent" {
                "accepted"
            } else {
                "started"
            };
            let over = ended.borrow().clone();
            match over {
                Some(end) if known => return send(end).await,
                _ if known => return send(ok(json!({"runId": run, "status": "in_flight"}))).await,
                _ => send(ok(json!({"runId": run, "status": begun}))).await,
            }
            let session = word("sessionKey");
            tokio::spawn(Arc::clone(&world).run(run, session, word("message"), boot));
            if method == "agent" {
                let mut end = ended.subscribe();
                let Ok(end) = end.wait_for(Option::is_some).await.map(|end| end.clone()) else {
                    return;
                };
                send(end.unwrap()).await;
            }
        }
        "agent.wait" => {
            let run = word("runId");
            let ended = world.inner().runs.get(&run).map(watch::Sender::subscribe);
            let most = Duration::from_millis(params["timeoutMs"].as_u64().unwrap());
            let end = async {
                match ended {
                    Some(mut ended) => ended.wait_for(Option::is_some).await.unwrap().clone(),
                    None => std::future::pending().await,
                }
            };
            let end = tokio::time::timeout(most, end).await.ok().flatten();
            let payload = match end {
                None => json!({"runId": run, "status": "timeout"}),
                Some(end) if end["payload"]["status"] == "ok" => {
                    let text = &end["payload"]["result"]["payloads"][0]["text"];
                    json!({"runId": run, "status": "ok", "terminalReply": {"text": text}})
                }
                Some(end) => {
                    json!({"runId": run, "status": "error", "error": end["payload"]["summary"],
                    "stopReason": end["payload"]["stopReason"]})
                }
            };
            send(ok(payload)).await;
        }
        "sessions.abort" => {
            let run = word("runId");
            let status = if world.stop(&run) {
                "aborted"
            } else {
                "no-active-run"
            };
            send(ok(
                json!({"ok": true, "abortedRunId": run, "status": status}),
            ))
            .await;
        }
        "tasks.list" => {
            let rows = world.inner().rows.clone();
            send(ok(json!({"tasks": rows}))).await;
        }
        "chat.history" => {
            let session = word("sessionKey");
            let rows = world.inner().history.clone();
            let rows = rows.into_iter().filter(|(of, _)| *of == session);
            let rows: Vec<Value> = rows.map(|(_, row)| row).collect();
            send(ok(json!({"sessionKey": session, "messages": rows}))).await;
        }
        "agents.list" => {
            let main = json!({"id": "main", "name": "Mainy", "identity": {"name": "Mainy", "theme": "a bot for tests"}});
            send(ok(json!({"defaultId": "main", "agents": [main]}))).await;
        }
        "skills.status" => {
            let skills = world.inner().skills.clone();
            let skill = |name: &String| json!({"name": name, "description": format!("does {name}"), "eligible": true, "modelVisible": true});
            let mut skills: Vec<Value> = skills.iter().map(skill).collect();
            skills.push(json!({"name": "1password", "eligible": false, "modelVisible": false}));
            send(ok(json!({"agentId": "main", "skills": skills}))).await;
        }
        other => {
            let error =
                json!({"code": "INVALID_REQUEST", "message": format!("unknown method: {other}")});
            send(json!({"ok": false, "error": error})).await;
        }
    }
}

/// Answers a plain HTTP request.
pub(crate) async fn plain(stream: &mut TcpStream, status: &str, kind: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    drop(stream.write_all(head.as_bytes()).await);
    drop(stream.write_all(body.as_bytes()).await);
}
