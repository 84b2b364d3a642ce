//! `check --explain`: what would be decided, and by which rule.

use super::*;

#[tokio::test]
async fn what_is_explained_is_what_is_answered() {
    let poets = Poets::open().await;
    let mut seen = Vec::new();
    for who in [STRANGER, MEMBER, EPIC, ADMIN, UNGRANTED] {
        for (operation, method, skill) in [
            ("SendMessage", "message/send", None),
            ("SendMessage", "message/send", Some("haiku")),
            ("SendMessage", "message/send", Some("epic")),
            ("SendMessage", "message/send", Some("ode")),
            ("GetTask", "tasks/get", None),
            ("CancelTask", "tasks/cancel", None),
        ] {
            let params = match operation {
                "SendMessage" => asks("x", skill),
                _ => json!({"id": "none"}),
            };
            let answered = poets.rpc("0.3", Some(who), method, &params).await;
            let mut question = json!({"agent": "poet", "operation": operation, "caller":
                {"method": "bearer", "subject": "ann", "tenant": who.tenant, "scopes": who.scopes}});
            if let Some(skill) = skill {
                question["skill"] = skill.into();
            }
            let told = poets.explain(&question);
            let case = format!("{who:?} {operation} {skill:?}: {told}");
            let denied = answered.status == 403;
            assert_eq!(told.starts_with("decision: deny\n"), denied, "{case}");
            assert_eq!(told.starts_with("decision: allow\n"), !denied, "{case}");
            if denied {
                assert!(told.contains("HTTP 403 PERMISSION_DENIED"), "{case}");
                let message = &answered.body["error"]["message"];
                let message = message.as_str().unwrap_or_default();
                let message = message.trim_start_matches("Forbidden: ");
                assert!(told.contains(message), "{case} {message}");
            }
            seen.push(denied);
        }
    }
    assert!(seen.contains(&true) && seen.contains(&false));
}

#[tokio::test]
async fn an_explanation_names_the_rule_and_its_line() {
    let poets = Poets::open().await;
    let caller = |scopes: &[&str]| json!({"method": "bearer", "tenant": "corp", "scopes": scopes});
    let denied = poets.explain(&json!({"agent": "poet", "operation": "CancelTask",
        "task": {"state": "working"}, "caller": caller(&["poet:use"])}));
    for line in [
        "decision: deny\n",
        "answer: HTTP 403 PERMISSION_DENIED, JSON-RPC -32055 (0.x: -32603): this is not allowed\n",
        "by: only-admins-cancel (switchboard.yaml:8:7)\n",
        "operation is \"CancelTask\"; caller.scopes is [\"poet:use\"]\n",
        "only-admins-cancel (switchboard.yaml:8:7) deny: true\n",
    ] {
        assert!(denied.contains(line), "{line} {denied}");
    }
    let allowed = poets.explain(&json!({"agent": "poet", "operation": "GetTask",
        "task": {"state": "working"}, "caller": caller(&["poet:use"])}));
    for line in [
        "decision: allow\n",
        "by: agents.poet.access.rules[0] (switchboard.yaml:22:11)\n",
        "because: caller.tenant == \"corp\": true; caller.tenant is \"corp\"\n",
        "before the task is loaded:\n",
        "with the task:\n",
    ] {
        assert!(allowed.contains(line), "{line} {allowed}");
    }
    let scope =
        poets.explain(&json!({"agent": "poet", "operation": "GetTask", "caller": caller(&[])}));
    assert!(
        scope.contains("by: agents.poet.scopes (switchboard.yaml:15:5)\n"),
        "{scope}"
    );
    let unknown = poets.explain(&json!({"agent": "poet", "operation": "GetTask"}));
    assert!(unknown.contains("HTTP 401 UNAUTHENTICATED"), "{unknown}");
    let hidden =
        poets.explain(&json!({"agent": "ghost", "operation": "GetTask", "caller": caller(&[])}));
    assert!(hidden.contains("HTTP 404"), "{hidden}");
}

#[tokio::test]
async fn a_token_is_explained_as_the_server_would_take_it() {
    let poets = Poets::open().await;
    let ask = |token: &str| {
        let token = token.trim_start_matches("Bearer ");
        poets.explain(
            &json!({"agent": "poet", "operation": "SendMessage", "skill": "epic",
            "caller": {"bearer": token}}),
        )
    };
    let epic = ask(&poets.token("ann", EPIC));
    assert!(epic.starts_with("decision: allow\n"), "{epic}");
    let member = ask(&poets.token("ann", MEMBER));
    assert!(
        member.contains("Insufficient permissions for skill 'epic'"),
        "{member}"
    );
    let mut spoiled = poets.token("ann", EPIC);
    spoiled.truncate(spoiled.len() - 8);
    for wrong in [spoiled.as_str(), "x.y.z"] {
        let told = ask(wrong);
        assert!(told.contains("HTTP 401 UNAUTHENTICATED"), "{told}");
        assert!(told.contains("the credentials are not valid"), "{told}");
        assert!(!told.contains(wrong), "{told}");
    }
}
