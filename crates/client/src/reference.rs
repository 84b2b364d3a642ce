//! How a user names an agent. Pure: nothing is read or fetched here.

use std::path::PathBuf;
use std::str::FromStr;

use switchboard_types::model::AgentCard;
use switchboard_types::wire::card::decode_card;
use url::{Host, Url};

use crate::error::{Error, Kind};

/// How a user names an agent.
#[derive(Debug, Clone)]
pub enum Reference {
    /// A host, perhaps with port and path: `localhost:7420`, `agents.example.com/a2a/poet`.
    Host(String),
    /// Where the agent or its card is.
    Url(Url),
    /// A file with its card.
    File(PathBuf),
    /// The card itself.
    Card(Box<AgentCard>),
    /// An entry of a catalogue: `agents.example.com#poet`, `https://example.com/catalog.json#poet`.
    Catalog {
        /// Where the catalogue is.
        url: Url,
        /// The name of the entry.
        name: String,
    },
    /// A text that names nothing; it fails where it is used, with the reason.
    Invalid(String),
}

impl Reference {
    /// Where to begin to look, for what is not at hand. A host without a scheme is asked in plain text only
    /// on this machine.
    pub(crate) fn base(&self) -> Result<Option<Url>, Error> {
        match self {
            Self::Host(host) => {
                let url = Url::parse(&format!("http://{host}"));
                let mut url = url.map_err(|error| invalid(host, &error.to_string()))?;
                if !is_local(&url) {
                    // Anew, since a port that is the scheme's own is not kept.
                    url = Url::parse(&format!("https://{host}"))
                        .map_err(|error| invalid(host, &error.to_string()))?;
                }
                Ok(Some(url))
            }
            Self::Url(url) | Self::Catalog { url, .. } => Ok(Some(url.clone())),
            Self::File(_) | Self::Card(_) => Ok(None),
            Self::Invalid(why) => Err(Error::new(Kind::Reference, why.clone())),
        }
    }
}

/// Whether a URL leads to this very machine.
pub(crate) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn invalid(text: &str, why: &str) -> Error {
    // What cannot be taken apart may still hold a password or a key.
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let text = match text.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.split_once("://").map(|(scheme, _)| scheme);
            scheme.map_or(host.to_owned(), |scheme| format!("{scheme}://{host}"))
        }
        None => text.to_owned(),
    };
    Error::new(Kind::Reference, format!("{text:?} names no agent: {why}"))
        .hinting("give a host, a URL, the path of a card file, or a card as JSON")
}

impl FromStr for Reference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        if text.is_empty() {
            return Err(invalid(text, "it is empty"));
        }
        if text.starts_with('{') {
            let card = decode_card(text.as_bytes()).map_err(|error| {
                Error::new(Kind::CardInvalid, format!("this is no card: {error}"))
            })?;
            return Ok(Self::Card(Box::new(card)));
        }
        if let Some((scheme, _)) = text.split_once("://") {
            let url = Url::parse(text).map_err(|error| invalid(text, &error.to_string()))?;
            return match scheme.to_ascii_lowercase().as_str() {
                "http" | "https" => Ok(Self::Url(url).named_by(text)),
                "file" => match url.to_file_path() {
                    Ok(path) => Ok(Self::File(path)),
                    Err(()) => Err(invalid(text, "it is no path on this machine")),
                },
                _ => Err(invalid(text, "only http, https and file can be read")),
            };
        }
        let is_path = text.starts_with(['/', '.', '~'])
            || text.contains('\\')
            || (text.ends_with(".json") && !text.contains('/'));
        if is_path {
            return Ok(Self::File(PathBuf::from(text)));
        }
        let host = text.split('#').next().unwrap_or_default();
        if host.contains(char::is_whitespace) {
            return Err(invalid(text, "it has spaces in it"));
        }
        let reference = Self::Host(host.to_owned());
        let Some(url) = reference.base()? else {
            return Ok(reference);
        };
        Ok(match Self::Url(url).named_by(text) {
            Self::Url(_) => reference,
            entry => entry,
        })
    }
}

impl Reference {
    /// If what it was read from ends with the name of an entry, that entry of the catalogue there.
    fn named_by(self, text: &str) -> Self {
        match (self, text.split_once('#')) {
            (Self::Url(mut url), Some((_, name))) if !name.is_empty() => {
                url.set_fragment(None);
                let name = name.to_owned();
                Self::Catalog { url, name }
            }
            (other, _) => other,
        }
    }
}

impl From<&str> for Reference {
    fn from(text: &str) -> Self {
        text.parse()
            .unwrap_or_else(|error: Error| Self::Invalid(error.to_string()))
    }
}

impl From<String> for Reference {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Url> for Reference {
    fn from(url: Url) -> Self {
        Self::Url(url)
    }
}

impl From<AgentCard> for Reference {
    fn from(card: AgentCard) -> Self {
        Self::Card(Box::new(card))
    }
}

impl From<PathBuf> for Reference {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_says_what_it_names() {
        for (text, expected) in [
            ("localhost:7420", "host"),
            ("agents.example.com/a2a/poet", "host"),
            ("[::1]:7420", "host"),
            ("https://example.com/a2a", "url"),
            ("HTTP://example.com", "url"),
            ("file:///tmp/card.json", "file"),
            ("./card", "file"),
            ("/etc/card.json", "file"),
            ("card.json", "file"),
            (r#"{"name":"poet"}"#, "card"),
            (r##"{"name":"poet#1"}"##, "card"),
            ("./card#1.json", "file"),
            ("https://example.com#", "url"),
            ("agents.example.com#", "host"),
            (
                "https://example.com/list.json#a poet",
                "a poet of https://example.com/list.json",
            ),
            (
                "agents.example.com#poet",
                "poet of https://agents.example.com/",
            ),
            ("localhost:7420#poet", "poet of http://localhost:7420/"),
        ] {
            let is = match text.parse().unwrap() {
                Reference::Host(_) => "host".to_owned(),
                Reference::Url(_) => "url".to_owned(),
                Reference::File(_) => "file".to_owned(),
                Reference::Card(_) => "card".to_owned(),
                Reference::Catalog { url, name } => format!("{name} of {url}"),
                Reference::Invalid(why) => why,
            };
            assert_eq!(is, expected, "{text}");
        }
    }

    #[test]
    fn what_names_nothing_is_refused_and_says_what_to_give() {
        for text in [
            "",
            "  ",
            "two words",
            "ftp://example.com",
            "http://",
            "{\"a\":1}",
            ":::",
        ] {
            let error = text.parse::<Reference>().unwrap_err();
            assert!(
                matches!(error.kind(), Kind::Reference | Kind::CardInvalid),
                "{text}"
            );
        }
    }

    #[test]
    fn what_names_nothing_is_said_without_its_secrets() {
        for text in [
            "ftp://me:s3cret@example.com/?k=s3cret",
            "me:s3cret@:::",
            "two words?key=s3cret",
        ] {
            let error = text.parse::<Reference>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn a_bare_host_is_asked_in_plain_text_only_on_this_machine() {
        for (host, scheme) in [
            ("localhost:1", "http"),
            ("127.0.0.1", "http"),
            ("[::1]:80", "http"),
            ("example.com", "https"),
            ("127.0.0.1.example.com", "https"),
            ("example.com:80", "https"),
        ] {
            let base = Reference::Host(host.to_owned()).base().unwrap().unwrap();
            assert_eq!(base.scheme(), scheme, "{host}");
        }
    }
}
