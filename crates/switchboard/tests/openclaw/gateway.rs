//! A real OpenClaw gateway with a home of its own, and the model behind it.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::Instant;

pub(crate) const TOKEN: &str = "tok-0123456789abcdef";
/// What a peer of the gateway's own A2A channel shows.
pub(crate) const PEER_TOKEN: &str = "peer-0123456789abcdef";
/// How long a gateway may take to start: there may be others who need the machine.
const START: Duration = Duration::from_secs(180);

/// A gateway that runs.
pub(crate) struct Gateway {
    home: TempDir,
    port: u16,
    _model: Group,
    gateway: Option<Group>,
}

/// A process and those that it starts; they end with it.
struct Group(Child);

impl Group {
    fn start(mut command: Command, log: &Path) -> Self {
        let log = File::options()
            .append(true)
            .create(true)
            .open(log)
            .expect("a log");
        let errors = log.try_clone().expect("a log");
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .kill_on_drop(true)
            .spawn();
        Self(child.expect("it starts"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let id = self.0.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Gateway {
    pub(crate) async fn start() -> Self {
        Self::start_with(json!({})).await
    }

    /// A gateway whose own A2A channel is open to one peer, and can call it at that address.
    pub(crate) async fn start_with_peer(url: &str) -> Self {
        let peer = json!({"token": PEER_TOKEN, "url": url});
        Self::start_with(json!({"a2a": {"enabled": true, "peers": {"ours": peer}}})).await
    }

    async fn start_with(channels: Value) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let (port, model_port) = (free_port(), free_port());
        let folder = home.path().join(".openclaw");
        std::fs::create_dir_all(folder.join("workspace")).expect("a folder");
        let config = json!({
            "gateway": {
                "mode": "local", "port": port, "bind": "loopback",
                "auth": {"mode": "token", "token": TOKEN},
                "controlUi": {"enabled": false},
                // Who comes by a proxy comes from elsewhere.
                "trustedProxies": ["127.0.0.1"],
                "http": {"endpoints": {"chatCompletions": {"enabled": true}, "responses": {"enabled": true}}},
            },
            "models": {"mode": "replace", "providers": {"rule": {
                "baseUrl": format!("http://127.0.0.1:{model_port}/v1"), "apiKey": "none", "api": "openai-completions",
                "models": [{
                    "id": "rule", "name": "Rule", "reasoning": false, "input": ["text", "image"],
                    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                    "contextWindow": 128_000, "maxTokens": 8192,
                }],
            }}},
            "agents": {
                "defaults": {"model": {"primary": "rule/rule"}, "workspace": folder.join("workspace"), "skipBootstrap": true},
                "list": [
                    {"id": "main", "default": true, "identity": {"name": "Mainy", "theme": "a bot for tests"}},
                    {"id": "research", "identity": {"name": "Researcher"}},
                ],
            },
            "skills": {"entries": {"weather": {"enabled": true}}, "allowBundled": ["weather"]},
            "logging": {"file": home.path().join("openclaw.log")},
            "channels": channels,
        });
        std::fs::write(folder.join("openclaw.json"), config.to_string()).expect("a configuration");
        let mut model = Command::new(environment().join("node"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../conformance/peers/openclaw/model.mjs");
        model.arg(script).arg(model_port.to_string());
        let model = Group::start(model, &home.path().join("model.txt"));
        let mut gateway = Self {
            home,
            port,
            _model: model,
            gateway: None,
        };
        gateway.run().await;
        gateway
    }

    /// Starts it, at the same address as before.
    pub(crate) async fn run(&mut self) {
        let mut command = self.command();
        command.args(["gateway", "--port", &self.port.to_string()]);
        self.gateway = Some(Group::start(command, &self.log()));
        let deadline = Instant::now() + START;
        let http = reqwest::Client::new();
        loop {
            let asked = http.get(format!("{}/readyz", self.url())).send().await;
            let ready = match asked {
                Ok(answer) => answer.text().await.unwrap_or_default(),
                Err(_) => String::new(),
            };
            if ready.contains("\"ready\":true") {
                return;
            }
            let over = self
                .gateway
                .as_mut()
                .and_then(|g| g.0.try_wait().expect("a process of ours"));
            assert!(
                over.is_none() && Instant::now() < deadline,
                "not ready:\n{}",
                self.logged()
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Ends it as a crash does.
    pub(crate) async fn kill(&mut self) {
        let mut gateway = self.gateway.take().expect("it runs");
        gateway.0.kill().await.expect("it was running");
    }

    /// Its own command line, until that ends: what it prints.
    pub(crate) async fn openclaw(&self, args: &[&str]) -> String {
        let mut command = self.command();
        command.args(args).stdin(Stdio::null()).kill_on_drop(true);
        let done = tokio::time::timeout(START, command.output()).await;
        let done = done.expect("it ends").expect("it starts");
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}{errors}");
        said
    }

    fn command(&self) -> Command {
        let environment = environment();
        let mut command = Command::new(environment.join("node"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        command
            .arg(environment.join("node_modules/openclaw/openclaw.mjs"))
            .current_dir(self.home.path())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.home.path())
            .env("OPENCLAW_DISABLE_BONJOUR", "1")
            .env("OPENCLAW_EXEC_SHELL_SNAPSHOT", "0")
            .env("OPENCLAW_NO_RESPAWN", "1")
            .env("OPENCLAW_GATEWAY_PORT", self.port.to_string());
        command
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// How often the model was cut off.
    pub(crate) fn cut_off(&self) -> usize {
        let said = std::fs::read_to_string(self.home.path().join("model.txt"));
        said.unwrap_or_default().matches("cut off").count()
    }

    fn log(&self) -> PathBuf {
        self.home.path().join("gateway.txt")
    }

    fn logged(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap_or_default()
    }
}

/// A port that nobody has. The gateway wants to be told one.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Where `conformance/peers/setup openclaw` has put it.
fn environment() -> PathBuf {
    let peers = std::env::var_os("PEERS_DIR").filter(|named| !named.is_empty());
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target =
        target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    let home = peers
        .map_or_else(|| target.join("peers"), PathBuf::from)
        .join("openclaw");
    assert!(
        home.join("stamp").exists(),
        "there is no environment {}: run conformance/peers/setup openclaw",
        home.display()
    );
    home
}
