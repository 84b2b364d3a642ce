//! The unit of docs/deployment.md and the StatefulSet of docs/kubernetes.md fit the binary: the unit's command starts the server with
//! the page's configuration, reloads it and stops it, and every probe is answered.

use std::process::Command;

use crate::pages::{Block, Page};
use crate::session::free_port;

/// In a directory with the files of the page. The unit's paths are those of this directory; `listen` and `data` are the
/// test's own.
const SCRIPT: &str = r#"
set -eu
export MAINPID
value() { sed -n "s/^$1=//p" switchboard.service; }
start=$(value ExecStart)
start=${start/'/usr/local/bin/switchboard'/"$SB"}
start=${start/'/etc/switchboard/'/}
$start 2>server.log &
MAINPID=$!
trap 'kill -9 $MAINPID 2>/dev/null || true' EXIT
ready() { curl -sf -o /dev/null "http://$SWITCHBOARD_LISTEN/readyz"; }
for _ in $(seq 400); do if ready; then break; fi; kill -0 $MAINPID; sleep 0.05; done
for path in $(grep -o 'path: /[a-z]*' kubernetes.yml | cut -d ' ' -f 2); do
  echo "probe $path"; curl -sf "http://$SWITCHBOARD_LISTEN$path"; echo
done
sed -i 's/Greets everyone/Welcomes everyone/' switchboard.yaml
bash -c "$(value ExecReload)"
card() { curl -s "http://$SWITCHBOARD_LISTEN/a2a/greeter/.well-known/agent-card.json"; }
for _ in $(seq 400); do if card | grep -q Welcomes; then echo reloaded; break; fi; sleep 0.05; done
kill -TERM $MAINPID
wait $MAINPID && echo stopped
"#;

#[test]
fn the_unit_starts_reloads_and_stops_the_server_and_probes_are_answered() {
    let dir = tempfile::tempdir().expect("a directory");
    for (page, name) in [
        ("docs/deployment.md", "switchboard.yaml"),
        ("docs/deployment.md", "switchboard.service"),
        ("docs/kubernetes.md", "kubernetes.yml"),
    ] {
        let page = Page::read(&crate::root().join(page));
        let named = |block: &&Block| block.file() == Some(name);
        let block = page.blocks.iter().find(named).expect(name);
        std::fs::write(dir.path().join(name), &block.text).expect("a file");
    }
    let output = Command::new("bash")
        .args(["-c", SCRIPT])
        .current_dir(dir.path())
        .env("SB", env!("CARGO_BIN_EXE_switchboard"))
        .env("SWITCHBOARD_LISTEN", format!("127.0.0.1:{}", free_port()))
        .env("SWITCHBOARD_DATA", dir.path().join("data"))
        .env("SWITCHBOARD_ADMIN__LISTEN", "off")
        .output()
        .expect("bash");
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    let log = std::fs::read_to_string(dir.path().join("server.log")).unwrap_or_default();
    assert!(output.status.success(), "{said}\n{wrong}\n{log}");
    for line in ["probe /livez", "probe /readyz", "reloaded", "stopped"] {
        assert!(
            said.lines().any(|l| l == line),
            "no {line} in\n{said}\n{log}"
        );
    }
}
