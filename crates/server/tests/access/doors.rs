//! Who is let in.

use serde_json::json;

use crate::house::open;
use crate::wire::{WAYS, Way, bearer};

const ASKED: &str = "Bearer realm=\"http://here\"";
const INVALID: &str = "Bearer realm=\"http://here\", error=\"invalid_token\"";

#[tokio::test]
async fn without_credentials_every_binding_asks_for_them() {
    let house = open(&["hall", "desk"]).await;
    for way in WAYS {
        let answer = house.read(way, "desk", "", "nobody").await;
        way.expect(&answer, 401, 16, true);
        assert_eq!(answer.challenges(), [ASKED], "{way:?}");
        let error = answer.error();
        for said in ["UNAUTHENTICATED", "bearer", "authentication required"] {
            assert!(error.contains(said), "{way:?}: {error}");
        }
    }
}

#[tokio::test]
async fn bad_credentials_are_told_apart_only_where_it_tells_nothing() {
    let house = open(&["desk"]).await;
    for (token, says) in [
        (
            "expired",
            "authentication required: the credentials have expired",
        ),
        (
            "early",
            "authentication required: the credentials are not valid yet",
        ),
        (
            "elsewhere",
            "authentication required: the credentials are for another service",
        ),
        (
            "wrong",
            "authentication required: the credentials are not valid",
        ),
        (
            "foreign",
            "authentication required: the credentials are not valid",
        ),
        (
            "revoked",
            "authentication required: the credentials are not valid",
        ),
    ] {
        for way in WAYS {
            let answer = house.read(way, "desk", token, "nobody").await;
            way.expect(&answer, 401, 16, true);
            assert_eq!(answer.challenges(), [INVALID], "{way:?} {token}");
        }
        let answer = house.read(Way::Rest10, "desk", token, "nobody").await;
        assert_eq!(answer.json()["error"]["message"], says);
    }
}

#[tokio::test]
async fn credentials_that_cannot_be_checked_are_nobodys_fault() {
    let house = open(&["desk"]).await;
    for way in WAYS {
        let answer = house.read(way, "desk", "down", "nobody").await;
        way.expect(&answer, 503, 14, true);
        assert_eq!(answer.challenges(), [] as [&str; 0], "{way:?}");
        if !matches!(way, Way::Grpc10 | Way::Grpc03) {
            assert_eq!(answer.header("retry-after"), Some("1"), "{way:?}");
        }
    }
}

#[tokio::test]
async fn a_known_caller_is_answered_by_every_binding() {
    let house = open(&["desk"]).await;
    let task = house.task("desk", "ann").await;
    for way in WAYS {
        for token in ["ann", "slow"] {
            let answer = house.read(way, "desk", token, &task).await;
            way.expect(&answer, 200, 0, false);
            assert!(
                String::from_utf8_lossy(&answer.body).contains(&task),
                "{way:?}: {answer:?}"
            );
            assert_eq!(answer.challenges(), [] as [&str; 0], "{way:?}");
        }
    }
}

#[tokio::test]
async fn a_second_user_learns_nothing_of_a_task() {
    let house = open(&["desk"]).await;
    let task = house.task("desk", "ann").await;
    let absent = "0".repeat(task.len());
    for way in WAYS {
        let foreign = house.read(way, "desk", "bob", &task).await;
        let nobodys = house.read(way, "desk", "bob", &absent).await;
        way.expect(&foreign, 404, 5, false);
        assert!(
            foreign.error().contains("TASK_NOT_FOUND"),
            "{way:?}: {foreign:?}"
        );
        assert_eq!(
            foreign.error().replace(&task, &absent),
            nobodys.error(),
            "{way:?}"
        );
    }
    let listed = house.rpc("/a2a/desk", "bob", "ListTasks", json!({})).await;
    assert_eq!(listed.json()["result"]["totalSize"], 0, "{listed:?}");
    let listed = house.rpc("/a2a/desk", "ann", "ListTasks", json!({})).await;
    assert_eq!(listed.json()["result"]["totalSize"], 1, "{listed:?}");
}

#[tokio::test]
async fn an_open_agent_does_not_look_at_credentials() {
    let house = open(&["hall", "desk"]).await;
    let task = house.task("hall", "wrong").await;
    for way in WAYS {
        for token in ["", "wrong", "ann"] {
            let answer = house.read(way, "hall", token, &task).await;
            way.expect(&answer, 200, 0, false);
        }
    }
}

#[tokio::test]
async fn who_need_not_say_who_they_are_must_not_lie() {
    let house = open(&["lounge"]).await;
    let task = house.task("lounge", "ann").await;
    for (token, rest, grpc) in [("ann", 200, 0), ("", 404, 5), ("wrong", 401, 16)] {
        for way in WAYS {
            let answer = house.read(way, "lounge", token, &task).await;
            way.expect(&answer, rest, grpc, rest == 401);
        }
    }
}

#[tokio::test]
async fn schemes_that_belong_together_are_all_needed() {
    let house = open(&["safe"]).await;
    let badge = ("x-badge", "17".to_owned());
    let both = [bearer("ann"), vec![badge.clone()]].concat();
    for (headers, status) in [
        (&bearer("ann")[..], 401),
        (std::slice::from_ref(&badge), 401),
        (&both, 404),
    ] {
        let answer = house.ask("GET", "/a2a/safe/v1/tasks/x", headers, "").await;
        assert_eq!(answer.status, status, "{headers:?}: {answer:?}");
        if status == 401 {
            let asked = [ASKED, "ApiKey in=\"header\", name=\"X-Badge\""];
            assert_eq!(answer.challenges(), asked, "{headers:?}");
        }
    }
    let odd = [bearer("ann"), bearer("bob"), vec![badge]].concat();
    let answer = house.ask("GET", "/a2a/safe/v1/tasks/x", &odd, "").await;
    assert_eq!(answer.status, 401, "two tokens are none: {answer:?}");
}

#[tokio::test]
async fn the_first_alternative_that_is_met_counts() {
    let house = open(&["gate"]).await;
    let task = house.task("gate", "ann").await;
    let path = format!("/a2a/gate/v1/tasks/{task}");
    let alone = house.ask("GET", &path, &bearer("ann"), "").await;
    assert_eq!(alone.status, 200, "{alone:?}");
    // With the badge the same person is someone else: who wears it.
    let badge = ("x-badge", "17".to_owned());
    let both = [bearer("ann"), vec![badge]].concat();
    let worn = house.ask("GET", &path, &both, "").await;
    assert_eq!(worn.status, 404, "{worn:?}");
    let refused = house.ask("GET", &path, &[], "").await;
    let asked = ["ApiKey in=\"header\", name=\"X-Badge\"", ASKED];
    assert_eq!(refused.challenges(), asked, "each scheme once");
}

#[tokio::test]
async fn the_extended_card_of_0_2_asks_for_credentials() {
    let house = open(&["desk"]).await;
    let path = "/a2a/desk/agent/authenticatedExtendedCard";
    let refused = house.ask("GET", path, &[], "").await;
    assert_eq!(refused.status, 401, "{refused:?}");
    assert_eq!(refused.challenges(), [ASKED]);
    let shown = house.ask("GET", path, &bearer("ann"), "").await;
    assert_eq!(shown.status, 200, "{shown:?}");
}

#[tokio::test]
async fn a_card_says_who_may_ask_and_is_for_everyone() {
    let house = open(&["safe", "lounge", "hall"]).await;
    let card = async |agent: &str| {
        let path = format!("/a2a/{agent}/.well-known/agent-card.json?A2A-Version=1.0");
        let answer = house.ask("GET", &path, &bearer("wrong"), "").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    let safe = card("safe").await;
    let schemes = safe["securitySchemes"].as_object().unwrap();
    assert_eq!(schemes.keys().collect::<Vec<_>>(), ["badge", "bearer"]);
    let needed = &safe["securityRequirements"];
    assert_eq!(needed.as_array().unwrap().len(), 1, "{needed}");
    let lounge = card("lounge").await;
    let needed = &lounge["securityRequirements"];
    assert_eq!(needed.as_array().unwrap().len(), 2, "{needed}");
    let hall = card("hall").await;
    assert!(hall.get("securitySchemes").is_none(), "{hall}");
}
