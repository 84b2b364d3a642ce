//! A server that does much wrong, and what is found.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::conformance;

/// An agent that is wrong in known ways. Ends when dropped.
struct Wrong {
    base: String,
    /// The credentials that came: `Authorization` and the query.
    came: Came,
    _serving: JoinSet<()>,
}

type Came = Arc<Mutex<Vec<(Option<HeaderValue>, String)>>>;

impl Wrong {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let came = Came::default();
        let (here, kept) = (base.clone(), Arc::clone(&came));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (here, kept) = (here.clone(), Arc::clone(&kept));
                connections.spawn(async move {
                    let service =
                        service_fn(move |request| answer(here.clone(), Arc::clone(&kept), request));
                    let serve =
                        http1::Builder::new().serve_connection(TokioIo::new(socket), service);
                    drop(serve.await);
                });
            }
        });
        Self {
            base,
            came,
            _serving: serving,
        }
    }
}

fn card(base: &str) -> Value {
    json!({
        "name": "Wrong <script>alert(1)</script>", "description": "Does it all wrong", "version": "1",
        "supportedInterfaces": [
            {"url": format!("{base}/rpc"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "127.0.0.1:1", "protocolBinding": "GRPC", "protocolVersion": "2.0"},
        ],
        "capabilities": {"streaming": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [],
        "securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "query", "name": "secret_key"}}},
        "securityRequirements": [{"schemes": {"key": {"list": []}}}],
    })
}

/// A task with a name in snake case, a state of 0.3 and a time that is not UTC.
fn task() -> Value {
    json!({"id": "always-the-same", "context_id": "c", "status":
        {"state": "completed", "timestamp": "2026-01-01T00:00:00+02:00"}})
}

async fn answer(
    base: String,
    came: Came,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let bearer = request.headers().get("authorization").cloned();
    came.lock().expect("no panic").push((bearer, query));
    let body = request
        .into_body()
        .collect()
        .await
        .map(|body| body.to_bytes());
    if path == "/.well-known/agent-card.json" {
        return Ok(Response::new(Full::new(card(&base).to_string().into())));
    }
    let call: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
    let outcome = match call["method"].as_str() {
        Some("SendMessage") => json!({"result": {"task": task(), "message": {}}}),
        Some("SendStreamingMessage") => {
            let event = json!({"jsonrpc": "2.0", "id": call["id"], "result": {"statusUpdate": {"taskId": "t"}}});
            let mut response = Response::new(Full::new(format!("data: {event}\n\n").into()));
            let kind = "text/event-stream".parse().expect("a header");
            response.headers_mut().insert("content-type", kind);
            return Ok(response);
        }
        Some("GetTask") if call["params"]["id"] == "always-the-same" => json!({"result": task()}),
        _ => json!({"error": {"code": -1, "message": "no"}}),
    };
    let mut body = json!({"jsonrpc": "2.0", "id": "not yours"});
    for (name, value) in outcome.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    let mut response = Response::new(Full::new(body.to_string().into()));
    let kind = "application/json".parse().expect("a header");
    response.headers_mut().insert("content-type", kind);
    Ok(response)
}

#[tokio::test]
async fn what_is_wrong_is_found_and_named_by_its_clause() {
    let wrong = Wrong::start().await;
    let ran = conformance(&["-a", &wrong.base, "--timeout", "5s", "-o", "json"]).await;
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(
        ran.err.contains("checks of level MUST failed"),
        "{}",
        ran.err
    );
    let report = ran.json();
    assert_eq!(report["passed"], false);
    let checks = report["checks"].as_array().expect("checks");
    for (id, clause, why) in [
        ("S-001", "§3.1.1", "both task and message"),
        ("S-002", "§3.1.2", "begins with TaskStatusUpdateEvent"),
        ("S-030", "§3.3.2, §7.4", "without credentials was taken"),
        ("S-044", "§3.4.1", "there is no contextId"),
        (
            "S-047",
            "§3.4.2",
            "two tasks have the id \"always-the-same\"",
        ),
        ("S-048", "§3.4.2", "taken instead of refused"),
        ("S-058", "§3.6.2", "spelled as in 0.3"),
        (
            "S-059",
            "§3.6.2",
            "-1 “no”, expected -32009 (VERSION_NOT_SUPPORTED)",
        ),
        ("S-063", "§5.5", "context_id"),
        ("S-064", "§5.5", "state is \"completed\""),
        ("S-065", "§5.6.1", "+02:00"),
        ("S-085", "§8.1, §14.3", "skills is empty"),
        ("S-096", "§7.4", "GetTask needs no credentials"),
        ("S-115", "JSON-RPC 2.0 §5", "came back as \"not yours\""),
        ("S-116", "JSON-RPC 2.0 §5", "came back as \"not yours\""),
        ("S-117", "§9.5", "expected -32700"),
        ("S-118", "§9.5", "the number -1"),
    ] {
        let found = checks
            .iter()
            .find(|check| check["id"] == id && check["verdict"] == "fail");
        let found = found.unwrap_or_else(|| panic!("{id} was not found"));
        assert_eq!(found["clause"], clause, "{id}");
        let said = found["why"].as_str().unwrap_or_default();
        assert!(said.contains(why), "{id}: {said}");
        assert!(
            !found["hint"].as_str().unwrap_or_default().is_empty(),
            "{id}"
        );
        let request = found["exchange"]["request"].as_str().unwrap_or_default();
        assert!(request.contains(&wrong.base), "{id}: {request}");
    }
}

#[tokio::test]
async fn the_text_shows_the_exchange_and_what_was_not_checked() {
    let wrong = Wrong::start().await;
    let ran = conformance(&["-a", &wrong.base, "--timeout", "5s", "--only", "S-059"]).await;
    assert_eq!(ran.code, Some(1));
    for line in [
        "  GRPC 2.0 127.0.0.1:1: A2A \"2.0\" is not checked by this build",
        "fail         S-059    JSONRPC 1.0     a version that is not supported is VersionNotSupported",
        "MUST S-059 JSONRPC 1.0, a version that is not supported is VersionNotSupported",
        "  clause  §3.6.2",
        "  hint    answer -32009, HTTP 400 with VERSION_NOT_SUPPORTED",
        "  | a2a-version: 99.0",
        "  | {\"jsonrpc\":\"2.0\",\"id\":\"not yours\",\"error\":{\"code\":-1,\"message\":\"no\"}}",
        "0 pass, 1 fail (MUST 1, SHOULD 0), 0 not offered, 0 not seen",
    ] {
        assert!(
            ran.out.lines().any(|given| given == line),
            "no line\n{line}\nin\n{}",
            ran.out
        );
    }
    assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'));
    assert!(ran.err.contains("checking JSONRPC 1.0 at"), "{}", ran.err);
    assert!(
        ran.err.ends_with("error: 1 check of level MUST failed\n"),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn the_page_holds_nothing_that_the_agent_could_have_put_there() {
    let wrong = Wrong::start().await;
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("report.html");
    let name = file.to_str().expect("a path of text");
    let ran = conformance(&[
        "-a",
        &wrong.base,
        "--timeout",
        "5s",
        "--only",
        "S-0",
        "--report",
        name,
    ])
    .await;
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let page = std::fs::read_to_string(&file).expect("a page");
    assert!(page.starts_with("<!doctype html>"));
    assert!(page.contains("Wrong &lt;script&gt;alert(1)&lt;/script&gt;"));
    for foreign in ["<script", "http-equiv", "src=", "href="] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let (wrong_part, every) = (page.find("What is wrong"), page.find("Every rule"));
    assert!(wrong_part.expect("failures") < every.expect("the table"));
    assert!(page.contains("<details><summary>The exchange</summary>"));
}

#[tokio::test]
async fn credentials_are_sent_where_the_card_says_and_never_shown() {
    let wrong = Wrong::start().await;
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("report.html");
    let args = [
        "-a",
        &wrong.base,
        "--bearer",
        "s3cret-token",
        "--api-key",
        "s3cret-key",
        "--svc-param",
        "x-tenant: s3cret-param",
        "-o",
        "json",
        "--report",
        file.to_str().expect("a path of text"),
    ];
    let ran = conformance(&args).await;
    let page = std::fs::read_to_string(&file).expect("a page");
    let text = conformance(&args[..8]).await;
    assert!(text.out.contains("secret_key=hidden") && text.out.contains("authorization: (hidden)"));
    for said in [&ran.out, &ran.err, &page, &text.out, &text.err] {
        assert!(!said.contains("s3cret"), "{said}");
    }
    let came = wrong.came.lock().expect("no panic").clone();
    let sent = |(bearer, query): &(Option<HeaderValue>, String)| {
        bearer
            .as_ref()
            .is_some_and(|value| value == "Bearer s3cret-token")
            && query == "secret_key=s3cret-key"
    };
    assert!(came.iter().any(sent));
    // S-030 and S-096 ask as strangers.
    assert!(
        came.iter()
            .any(|(bearer, query)| bearer.is_none() && query.is_empty())
    );
}
