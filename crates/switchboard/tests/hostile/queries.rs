//! REST without a body: queries, paths and verbs.

use crate::wire::{exchange, healthy, request};

const V1: &str = "A2A-Version: 1.0\r\n";

#[tokio::test]
async fn a_wrong_query_is_refused_with_its_name_in_both_versions() {
    let server = crate::server("").await;
    for (query, says) in [
        ("pageSize=0", "pageSize must be between 1 and 100"),
        ("pageSize=101", "pageSize must be between 1 and 100"),
        ("pageSize=-1", "pageSize must be between 1 and 100"),
        ("page_size=x", "pageSize must be a 32-bit integer"),
        ("pageSize=1e2", "pageSize must be a 32-bit integer"),
        ("pageSize=%00", "pageSize must be a 32-bit integer"),
        ("pageSize=%zz", "pageSize must be percent-encoded UTF-8"),
        ("pageToken=%ff", "pageToken must be percent-encoded UTF-8"),
        ("pageToken=%", "pageToken must be percent-encoded UTF-8"),
        ("%ff=1", "query must be percent-encoded UTF-8"),
        ("pageSize=1&pageSize=2", "pageSize is given more than once"),
        ("pageSize=1&page_size=1", "pageSize is given more than once"),
        (
            "pageToken=bad",
            "pageToken is not the nextPageToken of this query",
        ),
        ("status=nope", "status must be the name of a task state"),
        (
            "includeArtifacts=yes",
            "includeArtifacts must be true or false",
        ),
        ("historyLength=-1", "historyLength must not be negative"),
        (
            "historyLength=99999999999",
            "historyLength must be a 32-bit integer",
        ),
        (
            "statusTimestampAfter=x",
            "statusTimestampAfter must be an ISO 8601",
        ),
        (
            "contextId=%01",
            "contextId must not contain control characters",
        ),
    ] {
        for (path, headers, code) in [
            ("/a2a/echo/tasks", V1, 400),
            ("/a2a/echo/v1/tasks", "", -32602),
        ] {
            let answer = exchange(
                &server,
                &request("GET", &format!("{path}?{query}"), headers, b""),
            )
            .await;
            assert_eq!(answer.status(), 400, "{query}: {}", answer.text);
            let error = answer.error();
            assert_eq!(
                (error.code, error.reason.as_str()),
                (code, "INVALID_PARAMS"),
                "{query}"
            );
            assert!(error.message.contains(says), "{query}: {}", error.message);
        }
    }
    healthy(&server).await;
}

#[tokio::test]
async fn odd_paths_lead_nowhere_and_break_nothing() {
    let server = crate::server("").await;
    let long = format!("/a2a/echo/tasks/{}", "x".repeat(513));
    let very_long = format!("/a2a/echo/tasks/{}", "x".repeat(30_000));
    for (path, status, says) in [
        ("/a2a/echo/../../etc/passwd", 404, "no such path"),
        ("/..", 404, "no such path"),
        ("//", 404, "no such path"),
        ("/a2a", 404, "no such path"),
        ("/a2a/echo/nowhere", 404, "no such path"),
        ("/a2a/echo//tasks", 404, "no such path"),
        ("/a2a/echo/tasks/%ff", 404, "no such path"),
        ("/a2a/echo/tasks/%zz", 404, "no such path"),
        ("/a2a/echo/tasks/%", 404, "no such path"),
        ("/a2a/echo/tasks/:cancel", 404, "no such path"),
        (
            "/a2a/echo/tasks/x/pushNotificationConfigs/y/z",
            404,
            "no such path",
        ),
        ("*", 404, "no such path"),
        ("/a2a/nobody/tasks", 404, "no agent named \"nobody\""),
        ("/a2a/%65cho/tasks", 404, "no agent named \"%65cho\""),
        ("/a2a//tasks", 404, "no agent named \"\""),
        ("/nobody/tasks", 404, "task not found"),
        ("/a2a/echo/tasks/..", 404, "task not found"),
        ("/a2a/echo/tasks/%2e%2e", 404, "task not found"),
        ("/a2a/echo/tasks/a%2Fb", 404, "task not found"),
        ("/a2a/echo/tasks/x:explode", 404, "task not found"),
        (
            "http://evil.example/a2a/echo/tasks/x",
            403,
            "unknown host name",
        ),
        (
            "/a2a/echo/tasks/%00",
            400,
            "id must not contain control characters",
        ),
        (
            "/a2a/echo/tasks/%0d%0aSet-Cookie:x",
            400,
            "id must not contain control characters",
        ),
        (long.as_str(), 400, "id must not be longer than 512 bytes"),
        (
            very_long.as_str(),
            400,
            "id must not be longer than 512 bytes",
        ),
        ("/a2a/echo/v1/tasks/x", 400, "1.0 has no /v1 in its paths"),
    ] {
        let answer = exchange(&server, &request("GET", path, V1, b"")).await;
        let shown = &path[..path.len().min(60)];
        assert_eq!(answer.status(), status, "{shown}: {}", answer.text);
        assert!(
            answer.error().message.contains(says),
            "{shown}: {}",
            answer.text
        );
        assert!(answer.text.len() < 4096, "{shown}");
        assert_eq!(answer.header("set-cookie"), None, "{shown}");
    }
    healthy(&server).await;
}

#[tokio::test]
async fn a_redirect_stays_on_this_server() {
    let server = crate::server("").await;
    for path in [
        "/a2a/echo/.well-known/agent",
        "/a2a/%0d%0aSet-Cookie:x/.well-known/agent",
        "/a2a///evil.example/.well-known/agent",
    ] {
        let answer = exchange(&server, &request("GET", path, "", b"")).await;
        if let Some(location) = answer.header("location") {
            assert!(
                location.starts_with("/a2a/") && location.ends_with("/.well-known/agent-card.json"),
                "{location}"
            );
        }
        assert_eq!(answer.header("set-cookie"), None);
    }
    let answer = exchange(
        &server,
        &request("GET", "//evil.example/.well-known/agent", "", b""),
    )
    .await;
    assert_eq!(answer.header("location"), None, "{}", answer.text);
}

#[tokio::test]
async fn other_verbs_are_not_allowed_and_told_which_are() {
    let server = crate::server("").await;
    let long = "X".repeat(300);
    for verb in [
        "HEAD",
        "OPTIONS",
        "PUT",
        "PATCH",
        "TRACE",
        "CONNECT",
        "FOO",
        "get",
        long.as_str(),
    ] {
        for (path, allow) in [
            ("/a2a/echo", "GET, HEAD, POST"),
            ("/a2a/echo/", "GET, HEAD, POST"),
            ("/a2a/echo/tasks", "GET"),
            ("/a2a/echo/tasks/x", "GET"),
            ("/a2a/echo/tasks/x:cancel", "POST"),
            ("/a2a/echo/tasks/x:subscribe", "GET, POST"),
            ("/a2a/echo/v1/message:send", "POST"),
            ("/a2a/echo/tasks/x/pushNotificationConfigs/y", "GET, DELETE"),
            ("/livez", "GET, HEAD"),
            ("/readyz", "GET, HEAD"),
            ("/version", "GET, HEAD"),
            ("/.well-known/agent-card.json", "GET, HEAD"),
        ] {
            if verb == "HEAD" && allow.contains("HEAD") {
                continue;
            }
            let answer = exchange(&server, &request(verb, path, V1, b"")).await;
            assert_eq!(answer.status(), 405, "{verb} {path}: {}", answer.text);
            assert_eq!(answer.header("allow"), Some(allow), "{verb} {path}");
        }
    }
    healthy(&server).await;
}
