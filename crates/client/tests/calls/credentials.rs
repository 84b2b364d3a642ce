//! Credentials: where the card wants them, renewed when they expire, never shown.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json as value};
use switchboard_client::{
    Client, Credential, Credentials, Exchange, Kind, Prompt, Recorder, Retry, answer_text, text,
};
use switchboard_types::model::Secret;

use crate::support::{Asked, Odd, json, status};

const SECRET: &str = "s3cr3t-value";

fn secret() -> Secret {
    Secret::new(SECRET)
}

/// An agent whose card asks for `schemes`, by `security`; it answers whoever `knows` lets in.
async fn guarded(
    schemes: Value,
    security: Value,
    knows: impl Fn(&Asked) -> bool + Send + Sync + 'static,
) -> Odd {
    let knows = Arc::new(knows);
    Odd::serve(move |asked: Asked| {
        let knows = Arc::clone(&knows);
        let card = value!({
            "name": "guarded", "url": format!("{}/rpc", asked.base), "protocolVersion": "0.3.0",
            "securitySchemes": schemes, "security": security,
        });
        async move {
            if asked.method == "GET" {
                return json(200, &card.to_string());
            }
            if !knows(&asked) {
                return status(401);
            }
            asked.result(
                &value!({"kind": "message", "role": "agent", "messageId": "m",
                "parts": [{"kind": "text", "text": "welcome"}]}),
            )
        }
    })
    .await
}

async fn client(odd: &Odd, credentials: Credentials) -> Client {
    let builder = Client::builder()
        .credentials(credentials)
        .retry(Retry::never());
    builder.connect(odd.base.as_str()).await.unwrap()
}

#[tokio::test]
async fn s1_019_credentials_go_where_the_card_says() {
    let bearer = value!({"type": "http", "scheme": "Bearer"});
    let basic = value!({"type": "http", "scheme": "basic"});
    let key = |place: &str| value!({"type": "apiKey", "in": place, "name": "x-my-key"});
    type Knows = fn(&Asked) -> bool;
    let cases: [(Value, Credential, Knows); 5] = [
        (bearer, Credential::Bearer(secret()), |a| {
            a.header("authorization") == Some("Bearer s3cr3t-value")
        }),
        (
            basic,
            Credential::Basic {
                user: "me".to_owned(),
                password: secret(),
            },
            |a| a.header("authorization") == Some("Basic bWU6czNjcjN0LXZhbHVl"),
        ),
        (key("header"), Credential::ApiKey(secret()), |a| {
            a.header("x-my-key") == Some(SECRET)
        }),
        (key("query"), Credential::ApiKey(secret()), |a| {
            a.query == "x-my-key=s3cr3t-value"
        }),
        (key("cookie"), Credential::ApiKey(secret()), |a| {
            a.header("cookie") == Some("x-my-key=s3cr3t-value")
        }),
    ];
    for (scheme, credential, knows) in cases {
        let odd = guarded(value!({"a": scheme}), value!([{"a": []}]), knows).await;
        let agent = client(&odd, Credentials::any(credential.clone())).await;
        let sent = agent.send(text("x")).await.unwrap();
        assert_eq!(answer_text(&sent), "welcome", "{scheme}");
        let agent = client(&odd, Credentials::none().with("a", credential)).await;
        assert!(agent.send(text("x")).await.is_ok(), "{scheme}");
        let agent = client(&odd, Credentials::none()).await;
        let error = agent.send(text("x")).await.unwrap_err();
        assert_eq!(error.kind(), Kind::CredentialsMissing, "{error:?}");
    }
}

#[tokio::test]
async fn the_first_alternative_that_can_be_met_is_taken_whole() {
    let schemes = value!({
        "key": {"type": "apiKey", "in": "header", "name": "x-key"},
        "token": {"type": "http", "scheme": "bearer"},
    });
    let both = value!([{"key": [], "token": []}, {"token": []}]);
    let odd = guarded(schemes, both, |a| a.header("authorization").is_some()).await;
    let only_token = Credentials::none().with("token", Credential::Bearer(secret()));
    assert!(client(&odd, only_token).await.send(text("x")).await.is_ok());
    let only_key = Credentials::none().with("key", Credential::ApiKey(secret()));
    let error = client(&odd, only_key)
        .await
        .send(text("x"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::CredentialsMissing);
    assert!(
        error
            .to_string()
            .contains("an API key (key) and HTTP bearer (token), or"),
        "{error}"
    );
}

#[tokio::test]
async fn a_card_that_asks_for_nothing_still_gets_what_the_user_gave() {
    let odd = guarded(value!({}), value!([]), |a| {
        a.header("x-api-key") == Some(SECRET)
    })
    .await;
    let agent = client(&odd, Credentials::any(Credential::ApiKey(secret()))).await;
    assert!(agent.send(text("x")).await.is_ok());
    let error = client(&odd, Credentials::none())
        .await
        .send(text("x"))
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.status()), (Kind::Refused, Some(401)));
}

#[tokio::test]
async fn a_card_behind_credentials_is_shown_them_only_when_it_asks() {
    let odd = Odd::serve(async |asked: Asked| match asked.header("authorization") {
        Some("Bearer s3cr3t-value") => asked.card("1.0"),
        Some(_) => status(403),
        None => status(401),
    })
    .await;
    let with = |credentials| {
        let builder = Client::builder().credentials(credentials);
        builder.connect(odd.base.as_str())
    };
    let agent = with(Credentials::any(Credential::Bearer(secret())))
        .await
        .unwrap();
    assert_eq!(agent.card().name, "odd");
    let error = with(Credentials::none()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::CredentialsMissing);
    let wrong = Credentials::any(Credential::Bearer(Secret::new("other")));
    assert_eq!(with(wrong).await.unwrap_err().kind(), Kind::Refused);
}

/// An issuer that gives tokens named by their number, and what it was asked.
async fn issuer(pending: usize) -> (Odd, Arc<Mutex<Vec<Asked>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let polls = Arc::new(AtomicUsize::new(0));
    let odd = Odd::serve(move |ask: Asked| {
        let body = String::from_utf8_lossy(&ask.body).into_owned();
        let count = {
            let mut seen = seen.lock().unwrap();
            seen.push(ask.clone());
            seen.iter().filter(|a| a.path == "/token").count()
        };
        let polls = Arc::clone(&polls);
        async move {
            if ask.path == "/device" {
                return json(200, r#"{"device_code":"dev","user_code":"ABCD","verification_uri":"http://v","interval":0}"#);
            }
            if body.contains("device_code") && polls.fetch_add(1, Ordering::SeqCst) < pending {
                return json(400, r#"{"error":"authorization_pending"}"#);
            }
            let token = value!({"access_token": format!("token-{count}"), "refresh_token": "again",
                "expires_in": 3600, "token_type": "bearer"});
            json(200, &token.to_string())
        }
    })
    .await;
    (odd, asked)
}

#[tokio::test]
async fn tokens_are_asked_for_kept_and_replaced_when_they_are_refused() {
    let (issuer, asked) = issuer(0).await;
    let flow = value!({"type": "oauth2", "flows": {"clientCredentials":
        {"tokenUrl": format!("{}/token", issuer.base), "scopes": {"read": ""}}}});
    let good = Arc::new(Mutex::new("Bearer token-1".to_owned()));
    let known = Arc::clone(&good);
    let odd = guarded(value!({"o": flow}), value!([{"o": ["read"]}]), move |a| {
        a.header("authorization") == Some(known.lock().unwrap().as_str())
    })
    .await;
    let credential = Credential::OAuth {
        client_id: "me".to_owned(),
        client_secret: Some(secret()),
        scopes: Vec::new(),
    };
    let agent = Client::builder()
        .credentials(Credentials::any(credential))
        .credentials_to(issuer.base.parse().unwrap())
        .retry(Retry::never())
        .connect(odd.base.as_str())
        .await
        .unwrap();
    for _ in 0..3 {
        agent.send(text("x")).await.unwrap();
    }
    assert_eq!(
        asked.lock().unwrap().len(),
        1,
        "one token serves many calls"
    );
    "Bearer token-2".clone_into(&mut good.lock().unwrap());
    agent.send(text("x")).await.unwrap();
    let asked = asked.lock().unwrap();
    let forms: Vec<String> = asked
        .iter()
        .map(|a| String::from_utf8_lossy(&a.body).into_owned())
        .collect();
    assert_eq!(forms[0], "grant_type=client_credentials&scope=read");
    assert_eq!(
        forms[1],
        "grant_type=refresh_token&refresh_token=again&scope=read"
    );
    assert_eq!(
        asked[0].header("authorization"),
        Some("Basic bWU6czNjcjN0LXZhbHVl")
    );
}

#[derive(Debug, Default)]
struct Person(Mutex<Vec<String>>);

#[async_trait]
impl Prompt for Person {
    async fn device_code(&self, url: &str, code: &str) {
        self.0.lock().unwrap().push(format!("{url} {code}"));
    }
}

#[tokio::test]
async fn a_person_enters_a_code_and_the_client_asks_until_they_have() {
    let (issuer, asked) = issuer(2).await;
    let base = issuer.base.clone();
    let card = move |asked: &Asked| {
        value!({
            "name": "guarded",
            "supportedInterfaces": [{"url": format!("{}/rpc", asked.base),
                "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "securitySchemes": {"o": {"oauth2SecurityScheme": {"flows": {"deviceCode": {
                "deviceAuthorizationUrl": format!("{base}/device"),
                "tokenUrl": format!("{base}/token"), "scopes": {}}}}}},
            "securityRequirements": [{"schemes": {"o": {"list": []}}}],
        })
        .to_string()
    };
    let odd = Odd::serve(move |asked: Asked| {
        let card = card(&asked);
        async move {
            match asked.header("authorization") {
                _ if asked.method == "GET" => json(200, &card),
                Some("Bearer token-3") => asked.result(&value!({"message": {"messageId": "m",
                    "role": "ROLE_AGENT", "parts": [{"text": "welcome"}]}})),
                _ => status(401),
            }
        }
    })
    .await;
    let person = Arc::new(Person::default());
    let credential = Credential::OAuth {
        client_id: "cli".to_owned(),
        client_secret: None,
        scopes: Vec::new(),
    };
    let agent = Client::builder()
        .credentials(Credentials::any(credential))
        .prompt(Arc::clone(&person) as _)
        // Less than they need, which does not count.
        .timeout(Duration::from_secs(2))
        .connect(odd.base.as_str())
        .await
        .unwrap();
    assert_eq!(
        answer_text(&agent.send(text("x")).await.unwrap()),
        "welcome"
    );
    assert_eq!(*person.0.lock().unwrap(), ["http://v ABCD"]);
    assert_eq!(asked.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn no_secret_is_shown_in_debug_errors_or_recorded_exchanges() {
    let seen: Arc<Mutex<Vec<Exchange>>> = Arc::default();
    let kept = Arc::clone(&seen);
    for place in ["header", "query", "cookie"] {
        let scheme = value!({"a": {"type": "apiKey", "in": place, "name": "k"}});
        let odd = guarded(scheme, value!([{"a": []}]), |_| false).await;
        let kept = Arc::clone(&kept);
        let agent = Client::builder()
            .credentials(Credentials::any(Credential::ApiKey(secret())))
            .recorder(Recorder::new(move |exchange| {
                kept.lock().unwrap().push(exchange)
            }))
            .connect(odd.base.as_str())
            .await
            .unwrap();
        let error = agent.send(text("x")).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Refused);
        let shown = format!("{agent:?} {error} {error:?}");
        assert!(!shown.contains(SECRET), "{place}: {shown}");
    }
    let seen = seen.lock().unwrap();
    assert_eq!(seen.iter().filter(|e| e.status == 401).count(), 3);
    assert!(seen[1].request_body.contains("message/send"), "{seen:?}");
    let shown = format!("{seen:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    assert!(shown.contains("***"), "{shown}");
}

#[tokio::test]
async fn nothing_is_shown_of_how_tokens_are_had() {
    let seen: Arc<Mutex<Vec<Exchange>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let (issuer, _) = issuer(0).await;
    let flow = value!({"type": "oauth2", "flows": {"clientCredentials":
        {"tokenUrl": format!("{}/token", issuer.base), "scopes": {}}}});
    let odd = guarded(value!({"o": flow}), value!([{"o": []}]), |_| true).await;
    let credential = Credential::OAuth {
        client_id: "me".to_owned(),
        client_secret: Some(secret()),
        scopes: Vec::new(),
    };
    let agent = Client::builder()
        .credentials(Credentials::any(credential))
        .credentials_to(issuer.base.parse().unwrap())
        .recorder(Recorder::new(move |exchange| {
            kept.lock().unwrap().push(exchange)
        }))
        .connect(odd.base.as_str())
        .await
        .unwrap();
    agent.send(text("x")).await.unwrap();
    let shown = format!("{agent:?} {:?}", seen.lock().unwrap());
    assert!(
        !shown.contains(SECRET) && !shown.contains("token-1"),
        "{shown}"
    );
    assert_eq!(
        seen.lock().unwrap().len(),
        2,
        "the card and the send: {shown}"
    );
}

#[tokio::test]
async fn a_key_in_the_query_is_not_in_the_error_of_an_answer_that_breaks_off() {
    let odd = Odd::serve(async |asked: Asked| {
        if asked.method == "GET" {
            let card = value!({
                "name": "leaky", "url": format!("{}/rpc", asked.base), "capabilities": {"streaming": true},
                "securitySchemes": {"a": {"type": "apiKey", "in": "query", "name": "key"}},
                "security": [{"a": []}],
            });
            return json(200, &card.to_string());
        }
        crate::support::sse(vec![": x\n\n".to_owned()], crate::support::Then::Cut)
    })
    .await;
    let agent = client(&odd, Credentials::any(Credential::ApiKey(secret()))).await;
    let error = agent
        .stream(text("x"))
        .await
        .unwrap()
        .finish()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Interrupted);
    assert!(!format!("{error:?}").contains(SECRET), "{error:?}");
}

#[tokio::test]
async fn a_scheme_that_is_described_and_not_asked_for_is_met_by_name() {
    let scheme = value!({"a": {"type": "apiKey", "in": "header", "name": "x-own"}});
    let odd = guarded(scheme, value!([]), |a| a.header("x-own") == Some(SECRET)).await;
    let named = Credentials::none().with("a", Credential::ApiKey(secret()));
    assert!(client(&odd, named).await.send(text("x")).await.is_ok());
}

/// Two schemes, of which the first wants the secret of a client at an address that the user did not name.
#[tokio::test]
async fn a_scheme_with_an_untrusted_issuer_does_not_stand_in_the_way_of_the_others() {
    let schemes = value!({
        "a-oauth": {"type": "oauth2", "flows": {"clientCredentials": {
            "tokenUrl": "https://elsewhere.example/token", "scopes": {}}}},
        "b-key": {"type": "apiKey", "in": "header", "name": "x-own"},
    });
    let oauth = Credential::OAuth {
        client_id: "me".to_owned(),
        client_secret: Some(secret()),
        scopes: Vec::new(),
    };
    let alone = Credentials::none().with("a-oauth", oauth);
    let both = alone.clone().with("b-key", Credential::ApiKey(secret()));
    for security in [value!([{"a-oauth": []}, {"b-key": []}]), value!([])] {
        let odd = guarded(schemes.clone(), security.clone(), |a| {
            a.header("x-own") == Some(SECRET)
        })
        .await;
        let agent = client(&odd, both.clone()).await;
        assert!(agent.send(text("x")).await.is_ok(), "{security}");
        let refused = Client::builder().credentials(alone.clone());
        let error = refused.connect(odd.base.as_str()).await.unwrap_err();
        assert!(error.to_string().contains("elsewhere.example"), "{error}");
    }
}
