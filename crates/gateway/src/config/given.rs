//! One agent that the command line describes, key by key, as a file would: what follows is the same for both.

use super::problem::Place;
use super::yaml::{Data, Entry, Node, Origin, Scalar};

/// An agent without a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Its name.
    pub name: String,
    /// What is said of it.
    pub keys: Vec<GivenKey>,
}

/// One key of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenKey {
    /// The flag that gives it.
    pub flag: &'static str,
    /// Its path below the agent.
    pub path: Vec<String>,
    /// What it is.
    pub value: GivenValue,
}

/// What a flag gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenValue {
    /// One text; nothing in it stands for anything else.
    Text(String),
    /// Yes.
    True,
    /// Several.
    List(Vec<String>),
    /// What is in this variable of the environment.
    Variable(String),
}

impl Given {
    /// As the tree of a file; variables are not filled in yet.
    pub(super) fn tree(&self) -> Node {
        let mut tree = Node::empty(Place::Default);
        let mut last = 0;
        for key in &self.keys {
            let place = Place::Flag(key.flag);
            let value = match &key.value {
                GivenValue::Text(text) => plain(text),
                GivenValue::True => scalar("true".to_owned(), Origin::Plain),
                GivenValue::Variable(name) => scalar(format!("${{{name}}}"), Origin::Quoted),
                GivenValue::List(texts) => {
                    let item = |text: &String| {
                        last += 1;
                        Node {
                            id: last,
                            place: place.clone(),
                            data: plain(text),
                        }
                    };
                    Data::List(texts.iter().map(item).collect())
                }
            };
            let above = ["agents", &self.name];
            let path = above.into_iter().chain(key.path.iter().map(String::as_str));
            let path: Vec<&str> = path.collect();
            put(&mut tree, &path, value, &place, &mut last);
        }
        tree
    }
}

/// A text in which nothing is filled in.
fn plain(text: &str) -> Data {
    scalar(text.replace("${", "$${"), Origin::Quoted)
}

fn scalar(text: String, origin: Origin) -> Data {
    Data::Scalar(Scalar {
        text,
        origin,
        given: false,
    })
}

/// Puts a value there; what is above it is made where it is not there.
fn put(node: &mut Node, path: &[&str], value: Data, place: &Place, last: &mut usize) {
    let [key, rest @ ..] = path else {
        node.data = value;
        return;
    };
    let Data::Map(entries) = &mut node.data else {
        return;
    };
    let known = entries.iter().position(|entry| entry.key == *key);
    let at = known.unwrap_or_else(|| {
        *last += 1;
        entries.push(Entry {
            key: (*key).to_owned(),
            place: place.clone(),
            value: Node {
                id: *last,
                ..Node::empty(place.clone())
            },
        });
        entries.len() - 1
    });
    put(&mut entries[at].value, rest, value, place, last);
}
