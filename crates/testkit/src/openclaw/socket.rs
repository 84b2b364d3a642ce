//! What goes over the gateway's socket.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

use super::{Reaction, TOKEN, World};

pub(super) async fn serve(world: &Arc<World>, stream: TcpStream, boot: u32) {
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
    world.connected();
    let mut events = world.listen();
    let (answers, mut answered) = mpsc::channel::<Value>(64);
    loop {
        tokio::select! {
            frame = frames.next() => {
                let Some(Ok(frame)) = frame else { return };
                if let Message::Text(text) = frame {
                    let request: Value = serde_json::from_str(&text).unwrap();
                    world.work.spawn(answer_to(Arc::clone(world), request, answers.clone(), boot));
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
    if world.manner.lock().pairs {
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

/// What was asked for, and where answers go.
struct Request {
    frame: Value,
    answers: mpsc::Sender<Value>,
}

impl Request {
    fn word(&self, key: &str) -> String {
        let word = self.frame["params"][key].as_str();
        word.unwrap_or_default().to_owned()
    }

    async fn send(&self, mut frame: Value) {
        frame["type"] = "res".into();
        frame["id"] = self.frame["id"].clone();
        drop(self.answers.send(frame).await);
    }

    async fn ok(&self, payload: Value) {
        self.send(json!({"ok": true, "payload": payload})).await;
    }

    async fn no(&self, message: &str) {
        let error = json!({"code": "INVALID_REQUEST", "message": message});
        self.send(json!({"ok": false, "error": error})).await;
    }

    /// Begins a run, or tells of one that is known. `agent` is answered twice.
    async fn run(&self, world: &Arc<World>, twice: bool, boot: u32) {
        let (run, params) = (self.word("idempotencyKey"), &self.frame["params"]);
        let mut files = params["attachments"].as_array().into_iter().flatten();
        if twice && files.any(|file| file["type"] != "image") {
            return self
                .no("non-image attachments are not supported on this entrypoint")
                .await;
        }
        if twice && params["agentId"] != "main" {
            return self.no("invalid agent params: unknown agent id").await;
        }
        let manner = world.manner.lock().asked;
        match manner {
            Reaction::Deaf => return,
            Reaction::Starting => {
                let error = json!({"code": "UNAVAILABLE", "message": "gateway starting"});
                return self.send(json!({"ok": false, "error": error})).await;
            }
            Reaction::Runs | Reaction::Mute => {}
        }
        if self.word("message") == "hang late" {
            // It does not know it yet when it is asked to stop it.
            while !world.was_asked("sessions.abort") {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        let (known, ended) = world.know(&run);
        let over = ended.borrow().clone();
        match over {
            Some(end) if known => return self.send(end).await,
            _ if known => return self.ok(json!({"runId": run, "status": "in_flight"})).await,
            _ if manner == Reaction::Mute => {}
            _ => {
                let begun = if twice { "accepted" } else { "started" };
                self.ok(json!({"runId": run, "status": begun})).await;
            }
        }
        let (session, text) = (self.word("sessionKey"), self.word("message"));
        world
            .work
            .spawn(Arc::clone(world).run(run, session, text, boot));
        if twice && manner != Reaction::Mute {
            let mut end = ended.subscribe();
            let end = end.wait_for(Option::is_some).await.unwrap().clone();
            self.send(end.unwrap()).await;
        }
    }

    /// Waits for the end of a run, as long as it may.
    async fn wait(&self, world: &World) {
        let run = self.word("runId");
        let most = self.frame["params"]["timeoutMs"].as_u64().unwrap();
        let end = async {
            match world.ended(&run) {
                Some(mut ended) => ended.wait_for(Option::is_some).await.ok()?.clone(),
                None => std::future::pending().await,
            }
        };
        let end = tokio::time::timeout(Duration::from_millis(most), end).await;
        self.ok(match end.ok().flatten() {
            None => json!({"runId": run, "status": "timeout"}),
            Some(end) if end["payload"]["status"] == "ok" => {
                let text = &end["payload"]["result"]["payloads"][0]["text"];
                json!({"runId": run, "status": "ok", "terminalReply": {"text": text}})
            }
            Some(end) => {
                let end = &end["payload"];
                json!({"runId": run, "status": "error", "error": end["summary"], "stopReason": end["stopReason"]})
            }
        })
        .await;
    }
}

async fn answer_to(world: Arc<World>, frame: Value, answers: mpsc::Sender<Value>, boot: u32) {
    let request = Request { frame, answers };
    let method = request.frame["method"].as_str().unwrap();
    world.note(method, request.frame["params"].clone());
    match method {
        "agent" | "chat.send" => request.run(&world, method == "agent", boot).await,
        "agent.wait" => request.wait(&world).await,
        "sessions.abort" => {
            let run = request.word("runId");
            let status = if world.stop(&run) {
                "aborted"
            } else {
                "no-active-run"
            };
            request
                .ok(json!({"ok": true, "abortedRunId": run, "status": status}))
                .await;
        }
        "tasks.list" => {
            let rows = world.rows();
            request.ok(json!({"tasks": rows})).await;
        }
        "chat.history" => {
            let session = request.word("sessionKey");
            let rows = world.history();
            let rows = rows.into_iter().filter(|(of, _)| *of == session);
            let rows: Vec<Value> = rows.map(|(_, row)| row).collect();
            request
                .ok(json!({"sessionKey": session, "messages": rows}))
                .await;
        }
        "agents.list" => {
            let main = json!({"id": "main", "name": "Mainy", "identity": {"name": "Mainy", "theme": "a bot for tests"}});
            request
                .ok(json!({"defaultId": "main", "agents": [main]}))
                .await;
        }
        "skills.status" => {
            let skills = world.skills();
            let skill = |name: &String| json!({"name": name, "description": format!("does {name}"), "eligible": true, "modelVisible": true});
            let mut skills: Vec<Value> = skills.iter().map(skill).collect();
            skills.push(json!({"name": "1password", "eligible": false, "modelVisible": false}));
            request
                .ok(json!({"agentId": "main", "skills": skills}))
                .await;
        }
        other => request.no(&format!("unknown method: {other}")).await,
    }
}
