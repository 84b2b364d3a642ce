//! The documents are true: every command in README.md and docs/ runs as written, from the top of a page to its
//! end, against a server that the page itself starts; every configuration in them is right; and what they say is
//! answered is answered.
//!
//! | block | what is done with it |
//! |---|---|
//! | ` ```sh ` | run, in one shell for the whole page; `http://127.0.0.1:7420` is a port of the test's own |
//! | ` ```text output ` | each line must occur in what the block before wrote; `…` stands for anything |
//! | ` ```yaml NAME ` | written to that file, and checked if it is a configuration |
//! | ` ```yaml ` | an agent or a piece of one: see [`pages`] |
//!
//! `cargo run --release -p switchboard-gateway --` is the binary under test; `up` and `serve` are started in the
//! background, in place of what ran before; `pkill` ends that process and no other; `scripts/test` must exist.

mod errors;
mod pages;
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
    session::run(&page);
}

#[test]
fn readme() {
    run("README.md");
}

#[test]
fn every_page_is_tested_here() {
    let source = include_str!("main.rs");
    for path in pages::all(&root()) {
        let page = Page::read(&path);
        let name = path.strip_prefix(root().join("docs"));
        let name = name.map_or_else(|_| path.clone(), Path::to_path_buf);
        let named = source.contains(&format!("\"docs/{}\"", name.display()));
        if page.has_commands() && !path.ends_with("README.md") {
            assert!(named, "{} has commands that no test runs", path.display());
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    for path in pages::all(&root()) {
        let here = path.parent().expect("a page is in a directory");
        for link in Page::read(&path).links() {
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if target.is_empty() { path.clone() } else { here.join(target) };
            assert!(target.exists(), "{} links to {link}", path.display());
            if !anchor.is_empty() {
                let there = Page::read(&target);
                assert!(there.anchors().any(|a| a == anchor), "{}: no #{anchor}", path.display());
            }
        }
    }
}
