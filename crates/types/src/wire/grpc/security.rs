//! Security schemes and requirements of a card: the same messages in both packages.
//!
//! Both have room for one OAuth flow per scheme, so a scheme with several is split as in JSON.

use std::collections::BTreeMap;

use switchboard_proto::v1_0 as wire;
use wire::o_auth_flows::Flow;
use wire::security_scheme::Scheme;

use super::field::{set, unset};
use crate::error::Error;
use crate::model::{ApiKeyLocation, OAuthFlow, SecurityRequirement, SecurityScheme};
use crate::wire::card::Split;
use crate::wire::path::Path;

/// The schemes of a card for the wire.
pub(super) fn write_schemes(
    split: &Split<'_>,
    schemes: &BTreeMap<String, SecurityScheme>,
) -> BTreeMap<String, wire::SecurityScheme> {
    let mut all = BTreeMap::new();
    for (name, scheme) in schemes {
        for (name, one) in split.schemes(name, scheme) {
            all.insert(name, write_scheme(&one));
        }
    }
    all
}

/// Requirements for the wire.
pub(super) fn write_requirements(
    split: &Split<'_>,
    required: &[SecurityRequirement],
) -> Vec<wire::SecurityRequirement> {
    let each = split.requirements(required).into_iter();
    each.map(|requirement| wire::SecurityRequirement {
        schemes: requirement
            .0
            .into_iter()
            .map(|(name, list)| (name, wire::StringList { list }))
            .collect(),
    })
    .collect()
}

/// Requirements from the wire.
pub(super) fn read_requirements(
    required: Vec<wire::SecurityRequirement>,
) -> Vec<SecurityRequirement> {
    let each = required.into_iter();
    each.map(|requirement| {
        let schemes = requirement.schemes.into_iter();
        SecurityRequirement(schemes.map(|(name, scopes)| (name, scopes.list)).collect())
    })
    .collect()
}

/// The schemes of a card from the wire.
pub(super) fn read_schemes(
    schemes: BTreeMap<String, wire::SecurityScheme>,
    at: &Path<'_>,
) -> Result<BTreeMap<String, SecurityScheme>, Error> {
    let each = schemes.into_iter();
    each.map(|(name, scheme)| Ok((name, read_scheme(scheme, at)?)))
        .collect()
}

fn write_scheme(scheme: &SecurityScheme) -> wire::SecurityScheme {
    let scheme = match scheme {
        SecurityScheme::ApiKey {
            description,
            location,
            name,
        } => Scheme::ApiKeySecurityScheme(wire::ApiKeySecurityScheme {
            description: unset(description.as_deref()),
            location: location_name(*location).to_owned(),
            name: name.clone(),
        }),
        SecurityScheme::Http {
            description,
            scheme,
            bearer_format,
        } => Scheme::HttpAuthSecurityScheme(wire::HttpAuthSecurityScheme {
            description: unset(description.as_deref()),
            scheme: scheme.clone(),
            bearer_format: unset(bearer_format.as_deref()),
        }),
        SecurityScheme::OAuth2 {
            description,
            flows,
            metadata_url,
        } => Scheme::Oauth2SecurityScheme(wire::OAuth2SecurityScheme {
            description: unset(description.as_deref()),
            flows: Some(wire::OAuthFlows {
                flow: flows.first().map(write_flow),
            }),
            oauth2_metadata_url: unset(metadata_url.as_deref()),
        }),
        SecurityScheme::OpenIdConnect { description, url } => {
            Scheme::OpenIdConnectSecurityScheme(wire::OpenIdConnectSecurityScheme {
                description: unset(description.as_deref()),
                open_id_connect_url: url.clone(),
            })
        }
        SecurityScheme::MutualTls { description } => {
            Scheme::MtlsSecurityScheme(wire::MutualTlsSecurityScheme {
                description: unset(description.as_deref()),
            })
        }
    };
    wire::SecurityScheme {
        scheme: Some(scheme),
    }
}

fn read_scheme(scheme: wire::SecurityScheme, at: &Path<'_>) -> Result<SecurityScheme, Error> {
    Ok(match scheme.scheme {
        Some(Scheme::ApiKeySecurityScheme(one)) => SecurityScheme::ApiKey {
            description: set(one.description),
            location: location(&one.location, &at.field("location"))?,
            name: one.name,
        },
        Some(Scheme::HttpAuthSecurityScheme(one)) => SecurityScheme::Http {
            description: set(one.description),
            scheme: one.scheme,
            bearer_format: set(one.bearer_format),
        },
        Some(Scheme::Oauth2SecurityScheme(one)) => {
            let flow = one.flows.and_then(|flows| flows.flow);
            SecurityScheme::OAuth2 {
                description: set(one.description),
                flows: flow.map(read_flow).into_iter().collect(),
                metadata_url: set(one.oauth2_metadata_url),
            }
        }
        Some(Scheme::OpenIdConnectSecurityScheme(one)) => SecurityScheme::OpenIdConnect {
            description: set(one.description),
            url: one.open_id_connect_url,
        },
        Some(Scheme::MtlsSecurityScheme(one)) => SecurityScheme::MutualTls {
            description: set(one.description),
        },
        None => return Err(at.error("must hold schemes of a known kind")),
    })
}

fn write_flow(flow: &OAuthFlow) -> Flow {
    match flow.clone() {
        OAuthFlow::AuthorizationCode {
            authorization_url,
            token_url,
            refresh_url,
            scopes,
            pkce_required,
        } => Flow::AuthorizationCode(wire::AuthorizationCodeOAuthFlow {
            authorization_url,
            token_url,
            refresh_url: refresh_url.unwrap_or_default(),
            scopes,
            pkce_required,
        }),
        OAuthFlow::ClientCredentials {
            token_url,
            refresh_url,
            scopes,
        } => Flow::ClientCredentials(wire::ClientCredentialsOAuthFlow {
            token_url,
            refresh_url: refresh_url.unwrap_or_default(),
            scopes,
        }),
        OAuthFlow::DeviceCode {
            device_authorization_url,
            token_url,
            refresh_url,
            scopes,
        } => Flow::DeviceCode(wire::DeviceCodeOAuthFlow {
            device_authorization_url,
            token_url,
            refresh_url: refresh_url.unwrap_or_default(),
            scopes,
        }),
        OAuthFlow::Implicit {
            authorization_url,
            refresh_url,
            scopes,
        } => Flow::Implicit(wire::ImplicitOAuthFlow {
            authorization_url: authorization_url.unwrap_or_default(),
            refresh_url: refresh_url.unwrap_or_default(),
            scopes,
        }),
        OAuthFlow::Password {
            token_url,
            refresh_url,
            scopes,
        } => Flow::Password(wire::PasswordOAuthFlow {
            token_url: token_url.unwrap_or_default(),
            refresh_url: refresh_url.unwrap_or_default(),
            scopes,
        }),
    }
}

fn read_flow(flow: Flow) -> OAuthFlow {
    match flow {
        Flow::AuthorizationCode(one) => OAuthFlow::AuthorizationCode {
            authorization_url: one.authorization_url,
            token_url: one.token_url,
            refresh_url: set(one.refresh_url),
            scopes: one.scopes,
            pkce_required: one.pkce_required,
        },
        Flow::ClientCredentials(one) => OAuthFlow::ClientCredentials {
            token_url: one.token_url,
            refresh_url: set(one.refresh_url),
            scopes: one.scopes,
        },
        Flow::DeviceCode(one) => OAuthFlow::DeviceCode {
            device_authorization_url: one.device_authorization_url,
            token_url: one.token_url,
            refresh_url: set(one.refresh_url),
            scopes: one.scopes,
        },
        Flow::Implicit(one) => OAuthFlow::Implicit {
            authorization_url: set(one.authorization_url),
            refresh_url: set(one.refresh_url),
            scopes: one.scopes,
        },
        Flow::Password(one) => OAuthFlow::Password {
            token_url: set(one.token_url),
            refresh_url: set(one.refresh_url),
            scopes: one.scopes,
        },
    }
}

fn location_name(location: ApiKeyLocation) -> &'static str {
    match location {
        ApiKeyLocation::Query => "query",
        ApiKeyLocation::Header => "header",
        ApiKeyLocation::Cookie => "cookie",
    }
}

fn location(name: &str, at: &Path<'_>) -> Result<ApiKeyLocation, Error> {
    match name {
        "query" => Ok(ApiKeyLocation::Query),
        "header" => Ok(ApiKeyLocation::Header),
        "cookie" => Ok(ApiKeyLocation::Cookie),
        _ => Err(at.error("must be query, header or cookie")),
    }
}
