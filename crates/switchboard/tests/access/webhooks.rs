//! Webhooks of one owner that are dead do not delay those of another.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use switchboard_testkit::{Server, answer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

const CONFIGURATION: &str = "
auth:
  methods:
    ops: { basic: { users: { alice: { password: '${PASSWORD}' }, bob: { password: '${PASSWORD}' } } } }
push: { allow: [127.0.0.1] }
agents: { desk: { script: [{ complete: done }] } }
";

/// An attempt that hangs is given up after 15 s: what waits for one comes later than this.
const IN_TIME: Duration = Duration::from_secs(8);

/// Takes what is posted below `/good`, and never answers anything else.
struct Receiver {
    address: String,
    /// The request lines.
    got: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl Receiver {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let got: Arc<Mutex<Vec<String>>> = Arc::default();
        let mut serving = JoinSet::new();
        let kept = Arc::clone(&got);
        serving.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                open.spawn(serve(socket, Arc::clone(&kept)));
            }
        });
        Self {
            address,
            got,
            _serving: serving,
        }
    }

    /// Waits until something was posted to that path, and tells how long it took.
    async fn until(&self, path: &str, since: Instant) -> Duration {
        let line = format!("POST {path} ");
        while !self
            .got
            .lock()
            .unwrap()
            .iter()
            .any(|got| got.starts_with(&line))
        {
            assert!(since.elapsed() < IN_TIME, "nothing came to {path}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        since.elapsed()
    }

    fn hanging(&self) -> usize {
        let got = self.got.lock().unwrap();
        got.iter()
            .filter(|line| line.starts_with("POST /hangs"))
            .count()
    }
}

async fn serve(mut socket: TcpStream, got: Arc<Mutex<Vec<String>>>) {
    let mut text = String::new();
    let mut buffer = [0; 16 << 10];
    while let Ok(read @ 1..) = socket.read(&mut buffer).await {
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
        // All our bodies end so; nothing else in a request does.
        if !text.ends_with("}}") {
            continue;
        }
        let line = text.lines().next().unwrap_or_default().to_owned();
        let is_good = line.starts_with("POST /good");
        got.lock().unwrap().push(line);
        if !is_good {
            std::future::pending::<()>().await;
        }
        text.clear();
        let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
        if socket.write_all(answer).await.is_err() {
            return;
        }
    }
}

async fn send(server: &Server, user: &str, webhook: &str) {
    let body = json!({
        "message": {"messageId": webhook, "role": "ROLE_USER", "parts": [{"text": "go"}]},
        "configuration": {"returnImmediately": true, "taskPushNotificationConfig": {"url": webhook}},
    });
    let request = server.http.post(server.url("/a2a/desk/message:send"));
    let request = request.basic_auth(user, Some("open-sesame"));
    let sent = answer(request.header("a2a-version", "1.0").json(&body)).await;
    assert_eq!(sent.status, 200, "{sent:?}");
}

#[tokio::test]
async fn dead_webhooks_of_one_owner_delay_no_other_even_after_a_crash() {
    let password = [("PASSWORD", "open-sesame")];
    let mut server = Server::serve_with(CONFIGURATION, &[], &password).await;
    let receiver = Receiver::start().await;
    let mut silent = Vec::new();
    for n in 0..40 {
        let hangs = format!("{}/hangs/{n}", receiver.address);
        send(&server, "alice", &hangs).await;
    }
    for _ in 0..300 {
        // The system takes the connection, and nobody reads.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        silent.push(listener);
        send(&server, "alice", &format!("http://{address}/")).await;
    }
    for n in 0..5 {
        let path = format!("/good/{n}");
        let since = Instant::now();
        send(&server, "bob", &format!("{}{path}", receiver.address)).await;
        receiver.until(&path, since).await;
    }
    let hanging = receiver.hanging();
    assert!(hanging >= 1, "the others were in the way");
    send(&server, "bob", &format!("{}/good/last", receiver.address)).await;
    server.kill().await;
    server.restart().await;
    receiver.until("/good/last", Instant::now()).await;
    let since = Instant::now();
    send(&server, "bob", &format!("{}/good/later", receiver.address)).await;
    receiver.until("/good/later", since).await;
}
