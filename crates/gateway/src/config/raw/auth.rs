//! Authentication, as written in the file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::config::value::{Bound, SecretText, Time, Url};

/// Authentication of callers.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Auth {
    /// `none`: anonymous access for everyone who can reach the address.
    #[schemars(schema_with = "none")]
    None,
    /// Authentication methods.
    Known(Box<Known>),
}

/// Authentication methods and which of them a call needs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Known {
    /// Authentication methods by name. Agent cards show the names: letters, digits, `-`, `_` and `.`.
    pub(crate) methods: Option<Named<Method>>,
    /// Accepted combinations of methods: one entry is enough; an inner list requires all of its methods; `none` allows
    /// anonymous access. Default: any one method.
    pub(crate) require: Option<Vec<Requirement>>,
}

/// Values by name, in the order of the file.
#[derive(Debug)]
pub(crate) struct Named<T>(pub(crate) Vec<(String, T)>);

/// An authentication method.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Method {
    /// JWT bearer token.
    Jwt(Box<Jwt>),
    /// API key created by `switchboard key create`.
    ApiKey(ApiKey),
    /// User name and password (HTTP Basic).
    Basic(Basic),
    /// Client certificate (mTLS). Requires `tls.client_ca_file`.
    Mtls(Mtls),
}

/// Client certificates (mTLS).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mtls {
    /// Accepted certificates by a name in them: a URI, a host, or `sha256:` and the fingerprint. `*` matches any text.
    pub(crate) subjects: Option<Vec<String>>,
}

/// API keys created by `switchboard key create`. Switchboard also accepts them in `X-API-Key` and as a bearer token,
/// whatever the cards declare.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApiKey {
    /// Where agent cards declare the key. Default: `header`.
    #[serde(rename = "in")]
    pub(crate) place: Option<KeyPlace>,
    /// Name of the header, query parameter or cookie. Default: `X-API-Key`.
    pub(crate) name: Option<String>,
    /// Scope that a caller needs to create API keys over HTTP. Default: `keys:create`.
    pub(crate) create_scope: Option<String>,
    /// Maximum lifetime of a key created over HTTP, and its lifetime if the request names none. Default: `90d`; or
    /// `unlimited`.
    pub(crate) max_lifetime: Option<Bound>,
    /// Maximum number of valid keys that one caller has created over HTTP. Default: 100.
    pub(crate) max_keys: Option<usize>,
}

/// Where a client sends an API key.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyPlace {
    /// In a header.
    Header,
    /// In the query string. URLs are often logged.
    Query,
    /// In a cookie.
    Cookie,
}

/// JWT bearer tokens (`Authorization: Bearer`), verified with `secret`, `jwks_url`, `jwks_file` or the JWKS of
/// `issuer`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Jwt {
    /// Secret shared with the issuer, at least 32 bytes. Use `${NAME}`; a literal secret is rejected.
    pub(crate) secret: Option<SecretText>,
    /// File that contains the secret.
    pub(crate) secret_file: Option<String>,
    /// URL of the issuer's JWKS.
    pub(crate) jwks_url: Option<Url>,
    /// File that contains the issuer's JWKS.
    pub(crate) jwks_file: Option<String>,
    /// Issuer (`iss`), exactly as in the tokens. Without other keys, it is the URL for OpenID Connect or OAuth
    /// discovery.
    pub(crate) issuer: Option<String>,
    /// Accepted audiences (`aud`): a token must contain one of them.
    pub(crate) audience: Option<Vec<String>>,
    /// Accepted signature algorithms. Default: HS256 with a secret; RS256, ES256, EdDSA and PS256 with a JWKS.
    pub(crate) algorithms: Option<Vec<String>>,
    /// Tolerated clock skew. Default: `60s`.
    pub(crate) clock_skew: Option<Time>,
    /// Claim with the identity of the caller. Default: `sub`.
    pub(crate) subject_claim: Option<String>,
    /// Claim with the tenant of the caller. If set, every token must contain it.
    pub(crate) tenant_claim: Option<String>,
    /// Claim with the scopes. Default: `scope`, otherwise `scp`.
    pub(crate) scope_claim: Option<String>,
    /// Security scheme on agent cards. Default: `openid_connect` if the JWKS is found by discovery, otherwise `bearer`.
    pub(crate) declare: Option<Declare>,
}

/// Security scheme that agent cards declare for JWTs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Declare {
    /// Bearer token of any origin.
    Bearer,
    /// OpenID Connect discovery document of the issuer.
    OpenidConnect,
    /// OAuth 2.0 client credentials.
    ClientCredentials(ClientCredentials),
}

/// OAuth 2.0 client credentials flow, as declared on agent cards.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientCredentials {
    /// Token endpoint.
    pub(crate) token_url: Url,
    /// Available scopes and their descriptions.
    #[serde(default)]
    pub(crate) scopes: BTreeMap<String, String>,
}

/// User names and passwords (HTTP Basic).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Basic {
    /// Users by name.
    pub(crate) users: Named<User>,
}

/// A user with a password.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct User {
    /// Password. Use `${NAME}`; a literal secret is rejected.
    pub(crate) password: Option<SecretText>,
    /// File that contains the password.
    pub(crate) password_file: Option<String>,
    /// Scopes of the user.
    pub(crate) scopes: Option<Vec<String>>,
    /// Tenant of the user.
    pub(crate) tenant: Option<String>,
}

/// A combination of authentication methods: one, or several together.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Requirement {
    /// One method, or `none`.
    One(String),
    /// All of these methods.
    All(Vec<String>),
}

/// Authentication that an agent requires.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum AgentAuth {
    /// `none` for anonymous access, or the name of the required method.
    #[schemars(schema_with = "text")]
    None,
    /// One of these combinations of methods.
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
