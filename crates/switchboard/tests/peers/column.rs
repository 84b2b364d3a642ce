//! A column of the table: cells that are written down and compared with what is expected.

use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use crate::conformance;
use crate::environment::directory;

/// Keeps the cells for the table, and fails if one is not as `conformance/peers/expected.toml` says.
pub(crate) async fn check(name: &str, cells: &[Value]) {
    let folder = directory().join("cells");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut lines = String::new();
    for cell in cells {
        lines.push_str(&format!("{cell}\n"));
    }
    let file = folder.join(format!("{}.jsonl", name.replace(' ', "_")));
    std::fs::write(file, lines).expect("a file");
    let compared = Command::new("python3")
        .arg(conformance().join("peers/matrix"))
        .args(["--column", name])
        .env("PEERS_DIR", directory())
        .stdin(Stdio::null())
        .output()
        .await
        .expect("python3");
    let said = String::from_utf8_lossy(&compared.stdout).into_owned();
    let failed = String::from_utf8_lossy(&compared.stderr);
    assert!(compared.status.success(), "{name}:\n{said}{failed}");
}
