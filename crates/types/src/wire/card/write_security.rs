//! Security schemes and requirements to JSON, in each version's form or both.
//!
//! In the union a scheme carries its 0.x members (`type` and so on) beside its 1.0 member. A 0.x
//! reader ignores the latter. A 1.0 reader may ignore the former, or, like a2a-python 1.3, build
//! the 1.0 member from them anew; so in the union they too hold one flow, with all that 1.0 knows of
//! it. 0.x forbids no extra members. Called by `write` only.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::split::Split;
use super::write::Versions;
use crate::model::{ApiKeyLocation, OAuthFlow, Scopes, SecurityRequirement, SecurityScheme};

type Members = Map<String, Value>;

/// The member `securitySchemes`.
pub(super) fn schemes<'a>(
    versions: Versions,
    split: &Split<'a>,
    schemes: &'a BTreeMap<String, SecurityScheme>,
) -> Members {
    let mut out = Members::new();
    for (name, scheme) in schemes {
        if !versions.v1 {
            out.insert(name.clone(), v0_scheme(scheme, v0_flow).into());
            continue;
        }
        for (part, one) in split.schemes(name, scheme) {
            let mut members = Members::new();
            if versions.v0 {
                members = v0_scheme(&one, union_flow);
            }
            let (member, inner) = v1_scheme(&one);
            members.insert(member.to_owned(), inner.into());
            out.insert(part, members.into());
        }
    }
    out
}

/// The members `security` (0.x) and `securityRequirements` (1.0).
pub(super) fn requirements(
    versions: Versions,
    split: &Split<'_>,
    required: &[SecurityRequirement],
) -> (Vec<Value>, Vec<Value>) {
    if !versions.v1 {
        return (required.iter().map(v0_requirement).collect(), Vec::new());
    }
    let parts = split.requirements(required);
    let old = if versions.v0 { &parts[..] } else { &[] };
    (
        old.iter().map(v0_requirement).collect(),
        parts.iter().map(v1_requirement).collect(),
    )
}

/// `{"a":["s"]}`.
fn v0_requirement(requirement: &SecurityRequirement) -> Value {
    json!(requirement.0)
}

/// `{"schemes":{"a":{"list":["s"]}}}`. A scheme without scopes keeps its entry, `{}`: the name is
/// the requirement.
fn v1_requirement(requirement: &SecurityRequirement) -> Value {
    let mut schemes = Members::new();
    for (name, scopes) in &requirement.0 {
        let list = if scopes.is_empty() {
            json!({})
        } else {
            json!({ "list": scopes })
        };
        schemes.insert(name.clone(), list);
    }
    if schemes.is_empty() {
        return json!({});
    }
    json!({ "schemes": schemes })
}

/// A scheme by its `type`, its flows written by `flow`.
fn v0_scheme(
    scheme: &SecurityScheme,
    flow: impl Fn(&OAuthFlow) -> Option<(String, Value)>,
) -> Members {
    let mut out = Members::new();
    let mut put = |name: &str, value: &str| out.insert(name.to_owned(), value.into());
    match scheme {
        SecurityScheme::ApiKey { location, name, .. } => {
            put("type", "apiKey");
            put("in", place(*location));
            put("name", name);
        }
        SecurityScheme::Http { scheme, .. } => {
            put("type", "http");
            put("scheme", scheme);
        }
        SecurityScheme::OAuth2 { flows, .. } => {
            put("type", "oauth2");
            let flows: Members = flows.iter().filter_map(flow).collect();
            out.insert("flows".to_owned(), flows.into());
        }
        SecurityScheme::OpenIdConnect { url, .. } => {
            put("type", "openIdConnect");
            put("openIdConnectUrl", url);
        }
        SecurityScheme::MutualTls { .. } => {
            put("type", "mutualTLS");
        }
    }
    put_optionals(scheme, &mut out);
    out
}

/// The 1.0 member of a scheme with at most one flow, and what stands in it.
fn v1_scheme(scheme: &SecurityScheme) -> (&'static str, Members) {
    let mut out = Members::new();
    let mut put = |name: &str, value: &str| out.insert(name.to_owned(), value.into());
    let member = match scheme {
        SecurityScheme::ApiKey { location, name, .. } => {
            put("location", place(*location));
            put("name", name);
            "apiKeySecurityScheme"
        }
        SecurityScheme::Http { scheme, .. } => {
            put("scheme", scheme);
            "httpAuthSecurityScheme"
        }
        SecurityScheme::OAuth2 { flows, .. } => {
            let flows: Members = flows.iter().take(1).map(v1_flow).collect();
            out.insert("flows".to_owned(), flows.into());
            "oauth2SecurityScheme"
        }
        SecurityScheme::OpenIdConnect { url, .. } => {
            put("openIdConnectUrl", url);
            "openIdConnectSecurityScheme"
        }
        SecurityScheme::MutualTls { .. } => "mtlsSecurityScheme",
    };
    put_optionals(scheme, &mut out);
    (member, out)
}

/// The members that are spelled alike in both versions and may be absent.
fn put_optionals(scheme: &SecurityScheme, out: &mut Members) {
    let (description, other) = match scheme {
        SecurityScheme::Http {
            description,
            bearer_format,
            ..
        } => (description, Some(("bearerFormat", bearer_format))),
        SecurityScheme::OAuth2 {
            description,
            metadata_url,
            ..
        } => (description, Some(("oauth2MetadataUrl", metadata_url))),
        SecurityScheme::ApiKey { description, .. }
        | SecurityScheme::OpenIdConnect { description, .. }
        | SecurityScheme::MutualTls { description } => (description, None),
    };
    put_set("description", description.as_deref(), out);
    if let Some((name, value)) = other {
        put_set(name, value.as_deref(), out);
    }
}

fn put_set(name: &str, value: Option<&str>, out: &mut Members) {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        out.insert(name.to_owned(), value.into());
    }
}

fn place(location: ApiKeyLocation) -> &'static str {
    match location {
        ApiKeyLocation::Query => "query",
        ApiKeyLocation::Header => "header",
        ApiKeyLocation::Cookie => "cookie",
    }
}

/// A flow as 0.x writes it; it has no device code and no PKCE flag. Its URLs and scopes are
/// required there, even where 1.0 lets them be absent.
fn v0_flow(flow: &OAuthFlow) -> Option<(String, Value)> {
    let (name, mut members) = match flow {
        OAuthFlow::DeviceCode { .. } => return None,
        OAuthFlow::Implicit {
            authorization_url, ..
        } => (
            "implicit",
            json!({ "authorizationUrl": authorization_url.as_deref().unwrap_or_default() }),
        ),
        OAuthFlow::Password { token_url, .. } => (
            "password",
            json!({ "tokenUrl": token_url.as_deref().unwrap_or_default() }),
        ),
        OAuthFlow::AuthorizationCode {
            authorization_url,
            token_url,
            ..
        } => (
            "authorizationCode",
            json!({ "authorizationUrl": authorization_url, "tokenUrl": token_url }),
        ),
        OAuthFlow::ClientCredentials { token_url, .. } => {
            ("clientCredentials", json!({ "tokenUrl": token_url }))
        }
    };
    let (refresh_url, scopes) = common(flow);
    members["scopes"] = json!(scopes);
    if let Some(url) = refresh_url {
        members["refreshUrl"] = url.into();
    }
    Some((name.to_owned(), members))
}

/// A flow with the members of both versions.
fn union_flow(flow: &OAuthFlow) -> Option<(String, Value)> {
    let (name, mut members) = v1_flow(flow);
    if let (Some((_, Value::Object(v0))), Some(members)) = (v0_flow(flow), members.as_object_mut())
    {
        members.extend(v0);
    }
    Some((name, members))
}

/// A flow as 1.0 writes it. The deprecated ones have no REQUIRED member at all.
fn v1_flow(flow: &OAuthFlow) -> (String, Value) {
    let mut out = Members::new();
    let mut put = |name: &str, value: &str| out.insert(name.to_owned(), value.into());
    let (name, deprecated) = match flow {
        OAuthFlow::AuthorizationCode {
            authorization_url,
            token_url,
            pkce_required,
            ..
        } => {
            put("authorizationUrl", authorization_url);
            put("tokenUrl", token_url);
            if *pkce_required {
                out.insert("pkceRequired".to_owned(), true.into());
            }
            ("authorizationCode", false)
        }
        OAuthFlow::ClientCredentials { token_url, .. } => {
            put("tokenUrl", token_url);
            ("clientCredentials", false)
        }
        OAuthFlow::DeviceCode {
            device_authorization_url,
            token_url,
            ..
        } => {
            put("deviceAuthorizationUrl", device_authorization_url);
            put("tokenUrl", token_url);
            ("deviceCode", false)
        }
        OAuthFlow::Implicit {
            authorization_url, ..
        } => {
            put_set("authorizationUrl", authorization_url.as_deref(), &mut out);
            ("implicit", true)
        }
        OAuthFlow::Password { token_url, .. } => {
            put_set("tokenUrl", token_url.as_deref(), &mut out);
            ("password", true)
        }
    };
    let (refresh_url, scopes) = common(flow);
    put_set("refreshUrl", refresh_url, &mut out);
    if !(deprecated && scopes.is_empty()) {
        out.insert("scopes".to_owned(), json!(scopes));
    }
    (name.to_owned(), out.into())
}

/// What all flows have: where tokens are renewed, and the scopes.
fn common(flow: &OAuthFlow) -> (Option<&str>, &Scopes) {
    let (refresh_url, scopes) = match flow {
        OAuthFlow::AuthorizationCode {
            refresh_url,
            scopes,
            ..
        }
        | OAuthFlow::ClientCredentials {
            refresh_url,
            scopes,
            ..
        }
        | OAuthFlow::DeviceCode {
            refresh_url,
            scopes,
            ..
        }
        | OAuthFlow::Implicit {
            refresh_url,
            scopes,
            ..
        }
        | OAuthFlow::Password {
            refresh_url,
            scopes,
            ..
        } => (refresh_url, scopes),
    };
    (refresh_url.as_deref().filter(|url| !url.is_empty()), scopes)
}
