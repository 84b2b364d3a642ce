//! An issuer of tokens on a socket, whose keys can change, and which can be slow, silent or wrong.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response, StatusCode, body::Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use switchboard_keys::{Algorithm, SigningKey, encoded, jwks};
use switchboard_server::auth::method::{Claims, Declared, JwksFrom, Jwt, JwtKeys, KeySource};
use switchboard_server::auth::{Access, Alternative, Authenticator, Failures, Scheme};
use switchboard_server::clock;
use switchboard_server::shutdown::Tasks;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::house::{Books, House, serve};
use crate::wire::{WAYS, Way};

pub(crate) const AUDIENCE: &str = "switchboard";

/// What the issuer answers with.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Keys(Bytes),
    Status(u16),
    Elsewhere(String),
    /// Nothing, until it is let go.
    Silence(Arc<Semaphore>),
}

#[derive(Debug)]
struct State {
    url: String,
    /// What its description says of itself, if there is one.
    described: Mutex<Option<Value>>,
    answer: Mutex<Answer>,
    fetched: AtomicUsize,
}

/// The issuer; gone when it is dropped.
pub(crate) struct Issuer {
    state: Arc<State>,
    pub(crate) tasks: Tasks,
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

impl Issuer {
    /// Begins with the keys of this signer.
    pub(crate) async fn open(key: &SigningKey) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let described = json!({"issuer": url, "jwks_uri": format!("{url}/keys")});
        let state = Arc::new(State {
            url,
            described: Mutex::new(Some(described)),
            answer: Mutex::new(Answer::Keys(jwks(&[key]).into())),
            fetched: AtomicUsize::new(0),
        });
        let tasks = Tasks::default();
        let (accepting, serving) = (Arc::clone(&state), tasks.clone());
        let stop = tasks.stopping().clone();
        tasks.spawn(async move {
            let all = async {
                while let Ok((stream, _)) = listener.accept().await {
                    let (state, stop) = (Arc::clone(&accepting), serving.stopping().clone());
                    serving.spawn(async move {
                        let answer = hyper::service::service_fn(move |request| {
                            answer(Arc::clone(&state), request)
                        });
                        let server = auto::Builder::new(TokioExecutor::new());
                        let connection = server.serve_connection(TokioIo::new(stream), answer);
                        drop(stop.run_until_cancelled(connection).await);
                    });
                }
            };
            stop.run_until_cancelled(all).await;
        });
        Self { state, tasks }
    }

    pub(crate) fn url(&self) -> &str {
        &self.state.url
    }

    pub(crate) fn answers(&self, answer: Answer) {
        *self.state.answer.lock().unwrap() = answer;
    }

    pub(crate) fn has(&self, keys: &[&SigningKey]) {
        self.answers(Answer::Keys(jwks(keys).into()));
    }

    pub(crate) fn describes(&self, described: Option<Value>) {
        *self.state.described.lock().unwrap() = described;
    }

    /// How often its keys were asked for.
    pub(crate) fn fetched(&self) -> usize {
        self.state.fetched.load(Ordering::SeqCst)
    }

    /// Claims that are good for five minutes.
    pub(crate) fn claims(&self, subject: &str) -> Value {
        json!({"iss": self.url(), "aud": AUDIENCE, "sub": subject, "exp": seconds() + 300})
    }

    pub(crate) fn token(&self, key: &SigningKey, subject: &str) -> String {
        key.sign_compact("JWT", self.claims(subject).to_string().as_bytes())
    }

    /// A scheme that believes this issuer, which it finds by discovery.
    pub(crate) fn scheme(&self, name: &str) -> Arc<dyn Scheme> {
        self.scheme_from(name, JwksFrom::Issuer(self.url().to_owned()))
    }

    pub(crate) fn scheme_from(&self, name: &str, from: JwksFrom) -> Arc<dyn Scheme> {
        let source = KeySource::start(from, &self.tasks).unwrap();
        let algorithms = [Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa];
        let keys = JwtKeys::Published(source);
        Arc::new(jwt(name, keys, &algorithms, Some(self.url())))
    }
}

pub(crate) fn jwt(
    name: &str,
    keys: JwtKeys,
    algorithms: &[Algorithm],
    issuer: Option<&str>,
) -> Jwt {
    let claims = Claims {
        issuer: issuer.map(str::to_owned),
        audiences: vec![AUDIENCE.to_owned()],
        skew: std::time::Duration::from_secs(60),
        subject_claim: "sub".to_owned(),
        tenant_claim: None,
        scope_claim: None,
    };
    Jwt::new(
        name.into(),
        keys,
        algorithms.to_vec(),
        claims,
        Declared::Bearer,
    )
}

/// Now, in seconds.
pub(crate) fn seconds() -> i64 {
    clock::now().as_micros() / 1_000_000
}

/// A server whose only agent `desk` lets in whom one of the schemes knows.
pub(crate) async fn desk(schemes: Vec<Arc<dyn Scheme>>, failures: Failures) -> House {
    let ways = schemes
        .iter()
        .map(|scheme| Alternative(vec![Arc::clone(scheme)]));
    let access = Access::by(ways.collect());
    let authenticator = Authenticator::new(schemes).with_failures(failures);
    let tasks = Tasks::default();
    let books = Books::unread(&tasks);
    serve(vec![("desk".into(), access)], authenticator, books, tasks).await
}

async fn answer(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let status = |code: u16| {
        let response = Response::builder().status(code);
        response.body(Full::default()).unwrap()
    };
    if request.uri().path() == "/.well-known/oauth-authorization-server" {
        let described = json!({"issuer": state.url, "jwks_uri": format!("{}/keys", state.url)});
        return Ok(Response::new(described.to_string().into()));
    }
    if request.uri().path() != "/keys" {
        let described = state.described.lock().unwrap().clone();
        return Ok(match described {
            Some(described) => Response::new(described.to_string().into()),
            None => status(404),
        });
    }
    state.fetched.fetch_add(1, Ordering::SeqCst);
    let answer = state.answer.lock().unwrap().clone();
    Ok(match answer {
        Answer::Keys(keys) => Response::new(Full::new(keys)),
        Answer::Status(code) => status(code),
        Answer::Elsewhere(url) => Response::builder()
            .status(StatusCode::FOUND)
            .header("location", url)
            .body(Full::default())
            .unwrap(),
        Answer::Silence(go_on) => {
            drop(go_on.acquire().await);
            status(500)
        }
    })
}

fn key(algorithm: Algorithm) -> SigningKey {
    SigningKey::generate(algorithm).unwrap()
}

async fn status(house: &House, token: &str) -> u16 {
    let answer = house.read(Way::Rest10, "desk", token, "nothing").await;
    answer.status.as_u16()
}

#[tokio::test]
async fn a_token_of_every_kind_of_key_opens_every_binding() {
    for algorithm in [Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa] {
        let key = key(algorithm);
        let issuer = Issuer::open(&key).await;
        let house = desk(vec![issuer.scheme("corp")], Failures::default()).await;
        let token = issuer.token(&key, "ann");
        let task = house.task("desk", &token).await;
        for way in WAYS {
            let answer = house.read(way, "desk", &token, &task).await;
            way.expect(&answer, 200, 0, true);
            let other = issuer.token(&key, "bob");
            let answer = house.read(way, "desk", &other, &task).await;
            way.expect(&answer, 404, 5, false);
        }
        assert_eq!(issuer.fetched(), 1, "{algorithm:?}");
    }
}

#[tokio::test]
async fn keys_are_found_by_their_address_and_by_either_description() {
    let key = key(Algorithm::Es256);
    let issuer = Issuer::open(&key).await;
    let by_address = JwksFrom::Url(format!("{}/keys", issuer.url()).parse().unwrap());
    let house = desk(
        vec![issuer.scheme_from("corp", by_address)],
        Failures::default(),
    )
    .await;
    let token = issuer.token(&key, "ann");
    assert_eq!(status(&house, &token).await, 404);
    issuer.describes(None);
    let house = desk(vec![issuer.scheme("corp")], Failures::default()).await;
    assert_eq!(status(&house, &token).await, 404);
}

#[tokio::test]
async fn a_description_of_someone_else_is_not_believed() {
    let key = key(Algorithm::Es256);
    let issuer = Issuer::open(&key).await;
    let keys = format!("{}/keys", issuer.url());
    for described in [
        json!({"issuer": "https://other.example", "jwks_uri": keys}),
        json!({"issuer": format!("{}/", issuer.url()), "jwks_uri": keys}),
        json!({"issuer": issuer.url(), "jwks_uri": "http://192.0.2.1/keys"}),
        json!({"issuer": issuer.url(), "jwks_uri": "file:///etc/passwd"}),
        json!({"issuer": issuer.url()}),
    ] {
        issuer.describes(Some(described.clone()));
        let house = desk(vec![issuer.scheme("corp")], Failures::default()).await;
        let token = issuer.token(&key, "ann");
        assert_eq!(status(&house, &token).await, 503, "{described}");
    }
    assert_eq!(issuer.fetched(), 0);
}

#[tokio::test]
async fn a_new_key_is_fetched_when_a_token_names_it() {
    let (old, new) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let issuer = Issuer::open(&old).await;
    let house = desk(vec![issuer.scheme("corp")], Failures::default()).await;
    let (by_old, by_new) = (issuer.token(&old, "ann"), issuer.token(&new, "ann"));
    assert_eq!(status(&house, &by_old).await, 404);
    issuer.has(&[&new]);
    assert_eq!(status(&house, &by_old).await, 404);
    assert_eq!(status(&house, &by_new).await, 404);
    // The old key is gone, and so is what was checked with it.
    assert_eq!(status(&house, &by_old).await, 401);
    assert_eq!(issuer.fetched(), 2);
}

#[tokio::test]
async fn a_new_key_is_fetched_also_where_keys_have_no_names() {
    let (old, new) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let issuer = Issuer::open(&old).await;
    let house = desk(vec![issuer.scheme("corp")], Failures::default()).await;
    let token = |key: &SigningKey| nameless(key, &issuer.claims("ann"));
    assert_eq!(status(&house, &token(&old)).await, 404);
    assert_eq!(issuer.fetched(), 1);
    issuer.has(&[&new]);
    assert_eq!(status(&house, &token(&new)).await, 404);
    assert_eq!(status(&house, &token(&old)).await, 401);
    assert_eq!(issuer.fetched(), 2);
}

/// A token that does not name its key.
fn nameless(key: &SigningKey, claims: &Value) -> String {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
    use base64::Engine as _;
    let pem = key.to_pem();
    let body: String = pem.lines().filter(|line| !line.starts_with("--")).collect();
    let der = base64::engine::general_purpose::STANDARD
        .decode(body)
        .unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der).unwrap();
    let part = |value: &Value| encoded(value.to_string().as_bytes());
    let signed = format!("{}.{}", part(&json!({"alg": "ES256"})), part(claims));
    let signature = pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
    format!("{signed}.{}", encoded(signature.as_ref()))
}

#[tokio::test]
async fn names_that_nobody_knows_do_not_make_a_storm() {
    let good = key(Algorithm::Es256);
    let issuer = Issuer::open(&good).await;
    let lenient = Failures::new(1_000, std::time::Duration::from_secs(60));
    let house = desk(vec![issuer.scheme("corp")], lenient).await;
    for n in 0..50 {
        let forged = key(Algorithm::Es256).with_kid(format!("../{n}"));
        assert_eq!(status(&house, &issuer.token(&forged, "ann")).await, 401);
    }
    assert!(issuer.fetched() <= 2, "{}", issuer.fetched());
}

#[tokio::test]
async fn an_issuer_that_cannot_be_asked_is_no_open_door_and_no_wrong_credential() {
    let key = key(Algorithm::Es256);
    let issuer = Issuer::open(&key).await;
    let too_long = Bytes::from(vec![b' '; 10 << 20]);
    let other = Issuer::open(&key).await;
    for answer in [
        Answer::Status(500),
        Answer::Keys("{}".into()),
        Answer::Keys(too_long),
        Answer::Elsewhere(format!("{}/keys", other.url())),
    ] {
        issuer.answers(answer.clone());
        let house = desk(vec![issuer.scheme("corp")], Failures::default()).await;
        let token = issuer.token(&key, "ann");
        let answer = house.read(Way::Rest10, "desk", &token, "nothing").await;
        assert_eq!(answer.status, 503);
        assert!(answer.header("retry-after").is_some());
        assert_eq!(answer.challenges(), [""; 0]);
    }
    assert_eq!(other.fetched(), 0);
}

#[tokio::test]
async fn old_keys_serve_while_the_issuer_is_down() {
    let (good, new) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let issuer = Issuer::open(&good).await;
    let house = desk(vec![issuer.scheme("corp")], Failures::default()).await;
    assert_eq!(status(&house, &issuer.token(&good, "ann")).await, 404);
    issuer.answers(Answer::Status(500));
    assert_eq!(status(&house, &issuer.token(&new, "ann")).await, 401);
    assert_eq!(status(&house, &issuer.token(&good, "bob")).await, 404);
}

#[tokio::test]
async fn a_slow_issuer_delays_nobody_for_long() {
    let key = key(Algorithm::Es256);
    let issuer = Issuer::open(&key).await;
    let go_on = Arc::new(Semaphore::new(0));
    issuer.answers(Answer::Silence(Arc::clone(&go_on)));
    let house = desk(vec![issuer.scheme("corp")], Failures::default()).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(status(&house, &issuer.token(&key, "ann")).await, 503);
    assert!(begun.elapsed() < std::time::Duration::from_secs(8));
    go_on.close();
}

#[tokio::test]
async fn keys_that_are_taken_back_open_nothing_also_if_there_are_no_others() {
    let (good, other) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let issuer = Issuer::open(&good).await;
    let house = desk(vec![issuer.scheme("corp")], Failures::default()).await;
    let token = issuer.token(&good, "ann");
    assert_eq!(status(&house, &token).await, 404);
    issuer.has(&[]);
    // Someone makes us ask.
    assert_eq!(status(&house, &issuer.token(&other, "ann")).await, 401);
    assert_eq!(issuer.fetched(), 2);
    assert_eq!(status(&house, &token).await, 401);
    // From the beginning it is no answer.
    let house = desk(vec![issuer.scheme("corp")], Failures::default()).await;
    assert_eq!(status(&house, &token).await, 503);
}
