//! Callers who show who they are (S1 §2, S2 §5).

#![expect(clippy::expect_used, reason = "a test may stop where it is surprised")]

use serde_json::{Value, json};
use switchboard_keys::{Algorithm, SigningKey, jwks};
use switchboard_testkit::{Server, answer, say};
use tempfile::TempDir;

const PASSWORD: &str = "open sesame, please";

/// A server whose agents ask for a token or a password, and who can make tokens.
struct Closed {
    server: Server,
    key: SigningKey,
    _files: TempDir,
}

impl Closed {
    async fn open() -> Self {
        let key = SigningKey::generate(Algorithm::Es256).expect("a key");
        let files = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &[u8]| {
            let path = files.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path.display().to_string()
        };
        let keys = write("keys.json", &jwks(&[&key]));
        let password = write("password", PASSWORD.as_bytes());
        let server = Server::serve(&format!(
            r#"
auth:
  methods:
    bearer: {{ jwt: {{ jwks_file: "{keys}", issuer: tests, audience: [switchboard] }} }}
    corp: {{ jwt: {{ issuer: "http://127.0.0.1:9", audience: [switchboard] }} }}
    flow:
      jwt:
        jwks_file: "{keys}"
        audience: [switchboard]
        declare: {{ client_credentials: {{ token_url: "https://t.example/token", scopes: {{ read: to read }} }} }}
    ops: {{ basic: {{ users: {{ alice: {{ password_file: "{password}" }} }} }} }}
  require: [bearer, ops]
agents:
  new: {{ script: [complete: done], card: 1.0 }}
  old: {{ script: [complete: done], card: 0.3 }}
  each: {{ script: [complete: done], card: 1.0, auth: [bearer, corp, flow, [ops, bearer], none] }}
  each-old: {{ script: [complete: done], card: 0.3, auth: [bearer, corp, flow, [ops, bearer], none] }}
  open: {{ script: [complete: done], auth: none }}
"#
        ))
        .await;
        Self {
            server,
            key,
            _files: files,
        }
    }

    fn token(&self, subject: &str) -> String {
        let claims =
            json!({"iss": "tests", "aud": "switchboard", "sub": subject, "exp": 4_000_000_000_u64});
        let claims = claims.to_string();
        self.key.sign_compact("JWT", claims.as_bytes())
    }

    async fn send(&self, agent: &str, authorization: Option<&str>) -> (u16, Value) {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("x")});
        let url = self.server.url(&format!("/a2a/{agent}"));
        let mut request = reqwest::Client::new().post(url).json(&call);
        if let Some(text) = authorization {
            request = request.header("authorization", text);
        }
        let answer = answer(request).await;
        (answer.status, answer.body)
    }

    async fn card(&self, agent: &str) -> Value {
        let path = format!("/a2a/{agent}/.well-known/agent-card.json");
        let answer = self.server.get(&path).await;
        assert_eq!(answer.status, 200);
        answer.body
    }
}

#[tokio::test]
async fn s1_023_a_call_is_answered_only_with_credentials_of_the_agent() {
    use base64::Engine as _;
    let closed = Closed::open().await;
    let token = format!("Bearer {}", closed.token("ann"));
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("alice:{PASSWORD}"));
    let basic = format!("Basic {basic}");
    for (agent, authorization, expected) in [
        ("new", None, 401),
        ("new", Some("Bearer x.y.z"), 401),
        ("new", Some(token.as_str()), 200),
        ("new", Some(&basic), 200),
        ("old", Some(&token), 200),
        ("each", None, 200),
        ("each", Some("Bearer x.y.z"), 401),
        ("open", None, 200),
        ("open", Some("Bearer x.y.z"), 200),
    ] {
        let (status, body) = closed.send(agent, authorization).await;
        assert_eq!(status, expected, "{agent} {authorization:?}: {body}");
    }
    let logged = closed.server.logged();
    for secret in [token.as_str(), &basic, PASSWORD] {
        assert!(!logged.contains(secret));
    }
}

#[tokio::test]
async fn s1_024_every_scheme_is_named_in_the_challenge() {
    let closed = Closed::open().await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("x")});
    let answer = closed.server.post("/a2a/new", &call).await;
    assert_eq!(answer.status, 401);
    let asked = answer.headers.get_all("www-authenticate").into_iter();
    let asked: Vec<&str> = asked.filter_map(|value| value.to_str().ok()).collect();
    assert_eq!(
        asked,
        [
            "Bearer realm=\"switchboard\"",
            "Basic realm=\"switchboard\", charset=\"UTF-8\""
        ]
    );
}

#[tokio::test]
async fn s1_058_every_method_stands_on_the_cards_of_every_version() {
    let closed = Closed::open().await;
    let url = "http://127.0.0.1:9/.well-known/openid-configuration";
    let new = closed.card("each").await;
    assert_eq!(
        new["securitySchemes"],
        json!({
            "bearer": {"httpAuthSecurityScheme": {"scheme": "bearer", "bearerFormat": "JWT"}},
            "corp": {"openIdConnectSecurityScheme": {"openIdConnectUrl": url}},
            "flow": {"oauth2SecurityScheme": {"flows": {"clientCredentials":
                {"tokenUrl": "https://t.example/token", "scopes": {"read": "to read"}}}}},
            "ops": {"httpAuthSecurityScheme": {"scheme": "basic"}},
        })
    );
    assert_eq!(
        new["securityRequirements"].as_array().map(Vec::len),
        Some(5),
        "{new}"
    );
    let old = closed.card("each-old").await;
    assert_eq!(
        old["securitySchemes"],
        json!({
            "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            "corp": {"type": "openIdConnect", "openIdConnectUrl": url},
            "flow": {"type": "oauth2", "flows": {"clientCredentials":
                {"tokenUrl": "https://t.example/token", "scopes": {"read": "to read"}}}},
            "ops": {"type": "http", "scheme": "basic"},
        })
    );
    assert_eq!(
        old["security"],
        json!([{"bearer": []}, {"corp": []}, {"flow": []}, {"bearer": [], "ops": []}, {}])
    );
    let open = closed.card("open").await;
    assert_eq!(open.get("security"), None);
}

#[tokio::test]
async fn s1_049_no_secret_stands_on_a_card() {
    let closed = Closed::open().await;
    for agent in ["new", "old", "each", "each-old", "open"] {
        let card = closed.card(agent).await.to_string();
        assert!(
            !card.contains(PASSWORD) && !card.contains("alice"),
            "{card}"
        );
    }
}
