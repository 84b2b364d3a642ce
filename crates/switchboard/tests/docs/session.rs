//! Runs a page: all its commands in one shell, with the server that the page starts.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::pages::{Block, Page};

/// Functions and variables of the shell. `$SB` is the binary, `$COUNTER` the example of an agent in Rust, `$HOME_PORT` the port that
/// stands for 7420.
///
/// Commands get exactly the arguments on the page. A server that names no address listens on `$HOME_PORT` instead of the
/// default port, by `SWITCHBOARD_LISTEN`, which only the server sees: that is all that differs from a user's shell. The
/// files of this harness are in `$RUN`, so that no page can depend on them; a server whose standard error the page
/// redirects writes there.
const PRELUDE: &str = r#"
set -eu
STDERR=$(readlink "/proc/$BASHPID/fd/2")
stop_server() {
  if [ ! -f "$RUN/server.pid" ]; then return 0; fi
  kill "$(cat "$RUN/server.pid")" 2>/dev/null || true
  wait "$(cat "$RUN/server.pid")" 2>/dev/null || true
}
start_server() {
  stop_server
  : >"$RUN/server.log"
  local log=/dev/stderr
  if [ "$(readlink "/proc/$BASHPID/fd/2")" = "$STDERR" ]; then log=$RUN/server.log; fi
  SWITCHBOARD_LISTEN="127.0.0.1:$HOME_PORT" "$@" >"$RUN/server.out" 2>>"$log" </dev/null &
  echo $! >"$RUN/server.pid"
  for _ in $(seq 400); do
    if command curl -s -o /dev/null "http://127.0.0.1:$HOME_PORT/readyz"; then return 0; fi
    kill -0 "$(cat "$RUN/server.pid")" || break
    sleep 0.05
  done
  echo "the server did not start:" >&2; cat "$RUN/server.out" "$RUN/server.log" >&2; return 1
}
switchboard() {
  case "${1:-}" in
    up|serve|wrap) start_server "$SB" "$@" ;;
    *) "$SB" "$@" ;;
  esac
}
cargo() {
  if [ "${1:-} ${2:-} ${3:-} ${4:-} ${5:-} ${6:-}" = "run -p switchboard-server --example counter --" ]; then
    shift 6; start_server "$COUNTER" "$@"; return
  fi
  [ "${1:-} ${2:-} ${3:-} ${4:-} ${5:-}" = "run --release -p switchboard --" ] || { echo "not tested: cargo $*" >&2; return 1; }
  shift 5; switchboard "$@"
}
python3() { command python3 "$@" >"$RUN/receiver.log" 2>&1 </dev/null & echo $! >"$RUN/receiver.pid"; sleep 0.5; }
pkill() {
  if [ "$*" = "-HUP -x switchboard" ]; then kill -HUP "$(cat "$RUN/server.pid")"; return; fi
  [ "$*" = "-9 -x switchboard" ] || [ "$*" = "-9 -x counter" ] || { echo "not tested: pkill $*" >&2; return 1; }
  kill -9 "$(cat "$RUN/server.pid")"; wait "$(cat "$RUN/server.pid")" 2>/dev/null || true
}
"#;

/// What the shell knows besides, where a page runs with the SDKs below `$PEERS`: packages that were installed before, and
/// the interpreters that have them. A package that a page asks for in another version is an error.
const SDK_PRELUDE: &str = r#"
trap 'jobs -p | xargs -r kill 2>/dev/null' EXIT
pip() {
  [ "$1" = install ] || { echo "not tested: pip $*" >&2; return 1; }
  "$PEERS/python-1.0/bin/python" -m pip --disable-pip-version-check install --quiet --no-index "${@:2}"
}
npm() {
  [ "$1" = install ] || { echo "not tested: npm $*" >&2; return 1; }
  local package=${2%@*} major=${2##*@}
  ln -sfn "$PEERS/js/node_modules" node_modules
  grep -q "\"version\": \"$major\." "node_modules/$package/package.json"
}
# In the background it takes the place of the shell that runs it, so that ending that one ends it.
python3() {
  if [ "$BASHPID" = $$ ]; then "$PEERS/python-1.0/bin/python" "$@"; else exec "$PEERS/python-1.0/bin/python" "$@"; fi
}
node() { "$PEERS/js/node" "$@"; }
"#;

/// What stands for the ports that the pages name.
struct Ports {
    server: u16,
    receiver: u16,
}

impl Ports {
    fn put_into(&self, text: &str) -> String {
        let text = text.replace("7420", &self.server.to_string());
        // The admin listener is one port above.
        let text = text.replace("7421", &(self.server + 1).to_string());
        text.replace("9000", &self.receiver.to_string())
    }
}

/// Between the output of one block and the next.
const MARK: &str = "@@ block";

/// Where `conformance/peers/setup` has put the SDKs.
pub(crate) fn peers() -> PathBuf {
    let target = || {
        let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        named.unwrap_or_else(|| crate::root().join("target"))
    };
    let named = std::env::var_os("PEERS_DIR").filter(|named| !named.is_empty());
    named.map_or_else(|| target().join("peers"), PathBuf::from)
}

/// An example of a crate, as `cargo test --workspace` builds it beside the tests.
fn example(name: &str) -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_switchboard"));
    binary.with_file_name("examples").join(name)
}

/// With `peers`, the blocks that need SDKs run, too; without, they are left out.
pub(crate) fn run(page: &Page, peers: Option<&Path>) {
    let dir = tempfile::tempdir().expect("a directory");
    // The shell of a user who has never run Switchboard: an empty home, and none of its variables.
    let home = tempfile::tempdir().expect("a home directory");
    let run = tempfile::tempdir().expect("a directory for the harness");
    let ports = Ports {
        server: free_pair(),
        receiver: free_port(),
    };
    let script = script(page, &ports, peers.is_some());
    let mut bash = Command::new("bash");
    bash.arg("-c")
        .arg(&script)
        .env("PEERS", peers.unwrap_or(Path::new("")))
        .current_dir(dir.path())
        .env("SB", env!("CARGO_BIN_EXE_switchboard"))
        .env("COUNTER", example("counter"))
        .env("RUN", run.path())
        .env("HOME", home.path())
        .env("XDG_DATA_HOME", home.path().join(".local/share"))
        .env_remove("XDG_CONFIG_HOME")
        .env("HOME_PORT", ports.server.to_string())
        .stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SWITCHBOARD_") {
            bash.env_remove(name);
        }
    }
    let output = bash.output().expect("bash");
    stop(run.path());
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}: a command failed after this:\n{said}\n{wrong}",
        page.path.display()
    );
    check_outputs(page, &said, &ports, peers.is_some());
}

/// The shell script of a page.
fn script(page: &Page, ports: &Ports, with_sdks: bool) -> String {
    let mut script = PRELUDE.to_owned();
    if with_sdks {
        script.push_str(SDK_PRELUDE);
    }
    for (at, block) in page.blocks.iter().enumerate() {
        let here = ports.put_into(&block.text);
        if let Some(name) = block.file() {
            script.push_str(&file(name, &here));
        }
        if block.is("yaml") {
            script.push_str(&check(block, &here));
        }
        if block.is("sh") && (with_sdks || !block.needs_sdk()) {
            let commands = without_scripts(&here, page);
            script.push_str(&format!("echo '{MARK} {at}'\n{commands}"));
        }
    }
    script
}

fn file(name: &str, text: &str) -> String {
    format!("cat > {name} <<'END OF FILE'\n{text}END OF FILE\n")
}

/// Configurations are checked: whole ones, and pieces within the smallest one that can hold them.
fn check(block: &Block, text: &str) -> String {
    let indented =
        |by: &str| -> String { text.lines().map(|line| format!("{by}{line}\n")).collect() };
    let (name, whole) = match block.tag() {
        Some("script") => {
            let steps = indented("      ");
            (
                "piece.yaml",
                format!("agents:\n  piece:\n    script:\n{steps}"),
            )
        }
        Some("agent") => {
            let keys = indented("    ");
            let script = "    script:\n      - complete: done\n";
            ("piece.yaml", format!("agents:\n  piece:\n{keys}{script}"))
        }
        Some("settings") => {
            let agents = "agents:\n  piece:\n    script:\n      - complete: done\n";
            ("piece.yaml", format!("{text}{agents}"))
        }
        Some("agent-file") => return String::new(),
        Some(name) => (name, text.to_owned()),
        None => panic!("line {}: a configuration without a tag", block.line),
    };
    format!("{}\"$SB\" check {name} >/dev/null\n", file(name, &whole))
}

/// `scripts/test` runs this test, so it is only looked for.
fn without_scripts(commands: &str, page: &Page) -> String {
    let ours = |line: &&str| line.starts_with("scripts/");
    for script in commands.lines().filter(ours) {
        let program = script.split_whitespace().next().unwrap_or_default();
        let there = crate::root().join(program);
        assert!(there.exists(), "{} names {program}", page.path.display());
    }
    let rest = commands.lines().filter(|line| !ours(line));
    rest.map(|line| format!("{line}\n")).collect()
}

/// Each line of an output block occurs in what the block of commands before it wrote.
fn check_outputs(page: &Page, said: &str, ports: &Ports, with_sdks: bool) {
    let mut last = None;
    let mut left_out = false;
    for (at, block) in page.blocks.iter().enumerate() {
        if block.is("sh") {
            last = Some(at);
            left_out = block.needs_sdk() && !with_sdks;
        }
        if block.tag() == Some("output") && !left_out {
            let of = last.expect("an output follows its command");
            let start = said
                .split_once(&format!("{MARK} {of}\n"))
                .map(|(_, rest)| rest);
            let written = start
                .and_then(|rest| rest.split(MARK).next())
                .unwrap_or_default();
            compare(page, block, written, ports);
        }
    }
}

fn compare(page: &Page, block: &Block, written: &str, ports: &Ports) {
    for line in ports
        .put_into(&block.text)
        .lines()
        .filter(|line| !line.trim().is_empty())
    {
        assert!(
            written.lines().any(|given| matches(line.trim(), given)),
            "{}:{}: no line like\n  {line}\nin\n{written}",
            page.path.display(),
            block.line
        );
    }
}

/// Whether `given` holds the pieces of `pattern` between `…`, in order.
fn matches(pattern: &str, given: &str) -> bool {
    let mut rest = given;
    pattern.split('…').all(|piece| match rest.find(piece) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}

#[test]
fn outputs_are_compared_piece_by_piece() {
    for (pattern, given, same) in [
        ("id: 1", "id: 1", true),
        ("id: 1", "id: 2", false),
        ("a…c", "abc", true),
        ("a…c", "cba", false),
        ("…x…x…", "one x", false),
    ] {
        assert_eq!(matches(pattern, given), same, "{pattern} in {given}");
    }
}

fn stop(dir: &Path) {
    for name in ["server.pid", "receiver.pid"] {
        if let Ok(pid) = std::fs::read_to_string(dir.join(name)) {
            let killed = Command::new("kill").args(["-9", pid.trim()]).output();
            drop(killed);
        }
    }
}

/// A free port with another one above it.
fn free_pair() -> u16 {
    let above = |port: u16| port.checked_add(1);
    let free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let mut ports = std::iter::repeat_with(free_port);
    let pair = ports.find(|port| above(*port).is_some_and(free));
    pair.expect("a pair of free ports")
}

pub(crate) fn free_port() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    socket.local_addr().expect("an address").port()
}
