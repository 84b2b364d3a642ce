//! Tree to types: a serde deserializer whose errors know their place.

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::fault::Fault;
use super::{Data, Entry, Node, Origin, Scalar};
use crate::config::problem::did_you_mean;

/// Reads `node` into `T`; stops at the first fault.
pub(crate) fn read<T: DeserializeOwned>(node: &Node) -> Result<T, Fault> {
    T::deserialize(Reader { node })
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    node: &'a Node,
}

impl<'a> Reader<'a> {
    fn scalar<'de, V: Visitor<'de>>(self, visitor: &V) -> Result<&'a Scalar, Fault> {
        match &self.node.data {
            Data::Scalar(scalar) if !scalar.is_null() && scalar.origin != Origin::Broken => {
                Ok(scalar)
            }
            _ => Err(self.mismatch(visitor)),
        }
    }

    /// The whole value; also what a type finds wrong after reading has its place here.
    fn value<'de, S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self).map_err(|fault| fault.at(self.node))
    }

    /// A scalar that must spell a `T`.
    fn spelled<'de, V: Visitor<'de>, T: std::str::FromStr>(
        self,
        visitor: &V,
        what: &str,
    ) -> Result<T, Fault> {
        let text = self.scalar(visitor)?.text.as_str();
        text.parse()
            .map_err(|_| Fault::new(format!("expected {what}, found `{text}`"), None))
    }

    /// The wrong kind of node for what `visitor` expects.
    fn mismatch<'de, V: Visitor<'de>>(self, visitor: &V) -> Fault {
        let found = match &self.node.data {
            Data::Scalar(scalar) if scalar.origin == Origin::Broken => return Fault::reported(),
            Data::Scalar(scalar) if scalar.is_null() => Unexpected::Unit,
            Data::Scalar(scalar) => Unexpected::Str(&scalar.text),
            Data::List(_) => Unexpected::Seq,
            Data::Map(_) => Unexpected::Map,
        };
        de::Error::invalid_type(found, visitor)
    }

    /// What a plain scalar means where any type will do (YAML 1.2 core schema).
    fn guess<'de, V: Visitor<'de>>(scalar: &Scalar, visitor: V) -> Result<V::Value, Fault> {
        if scalar.is_null() {
            return visitor.visit_unit();
        }
        let text = scalar.text.as_str();
        if scalar.origin == Origin::Broken {
            return Err(Fault::reported());
        }
        if scalar.origin != Origin::Plain {
            return visitor.visit_str(text);
        }
        match text {
            "true" | "True" | "TRUE" => return visitor.visit_bool(true),
            "false" | "False" | "FALSE" => return visitor.visit_bool(false),
            _ => {}
        }
        let number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
        if number {
            if let Ok(whole) = text.parse::<u64>() {
                return visitor.visit_u64(whole);
            }
            if let Ok(whole) = text.parse::<i64>() {
                return visitor.visit_i64(whole);
            }
            if let Ok(float) = text.parse::<f64>()
                && float.is_finite()
            {
                return visitor.visit_f64(float);
            }
        }
        visitor.visit_str(text)
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.data {
            Data::Scalar(scalar) => Self::guess(scalar, visitor),
            Data::List(items) => visitor.visit_seq(Items::new(items)),
            Data::Map(entries) => visitor.visit_map(Entries::new(self.node, entries)),
        }
        .map_err(|fault| fault.at(self.node))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.spelled(&visitor, "`true` or `false`")
            .and_then(|value| visitor.visit_bool(value))
            .map_err(|fault| fault.at(self.node))
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.spelled(&visitor, "a whole number")
            .and_then(|number| visitor.visit_u64(number))
            .map_err(|fault| fault.at(self.node))
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.spelled(&visitor, "a whole number")
            .and_then(|number| visitor.visit_i64(number))
            .map_err(|fault| fault.at(self.node))
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.spelled(&visitor, "a number")
            .and_then(|number| visitor.visit_f64(number))
            .map_err(|fault| fault.at(self.node))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.scalar(&visitor)
            .and_then(|scalar| visitor.visit_str(&scalar.text))
            .map_err(|fault| fault.at(self.node))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.data {
            Data::Scalar(scalar) if scalar.is_null() => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
        .map_err(|fault| fault.at(self.node))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor
            .visit_newtype_struct(self)
            .map_err(|fault| fault.at(self.node))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.data {
            Data::List(items) => visitor.visit_seq(Items::new(items)),
            Data::Scalar(scalar) if scalar.origin == Origin::Variable => {
                let items = scalar.text.split(',').map(str::trim);
                let items = items.filter(|item| !item.is_empty());
                visitor.visit_seq(de::value::SeqDeserializer::new(items))
            }
            _ => Err(self.mismatch(&visitor)),
        }
        .map_err(|fault| fault.at(self.node))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.data {
            Data::Map(entries) => visitor.visit_map(Entries::new(self.node, entries)),
            // A section with all its keys commented out.
            Data::Scalar(scalar) if scalar.is_null() => {
                visitor.visit_map(Entries::new(self.node, &[]))
            }
            _ => Err(self.mismatch(&visitor)),
        }
        .map_err(|fault| fault.at(self.node))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.node.data {
            Data::Scalar(scalar) if !scalar.is_null() && scalar.origin != Origin::Broken => {
                visitor.visit_enum(StrDeserializer::<Fault>::new(&scalar.text))
            }
            Data::Map(entries) if entries.len() == 1 => visitor.visit_enum(Choice {
                map: self.node,
                entry: &entries[0],
            }),
            Data::Map(entries) => Err(Fault::new(
                format!("expected one key, found {}", entries.len()),
                did_you_mean("", variants.iter().copied()),
            )),
            Data::Scalar(_) | Data::List(_) => Err(self.mismatch(&visitor)),
        }
        .map_err(|fault| fault.at(self.node))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}

struct Items<'a> {
    rest: std::slice::Iter<'a, Node>,
}

impl<'a> Items<'a> {
    fn new(items: &'a [Node]) -> Self {
        Self { rest: items.iter() }
    }
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some(node) = self.rest.next() else {
            return Ok(None);
        };
        Reader { node }.value(seed).map(Some)
    }
}

struct Entries<'a> {
    map: &'a Node,
    rest: std::slice::Iter<'a, Entry>,
    current: Option<&'a Entry>,
}

impl<'a> Entries<'a> {
    fn new(map: &'a Node, entries: &'a [Entry]) -> Self {
        Self {
            map,
            rest: entries.iter(),
            current: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        self.current = self.rest.next();
        let Some(entry) = self.current else {
            return Ok(None);
        };
        seed.deserialize(IntoDeserializer::<Fault>::into_deserializer(
            entry.key.as_str(),
        ))
        .map(Some)
        .map_err(|fault| fault.at_key(self.map, entry))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let Some(entry) = self.current else {
            return Err(Fault::new("a value without a key", None));
        };
        Reader { node: &entry.value }.value(seed)
    }
}

/// `{kind: settings}`: a variant with content.
struct Choice<'a> {
    map: &'a Node,
    entry: &'a Entry,
}

impl<'de, 'a> EnumAccess<'de> for Choice<'a> {
    type Error = Fault;
    type Variant = Content<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Content<'a>), Fault> {
        let name = IntoDeserializer::<Fault>::into_deserializer(self.entry.key.as_str());
        let variant = seed
            .deserialize(name)
            .map_err(|fault| fault.of_key().at_key(self.map, self.entry))?;
        Ok((
            variant,
            Content(Reader {
                node: &self.entry.value,
            }),
        ))
    }
}

struct Content<'a>(Reader<'a>);

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        de::Deserialize::deserialize(self.0)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        self.0.value(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Fault> {
        self.0.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.0.deserialize_map(visitor)
    }
}
