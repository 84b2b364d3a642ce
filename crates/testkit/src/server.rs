//! The real binary on a port of its own, with a data directory that outlives it.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::{Answer, Events, answer, events, eventually, text_of};

/// How long a server may take to start, and an answer to come.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What the profiles of the conformance kit check tokens with.
const KIT_SECRET: &str = "the conformance kit and Switchboard share this";

/// A token made with it, for the audience `kit`, good until 2096.
pub const KIT_TOKEN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJraXQiLCJhdWQiOiJraXQiLCJleHAiOjQwMDAwMDAwMDB9.CdDnNvJb7rkqev1Q-4hvkISuzs2H9n_6CKVvaZkd37o";

/// A running server; dropping it kills the process and removes its directory.
#[derive(Debug)]
pub struct Server {
    child: Child,
    dir: TempDir,
    args: Vec<String>,
    variables: Vec<(String, String)>,
    /// `http://127.0.0.1:PORT`, or `https` if it is encrypted.
    pub base: String,
    /// Speaks to it.
    pub http: reqwest::Client,
}

impl Server {
    /// The built-in agents.
    pub async fn up() -> Self {
        Self::start(&["up"], "").await
    }

    /// The agents of a configuration.
    pub async fn serve(yaml: &str) -> Self {
        Self::start(&["serve", "-c", "switchboard.yaml"], yaml).await
    }

    /// The agents of a configuration with files beside it and variables.
    pub async fn serve_with(
        yaml: &str,
        files: &[(&str, Vec<u8>)],
        variables: &[(&str, &str)],
    ) -> Self {
        let args = ["serve", "-c", "switchboard.yaml"];
        Self::start_with(&args, yaml, files, variables).await
    }

    /// The agents of a configuration that has a place of its own, with nothing on disk.
    pub async fn profile(file: &Path) -> Self {
        let file = file.to_str().expect("a path of text");
        Self::start(&["serve", "-c", file, "--memory"], "").await
    }

    /// Some command that serves, in a directory with a configuration.
    pub async fn start(args: &[&str], yaml: &str) -> Self {
        Self::start_with(args, yaml, &[], &[]).await
    }

    /// The same, with files beside it and variables.
    pub async fn start_with(
        args: &[&str],
        yaml: &str,
        files: &[(&str, Vec<u8>)],
        variables: &[(&str, &str)],
    ) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("switchboard.yaml"), yaml).expect("a configuration");
        for (name, content) in files {
            let place = dir.path().join(name);
            let above = place.parent().expect("a file is in a directory");
            std::fs::create_dir_all(above).expect("a directory");
            std::fs::write(place, content).expect("a file");
        }
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let variables: Vec<(String, String)> = variables.iter().map(owned).collect();
        let (child, base) = launch(&args, dir.path(), &variables).await;
        let http = reqwest::Client::builder()
            .timeout(TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("a client");
        Self {
            child,
            dir,
            args,
            variables,
            base,
            http,
        }
    }

    /// Ends the process as a crash does.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("it was running");
    }

    /// Ends the process as service managers do, and waits until it has.
    pub async fn stop(&mut self) {
        let pid = i32::try_from(self.pid()).expect("a number of a process");
        let pid = rustix::process::Pid::from_raw(pid).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it was running");
        let ended = tokio::time::timeout(TIMEOUT, self.child.wait()).await;
        ended.expect("it ends in time").expect("it has ended");
    }

    /// Starts again on the same data, at another port.
    pub async fn restart(&mut self) {
        let (child, base) = launch(&self.args, self.dir.path(), &self.variables).await;
        self.child = child;
        self.base = base;
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it is running")
    }

    /// Where it keeps its tasks.
    pub fn data(&self) -> std::path::PathBuf {
        self.dir.path().join("data")
    }

    /// What it has written to standard output.
    pub fn said(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("out.txt")).expect("an output")
    }

    /// Its configuration.
    pub fn configuration(&self) -> std::path::PathBuf {
        self.dir.path().join("switchboard.yaml")
    }

    /// What it has logged since it was started.
    pub fn logged(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log.txt")).expect("a log")
    }

    /// An address on this server.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// A GET.
    pub async fn get(&self, path: &str) -> Answer {
        answer(self.http.get(self.url(path))).await
    }

    /// A JSON-RPC call of 0.3 at an agent's address.
    pub async fn rpc(&self, agent: &str, method: &str, params: Value) -> Answer {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(&format!("/a2a/{agent}"), &body).await
    }

    /// The result of a JSON-RPC call of 0.3 that must succeed.
    pub async fn result(&self, agent: &str, method: &str, params: Value) -> Value {
        let answer = self.rpc(agent, method, params).await;
        assert_eq!(answer.body.get("error"), None, "{method}");
        answer.body["result"].clone()
    }

    /// The number of the error of a JSON-RPC call of 0.3 that must fail.
    pub async fn error(&self, agent: &str, method: &str, params: Value) -> Value {
        let answer = self.rpc(agent, method, params).await;
        assert_eq!(answer.body.get("result"), None, "{method}");
        answer.body["error"].clone()
    }

    /// A POST of JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        answer(self.http.post(self.url(path)).json(body)).await
    }

    /// A POST of JSON in A2A 1.0.
    pub async fn post_v1(&self, path: &str, body: &Value) -> Answer {
        let request = self.http.post(self.url(path)).header("A2A-Version", "1.0");
        answer(request.json(body)).await
    }

    /// A JSON-RPC call of 0.3 that streams.
    pub async fn stream(&self, agent: &str, method: &str, params: Value) -> Events {
        let body = json!({"jsonrpc": "2.0", "id": "s1", "method": method, "params": params});
        let path = self.url(&format!("/a2a/{agent}"));
        events(self.http.post(path).json(&body)).await
    }

    /// Reads a task until it is in one of these states (0.3 names).
    pub async fn until(&self, agent: &str, task: &Value, states: &[&str]) -> Value {
        eventually(&format!("{states:?}"), async || {
            let found = self.result(agent, "tasks/get", json!({"id": task})).await;
            let state = found["status"]["state"].as_str().unwrap_or_default();
            match states.contains(&state) {
                true => Ok(found),
                false => Err(found),
            }
        })
        .await
    }

    /// Reads a task until its status says this; it may be over then.
    pub async fn until_says(&self, agent: &str, task: &Value, text: &str) -> Value {
        eventually(&format!("a status that says {text:?}"), async || {
            let found = self.result(agent, "tasks/get", json!({"id": task})).await;
            match text_of(&found["status"]["message"]).contains(text) {
                true => Ok(found),
                false => Err(found),
            }
        })
        .await
    }
}

/// The path of the binary, which cargo and nextest name to the tests of its package.
///
/// # Panics
///
/// In tests of other packages.
#[must_use]
pub fn binary() -> String {
    std::env::var("CARGO_BIN_EXE_switchboard").expect("a test of the package `switchboard`")
}

async fn launch(args: &[String], dir: &Path, variables: &[(String, String)]) -> (Child, String) {
    let file = |name: &str| File::create(dir.join(name)).expect("a file");
    // What stands behind `--` stays last.
    let (command, more) = args.split_at(1);
    let mut server = Command::new(binary());
    server
        .args(command)
        .args(["--listen", "127.0.0.1:0", "--log-format", "json"]);
    // With a home of its own it uses the data directory there.
    if !variables.iter().any(|(name, _)| name == "HOME") {
        server.arg("--data").arg(dir.join("data"));
    }
    let mut child = server
        .args(more)
        .current_dir(dir)
        .env_remove("SWITCHBOARD_LOG")
        .env("KIT_SECRET", KIT_SECRET)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(file("out.txt"))
        .stderr(file("log.txt"))
        .kill_on_drop(true)
        .spawn()
        .expect("the binary starts");
    let base = eventually("the server listens", async || {
        let said = std::fs::read_to_string(dir.join("out.txt")).unwrap_or_default();
        let logged = std::fs::read_to_string(dir.join("log.txt")).unwrap_or_default();
        let over = child.try_wait().expect("a process of ours").is_some();
        let base = welcomed(&said).or_else(|| logged.lines().find_map(listening));
        assert!(base.is_some() || !over, "it has ended:\n{said}{logged}");
        base.ok_or(format!("{said}{logged}"))
    });
    let base = base.await;
    (child, base)
}

/// The address in the welcome of `up`.
fn welcomed(said: &str) -> Option<String> {
    let (_, rest) = said.split_once(" at http")?;
    let (rest, _) = rest.split_once('\n')?;
    Some(format!("http{rest}"))
}

/// The address in a line that `serve` logs.
fn listening(line: &str) -> Option<String> {
    let record: Value = serde_json::from_str(line).ok()?;
    let address = record.get("addr")?.as_str()?;
    let scheme = if record["tls"] == true {
        "https"
    } else {
        "http"
    };
    (record["message"] == "listening").then(|| format!("{scheme}://{address}"))
}

/// The base URL of the admin API.
pub fn admin(server: &Server) -> String {
    let line = server.logged();
    let address = line.lines().find_map(|line| {
        let record: Value = serde_json::from_str(line).ok()?;
        let looks = record["message"] == "admin listening";
        looks.then(|| record["addr"].as_str().map(str::to_owned))?
    });
    format!("http://{}", address.expect("an address"))
}

/// The token of the admin API.
pub fn token(server: &Server) -> String {
    let token = std::fs::read_to_string(server.data().join("admin.token")).expect("a token");
    token.trim().to_owned()
}

/// A GET of the admin API.
pub async fn look(server: &Server, path: &str) -> Answer {
    let request = server.http.get(format!("{}{path}", admin(server)));
    answer(request.bearer_auth(token(server))).await
}
