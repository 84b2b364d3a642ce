//! Members put into and taken out of free JSON objects, without touching what else is there.
//!
//! Used where 0.x and the model keep something in different places: rare, and off the hot path.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::model::{Json, Object};
use crate::wire::read::Text;
use crate::wire::write;

/// The part metadata that marks data wrapped because 0.x takes only objects.
pub(crate) const WRAPPED: &str = "data_part_compat";

/// The members of an object in their order, values as they stand.
pub(crate) struct Members<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    members.push((key.0, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

/// Writes an object of raw members.
pub(crate) fn object_of<'a>(
    members: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Option<Object> {
    let json = Json::from_answer(raw_object_of(members)?).ok()?;
    Object::try_from(json).ok()
}

/// Writes an object of raw members that nobody has checked yet.
pub(crate) fn raw_object_of<'a>(
    members: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Option<Box<RawValue>> {
    let mut out = Vec::new();
    write::array(&mut out, members, |(key, value), out| {
        write::string(key, out);
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
    });
    // An object is an array of pairs in other brackets.
    if let [first, .., last] = out.as_mut_slice() {
        (*first, *last) = (b'{', b'}');
    }
    RawValue::from_string(String::from_utf8(out).ok()?).ok()
}

/// `object` with one more member; one of the same name wins. The result can nest deeper than its parts, so a request must
/// check it again.
pub(crate) fn raw_with(object: Option<&Object>, key: &str, value: &str) -> Option<Box<RawValue>> {
    let members = match object {
        Some(object) => object.as_json().read::<Members<'_>>()?.0,
        None => Vec::new(),
    };
    let old = members.iter().map(|(name, raw)| (name.as_ref(), raw.get()));
    let is_new = members.iter().all(|(name, _)| name != key);
    raw_object_of(old.chain(is_new.then_some((key, value))))
}

/// The same for an object that goes out.
fn with(object: Option<&Object>, key: &str, value: &str) -> Option<Object> {
    let json = Json::from_answer(raw_with(object, key, value)?).ok()?;
    Object::try_from(json).ok()
}

/// Undoes [`wrap`]: the value that was wrapped, and the metadata without the mark.
pub(crate) fn unwrap(data: &Json, metadata: &Object) -> Option<(Json, Option<Object>)> {
    if !metadata.as_str().contains(WRAPPED) {
        return None;
    }
    let members = metadata.as_json().read::<Members<'_>>()?.0;
    let marked = |(name, raw): &(Cow<'_, str>, &RawValue)| name == WRAPPED && raw.get() == "true";
    if !members.iter().any(marked) {
        return None;
    }
    let wrapper = data.read::<Members<'_>>()?.0;
    let [(name, value)] = wrapper.as_slice() else {
        return None;
    };
    if name != "value" {
        return None;
    }
    let rest: Vec<_> = members
        .iter()
        .filter(|(name, _)| name != WRAPPED)
        .map(|(name, raw)| (name.as_ref(), raw.get()))
        .collect();
    let metadata = if rest.is_empty() {
        None
    } else {
        Some(object_of(rest)?)
    };
    Some((Json::from_answer((*value).to_owned()).ok()?, metadata))
}

/// Data that is no object, as 0.x takes it, and the metadata with the mark.
pub(crate) fn wrap(metadata: Option<&Object>) -> Option<Object> {
    with(metadata, WRAPPED, "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        Object::try_from(Json::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn adds_a_member_and_leaves_the_rest_as_it_is() {
        let before = object(r#"{"z":1e400,"a":"\u0041"}"#);
        let after = with(Some(&before), "k", "[1]").unwrap();
        assert_eq!(after.as_str(), r#"{"z":1e400,"a":"\u0041","k":[1]}"#);
        assert_eq!(with(None, "k", "1").unwrap().as_str(), r#"{"k":1}"#);
    }

    #[test]
    fn a_member_that_is_there_stays() {
        let before = object(r#"{"k":0}"#);
        assert_eq!(with(Some(&before), "k", "1"), Some(before));
    }

    #[test]
    fn unwraps_only_what_was_wrapped() {
        let marked = object(r#"{"a":1,"data_part_compat":true}"#);
        let (data, rest) = unwrap(&Json::parse(r#"{"value":[7]}"#).unwrap(), &marked).unwrap();
        assert_eq!(data.as_str(), "[7]");
        assert_eq!(rest.unwrap().as_str(), r#"{"a":1}"#);
        let two = Json::parse(r#"{"value":1,"other":2}"#).unwrap();
        assert_eq!(unwrap(&two, &marked), None);
        let unmarked = object(r#"{"data_part_compat":false}"#);
        assert_eq!(
            unwrap(&Json::parse(r#"{"value":1}"#).unwrap(), &unmarked),
            None
        );
    }
}
