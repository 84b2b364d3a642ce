//! docs/requirements.md and docs/cli-compliance.md are true: the tests they name exist.
//!
//! A row is `| S0-003 | what is asked for | where it stands |`; numbers are listed, or `S0-003 to S0-005`. The last cell names tests as
//! `` `path/of/file.rs`: `name`, `name` ``, or says `later: why` or `not a test: why`.

use std::collections::BTreeSet;

use crate::{none, root};

struct Row {
    numbers: Vec<String>,
    shown_by: String,
}

fn rows() -> Vec<Row> {
    let page = std::fs::read_to_string(root().join("docs/requirements.md")).expect("the map");
    let numbered = |line: &&str| line.starts_with("| S") && line.get(4..5) == Some("-");
    let rows = page.lines().filter(numbered);
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [numbers, _, shown_by] = cells[..] else {
            panic!("a row has three cells: {line}");
        };
        Row {
            numbers: numbers.split(", ").flat_map(range).collect(),
            shown_by: shown_by.trim_end_matches('|').trim().to_owned(),
        }
    })
    .collect()
}

/// `S0-003`, or `S0-003 to S0-005`.
fn range(text: &str) -> Vec<String> {
    let Some((first, last)) = text.split_once(" to ") else {
        return vec![text.to_owned()];
    };
    let parts = |number: &str| {
        let (document, number) = number.split_once('-').expect("a number");
        (document.to_owned(), number.parse::<u32>().expect("digits"))
    };
    let ((document, from), (_, to)) = (parts(first), parts(last));
    (from..=to).map(|n| format!("{document}-{n:03}")).collect()
}

#[test]
fn every_number_has_one_row() {
    let mut seen = BTreeSet::new();
    for number in rows().iter().flat_map(|row| &row.numbers) {
        assert!(seen.insert(number.clone()), "{number} has two rows");
    }
    let counts = [
        ("S0", 60),
        ("S1", 196),
        ("S2", 123),
        ("S3", 126),
        ("S4", 53),
    ];
    let mut missing = Vec::new();
    for (document, count) in counts {
        let numbers = (1..=count).map(|n| format!("{document}-{n:03}"));
        missing.extend(numbers.filter(|number| !seen.contains(number)));
    }
    none("requirements without a row", &missing);
}

/// Where a row says something else than the names of tests.
const WORDS: [&str; 4] = ["later: ", "not a test: ", "missing: ", "partial: "];

#[test]
fn every_test_that_is_named_exists() {
    let mut found = Vec::new();
    for row in rows() {
        look_for(&row.numbers[0], &row.shown_by, &mut found);
    }
    none("docs/requirements.md", &found);
}

#[test]
fn what_is_said_of_the_command_line_is_tested() {
    let page = std::fs::read_to_string(root().join("docs/cli-compliance.md")).expect("the table");
    let mut found = Vec::new();
    let mut rows = 0;
    for line in page.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [identifier, _, shown_by] = cells[..] else {
            panic!("a row has three cells: {line}");
        };
        rows += 1;
        look_for(identifier, shown_by, &mut found);
    }
    assert!(rows > 30, "{rows} rows");
    none("docs/cli-compliance.md", &found);
}

/// Looks for the tests that a row names.
fn look_for(row: &str, shown_by: &str, found: &mut Vec<String>) {
    if WORDS.iter().any(|how| shown_by.starts_with(how)) {
        return;
    }
    let mut file = String::new();
    let mut tests = 0;
    for name in shown_by.split('`').skip(1).step_by(2) {
        if name.ends_with(".rs") {
            let path = root().join("crates").join(name);
            file = std::fs::read_to_string(path).unwrap_or_default();
            if file.is_empty() {
                found.push(format!("{row}: no file {name}"));
            }
        } else {
            tests += 1;
            if !file.contains(&format!("fn {name}(")) {
                found.push(format!("{row}: no test {name}"));
            }
        }
    }
    if tests == 0 {
        found.push(format!("{row}: names no test"));
    }
}
