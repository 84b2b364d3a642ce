//! Web pages of elsewhere, and those that may call.

use std::sync::Arc;
use std::time::Duration;

use switchboard_server::auth::{Access, Authenticator};
use switchboard_server::http::Cors;
use switchboard_server::shutdown::Tasks;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::house::{Books, House, open, serve_with};
use crate::wire::Answer;

const APP: &str = "https://app.example";

/// An open server that lets these pages call.
async fn with_pages(origins: &[&str], credentials: bool) -> House {
    let tasks = Tasks::default();
    let books = Books::unread(&tasks);
    let agents = vec![("hall".into(), Access::open())];
    serve_with(agents, Authenticator::none(), books, tasks, |parts| {
        parts.cors = Cors {
            origins: origins.iter().map(|origin| Arc::from(*origin)).collect(),
            credentials,
            max_age: Duration::from_secs(600),
        };
    })
    .await
}

async fn read(house: &House, origin: &str) -> Answer {
    let headers = [
        ("origin", origin.to_owned()),
        ("a2a-version", "1.0".to_owned()),
    ];
    house
        .ask("GET", "/a2a/hall/tasks/nothing", &headers, "")
        .await
}

async fn preflight(house: &House, origin: &str) -> Answer {
    let headers = [
        ("origin", origin.to_owned()),
        ("access-control-request-method", "POST".to_owned()),
        ("access-control-request-headers", "content-type".to_owned()),
    ];
    house.ask("OPTIONS", "/a2a/hall", &headers, "").await
}

#[tokio::test]
async fn a_page_of_elsewhere_gets_nothing_whatever_it_asks() {
    let house = open(&["hall", "desk"]).await;
    let origin = ("origin", APP.to_owned());
    let send = r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}}}"#;
    for (verb, path, body) in [
        ("POST", "/a2a/hall", send),
        ("POST", "/", send),
        ("GET", "/a2a/hall/tasks", ""),
        ("GET", "/a2a/hall/.well-known/agent-card.json", ""),
        ("POST", "/a2a/hall/api-key", ""),
        ("OPTIONS", "/a2a/hall", ""),
        ("GET", "/livez", ""),
    ] {
        let answer = house
            .ask(verb, path, std::slice::from_ref(&origin), body)
            .await;
        assert_eq!(answer.status, 403, "{verb} {path}");
        let error = &answer.json()["error"];
        assert_eq!(error["status"], "PERMISSION_DENIED", "{verb} {path}");
        assert!(answer.header("access-control-allow-origin").is_none());
    }
    let rpc = [
        origin.clone(),
        ("content-type", "application/grpc".to_owned()),
        ("te", "trailers".to_owned()),
    ];
    let path = "/lf.a2a.v1.A2AService/ListTasks";
    assert_eq!(
        house
            .ask("POST", path, &rpc, &b"\0\0\0\0\0"[..])
            .await
            .status,
        403
    );
    // Nothing was done for it.
    let headers = [("a2a-version", "1.0".to_owned())];
    let tasks = house.ask("GET", "/a2a/hall/tasks", &headers, "").await;
    assert_eq!(tasks.json()["totalSize"], 0);
    for ours in [
        format!("http://{}", house.address),
        "http://here".to_owned(),
    ] {
        assert_eq!(read(&house, &ours).await.status, 404, "{ours}");
    }
}

#[tokio::test]
async fn a_page_on_the_list_is_let_in_and_may_see_what_it_needs() {
    let house = with_pages(&[APP], true).await;
    let asked = preflight(&house, APP).await;
    assert_eq!(asked.status, 204);
    assert_eq!(asked.header("access-control-allow-origin"), Some(APP));
    assert_eq!(
        asked.header("access-control-allow-credentials"),
        Some("true")
    );
    assert_eq!(asked.header("access-control-max-age"), Some("600"));
    assert_eq!(asked.header("vary"), Some("Origin"));
    let methods = asked.header("access-control-allow-methods").unwrap();
    assert!(methods.contains("POST") && methods.contains("DELETE"));
    let headers = asked.header("access-control-allow-headers").unwrap();
    for name in [
        "Authorization",
        "Content-Type",
        "A2A-Version",
        "Last-Event-ID",
    ] {
        assert!(headers.contains(name), "{name}");
    }

    let answer = read(&house, APP).await;
    assert_eq!(answer.status, 404);
    assert_eq!(answer.header("access-control-allow-origin"), Some(APP));
    let exposed = answer.header("access-control-expose-headers").unwrap();
    for name in ["Retry-After", "WWW-Authenticate", "X-RateLimit-Remaining"] {
        assert!(exposed.contains(name), "{name}");
    }
    let answer = read(&house, "https://evil.example").await;
    assert_eq!(answer.status, 403);
    assert_eq!(preflight(&house, "https://evil.example").await.status, 403);

    // Caches must not show one page what was said to another.
    let path = "/a2a/hall/.well-known/agent-card.json";
    let card = house.ask("GET", path, &[], "").await;
    let vary: Vec<_> = card.headers.get_all("vary").into_iter().collect();
    assert_eq!(vary, ["A2A-Version, Host", "Origin"]);
    assert!(card.header("access-control-allow-origin").is_none());
}

#[tokio::test]
async fn all_pages_may_call_but_never_with_credentials() {
    let house = with_pages(&["*"], true).await;
    let answer = read(&house, "https://anyone.example").await;
    assert_eq!(answer.status, 404);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert!(answer.header("access-control-allow-credentials").is_none());
}

/// The status of an answer to a bare request.
async fn status(house: &House, host: &str) -> u16 {
    let mut socket = TcpStream::connect(house.address).await.unwrap();
    let request = format!("GET /livez HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer[9..12].parse().unwrap()
}

#[tokio::test]
async fn a_name_that_was_made_to_point_here_does_not_lead_in() {
    let open_to_all = with_pages(&[], false).await;
    for (host, expected) in [
        ("localhost:7420", 200),
        ("127.0.0.1", 200),
        ("here", 200),
        ("evil.example:7420", 403),
        ("evil.example", 403),
    ] {
        assert_eq!(status(&open_to_all, host).await, expected, "{host}");
    }
    // Who has to show who it is needs no such care.
    let closed = open(&["desk"]).await;
    assert_eq!(status(&closed, "agents.example").await, 200);
}
