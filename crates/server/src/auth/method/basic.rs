//! A name and a password (RFC 7617).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use hyper::header::HeaderValue;
use switchboard_keys::{same, sha256};
use switchboard_types::model::{Secret, SecurityScheme};

use crate::auth::{Carried, Finding, Rejection, Scheme};
use crate::principal::{Identity, Principal};

/// Base64, with padding or without: some leave it out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// One who has a password.
#[derive(Debug, Clone)]
pub struct User {
    /// The name; no colon can be in it.
    pub name: String,
    /// The password.
    pub password: Secret,
    /// The tenant the user belongs to.
    pub tenant: Option<String>,
    /// What the user is granted.
    pub scopes: Vec<String>,
}

/// Knows users by name and password.
pub struct Basic {
    name: Arc<str>,
    users: HashMap<String, ([u8; 32], Principal)>,
}

impl Basic {
    /// Knows these users; `name` is the scheme's.
    #[must_use]
    pub fn new(name: Arc<str>, users: Vec<User>) -> Self {
        let known = |user: User| {
            let identity = Identity {
                scheme: Arc::clone(&name),
                realm: format!("basic:{name}").into(),
                subject: user.name.as_str().into(),
                tenant: user.tenant.map(Arc::from),
                scopes: user.scopes.into_iter().map(Arc::from).collect(),
                ..Identity::default()
            };
            let password = sha256(user.password.reveal().as_bytes());
            (user.name, (password, identity.into()))
        };
        let users = users.into_iter().map(known).collect();
        Self { name, users }
    }

    fn find(&self, credentials: &str) -> Result<Principal, Rejection> {
        let bytes = BASE64
            .decode(credentials)
            .map_err(|_| Rejection::Malformed)?;
        let text = String::from_utf8(bytes).map_err(|_| Rejection::Malformed)?;
        let (user, password) = text.split_once(':').ok_or(Rejection::Malformed)?;
        let password = sha256(password.as_bytes());
        // Also for a user nobody knows: how long it takes does not tell.
        let known = self.users.get(user);
        let right = known.map_or(&[0; 32], |(right, _)| right);
        let matches = same(&password, right);
        match known {
            Some((_, caller)) if matches => Ok(caller.clone()),
            _ => Err(Rejection::Unknown),
        }
    }
}

impl Scheme for Basic {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn identify<'a>(&'a self, carried: &'a Carried<'_>) -> Finding<'a> {
        match carried.authorization("Basic") {
            None => Finding::Absent,
            Some(credentials) => Finding::Now(credentials.and_then(|text| self.find(text))),
        }
    }

    fn challenge(&self, _: Option<Rejection>, _: &Carried<'_>) -> HeaderValue {
        HeaderValue::from_static("Basic realm=\"switchboard\", charset=\"UTF-8\"")
    }

    fn can_be_guessed(&self) -> bool {
        true
    }

    fn authorization(&self) -> Option<&'static str> {
        Some("Basic")
    }

    fn declared(&self) -> SecurityScheme {
        SecurityScheme::Http {
            description: None,
            scheme: "basic".to_owned(),
            bearer_format: None,
        }
    }
}

impl fmt::Debug for Basic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Basic")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_name_with_the_right_password_is_known() {
        let alice = User {
            name: "alice".to_owned(),
            password: Secret::new("a:b \u{fc}"),
            tenant: Some("corp".to_owned()),
            scopes: vec!["admin".to_owned()],
        };
        let basic = Basic::new("ops".into(), vec![alice]);
        let find = |text: &str| basic.find(&BASE64.encode(text));
        let found = find("alice:a:b \u{fc}").unwrap();
        let found = found.identity().unwrap();
        assert_eq!((&*found.realm, &*found.subject), ("basic:ops", "alice"));
        assert_eq!(found.tenant.as_deref(), Some("corp"));
        for text in [
            "alice:",
            "alice:a",
            "Alice:a:b \u{fc}",
            "bob:a:b \u{fc}",
            ":",
        ] {
            assert_eq!(find(text).unwrap_err(), Rejection::Unknown, "{text}");
        }
        assert_eq!(find("alice").unwrap_err(), Rejection::Malformed);
        assert_eq!(basic.find("%%").unwrap_err(), Rejection::Malformed);
        assert_eq!(basic.find("/w==").unwrap_err(), Rejection::Malformed);
        let unpadded = BASE64.encode("alice:a:b \u{fc}");
        assert!(basic.find(unpadded.trim_end_matches('=')).is_ok());
        assert!(!format!("{basic:?}").contains("a:b"));
    }
}
