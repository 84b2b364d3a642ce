//! Callers are told who issues tokens (RFC 9728).

use serde_json::json;
use switchboard_testkit::{Server, say};

const AGENTS: &str = r#"
public_url: https://agents.example/team
auth:
  methods:
    corp: { jwt: { issuer: "http://127.0.0.1:9", audience: [switchboard] } }
    other: { jwt: { issuer: "https://login.example", jwks_url: "http://127.0.0.1:9/keys", audience: [switchboard] } }
    named: { jwt: { issuer: only-a-name, jwks_url: "http://127.0.0.1:9/keys", audience: [switchboard] } }
agents:
  desk: { script: [complete: done], auth: [corp] }
  two: { script: [complete: done], auth: [[corp, other], corp] }
  inside: { script: [complete: done], auth: [named] }
  open: { script: [complete: done], auth: none }
"#;

#[tokio::test]
async fn an_agent_tells_who_issues_its_tokens_and_a_challenge_where_that_stands() {
    let server = Server::serve(AGENTS).await;
    let place = "/.well-known/oauth-protected-resource";
    let told = server.get(&format!("{place}/a2a/desk")).await;
    assert_eq!(told.status, 200);
    assert_eq!(
        told.body,
        json!({
            "resource": "https://agents.example/team/a2a/desk",
            "authorization_servers": ["http://127.0.0.1:9"],
            "bearer_methods_supported": ["header"],
        })
    );
    let two = server.get(&format!("{place}/a2a/two")).await.body;
    assert_eq!(
        two["authorization_servers"],
        json!(["http://127.0.0.1:9", "https://login.example"])
    );
    let root = server.get(place).await;
    assert_eq!(root.body["resource"], "https://agents.example/team");
    for agent in ["inside", "open", "nobody", "desk/more"] {
        let answer = server.get(&format!("{place}/a2a/{agent}")).await;
        assert_eq!(answer.status, 404, "{agent}");
    }
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("x")});
    for (agent, challenge) in [
        (
            "desk",
            "Bearer realm=\"switchboard\", resource_metadata=\
             \"https://agents.example/team/.well-known/oauth-protected-resource/a2a/desk\"",
        ),
        ("inside", "Bearer realm=\"switchboard\""),
    ] {
        let refused = server.post(&format!("/a2a/{agent}"), &call).await;
        assert_eq!(refused.status, 401);
        assert_eq!(refused.headers["www-authenticate"], challenge);
    }
    assert_eq!(server.post(place, &json!({})).await.status, 405);
}
