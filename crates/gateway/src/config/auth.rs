//! Who may call: methods, and which of them each agent asks for.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use switchboard_server::auth::method::User;
use switchboard_types::model::ApiKeyLocation;

use super::FailedLogins;
use super::agent::{at_path, join};
use super::jwt::Jwt;
use super::load::Check;
use super::problem::did_you_mean;
use super::raw;
use super::value::Bound;
use super::yaml::{Data, Step, Step::Item, Step::Key};

const LONGEST_NAME: usize = 64;
/// How long keys that are made by HTTP are good.
const LIFETIME: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// Whoever it is.
const NONE: &str = "none";

/// Ways that are enough: any of them. The methods of one way are all needed; none at all lets everyone in.
pub type Ways = Vec<Vec<Arc<str>>>;

/// One way to show who one is.
#[derive(Debug, Clone)]
pub struct Method {
    /// The scheme's name on cards.
    pub name: Arc<str>,
    /// What it is.
    pub kind: MethodKind,
}

/// A kind of method.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum MethodKind {
    /// Signed tokens.
    Jwt(Box<Jwt>),
    /// API keys.
    ApiKey(ApiKey),
    /// Names and passwords.
    Basic(Vec<User>),
    /// Client certificates: whose.
    Certificate(Vec<String>),
}

/// API keys.
#[derive(Debug, Clone)]
pub struct ApiKey {
    /// Where cards say that they go.
    pub place: ApiKeyLocation,
    /// Under which name.
    pub name: String,
    /// What a token must grant to make keys.
    pub create_scope: Arc<str>,
    /// How long a key that is made by HTTP is good at most; `None`: for ever.
    pub max_lifetime: Option<Duration>,
    /// How many keys of one maker may be good at once.
    pub max_keys: usize,
}

impl MethodKind {
    /// Whether a browser that was shown it once shows it to every page's requests.
    pub(super) fn is_sent_by_browsers(&self) -> bool {
        match self {
            Self::Basic(_) | Self::Certificate(_) => true,
            Self::ApiKey(key) => key.place == ApiKeyLocation::Cookie,
            Self::Jwt(_) => false,
        }
    }

    /// Whether API keys are taken.
    fn takes_keys(&self) -> bool {
        matches!(self, Self::ApiKey(_))
    }
}

impl Check<'_> {
    /// All methods, and what agents ask for that do not say it themselves.
    pub(super) fn auth(&mut self, raw: Option<raw::Auth>) -> (Vec<Method>, Ways) {
        let at = [Key("auth"), Key("methods")];
        let known = match raw {
            None | Some(raw::Auth::None) => return (Vec::new(), open()),
            Some(raw::Auth::Known(known)) => known,
        };
        let written = known.methods.unwrap_or(raw::Named(Vec::new())).0;
        if written.is_empty() && self.problems.is_empty() {
            self.wrong(
                &[Key("auth")],
                "no methods configured".to_owned(),
                Some("name one under `methods:`, or write `auth: none`".to_owned()),
            );
        }
        let mut methods = Vec::new();
        for (name, method) in written {
            let at = join(&at, Key(&name));
            self.method_name(&at, &name);
            let kind = match method {
                raw::Method::Jwt(jwt) => self
                    .jwt(&join(&at, Key("jwt")), *jwt)
                    .map(|jwt| MethodKind::Jwt(Box::new(jwt))),
                raw::Method::ApiKey(key) => {
                    let at = join(&at, Key("api_key"));
                    if methods
                        .iter()
                        .any(|method: &Method| method.kind.takes_keys())
                    {
                        let hint = "remove one of them".to_owned();
                        self.wrong(
                            &at,
                            "only one `api_key` method is allowed".to_owned(),
                            Some(hint),
                        );
                    }
                    Some(MethodKind::ApiKey(self.api_key(&at, key)))
                }
                raw::Method::Basic(basic) => Some(self.basic(&join(&at, Key("basic")), basic)),
                raw::Method::Mtls(mtls) => Some(self.mtls(&join(&at, Key("mtls")), mtls)),
            };
            methods.extend(kind.map(|kind| Method {
                name: name.into(),
                kind,
            }));
        }
        let ways = match known.require {
            Some(require) => self.ways(&[Key("auth"), Key("require")], require),
            None => {
                let alone = methods.iter().map(|method| vec![Arc::clone(&method.name)]);
                alone.collect()
            }
        };
        (methods, ways)
    }

    /// What one agent asks for.
    pub(super) fn agent_auth(
        &mut self,
        at: &[Step<'_>],
        raw: Option<raw::AgentAuth>,
        ways: &Ways,
    ) -> Ways {
        match raw {
            None => ways.clone(),
            Some(raw::AgentAuth::None) => open(),
            Some(raw::AgentAuth::Require(require)) => self.ways(&join(at, Key("auth")), require),
        }
    }

    fn ways(&mut self, at: &[Step<'_>], require: Vec<raw::Requirement>) -> Ways {
        if require.is_empty() {
            let hint = "write `none` if everyone may call".to_owned();
            self.wrong(at, "must name a method".to_owned(), Some(hint));
        }
        let mut ways = Vec::new();
        for (n, way) in require.into_iter().enumerate() {
            let at = join(at, Item(n));
            let names = match way {
                raw::Requirement::One(name) if name == NONE => Vec::new(),
                raw::Requirement::One(name) => vec![name],
                raw::Requirement::All(names) => {
                    if names.is_empty() {
                        let hint = "write `none` if everyone may call".to_owned();
                        self.wrong(&at, "must name a method".to_owned(), Some(hint));
                    }
                    names
                }
            };
            for name in &names {
                self.method_is_there(&at, name);
            }
            ways.push(names.into_iter().map(Arc::from).collect());
        }
        ways
    }

    /// Also one that could not be read is there.
    fn method_is_there(&mut self, at: &[Step<'_>], name: &str) {
        let methods = at_path(self.tree, &[Key("auth"), Key("methods")]);
        let known: Vec<&str> = match methods.map(|methods| &methods.data) {
            Some(Data::Map(entries)) => entries.iter().map(|entry| entry.key.as_str()).collect(),
            _ => Vec::new(),
        };
        if !known.contains(&name) {
            let hint = did_you_mean(name, known);
            self.wrong(at, format!("unknown method `{name}`"), hint);
        }
    }

    fn method_name(&mut self, at: &[Step<'_>], name: &str) {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let fits = (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(word);
        if !fits || name == NONE {
            let hint = format!(
                "use letters, digits, `-`, `_` and `.`, {LONGEST_NAME} at most, and not `none`"
            );
            let message = format!("`{name}` cannot be the name of a method");
            self.wrong(at, message, Some(hint));
        }
    }

    fn api_key(&mut self, at: &[Step<'_>], raw: raw::ApiKey) -> ApiKey {
        let name = raw.name.unwrap_or_else(|| "X-API-Key".to_owned());
        // What fits a header fits the others, too.
        if HeaderName::try_from(&*name).is_err() {
            let hint = "use letters, digits, `-` and `_`".to_owned();
            let message = format!("`{name}` cannot be the name of a header, parameter or cookie");
            self.wrong(&join(at, Key("name")), message, Some(hint));
        }
        let scope = raw.create_scope.unwrap_or_else(|| "keys:create".to_owned());
        if scope.is_empty() || scope.contains(char::is_whitespace) {
            let hint = "write one word, such as keys:create".to_owned();
            let message = "is not a valid scope".to_owned();
            self.wrong(&join(at, Key("create_scope")), message, Some(hint));
        }
        let lifetime = raw.max_lifetime.unwrap_or(Bound(Some(LIFETIME)));
        if lifetime.0 == Some(Duration::ZERO) {
            let message = "must be longer than zero".to_owned();
            self.wrong(&join(at, Key("max_lifetime")), message, None);
        }
        ApiKey {
            max_lifetime: lifetime.0,
            max_keys: self.count(&join(at, Key("max_keys")), raw.max_keys, 100),
            place: match raw.place {
                None | Some(raw::KeyPlace::Header) => ApiKeyLocation::Header,
                Some(raw::KeyPlace::Query) => ApiKeyLocation::Query,
                Some(raw::KeyPlace::Cookie) => ApiKeyLocation::Cookie,
            },
            name,
            create_scope: scope.into(),
        }
    }

    fn mtls(&mut self, at: &[Step<'_>], raw: raw::Mtls) -> MethodKind {
        let subjects = raw.subjects.unwrap_or_default();
        if (subjects.is_empty() || subjects.iter().any(String::is_empty)) && !self.is_damaged(at) {
            let hint = "write `subjects: [\"*\"]` if every certificate will do".to_owned();
            self.wrong(at, "must name subjects".to_owned(), Some(hint));
        }
        MethodKind::Certificate(subjects)
    }

    /// How often an address may fail.
    pub(super) fn failed_logins(&mut self, raw: &raw::Limits) -> FailedLogins {
        let at = |key| [Key("limits"), Key("failed_logins"), Key(key)];
        let raw = raw.failed_logins.unwrap_or_default();
        if raw.requests == Some(0) {
            self.wrong(&at("requests"), "must be at least 1".to_owned(), None);
        }
        FailedLogins {
            requests: raw.requests.unwrap_or(20),
            per: self.some_time(&at("per"), raw.per, Duration::from_secs(60)),
        }
    }
}

/// Everyone may call.
pub(super) fn open() -> Ways {
    vec![Vec::new()]
}
