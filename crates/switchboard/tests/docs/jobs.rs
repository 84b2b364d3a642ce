//! What users come to do: each job is one or two sections of a page with the commands it needs, complete from an empty
//! home directory. The tests of this binary run the commands as they are written.

use crate::pages::{Block, Page};
use crate::root;

/// A section that does a job, or a part of it.
struct Section {
    job: &'static str,
    page: &'static str,
    heading: &'static str,
    /// Without these commands, or lines of a unit file, the job is not done.
    commands: &'static [&'static str],
}

const fn section(
    job: &'static str,
    page: &'static str,
    heading: &'static str,
    commands: &'static [&'static str],
) -> Section {
    Section {
        job,
        page,
        heading,
        commands,
    }
}

const SECTIONS: &[Section] = &[
    section(
        "an OpenAI-compatible endpoint behind an agent",
        "docs/llm.md",
        "Try it without a model",
        &["switchboard wrap --openai ", "switchboard send "],
    ),
    section(
        "a Python script with questions and artifacts",
        "docs/exec.md",
        "JSON Lines protocol",
        &[
            "switchboard serve ",
            "switchboard send ",
            "--task-id \"$TASK\"",
        ],
    ),
    section(
        "a server of the Python SDK behind an agent",
        "docs/remote-agents.md",
        "An agent of the Python SDK",
        &[
            "python3 poet.py",
            "switchboard wrap --a2a ",
            "switchboard send ",
        ],
    ),
    section(
        "an agent in Rust",
        "docs/rust-agents.md",
        "Run the example",
        &[
            "cargo run -p switchboard-server --example counter ",
            "switchboard send ",
            "pkill -9 -x counter",
            "--task-id \"$TASK\"",
        ],
    ),
    section(
        "a front desk with rules",
        "docs/routing.md",
        "Routing: delegate to another agent, loop protection, token budgets",
        &["switchboard serve -c desk.yaml", "/a2a/desk"],
    ),
    section(
        "a front desk with rules",
        "docs/routing.md",
        "Explain a routing decision",
        &["switchboard route -c desk.yaml --explain "],
    ),
    section(
        "API keys for two tenants",
        "docs/authentication.md",
        "Multi-tenancy: task ownership and tenants",
        &[
            "switchboard key create --agent echo --tenant acme ",
            "switchboard key create --agent echo --tenant globex ",
            "switchboard send ",
            "X-API-Key: ",
        ],
    ),
    section(
        "TLS with a certificate of one's own",
        "docs/tls.md",
        "Certificate files",
        &[
            "openssl req ",
            "switchboard check own.yaml",
            "switchboard serve -c own.yaml",
            "switchboard send -a https://",
        ],
    ),
    section(
        "webhooks to a local receiver",
        "docs/webhooks.md",
        "Webhooks: signature, retries and dead letters",
        &[
            "python3 receiver.py",
            "switchboard serve ",
            "taskPushNotificationConfig",
            "cat received.txt",
        ],
    ),
    section(
        "a systemd unit",
        "docs/deployment.md",
        "systemd",
        &[
            "ExecStart=/usr/local/bin/switchboard serve -c ",
            "ExecReload=",
            "StateDirectory=",
            "Restart=on-failure",
            "WantedBy=multi-user.target",
        ],
    ),
    section(
        "backup, loss of the directory, restore",
        "docs/backup.md",
        "Backup and restore",
        &["switchboard up --data data", "switchboard backup backup-1 "],
    ),
    section(
        "backup, loss of the directory, restore",
        "docs/backup.md",
        "Restore a backup",
        &[
            "rm -r data",
            "switchboard restore backup-1 ",
            "switchboard store check ",
            "switchboard up --data data",
            "/tasks?",
        ],
    ),
    section(
        "hot reload with a broken file",
        "docs/hot-reload.md",
        "Invalid configuration",
        &[
            "pkill -HUP -x switchboard",
            "switchboard check switchboard.yaml",
            "switchboard send ",
            "mv good.yaml switchboard.yaml",
        ],
    ),
    section(
        "why a task failed, without its id",
        "docs/observability.md",
        "Why did my task fail?",
        &["switchboard tasks --failed", "switchboard trace "],
    ),
    section(
        "a call from Python",
        "docs/sdks.md",
        "Python",
        &["pip install 'a2a-sdk", "python3 ask.py"],
    ),
    section(
        "a call from JavaScript",
        "docs/sdks.md",
        "JavaScript",
        &["npm install @a2a-js/sdk", "node ask.mjs"],
    ),
    section(
        "upgrade of a data directory",
        "docs/backup.md",
        "Upgrades",
        &["switchboard backup before-upgrade "],
    ),
];

#[test]
fn every_job_has_its_commands_in_its_section() {
    for Section {
        job,
        page,
        heading,
        commands,
    } in SECTIONS
    {
        let read = Page::read(&root().join(page));
        let section = read.section(heading);
        // The unit file of systemd is run by a test of its own.
        let runs = |block: &&&Block| block.is("sh") || block.is("ini");
        let runs: String = section
            .iter()
            .filter(runs)
            .map(|b| b.text.as_str())
            .collect();
        for command in *commands {
            assert!(
                runs.contains(command),
                "{job}: {page} does not run {command:?} under {heading:?}"
            );
        }
    }
}
