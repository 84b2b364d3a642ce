//! docs/requirements.md is true: the tests it names exist.
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

#[test]
fn every_test_that_is_named_exists() {
    let mut found = Vec::new();
    for row in rows() {
        let shown_by = &row.shown_by;
        if ["later: ", "not a test: ", "missing: "]
            .iter()
            .any(|how| shown_by.starts_with(how))
        {
            continue;
        }
        let mut file = String::new();
        let mut tests = 0;
        for name in shown_by.split('`').skip(1).step_by(2) {
            if name.ends_with(".rs") {
                let path = root().join("crates").join(name);
                file = std::fs::read_to_string(path).unwrap_or_default();
                if file.is_empty() {
                    found.push(format!("{}: no file {name}", row.numbers[0]));
                }
            } else {
                tests += 1;
                if !file.contains(&format!("fn {name}(")) {
                    found.push(format!("{}: no test {name}", row.numbers[0]));
                }
            }
        }
        if tests == 0 {
            found.push(format!("{}: names no test", row.numbers[0]));
        }
    }
    none("docs/requirements.md", &found);
}
