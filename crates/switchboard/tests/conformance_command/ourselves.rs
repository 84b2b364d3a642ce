//! Our own server keeps every rule that can be seen, over all bindings and in both versions.

use switchboard_testkit::Server;

use crate::{Ran, conformance};

const AGENTS: &str = r#"
interfaces: [jsonrpc, http_json, grpc]
push:
  allow: [127.0.0.1] # our own receiver
agents:
  all:
    description: Does what the checklist asks for
    extensions:
      - uri: urn:example:known
    script:
      - choose:
          - when: { turn: 1, text: '^long' }
            do:
              - repeat:
                  times: 8
                  do:
                    - wait: 200ms
                    - say: "{{n}} of 8"
          - when: { turn: 1, text: '^ask' }
            do:
              - ask: What else?
      - chunk: { name: answer, text: "You said " }
      - chunk: { name: answer, text: "{{text}}", last: true }
      - complete: Done
  brief:
    reply: message
    script:
      - reply: "Just this: {{text}}"
  bare:
    streaming: false
    push_notifications: false
    script:
      - complete: "{{text}}"
  strict:
    extensions:
      - uri: urn:example:required
        required: true
    script:
      - complete: "{{text}}"
"#;

/// Rules that only look at what the server is, not at what it does; see the table in the source.
const OUTSIDE: usize = 30;

async fn check(server: &Server, agent: &str, more: &[&str]) -> Ran {
    let url = server.url(&format!("/a2a/{agent}"));
    let mut args = vec!["-a", &url, "-o", "json"];
    args.extend_from_slice(more);
    let ran = conformance(&args).await;
    assert_eq!(ran.with("fail"), [], "{agent}");
    assert_eq!(ran.code, Some(0), "{agent}: {}", ran.err);
    ran
}

#[tokio::test]
async fn our_own_server_passes_over_all_bindings_and_in_both_versions() {
    let server = Server::serve(AGENTS).await;
    let ran = check(
        &server,
        "all",
        &["--long-message", "long", "--ask-message", "ask"],
    )
    .await;
    let report = ran.json();
    let interfaces = report["interfaces"].as_array().expect("interfaces").iter();
    let names: Vec<&str> = interfaces.filter_map(|i| i["name"].as_str()).collect();
    for name in [
        "JSONRPC 1.0",
        "HTTP+JSON 1.0",
        "GRPC 1.0",
        "JSONRPC 0.3",
        "HTTP+JSON 0.3",
        "GRPC 0.3",
    ] {
        assert!(names.contains(&name), "{names:?}");
        assert!(
            ran.with("pass").iter().any(|(_, place, _)| place == name),
            "{name}"
        );
    }
    let seen = |place: &str| place != "card";
    let unseen = ran
        .with("not seen")
        .into_iter()
        .filter(|(_, place, _)| seen(place));
    let mut unseen: Vec<String> = unseen.map(|(id, ..)| id).collect();
    unseen.sort();
    unseen.dedup();
    // The agent answers with tasks, and this machine needs no encryption.
    assert_eq!(unseen, ["S-003", "S-095", "V03-037"]);
}

#[tokio::test]
async fn every_rule_of_the_checklist_is_in_the_report() {
    let server = Server::serve(AGENTS).await;
    let ran = check(&server, "bare", &[]).await;
    let report = ran.json();
    let rules = report["rules"].as_object().expect("a count").values();
    assert_eq!(
        rules.filter_map(serde_json::Value::as_u64).sum::<u64>(),
        126
    );
    let unseen = ran
        .with("not seen")
        .into_iter()
        .filter(|(_, place, _)| place == "card");
    assert_eq!(unseen.count(), OUTSIDE);
}

#[tokio::test]
async fn what_is_not_offered_is_refused_as_it_should_be() {
    let server = Server::serve(AGENTS).await;
    let ran = check(&server, "bare", &["--only", "S-041,S-042,V03-007,V03-023"]).await;
    assert_eq!(ran.ids("pass"), ["S-041", "S-042", "V03-007", "V03-023"]);
}

#[tokio::test]
async fn a_bare_message_is_an_answer_too() {
    let server = Server::serve(AGENTS).await;
    let ran = check(&server, "brief", &[]).await;
    let passed = ran.ids("pass");
    for id in ["S-001", "S-002", "S-003", "S-044"] {
        assert!(passed.contains(&id.to_owned()), "{id}: {passed:?}");
    }
    let unseen = ran.ids("not seen");
    assert!(
        unseen.contains(&"S-052".to_owned()),
        "there is no task to be over: {unseen:?}"
    );
}

#[tokio::test]
async fn an_extension_that_is_required_is_asked_for_everywhere_but_in_its_own_check() {
    let server = Server::serve(AGENTS).await;
    let ran = check(&server, "strict", &[]).await;
    let passed = ran.ids("pass");
    for id in ["S-001", "S-043", "S-052", "S-092", "S-093", "V03-002"] {
        assert!(passed.contains(&id.to_owned()), "{id}: {passed:?}");
    }
}

#[tokio::test]
async fn without_the_messages_it_needs_a_rule_is_not_seen() {
    let server = Server::serve(AGENTS).await;
    let ran = check(&server, "all", &["--only", "S-024,S-049"]).await;
    let unseen = ran.with("not seen");
    assert_eq!(ran.ids("not seen"), ["S-024", "S-049"]);
    for (id, _, why) in unseen {
        let flag = if id == "S-024" {
            "--long-message"
        } else {
            "--ask-message"
        };
        assert!(why.contains(flag), "{id}: {why}");
    }
}
