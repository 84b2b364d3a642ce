//! Security schemes and requirements, as a card declares them.

use std::collections::BTreeMap;

/// OAuth scopes: name to description.
pub type Scopes = BTreeMap<String, String>;

/// One way to authenticate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecurityScheme {
    /// A key in a header, query parameter or cookie.
    ApiKey {
        /// For people.
        description: Option<String>,
        /// Where the key goes.
        location: ApiKeyLocation,
        /// The name of the header, parameter or cookie.
        name: String,
    },
    /// HTTP authentication.
    Http {
        /// For people.
        description: Option<String>,
        /// The scheme, such as `bearer`.
        scheme: String,
        /// A hint, such as `JWT`.
        bearer_format: Option<String>,
    },
    /// OAuth 2.0. A 0.x card may offer several flows; 1.0 allows one per scheme.
    OAuth2 {
        /// For people.
        description: Option<String>,
        /// The flows offered.
        flows: Vec<OAuthFlow>,
        /// RFC 8414 metadata.
        metadata_url: Option<String>,
    },
    /// OpenID Connect.
    OpenIdConnect {
        /// For people.
        description: Option<String>,
        /// The discovery document.
        url: String,
    },
    /// A client certificate.
    MutualTls {
        /// For people.
        description: Option<String>,
    },
}

/// Where an API key goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiKeyLocation {
    /// In the query string.
    Query,
    /// In a header.
    Header,
    /// In a cookie.
    Cookie,
}

/// One OAuth 2.0 flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OAuthFlow {
    /// Authorization code.
    AuthorizationCode {
        /// Where the user grants.
        authorization_url: String,
        /// Where tokens come from.
        token_url: String,
        /// Where tokens are renewed.
        refresh_url: Option<String>,
        /// What can be asked for.
        scopes: Scopes,
        /// RFC 7636 is required.
        pkce_required: bool,
    },
    /// Client credentials.
    ClientCredentials {
        /// Where tokens come from.
        token_url: String,
        /// Where tokens are renewed.
        refresh_url: Option<String>,
        /// What can be asked for.
        scopes: Scopes,
    },
    /// Device code (RFC 8628).
    DeviceCode {
        /// Where the device begins.
        device_authorization_url: String,
        /// Where tokens come from.
        token_url: String,
        /// Where tokens are renewed.
        refresh_url: Option<String>,
        /// What can be asked for.
        scopes: Scopes,
    },
    /// Implicit; deprecated, still on the wire.
    Implicit {
        /// Where the user grants.
        authorization_url: Option<String>,
        /// Where tokens are renewed.
        refresh_url: Option<String>,
        /// What can be asked for.
        scopes: Scopes,
    },
    /// Resource owner password; deprecated, still on the wire.
    Password {
        /// Where tokens come from.
        token_url: Option<String>,
        /// Where tokens are renewed.
        refresh_url: Option<String>,
        /// What can be asked for.
        scopes: Scopes,
    },
}

/// Schemes that must all be met: scheme name to scopes. A list of these means "any one of them".
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecurityRequirement(pub BTreeMap<String, Vec<String>>);
