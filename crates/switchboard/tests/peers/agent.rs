//! An agent of another project, in a process of its own, behind a proxy that can cut its connections.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use switchboard_client::Address;
use switchboard_types::FileBytes;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::environment::Environment;

/// How long one may take to start: LangGraph loads for a while.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running agent.
pub(crate) struct Agent {
    /// Its address, at the proxy if it can be told to use it.
    pub(crate) url: String,
    /// Project and version, as it says them itself.
    pub(crate) peer: String,
    /// Whose address counts, if its card cannot name the proxy.
    pub(crate) address: Address,
    /// Whether there is one beside it that wants an extension.
    pub(crate) has_strict: bool,
    /// After how many events of a slow answer it is cut off.
    pub(crate) events_before_cut: usize,
    proxies: Vec<Proxy>,
    process: Process,
}

/// A process, and who reads what else it says: it would be blocked by a full pipe, or ended by a closed one.
struct Process {
    child: Child,
    _reader: JoinSet<()>,
}

impl Agent {
    /// One that lets its card name the proxies.
    pub(crate) async fn start(environment: Environment) -> Self {
        Self::started(environment.command("servers")).await
    }

    /// The same, which writes the files it gets to `in` of that directory, and gives those in `out`.
    pub(crate) async fn with_files(environment: Environment, directory: &Path) -> Self {
        let mut command = environment.command("servers");
        command.env("PEER_FILES", directory);
        Self::started(command).await
    }

    async fn started(mut command: Command) -> Self {
        let (proxy, over_grpc) = (Proxy::start().await, Proxy::start().await);
        let url = format!("http://{}", proxy.address());
        command.args(["--url", &url, "--grpc", &over_grpc.address()]);
        let (process, ready) = ready(command).await;
        proxy.leads_to(text(&ready, "url").trim_start_matches("http://"));
        over_grpc.leads_to(&text(&ready, "grpc"));
        Self {
            url,
            peer: text(&ready, "peer"),
            address: Address::default(),
            has_strict: ready["strict"] != Value::Bool(false),
            events_before_cut: 5,
            proxies: vec![proxy, over_grpc],
            process,
        }
    }

    /// A LangGraph server. Its card names the server itself, so the client has to go by the address it was given.
    pub(crate) async fn langgraph(release: Environment) -> Self {
        let proxy = Proxy::start().await;
        let (process, ready) = ready(release.command("langgraph")).await;
        let behind = text(&ready, "base");
        proxy.leads_to(behind.trim_start_matches("http://"));
        Self {
            url: text(&ready, "url").replace(&behind, &format!("http://{}", proxy.address())),
            peer: text(&ready, "peer"),
            address: Address::Given,
            has_strict: false,
            events_before_cut: 1,
            proxies: vec![proxy],
            process,
        }
    }

    /// What it holds files as in 0.3.
    pub(crate) fn file_bytes(&self) -> FileBytes {
        if self.peer.starts_with("js ") {
            FileBytes::Raw
        } else {
            FileBytes::Base64
        }
    }

    /// Where it is, without the path.
    pub(crate) fn base(&self) -> String {
        let (base, _) = self.url.split_once("/a2a/").expect("a path");
        base.to_owned()
    }

    /// Ends its process as a crash does.
    pub(crate) async fn kill(&mut self) {
        self.process.child.kill().await.expect("it was running");
    }

    /// Cuts every open connection.
    pub(crate) fn cut(&self) {
        for proxy in &self.proxies {
            proxy.cut.notify_one();
        }
    }
}

fn text(ready: &Value, name: &str) -> String {
    ready[name].as_str().expect("a text").to_owned()
}

/// Starts it and reads to the line that says it can be called.
async fn ready(mut command: Command) -> (Process, Value) {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let out = child.stdout.take().expect("its output");
    let mut lines = BufReader::new(out).lines();
    let wait = async {
        while let Some(line) = lines.next_line().await.expect("a line") {
            if let Some(ready) = line.strip_prefix("ready ") {
                return serde_json::from_str(ready).expect("JSON after `ready`");
            }
        }
        panic!("it ended before it was ready");
    };
    let ready = timeout(PATIENCE, wait).await.expect("it is ready in time");
    let mut reader = JoinSet::new();
    reader.spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    let process = Process {
        child,
        _reader: reader,
    };
    (process, ready)
}

/// Passes bytes on, until it is told to cut.
struct Proxy {
    port: u16,
    target: Arc<OnceLock<String>>,
    cut: Arc<Notify>,
    _accepting: JoinSet<()>,
}

impl Proxy {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (target, cut) = (Arc::new(OnceLock::new()), Arc::new(Notify::new()));
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, Arc::clone(&target), Arc::clone(&cut)));
        Self {
            port,
            target,
            cut,
            _accepting: accepting,
        }
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn leads_to(&self, target: &str) {
        self.target.set(target.to_owned()).expect("set once");
    }
}

async fn accept(listener: TcpListener, target: Arc<OnceLock<String>>, cut: Arc<Notify>) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            () = cut.notified() => open.shutdown().await,
            Ok((here, _)) = listener.accept() => {
                open.spawn(pass_on(here, Arc::clone(&target)));
            }
        }
    }
}

async fn pass_on(mut here: TcpStream, target: Arc<OnceLock<String>>) {
    let target = target.get().expect("nobody calls before it is ready");
    if let Ok(mut there) = TcpStream::connect(target).await {
        // Whoever ends first ends both.
        let _ = tokio::io::copy_bidirectional(&mut here, &mut there).await;
    }
}
