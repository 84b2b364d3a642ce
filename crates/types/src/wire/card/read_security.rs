//! Security schemes and requirements of any version to the model.
//!
//! A scheme is read by its 1.0 member if it has one (that form can say more), else by its 0.x
//! `type`. Called by `read` only.

use std::collections::BTreeMap;

use super::node::{Members, Node};
use crate::error::Error;
use crate::model::{ApiKeyLocation, OAuthFlow, Scopes, SecurityRequirement, SecurityScheme};

type Schemes = BTreeMap<String, SecurityScheme>;

/// Which member of a 1.0 scheme, or `type` of a 0.x scheme, stands for which kind.
#[derive(Debug, Clone, Copy)]
enum Kind {
    ApiKey,
    Http,
    OAuth2,
    OpenIdConnect,
    MutualTls,
}

/// The 1.0 member and the 0.x `type` of each kind.
const KINDS: [(&str, &str, Kind); 5] = [
    ("apiKeySecurityScheme", "apiKey", Kind::ApiKey),
    ("httpAuthSecurityScheme", "http", Kind::Http),
    ("oauth2SecurityScheme", "oauth2", Kind::OAuth2),
    (
        "openIdConnectSecurityScheme",
        "openIdConnect",
        Kind::OpenIdConnect,
    ),
    ("mtlsSecurityScheme", "mutualTLS", Kind::MutualTls),
];

/// The schemes and requirements of a card, wherever they are declared.
pub(super) fn of_card(card: &Members<'_>) -> Result<(Schemes, Vec<SecurityRequirement>), Error> {
    let mut schemes = Schemes::new();
    if let Some(map) = card.object("securitySchemes")? {
        for (name, node) in map.entries() {
            // A kind nobody knows cannot be used; a requirement that names it stays, unmet.
            if let Some(scheme) = scheme(&node)? {
                schemes.insert(name.to_owned(), scheme);
            }
        }
    }
    let required = requirements(card)?;
    if schemes.is_empty() && required.is_empty() {
        return authentication(card);
    }
    Ok((schemes, required))
}

/// What is required, of a card or a skill: `securityRequirements` unless it says nothing, else
/// `security` (A2A 1.0's own text mixes the two names).
pub(super) fn requirements(of: &Members<'_>) -> Result<Vec<SecurityRequirement>, Error> {
    let mut entries = of.list("securityRequirements")?;
    if entries.is_empty() {
        entries = of.list("security")?;
    }
    entries.iter().map(requirement).collect()
}

/// `{"schemes":{"a":{"list":["s"]}}}` (1.0) or `{"a":["s"]}` (0.x). They cannot be mistaken for
/// each other: in 0.x the value of a scheme called `schemes` would be an array.
fn requirement(node: &Node<'_>) -> Result<SecurityRequirement, Error> {
    let members = node.object()?;
    let map = match members.get("schemes").filter(Node::is_object) {
        Some(schemes) => schemes.object()?,
        None => members,
    };
    let mut required = BTreeMap::new();
    for (name, node) in map.entries() {
        let scopes = if node.is_list() {
            node.strings()?
        } else {
            node.object()?.strings("list")?
        };
        required.insert(name.to_owned(), scopes);
    }
    // `{"a":null}` still names a scheme; `{"schemes":null}` is 1.0 for "none".
    let unscoped = map.nulls().filter(|name| *name != "schemes");
    required.extend(unscoped.map(|name| (name.to_owned(), Vec::new())));
    Ok(SecurityRequirement(required))
}

fn scheme(node: &Node<'_>) -> Result<Option<SecurityScheme>, Error> {
    let scheme = node.object()?;
    for (member, _, kind) in KINDS {
        if let Some(inner) = scheme.object(member)? {
            return of_kind(kind, &inner).map(Some);
        }
    }
    let tag = scheme.text("type")?;
    KINDS
        .into_iter()
        .find(|(_, name, _)| name.eq_ignore_ascii_case(&tag))
        .map(|(_, _, kind)| of_kind(kind, &scheme))
        .transpose()
}

fn of_kind(kind: Kind, scheme: &Members<'_>) -> Result<SecurityScheme, Error> {
    let description = scheme.implicit("description")?;
    Ok(match kind {
        Kind::ApiKey => SecurityScheme::ApiKey {
            description,
            location: location(scheme)?,
            name: scheme.text("name")?,
        },
        Kind::Http => SecurityScheme::Http {
            description,
            scheme: scheme.text("scheme")?,
            bearer_format: scheme.implicit("bearerFormat")?,
        },
        Kind::OAuth2 => SecurityScheme::OAuth2 {
            description,
            flows: flows(scheme)?,
            metadata_url: scheme.implicit("oauth2MetadataUrl")?,
        },
        Kind::OpenIdConnect => SecurityScheme::OpenIdConnect {
            description,
            url: scheme.text("openIdConnectUrl")?,
        },
        Kind::MutualTls => SecurityScheme::MutualTls { description },
    })
}

/// `location` (1.0) or `in` (0.x); absent means a header, where nearly all keys go.
fn location(scheme: &Members<'_>) -> Result<ApiKeyLocation, Error> {
    let Some(node) = scheme.get("location").or_else(|| scheme.get("in")) else {
        return Ok(ApiKeyLocation::Header);
    };
    match node.string()?.to_ascii_lowercase().as_str() {
        "query" => Ok(ApiKeyLocation::Query),
        "header" | "" => Ok(ApiKeyLocation::Header),
        "cookie" => Ok(ApiKeyLocation::Cookie),
        _ => Err(node.error("must be query, header or cookie")),
    }
}

/// All flows offered: 1.0 allows one, 0.x any subset.
fn flows(scheme: &Members<'_>) -> Result<Vec<OAuthFlow>, Error> {
    let Some(offered) = scheme.object("flows")? else {
        return Ok(Vec::new());
    };
    let mut flows = Vec::new();
    if let Some(flow) = offered.object("authorizationCode")? {
        flows.push(OAuthFlow::AuthorizationCode {
            authorization_url: flow.text("authorizationUrl")?,
            token_url: flow.text("tokenUrl")?,
            refresh_url: flow.implicit("refreshUrl")?,
            scopes: scopes(&flow)?,
            pkce_required: flow.flag("pkceRequired")?.unwrap_or(false),
        });
    }
    if let Some(flow) = offered.object("clientCredentials")? {
        flows.push(OAuthFlow::ClientCredentials {
            token_url: flow.text("tokenUrl")?,
            refresh_url: flow.implicit("refreshUrl")?,
            scopes: scopes(&flow)?,
        });
    }
    if let Some(flow) = offered.object("deviceCode")? {
        flows.push(OAuthFlow::DeviceCode {
            device_authorization_url: flow.text("deviceAuthorizationUrl")?,
            token_url: flow.text("tokenUrl")?,
            refresh_url: flow.implicit("refreshUrl")?,
            scopes: scopes(&flow)?,
        });
    }
    if let Some(flow) = offered.object("implicit")? {
        flows.push(OAuthFlow::Implicit {
            authorization_url: flow.implicit("authorizationUrl")?,
            refresh_url: flow.implicit("refreshUrl")?,
            scopes: scopes(&flow)?,
        });
    }
    if let Some(flow) = offered.object("password")? {
        flows.push(OAuthFlow::Password {
            token_url: flow.implicit("tokenUrl")?,
            refresh_url: flow.implicit("refreshUrl")?,
            scopes: scopes(&flow)?,
        });
    }
    Ok(flows)
}

fn scopes(flow: &Members<'_>) -> Result<Scopes, Error> {
    let Some(map) = flow.object("scopes")? else {
        return Ok(Scopes::new());
    };
    let mut scopes: Scopes = map
        .entries()
        .map(|(name, node)| Ok((name.to_owned(), node.string()?)))
        .collect::<Result<_, Error>>()?;
    scopes.extend(map.nulls().map(|name| (name.to_owned(), String::new())));
    Ok(scopes)
}

/// `authentication: {"schemes": ["bearer"]}`, gone since 0.2 but still written: any one of the
/// schemes is enough.
fn authentication(card: &Members<'_>) -> Result<(Schemes, Vec<SecurityRequirement>), Error> {
    let mut schemes = Schemes::new();
    let mut required = Vec::new();
    let mut open = false;
    if let Some(authentication) = card.object("authentication")? {
        for name in authentication.strings("schemes")? {
            if ["none", "public", ""].contains(&name.to_ascii_lowercase().as_str()) {
                open = true;
                continue;
            }
            let requirement = BTreeMap::from([(name.clone(), Vec::new())]);
            required.push(SecurityRequirement(requirement));
            schemes.insert(name.clone(), by_name(&name));
        }
    }
    if open && !required.is_empty() {
        required.push(SecurityRequirement::default());
    }
    Ok((schemes, required))
}

/// The scheme somebody means by a bare name. A name nobody knows is taken as an HTTP scheme, which
/// is what the list held in 0.1.
fn by_name(name: &str) -> SecurityScheme {
    let description = None;
    match name.to_ascii_lowercase().as_str() {
        "apikey" | "api_key" | "api-key" => SecurityScheme::ApiKey {
            description,
            location: ApiKeyLocation::Header,
            name: "X-API-Key".to_owned(),
        },
        "oauth2" | "oauth" => SecurityScheme::OAuth2 {
            description,
            flows: Vec::new(),
            metadata_url: None,
        },
        "openidconnect" | "oidc" => SecurityScheme::OpenIdConnect {
            description,
            url: String::new(),
        },
        "mutualtls" | "mtls" => SecurityScheme::MutualTls { description },
        scheme => SecurityScheme::Http {
            description,
            scheme: scheme.to_owned(),
            bearer_format: None,
        },
    }
}
