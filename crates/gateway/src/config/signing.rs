//! What is signed, and what stored secrets are sealed with.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use switchboard_server::egress::SealingKey;
use switchboard_server::sign::{self, Use};

use super::agent::join;
use super::load::{Check, lower_first};
use super::raw;
use super::yaml::{Step, Step::Item, Step::Key};

const LONGEST_KID: usize = 128;

/// Signatures of our own.
#[derive(Debug, Clone)]
pub struct Signing {
    /// The keys; names unique, and at least one signs.
    pub keys: Vec<SigningKey>,
    /// Whether what webhooks are sent is signed, too.
    pub webhooks: bool,
}

/// One key.
#[derive(Debug, Clone)]
pub struct SigningKey {
    /// Where it is.
    pub file: PathBuf,
    /// Its name, if it is not its thumbprint.
    pub kid: Option<String>,
    /// What it is for.
    pub purpose: Use,
    /// The key; `None` if it is to be made.
    pub key: Option<Arc<sign::SigningKey>>,
}

impl Check<'_> {
    pub(super) fn signing(&mut self, raw: Option<raw::Signing>, public: bool) -> Option<Signing> {
        let raw = raw?;
        if !public && !self.is_damaged(&[Key("public_url")]) {
            self.wrong(
                &[Key("signing")],
                "requires `public_url`".to_owned(),
                Some("set `public_url`: the URL on agent cards".to_owned()),
            );
        }
        let at = [Key("signing"), Key("keys")];
        let written = raw.keys.unwrap_or_default();
        if written.is_empty() && !self.is_damaged(&[Key("signing")]) {
            self.wrong(
                &at,
                "no keys configured".to_owned(),
                Some("add `- {file: signing.pem, create: true}`".to_owned()),
            );
            return None;
        }
        let mut keys: Vec<SigningKey> = Vec::new();
        for (number, key) in written.into_iter().enumerate() {
            let at = join(&at, Item(number));
            let Some(key) = self.signing_key(&at, key) else {
                continue;
            };
            let named = |key: &SigningKey| Some(key.key.as_ref()?.kid().to_owned());
            let same = |other: &SigningKey| {
                other.file == key.file || (named(other).is_some() && named(other) == named(&key))
            };
            if keys.iter().any(same) {
                self.wrong(&at, "this key is listed twice".to_owned(), None);
            }
            keys.push(key);
        }
        if !keys.is_empty() && keys.iter().all(|key| key.purpose == Use::Publish) {
            self.wrong(
                &at,
                "no key is used for signing".to_owned(),
                Some("leave out `use: publish` of one of them".to_owned()),
            );
        }
        Some(Signing {
            keys,
            webhooks: raw.webhooks.unwrap_or(true),
        })
    }

    fn signing_key(&mut self, at: &[Step<'_>], raw: raw::SigningKey) -> Option<SigningKey> {
        let kid = raw.kid;
        let is_name = |kid: &String| {
            (1..=LONGEST_KID).contains(&kid.len()) && kid.bytes().all(|b| b.is_ascii_graphic())
        };
        if kid.as_ref().is_some_and(|kid| !is_name(kid)) {
            let message = format!("must be 1 to {LONGEST_KID} ASCII characters without spaces");
            self.wrong(&join(at, Key("kid")), message, None);
        }
        let Some(file) = raw.file.filter(|file| !file.is_empty()) else {
            if !self.is_damaged(at) {
                let hint = "add `file`; with `create: true` it is made".to_owned();
                self.wrong(at, "there is no key".to_owned(), Some(hint));
            }
            return None;
        };
        let path = self.base.join(file);
        let mut wrong = |message: String, hint: Option<&str>| {
            let hint = hint.map(str::to_owned);
            self.wrong(&join(at, Key("file")), message, hint);
        };
        let key = match std::fs::read(&path) {
            Ok(pem) => match sign::SigningKey::from_pem(&pem) {
                Ok(key) => Some(key),
                Err(error) => {
                    wrong(format!("{}: {error}", path.display()), None);
                    return None;
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound && raw.create == Some(true) => {
                None
            }
            Err(error) => {
                let missing = error.kind() == io::ErrorKind::NotFound;
                let cause = lower_first(&error.to_string());
                let hint = "add `create: true` to make it; the path is relative to this file";
                wrong(
                    format!("{} cannot be read: {cause}", path.display()),
                    missing.then_some(hint),
                );
                return None;
            }
        };
        if key.is_some() {
            self.doubt_open_key(&join(at, Key("file")), &path);
        }
        let name = |key: sign::SigningKey| match &kid {
            Some(kid) => key.with_kid(kid.clone()),
            None => key,
        };
        Some(SigningKey {
            file: path,
            purpose: match raw.purpose {
                None | Some(raw::KeyUse::Sign) => Use::Sign,
                Some(raw::KeyUse::Publish) => Use::Publish,
            },
            key: key.map(|key| Arc::new(name(key))),
            kid,
        })
    }

    pub(super) fn secret_key(&mut self, raw: Option<raw::Secrets>) -> Option<Arc<SealingKey>> {
        let raw = raw?;
        let at = [Key("secrets")];
        if raw.key.is_some() && raw.key_file.is_some() {
            let message = "`key` and `key_file` are mutually exclusive".to_owned();
            let hint = "keep one of them".to_owned();
            self.wrong(&join(&at, Key("key_file")), message, Some(hint));
            return None;
        }
        let file = raw.key_file.as_ref().map(|file| self.base.join(file));
        let (given, text) = self.secret(&at, "key", raw.key, raw.key_file)?;
        if let Some(file) = file {
            self.doubt_open_key(&join(&at, Key(given)), &file);
        }
        let key = SealingKey::from_base64(text.reveal());
        if key.is_none() {
            self.wrong(
                &join(&at, Key(given)),
                "is not a key: 32 bytes in base64 are required".to_owned(),
                Some("make one with `head -c 32 /dev/urandom | base64`".to_owned()),
            );
        }
        key.map(Arc::new)
    }
}
