//! What the design promises and the compiler cannot check.

use crate::{none, root, sources};

/// Versions die at the edge: a match elsewhere is a difference that should be a field of the model.
#[test]
fn versions_are_matched_at_the_edge_only() {
    let mut found = Vec::new();
    for source in sources().into_iter().filter(|source| !source.is_test()) {
        let edge = source.path.starts_with("crates/types/src/wire/")
            || source.path == "crates/types/src/version.rs";
        let compares = |line: &str| {
            let named = ["ProtocolVersion::V", "Dialect::V"]
                .iter()
                .find_map(|n| line.find(n));
            named.is_some_and(|at| {
                line[at..].contains("=>") || line.contains("==") || line.contains("matches!")
            })
        };
        if !edge && source.statements().any(|(_, line)| compares(line)) {
            found.push(source.path);
        }
    }
    none("files that tell versions apart", &found);
}

/// Lenient wire, strict model: what is read from a socket goes through the wire, never straight into the model.
#[test]
fn the_model_knows_no_serde_derives() {
    let model = sources()
        .into_iter()
        .filter(|s| s.path.starts_with("crates/types/src/model/"));
    let mut found = Vec::new();
    for source in model {
        for (at, line) in source.statements() {
            if line.contains("derive(")
                && (line.contains("Serialize") || line.contains("Deserialize"))
            {
                found.push(format!("{}:{at}", source.path));
            }
        }
    }
    none("model types that derive serde", &found);
}

/// What a task is has no clock, no socket and no waiting in it.
#[test]
fn the_heart_is_pure() {
    let heart = sources()
        .into_iter()
        .filter(|source| source.path.starts_with("crates/server/src/task/") && !source.is_test());
    let impure = [
        "tokio", "async fn", ".await", "clock::", "std::fs", "std::net",
    ];
    let mut found = Vec::new();
    for source in heart {
        for (at, line) in source.statements() {
            if impure.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{at}", source.path));
            }
        }
    }
    none("impure lines in the module of tasks", &found);
}

/// Who nobody knows is decided at the door, by one agent's access, and nowhere else.
#[test]
fn nobody_is_let_in_past_the_door() {
    let mut found = Vec::new();
    let modules = ["crates/server/src/auth/", "crates/server/src/principal/"];
    let others = |path: &str| !modules.iter().any(|module| path.starts_with(module));
    for source in sources().into_iter().filter(|source| others(&source.path)) {
        for (at, line) in source.statements() {
            if line.contains("Principal::anonymous") {
                found.push(format!("{}:{at}", source.path));
            }
        }
    }
    // This very check has to say it.
    found.retain(|place| !place.starts_with("crates/switchboard/tests/house/"));
    none("callers that passed no door", &found);
}

/// A lock that poisons needs a word about panics wherever it is taken.
#[test]
fn locks_are_those_of_parking_lot() {
    let poisons = |line: &str| {
        line.contains("std::sync::") && ["Mutex", "RwLock"].iter().any(|lock| line.contains(lock))
    };
    let mut found = Vec::new();
    for source in sources().into_iter().filter(|source| !source.is_test()) {
        let lines = source.statements().filter(|(_, line)| poisons(line));
        found.extend(lines.map(|(at, _)| format!("{}:{at}", source.path)));
    }
    none("locks of the standard library", &found);
}

/// The drawing at the top of the server is the tree.
#[test]
fn the_hops_that_are_drawn_exist() {
    let top = std::fs::read_to_string(root().join("crates/server/src/lib.rs")).expect("a file");
    let drawn: Vec<&str> = top
        .lines()
        .filter_map(|line| line.strip_prefix("//! | [`")?.split('`').next())
        .collect();
    assert!(drawn.len() >= 8, "the drawing is gone: {drawn:?}");
    let architecture = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a file");
    for hop in drawn {
        assert!(top.contains(&format!("pub mod {hop};")), "no module {hop}");
        let named = architecture.contains(&format!("`server/{hop}"));
        assert!(named, "ARCHITECTURE.md does not name server/{hop}");
    }
}

/// Whatever ARCHITECTURE.md and CONTRIBUTING.md name as a file exists.
#[test]
fn files_that_texts_name_exist() {
    let mut found = Vec::new();
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root().join(page)).expect("a file");
        for name in text.split('`').skip(1).step_by(2) {
            let ours = [
                "proto/", "types/", "client/", "server/", "agents/", "gateway/",
            ]
            .iter()
            .any(|c| name.starts_with(c));
            let plain = name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "/_.".contains(c));
            if !ours || !plain {
                continue;
            }
            let (package, rest) = name.split_once('/').expect("a slash");
            let base = root().join("crates").join(package);
            let exists = [
                format!("src/{rest}"),
                format!("src/{rest}.rs"),
                rest.to_owned(),
            ]
            .iter()
            .any(|way| base.join(way).exists());
            if !exists {
                found.push(format!("{page}: {name}"));
            }
        }
    }
    none("files that do not exist", &found);
}

/// A comment that sends the reader to a document sends them to one that is there.
#[test]
fn documents_that_comments_name_exist() {
    let mut found = Vec::new();
    for source in sources().into_iter().filter(|source| !source.is_test()) {
        for (at, line) in source.code() {
            let Some((_, comment)) = line.split_once("//") else {
                continue;
            };
            let words = comment.split(|c: char| !c.is_ascii_alphanumeric() && !"/._-".contains(c));
            for name in words.filter(|word| word.ends_with(".md")) {
                if !root().join(name).exists() {
                    found.push(format!("{}:{at}: {name}", source.path));
                }
            }
        }
    }
    none("documents that do not exist", &found);
}
