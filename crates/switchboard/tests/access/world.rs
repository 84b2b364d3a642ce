//! A server that asks everyone who they are.

use std::time::Duration;

use switchboard_testkit::{Server, answer, eventually};
use switchboard_types::model::TaskId;
use switchboard_types::operation::{Method, Operation};

use crate::certificates::Authority;
use crate::credentials::{Header, Keys, Tokens};
use crate::ways::{Way, id, message, operation, say, ways};

/// `open` asks for nothing; `closed` for anything; `scoped` for anything that grants `use`. All of them ask back, so
/// that their tasks stay at work.
const CONFIGURATION: &str = "
data: data
auth:
  methods:
    corp: { jwt: { jwks_file: keys.json, issuer: 'https://login.example', audience: ['https://agents.example'] } }
    keys: { api_key: {} }
    ops:
      basic:
        users:
          alice: { password: '${PASSWORD}', scopes: [use] }
          bob: { password: '${PASSWORD}', scopes: [look] }
limits: { failed_logins: { requests: 1000000 } }
push: { allow: [127.0.0.1] }
agents:
  closed:
    script: [{ ask: And? }]
    extended_card: {}
  scoped:
    scopes: [use]
    script: [{ ask: And? }]
    extended_card: {}
  open:
    auth: none
    script: [{ ask: And? }]
";

/// The server, and what opens it.
pub(crate) struct World {
    pub(crate) server: Server,
    /// Speaks HTTP/2 without being asked to.
    pub(crate) http2: reqwest::Client,
    pub(crate) tokens: Tokens,
    pub(crate) keys: Keys,
}

impl World {
    pub(crate) async fn open() -> Self {
        Self::open_with("").await
    }

    /// With more settings.
    pub(crate) async fn open_with(settings: &str) -> Self {
        let world = Self::unread(&format!("{settings}{CONFIGURATION}"), Vec::new()).await;
        world.until_all_keys_are_known().await;
        world
    }

    /// The same over encrypted connections, and callers may show certificates.
    pub(crate) async fn encrypted(authority: &Authority) -> Self {
        let keys = "    keys: { api_key: {} }\n";
        let mesh = "    mesh: { mtls: { subjects: ['spiffe://corp/*'] } }\n";
        let methods = CONFIGURATION.replace(keys, &format!("{keys}{mesh}"));
        let tls = "tls: { cert_file: cert.pem, key_file: key.pem, client_ca_file: ca.pem }";
        let configuration = format!("{tls}{methods}");
        Self::unread(&configuration, authority.files().into()).await
    }

    async fn unread(configuration: &str, mut files: Vec<(&str, Vec<u8>)>) -> Self {
        let tokens = Tokens::new();
        files.push(("keys.json", tokens.jwks()));
        let server =
            Server::serve_with(configuration, &files, &[("PASSWORD", "open-sesame")]).await;
        let keys = Keys::make(&server.data(), &server.configuration());
        let http2 = reqwest::Client::builder()
            .http2_prior_knowledge()
            .timeout(Duration::from_secs(20))
            .build()
            .unwrap();
        Self {
            server,
            http2,
            tokens,
            keys,
        }
    }

    /// The server has read the keys, and the time of one of them has passed.
    async fn until_all_keys_are_known(&self) {
        eventually("the key has expired", async || {
            let get = self.server.http.get(self.server.url("/a2a/closed/tasks"));
            let get = get.header("a2a-version", "1.0");
            let answer = answer(get.header("x-api-key", &self.keys.expired)).await;
            match answer.body.to_string().contains("have expired") {
                true => Ok(()),
                false => Err(format!("{answer:?}")),
            }
        })
        .await;
    }

    /// A task of that caller which waits for an answer and has a webhook.
    pub(crate) async fn task(&self, agent: &str, credentials: &[Header]) -> TaskId {
        let first: Way = ways().next().unwrap();
        let send = Operation::Send(say(message()));
        let made = first.ask(self, agent, credentials, &send).await;
        assert!(made.is_good(), "{made:?}");
        let id = id(made.json()["result"]["task"]["id"].as_str().unwrap());
        let hook = operation(Method::CreatePushConfig, &id);
        let hooked = first.ask(self, agent, credentials, &hook).await;
        assert!(hooked.is_good(), "{hooked:?}");
        id
    }
}
