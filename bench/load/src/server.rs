//! The servers under test: each a process of its own on its own core, ended by its own id.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::machine::{self, Cores};

/// How long a server may take to come up, and to go.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The bare axum server.
    Bare,
    /// The same as a proxy that keeps nothing.
    Proxy,
    /// The gateway, keeping tasks in memory.
    Memory,
    /// The gateway, keeping tasks in SQLite; every commit waits for the disk.
    Sqlite,
    /// The same without the wait: what is stored survives the process, not the machine.
    SqliteNoWait,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare axum",
            Self::Proxy => "bare proxy",
            Self::Memory => "memory",
            Self::Sqlite => "SQLite",
            Self::SqliteNoWait => "SQLite without the wait",
        }
    }
}

/// Where things are.
#[derive(Debug, Clone)]
pub struct Places {
    pub baseline: PathBuf,
    pub switchboard: PathBuf,
    /// `bench/` in the source tree.
    pub bench: PathBuf,
    /// For data directories and other files that last as long as a run.
    pub scratch: PathBuf,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    pub kind: Kind,
    pub address: SocketAddr,
    pub data: PathBuf,
    /// From exec to the first answer.
    pub came_up: Duration,
}

/// How to start one.
#[derive(Debug, Clone)]
pub struct Start<'a> {
    pub places: &'a Places,
    pub cores: Cores,
    pub kind: Kind,
    /// The built-in agents, as `switchboard up` has them, instead of those of the benchmarks.
    pub built_in: bool,
    /// Where it finds the keys of those who tell it who asks; else it asks nobody.
    pub closed_by: Option<&'a str>,
    /// The gateway that has its agents; else they are its own.
    pub before: Option<&'a str>,
    /// Where callgrind writes what it counts; else it runs by itself.
    pub counted_to: Option<&'a Path>,
}

impl Start<'_> {
    /// Starts a server with an empty store and waits until it answers.
    pub fn fresh(&self) -> anyhow::Result<Server> {
        let data = self.places.scratch.join(format!("data-{}", unique()));
        fs::create_dir_all(&data)?;
        self.on(data)
    }

    /// Starts a server on a data directory and waits until it answers.
    pub fn on(&self, data: PathBuf) -> anyhow::Result<Server> {
        let address = free_address()?;
        let mut command = self.command(address, &data);
        let log = File::create(self.places.scratch.join("server.log"))?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        // The child is born where it is to stay.
        machine::pin(self.cores.server)?;
        let began = Instant::now();
        let child = command.spawn();
        machine::pin(self.cores.load)?;
        let child = child.with_context(|| format!("cannot start {command:?}"))?;
        let mut server = Server {
            child,
            kind: self.kind,
            address,
            data,
            came_up: Duration::ZERO,
        };
        server.wait_for_answer(began, self.card())?;
        server.came_up = began.elapsed();
        Ok(server)
    }

    fn command(&self, address: SocketAddr, data: &Path) -> Command {
        if matches!(self.kind, Kind::Bare | Kind::Proxy) {
            let mut command = Command::new(&self.places.baseline);
            command.arg(address.to_string()).args(self.before);
            return command;
        }
        let mut command = match self.counted_to {
            None => Command::new(&self.places.switchboard),
            Some(counts) => {
                let mut command = Command::new("valgrind");
                command.arg("--tool=callgrind");
                command.arg(format!("--callgrind-out-file={}", counts.display()));
                command.arg(&self.places.switchboard);
                // Threads that wait for each other would count, too.
                command.env("TOKIO_WORKER_THREADS", "1");
                command
            }
        };
        if self.built_in {
            command.arg("up");
        } else {
            let name = match (self.closed_by, self.before) {
                (Some(_), _) => "closed.yaml",
                (None, Some(_)) => "before.yaml",
                (None, None) => "agents.yaml",
            };
            let config = self.places.bench.join(name);
            command.arg("serve").arg("--config").arg(config);
            command.envs(self.closed_by.map(|issuers| ("BENCH_ISSUERS", issuers)));
            command.envs(self.before.map(|upstream| ("BENCH_UPSTREAM", upstream)));
        }
        command
            .arg("--listen")
            .arg(address.to_string())
            .arg("--data")
            .arg(data);
        match self.kind {
            Kind::Bare | Kind::Proxy | Kind::Sqlite => {}
            Kind::Memory => {
                command.arg("--memory");
            }
            Kind::SqliteNoWait => {
                command.env("SWITCHBOARD_STORE__DURABILITY", "process_death");
            }
        }
        command
    }

    fn card(&self) -> &'static str {
        match self.kind {
            Kind::Bare | Kind::Proxy => "/",
            Kind::Memory | Kind::Sqlite | Kind::SqliteNoWait => "/.well-known/agent-card.json",
        }
    }
}

impl Server {
    /// Its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// The path that reaches an agent.
    pub fn path(&self, agent: &str) -> String {
        match self.kind {
            Kind::Bare => "/".to_owned(),
            _ => format!("/a2a/{agent}"),
        }
    }

    /// User and system time so far.
    pub fn cpu(&self) -> anyhow::Result<Duration> {
        machine::cpu_time(self.process())
    }

    /// Memory it holds, in bytes.
    pub fn resident(&self) -> anyhow::Result<u64> {
        machine::resident(self.process())
    }

    fn wait_for_answer(&mut self, began: Instant, path: &str) -> anyhow::Result<()> {
        while began.elapsed() < PATIENCE {
            if crate::http::answers(self.address, path) {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!(
                    "{} ended at once: {status}; see server.log",
                    self.kind.name()
                );
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        bail!("{} did not come up", self.kind.name())
    }
}

impl Drop for Server {
    /// Asks the process to end, and makes it if it does not.
    fn drop(&mut self) {
        let process = Pid::from_raw(self.process().cast_signed());
        let asked = Instant::now();
        let _ = kill(process, Signal::SIGTERM);
        while asked.elapsed() < Duration::from_secs(3) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A free port on the loopback interface.
fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
