//! The rules of the house, each with its check: a rule without one decays. What each is for stands in
//! CONTRIBUTING.md.
//!
//! An exception is a row in a table here, with its reason; a row that is no longer needed fails too.

#![expect(
    clippy::expect_used,
    reason = "a check that cannot be made is a failure"
)]

mod crates;
mod design;
mod files;
mod modules;
mod requirements;

use std::path::{Path, PathBuf};

/// A source file of ours.
struct Source {
    /// From the top of the repository, with `/`.
    path: String,
    text: String,
}

/// The top of the repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../..").canonicalize().expect("the repository")
}

/// Every Rust file of the workspace, in order.
fn sources() -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let short = path.strip_prefix(&root).expect("below the top");
                found.push(Source {
                    path: short.to_string_lossy().replace('\\', "/"),
                    text: std::fs::read_to_string(&path).expect("a file"),
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

impl Source {
    /// A file of tests: not part of the product.
    fn is_test(&self) -> bool {
        [
            "/tests/",
            "/tests.rs",
            "/examples/",
            "/benches/",
            "/testing/",
            "/testkit/",
        ]
        .iter()
        .any(|place| self.path.contains(place))
    }

    /// The lines before the tests at its end, with their numbers.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let marks = self.text.match_indices("#[cfg(test)]\nmod ");
        // `mod tests;` only names a file: code follows it.
        let is_inline = |at: usize| {
            self.text[at..]
                .lines()
                .nth(1)
                .is_some_and(|l| l.ends_with('{'))
        };
        let end = marks.map(|(at, _)| at).find(|at| is_inline(*at));
        let code = &self.text[..end.unwrap_or(self.text.len())];
        (1..).zip(code.lines())
    }

    /// The code without comments.
    fn statements(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code()
            .map(|(at, line)| (at, line.split("//").next().unwrap_or_default()))
    }
}

/// Fails with everything that was found, if anything was.
fn none(rule: &str, found: &[String]) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}

/// Compares what was found with the exceptions, both ways.
fn only(rule: &str, found: &[String], exceptions: &[(&str, &str)]) {
    let excepted = |path: &str| exceptions.iter().any(|(file, _)| *file == path);
    let new: Vec<String> = found
        .iter()
        .filter(|path| !excepted(path))
        .cloned()
        .collect();
    none(rule, &new);
    let idle = exceptions
        .iter()
        .filter(|(file, _)| !found.iter().any(|path| path == file));
    let idle: Vec<String> = idle.map(|(file, _)| (*file).to_owned()).collect();
    none("exceptions that are no longer needed", &idle);
}
