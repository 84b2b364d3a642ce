//! The server as a process that can be killed and started again, at the same address and on the same data.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::plan::Dice;

/// How long it may take to come up or to go.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a condition is looked at.
const GLANCE: Duration = Duration::from_millis(3);

/// The server, running or not.
pub(crate) struct Server {
    dir: TempDir,
    port: u16,
    child: Option<Child>,
    starts: u32,
}

impl Server {
    /// Chooses a port and writes the configuration; starts nothing.
    pub(crate) fn new(dice: &mut Dice, receiver: u16) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let durability = dice.pick(&["power_loss", "process_death"]);
        let yaml = include_str!("agents.yaml")
            .replace("RECEIVER", &receiver.to_string())
            .replace("DURABILITY", durability);
        fs::write(dir.path().join("switchboard.yaml"), yaml).expect("a configuration");
        Self {
            dir,
            port: free_port(),
            child: None,
            starts: 0,
        }
    }

    /// `http://127.0.0.1:PORT`
    pub(crate) fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Starts it and does not wait.
    pub(crate) fn launch(&mut self) {
        assert!(self.child.is_none(), "it runs already");
        self.starts += 1;
        let file = |name: String| File::create(self.dir.path().join(name)).expect("a file");
        let child = Command::new(env!("CARGO_BIN_EXE_switchboard"))
            .args(["serve", "-c", "switchboard.yaml", "--data", "data"])
            .args(["--listen", &format!("127.0.0.1:{}", self.port)])
            .current_dir(self.dir.path())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file(log_name(self.starts)))
            .kill_on_drop(true)
            .spawn()
            .expect("the binary starts");
        self.child = Some(child);
    }

    /// Waits until it takes requests.
    pub(crate) async fn ready(&mut self, http: &reqwest::Client) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        let url = format!("{}/readyz", self.base());
        loop {
            let asked = http.get(&url).timeout(PATIENCE).send().await;
            if asked.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(());
            }
            if let Some(log) = self.exited() {
                // Whoever had the port may need a moment to let it go.
                if !log.contains("cannot listen") || Instant::now() > deadline {
                    return Err(format!("the server ended by itself:\n{log}"));
                }
                self.launch();
            }
            if Instant::now() > deadline {
                return Err(format!("the server does not come up:\n{}", self.log()));
            }
            sleep(GLANCE).await;
        }
    }

    /// Its log, if it has ended by itself.
    pub(crate) fn exited(&mut self) -> Option<String> {
        let child = self.child.as_mut()?;
        child.try_wait().expect("our own child")?;
        self.child = None;
        Some(self.log())
    }

    /// `kill -9`.
    pub(crate) async fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await.expect("our own child");
        }
    }

    /// Asks it to end.
    pub(crate) async fn terminate(&self) {
        let process = self.child.as_ref().and_then(Child::id);
        if let Some(process) = process {
            let kill = Command::new("kill")
                .args(["-TERM", &process.to_string()])
                .status();
            kill.await.expect("the command `kill`");
        }
    }

    /// Waits until it has ended; it has been asked to.
    pub(crate) async fn gone(&mut self) -> Result<(), String> {
        let Some(mut child) = self.child.take() else {
            return Ok(());
        };
        match timeout(PATIENCE, child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(status) => Err(format!("ended with {status:?}:\n{}", self.log())),
            Err(_) => Err(format!("does not end:\n{}", self.log())),
        }
    }

    /// Waits until something is written to the store, so long at most.
    pub(crate) async fn committed(&self, at_most: Duration) {
        let files = ["db-wal", "db", "journal-a", "journal-b"]
            .map(|name| self.data(&format!("switchboard.{name}")));
        let look = || files.each_ref().map(|file| written(file));
        let before = look();
        let changed = async {
            while look() == before {
                sleep(Duration::from_micros(500)).await;
            }
        };
        drop(timeout(at_most, changed).await);
    }

    fn data(&self, name: &str) -> PathBuf {
        self.dir.path().join("data").join(name)
    }

    /// How often it was started.
    pub(crate) fn starts(&self) -> u32 {
        self.starts
    }

    /// What the last process logged.
    pub(crate) fn log(&self) -> String {
        let file = self.dir.path().join(log_name(self.starts));
        fs::read_to_string(file).unwrap_or_default()
    }

    /// Lines in any log that no crash excuses.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let bad = |line: &str| {
            ["panicked", "\"level\":\"ERROR\"", "damaged"]
                .iter()
                .any(|word| line.contains(word))
        };
        let logs = (1..=self.starts).map(|n| (n, self.dir.path().join(log_name(n))));
        logs.flat_map(|(n, file)| {
            let text = fs::read_to_string(file).unwrap_or_default();
            let lines: Vec<String> = text.lines().filter(|l| bad(l)).map(str::to_owned).collect();
            lines.into_iter().map(move |l| format!("start {n}: {l}"))
        })
        .collect()
    }

    /// Keeps the directory for whoever looks into a failure.
    pub(crate) fn keep(self) -> PathBuf {
        self.dir.keep()
    }
}

fn log_name(start: u32) -> String {
    format!("log-{start}.txt")
}

/// How a file looks from outside; changes when it is written.
fn written(file: &Path) -> Option<(u64, std::time::SystemTime)> {
    let about = fs::metadata(file).ok()?;
    Some((about.len(), about.modified().ok()?))
}

/// A port that nothing uses, outside the range from which outgoing connections get theirs: a client that
/// knocks while the server is down would otherwise meet itself there now and then.
fn free_port() -> u16 {
    let start = std::process::id() % 11_000;
    let candidates = (0..11_000).map(|n| 20_000 + (start * 7 + n * 13) % 11_000);
    let mut ports = candidates.filter_map(|port| u16::try_from(port).ok());
    ports
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port")
}
