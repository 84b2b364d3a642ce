//! Turns with files by their URLs: those come only from public addresses, but for here.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use switchboard_server::egress::Allow;
use switchboard_server::engine::recover::recover;
use switchboard_server::log::Log;
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::testing::agent::{Line, rest};
use switchboard_server::{engine, testing};
use switchboard_types::model::{Content, Part, Secret, TaskState};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite;

use super::*;

/// A place of files, and a gateway that never says that it has what it is asked to run first.
#[derive(Debug)]
struct World {
    /// Whether it has it.
    hears: bool,
    /// How often a file was fetched, and how often it can be.
    fetched: AtomicUsize,
    most: usize,
    /// The names of the runs that it was asked for, and how many files they came with.
    asked: watch::Sender<Vec<(Value, usize)>>,
}

impl World {
    async fn give(&self, mut stream: TcpStream) {
        drop(stream.read(&mut [0; 2048]).await);
        let head = if self.fetched.fetch_add(1, Ordering::SeqCst) < self.most {
            "200 OK"
        } else {
            "410 Gone"
        };
        let answer =
            format!("HTTP/1.1 {head}\r\ncontent-type: image/png\r\ncontent-length: 3\r\n\r\npng");
        drop(stream.write_all(answer.as_bytes()).await);
    }

    async fn talk(&self, stream: TcpStream) {
        let mut socket = challenged(stream).await;
        while let Some(request) = read(&mut socket).await {
            if let Some(payload) = self.answer(&request) {
                write(&mut socket, &request, &payload).await;
            }
        }
    }

    fn answer(&self, request: &Value) -> Option<Value> {
        let asked = || self.asked.borrow().clone();
        Some(match request["method"].as_str().unwrap() {
            "connect" => hello(request),
            "agent" => {
                let params = &request["params"];
                let files = params["attachments"].as_array().map_or(0, Vec::len);
                let run = (params["idempotencyKey"].clone(), files);
                self.asked.send_modify(|asked| asked.push(run));
                if asked().len() == 1 {
                    return None;
                }
                json!({"status": "ok", "result": {"payloads": [{"text": "anew"}]}})
            }
            "tasks.list" if self.hears => {
                json!({"tasks": [{"runId": asked()[0].0, "status": "running"}]})
            }
            "tasks.list" => json!({"tasks": []}),
            "sessions.abort" => json!({"status": "aborted"}),
            "chat.history" => json!({"messages": []}),
            "agent.wait" => json!({"status": "ok", "terminalReply": {"text": "as before"}}),
            other => panic!("{other}"),
        })
    }
}

type Socket = tokio_tungstenite::WebSocketStream<TcpStream>;

async fn challenged(stream: TcpStream) -> Socket {
    let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
    let challenge =
        json!({"type": "event", "event": "connect.challenge", "payload": {"nonce": "n", "ts": 1}});
    let challenge = tungstenite::Message::text(challenge.to_string());
    socket.send(challenge).await.unwrap();
    socket
}

async fn read(socket: &mut Socket) -> Option<Value> {
    match socket.next().await {
        Some(Ok(tungstenite::Message::Text(text))) => serde_json::from_str(&text).unwrap(),
        _ => None,
    }
}

async fn write(socket: &mut Socket, request: &Value, payload: &Value) {
    let answer = json!({"type": "res", "id": request["id"], "ok": true, "payload": payload});
    let answer = tungstenite::Message::text(answer.to_string());
    drop(socket.send(answer).await);
}

fn hello(connect: &Value) -> Value {
    json!({"type": "hello-ok", "server": {"version": "1", "bootId": "b"},
        "auth": {"scopes": connect["params"]["scopes"]}})
}

/// Where `serve` serves.
async fn open<F>(tasks: &Tasks, serve: impl Fn(TcpStream) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let more = tasks.clone();
    tasks.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            more.spawn(serve(stream));
        }
    });
    address.to_string()
}

/// The gateway at that address, which is kept until the token fires.
fn kept(claw: &str, tasks: &Tasks) -> (Arc<Gateway>, CancellationToken) {
    let place = Place {
        url: format!("ws://{claw}").parse().unwrap(),
        token: Secret::new("t"),
        roots: None,
    };
    let gateway = Gateway::new(place, Arc::new(Device::fresh().unwrap()));
    let gateway = Arc::new(gateway.unwrap());
    let (keeper, stop) = (Arc::clone(&gateway), CancellationToken::new());
    let stopped = stop.clone();
    tasks.spawn(async move { keeper.keep(&stopped).await });
    (gateway, stop)
}

/// A life of ours.
fn life(store: &Arc<dyn Store>, claw: &str, tasks: &Tasks) -> (Line, CancellationToken) {
    let (gateway, stop) = kept(claw, tasks);
    let agent = OpenClawAgent {
        fetcher: Fetcher::new(Guard::new(vec![Allow::parse("127.0.0.1").unwrap()])),
        ..OpenClawAgent::new(Settings::new("main"), gateway)
    };
    let log = Log::new(Arc::clone(store));
    let line = Line::new(&log, Arc::new(agent), engine::Settings::default());
    (line, stop)
}

/// Such a world, where it is, and the URL of a file.
async fn world(hears: bool, most: usize, tasks: &Tasks) -> (Arc<World>, String, String) {
    let world = Arc::new(World {
        hears,
        fetched: AtomicUsize::new(0),
        most,
        asked: watch::Sender::new(Vec::new()),
    });
    let files = Arc::clone(&world);
    let files = open(tasks, move |stream| {
        let world = Arc::clone(&files);
        async move { world.give(stream).await }
    });
    let url = format!("http://{}/a.png", files.await);
    let claw = Arc::clone(&world);
    let claw = open(tasks, move |stream| {
        let world = Arc::clone(&claw);
        async move { world.talk(stream).await }
    });
    (world, claw.await, url)
}

/// A message with a file.
fn shows(text: &str, url: &str) -> Message {
    let mut message = testing::agent::says(text);
    message.parts.push(Part::new(Content::Url(url.to_owned())));
    message
}

/// What became of a message with a file whose run nobody had told of when ours was started anew: how the task ended,
/// its answer, how often the file was fetched, and with how many files the gateway was asked each time.
async fn ended(hears: bool, most: usize) -> (TaskState, String, usize, Vec<usize>) {
    let tasks = Tasks::default();
    let (world, claw, url) = world(hears, most, &tasks).await;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (before, stop) = life(&store, &claw, &tasks);
    let sent = before.send_at_once(shows("look", &url)).await;
    let id = sent.unwrap().id.clone();
    let mut asked = world.asked.subscribe();
    asked.wait_for(|asked| !asked.is_empty()).await.unwrap();
    stop.cancel();
    before.log.stopping().cancel();
    before.log.close().await;

    let (after, _stop) = life(&store, &claw, &tasks);
    let engines = HashMap::from([(Arc::from("agent"), after.engine.clone())]);
    assert_eq!(recover(&after.log, &engines).await.unwrap().resumed, 1);
    rest(&mut after.subscribe(&id, Some(0)).await.unwrap()).await;
    let task = after.get(&id).await.unwrap();
    let answer = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
    let answer = answer.filter_map(Part::as_text).collect();
    let asked = world
        .asked
        .borrow()
        .iter()
        .map(|(_, files)| *files)
        .collect();
    let fetched = world.fetched.load(Ordering::SeqCst);
    (task.status.state, answer, fetched, asked)
}

#[tokio::test]
async fn after_a_restart_a_run_is_followed_though_its_files_are_gone() {
    let expected = (TaskState::Completed, "as before".to_owned(), 1, vec![1]);
    assert_eq!(ended(true, 1).await, expected);
}

#[tokio::test]
async fn after_a_restart_files_are_fetched_again_for_a_message_that_never_arrived() {
    let expected = (TaskState::Completed, "anew".to_owned(), 2, vec![1, 1]);
    assert_eq!(ended(false, 2).await, expected);
    let expected = (TaskState::Rejected, String::new(), 2, vec![1]);
    assert_eq!(ended(false, 1).await, expected);
}

#[tokio::test]
async fn files_are_fetched_only_once_it_is_the_turn_of_their_message() {
    let tasks = Tasks::default();
    let (world, claw, url) = world(true, 9, &tasks).await;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (ours, _stop) = life(&store, &claw, &tasks);
    let mut asked = world.asked.subscribe();
    // The first one runs until it is canceled.
    let first = ours.send_at_once(testing::agent::says("first")).await;
    let first = first.unwrap();
    asked.wait_for(|asked| asked.len() == 1).await.unwrap();
    let mut second = shows("second", &url);
    second.context_id = Some(first.context_id.clone());
    let second = ours.send_at_once(second).await.unwrap();
    // One that comes later in a conversation of its own overtakes the second.
    ours.send(shows("third", &url)).await.unwrap();
    assert_eq!(world.fetched.load(Ordering::SeqCst), 1);
    ours.cancel(&first.id).await.unwrap();
    asked.wait_for(|asked| asked.len() == 3).await.unwrap();
    let last = world.asked.borrow()[2].clone();
    assert_eq!(last, (second.id.as_str().into(), 1));
    assert_eq!(world.fetched.load(Ordering::SeqCst), 2);
}
