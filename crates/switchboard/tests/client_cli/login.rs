//! `auth login`

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Router, body::Bytes};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::agent::{bare, ran};

/// An agent that takes tokens of its own issuer only.
#[derive(Debug)]
struct Guarded {
    base: String,
    tokens: AtomicUsize,
}

impl Guarded {
    async fn start() -> (Arc<Self>, JoinSet<()>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let guarded = Arc::new(Self {
            base: format!("http://{}", listener.local_addr().unwrap()),
            tokens: AtomicUsize::new(0),
        });
        let app = Router::new()
            .route("/.well-known/agent-card.json", get(card))
            .route("/token", post(token))
            .route("/", post(answer))
            .with_state(Arc::clone(&guarded));
        // Ends with the test that holds it.
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        (guarded, serving)
    }
}

async fn card(State(guarded): State<Arc<Guarded>>) -> String {
    let base = &guarded.base;
    json!({
        "name": "guarded", "description": "Asks who you are", "version": "1",
        "supportedInterfaces": [{"url": format!("{base}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
        "securitySchemes": {"login": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {
            "tokenUrl": format!("{base}/token"), "scopes": {"talk": "to talk"},
        }}}}},
        "securityRequirements": [{"schemes": {"login": {"list": ["talk"]}}}],
    })
    .to_string()
}

async fn token(State(guarded): State<Arc<Guarded>>, form: Bytes) -> (StatusCode, String) {
    let form = String::from_utf8_lossy(&form);
    if !form.contains("grant_type=client_credentials") {
        return (
            StatusCode::BAD_REQUEST,
            json!({"error": "unsupported_grant_type"}).to_string(),
        );
    }
    guarded.tokens.fetch_add(1, Ordering::SeqCst);
    let granted = json!({"access_token": "tok-123", "token_type": "Bearer", "expires_in": 600});
    (StatusCode::OK, granted.to_string())
}

async fn answer(headers: HeaderMap, body: Bytes) -> (StatusCode, String) {
    if headers
        .get("authorization")
        .is_none_or(|value| value != "Bearer tok-123")
    {
        return (StatusCode::UNAUTHORIZED, String::new());
    }
    let call: Value = serde_json::from_slice(&body).unwrap();
    let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "welcome"}]});
    let answer = json!({"jsonrpc": "2.0", "id": call["id"], "result": {"message": message}});
    (StatusCode::OK, answer.to_string())
}

#[tokio::test]
async fn a_token_is_fetched_once_and_sent_along() {
    let (guarded, _serving) = Guarded::start().await;
    let dir = tempfile::tempdir().unwrap();
    let send = || bare(&dir, &["send", "-a", &guarded.base, "hello"]);
    let before = ran(send()).await;
    assert_eq!(before.code, Some(4), "{before:?}");
    assert!(
        before.err.contains("A2ACLI_ERR_CREDENTIALS_MISSING"),
        "{}",
        before.err
    );

    let mut login = bare(
        &dir,
        &["auth", "login", "-a", &guarded.base, "--client-id", "robot"],
    );
    login.env("A2ACLI_CLIENT_SECRET", "hush-hush");
    let login = ran(login).await;
    assert_eq!(login.code, Some(0), "{login:?}");
    assert!(
        !login.out.contains("tok-123") && !login.err.contains("tok-123"),
        "{login:?}"
    );
    let file = dir.path().join("home/.config/a2a-cli/tokens.json");
    assert!(file.exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    for _ in 0..2 {
        let sent = ran(send()).await;
        assert_eq!(sent.code, Some(0), "{sent:?}");
        assert!(sent.out.contains("welcome"), "{}", sent.out);
    }
    assert_eq!(guarded.tokens.load(Ordering::SeqCst), 1);

    let tokens = std::fs::read_to_string(&file).unwrap();
    let mut tokens: Value = serde_json::from_str(&tokens).unwrap();
    tokens[&guarded.base]["expires"] = 1.into();
    std::fs::write(&file, tokens.to_string()).unwrap();
    let expired = ran(send()).await;
    assert_eq!(expired.code, Some(4), "{expired:?}");
    assert!(expired.err.contains("has expired"), "{}", expired.err);
}
