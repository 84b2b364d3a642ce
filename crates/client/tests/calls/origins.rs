//! Credentials go to the origin that the user named and to those that the user listed, whatever a card says.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json as value};
use switchboard_client::{Address, Client, Credential, Credentials, Error, Kind, Retry, text};
use switchboard_types::model::Secret;

use crate::support::{Asked, Odd, json, status};

type Seen = Arc<Mutex<Vec<Asked>>>;

/// A server that answers every call, and what it was asked.
async fn witness() -> (Odd, Seen) {
    let seen = Seen::default();
    let kept = Arc::clone(&seen);
    let odd = Odd::serve(move |asked: Asked| {
        kept.lock().unwrap().push(asked.clone());
        async move {
            if asked.path == "/token" {
                return json(200, r#"{"access_token":"t","token_type":"bearer"}"#);
            }
            if asked.path == "/metadata" {
                let token = format!("{}/token", asked.base);
                return json(200, &value!({ "token_endpoint": token }).to_string());
            }
            asked.result(
                &value!({"kind": "message", "role": "agent", "messageId": "m",
                "parts": [{"kind": "text", "text": "welcome"}]}),
            )
        }
    })
    .await;
    (odd, seen)
}

/// An agent whose card names these addresses; `OWN` is its own.
async fn agent(urls: &[String], schemes: Value) -> Odd {
    let urls = urls.to_vec();
    Odd::serve(move |asked: Asked| {
        let interfaces = urls.iter().map(|url| {
            let url = url.replace("OWN", &asked.base);
            value!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"})
        });
        let interfaces: Vec<Value> = interfaces.collect();
        let security: Vec<Value> = match schemes.is_null() {
            true => Vec::new(),
            false => vec![value!({"o": []})],
        };
        let card = value!({"name": "odd", "supportedInterfaces": interfaces,
            "securitySchemes": schemes, "security": security});
        async move {
            match asked.method.as_str() {
                "GET" => json(200, &card.to_string()),
                _ => asked.result(
                    &value!({"kind": "message", "role": "agent", "messageId": "m",
                    "parts": [{"kind": "text", "text": "own"}]}),
                ),
            }
        }
    })
    .await
}

fn with_key() -> switchboard_client::Builder {
    let key = Credential::ApiKey(Secret::new("s3cret"));
    Client::builder()
        .credentials(Credentials::any(key))
        .retry(Retry::never())
}

fn require_refusal(error: &Error, origin: &str) {
    assert_eq!(error.kind(), Kind::CardInvalid, "{error}");
    let told = error.to_string();
    assert!(
        told.contains("credentials_to") && told.contains(origin),
        "{told}"
    );
}

#[tokio::test]
async fn an_interface_at_another_origin_gets_no_credentials_unless_it_is_listed() {
    let (other, seen) = witness().await;
    let elsewhere = format!("{}/rpc", other.base);
    let odd = agent(&[elsewhere], Value::Null).await;
    let error = with_key().connect(odd.base.as_str()).await.unwrap_err();
    require_refusal(&error, &other.base);
    // A header of every call may be a credential, and so may those that come with calls.
    let name = http::HeaderName::from_static("x-mine");
    let mut value = http::HeaderValue::from_static("s3cret");
    value.set_sensitive(true);
    let builder = Client::builder().header(name, value);
    let error = builder.connect(odd.base.as_str()).await.unwrap_err();
    require_refusal(&error, &other.base);
    let builder = Client::builder().credentials(Credentials::with_calls());
    let error = builder.connect(odd.base.as_str()).await.unwrap_err();
    require_refusal(&error, &other.base);
    assert!(seen.lock().unwrap().is_empty());

    let listed = with_key().credentials_to(other.base.parse().unwrap());
    let client = listed.connect(odd.base.as_str()).await.unwrap();
    client.send(text("x")).await.unwrap();
    let got = seen.lock().unwrap().pop().unwrap();
    assert_eq!(got.header("x-api-key"), Some("s3cret"));

    // Without credentials there is nothing to protect; with the address that was given it is the same origin.
    let client = Client::connect(odd.base.as_str()).await.unwrap();
    client.send(text("x")).await.unwrap();
    assert_eq!(seen.lock().unwrap().len(), 1);
    let given = with_key().address(Address::Given);
    let client = given.connect(odd.base.as_str()).await.unwrap();
    client.send(text("x")).await.unwrap();
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn of_several_interfaces_one_at_the_named_origin_is_used() {
    let (other, seen) = witness().await;
    let urls = [format!("{}/rpc", other.base), "OWN/rpc".to_owned()];
    let odd = agent(&urls, Value::Null).await;
    let client = with_key().connect(odd.base.as_str()).await.unwrap();
    let sent = client.send(text("x")).await.unwrap();
    assert_eq!(switchboard_client::answer_text(&sent), "own");
    assert!(seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_secret_of_an_oauth_client_goes_to_no_issuer_that_only_the_card_names() {
    let (issuer, seen) = witness().await;
    let base = &issuer.base;
    let secret = || Credential::OAuth {
        client_id: "me".to_owned(),
        client_secret: Some(Secret::new("s3cret")),
        scopes: Vec::new(),
    };
    for scheme in [
        value!({"type": "oauth2", "flows": {"clientCredentials":
            {"tokenUrl": format!("{base}/token"), "scopes": {}}}}),
        value!({"type": "oauth2", "flows": {"clientCredentials":
            {"tokenUrl": "OWN/token", "refreshUrl": format!("{base}/token"), "scopes": {}}}}),
        value!({"type": "openIdConnect", "openIdConnectUrl": format!("{base}/metadata")}),
    ] {
        let urls = ["OWN/rpc".to_owned()];
        let odd = agent(&urls, Value::Null).await;
        let scheme = scheme.to_string().replace("OWN", &odd.base);
        let scheme: Value = serde_json::from_str(&scheme).unwrap();
        let odd = agent(&[format!("{}/rpc", odd.base)], value!({ "o": scheme })).await;
        let builder = || {
            Client::builder()
                .credentials(Credentials::any(secret()))
                .retry(Retry::never())
        };
        let refused = match builder().connect(odd.base.as_str()).await {
            Ok(client) => client.send(text("x")).await.unwrap_err(),
            Err(error) => error,
        };
        require_refusal(&refused, "http://127.0.0.1:");
        let asked = std::mem::take(&mut *seen.lock().unwrap());
        assert!(asked.iter().all(|asked| asked.method == "GET"), "{asked:?}");
    }
}

#[tokio::test]
async fn a_device_code_is_told_to_its_own_issuer_only() {
    let (thief, seen) = witness().await;
    let (issuer, _) = witness().await;
    let scheme = value!({"o": {"oauth2SecurityScheme": {"flows": {"deviceCode": {
        "deviceAuthorizationUrl": format!("{}/device", issuer.base),
        "tokenUrl": format!("{}/token", thief.base), "scopes": {}}}}}});
    let odd = Odd::serve(move |asked: Asked| {
        let card = value!({"name": "odd", "securitySchemes": scheme,
            "securityRequirements": [{"schemes": {"o": {"list": []}}}],
            "supportedInterfaces": [{"url": format!("{}/rpc", asked.base),
                "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
        async move { json(200, &card.to_string()) }
    })
    .await;
    let public = Credential::OAuth {
        client_id: "me".to_owned(),
        client_secret: None,
        scopes: Vec::new(),
    };
    let builder = Client::builder().credentials(Credentials::any(public));
    let error = builder.connect(odd.base.as_str()).await.unwrap_err();
    require_refusal(&error, "http://127.0.0.1:");
    assert!(seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn redirects_to_another_port_are_not_followed() {
    let (other, seen) = witness().await;
    let target = format!("{}/rpc", other.base);
    let odd = Odd::serve(move |asked: Asked| {
        let target = target.clone();
        async move {
            if asked.method == "GET" {
                return asked.card("1.0");
            }
            let mut moved = status(307);
            moved
                .headers_mut()
                .insert("location", target.parse().unwrap());
            moved
        }
    })
    .await;
    let client = with_key().connect(odd.base.as_str()).await.unwrap();
    let error = client.send(text("x")).await.unwrap_err();
    assert!(error.to_string().contains("is not followed"), "{error}");
    assert!(seen.lock().unwrap().is_empty());
}
