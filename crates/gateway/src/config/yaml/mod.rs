//! YAML as a tree that remembers where everything was written.
//!
//! Text becomes a [`Node`] ([`mod@parse`]); values from the environment are filled into its scalars, where
//! they stay text and cannot become structure ([`mod@fill`], `overrides`); then it is read into types ([`de`]).
//! Scalars keep their spelling until a type asks, so `version: 1.10` is the text `1.10`.

mod de;
mod fault;
mod fill;
mod parse;

pub(crate) use de::read;
pub(crate) use fill::fill;
pub(crate) use parse::parse;

use std::collections::HashSet;

use super::problem::{Place, Problem};

/// A value and where it was written.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Tells this node from all others of its tree.
    pub(crate) id: usize,
    /// Where it begins.
    pub(crate) place: Place,
    /// What it is.
    pub(crate) data: Data,
}

/// What a node is.
#[derive(Debug, Clone)]
pub(crate) enum Data {
    /// One word or text.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order written.
    Map(Vec<Entry>),
}

/// One key of a mapping and its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The key.
    pub(crate) key: String,
    /// Where the key stands.
    pub(crate) place: Place,
    /// The value.
    pub(crate) value: Node,
}

/// A scalar, not yet of any type.
#[derive(Debug, Clone)]
pub(crate) struct Scalar {
    /// The text, escapes resolved.
    pub(crate) text: String,
    /// How it came.
    pub(crate) origin: Origin,
    /// The text is a variable's, all of it: nothing of it stands in the file.
    pub(crate) given: bool,
}

/// How a scalar came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// Written without quotes: may mean null, a number, a boolean.
    Plain,
    /// Written in quotes or as a block: text.
    Quoted,
    /// Written without quotes and filled from the environment: text, or what the reader's type asks for.
    Filled,
    /// The whole value comes from an environment variable; a list is split at commas.
    Variable,
    /// Could not be filled; that has been reported.
    Broken,
}

impl Scalar {
    /// Whether this stands for "not given".
    pub(crate) fn is_null(&self) -> bool {
        match self.origin {
            Origin::Plain => matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL"),
            Origin::Filled | Origin::Variable => self.text.is_empty(),
            Origin::Quoted | Origin::Broken => false,
        }
    }
}

impl Node {
    /// An empty mapping.
    pub(crate) fn empty(place: Place) -> Self {
        Self {
            id: 0,
            place,
            data: Data::Map(Vec::new()),
        }
    }

    /// The value under `key`, if this is a mapping that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.data {
            Data::Map(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.value),
            Data::Scalar(_) | Data::List(_) => None,
        }
    }

    /// Where the key or item at `path` was written, or the nearest place above it.
    pub(crate) fn place_of(&self, path: &[Step<'_>]) -> &Place {
        let mut at = self;
        let mut place = &self.place;
        for step in path {
            let next = match (&at.data, step) {
                (Data::Map(entries), Step::Key(key)) => entries
                    .iter()
                    .find(|e| e.key == *key)
                    .map(|e| (&e.place, &e.value)),
                (Data::List(items), Step::Item(i)) => items.get(*i).map(|n| (&n.place, n)),
                (Data::Scalar(_) | Data::List(_) | Data::Map(_), _) => None,
            };
            let Some((here, node)) = next else { break };
            (place, at) = (here, node);
        }
        place
    }

    /// Where the node with that id stands, or its key.
    fn place_by_id(&self, id: usize, key: bool) -> Option<&Place> {
        if self.id == id {
            return Some(&self.place);
        }
        match &self.data {
            Data::Scalar(_) => None,
            Data::List(items) => items.iter().find_map(|item| item.place_by_id(id, key)),
            Data::Map(entries) => entries.iter().find_map(|entry| {
                if key && entry.value.id == id {
                    return Some(&entry.place);
                }
                entry.value.place_by_id(id, key)
            }),
        }
    }

    /// The path from this node to the one with that id.
    pub(crate) fn path_to(&self, id: usize) -> Option<String> {
        if self.id == id {
            return Some(String::new());
        }
        match &self.data {
            Data::Scalar(_) => None,
            Data::List(items) => items.iter().enumerate().find_map(|(i, item)| {
                let rest = item.path_to(id)?;
                Some(join(&format!("[{i}]"), &rest))
            }),
            Data::Map(entries) => entries.iter().find_map(|entry| {
                let rest = entry.value.path_to(id)?;
                Some(join(&entry.key, &rest))
            }),
        }
    }

    /// Adds the ids of all nodes that contain the one with that id; tells whether there is such a node.
    fn ancestors(&self, id: usize, found: &mut HashSet<usize>) -> bool {
        let below = match &self.data {
            Data::Scalar(_) => false,
            Data::List(items) => items.iter().any(|item| item.ancestors(id, found)),
            Data::Map(entries) => entries.iter().any(|e| e.value.ancestors(id, found)),
        };
        if below {
            found.insert(self.id);
        }
        below || self.id == id
    }

    /// Takes the node with that id out of the tree; tells whether it was there.
    pub(crate) fn prune(&mut self, id: usize) -> bool {
        match &mut self.data {
            Data::Scalar(_) => false,
            Data::List(items) => {
                let before = items.len();
                items.retain(|item| item.id != id);
                items.len() < before || items.iter_mut().any(|item| item.prune(id))
            }
            Data::Map(entries) => {
                let before = entries.len();
                entries.retain(|entry| entry.value.id != id);
                entries.len() < before || entries.iter_mut().any(|entry| entry.value.prune(id))
            }
        }
    }

    /// The greatest id in the tree.
    pub(crate) fn last_id(&self) -> usize {
        let children = match &self.data {
            Data::Scalar(_) => None,
            Data::List(items) => items.iter().map(Self::last_id).max(),
            Data::Map(entries) => entries.iter().map(|e| e.value.last_id()).max(),
        };
        children.unwrap_or(0).max(self.id)
    }
}

/// One step of a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'a> {
    /// Into a mapping.
    Key(&'a str),
    /// Into a list.
    Item(usize),
}

/// A path as it is shown: `agents.echo.skills[0].id`.
pub(crate) fn show(path: &[Step<'_>]) -> String {
    path.iter()
        .rev()
        .fold(String::new(), |rest, step| match step {
            Step::Key(key) => join(key, &rest),
            Step::Item(i) => join(&format!("[{i}]"), &rest),
        })
}

fn join(first: &str, rest: &str) -> String {
    if rest.is_empty() || rest.starts_with('[') {
        format!("{first}{rest}")
    } else {
        format!("{first}.{rest}")
    }
}

/// Reads the tree into `T`. After a problem the part at fault is taken out and reading begins again, so
/// one look shows all problems. `None` if too little is left.
pub(crate) fn read_all<T: serde::de::DeserializeOwned>(
    mut tree: Node,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    /// Nobody reads further.
    const ENOUGH: usize = 50;

    let whole = tree.clone();
    // What has lost a part may well be wrong because of that.
    let mut damaged = HashSet::new();
    for _ in 0..ENOUGH {
        let fault = match read::<T>(&tree) {
            Ok(value) => return Some(value),
            Err(fault) => fault,
        };
        let id = fault.id.unwrap_or(tree.id);
        let consequence = fault.owner.is_none() && damaged.contains(&id);
        if !fault.reported && !consequence {
            problems.push(Problem {
                place: whole
                    .place_by_id(id, fault.owner.is_some())
                    .unwrap_or(&whole.place)
                    .clone(),
                path: whole.path_to(fault.owner.unwrap_or(id)).unwrap_or_default(),
                message: fault.message,
                hint: fault.hint,
            });
        }
        whole.ancestors(id, &mut damaged);
        if !tree.prune(id) {
            return None;
        }
    }
    None
}

/// A YAML text as JSON, as an editor would see it.
#[cfg(test)]
pub(crate) fn to_json(text: &str) -> serde_json::Value {
    let mut problems = Vec::new();
    let tree = parse(text, &"text".into(), &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
    read(&tree.unwrap()).unwrap()
}
