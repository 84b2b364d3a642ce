//! A small OpenClaw gateway: it says what a real one says (2026.9), in the same order, to a few messages that it knows.
//! It can die, and come back at the same address with what it had written down.

#![expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]

mod http;
mod recorded;
mod socket;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The token that it accepts.
pub const TOKEN: &str = "tok-0123456789abcdef";

/// What it says if it is careless.
const LEAK: &str = "no use for tok-0123456789abcdef";

/// The same, where a text of others is cut.
fn leak_at_the_cut() -> String {
    format!("{}{TOKEN}", "x".repeat(490))
}

/// How the names of runs begin that go on with others.
pub const AGAIN: &str = "again-";

/// What it tells an agent whose run was cut off.
const RECOVERY: &str = "[System] Your previous turn was interrupted by a gateway restart";

/// What a gateway may be like.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// It wants its owner to approve of devices.
    pub pairs: bool,
    /// It takes messages over HTTP.
    pub http: bool,
    /// It goes on with what it was at when it died.
    pub recovers: bool,
    /// What it is told then.
    pub goes_on: &'static str,
    /// What its list says then of what it was at.
    pub left_as: &'static str,
    /// What it does when it is asked to run something.
    pub asked: Reaction,
}

/// What a gateway does when it is asked to run something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// It runs it, and says so.
    Runs,
    /// It does not hear it.
    Deaf,
    /// It runs it, and says nothing.
    Mute,
    /// It cannot run anything yet.
    Starting,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            pairs: false,
            http: true,
            recovers: true,
            goes_on: RECOVERY,
            left_as: "cancelled",
            asked: Reaction::Runs,
        }
    }
}

/// A gateway on a socket.
#[derive(Debug)]
pub struct Claw {
    /// What it knows, also after it died.
    pub world: Arc<World>,
    address: SocketAddr,
    /// What ends when it dies.
    life: TaskTracker,
    death: CancellationToken,
}

/// What it knows.
#[derive(Debug)]
pub struct World {
    /// What it is like from now on.
    pub manner: Mutex<Manner>,
    inner: Mutex<Inner>,
    events: broadcast::Sender<String>,
    /// What it does, whoever is connected.
    work: TaskTracker,
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
    /// One that does all that it should.
    pub async fn start() -> Self {
        Self::with(Manner::default()).await
    }

    /// One of that manner.
    pub async fn with(manner: Manner) -> Self {
        let world = Arc::new(World {
            manner: Mutex::new(manner),
            inner: Mutex::new(Inner {
                skills: vec!["weather".to_owned()],
                ..Inner::default()
            }),
            events: broadcast::Sender::new(1024),
            work: TaskTracker::new(),
        });
        let mut claw = Self {
            world,
            address: ([127, 0, 0, 1], 0).into(),
            life: TaskTracker::new(),
            death: CancellationToken::new(),
        };
        claw.live().await;
        claw
    }

    /// Comes to life, at the same address.
    pub async fn live(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.address = listener.local_addr().unwrap();
        self.world.inner.lock().boot += 1;
        (self.life, self.death) = (TaskTracker::new(), CancellationToken::new());
        let (life, death) = (self.life.clone(), self.death.clone());
        let world = Arc::clone(&self.world);
        self.life.spawn(async move {
            while let Some(Ok((stream, _))) = death.run_until_cancelled(listener.accept()).await {
                let (world, death) = (Arc::clone(&world), death.clone());
                life.spawn(async move {
                    let boot = world.inner.lock().boot;
                    death.run_until_cancelled(serve(&world, stream, boot)).await;
                });
            }
        });
    }

    /// Comes to life after it died. What ran then runs no more; it may go on with it, in a run of another name.
    pub async fn revive(&mut self) {
        let mut cut_off = Vec::new();
        let left_as = self.world.manner.lock().left_as;
        for row in &mut self.world.inner.lock().rows {
            if row["status"] == "running" {
                row["status"] = left_as.into();
                row["error"] = "Task execution process exited before restart.".into();
                cut_off.push(row["runId"].as_str().unwrap().to_owned());
            }
        }
        self.live().await;
        let manner = *self.world.manner.lock();
        if !manner.recovers {
            return;
        }
        for run in cut_off {
            let (world, boot) = (Arc::clone(&self.world), self.world.inner.lock().boot);
            let key = json!(format!("{run}:user"));
            let rows = world.inner.lock().history.clone();
            let (session, _) = rows
                .iter()
                .find(|(_, row)| row["idempotencyKey"] == key)
                .unwrap();
            let (session, run) = (session.clone(), format!("{AGAIN}{run}"));
            let work = world.work.clone();
            work.spawn(async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                let ended = watch::Sender::new(None);
                world.inner.lock().runs.insert(run.clone(), ended);
                world
                    .run(run, session, manner.goes_on.to_owned(), boot)
                    .await;
            });
        }
    }

    /// Dies as a process does that is killed: with all connections and runs, and all that it had in memory.
    pub async fn die(&mut self) {
        self.cut_off().await;
        self.world.inner.lock().runs.clear();
    }

    /// Cuts all connections and takes no others, and lives on.
    pub async fn cut_off(&mut self) {
        self.death.cancel();
        self.life.close();
        let ended = tokio::time::timeout(Duration::from_secs(10), self.life.wait()).await;
        ended.expect("all connections end");
    }

    /// Can be reached again.
    pub async fn back(&mut self) {
        self.world.inner.lock().boot -= 1;
        self.live().await;
    }

    /// Cuts all connections, and can be reached again at once.
    pub async fn cut(&mut self) {
        self.cut_off().await;
        self.back().await;
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// What it was asked for by that name.
    pub fn calls(&self, method: &str) -> Vec<Value> {
        let inner = self.world.inner.lock();
        let calls = inner.calls.iter().filter(|(name, _)| name == method);
        calls.map(|(_, params)| params.clone()).collect()
    }

    /// How many sockets were opened.
    pub fn connections(&self) -> u32 {
        self.world.inner.lock().connections
    }

    /// It has one more skill from now on.
    pub fn learns(&self, skill: &str) {
        self.world.inner.lock().skills.push(skill.to_owned());
    }

    /// Its owner approves of the device.
    pub fn approve(&self) {
        self.world.manner.lock().pairs = false;
    }
}

impl World {
    /// A run of that name, and whether it was known.
    fn know(&self, run: &str) -> (bool, watch::Sender<Option<Value>>) {
        let mut inner = self.inner.lock();
        let known = inner.runs.contains_key(run);
        let ended = inner.runs.entry(run.to_owned());
        let ended = ended.or_insert_with(|| watch::Sender::new(None));
        (known, ended.clone())
    }

    fn ended(&self, run: &str) -> Option<watch::Receiver<Option<Value>>> {
        self.inner
            .lock()
            .runs
            .get(run)
            .map(watch::Sender::subscribe)
    }

    fn connected(&self) {
        self.inner.lock().connections += 1;
    }

    fn listen(&self) -> broadcast::Receiver<String> {
        self.events.subscribe()
    }

    fn rows(&self) -> Vec<Value> {
        self.inner.lock().rows.clone()
    }

    fn history(&self) -> Vec<(String, Value)> {
        self.inner.lock().history.clone()
    }

    fn skills(&self) -> Vec<String> {
        self.inner.lock().skills.clone()
    }

    fn note(&self, method: &str, params: Value) {
        self.inner.lock().calls.push((method.to_owned(), params));
    }

    fn was_asked(&self, method: &str) -> bool {
        self.inner
            .lock()
            .calls
            .iter()
            .any(|(name, _)| name == method)
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
        let mut inner = self.inner.lock();
        inner.rows.retain(|row| row["runId"] != run);
        inner
            .rows
            .insert(0, json!({"runId": run, "status": status, "error": "boom"}));
    }

    fn write(&self, session: &str, row: Value) {
        self.inner.lock().history.push((session.to_owned(), row));
    }

    /// Runs an agent as it was recorded.
    async fn repeat(&self, frames: &str, run: &str, session: &str) {
        let ended = self.ended(run).unwrap();
        let tell = |event: &str, payload: &Value| self.tell(event, payload);
        let end = recorded::replay(frames, (run, session), ended, tell).await;
        if !self.is_over(run) {
            self.set_row(run, "completed");
            self.end(run, end);
        }
    }

    /// Runs an agent, until it is done or stopped.
    async fn run(self: Arc<Self>, run: String, session: String, text: String, boot: u32) {
        self.set_row(&run, "running");
        let mut user =
            json!({"role": "user", "content": text, "idempotencyKey": format!("{run}:user")});
        if run.starts_with(AGAIN) {
            user["provenance"] =
                json!({"kind": "internal_system", "sourceTool": "main_session_restart_recovery"});
        }
        self.write(&session, user);
        if let Some(frames) = recorded::of(&text) {
            return self.repeat(frames, &run, &session).await;
        }
        let says =
            |text: &str| self.say(&run, "assistant", &json!({"text": text, "itemId": "i:1"}));
        let is_over = || {
            let inner = self.inner.lock();
            inner.boot != boot
                || inner
                    .runs
                    .get(&run)
                    .is_none_or(|end| end.borrow().is_some())
        };
        self.say(&run, "lifecycle", &json!({"phase": "start"}));
        let leak = leak_at_the_cut();
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
            "takes-back" => {
                says("not for you");
                tokio::time::sleep(Duration::from_millis(150)).await;
                let replace = json!({"text": "", "delta": "", "itemId": "j:1", "replace": true});
                self.say(&run, "assistant", &replace);
                Ok(String::new())
            }
            "leak-at-the-cut" => Err(leak.as_str()),
            "leak" => {
                let retry = json!({"phase": "retrying", "message": LEAK});
                self.say(&run, "run_status", &retry);
                Err(LEAK)
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
        if let Some(ended) = self.inner.lock().runs.get(run) {
            ended.send_replace(Some(end));
        }
    }

    /// Whether a run goes on.
    pub fn is_running(&self, run: &str) -> bool {
        let runs = &self.inner.lock().runs;
        runs.get(run).is_some_and(|ended| ended.borrow().is_none())
    }

    /// Whether a run has ended.
    pub fn is_over(&self, run: &str) -> bool {
        let inner = self.inner.lock();
        inner
            .runs
            .get(run)
            .is_some_and(|ended| ended.borrow().is_some())
    }

    /// Whether there was something to stop.
    pub fn stop(&self, run: &str) -> bool {
        let runs = self.inner.lock().runs.get(run).cloned();
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
        socket::serve(world, stream, boot).await;
    } else {
        http::serve(world, stream).await;
    }
}

/// Answers a plain HTTP request.
async fn plain(stream: &mut TcpStream, status: &str, kind: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    drop(stream.write_all(head.as_bytes()).await);
    drop(stream.write_all(body.as_bytes()).await);
}
