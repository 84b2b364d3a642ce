//! What a file looks like.

use crate::{none, only, sources};

/// Lines of code in one file, tests apart.
const FEW: usize = 400;
/// Lines in any file whatever.
const MANY: usize = 600;

/// Files longer than [`FEW`], with the reason.
const LONG: [(&str, &str); 2] = [
    ("crates/proto/src/v0_3.rs", "generated"),
    ("crates/proto/src/v1_0.rs", "generated"),
];

/// Words that say nothing.
const EMPTY_WORDS: [&str; 7] = [
    "manager", "helper", "util", "utils", "common", "impl", "compat",
];

#[test]
fn files_are_short() {
    let mut long = Vec::new();
    for source in sources() {
        let lines = if source.is_test() {
            source.text.lines().count().saturating_sub(MANY - FEW)
        } else {
            source.code().count()
        };
        if lines > FEW {
            long.push(source.path);
        }
    }
    only("files of more than 400 lines of code", &long, &LONG);
}

#[test]
fn modules_begin_with_what_they_are() {
    let bare = sources()
        .into_iter()
        .filter(|source| !source.text.starts_with("//! "));
    let bare: Vec<String> = bare.map(|source| source.path).collect();
    none("modules that do not begin with //!", &bare);
}

#[test]
fn names_say_something() {
    let mut found = Vec::new();
    for source in sources() {
        let file = source.path.rsplit('/').next().unwrap_or_default();
        let module = file.trim_end_matches(".rs");
        if EMPTY_WORDS.contains(&module) {
            found.push(source.path.clone());
        }
        for (at, line) in source.statements() {
            for kind in ["struct ", "enum ", "trait ", "mod ", "type "] {
                let Some((before, name)) = line.split_once(kind) else {
                    continue;
                };
                let declared = before.trim().is_empty() || before.trim().starts_with("pub");
                if declared && words(name).any(|word| EMPTY_WORDS.contains(&&*word)) {
                    found.push(format!("{}:{at}", source.path));
                }
            }
        }
    }
    none("names with a word that says nothing", &found);
}

/// The words of the identifier a text begins with, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let mut spaced = String::new();
    for c in text[..end.unwrap_or(text.len())].chars() {
        if c.is_uppercase() || c == '_' {
            spaced.push(' ');
        }
        spaced.extend(c.to_lowercase().filter(|c| *c != '_'));
    }
    let words: Vec<String> = spaced.split(' ').map(str::to_owned).collect();
    words.into_iter()
}

#[test]
fn nothing_is_left_for_later() {
    let marks = [["TO", "DO"].concat(), ["FIX", "ME"].concat()];
    let mut found = Vec::new();
    for source in sources() {
        for (at, line) in (1..).zip(source.text.lines()) {
            if marks.iter().any(|mark| line.contains(mark.as_str())) {
                found.push(format!("{}:{at}", source.path));
            }
        }
    }
    none("marks of unfinished work", &found);
}

#[test]
fn macros_are_for_tests() {
    let mark = ["macro", "_rules!"].concat();
    let of_ours = sources().into_iter().filter(|source| !source.is_test());
    let found = of_ours.filter(|source| source.text.contains(&mark));
    let found: Vec<String> = found.map(|source| source.path).collect();
    none("macros outside tests", &found);
}

/// A feature is a whole module, so that what must be built apart can be seen from the tree.
#[test]
fn features_stand_on_modules() {
    let mut found = Vec::new();
    for source in sources().into_iter().filter(|source| !source.is_test()) {
        let lines: Vec<(usize, &str)> = source.code().collect();
        for pair in lines.windows(2) {
            let [(at, line), (_, next)] = pair else {
                continue;
            };
            let feature = line.contains("cfg") && line.contains("feature =");
            let next = next
                .trim()
                .trim_start_matches("pub ")
                .trim_start_matches("pub(crate) ");
            let whole = next.starts_with("mod ") || next.starts_with("use ");
            if line.trim().starts_with("#[") && feature && !whole {
                found.push(format!("{}:{at}", source.path));
            }
        }
    }
    none("features that are no whole module", &found);
}
