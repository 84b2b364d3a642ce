//! Everything that can be set before connecting.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use switchboard_types::FileBytes;

use crate::auth::{Credentials, Prompt};
use crate::client::Client;
use crate::connect;
use crate::connect::address::Address;
use crate::connect::cache::CardCache;
use crate::connect::choose::Preference;
use crate::connect::origin::Origin;
use crate::connect::quirks::Quirks;
use crate::connect::verify::Signatures;
use crate::error::Error;
use crate::options::Limits;
use crate::reference::Reference;
use crate::retry::Retry;
use crate::transport::record::Recorder;
use crate::transport::tls::Tls;

/// Makes a [`Client`].
#[derive(Debug, Default)]
pub struct Builder(Settings);

/// What was set.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) preference: Preference,
    pub(crate) only_preferred: bool,
    pub(crate) address: Address,
    pub(crate) credentials: Credentials,
    pub(crate) credentials_to: Vec<Origin>,
    pub(crate) prompt: Option<Arc<dyn Prompt>>,
    pub(crate) tls: Tls,
    pub(crate) retry: Retry,
    pub(crate) limits: Limits,
    pub(crate) timeout: Duration,
    pub(crate) silence: Duration,
    pub(crate) extensions: Vec<String>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) cache: Option<CardCache>,
    pub(crate) quirks: Option<Quirks>,
    pub(crate) file_bytes: FileBytes,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) signatures: Signatures,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            preference: Preference::default(),
            only_preferred: false,
            address: Address::default(),
            credentials: Credentials::none(),
            credentials_to: Vec::new(),
            prompt: None,
            tls: Tls::default(),
            retry: Retry::default(),
            limits: Limits::default(),
            timeout: Duration::from_secs(300),
            silence: Duration::from_secs(300),
            extensions: Vec::new(),
            headers: Vec::new(),
            cache: None,
            quirks: None,
            file_bytes: FileBytes::default(),
            recorder: None,
            signatures: Signatures::default(),
        }
    }
}

impl Builder {
    /// What to speak, if there is a choice.
    #[must_use]
    pub fn preference(mut self, preference: Preference) -> Self {
        self.0.preference = preference;
        self.0.only_preferred = false;
        self
    }

    /// What to speak, and nothing else: an agent that does not offer it is not connected to.
    #[must_use]
    pub fn only(mut self, preference: Preference) -> Self {
        self.0.preference = preference;
        self.0.only_preferred = true;
        self
    }

    /// Whose host counts, where card and user name different ones.
    #[must_use]
    pub fn address(mut self, address: Address) -> Self {
        self.0.address = address;
        self
    }

    /// Who we are.
    #[must_use]
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.0.credentials = credentials;
        self
    }

    /// Lets credentials go to this origin, too: to the agent if its card names an address there, and to an issuer of
    /// tokens there. Otherwise they go only to the origin of the reference.
    #[must_use]
    pub fn credentials_to(mut self, origin: Origin) -> Self {
        self.0.credentials_to.push(origin);
        self
    }

    /// How to ask the person at the keyboard, which tokens by device code need.
    #[must_use]
    pub fn prompt(mut self, prompt: Arc<dyn Prompt>) -> Self {
        self.0.prompt = Some(prompt);
        self
    }

    /// Whom to trust.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.0.tls = tls;
        self
    }

    /// How often to ask again.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.0.retry = retry;
        self
    }

    /// How much to take.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.0.limits = limits;
        self
    }

    /// How long a call may take, all attempts together; for streams, until they begin. 300 seconds, unless set.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        // A year is as good as never, and can be added to any moment.
        self.0.timeout = timeout.min(Duration::from_secs(365 * 24 * 3600));
        self
    }

    /// How long a stream may be silent, comments counted, before it is connected again. 300 seconds, unless set.
    #[must_use]
    pub fn silence(mut self, silence: Duration) -> Self {
        self.0.silence = silence;
        self
    }

    /// Asks for an extension in every call.
    #[must_use]
    pub fn extension(mut self, uri: impl Into<String>) -> Self {
        self.0.extensions.push(uri.into());
        self
    }

    /// A header of every call; metadata over gRPC.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    /// Where cards are kept between connections.
    #[must_use]
    pub fn cache(mut self, cache: CardCache) -> Self {
        self.0.cache = Some(cache);
        self
    }

    /// What the agent needs; told by its card, unless set.
    #[must_use]
    pub fn quirks(mut self, quirks: Quirks) -> Self {
        self.0.quirks = Some(quirks);
        self
    }

    /// What the field for the bytes of a file holds in 0.3 over HTTP+JSON and gRPC, where the SDKs disagree and no card
    /// tells. Base64 text, unless set: the SDKs for Python, Java and Go. [`FileBytes::Raw`] is for agents made with the
    /// SDK for JavaScript, and for those that follow the .proto file.
    #[must_use]
    pub fn file_bytes(mut self, files: FileBytes) -> Self {
        self.0.file_bytes = files;
        self
    }

    /// What is asked of the signatures of the card.
    #[must_use]
    pub fn signatures(mut self, signatures: Signatures) -> Self {
        self.0.signatures = signatures;
        self
    }

    /// Who sees every exchange.
    #[must_use]
    pub fn recorder(mut self, recorder: Recorder) -> Self {
        self.0.recorder = Some(recorder);
        self
    }

    /// Finds the agent's card and chooses how to speak to it.
    ///
    /// # Errors
    ///
    /// If there is no card, or nothing in it that can be spoken to.
    pub async fn connect(self, reference: impl Into<Reference>) -> Result<Client, Error> {
        connect::connect(self.0, reference.into()).await
    }
}
