//! The agent card on the wire: three shapes written, any shape read, and the bytes that are signed.
//!
//! It converts between JSON and [`AgentCard`]; it fetches no card, keeps none, signs and verifies
//! nothing. Called by whoever serves a card (well-known paths, both "extended card" methods) and
//! by whoever reads one (discovery, the client, the configuration). gRPC has its own card codec.
//!
//! # What each shape loses
//!
//! | in the model | `V1` | `V0` |
//! |---|---|---|
//! | `stateTransitionHistory` | lost (removed in 1.0) | kept |
//! | several OAuth flows in one scheme | split into several schemes (`name`, `name-2`, ...) | kept, one of each kind |
//! | order of OAuth flows | kept (by split name) | the order of the 0.x schema |
//! | device code flow, PKCE flag | kept | lost |
//! | 1.0 interfaces, `tenant` | kept | lost |
//! | interfaces of another 0.x version | kept | become 0.3 |
//! | order of interfaces | 1.0 before 0.x, unless signed | the main one first |
//! | an empty string where 1.0 has no presence, an empty `params` or `header` | absent | absent |
//!
//! `Union` reads back as `V1` does, and keeps `stateTransitionHistory` besides; its 0.x members are
//! split by OAuth flow like its 1.0 members.

mod canonical;
#[cfg(feature = "grpc")]
mod messages;
#[path = "without_messages.rs"]
#[cfg(not(feature = "grpc"))]
mod messages;
mod node;
mod read;
mod read_security;
mod split;
mod write;
mod write_security;

use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::model::{AgentCard, CardSignature, Json, Object};
use crate::version::{Dialect, ProtocolVersion};

#[cfg(feature = "grpc")]
pub(crate) use split::Split;
#[cfg(feature = "grpc")]
pub(crate) use write::{VERSION_0X, addresses_0x, in_order, main_interface};

/// Which members a card is written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CardShape {
    /// The 1.0 members plus all that a 0.2 or 0.3 client needs, in one object. A card without any
    /// 0.x interface has nothing to tell such a client and is written as [`CardShape::V1`].
    Union,
    /// 1.0 and nothing else: the 1.0 conformance kit refuses every other key.
    V1,
    /// 0.3 and nothing else.
    V0,
}

impl CardShape {
    /// The shape of a card that is configured as `self`, for a caller who names a version in the URL (`query`) or in the
    /// header.
    ///
    /// A URL is written by a person who wants that shape, so it wins over everything. A header is sent by an SDK with
    /// every request, whatever its reader of cards makes of the answer: it only narrows a union to 1.0.
    #[must_use]
    pub fn requested(self, query: Option<&str>, header: Option<&str>) -> Self {
        let version = |text: &str| match text.trim() {
            "" => None,
            text => ProtocolVersion::requested(text).ok(),
        };
        match query.and_then(version) {
            Some(ProtocolVersion::V1_0) => return Self::V1,
            Some(ProtocolVersion::V0_3) => return Self::V0,
            None => {}
        }
        match (self, header.and_then(version)) {
            (Self::Union, Some(ProtocolVersion::V1_0)) => Self::V1,
            (configured, _) => configured,
        }
    }

    /// The shape in which a call is answered.
    #[must_use]
    pub fn answered_in(dialect: Dialect) -> Self {
        match dialect {
            Dialect::V1 => Self::V1,
            Dialect::V0Json | Dialect::V0Proto(_) => Self::V0,
        }
    }
}

/// Appends `card` to `out` as JSON on one line.
///
/// The answer of `GetExtendedAgentCard` is [`CardShape::V1`]; that of
/// `agent/getAuthenticatedExtendedCard` is [`CardShape::V0`] or [`CardShape::Union`].
pub fn encode_card(shape: CardShape, card: &AgentCard, out: &mut Vec<u8>) {
    write::card(shape, card, out);
}

/// Reads a card of any version or mixture of versions.
///
/// Leniently: an absent or `null` member is its default, unknown members are ignored, `snake_case`
/// is as good as `camelCase`. Only `name` has to be there, so that an error page is not mistaken
/// for a card.
///
/// # Errors
///
/// `Parse` if it is not JSON; `InvalidParams`, with the path, if a member has the wrong type.
pub fn decode_card(json: &[u8]) -> Result<AgentCard, Error> {
    read::card(json)
}

/// The bytes a 1.0 signature covers: the 1.0 shape without `signatures`, by RFC 8785
/// (A2A 1.0 §8.4.1).
///
/// Interfaces keep the order of the model, here as in the encoding of a card that bears
/// signatures, so signing first and serving afterwards is sound.
#[must_use]
pub fn canonical_card(card: &AgentCard) -> Vec<u8> {
    canonical::canonical(&write::signing_payload(card))
}

/// All the bytes that signatures must cover so that every reader of a card in this shape finds one that is good, none
/// twice. 1.0 has one reading of its own card; of others, some readers keep what they do not know, and some do not.
#[must_use]
pub fn signing_payloads(shape: CardShape, card: &AgentCard) -> Vec<Vec<u8>> {
    // As it will be served: a card that bears signatures keeps the order of its interfaces.
    let signed = AgentCard {
        signatures: vec![CardSignature {
            protected: String::new(),
            signature: String::new(),
            header: None,
        }],
        ..card.clone()
    };
    let mut json = Vec::new();
    encode_card(shape, &signed, &mut json);
    let typed = match shape {
        CardShape::V1 | CardShape::Union => vec![canonical_card(card)],
        CardShape::V0 => {
            // 0.x has no form of its own to sign: it is what 1.0 makes of what is left of the card.
            let read = [decode_card(&json).ok(), messages::as_read(&signed)];
            read.iter().flatten().map(canonical_card).collect()
        }
    };
    let mut payloads = Vec::new();
    for payload in typed.into_iter().chain(canonical_received(&json).ok()) {
        if !payloads.contains(&payload) {
            payloads.push(payload);
        }
    }
    payloads
}

/// The `typ` of a signature over [`canonical_without_empty`].
pub const LOSSY: &str = "JOSE;without=empty";

/// What the Python SDK takes for [`canonical_card`]: without empty strings, lists and objects and without `null`, also
/// where they mean something. A card that asks for credentials reads there as one that asks for none, so a signature
/// over this proves less than others do.
#[must_use]
pub fn canonical_without_empty(card: &AgentCard) -> Vec<u8> {
    let canonical = canonical_card(card);
    let value = serde_json::from_slice(&canonical).ok().and_then(filled);
    value.map_or(canonical, |value| {
        canonical::canonical(value.to_string().as_bytes())
    })
}

/// The bytes that a signature covers if its maker signed the JSON that was served, members of other versions and
/// all: what was received without `signatures`, by RFC 8785. Peers differ, so a signature may fit this or
/// [`canonical_card`].
///
/// # Errors
///
/// `Parse` if it is no JSON, or none that can be carried; `InvalidParams` if it is no object.
pub fn canonical_received(json: &[u8]) -> Result<Vec<u8>, Error> {
    let text = std::str::from_utf8(json)
        .map_err(|_| Error::new(ErrorKind::Parse, "card is not valid JSON: not UTF-8"))?;
    let json = Json::parse_answer(text)
        .map_err(|reason| Error::new(ErrorKind::Parse, format!("card {reason}")))?;
    let card = Object::try_from(json)
        .map_err(|reason| Error::invalid_params("card", reason.to_string()))?;
    Ok(canonical::canonical_without(&card, "signatures"))
}

/// A value without what is empty in it; nothing if nothing is left. Nesting is bounded where cards are read.
fn filled(value: Value) -> Option<Value> {
    let value = match value {
        Value::Object(members) => {
            let members = members.into_iter();
            let members = members.filter_map(|(name, value)| Some((name, filled(value)?)));
            Value::Object(members.collect())
        }
        Value::Array(items) => items.into_iter().filter_map(filled).collect(),
        other => other,
    };
    let empty = match &value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    (!empty).then_some(value)
}
