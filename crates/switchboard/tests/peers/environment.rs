//! Where the packages of other projects are, and how to run something in them.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::conformance;

/// One of the environments that `conformance/peers/setup` builds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Environment {
    Python02,
    Python031,
    Python03,
    Python10,
    Js02,
    Js03,
    Js,
    LangGraph,
    LangGraph06,
    Adk,
    Adk1,
    CrewAi,
    Strands,
}

impl Environment {
    fn name(self) -> &'static str {
        match self {
            Self::Python02 => "python-0.2",
            Self::Python031 => "python-0.3.1",
            Self::Python03 => "python-0.3",
            Self::Python10 => "python-1.0",
            Self::Js02 => "js-0.2",
            Self::Js03 => "js-0.3",
            Self::Js => "js",
            Self::LangGraph => "langgraph",
            Self::LangGraph06 => "langgraph-0.6",
            Self::Adk => "adk",
            Self::Adk1 => "adk-1",
            Self::CrewAi => "crewai",
            Self::Strands => "strands",
        }
    }

    /// The name of its scripts, and what runs them.
    fn script(self) -> (&'static str, &'static str) {
        match self {
            Self::Python02 => ("python_0_2.py", "bin/python"),
            Self::Python031 => ("python_0_3_1.py", "bin/python"),
            Self::Python03 => ("python_0_3.py", "bin/python"),
            Self::Python10 => ("python_1_0.py", "bin/python"),
            Self::Js02 => ("js_0_2.mjs", "node"),
            Self::Js03 => ("js_0_3.mjs", "node"),
            Self::Js => ("js.mjs", "node"),
            Self::LangGraph | Self::LangGraph06 => ("server.py", "bin/python"),
            Self::Adk | Self::Adk1 => ("adk.py", "bin/python"),
            Self::CrewAi => ("crewai_client.py", "bin/python"),
            Self::Strands => ("strands_client.py", "bin/python"),
        }
    }

    /// Runs its script in that folder of `conformance/peers`.
    pub(crate) fn command(self, folder: &str) -> Command {
        let home = directory().join(self.name());
        assert!(
            home.join("stamp").exists(),
            "there is no environment {}: run conformance/peers/setup",
            home.display()
        );
        let (script, interpreter) = self.script();
        let mut command = Command::new(home.join(interpreter));
        command
            .arg(conformance().join("peers").join(folder).join(script))
            .current_dir(home)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        // All of it stays on this machine.
        for name in ["http_proxy", "https_proxy", "all_proxy"] {
            command.env_remove(name).env_remove(name.to_uppercase());
        }
        command
    }
}

/// What a client has printed when it is done, which it must be in time and without a complaint.
pub(crate) async fn printed(mut command: Command, patience: Duration) -> String {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let done = timeout(patience, command.output())
        .await
        .expect("it ends in time")
        .expect("it starts");
    let complaints = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{complaints}");
    String::from_utf8(done.stdout).expect("text")
}

/// Where the environments and the cells are: `PEERS_DIR`, or `peers` in the target directory.
pub(crate) fn directory() -> PathBuf {
    if let Some(named) = std::env::var_os("PEERS_DIR").filter(|named| !named.is_empty()) {
        return PathBuf::from(named);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| conformance().join("../target"));
    target.join("peers")
}
