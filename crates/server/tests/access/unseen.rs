//! Agents that are not there for those who may not use them; and what a policy says of making keys.

use switchboard_server::store::access::{AuditQuery, What};

use crate::house::open;
use crate::wire::{Answer, WAYS, bearer};

/// An answer without what names the agent, to be compared.
fn of(answer: &Answer, name: &str) -> String {
    let mut headers: Vec<String> = answer
        .headers
        .iter()
        .filter(|(header, _)| *header != "date" && *header != "content-length")
        .map(|(header, value)| format!("{header}: {}", String::from_utf8_lossy(value.as_bytes())))
        .filter(|line| !line.starts_with("grpc-status-details-bin"))
        .collect();
    headers.sort();
    let text = format!(
        "{} {headers:?} {:?} {}",
        answer.status,
        answer.code,
        answer.error()
    );
    text.replace(name, "NAME")
}

#[tokio::test]
async fn an_agent_that_is_not_seen_answers_like_one_that_is_not_there() {
    let house = open(&["hall", "cellar"]).await;
    for token in ["", "ann", "wrong", "expired"] {
        for way in WAYS {
            let hidden = house.read(way, "cellar", token, "x").await;
            let absent = house.read(way, "nobody", token, "x").await;
            assert_eq!(
                of(&hidden, "cellar"),
                of(&absent, "nobody"),
                "{way:?} {token}"
            );
        }
        let hidden = house.read_of_tenant("cellar", token).await;
        let absent = house.read_of_tenant("nobody", token).await;
        assert_eq!(of(&hidden, "cellar"), of(&absent, "nobody"), "{token}");
        for (verb, path) in [
            ("GET", "/a2a/NAME/.well-known/agent-card.json"),
            ("GET", "/NAME/.well-known/agent-card.json"),
            ("GET", "/.well-known/agent-card.json?assistant_id=NAME"),
            ("GET", "/a2a/NAME/agent/authenticatedExtendedCard"),
            ("GET", "/a2a/NAME/v1/card"),
            ("GET", "/NAME/v1/tasks/x"),
            ("POST", "/NAME"),
            ("POST", "/a2a/NAME"),
            ("POST", "/a2a/NAME/api-key"),
        ] {
            let ask = async |name: &str| {
                let path = path.replace("NAME", name);
                house.ask(verb, &path, &bearer(token), "{}").await
            };
            let (hidden, absent) = (ask("cellar").await, ask("nobody").await);
            assert_eq!(
                of(&hidden, "cellar"),
                of(&absent, "nobody"),
                "{path} {token}"
            );
            assert!(hidden.status.is_client_error(), "{path} {hidden:?}");
        }
    }
}

#[tokio::test]
async fn an_agent_that_is_not_seen_works_for_who_may_use_it() {
    let house = open(&["hall", "cellar"]).await;
    let task = house.task("cellar", "maker").await;
    for way in WAYS {
        let answer = house.read(way, "cellar", "maker", &task).await;
        assert_eq!(answer.status, 200, "{way:?}: {answer:?}");
        assert_ne!(answer.code, Some(12), "{way:?}");
    }
    let path = "/a2a/cellar/.well-known/agent-card.json";
    let card = house.ask("GET", path, &bearer("maker"), "").await;
    assert_eq!(card.status, 200);
    assert_eq!(card.header("cache-control"), Some("private, max-age=60"));
}

#[tokio::test]
async fn a_hidden_default_agent_is_not_told_of_either() {
    let house = open(&["cellar"]).await;
    for path in ["/.well-known/agent-card.json", "/v1/tasks/x"] {
        let answer = house.ask("GET", path, &[], "").await;
        assert_eq!(answer.status, 404, "{answer:?}");
        assert!(!answer.error().contains("cellar"), "{answer:?}");
    }
}

#[tokio::test]
async fn the_policy_is_asked_before_a_key_is_made() {
    let house = open(&["vault"]).await;
    let answer = house
        .ask("POST", "/a2a/vault/api-key", &bearer("maker"), "{}")
        .await;
    assert_eq!(answer.status, 403, "{answer:?}");
    assert!(answer.error().contains("no keys for you"), "{answer:?}");
    assert!(house.access.keys().await.unwrap().is_empty());
    house.audit.close().await;
    let all = AuditQuery {
        limit: 100,
        ..AuditQuery::default()
    };
    let noted = house.access.audit(all).await.unwrap();
    let denied = noted.iter().find(|entry| entry.what == What::Denied);
    let denied = denied.unwrap_or_else(|| panic!("{noted:?}"));
    assert_eq!(denied.object.as_deref(), Some("CreateApiKey"));
    assert_eq!(denied.agent.as_deref(), Some("vault"));
}
