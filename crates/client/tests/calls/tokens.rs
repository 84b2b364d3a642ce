//! Tokens for what stands behind an agent: asked for once, kept as long as they are good, and clear words where
//! none can be had.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use http::Response;
use serde_json::json as value;
use switchboard_client::{Error, ExchangeTarget, Kind, Tls, TokenClient, TokenEndpoint, Tokens};
use switchboard_testkit::eventually;
use switchboard_types::model::Secret;
use tokio::time::Instant;
use url::form_urlencoded;

use crate::support::{Asked, Body, Odd, json, plain, status};

const SECRET: &str = "s3cr3t & more";
const ANN: &str = "token-of-ann";

/// An issuer, and what its token endpoint was asked.
struct Desk {
    odd: Odd,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Desk {
    /// Gives tokens named by their number, good for so many seconds.
    async fn open(expires_in: u64) -> Self {
        Self::answering(move |asked, n| {
            let told = match asked.path.as_str() {
                "/token" => value!({"access_token": format!("token-{n}"),
                    "token_type": "Bearer", "expires_in": expires_in}),
                "/.well-known/openid-configuration"
                | "/.well-known/oauth-authorization-server/north" => value!({
                    "issuer": asked.base.clone() + if asked.path.ends_with("north") { "/north" } else { "" },
                    "token_endpoint": format!("{}/token", asked.base)}),
                _ => return status(404),
            };
            json(200, &told.to_string())
        })
        .await
    }

    async fn answering(
        answer: impl Fn(&Asked, usize) -> Response<Body> + Send + Sync + 'static,
    ) -> Self {
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let seen = Arc::clone(&asked);
        let odd = Odd::serve(move |ask: Asked| {
            let count = {
                let mut seen = seen.lock().unwrap();
                seen.push(ask.clone());
                seen.iter().filter(|ask| ask.path == "/token").count()
            };
            let answer = answer(&ask, count);
            std::future::ready(answer)
        })
        .await;
        Self { odd, asked }
    }

    fn url(&self) -> TokenEndpoint {
        TokenEndpoint::Url(format!("{}/token", self.odd.base))
    }

    fn own(&self) -> Tokens {
        Tokens::client_credentials(&self.url(), client(), &Tls::new()).unwrap()
    }

    fn exchanging(&self) -> Tokens {
        let target = ExchangeTarget {
            audience: Some("upstream".to_owned()),
            resource: Some("https://upstream.example/a".to_owned()),
        };
        Tokens::exchange(&self.url(), client(), target, &Tls::new()).unwrap()
    }

    fn paths(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|ask| ask.path.clone()).collect()
    }

    fn form(&self, n: usize) -> BTreeMap<String, String> {
        let asked = self.asked.lock().unwrap();
        let form = form_urlencoded::parse(&asked[n].body);
        form.into_owned().collect()
    }
}

fn client() -> TokenClient {
    TokenClient {
        id: "desk".to_owned(),
        secret: Secret::new(SECRET),
        scopes: vec!["read".to_owned(), "write".to_owned()],
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

async fn token(tokens: &Tokens, subject: Option<&str>) -> String {
    let subject = subject.map(Secret::new);
    let got = tokens.get(subject.as_ref(), soon()).await.unwrap();
    got.token.reveal().to_owned()
}

fn form(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = pairs
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    owned.collect()
}

#[tokio::test]
async fn a_client_gets_a_token_of_its_own_and_keeps_it() {
    let desk = Desk::open(3600).await;
    let tokens = desk.own();
    for subject in [None, Some(ANN), None] {
        assert_eq!(token(&tokens, subject).await, "token-1");
    }
    assert_eq!(desk.paths(), ["/token"]);
    let asked = form(&[
        ("grant_type", "client_credentials"),
        ("scope", "read write"),
    ]);
    assert_eq!(desk.form(0), asked);
    let seen = desk.asked.lock().unwrap()[0].clone();
    // `desk:s3cr3t+%26+more`: form-encoded first.
    let basic = "Basic ZGVzazpzM2NyM3QrJTI2K21vcmU=";
    assert_eq!(seen.header("authorization"), Some(basic));
    let kind = seen.header("content-type");
    assert_eq!(kind, Some("application/x-www-form-urlencoded"));
}

#[tokio::test]
async fn a_token_is_exchanged_in_the_words_of_rfc_8693() {
    let desk = Desk::open(3600).await;
    assert_eq!(token(&desk.exchanging(), Some(ANN)).await, "token-1");
    let asked = form(&[
        (
            "grant_type",
            "urn:ietf:params:oauth:grant-type:token-exchange",
        ),
        ("subject_token", ANN),
        (
            "subject_token_type",
            "urn:ietf:params:oauth:token-type:access_token",
        ),
        (
            "requested_token_type",
            "urn:ietf:params:oauth:token-type:access_token",
        ),
        ("audience", "upstream"),
        ("resource", "https://upstream.example/a"),
        ("scope", "read write"),
    ]);
    assert_eq!(desk.form(0), asked);
    let error = desk.exchanging().get(None, soon()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::CredentialsMissing);
    assert_eq!(desk.paths().len(), 1);
}

#[tokio::test]
async fn an_issuer_that_wants_the_secret_in_the_body_gets_it_there() {
    let desk = Desk::answering(|asked, n| match asked.header("authorization") {
        Some(_) => status(401),
        None => json(
            200,
            &value!({"access_token": format!("token-{n}")}).to_string(),
        ),
    })
    .await;
    assert_eq!(token(&desk.own(), None).await, "token-2");
    let asked = form(&[
        ("grant_type", "client_credentials"),
        ("scope", "read write"),
        ("client_id", "desk"),
        ("client_secret", SECRET),
    ]);
    assert_eq!(desk.form(1), asked);
}

#[tokio::test]
async fn an_issuer_tells_where_its_tokens_are() {
    let desk = Desk::open(3600).await;
    let by = |issuer: String| {
        let at = TokenEndpoint::Issuer(issuer);
        Tokens::exchange(&at, client(), ExchangeTarget::default(), &Tls::new()).unwrap()
    };
    let tokens = by(desk.odd.base.clone());
    for subject in ["a", "b", "a"] {
        token(&tokens, Some(subject)).await;
    }
    let openid = "/.well-known/openid-configuration";
    assert_eq!(desk.paths(), [openid, "/token", "/token"]);
    // Some describe themselves as RFC 8414 says only.
    token(&by(format!("{}/north", desk.odd.base)), Some("a")).await;
    assert_eq!(
        desk.paths()[3..],
        [
            "/north/.well-known/openid-configuration",
            "/.well-known/oauth-authorization-server/north",
            "/token"
        ]
    );
    // The description of another issuer is not believed; a slash makes it another.
    let tokens = by(format!("{}/", desk.odd.base));
    let error = tokens.get(Some(&Secret::new("a")), soon()).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), Kind::Refused);
    assert!(error.to_string().contains("another issuer"), "{error}");
    let error = by(format!("{}/nobody", desk.odd.base));
    let error = error.get(Some(&Secret::new("a")), soon()).await;
    let error = error.unwrap_err();
    assert!(error.to_string().contains("status 404"), "{error}");
}

#[tokio::test]
async fn a_crowd_asks_once_whatever_the_answer() {
    let subject = Secret::new(ANN);
    for expires_in in [3600, 0] {
        let desk = Desk::open(expires_in).await;
        let tokens = desk.exchanging();
        let asking = (0..100).map(|_| tokens.get(Some(&subject), soon()));
        for got in join_all(asking).await {
            assert_eq!(got.unwrap().token.reveal(), "token-1", "{expires_in}");
        }
        assert_eq!(desk.paths().len(), 1, "{expires_in}");
    }
    let desk = Desk::answering(|_, n| match n {
        1 => json(500, r#"{"error":"server_error"}"#),
        _ => json(200, r#"{"access_token":"t"}"#),
    })
    .await;
    let tokens = desk.exchanging();
    let asking = (0..100).map(|_| tokens.get(Some(&subject), soon()));
    for got in join_all(asking).await {
        assert_eq!(got.unwrap_err().kind(), Kind::Unreachable);
    }
    assert_eq!(desk.paths().len(), 1);
    assert_eq!(token(&tokens, Some(ANN)).await, "t", "who comes later asks");
}

#[tokio::test]
async fn each_subject_has_a_token_of_its_own() {
    let desk = Desk::open(3600).await;
    let tokens = desk.exchanging();
    let (ann, bob) = (token(&tokens, Some(ANN)), token(&tokens, Some("of-bob")));
    let (ann, bob) = tokio::join!(ann, bob);
    assert_ne!(ann, bob);
    assert_eq!(token(&tokens, Some(ANN)).await, ann);
    assert_eq!(token(&tokens, Some("of-bob")).await, bob);
    assert_eq!(desk.paths().len(), 2);
}

#[tokio::test]
async fn a_token_that_expires_or_is_refused_is_replaced() {
    let desk = Desk::open(1).await;
    let tokens = desk.own();
    let first = token(&tokens, None).await;
    eventually("another token", async || {
        token(&tokens, None).await != first
    })
    .await;
    assert_eq!(desk.paths().len(), 2);

    let desk = Desk::open(3600).await;
    let tokens = desk.exchanging();
    let subject = Secret::new(ANN);
    assert_eq!(token(&tokens, Some(ANN)).await, "token-1");
    tokens.forget(Some(&Secret::new("of-bob")), &Secret::new("token-1"));
    assert_eq!(token(&tokens, Some(ANN)).await, "token-1");
    for _ in 0..3 {
        // Also from those who learn late that it is no good.
        tokens.forget(Some(&subject), &Secret::new("token-1"));
        assert_eq!(token(&tokens, Some(ANN)).await, "token-2");
    }
    assert_eq!(desk.paths().len(), 2);
}

/// Asks for one token, and shows that no secret is told with the error.
async fn failure(desk: &Desk, patience: Duration) -> Error {
    let began = Instant::now();
    let tokens = desk.exchanging();
    let subject = Secret::new(ANN);
    let got = tokens.get(Some(&subject), began + patience).await;
    let error = got.unwrap_err();
    assert!(began.elapsed() < patience + Duration::from_secs(2));
    let shown = format!("{error} {error:?} {tokens:?}");
    for secret in [SECRET, ANN, "ZGVzazpz", "%26"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    error
}

#[tokio::test]
async fn an_issuer_that_gives_no_token_is_told_apart() {
    type Answer = fn(&Asked) -> Response<Body>;
    let elsewhere = |to: &str| {
        let mut response = status(307);
        response
            .headers_mut()
            .insert("location", to.parse().unwrap());
        response
    };
    let there = elsewhere("http://127.0.0.2:9/token").headers().clone();
    let round = elsewhere("/token").headers().clone();
    let cases: [(&str, Answer, Kind, &str); 10] = [
        (
            "500",
            |_| json(500, r#"{"access_token":"t"}"#),
            Kind::Unreachable,
            "status 500",
        ),
        (
            "503",
            |_| plain(503, "busy"),
            Kind::Unreachable,
            "status 503",
        ),
        ("429", |_| status(429), Kind::Unreachable, "status 429"),
        (
            "HTML",
            |_| plain(200, "<html>log in</html>"),
            Kind::Unintelligible,
            "no JSON",
        ),
        (
            "403",
            |_| plain(403, "<html>no</html>"),
            Kind::Refused,
            "status 403",
        ),
        (
            "nothing",
            |_| json(200, "{}"),
            Kind::Refused,
            "no token was given",
        ),
        (
            "empty",
            |_| json(200, r#"{"access_token":""}"#),
            Kind::Refused,
            "no token was given",
        ),
        (
            "huge",
            |_| json(200, &format!("\"{}\"", "x".repeat(2 << 20))),
            Kind::TooLarge,
            "larger",
        ),
        (
            "long",
            |_| {
                let token = "x".repeat(20_000);
                json(200, &value!({"access_token": token}).to_string())
            },
            Kind::TooLarge,
            "more than 16384 bytes",
        ),
        (
            "refused",
            |asked| {
                // Some quote what they were told.
                let form: BTreeMap<_, _> =
                    form_urlencoded::parse(&asked.body).into_owned().collect();
                let why = format!("{} of\n{SECRET} is no good", form["subject_token"]);
                let told = value!({"error": "invalid_grant", "error_description": why});
                json(400, &told.to_string())
            },
            Kind::Refused,
            "invalid_grant *** of*** is no good",
        ),
    ];
    for (what, answer, kind, says) in cases {
        let desk = Desk::answering(move |asked, _| answer(asked)).await;
        let error = failure(&desk, Duration::from_secs(20)).await;
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert!(error.to_string().contains(says), "{what}: {error}");
    }
    for (headers, says) in [(there, "not followed"), (round, "more than 5 redirects")] {
        let desk = Desk::answering(move |_, _| {
            let mut response = status(307);
            *response.headers_mut() = headers.clone();
            response
        })
        .await;
        let error = failure(&desk, Duration::from_secs(20)).await;
        assert_eq!(error.kind(), Kind::Unreachable, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_is_left_in_time() {
    let odd = Odd::serve(async |_: Asked| std::future::pending().await).await;
    let desk = Desk {
        odd,
        asked: Arc::default(),
    };
    let error = failure(&desk, Duration::from_millis(300)).await;
    assert_eq!(error.kind(), Kind::Timeout);
    // Nor does anyone else wait longer than they can.
    let tokens = desk.own();
    let began = Instant::now();
    let asking = (1..=20).map(|n| tokens.get(None, began + Duration::from_millis(20 * n)));
    for got in join_all(asking).await {
        assert_eq!(got.unwrap_err().kind(), Kind::Timeout);
    }
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn who_has_more_time_asks_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    let odd = Odd::serve(move |_: Asked| {
        let first = asked.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if first {
                std::future::pending::<()>().await;
            }
            json(200, r#"{"access_token":"t"}"#)
        }
    })
    .await;
    let desk = Desk {
        odd,
        asked: Arc::default(),
    };
    let tokens = desk.own();
    let hasty = tokens.get(None, Instant::now() + Duration::from_millis(100));
    let (hasty, patient) = tokio::join!(hasty, tokens.get(None, soon()));
    assert_eq!(hasty.unwrap_err().kind(), Kind::Timeout);
    assert_eq!(patient.unwrap().token.reveal(), "t");
}

#[tokio::test]
async fn a_token_without_an_end_is_kept_for_a_while() {
    let desk = Desk::answering(|_, _| json(200, r#"{"access_token":"t"}"#)).await;
    let tokens = desk.own();
    let got = tokens.get(None, soon()).await.unwrap();
    assert!((200..=300).contains(&got.lasts.as_secs()), "{got:?}");
    assert_eq!(token(&tokens, None).await, "t");
    assert_eq!(desk.paths().len(), 1);
}

#[test]
fn no_secret_goes_where_others_can_read_it() {
    for at in [
        TokenEndpoint::Url("http://login.example/token".to_owned()),
        TokenEndpoint::Issuer("http://login.example".to_owned()),
        TokenEndpoint::Issuer("ftp://localhost".to_owned()),
        TokenEndpoint::Url("token".to_owned()),
    ] {
        let error = Tokens::client_credentials(&at, client(), &Tls::new()).unwrap_err();
        assert_eq!(error.kind(), Kind::Reference, "{error}");
    }
    assert!(!format!("{:?}", client()).contains(SECRET));
}
