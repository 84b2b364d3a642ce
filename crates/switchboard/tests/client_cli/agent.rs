//! An agent with many moods, and the command line.

use std::process::Stdio;

use serde_json::Value;
use switchboard_testkit::Server;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

const AGENTS: &str = r#"
push: {allow: ["127.0.0.1"]}
agents:
  desk:
    description: Does as it is told
    script:
      - choose:
          - when: { turn: 1, text: '^ask' }
            do:
              - ask: "Which one?"
          - when: { turn: 2 }
            do:
              - complete: "You said {{text}}."
          - when: { text: '^fail' }
            do:
              - fail: "It broke."
          - when: { text: '^long' }
            do:
              - say: "Getting ready"
              - wait: 600s
          - when: { text: '^files' }
            do:
              - artifact: { name: notes, text: "first\n\nsecond" }
              - artifact: { name: table, parts: [{ data: { n: 1 } }] }
          - when: { text: '^pieces' }
            do:
              - repeat:
                  words: "one two three"
                  do:
                    - chunk: { name: words, text: "{{word}}" }
          - when: { text: '^escape' }
            do:
              - complete: "red \u001b[31m end"
          - when: { text: 'deceive' }
            do:
              - fail: "a\u202eb\u200bc\u2028d\u2029e\u009b31mf\u2066g\ufeffh"
          - when: { text: '^short' }
            do:
              - reply: "Just a word."
      - say: "Looking"
      - artifact: { name: answer, text: "You said: {{text}}" }
"#;

/// A server, and the commands against its agent.
pub(crate) struct Agent {
    pub(crate) server: Server,
    pub(crate) dir: TempDir,
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Agent {
    pub(crate) async fn start() -> Self {
        Self {
            server: Server::serve(AGENTS).await,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// What `-a` is given.
    pub(crate) fn reference(&self) -> String {
        self.server.url("/a2a/desk")
    }

    /// The command with `-a`, in a directory and home of its own.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = bare(&self.dir, args);
        command.arg("-a").arg(self.reference());
        command
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, args: &[&str]) -> Ran {
        ran(self.command(args)).await
    }

    /// Runs a command that must do its work, and prints one JSON object.
    pub(crate) async fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["-o", "json"]].concat()).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.out.lines().count(), 1, "{ran:?}");
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Starts a task that goes on until it is told to stop, and tells its id.
    pub(crate) async fn long_task(&self) -> String {
        let sent = self.json(&["send", "--async", "long"]).await;
        sent["task"]["id"].as_str().unwrap().to_owned()
    }

    /// Starts a command that goes on by itself.
    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command.spawn().unwrap()
    }

    /// Runs a command that is given something to read.
    pub(crate) async fn fed(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self.spawn(args);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        Ran::of(&child.wait_with_output().await.unwrap())
    }
}

/// The binary in a directory and home of its own, without the environment of the tests.
pub(crate) fn bare(dir: &TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command
        .args(args)
        .current_dir(dir.path())
        .env_clear()
        .env("HOME", dir.path().join("home"));
    command
}

/// Runs it to its end, and looks at what must hold for every command.
pub(crate) async fn ran(mut command: Command) -> Ran {
    Ran::of(&command.stdin(Stdio::null()).output().await.unwrap())
}

impl Ran {
    fn of(output: &std::process::Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let ran = Self {
            code: output.status.code(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        };
        let deceives = |c: char| match c {
            '\n' | '\t' => false,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
            '\u{feff}' => true,
            _ => c.is_control(),
        };
        assert!(!ran.out.contains(deceives), "{ran:?}");
        assert!(!ran.err.contains(deceives), "{ran:?}");
        ran
    }

    /// The value of a line.
    pub(crate) fn field(&self, label: &str) -> &str {
        let prefix = format!("{label}: ");
        let line = self.out.lines().find_map(|line| line.strip_prefix(&prefix));
        line.unwrap_or_else(|| panic!("no {label} in {self:?}"))
    }
}

/// Does what Ctrl-C does.
pub(crate) async fn interrupt(child: &Child) {
    let pid = child.id().unwrap().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status().await;
    assert!(sent.unwrap().success());
}
