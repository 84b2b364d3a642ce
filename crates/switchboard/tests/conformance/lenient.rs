//! What clients of other projects rely on beside the letter of the specification: where they look for cards, what they
//! refuse on them, and what they leave out of requests.

use serde_json::{Value, json};
use switchboard_testkit::{Answer, Server, answer};

const AGENTS: &str = "
agents:
  echo: { script: [{ complete: '{{text}}' }] }
  old: { card: '0.3', script: [{ complete: '{{text}}' }], skills: [{ id: own, description: d, input_modes: [image/png] }] }
  new: { card: '1.0', script: [{ complete: '{{text}}' }] }
";

/// What a card says of its shape: its 0.3 version, and whether it lists interfaces as 1.0 does.
fn shape(card: &Value) -> (bool, bool) {
    let has = |key: &str| card.get(key).is_some();
    (has("protocolVersion"), has("supportedInterfaces"))
}

const UNION: (bool, bool) = (true, true);
const V1: (bool, bool) = (false, true);
const V0: (bool, bool) = (true, false);

/// Every address of a card, in both spellings.
fn addresses(card: &Value) -> Vec<(String, String)> {
    let listed = ["supportedInterfaces", "additionalInterfaces"].iter();
    let listed = listed.filter_map(|key| card[*key].as_array()).flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let named = listed.map(|entry| {
        let binding = [&entry["protocolBinding"], &entry["transport"]];
        let binding = binding.into_iter().find(|name| name.is_string());
        (binding.map(text).unwrap_or_default(), text(&entry["url"]))
    });
    named.collect()
}

async fn card_of(server: &Server, path: &str, header: Option<&str>) -> Value {
    let mut request = server.http.get(server.url(path));
    if let Some(version) = header {
        request = request.header("A2A-Version", version);
    }
    let answer = answer(request).await;
    assert_eq!(answer.status, 200, "{path} {header:?}: {}", answer.body);
    answer.body
}

/// google-adk refuses a card if one interface is not an http(s) URL of the origin that the card came from.
#[tokio::test]
async fn every_interface_is_a_url_of_the_cards_origin_with_and_without_grpc() {
    let all = format!("interfaces: [jsonrpc, rest, grpc]\n{AGENTS}");
    for (yaml, bindings) in [(AGENTS, 2), (all.as_str(), 3)] {
        let server = Server::serve(yaml).await;
        for agent in ["echo", "old", "new"] {
            for version in [None, Some("1.0"), Some("0.3")] {
                let path = format!("/a2a/{agent}/.well-known/agent-card.json");
                let card = card_of(&server, &path, version).await;
                let addresses = addresses(&card);
                assert!(!addresses.is_empty(), "{card}");
                for (binding, url) in &addresses {
                    let url = reqwest::Url::parse(url).unwrap_or_else(|_| panic!("{url}: {card}"));
                    let base = reqwest::Url::parse(&server.base).expect("a URL");
                    assert_eq!(url.origin(), base.origin(), "{binding} {card}");
                }
                let grpc = addresses.iter().any(|(binding, _)| binding == "GRPC");
                // gRPC 0.3 cannot name an agent: only the card of the default one offers it.
                let expected = bindings == 3 && (agent != "old");
                assert_eq!(grpc, expected, "{agent} {version:?}: {card}");
            }
        }
    }
}

#[tokio::test]
async fn grpc_is_offered_by_host_and_port_where_that_is_configured() {
    let yaml = format!(
        "{AGENTS}  bare: {{ interfaces: [http_json, grpc], grpc_address: host_port, script: [{{ complete: x }}] }}\n"
    );
    let server = Server::serve(&yaml).await;
    let card = card_of(
        &server,
        "/a2a/bare/.well-known/agent-card.json",
        Some("1.0"),
    )
    .await;
    let host = server.base.trim_start_matches("http://");
    let url = server.url("/a2a/bare");
    let offered = [
        ("HTTP+JSON", url.as_str()),
        ("GRPC", host),
        ("HTTP+JSON", &url),
    ];
    let offered = offered.map(|(binding, url)| (binding.to_owned(), url.to_owned()));
    assert_eq!(addresses(&card), offered);
}

#[tokio::test]
async fn a_configured_shape_and_a_version_in_the_url_hold_whatever_header_comes() {
    let server = Server::serve(AGENTS).await;
    for (agent, query, header, expected) in [
        ("echo", "", None, UNION),
        ("echo", "", Some("0.3"), UNION),
        ("echo", "", Some("1.0"), V1),
        ("echo", "?A2A-Version=0.3", Some("1.0"), V0),
        ("echo", "?A2A-Version=1.0", Some("0.3"), V1),
        ("old", "", Some("1.0"), V0),
        ("old", "?A2A-Version=1.0", None, V1),
        ("new", "", Some("0.3"), V1),
        ("new", "?A2A-Version=0.3", Some("1.0"), V0),
    ] {
        let path = format!("/a2a/{agent}/.well-known/agent-card.json{query}");
        let card = card_of(&server, &path, header).await;
        assert_eq!(shape(&card), expected, "{agent} {query} {header:?}: {card}");
    }
}

#[tokio::test]
async fn a_card_is_found_at_the_agents_own_address_and_below_well_known() {
    let server = Server::serve(AGENTS).await;
    for (path, name) in [
        ("/a2a/new", "new"),
        ("/a2a/new/", "new"),
        ("/new", "new"),
        ("/.well-known/new/agent-card.json", "new"),
        ("/", "echo"),
        ("/api/a2a", "echo"),
    ] {
        assert_eq!(card_of(&server, path, None).await["name"], name, "{path}");
        let head = server.http.head(server.url(path)).send().await;
        assert_eq!(head.expect("an answer").status(), 200, "{path}");
    }
    for path in ["/a2a/nobody", "/.well-known/nobody/agent-card.json"] {
        let missing = server.get(path).await;
        assert_eq!(missing.status, 404, "{path}: {}", missing.body);
    }
}

#[tokio::test]
async fn a_wrong_verb_is_refused_with_the_address_of_the_card() {
    let server = Server::serve(AGENTS).await;
    for (verb, path, allow, at) in [
        ("PUT", "/a2a/new", "GET, HEAD, POST", "/a2a/new"),
        ("GET", "/a2a/new/message:send", "POST", "/a2a/new"),
        ("POST", "/a2a/new/v1/tasks/1", "GET", "/a2a/new"),
        ("GET", "/agents/new/chat", "POST", "/a2a/new"),
        ("GET", "/a2a/new/api-key", "POST", "/a2a/new"),
        ("DELETE", "/", "GET, HEAD, POST", ""),
        ("POST", "/.well-known/agent-card.json", "GET, HEAD", ""),
        ("POST", "/agents", "GET, HEAD", ""),
    ] {
        let verb = verb.parse().expect("a verb");
        let refused = answer(server.http.request(verb, server.url(path))).await;
        assert_eq!(refused.status, 405, "{path}");
        assert_eq!(refused.headers["allow"], allow, "{path}");
        let message = refused.body["error"]["message"]
            .as_str()
            .unwrap_or_default();
        let card = server.url(&format!("{at}/.well-known/agent-card.json"));
        assert!(
            message.contains(allow) && message.ends_with(&card),
            "{path}: {message}"
        );
        assert_eq!(refused.body["error"]["code"], 405);
    }
}

/// Some readers of cards require these members of every skill.
#[tokio::test]
async fn every_skill_has_input_and_output_modes() {
    let server = Server::serve(AGENTS).await;
    for (agent, input) in [("echo", "text/plain"), ("old", "image/png")] {
        for query in ["", "?A2A-Version=1.0", "?A2A-Version=0.3"] {
            let path = format!("/a2a/{agent}/.well-known/agent-card.json{query}");
            let card = card_of(&server, &path, None).await;
            let skill = &card["skills"][0];
            assert_eq!(skill["inputModes"], json!([input]), "{card}");
            assert_eq!(skill["outputModes"], json!(["text/plain"]), "{card}");
        }
    }
}

fn send(method: &str) -> Value {
    let message = match method {
        "SendMessage" => json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}),
        _ => {
            json!({"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]})
        }
    };
    json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": {"message": message}})
}

async fn list(server: &Server) -> Answer {
    server.get("/a2a/echo/tasks").await
}

#[tokio::test]
async fn names_of_1_0_need_no_version_unless_it_is_required() {
    let server = Server::serve(AGENTS).await;
    let sent = server.post("/a2a/echo", &send("SendMessage")).await.body;
    let state = &sent["result"]["task"]["status"]["state"];
    assert_eq!(state, "TASK_STATE_COMPLETED", "{sent}");
    let listed = list(&server).await;
    assert_eq!(listed.status, 200, "{}", listed.body);
    assert_eq!(listed.body["totalSize"], 1);
    let old = server
        .http
        .post(server.url("/a2a/echo"))
        .header("A2A-Version", "0.3");
    let old = answer(old.json(&send("SendMessage"))).await.body;
    assert_eq!(old["error"]["code"], -32009, "{old}");

    let server = Server::serve(&format!("require_version: true\n{AGENTS}")).await;
    // So that a client falls back to the methods of 0.3.
    let refused = server.post("/a2a/echo", &send("SendMessage")).await.body;
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    let refused = list(&server).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    let sent = server.post_v1("/a2a/echo", &send("SendMessage")).await.body;
    assert_eq!(
        sent["result"]["task"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
    let sent = server.post("/a2a/echo", &send("message/send")).await.body;
    assert_eq!(sent["result"]["status"]["state"], "completed", "{sent}");
}

#[tokio::test]
async fn an_envelope_at_message_send_is_answered_as_json_rpc() {
    let server = Server::serve(AGENTS).await;
    for (path, method, state) in [
        (
            "/a2a/echo/v1/message:send",
            "message/send",
            "/result/status/state",
        ),
        ("/v1/message:send", "message/send", "/result/status/state"),
        (
            "/a2a/echo/message:send",
            "SendMessage",
            "/result/task/status/state",
        ),
    ] {
        let sent = server.post(path, &send(method)).await;
        assert_eq!(sent.status, 200, "{path}: {}", sent.body);
        assert_eq!(
            (&sent.body["jsonrpc"], &sent.body["id"]),
            (&json!("2.0"), &json!("a"))
        );
        let state = sent
            .body
            .pointer(state)
            .and_then(Value::as_str)
            .unwrap_or_default();
        assert!(
            state.to_lowercase().ends_with("completed"),
            "{path}: {}",
            sent.body
        );
    }
    // Another operation than the path's, and a path that names a tenant, which the envelope would not: refused as REST.
    for (path, method) in [
        ("/a2a/echo/v1/message:send", "tasks/cancel"),
        ("/a2a/echo/v1/message:send", "message/stream"),
        ("/new/message:send", "tasks/list"),
        ("/a2a/echo/new/message:send", "SendMessage"),
    ] {
        let refused = server.post(path, &send(method)).await;
        assert_eq!(refused.status, 400, "{path} {method}: {}", refused.body);
        assert!(refused.body.get("jsonrpc").is_none(), "{}", refused.body);
    }
}

#[tokio::test]
async fn an_extended_card_that_is_not_there_has_the_error_of_each_version() {
    let server = Server::serve(AGENTS).await;
    let ask = |method: &str| json!({"jsonrpc": "2.0", "id": 1, "method": method});
    let old = ask("agent/getAuthenticatedExtendedCard");
    let old = server.post("/a2a/echo", &old).await.body;
    assert_eq!(old["error"]["code"], -32007, "{old}");
    let new = server
        .post_v1("/a2a/echo", &ask("GetExtendedAgentCard"))
        .await
        .body;
    assert_eq!(new["error"]["code"], -32004, "{new}");
    let rest = server.get("/a2a/echo/v1/card").await;
    assert_eq!(
        (rest.status, &rest.body["code"]),
        (404, &json!(-32007)),
        "{}",
        rest.body
    );
}
