//! A lenient cursor over JSON that knows where it stands.
//!
//! Serde's derive would refuse what real cards do (the same member in two spellings, `null` for a
//! list); this cursor reads member by member and names the path of what it cannot read. It knows
//! nothing of cards; `read` and `read_security` walk with it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind};
use crate::model::{Json, Object};

/// One value that is not `null`, and its path.
#[derive(Debug)]
pub(super) struct Node<'a> {
    path: String,
    text: &'a str,
}

/// The members of an object.
#[derive(Debug)]
pub(super) struct Members<'a> {
    path: String,
    members: BTreeMap<String, &'a RawValue>,
}

impl<'a> Node<'a> {
    /// The whole document. Only its syntax can be wrong.
    pub(super) fn root(json: &'a [u8]) -> Result<Self, Error> {
        let raw: &RawValue = serde_json::from_slice(json)
            .map_err(|e| Error::new(ErrorKind::Parse, format!("card is not valid JSON: {e}")))?;
        Ok(Self {
            path: String::new(),
            text: raw.get(),
        })
    }

    /// The error for this value.
    pub(super) fn error(&self, description: &str) -> Error {
        let path = if self.path.is_empty() {
            "card"
        } else {
            &self.path
        };
        Error::invalid_params(path, description)
    }

    fn read<T: Deserialize<'a>>(&self, description: &str) -> Result<T, Error> {
        serde_json::from_str(self.text).map_err(|_| self.error(description))
    }

    pub(super) fn is_object(&self) -> bool {
        self.text.starts_with('{')
    }

    pub(super) fn is_list(&self) -> bool {
        self.text.starts_with('[')
    }

    pub(super) fn object(&self) -> Result<Members<'a>, Error> {
        Ok(Members {
            path: self.path.clone(),
            members: self.read("must be an object")?,
        })
    }

    /// The items that are not `null`.
    pub(super) fn list(&self) -> Result<Vec<Self>, Error> {
        let items: Vec<&'a RawValue> = self.read("must be an array")?;
        let numbered = items.into_iter().enumerate();
        Ok(numbered
            .filter(|(_, raw)| raw.get() != "null")
            .map(|(i, raw)| Self {
                path: format!("{}[{i}]", self.path),
                text: raw.get(),
            })
            .collect())
    }

    /// A string, or a number as it is spelled: cards made from YAML say `version: 1.0`.
    pub(super) fn string(&self) -> Result<String, Error> {
        if self
            .text
            .starts_with(|c: char| c == '-' || c.is_ascii_digit())
        {
            return Ok(self.text.to_owned());
        }
        self.read("must be a string")
    }

    pub(super) fn strings(&self) -> Result<Vec<String>, Error> {
        self.list()?.iter().map(Self::string).collect()
    }

    fn boolean(&self) -> Result<bool, Error> {
        self.read("must be a boolean")
    }

    fn free_object(&self) -> Result<Object, Error> {
        Json::parse_answer(self.text)
            .and_then(Object::try_from)
            .map_err(|e| self.error(&e.to_string()))
    }
}

impl<'a> Members<'a> {
    /// The member of that camelCase name, or of its `snake_case` twin. `null` is absent, as in
    /// `ProtoJSON`.
    pub(super) fn get(&self, name: &str) -> Option<Node<'a>> {
        self.member(name).or_else(|| self.member(&snake_case(name)))
    }

    fn member(&self, name: &str) -> Option<Node<'a>> {
        let raw = self.members.get(name)?;
        (raw.get() != "null").then(|| self.child(name, raw))
    }

    fn child(&self, name: &str, raw: &'a RawValue) -> Node<'a> {
        let dot = if self.path.is_empty() { "" } else { "." };
        Node {
            path: format!("{}{dot}{name}", self.path),
            text: raw.get(),
        }
    }

    /// All members that are not `null`, for objects that are maps.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, Node<'a>)> {
        self.members
            .iter()
            .filter(|(_, raw)| raw.get() != "null")
            .map(|(name, raw)| (name.as_str(), self.child(name, raw)))
    }

    /// The names of the members that are `null`, for maps where a name alone means something.
    pub(super) fn nulls(&self) -> impl Iterator<Item = &str> {
        self.members
            .iter()
            .filter(|(_, raw)| raw.get() == "null")
            .map(|(name, _)| name.as_str())
    }

    /// A string; absent is empty.
    pub(super) fn text(&self, name: &str) -> Result<String, Error> {
        Ok(self.explicit(name)?.unwrap_or_default())
    }

    /// A string with presence of its own: empty and absent differ.
    pub(super) fn explicit(&self, name: &str) -> Result<Option<String>, Error> {
        self.get(name).map(|node| node.string()).transpose()
    }

    /// A string without presence of its own: empty and absent are the same.
    pub(super) fn implicit(&self, name: &str) -> Result<Option<String>, Error> {
        Ok(self.explicit(name)?.filter(|text| !text.is_empty()))
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Error> {
        self.get(name).map(|node| node.boolean()).transpose()
    }

    pub(super) fn strings(&self, name: &str) -> Result<Vec<String>, Error> {
        self.get(name).map_or(Ok(Vec::new()), |node| node.strings())
    }

    pub(super) fn list(&self, name: &str) -> Result<Vec<Node<'a>>, Error> {
        self.get(name).map_or(Ok(Vec::new()), |node| node.list())
    }

    pub(super) fn object(&self, name: &str) -> Result<Option<Self>, Error> {
        self.get(name).map(|node| node.object()).transpose()
    }

    /// Free JSON; an empty object is the same as none.
    pub(super) fn free_object(&self, name: &str) -> Result<Option<Object>, Error> {
        let object = self.get(name).map(|node| node.free_object()).transpose()?;
        Ok(object.filter(|object| !is_empty(object)))
    }
}

/// Whether a free object has no members.
pub(super) fn is_empty(object: &Object) -> bool {
    let text = object.as_str().trim_ascii();
    text.starts_with('{') && text[1..].trim_ascii_start().starts_with('}')
}

/// `iconUrl` as protobuf spells it: `icon_url`.
fn snake_case(camel: &str) -> String {
    let mut snake = String::with_capacity(camel.len() + 4);
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
