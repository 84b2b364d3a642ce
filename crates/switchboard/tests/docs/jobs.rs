//! What users come to do: each job is a section of a page, complete from an empty home directory, and the tests of this
//! binary run its commands as they are written.

use crate::pages::{Block, Page};
use crate::root;

/// A job, and the page and heading where it is done.
const JOBS: &[(&str, &str, &str)] = &[
    (
        "an OpenAI-compatible endpoint behind an agent",
        "docs/llm.md",
        "Try it without a model",
    ),
    (
        "a Python script with questions and artifacts",
        "docs/exec.md",
        "JSON Lines protocol",
    ),
    (
        "a server of the Python SDK behind an agent",
        "docs/remote-agents.md",
        "An agent of the Python SDK",
    ),
    (
        "a front desk with rules",
        "docs/routing.md",
        "Explain a routing decision",
    ),
    (
        "API keys for two tenants",
        "docs/authentication.md",
        "Multi-tenancy: task ownership and tenants",
    ),
    (
        "TLS with a certificate of one's own",
        "docs/tls.md",
        "Certificate files",
    ),
    (
        "webhooks to a local receiver",
        "docs/webhooks.md",
        "Webhooks: signature, retries and dead letters",
    ),
    ("a systemd unit", "docs/deployment.md", "systemd"),
    (
        "backup, loss of the directory, restore",
        "docs/storage.md",
        "Backup and restore",
    ),
    (
        "hot reload with a broken file",
        "docs/hot-reload.md",
        "Invalid configuration",
    ),
    (
        "why a task failed, without its id",
        "docs/observability.md",
        "Why did my task fail?",
    ),
    ("a call from Python", "docs/sdks.md", "Python"),
    ("a call from JavaScript", "docs/sdks.md", "JavaScript"),
    ("upgrade of a data directory", "docs/storage.md", "Upgrades"),
];

#[test]
fn every_job_has_a_section_with_commands_that_run() {
    for (job, path, heading) in JOBS {
        let page = Page::read(&root().join(path));
        let section = page.section(heading);
        // The unit file of systemd is run by a test of its own.
        let runs = |block: &&Block| block.is("sh") || block.is("ini");
        assert!(
            section.iter().any(runs),
            "{job}: {path} has no commands under {heading:?}"
        );
    }
}
