//! Who may call, as it is written in the file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::config::value::{Bound, SecretText, Time, Url};

/// Who may call.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Auth {
    /// Everyone who can reach the address.
    #[schemars(schema_with = "none")]
    None,
    /// Those who can show who they are.
    Known(Box<Known>),
}

/// Those who can show who they are.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Known {
    /// The ways to show it, by name. Names stand on the cards: letters, digits, `-`, `_` and `.`.
    pub(crate) methods: Option<Named<Method>>,
    /// Which of them are asked for: any of these; an inner list means all of it, and `none` nobody in particular. By
    /// default each method alone.
    pub(crate) require: Option<Vec<Requirement>>,
}

/// Things by name, in the order of the file.
#[derive(Debug)]
pub(crate) struct Named<T>(pub(crate) Vec<(String, T)>);

/// One way to show who one is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Method {
    /// A signed token.
    Jwt(Box<Jwt>),
    /// A key that `switchboard key create` has made.
    ApiKey(ApiKey),
    /// A name and a password.
    Basic(Basic),
    /// A client certificate; needs `tls.client_ca_file`.
    Mtls(Mtls),
}

/// Client certificates (mutual TLS).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mtls {
    /// Whose certificates are taken, by a name in them: a URI, a host, or `sha256:` and the fingerprint. `*` stands for
    /// any text.
    pub(crate) subjects: Option<Vec<String>>,
}

/// Keys that `switchboard key create` makes. They are taken from `X-API-Key` and as a bearer token, too, whatever cards
/// say.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApiKey {
    /// Where cards say that a key goes; `header` by default.
    #[serde(rename = "in")]
    pub(crate) place: Option<KeyPlace>,
    /// The name of header, parameter or cookie; `X-API-Key` by default.
    pub(crate) name: Option<String>,
    /// What a token must grant so that its owner may make keys by HTTP; `keys:create` by default.
    pub(crate) create_scope: Option<String>,
    /// How long a key that is made by HTTP is good at most, and without a wish; `90d` by default, or `unlimited`.
    pub(crate) max_lifetime: Option<Bound>,
    /// How many keys that one caller has made by HTTP may be good at once; 100 by default.
    pub(crate) max_keys: Option<usize>,
}

/// Where a key goes.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyPlace {
    /// Into a header.
    Header,
    /// Into the query of the address. Addresses are often logged.
    Query,
    /// Into a cookie.
    Cookie,
}

/// A signed token (JWT), sent as `Authorization: Bearer`. It is checked with `secret`, `jwks_url`, `jwks_file` or the
/// keys that `issuer` publishes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Jwt {
    /// The secret that issuer and Switchboard share, 32 bytes or more. Not to be written out here: `${NAME}`.
    pub(crate) secret: Option<SecretText>,
    /// A file with the secret.
    pub(crate) secret_file: Option<String>,
    /// Where the issuer lists its keys (JWKS).
    pub(crate) jwks_url: Option<Url>,
    /// A file with the issuer's keys (JWKS).
    pub(crate) jwks_file: Option<String>,
    /// Who issues the tokens, exactly as they say it. Without other keys this is an address where OpenID Connect or
    /// OAuth discovery finds them.
    pub(crate) issuer: Option<String>,
    /// For whom the tokens are: one of these must stand in them.
    pub(crate) audience: Option<Vec<String>>,
    /// By which algorithms tokens may be signed. By default HS256 with a secret; RS256, ES256, EdDSA and PS256 with
    /// keys.
    pub(crate) algorithms: Option<Vec<String>>,
    /// How far clocks may be apart; `60s` by default.
    pub(crate) clock_skew: Option<Time>,
    /// The claim that names the caller; `sub` by default.
    pub(crate) subject_claim: Option<String>,
    /// The claim that names the caller's tenant. If it is given, every token must have it.
    pub(crate) tenant_claim: Option<String>,
    /// The claim with what was granted; by default `scope`, else `scp`.
    pub(crate) scope_claim: Option<String>,
    /// What cards say of it; by default `openid_connect` if the keys are found by the issuer, else `bearer`.
    pub(crate) declare: Option<Declare>,
}

/// What cards say of tokens.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Declare {
    /// A bearer token, wherever it comes from.
    Bearer,
    /// The issuer's OpenID Connect description.
    OpenidConnect,
    /// OAuth 2.0 client credentials.
    ClientCredentials(ClientCredentials),
}

/// How clients get a token by OAuth 2.0 client credentials.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientCredentials {
    /// Where tokens come from.
    pub(crate) token_url: Url,
    /// What can be asked for: scope and description.
    #[serde(default)]
    pub(crate) scopes: BTreeMap<String, String>,
}

/// Names and passwords (HTTP Basic).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Basic {
    /// The users, by name.
    pub(crate) users: Named<User>,
}

/// One who has a password.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct User {
    /// The password. Not to be written out here: `${NAME}`.
    pub(crate) password: Option<SecretText>,
    /// A file with the password.
    pub(crate) password_file: Option<String>,
    /// What the user is granted.
    pub(crate) scopes: Option<Vec<String>>,
    /// The tenant the user belongs to.
    pub(crate) tenant: Option<String>,
}

/// Methods that are enough: one, or several together.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Requirement {
    /// This one, or `none`.
    One(String),
    /// All of these.
    All(Vec<String>),
}

/// Whom an agent asks to show who they are.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum AgentAuth {
    /// `none`: nobody; or the one method that is enough.
    #[schemars(schema_with = "text")]
    None,
    /// Everyone, by one of these.
    Require(Vec<Requirement>),
}

fn none(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": r"^none$|\$\{" })
}

fn text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}

impl<'de> Deserialize<'de> for Auth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl<'de> Visitor<'de> for Read {
            type Value = Auth;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`none` or a mapping")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Auth, E> {
                match text {
                    "none" => Ok(Auth::None),
                    other => Err(E::unknown_variant(other, &["none"])),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Auth, A::Error> {
                let known = Known::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Auth::Known(Box::new(known)))
            }
        }

        deserializer.deserialize_any(Read)
    }
}

impl<'de> Deserialize<'de> for AgentAuth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl<'de> Visitor<'de> for Read {
            type Value = AgentAuth;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`none` or a list of methods")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<AgentAuth, E> {
                if text.trim() == "none" {
                    return Ok(AgentAuth::None);
                }
                // One name, or several from a variable.
                let names = text.split(',').map(str::trim);
                let names = names.map(|name| Requirement::One(name.to_owned()));
                Ok(AgentAuth::Require(names.collect()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<AgentAuth, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(AgentAuth::Require(all))
            }
        }

        deserializer.deserialize_any(Read)
    }
}

impl<'de> Deserialize<'de> for Requirement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl<'de> Visitor<'de> for Read {
            type Value = Requirement;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a method or a list of names")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Requirement, E> {
                Ok(Requirement::One(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Requirement, A::Error> {
                let mut all = Vec::new();
                while let Some(name) = list.next_element()? {
                    all.push(name);
                }
                Ok(Requirement::All(all))
            }
        }

        deserializer.deserialize_any(Read)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping from names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    all.push(entry);
                }
                Ok(Named(all))
            }
        }

        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}ByName", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "additionalProperties": generator.subschema_for::<T>(),
        })
    }
}
