//! What callers show, good and bad.

use serde_json::json;
use switchboard_keys::{Algorithm, SigningKey};
use switchboard_server::clock;

use crate::world::World;

/// A header of a request.
pub(crate) type Header = (&'static str, String);

/// For whom tokens are.
pub(crate) const AUDIENCE: &str = "https://agents.example";
/// What callers of `scoped` need.
pub(crate) const SCOPE: &str = "use";

/// A kind of credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Token,
    Key,
    Password,
}

pub(crate) const SORTS: [Sort; 3] = [Sort::Token, Sort::Key, Sort::Password];

/// How good it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quality {
    None,
    Wrong,
    Expired,
    Foreign,
    Insufficient,
    Right,
}

pub(crate) const QUALITIES: [Quality; 6] = [
    Quality::None,
    Quality::Wrong,
    Quality::Expired,
    Quality::Foreign,
    Quality::Insufficient,
    Quality::Right,
];

/// Tokens of an issuer whose keys are in a file.
#[derive(Debug)]
pub(crate) struct Tokens {
    key: SigningKey,
}

impl Tokens {
    pub(crate) fn new() -> Self {
        let key = SigningKey::generate(Algorithm::Es256).unwrap();
        Self { key }
    }

    pub(crate) fn jwks(&self) -> Vec<u8> {
        switchboard_keys::jwks(&[&self.key])
    }

    /// Good for so many seconds, from now.
    pub(crate) fn token(&self, subject: &str, audience: &str, scope: &str, good: i64) -> String {
        let now = clock::now().as_micros() / 1_000_000;
        let claims = json!({
            "iss": "https://login.example", "sub": subject, "aud": audience, "scope": scope,
            "iat": now - 600, "exp": now + good,
        });
        self.key.sign_compact("JWT", claims.to_string().as_bytes())
    }
}

pub(crate) fn bearer(token: &str) -> Vec<Header> {
    vec![("authorization", format!("Bearer {token}"))]
}

fn basic(user: &str, password: &str) -> Vec<Header> {
    // Standard alphabet; what we encode has no bytes that differ in the other one.
    let text = switchboard_keys::encoded(format!("{user}:{password}").as_bytes());
    let padding = "=".repeat((4 - text.len() % 4) % 4);
    vec![("authorization", format!("Basic {text}{padding}"))]
}

impl World {
    /// Headers that show something of this sort and quality to that agent; `None` if there is no such thing.
    pub(crate) fn show(&self, sort: Sort, quality: Quality) -> Option<Vec<Header>> {
        let token = |audience, scope, good| {
            let token = self.tokens.token("alice", audience, scope, good);
            Some(bearer(&token))
        };
        let key = |key: &str| Some(vec![("x-api-key", key.to_owned())]);
        match (sort, quality) {
            (_, Quality::None) => Some(Vec::new()),
            (Sort::Token, Quality::Wrong) => {
                let other = Tokens::new();
                Some(bearer(&other.token("alice", AUDIENCE, SCOPE, 600)))
            }
            (Sort::Token, Quality::Expired) => token(AUDIENCE, SCOPE, -300),
            (Sort::Token, Quality::Foreign) => token("https://else.example", SCOPE, 600),
            (Sort::Token, Quality::Insufficient) => token(AUDIENCE, "look", 600),
            (Sort::Token, Quality::Right) => token(AUDIENCE, SCOPE, 600),
            (Sort::Key, Quality::Wrong) => key("sbk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
            (Sort::Key, Quality::Expired) => key(&self.keys.expired),
            (Sort::Key, Quality::Foreign) => key(&self.keys.of_another_agent),
            (Sort::Key, Quality::Insufficient) => key(&self.keys.without_scope),
            (Sort::Key, Quality::Right) => key(&self.keys.right),
            (Sort::Password, Quality::Wrong) => Some(basic("alice", "guess")),
            (Sort::Password, Quality::Foreign) => Some(basic("mallory", "open-sesame")),
            (Sort::Password, Quality::Insufficient) => Some(basic("bob", "open-sesame")),
            (Sort::Password, Quality::Right) => Some(basic("alice", "open-sesame")),
            // Passwords do not expire.
            (Sort::Password, Quality::Expired) => None,
        }
    }
}

/// The keys of a server, made by its own command beside it.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) right: String,
    pub(crate) without_scope: String,
    pub(crate) of_another_agent: String,
    pub(crate) expired: String,
}

impl Keys {
    pub(crate) fn make(data: &std::path::Path, config: &std::path::Path) -> Self {
        let make = |args: &[&str]| {
            let made = std::process::Command::new(env!("CARGO_BIN_EXE_switchboard"))
                .args(["key", "create"])
                .args(args)
                .arg("--config")
                .arg(config)
                .arg("--data")
                .arg(data)
                .env("PASSWORD", "open-sesame")
                .output()
                .unwrap();
            let said = String::from_utf8(made.stderr).unwrap();
            assert!(made.status.success(), "{said}");
            String::from_utf8(made.stdout).unwrap().trim().to_owned()
        };
        Self {
            expired: make(&["--all-agents", "--scope", SCOPE, "--expires", "1s"]),
            right: make(&["--agent", "scoped", "--scope", SCOPE, "--subject", "alice"]),
            without_scope: make(&["--agent", "scoped", "--scope", "look"]),
            of_another_agent: make(&["--agent", "closed", "--scope", SCOPE]),
        }
    }
}
