//! What we build from is free to use, and nothing of it is banned: the rules of deny.toml, without cargo-deny.

use crate::crates::packages;
use crate::{none, root};

fn rules() -> String {
    std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml")
}

/// The texts in quotes between two marks.
fn quoted(text: &str, from: &str, to: &str) -> Vec<String> {
    let (_, rest) = text.split_once(from).expect("the list begins");
    let (list, _) = rest.split_once(to).expect("the list ends");
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn licences_are_allowed() {
    let allowed = quoted(&rules(), "\nallow = [", "]");
    let mut found = Vec::new();
    for package in packages().filter(|package| !package["source"].is_null()) {
        let licence = package["license"].as_str().unwrap_or("none");
        if !Expression::read(licence).holds(&allowed) {
            found.push(format!("{}: {licence}", package["name"]));
        }
    }
    none("licences that deny.toml does not allow", &found);
}

#[test]
fn nothing_banned_is_used() {
    let banned = quoted(&rules(), "\ndeny = [", "\n]");
    let found = packages().filter_map(|package| package["name"].as_str());
    let found = found.filter(|name| banned.iter().any(|other| other == name));
    let found: Vec<String> = found.map(str::to_owned).collect();
    none("packages that deny.toml bans", &found);
}

/// A licence expression (SPDX), as far as packages use it; `/` is an old way to write OR.
enum Expression {
    One(String),
    Any(Vec<Self>),
    All(Vec<Self>),
}

impl Expression {
    fn read(text: &str) -> Self {
        let spaced = text.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let spaced = spaced.replace(" WITH ", "_WITH_");
        let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
        Self::any(&mut words)
    }

    fn any(words: &mut Vec<&str>) -> Self {
        let mut terms = vec![Self::all(words)];
        while words.last() == Some(&"OR") {
            words.pop();
            terms.push(Self::all(words));
        }
        Self::Any(terms)
    }

    fn all(words: &mut Vec<&str>) -> Self {
        let mut terms = vec![Self::one(words)];
        while words.last() == Some(&"AND") {
            words.pop();
            terms.push(Self::one(words));
        }
        Self::All(terms)
    }

    fn one(words: &mut Vec<&str>) -> Self {
        match words.pop() {
            Some("(") => {
                let inner = Self::any(words);
                assert_eq!(words.pop(), Some(")"));
                inner
            }
            word => Self::One(word.unwrap_or_default().replace("_WITH_", " WITH ")),
        }
    }

    fn holds(&self, allowed: &[String]) -> bool {
        match self {
            Self::One(name) => allowed.contains(name),
            Self::Any(terms) => terms.iter().any(|term| term.holds(allowed)),
            Self::All(terms) => terms.iter().all(|term| term.holds(allowed)),
        }
    }
}

#[test]
fn expressions_are_read_with_their_grouping() {
    let allowed = ["MIT".to_owned(), "Apache-2.0 WITH LLVM-exception".to_owned()];
    for (text, holds) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT/GPL-3.0", true),
        ("MIT AND GPL-3.0", false),
        ("MIT AND (GPL-3.0 OR MIT)", true),
        ("(MIT OR GPL-3.0) AND GPL-3.0", false),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
    ] {
        assert_eq!(Expression::read(text).holds(&allowed), holds, "{text}");
    }
}
