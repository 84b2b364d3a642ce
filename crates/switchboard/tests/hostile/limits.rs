//! Too slow, too many.

use std::time::Duration;

use switchboard_testkit::eventually;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::time::{Instant, timeout};

use crate::wire::{Way, connect, envelope, exchange, healthy, memory, post, rest, until};

const SHORT: &str = "limits: { header_timeout: 500ms, body_timeout: 500ms, heartbeat: 200ms }";

#[tokio::test]
async fn slow_clients_lose_their_connection() {
    let server = crate::server(SHORT).await;
    let mut idle = connect(&server).await;
    let mut preface = connect(&server).await;
    preface
        .write_all(b"PRI * HTTP/2.0\r\n")
        .await
        .expect("bytes");
    let mut head = connect(&server).await;
    head.write_all(b"POST /a2a/echo HTTP/1.1\r\nHost: localhost\r\nX: ")
        .await
        .expect("bytes");
    let mut again = connect(&server).await;
    again
        .write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .expect("bytes");
    for (what, socket) in [
        ("idle", &mut idle),
        ("preface", &mut preface),
        ("head", &mut head),
        ("again", &mut again),
    ] {
        let answer = rest(socket).await;
        let expected = if what == "again" { 200 } else { 0 };
        assert_eq!(answer.status(), expected, "{what}: {}", answer.text);
    }
    let body = exchange(
        &server,
        b"POST /a2a/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
    )
    .await;
    assert_eq!(body.status(), 400, "{}", body.text);
    assert!(
        body.error().message.contains("did not arrive within 500ms"),
        "{}",
        body.text
    );
    healthy(&server).await;
}

#[tokio::test]
async fn a_head_that_drips_is_cut_off() {
    let server = crate::server(SHORT).await;
    let mut socket = connect(&server).await;
    let begun = Instant::now();
    // Each byte comes in time, the head does not.
    let dripped = async {
        while socket.write_all(b"X").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), dripped)
        .await
        .expect("cut off");
    assert!(begun.elapsed() < Duration::from_secs(20));
    healthy(&server).await;
}

#[tokio::test]
async fn connections_beyond_the_limit_are_told_to_come_again() {
    let server = crate::server("limits: { connections: 4, header_timeout: 30s }").await;
    let mut open = Vec::new();
    for _ in 0..4 {
        let mut socket = connect(&server).await;
        socket
            .write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .await
            .expect("bytes");
        until(&mut socket, "alive").await;
        open.push(socket);
    }
    let answer = rest(&mut connect(&server).await).await;
    assert_eq!(answer.status(), 503, "{}", answer.text);
    assert_eq!(answer.header("Retry-After"), Some("1"), "{}", answer.text);
    assert!(
        answer.error().message.contains("too many connections"),
        "{}",
        answer.text
    );
    drop(open);
    until_there_is_room(&server, "/livez").await;
    healthy(&server).await;
}

/// Sockets close in their own time.
async fn until_there_is_room(server: &switchboard_testkit::Server, path: &str) {
    let request = crate::wire::request("GET", path, "A2A-Version: 1.0\r\n", b"");
    eventually("room for a request", async || {
        let answer = exchange(server, &request).await;
        (answer.status() == 200).then_some(()).ok_or(answer.text)
    })
    .await;
}

#[tokio::test]
async fn streams_beyond_the_limit_are_refused_before_a_task_begins() {
    let server = crate::server("limits: { streams: 2 }").await;
    let stream = |way: Way, path: &str| {
        let params = way.good().to_string();
        let body = match way {
            Way::Rpc03 => envelope("message/stream", &params),
            Way::Rpc10 => envelope("SendStreamingMessage", &params),
            Way::Rest03 | Way::Rest10 => params,
        };
        post(path, way.version(), body.as_bytes())
    };
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut socket = connect(&server).await;
        let call = stream(Way::Rest10, "/a2a/sleeper/message:stream");
        socket.write_all(&call).await.expect("bytes");
        until(&mut socket, "TASK_STATE_WORKING").await;
        open.push(socket);
    }
    let says = "limit of 2 open event streams; retry after 1 s";
    for (way, path) in [
        (Way::Rpc03, "/a2a/sleeper"),
        (Way::Rpc10, "/a2a/sleeper"),
        (Way::Rest03, "/a2a/sleeper/v1/message:stream"),
        (Way::Rest10, "/a2a/sleeper/message:stream"),
    ] {
        let answer = exchange(&server, &stream(way, path)).await;
        assert_eq!(answer.status(), 429, "{way:?}: {}", answer.text);
        assert!(
            answer.text.contains(says) && answer.text.contains("RESOURCE_EXHAUSTED"),
            "{way:?}: {}",
            answer.text
        );
        assert_eq!(answer.header("retry-after"), Some("1"), "{way:?}");
    }
    let tasks = exchange(
        &server,
        &crate::wire::request("GET", "/a2a/sleeper/tasks", "A2A-Version: 1.0\r\n", b""),
    )
    .await;
    assert_eq!(
        tasks.json()["totalSize"],
        2,
        "a refused stream must not leave a task: {}",
        tasks.text
    );
    healthy(&server).await;
    drop(open);
    let again = stream(Way::Rest10, "/a2a/echo/message:stream");
    eventually("room for a stream", async || {
        exchange(&server, &again).await.status() == 200
    })
    .await;
}

#[tokio::test]
async fn large_bodies_that_never_end_share_bounded_room() {
    let server = crate::server("limits: { body: 1MiB, body_timeout: 20s }").await;
    let (before, _) = memory(&server);
    let head = "POST /a2a/echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 1048576\r\n\r\n";
    let most = [head.as_bytes(), &vec![b' '; 1_048_000]].concat();
    let mut open = Vec::new();
    let mut refused = None;
    for _ in 0..64 {
        let mut socket = connect(&server).await;
        let sent = socket.write_all(&most).await;
        drop(sent);
        open.push(socket);
    }
    for socket in &mut open {
        let answered = tokio::time::timeout(Duration::from_millis(500), rest(socket)).await;
        if let Ok(answer) = answered {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("not all of them fit");
    assert_eq!(refused.status(), 429, "{}", refused.text);
    assert!(
        refused
            .error()
            .message
            .contains("too many large request bodies at once"),
        "{}",
        refused.text
    );
    // Small requests need no room.
    healthy(&server).await;
    let (_, peak) = memory(&server);
    assert!(
        peak < before + 250,
        "{before} MiB before, {peak} MiB at the peak"
    );
}

/// Opens sockets, says nothing on half of them and half a head on the others, tells how many it has, and then how many
/// the server has closed.
const HALF_OPEN: &str = "
import resource, select, socket, sys
port, count = int(sys.argv[1]), int(sys.argv[2])
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
poll, open_ = select.epoll(), {}
for n in range(count):
    one = socket.create_connection(('127.0.0.1', port))
    if n % 2:
        one.sendall(b'POST /a2a/echo HTTP/1.1\\r\\nHost: loc')
    poll.register(one, select.EPOLLIN)
    open_[one.fileno()] = one
print(len(open_), flush=True)
closed = 0
while open_:
    for number, _ in poll.poll():
        try:
            over = not open_[number].recv(65536)
        except OSError:
            over = True
        if over:
            open_.pop(number).close()
            closed += 1
print(closed, flush=True)
";

#[tokio::test]
async fn ten_thousand_half_open_connections_disturb_nobody() {
    const MANY: usize = 10_000;
    let server = crate::server("limits: { connections: 16384, header_timeout: 10s }").await;
    let port = server.base.rsplit(':').next().expect("a port").to_owned();
    let mut flood = tokio::process::Command::new("python3")
        .args(["-c", HALF_OPEN, &port, &MANY.to_string()])
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("python3");
    let mut said = BufReader::new(flood.stdout.take().expect("a pipe")).lines();
    let mut told = async || said.next_line().await.expect("a line");
    let opened = timeout(Duration::from_secs(60), told()).await;
    assert_eq!(opened.expect("soon"), Some(MANY.to_string()));
    healthy(&server).await;
    let (now, _) = memory(&server);
    assert!(now < 400, "{now} MiB");
    let closed = timeout(Duration::from_secs(60), told()).await;
    assert_eq!(closed.expect("soon"), Some(MANY.to_string()));
    healthy(&server).await;
}
