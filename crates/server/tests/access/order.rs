//! What is looked at first: who asks, or what.

use serde_json::{Value, json};

use crate::house::open;
use crate::wire::{Answer, bearer};

#[tokio::test]
async fn a_refusal_has_the_id_of_the_call_if_the_call_can_be_read() {
    let house = open(&["desk"]).await;
    let large = "x".repeat(100 << 10);
    let call = |id: Value, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tasks/get", "params": params}).to_string()
    };
    for (body, id) in [
        (call(json!(7), json!({"id": "x"})), json!(7)),
        (call(json!("seven"), json!({"id": "x"})), json!("seven")),
        (call(json!(7), json!(["wrong"])), json!(7)),
        (call(json!(7), json!({"id": large})), Value::Null),
        ("{\"id\":7".to_owned(), Value::Null),
        (String::new(), Value::Null),
    ] {
        let answer = house.ask("POST", "/a2a/desk", &[], body).await;
        assert_eq!(answer.status, 401, "{answer:?}");
        assert_eq!(answer.challenges().len(), 1, "{answer:?}");
        let json = answer.json();
        assert_eq!(json["id"], id, "{json}");
        assert_eq!(json["error"]["data"]["reason"], "UNAUTHENTICATED", "{json}");
    }
}

#[tokio::test]
async fn a_refusal_speaks_the_version_of_the_call() {
    let house = open(&["desk"]).await;
    let refused = house
        .rpc("/a2a/desk", "", "GetTask", json!({"id": "x"}))
        .await;
    let info = &refused.json()["error"]["data"][0];
    assert_eq!(info["reason"], "UNAUTHENTICATED", "{info}");
    assert_eq!(info["metadata"]["schemes"], "bearer", "{info}");
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "message/stream", "params": {}});
    let refused = house.ask("POST", "/a2a/desk", &[], call.to_string()).await;
    assert_eq!(refused.header("content-type"), Some("application/json"));
    let error = &refused.json()["error"];
    assert_eq!(error["code"], -32054, "{error}");
    assert_eq!(error["data"]["schemes"], "bearer", "{error}");
}

#[tokio::test]
async fn who_may_not_ask_does_not_learn_what_is_wrong_with_the_question() {
    let house = open(&["desk"]).await;
    for (verb, path) in [
        ("POST", "/a2a/desk/message:send"),
        ("PUT", "/a2a/desk/message:send"),
        ("GET", "/a2a/desk/no/such/path"),
        ("POST", "/message:send"),
    ] {
        let answer = house.ask(verb, path, &bearer("wrong"), "no JSON").await;
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
    }
    let unknown = house.ask("POST", "/a2a/nowhere", &[], "{}").await;
    assert_eq!(unknown.status, 404, "{unknown:?}");
}

#[tokio::test]
async fn where_the_body_names_the_agent_its_door_counts() {
    let house = open(&["desk", "hall", "vault"]).await;
    let ask = async |path: &str, tenant: &str, token: &str| -> Answer {
        let params = json!({"tenant": tenant, "id": "x"});
        house.rpc(path, token, "GetTask", params).await
    };
    for (tenant, token, status, code) in [
        ("hall", "", 200, 5),
        ("hall", "wrong", 200, 5),
        ("desk", "", 401, 16),
        ("", "", 401, 16),
        ("desk", "ann", 200, 5),
        ("desk", "down", 503, 14),
        ("vault", "", 401, 16),
        ("vault", "ann", 403, 7),
    ] {
        let answer = ask("/", tenant, token).await;
        assert_eq!(answer.status, status, "{tenant} {token}: {answer:?}");
        assert_eq!(answer.json()["id"], 7);
        let challenges = usize::from(status == 401);
        assert_eq!(answer.challenges().len(), challenges, "{tenant} {token}");
        let answer = house.read_of_tenant(tenant, token).await;
        assert_eq!(answer.code, Some(code), "{tenant} {token}: {answer:?}");
        assert_eq!(answer.challenges().len(), challenges, "{tenant} {token}");
    }
    let refused = house.ask("POST", "/desk/message:send", &[], "{}").await;
    assert_eq!(refused.status, 401, "{refused:?}");
}

#[tokio::test]
async fn where_no_agent_lets_the_caller_in_the_body_is_not_looked_at() {
    let house = open(&["desk", "vault"]).await;
    let broken = house.ask("POST", "/", &[], "no JSON").await;
    assert_eq!(broken.status, 401, "{broken:?}");
    let read = house.ask("POST", "/", &bearer("ann"), "no JSON").await;
    assert_eq!(read.json()["error"]["code"], -32700, "{read:?}");
}

/// A call in an envelope at an address of HTTP+JSON goes to the agent that the address names, or nowhere.
#[tokio::test]
async fn an_envelope_does_not_override_the_tenant_of_the_query() {
    let house = open(&["hall", "guild"]).await;
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]});
    let call =
        json!({"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": {"message": message}});
    let version = [("a2a-version", "1.0".to_owned())];
    for (path, status) in [
        ("/message:send", 200),
        ("/message:send?tenant=", 200),
        ("/message:send?tenant=guild", 400),
        ("/message:send?tenant=guild&tenant=hall", 400),
        ("/message:send?tenant=%FF", 400),
    ] {
        let answer = house.ask("POST", path, &version, call.to_string()).await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
}
