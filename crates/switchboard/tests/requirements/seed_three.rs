//! The fourteen verifications that seed 003 ends with, one test each, before bots of an OpenClaw gateway. Where the
//! documents disagree, what was decided holds: the specification's form of errors and of streams, and a run is stopped by
//! telling the gateway so, as a lost connection stops nothing there. The gateway tells runs as they were recorded.

#![expect(clippy::expect_used, reason = "a test may stop where it is surprised")]

use std::path::Path;
use std::process::Command;

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use switchboard_keys::{Algorithm, SigningKey, jwks};
use switchboard_testkit::openclaw::{Claw, TOKEN};
use switchboard_testkit::{
    Answer, Events, Server, answer, begin, events, eventually, file, look, say, text_of, with,
};

/// Messages whose runs were recorded, and what was answered.
const HELLO: &str = "hello agent";
const HELLO_BACK: &str = "STUB-REPLY(1): hello agent";
const SLOW: &str = "[[slow:12:250]]";
const SLOW_BACK: &str = "c1 c2 c3 c4 c5 c6 c7 c8 c9 c10 c11 c12";
const TOOL: &str = r#"[[tool:exec:{"command":"echo hi-from-tool"}]]"#;
const ENDLESS: &str = "[[slow:60:250]]";

/// Bots of one gateway, behind tokens and keys: one that answers, and one whose rule gives it what is for the first.
pub(crate) struct Bots {
    pub(crate) claw: Claw,
    pub(crate) server: Server,
    key: SigningKey,
}

impl Bots {
    async fn open() -> Self {
        let claw = Claw::start().await;
        let key = SigningKey::generate(Algorithm::Es256).expect("a key");
        let bot = format!("url: '{}', token: '${{TOKEN}}', refresh: 200ms", claw.url());
        let yaml = format!(
            "
auth:
  methods:
    corp: {{ jwt: {{ jwks_file: keys.json, issuer: tests, audience: [switchboard] }} }}
    keys: {{ api_key: {{}} }}
agents:
  bot: {{ openclaw: {{ {bot} }} }}
  talker: {{ openclaw: {{ {bot}, data: text }} }}
  desk: {{ openclaw: {{ {bot} }}, routes: [{{ name: greetings, text: '^hello', to: bot }}] }}
"
        );
        let files = [("keys.json", jwks(&[&key]))];
        let server = Server::serve_with(&yaml, &files, &[("TOKEN", TOKEN)]).await;
        Self { claw, server, key }
    }

    /// A token, as those have who belong to the house.
    fn token(&self) -> String {
        let claims = json!({"iss": "tests", "aud": "switchboard", "sub": "ann", "scope": "keys:create",
            "exp": 4_000_000_000_u64});
        let claims = claims.to_string();
        self.key.sign_compact("JWT", claims.as_bytes())
    }

    /// A key for an agent, made with a token.
    async fn api_key(&self, agent: &str) -> String {
        let path = format!("/a2a/{agent}/api-key");
        let request = self.server.http.post(self.server.url(&path));
        let made = answer(request.bearer_auth(self.token())).await;
        assert_eq!(made.status, 201, "{made:?}");
        made.body["apiKey"].as_str().expect("a key").to_owned()
    }

    fn request(&self, agent: &str, method: &str, params: &Value) -> RequestBuilder {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let path = format!("/a2a/{agent}");
        self.server.http.post(self.server.url(&path)).json(&body)
    }

    /// What is answered to someone of the house.
    async fn ask(&self, agent: &str, method: &str, params: Value) -> Answer {
        let request = self.request(agent, method, &params);
        answer(request.bearer_auth(self.token())).await
    }

    async fn result(&self, agent: &str, method: &str, params: Value) -> Value {
        let answer = self.ask(agent, method, params).await;
        assert_eq!(answer.body.get("error"), None, "{method}");
        answer.body["result"].clone()
    }

    async fn stream(&self, text: &str) -> Events {
        let request = self.request("bot", "message/stream", &say(text));
        events(request.bearer_auth(self.token())).await
    }

    async fn trace(&self, task: &Value) -> Value {
        let path = format!("/admin/traces/{}", task.as_str().expect("an id"));
        let told = look(&self.server, &path).await;
        assert_eq!(told.status, 200, "{told:?}");
        told.body
    }

    /// The bot has answered, and there is a trace of it.
    async fn is_told(&self, task: &Value) {
        assert_eq!(task["status"]["state"], "completed", "{task}");
        assert_eq!(text_of(&task["artifacts"][0]), HELLO_BACK);
        let trace = self.trace(&task["id"]).await;
        assert_eq!(trace["type"], "A2A_TASK");
        assert_eq!(trace["status"], "SUCCESS");
        assert_eq!(trace["state"], "completed");
        assert_eq!(trace["taskId"], task["id"]);
    }

    async fn chat(&self, agent: &str, text: &str) -> Value {
        let path = format!("/bot-instances/{agent}/chat");
        let request = self.server.http.post(self.server.url(&path));
        let request = request.bearer_auth(self.token());
        let said = answer(request.json(&json!({"message": text}))).await;
        assert_eq!(said.status, 200, "{said:?}");
        said.body
    }

    async fn card(&self) -> Value {
        self.server.get("/a2a/bot/agent-card").await.body
    }
}

#[test]
fn s3_v1_the_program_is_built_and_says_which_it_is() {
    let told = Command::new(env!("CARGO_BIN_EXE_switchboard"))
        .arg("--version")
        .output()
        .expect("the binary runs");
    assert!(told.status.success());
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains(env!("CARGO_PKG_VERSION")), "{told}");
}

#[tokio::test]
async fn s3_v2_the_card_needs_no_credentials_and_has_the_skills_of_now() {
    let bots = Bots::open().await;
    let card = bots.card().await;
    for field in ["name", "description", "version", "url", "protocolVersion"] {
        assert!(card[field].is_string(), "{field}: {card}");
    }
    assert_eq!(card["name"], "Mainy");
    for what in ["streaming", "pushNotifications", "stateTransitionHistory"] {
        assert_eq!(card["capabilities"][what], true, "S3-033: what is true");
    }
    let skills = |card: &Value| -> Vec<Value> {
        let skills = card["skills"].as_array().expect("skills");
        skills.iter().map(|skill| skill["id"].clone()).collect()
    };
    assert_eq!(skills(&card), ["weather"]);
    bots.claw.learns("github");
    let begun = tokio::time::Instant::now();
    while skills(&bots.card().await) != ["weather", "github"] {
        assert!(begun.elapsed().as_secs() < 20, "the card stays as it was");
    }
    let nobody = bots.server.get("/a2a/nobody/agent-card").await;
    assert_eq!(nobody.status, 404, "S3-035");
}

#[tokio::test]
async fn s3_v3_a_message_with_a_token_is_answered_and_there_is_a_trace_of_it() {
    let bots = Bots::open().await;
    let stranger = answer(bots.request("bot", "message/send", &say(HELLO))).await;
    assert_eq!(stranger.status, 401, "{stranger:?}");
    assert!(bots.claw.calls("agent").is_empty());
    let task = bots.result("bot", "message/send", say(HELLO)).await;
    bots.is_told(&task).await;
    // The run at the gateway is the task's (S3-008, S3-015), whose id is always there, and no other's (S3-017).
    let asked = bots.claw.calls("agent");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["message"], HELLO);
    assert_eq!(asked[0]["idempotencyKey"], task["id"]);
    let key = asked[0]["idempotencyKey"].as_str().expect("a key");
    uuid::Uuid::parse_str(key).expect("a UUID");
}

#[tokio::test]
async fn s3_v4_a_message_with_a_key_is_answered_just_the_same() {
    let bots = Bots::open().await;
    let key = bots.api_key("bot").await;
    let request = bots.request("bot", "message/send", &say(HELLO));
    let told = answer(request.bearer_auth(&key)).await;
    bots.is_told(&told.body["result"]).await;
    let request = bots.request("desk", "message/send", &say(HELLO));
    let other = answer(request.bearer_auth(&key)).await;
    assert_eq!(other.status, 401, "S3-038: {other:?}");
    assert_eq!(bots.claw.calls("agent").len(), 1);
}

#[tokio::test]
async fn s3_v5_a_file_goes_along_as_an_attachment() {
    let bots = Bots::open().await;
    let picture = with(HELLO, file("a.png", "image/png", "cG5n"));
    let task = bots.result("bot", "message/send", picture).await;
    bots.is_told(&task).await;
    let attached =
        json!([{"type": "image", "mimeType": "image/png", "fileName": "a.png", "content": "cG5n"}]);
    assert_eq!(bots.claw.calls("agent")[0]["attachments"], attached);
}

#[tokio::test]
async fn s3_v6_data_is_refused_unless_the_bot_may_have_it_as_text() {
    let bots = Bots::open().await;
    let data = with("look", json!({"kind": "data", "data": {"a": 1}}));
    let refused = bots.ask("bot", "message/send", data.clone()).await.body;
    assert_eq!(refused["error"]["code"], -32005, "{refused}");
    assert_eq!(
        refused["error"]["data"]["reason"], "CONTENT_TYPE_NOT_SUPPORTED",
        "{refused}"
    );
    // So it is in a stream: there is no task to stream (S3-059).
    let request = bots.request("bot", "message/stream", &data);
    let stream = events(request.bearer_auth(bots.token())).await;
    let [told] = stream.rest().await.try_into().expect("one event");
    assert_eq!(told.data["error"]["code"], -32005, "{told:?}");
    // Parts are looked at before rules are (S3-042).
    let for_bot = with(HELLO, json!({"kind": "data", "data": {"a": 1}}));
    let refused = bots.ask("desk", "message/send", for_bot).await.body;
    assert_eq!(refused["error"]["code"], -32005, "{refused}");
    assert!(bots.claw.calls("agent").is_empty());
    let task = bots.result("talker", "message/send", data).await;
    assert_eq!(text_of(&task["artifacts"][0]), "heard: look\n{\"a\":1}");
}

#[tokio::test]
async fn s3_v7_a_stream_is_numbered_and_ends_with_the_whole_answer() {
    let bots = Bots::open().await;
    let stream = bots.stream(SLOW).await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    let told = stream.rest().await;
    let numbers: Vec<u64> = told.iter().filter_map(|event| event.id).collect();
    let counted: Vec<u64> = (1..).take(told.len()).collect();
    assert_eq!(numbers, counted);
    let events: Vec<&Value> = told.iter().map(|event| &event.data["result"]).collect();
    assert_eq!(events[0]["status"]["state"], "submitted", "S3-060");
    assert_eq!(events[1]["status"]["state"], "working");
    let is_piece = |event: &&&Value| event["kind"] == "artifact-update";
    let pieces: Vec<&&Value> = events.iter().filter(is_piece).collect();
    assert!(pieces.len() > 3, "{pieces:?}");
    let whole: String = pieces.iter().map(|e| text_of(&e["artifact"])).collect();
    assert_eq!(whole, SLOW_BACK);
    assert_eq!(pieces.last().expect("pieces")["lastChunk"], true);
    let last = events.last().expect("an end");
    assert_eq!(last["status"]["state"], "completed");
    assert_eq!(last["final"], true);
    // A gap in the gateway's numbers loses nothing (S3-065): there, deltas are put together, and what comes is the text so far.
    let gap = bots.stream(HELLO).await.results().await;
    let pieces = gap.iter().filter(|e| e["kind"] == "artifact-update");
    let whole: String = pieces.map(|e| text_of(&e["artifact"])).collect();
    assert_eq!(whole, HELLO_BACK);
    // Who lost the connection in the middle reads on by the number of what came last.
    let params = json!({"id": events[0]["id"]});
    let again = bots.request("bot", "tasks/resubscribe", &params);
    let again = again.bearer_auth(bots.token()).header("Last-Event-ID", "4");
    let rest = switchboard_testkit::events(again).await.rest().await;
    let rest: Vec<u64> = rest.iter().filter_map(|event| event.id).collect();
    assert_eq!(rest, numbers[4..]);
}

#[tokio::test]
async fn s3_066_the_tools_of_a_run_are_told_as_it_works() {
    let bots = Bots::open().await;
    let events = bots.stream(TOOL).await.results().await;
    let calls = events.iter().map(|event| &event["metadata"]["toolCall"]);
    let calls: Vec<(&str, &str)> = calls
        .filter_map(|call| Some((call["type"].as_str()?, call["name"].as_str()?)))
        .collect();
    assert_eq!(calls, [("tool-call", "exec"), ("tool-result", "exec")]);
    let pieces = events.iter().filter(|e| e["kind"] == "artifact-update");
    let whole: String = pieces.map(|e| text_of(&e["artifact"])).collect();
    assert_eq!(whole, "The tool said: hi-from-tool");
}

#[tokio::test]
async fn s3_v8_a_task_is_read_in_the_state_that_its_trace_has() {
    let bots = Bots::open().await;
    let get = async |id: &Value| bots.result("bot", "tasks/get", json!({"id": id})).await;
    let task = bots.result("bot", "message/send", begin(ENDLESS)).await["id"].clone();
    eventually("a request", async || bots.claw.calls("agent").len() == 1).await;
    let begun = tokio::time::Instant::now();
    while get(&task).await["status"]["state"] != "working" {
        assert!(begun.elapsed().as_secs() < 20, "it does not begin");
    }
    assert_eq!(bots.trace(&task).await["status"], "PENDING");
    let done = bots.result("bot", "message/send", say(HELLO)).await;
    let read = get(&done["id"]).await;
    bots.is_told(&read).await;
    assert_eq!(text_of(&read["history"][0]), HELLO, "S3-074");
    let unknown = bots.ask("bot", "tasks/get", json!({"id": "nobody"})).await;
    assert_eq!(unknown.body["error"]["code"], -32001);
}

#[tokio::test]
async fn s3_v9_a_cancel_of_a_stream_stops_the_run_and_ends_the_stream() {
    let bots = Bots::open().await;
    let mut stream = bots.stream(ENDLESS).await;
    let first = stream.next().await.expect("an event").data["result"].clone();
    while stream.next().await.expect("an event").data["result"]["kind"] != "artifact-update" {}
    let canceled = json!({"id": first["id"]});
    let canceled = bots.result("bot", "tasks/cancel", canceled).await;
    assert_eq!(canceled["status"]["state"], "canceled", "S3-078");
    let rest = stream.results().await;
    let last = rest.last().expect("an end");
    assert_eq!(last["status"]["state"], "canceled");
    assert_eq!(last["final"], true);
    let stops = || bots.claw.calls("sessions.abort");
    eventually("a stop", async || stops().len() == 1).await;
    assert_eq!(stops()[0]["runId"], first["id"]);
    let run = first["id"].as_str().expect("an id");
    eventually("the end of the run", async || bots.claw.world.is_over(run)).await;
    let trace = bots.trace(&first["id"]).await;
    assert_eq!(
        (&trace["status"], &trace["state"]),
        (&json!("ERROR"), &json!("canceled")),
        "S3-073, S3-076"
    );
}

#[tokio::test]
async fn s3_v10_bots_still_hand_on_what_comes_by_chat() {
    let bots = Bots::open().await;
    let said = bots.chat("desk", HELLO).await;
    assert_eq!(said["delegated"], true, "{said}");
    assert_eq!(said["targetBotId"], "bot");
    assert_eq!(said["targetBotName"], "Mainy");
    assert_eq!(said["response"], HELLO_BACK);
    // What no rule takes is the bot's own.
    let own = bots.chat("desk", "what now?").await;
    assert_eq!(own["delegated"], false, "{own}");
    assert_eq!(own["response"], "heard: what now?");
    assert_eq!(bots.claw.calls("agent").len(), 2);
}

#[tokio::test]
async fn s3_v11_what_was_handed_on_is_traced_with_its_idempotency_key() {
    let bots = Bots::open().await;
    let said = bots.chat("desk", HELLO).await;
    let trace = bots.trace(&said["traceId"]).await;
    assert_eq!(trace["type"], "A2A_TASK");
    assert_eq!(trace["taskId"], said["taskId"]);
    let [child] = trace["children"].as_array().expect("children").as_slice() else {
        panic!("S3-094: {trace}");
    };
    assert_eq!(child["type"], "A2A_TASK");
    assert_eq!(child["name"], "delegation:desk->bot");
    assert_eq!(child["status"], "SUCCESS");
    assert_eq!(child["parentTaskId"], said["taskId"]);
    assert!(child["idempotencyKey"].is_string(), "{child}");
    assert_eq!(child["children"], json!([]));
    // The run at the gateway is known by the task that asked for it, and there is one only.
    let asked = bots.claw.calls("agent");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["idempotencyKey"], child["taskId"]);
}

/// What a page about a bot shows and does; the page itself is not here.
#[tokio::test]
async fn s3_v12_all_that_a_page_about_a_bot_needs_is_told() {
    let bots = Bots::open().await;
    let card = bots.card().await;
    let url = card["url"].as_str().expect("an address");
    assert_eq!(url, bots.server.url("/a2a/bot"), "S3-102");
    assert!(card["skills"][0]["description"].is_string(), "S3-101");
    assert!(card["capabilities"].is_object(), "S3-101");
    let listed = bots.server.http.get(bots.server.url("/agents"));
    let listed = answer(listed.bearer_auth(bots.token())).await;
    assert!(
        listed.body.to_string().contains("/a2a/bot"),
        "S3-100: {listed:?}"
    );
    let key = bots.api_key("bot").await;
    let other = bots.api_key("bot").await;
    assert_ne!(key, other, "S3-103");
    // What an example of a call would say, as it would stand there (S3-105).
    let told = tokio::process::Command::new("curl")
        .args(["-s", "-X", "POST", url])
        .args(["-H", "Content-Type: application/json", "-H"])
        .arg(format!("Authorization: Bearer {key}"))
        .arg("-d")
        .arg(
            json!({"jsonrpc": "2.0", "id": "1", "method": "message/send", "params": say(HELLO)})
                .to_string(),
        )
        .output()
        .await
        .expect("curl runs");
    let told: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    bots.is_told(&told["result"]).await;
    let health = look(&bots.server, "/admin/health").await.body;
    assert_eq!(health["agents"][0]["name"], "bot", "{health}");
    assert_eq!(health["agents"][0]["state"], "up", "{health}");
}

#[test]
fn s3_v13_one_command_runs_all_tests_and_it_is_what_ci_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("a file");
    assert!(read(".ci/run").contains("scripts/test"));
    let script = read("scripts/test");
    let unit = script.lines().find(|line| line.starts_with("step_unit()"));
    let unit = unit.expect("a step");
    assert!(unit.contains("nextest --workspace"), "{unit}");
    // What that step leaves out has a step of its own.
    let left_out: Vec<&str> = unit
        .split("not binary(")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once(')')?.0))
        .collect();
    assert_eq!(left_out.len(), unit.matches("not ").count(), "{unit}");
    let told = Command::new(root.join("scripts/test"))
        .arg("--list")
        .output()
        .expect("the script runs");
    let steps = String::from_utf8_lossy(&told.stdout).into_owned();
    let steps: Vec<&str> = steps.split_whitespace().collect();
    assert!(steps.contains(&"unit"), "{steps:?}");
    for binary in left_out {
        let alone = format!("-E 'binary({binary})'");
        let step = script.split("\nstep_").skip(1);
        let mut step = step.filter(|body| body.contains(&alone));
        let name = step.next().and_then(|body| body.split("()").next());
        assert!(name.is_some_and(|name| steps.contains(&name)), "{binary}");
    }
}
