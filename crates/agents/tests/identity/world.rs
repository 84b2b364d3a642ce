//! An agent that calls a service over HTTP, behind a server that knows callers by signed tokens.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use http::HeaderName;
use serde_json::json;
use switchboard_agents::identity::Outbound;
use switchboard_client::{
    Client, Credential, Credentials, ExchangeTarget, Preference, Retry, Sent, Tls, TokenClient,
    TokenEndpoint, Tokens, text,
};
use switchboard_keys::{Algorithm, PublicKeys, SigningKey, jwks};
use switchboard_server::agent::{Agent, AgentError, Outcome, Progress, Restart, Said, Turn};
use switchboard_server::auth::method::{Claims, Declared, Jwt, JwtKeys};
use switchboard_server::auth::{Access, Alternative, Authenticator, Scheme};
use switchboard_server::authorize::Authorized;
use switchboard_server::binding::{self, Service};
use switchboard_server::clock;
use switchboard_server::egress::Guard;
use switchboard_server::engine::recover::{Recovered, recover};
use switchboard_server::engine::{Engine, Parts, Settings};
use switchboard_server::http as server;
use switchboard_server::http::{Cors, Limits};
use switchboard_server::log::Log;
use switchboard_server::net::BaseUrl;
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::table::Table;
use switchboard_server::testing::agent::profile;
use switchboard_types::model::{Binding, Secret, Task};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::site::Site;

/// What the agent's client shows the issuer.
pub(crate) const SECRET: &str = "s3cr3t";

static KEY: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::generate(Algorithm::EdDsa).unwrap());

/// An agent as the ones are that call others over HTTP.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) identity: Outbound,
    pub(crate) upstream: String,
    pub(crate) http: reqwest::Client,
    /// How long it waits for an identity.
    pub(crate) patience: Duration,
    /// It never comes to an end.
    pub(crate) stuck: bool,
}

impl Backend {
    pub(crate) fn new(identity: Outbound, upstream: &Site) -> Self {
        Self {
            identity,
            upstream: upstream.url.clone(),
            http: reqwest::Client::new(),
            patience: Duration::from_secs(20),
            stuck: false,
        }
    }
}

#[async_trait]
impl Agent for Backend {
    async fn run(&self, turn: Turn, progress: Progress) -> Result<Outcome, AgentError> {
        if self.stuck {
            progress.working(Said::text("stuck")).await?;
            std::future::pending::<()>().await;
        }
        let mut tries = 0;
        loop {
            let deadline = Instant::now() + self.patience;
            let headers = match self.identity.headers(&turn.principal, deadline).await {
                Ok(headers) => headers,
                Err(error) => return error.ending(),
            };
            let request = self.http.post(&self.upstream).headers(headers.clone());
            let answer = request.body(turn.message.text()).send().await;
            let answer = answer.map_err(|error| AgentError::unavailable(error.to_string()))?;
            tries += 1;
            let refused = answer.status() == 401;
            if refused && tries == 1 && self.identity.refused(&turn.principal, &headers) {
                continue;
            }
            let said = Said::text(answer.status().as_str());
            return Ok(Outcome::Completed(said));
        }
    }

    async fn on_restart(&self, _: &Turn) -> Restart {
        Restart::Resume
    }

    fn forwarded_headers(&self) -> &[HeaderName] {
        self.identity.wants()
    }
}

/// The agent on a socket; gone when it is dropped.
pub(crate) struct World {
    base: String,
    log: Log,
    tasks: Tasks,
    pub(crate) recovered: Recovered,
}

impl Drop for World {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

impl World {
    pub(crate) async fn open(agent: impl Agent + 'static) -> Self {
        Self::on(Arc::new(MemoryStore::default()), agent).await
    }

    /// Opens on what is stored, and takes up what was cut off.
    pub(crate) async fn on(store: Arc<dyn Store>, agent: impl Agent + 'static) -> Self {
        let (log, tasks) = (Log::new(store), Tasks::default());
        let scheme: Arc<dyn Scheme> = Arc::new(scheme());
        // Known or not.
        let known = Alternative(vec![Arc::clone(&scheme)]);
        let access = Access::by(vec![known, Alternative::default()]);
        let mut profile = profile();
        profile.interfaces.bindings.push(Binding::Grpc);
        access.declare(&mut profile);
        let name: Arc<str> = Arc::from("desk");
        let engine = Engine::new(Parts {
            name: Arc::clone(&name),
            agent: Arc::new(agent),
            router: None,
            profile,
            settings: Settings::default(),
            log: log.clone(),
            guard: Arc::new(Guard::new(Vec::new())),
            tasks: tasks.clone(),
        });
        let engines = [(Arc::clone(&name), engine.clone())].into();
        let recovered = recover(&log, &engines).await.unwrap();
        let table = Arc::new(Table::default());
        table.change(vec![Authorized::new(engine, Arc::new(access))], &[], &name);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let service = Arc::new(Service::new(binding::Parts {
            handler: Arc::clone(&table) as _,
            directory: table,
            authenticator: Authenticator::new(vec![scheme]),
            base_url: BaseUrl::default(),
            cors: Cors::default(),
            limits: Limits::default(),
            tasks: tasks.clone(),
        }));
        tasks.spawn(server::serve(listener, service, None));
        Self {
            base,
            log,
            tasks,
            recovered,
        }
    }

    /// Falls over: what is stored is all that is left.
    pub(crate) async fn fall_over(self) {
        self.log.stopping().cancel();
        self.log.close().await;
        self.tasks.stop();
        self.log.store().close().await.unwrap();
    }

    /// A caller with that token, who sends more headers than anyone wants.
    pub(crate) async fn client(&self, token: Option<&str>, binding: Binding) -> Client {
        let credential = token.map(|token| Credential::Bearer(Secret::new(token)));
        let mut builder = Client::builder()
            .credentials(credential.map_or_else(Credentials::none, Credentials::any))
            .retry(Retry::never())
            .only(Preference {
                bindings: vec![binding],
                ..Preference::default()
            });
        for (name, value) in [
            ("x-trace", "one"),
            ("x-secret", "no"),
            ("cookie", "session=no"),
        ] {
            let value = http::HeaderValue::from_static(value);
            builder = builder.header(HeaderName::from_static(name), value);
        }
        builder.connect(self.base.as_str()).await.unwrap()
    }

    /// Sends a message with that token, and waits for the answer.
    pub(crate) async fn ask(&self, token: Option<&str>) -> Arc<Task> {
        let client = self.client(token, Binding::JsonRpc).await;
        task(client.send(text("x")).await.unwrap())
    }
}

pub(crate) fn task(sent: Sent) -> Arc<Task> {
    match sent {
        Sent::Task(task) => task,
        Sent::Message(message) => panic!("{message:?}"),
    }
}

/// A token of that subject, the nth of its kind.
pub(crate) fn token_of(subject: &str, n: u64) -> String {
    let now = clock::now().as_micros() / 1_000_000;
    let claims = json!({"aud": "desk", "sub": subject, "exp": now + 300, "jti": n});
    KEY.sign_compact("JWT", claims.to_string().as_bytes())
}

fn scheme() -> Jwt {
    let claims = Claims {
        issuer: None,
        audiences: vec!["desk".to_owned()],
        skew: Duration::from_secs(60),
        subject_claim: "sub".to_owned(),
        tenant_claim: None,
        scope_claim: None,
    };
    let keys = PublicKeys::from_jwks(&jwks(&[&KEY])).unwrap();
    Jwt::new(
        "bearer".into(),
        JwtKeys::Fixed(keys),
        vec![Algorithm::EdDsa],
        claims,
        Declared::Bearer,
    )
}

fn client() -> TokenClient {
    TokenClient {
        id: "desk".to_owned(),
        secret: Secret::new(SECRET),
        scopes: Vec::new(),
    }
}

/// The agent's own tokens.
pub(crate) fn own(issuer: &Site) -> Outbound {
    let at = TokenEndpoint::Url(issuer.url.clone());
    Outbound::token(Tokens::client_credentials(&at, client(), &Tls::new()).unwrap())
}

/// Tokens in exchange for those of callers.
pub(crate) fn exchanged(issuer: &Site) -> Outbound {
    let at = TokenEndpoint::Url(issuer.url.clone());
    let target = ExchangeTarget {
        audience: Some("upstream".to_owned()),
        resource: None,
    };
    Outbound::token(Tokens::exchange(&at, client(), target, &Tls::new()).unwrap())
}
