//! The documents are true: every command in README.md and docs/ runs as written, from the top of a page to its
//! end, against a server that the page itself starts; every configuration in them is right; and what they say is
//! answered is answered.
//!
//! | block | what is done with it |
//! |---|---|
//! | ` ```sh ` | run, in one shell for the whole page; `http://127.0.0.1:7420` is a port of the test's own |
//! | ` ```text output ` | each line must occur in what the block before wrote; `…` stands for anything |
//! | ` ```yaml NAME.yaml ` | written to that file, and checked as a configuration |
//! | ` ```yaml script `, `agent`, `settings` | steps, keys of an agent, keys at the top: checked within a configuration |
//! | ` ```yaml agent-file ` | an agent in a file of its own |
//! | ` ```python NAME.py `, any tag with a dot | written to that file |
//! | ` ```sh sdk ` | run with the official SDKs, by a test that needs `conformance/peers/setup` |
//!
//! Commands run with the arguments on the page, from an empty home directory. `cargo run --release -p switchboard --` is
//! the binary under test, and `cargo run -p switchboard-server --example counter --` is that example, as the workspace has
//! built it. It, `up`, `serve` and `wrap` are started in the background, in place of the server before, as if in another
//! terminal, and so is `python3`; `pkill` reaches that process and no other; `scripts/test` must exist.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why")]

mod deployment;
mod errors;
mod jobs;
mod pages;
mod search;
mod session;

use std::path::{Path, PathBuf};

use pages::Page;

/// The top of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(page: &str) {
    let page = Page::read(&root().join(page));
    assert!(page.has_commands(), "{page:?} has no commands");
    session::run(&page, None);
}

#[test]
fn readme() {
    run("README.md");
}

#[test]
fn contributing() {
    run("CONTRIBUTING.md");
}

#[test]
fn getting_started() {
    run("docs/getting-started.md");
}

#[test]
fn command_line() {
    run("docs/cli.md");
}

#[test]
fn scripts() {
    run("docs/scripts.md");
}

#[test]
fn routing() {
    run("docs/routing.md");
}

#[test]
fn llm_backends() {
    run("docs/llm.md");
}

#[test]
fn command_agents() {
    run("docs/exec.md");
}

#[test]
fn configuration() {
    run("docs/configuration.md");
}

#[test]
fn hot_reload() {
    run("docs/hot-reload.md");
}

#[test]
fn tls() {
    run("docs/tls.md");
}

#[test]
fn streaming() {
    run("docs/streaming.md");
}

#[test]
fn tasks() {
    run("docs/tasks.md");
}

#[test]
fn human_in_the_loop() {
    run("docs/human-in-the-loop.md");
}

#[test]
fn idempotency_keys() {
    run("docs/idempotency.md");
}

#[test]
fn grpc() {
    run("docs/grpc.md");
}

#[test]
fn webhooks() {
    run("docs/webhooks.md");
}

#[test]
fn observability() {
    run("docs/observability.md");
}

#[test]
fn logging() {
    run("docs/logging.md");
}

#[test]
fn admin_api() {
    run("docs/admin-api.md");
}

#[test]
fn signatures() {
    run("docs/signatures.md");
}

#[test]
fn storage() {
    run("docs/storage.md");
}

#[test]
fn backup() {
    run("docs/backup.md");
}

#[test]
fn retries() {
    run("docs/retries.md");
}

#[test]
fn errors_page() {
    run("docs/errors.md");
}

#[test]
fn versions() {
    run("docs/versions.md");
}

#[test]
fn authentication() {
    run("docs/authentication.md");
}

#[test]
fn rate_limits() {
    run("docs/rate-limits.md");
}

#[test]
fn cors() {
    run("docs/cors.md");
}

#[test]
fn authorization() {
    run("docs/authorization.md");
}

#[test]
fn conformance() {
    run("docs/conformance.md");
}

#[test]
fn deployment() {
    run("docs/deployment.md");
}

#[test]
fn kubernetes() {
    run("docs/kubernetes.md");
}

#[test]
fn reverse_proxy() {
    run("docs/reverse-proxy.md");
}

#[test]
fn sdks() {
    run("docs/sdks.md");
}

/// `scripts/test peers` runs it.
#[test]
#[ignore = "needs the SDKs: run conformance/peers/setup"]
fn sdks_in_python_and_javascript() {
    let page = Page::read(&root().join("docs/sdks.md"));
    session::run(&page, Some(&session::peers()));
}

#[test]
fn rust_agents() {
    run("docs/rust-agents.md");
}

/// The whole example is on the page, as it is built and tested.
#[test]
fn rust_agents_shows_the_example() {
    let page = Page::read(&root().join("docs/rust-agents.md"));
    let example = root().join("crates/server/examples/counter.rs");
    let example = std::fs::read_to_string(example).expect("the example");
    let blocks = page.section("The whole example");
    assert_eq!(blocks.len(), 1);
    assert_eq!(blocks[0].text, example);
}

#[test]
fn remote_agents() {
    run("docs/remote-agents.md");
}

/// `scripts/test peers` runs it.
#[test]
#[ignore = "needs the SDKs: run conformance/peers/setup"]
fn remote_agent_of_the_python_sdk() {
    let page = Page::read(&root().join("docs/remote-agents.md"));
    session::run(&page, Some(&session::peers()));
}

#[test]
fn troubleshooting() {
    run("docs/troubleshooting.md");
}

#[test]
fn support() {
    run("docs/support.md");
}

#[test]
fn sizing() {
    run("docs/sizing.md");
}

#[test]
fn every_page_is_tested_here() {
    let source = include_str!("main.rs");
    for path in pages::all(&root()) {
        let name = path.strip_prefix(root()).expect("below the top").display();
        if Page::read(&path).has_commands() {
            let run = source.contains(&format!("run(\"{name}\")"));
            assert!(run, "{name} has commands that no test runs");
        }
    }
}

#[test]
fn the_guide_says_what_a_caller_of_json_rpc_must_know() {
    let page = Page::read(&root().join("docs/getting-started.md"));
    let text = page.text().replace('\n', " ");
    for takeaway in [
        "it is JSON-RPC, not REST",
        "needs `jsonrpc`, `id`, `method` and `params`",
        "goes into `params.message.parts`",
        "Each part has a `kind` and its content",
        "An answer has `result` or `error`",
    ] {
        assert!(text.contains(takeaway), "{takeaway}");
    }
}

#[test]
fn every_link_leads_somewhere() {
    for path in pages::all(&root()) {
        let here = path.parent().expect("a page is in a directory");
        for link in Page::read(&path).links() {
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if target.is_empty() {
                path.clone()
            } else {
                here.join(target)
            };
            assert!(target.exists(), "{} links to {link}", path.display());
            if !anchor.is_empty() {
                let there = Page::read(&target);
                assert!(
                    there.anchors().any(|a| a == anchor),
                    "{}: no #{anchor}",
                    path.display()
                );
            }
        }
    }
}
