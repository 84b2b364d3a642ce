//! The environment, as a value: tests bring their own.
//!
//! Besides `${NAME}` in the file, every key can be set by a variable of its own: `SWITCHBOARD_` and the
//! path of the key in capitals, levels joined by two underscores (`SWITCHBOARD_LIMITS__BODY=20MiB`,
//! `SWITCHBOARD_AGENTS__ECHO__REPLY=message`). Variables win over the file; flags win over both.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::problem::{Place, Problem};
use super::raw;
use super::yaml::{Data, Entry, Node, Origin, Scalar};

/// What the names of our variables begin with.
pub const PREFIX: &str = "SWITCHBOARD_";

/// Environment variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Env(BTreeMap<String, String>);

impl Env {
    /// The environment of this process; variables that are not Unicode are left out.
    #[must_use]
    pub fn of_process() -> Self {
        let text = |s: std::ffi::OsString| s.into_string().ok();
        Self(
            std::env::vars_os()
                .filter_map(|(name, value)| Some((text(name)?, text(value)?)))
                .collect(),
        )
    }

    /// An environment made up.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        )
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// Sets keys of the tree from variables.
///
/// A name without `__` counts only if it names a top-level value: Kubernetes, for one, sets
/// `SWITCHBOARD_PORT` beside a service called `switchboard`.
pub(crate) fn override_keys(tree: &mut Node, env: &Env, problems: &mut Vec<Problem>) {
    let mut id = tree.last_id();
    for (name, value) in &env.0 {
        let Some(path) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let path: Vec<&str> = path.split("__").collect();
        let ours = match path.as_slice() {
            [key] => raw::TOP_LEVEL_VALUES.contains(&key.to_lowercase().as_str()),
            many => many.iter().all(|key| !key.is_empty()),
        };
        if ours {
            let place = Place::Variable(Arc::from(name.as_str()));
            if set(tree, &path, value, &place, &mut id).is_none() {
                problems.push(Problem {
                    place,
                    path: String::new(),
                    message: "this key has no keys below it".to_owned(),
                    hint: None,
                });
            }
        }
    }
}

fn set(node: &mut Node, path: &[&str], value: &str, place: &Place, id: &mut usize) -> Option<()> {
    let [step, rest @ ..] = path else {
        node.place = place.clone();
        node.data = Data::Scalar(Scalar {
            text: value.to_owned(),
            origin: Origin::Variable,
            given: true,
        });
        return Some(());
    };
    if matches!(&node.data, Data::Scalar(scalar) if scalar.is_null()) {
        node.data = Data::Map(Vec::new());
    }
    match &mut node.data {
        Data::Map(entries) => {
            let known = entries.iter().position(|e| same(&e.key, step));
            let at = known.unwrap_or_else(|| {
                *id += 1;
                entries.push(Entry {
                    key: step.to_lowercase(),
                    place: place.clone(),
                    value: Node {
                        id: *id,
                        ..Node::empty(place.clone())
                    },
                });
                entries.len() - 1
            });
            let entry = &mut entries[at];
            if rest.is_empty() {
                entry.place = place.clone();
            }
            set(&mut entry.value, rest, value, place, id)
        }
        Data::List(items) => {
            let item = items.get_mut(step.parse::<usize>().ok()?)?;
            set(item, rest, value, place, id)
        }
        Data::Scalar(_) => None,
    }
}

/// Whether a key is meant by a part of a variable's name, which has capitals and underscores only.
fn same(key: &str, part: &str) -> bool {
    let key = key.chars().map(|c| match c {
        '-' | '.' => '_',
        c => c.to_ascii_uppercase(),
    });
    key.eq(part.chars().map(|c| c.to_ascii_uppercase()))
}
