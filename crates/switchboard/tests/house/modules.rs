//! Which module of `server` may use which.

use std::collections::BTreeSet;

use crate::{Source, none, root, sources};

/// The top-level modules of `server`: each may use those before it, and no others. ARCHITECTURE.md draws them.
const ORDER: [&str; 30] = [
    "clock",
    "files",
    "shutdown",
    "sign",
    "backend",
    "metadata",
    "budget",
    "hops",
    "net",
    "task",
    "principal",
    "trace",
    "metrics",
    "access_log",
    "store",
    "log",
    "agent",
    "card",
    "call",
    "limit",
    "auth",
    "directory",
    "egress",
    "engine",
    "authorize",
    "table",
    "push",
    "http",
    "binding",
    "serve",
];

const SERVER: &str = "crates/server/src/";

#[test]
fn modules_of_server_use_earlier_modules_only() {
    let mut found = Vec::new();
    for source in sources().into_iter().filter(|source| !source.is_test()) {
        let Some(file) = source.path.strip_prefix(SERVER).filter(|f| *f != "lib.rs") else {
            continue;
        };
        let own: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
        let Some(place) = ORDER.iter().position(|module| *module == own[0]) else {
            found.push(format!("{file}: add {} to the order of modules", own[0]));
            continue;
        };
        let depth = own.len() - usize::from(own.ends_with(&["mod"]));
        for used in used_modules(&source, depth) {
            let at = ORDER.iter().position(|module| *module == used);
            if at.is_some_and(|at| at > place) {
                found.push(format!("{file} uses {used}"));
            }
        }
    }
    none("uses of modules that come later in the order", &found);
}

#[test]
fn the_order_of_modules_has_no_others() {
    let gone = ORDER.iter().filter(|module| {
        let path = root().join(SERVER).join(module);
        !path.is_dir() && !path.with_extension("rs").is_file()
    });
    let gone: Vec<String> = gone.map(|module| (*module).to_owned()).collect();
    none("modules that do not exist", &gone);
}

/// The top-level modules that a file names: after `crate::`, or after as many `super::` as lead to the top from a module
/// that is so many levels deep.
fn used_modules(source: &Source, depth: usize) -> BTreeSet<String> {
    let code: Vec<&str> = source.statements().map(|(_, line)| line).collect();
    let code = code.join("\n");
    let mut used = BTreeSet::new();
    for top in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in code.match_indices(&top) {
            let is_whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
            if is_whole {
                used.extend(first_names(&code[at + top.len()..]));
            }
        }
    }
    used
}

/// The first name of a path; of each path, if a group in braces begins here.
fn first_names(text: &str) -> Vec<String> {
    let first = |path: &str| {
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_');
        path[..end.unwrap_or(path.len())].to_owned()
    };
    let Some(group) = text.strip_prefix('{') else {
        return vec![first(text)];
    };
    let mut names = Vec::new();
    let (mut level, mut begins) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => level += 1,
            ',' | '}' if level == 0 => {
                names.push(first(group[begins..at].trim_start()));
                begins = at + 1;
                if c == '}' {
                    break;
                }
            }
            '}' => level -= 1,
            _ => {}
        }
    }
    names
}

#[test]
fn names_in_groups_are_found() {
    let text = "{clock, store::{self, Error},\n    task::Head}; use crate::log;";
    assert_eq!(first_names(text), ["clock", "store", "task"]);
    assert_eq!(first_names("log::Log;"), ["log"]);
}
