//! What callers who are known may do (S1 §2, S2 §5): scopes, skills, rules.

#![expect(clippy::expect_used, reason = "a test may stop where it is surprised")]

mod explained;

use std::process::Command;

use serde_json::{Value, json};
use switchboard_keys::{Algorithm, SigningKey, jwks};
use switchboard_testkit::{Answer, Server, answer, message, say};
use tempfile::TempDir;

/// A server with a poet whose skills are not all for everyone, and who can make tokens.
struct Poets {
    server: Server,
    key: SigningKey,
    files: TempDir,
}

/// Someone with a token.
#[derive(Debug, Clone, Copy)]
struct Who {
    tenant: &'static str,
    scopes: &'static [&'static str],
}

const STRANGER: Who = Who {
    tenant: "other",
    scopes: &["poet:use"],
};
const MEMBER: Who = Who {
    tenant: "corp",
    scopes: &["poet:use"],
};
const EPIC: Who = Who {
    tenant: "corp",
    scopes: &["poet:use", "epics"],
};
const ADMIN: Who = Who {
    tenant: "corp",
    scopes: &["poet:use", "epics", "admin", "ghosts", "keys:create"],
};
const UNGRANTED: Who = Who {
    tenant: "corp",
    scopes: &[],
};

impl Poets {
    async fn open() -> Self {
        let key = SigningKey::generate(Algorithm::Es256).expect("a key");
        let files = tempfile::tempdir().expect("a directory");
        let keys = files.path().join("keys.json");
        std::fs::write(&keys, jwks(&[&key])).expect("a file");
        let yaml = format!(
            r#"
auth:
  methods:
    bearer: {{ jwt: {{ jwks_file: "{}", audience: [switchboard], tenant_claim: tid }} }}
    keys: {{ api_key: {{}} }}
access:
  rules:
    - deny: 'operation == "CancelTask" && !("admin" in caller.scopes)'
      name: only-admins-cancel
      tell: true
    - deny: 'via == "desk" && agent.name == "ghost"'
      on: delegation
agents:
  poet:
    scopes: [poet:use]
    skills:
      - {{ id: haiku, description: short }}
      - {{ id: epic, description: long, scopes: [epics] }}
      - {{ id: ode, description: solemn }}
    access:
      rules:
        - allow: 'caller.tenant == "corp"'
        - deny: 'skill == "ode" && !("admin" in caller.scopes)'
        - deny: 'has(task.id) && task.state == "input-required" && operation == "GetTask"'
    script:
      - choose:
          - when: {{ text: ask }}
            do: [{{ ask: which one? }}]
      - complete: done
  ghost:
    visible: false
    access: {{ rules: [{{ allow: '"ghosts" in caller.scopes' }}] }}
    script: [complete: boo]
  desk:
    auth: none
    script: [{{ call: {{ agent: ghost, text: hi }} }}, {{ complete: done }}]
  porter:
    auth: none
    script: [{{ call: {{ agent: ghost, text: hi }} }}, {{ complete: done }}]
"#,
            keys.display()
        );
        std::fs::write(files.path().join("switchboard.yaml"), &yaml).expect("a file");
        Self {
            server: Server::serve(&yaml).await,
            key,
            files,
        }
    }

    fn token(&self, subject: &str, who: Who) -> String {
        let claims = json!({"aud": "switchboard", "sub": subject, "exp": 4_000_000_000_u64,
            "tid": who.tenant, "scope": who.scopes.join(" ")});
        let token = self.key.sign_compact("JWT", claims.to_string().as_bytes());
        format!("Bearer {token}")
    }

    async fn rpc(&self, version: &str, who: Option<Who>, method: &str, params: &Value) -> Answer {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self.server.http.post(self.server.url("/a2a/poet"));
        let request = request.header("a2a-version", version).json(&call);
        answer(match who {
            Some(who) => request.header("authorization", self.token("ann", who)),
            None => request,
        })
        .await
    }

    async fn card(&self, agent: &str, who: Option<Who>) -> Answer {
        let path = format!("/a2a/{agent}/.well-known/agent-card.json");
        self.get(&path, who).await
    }

    async fn get(&self, path: &str, who: Option<Who>) -> Answer {
        let request = self.server.http.get(self.server.url(path));
        answer(match who {
            Some(who) => request.header("authorization", self.token("ann", who)),
            None => request,
        })
        .await
    }

    /// What `switchboard check --explain` says.
    fn explain(&self, question: &Value) -> String {
        let file = self.files.path().join("question.yaml");
        std::fs::write(file, question.to_string()).expect("a question");
        let told = Command::new(env!("CARGO_BIN_EXE_switchboard"))
            .args(["check", "switchboard.yaml", "--explain", "question.yaml"])
            .current_dir(self.files.path())
            .output()
            .expect("the binary runs");
        assert!(told.status.success(), "{told:?}");
        String::from_utf8(told.stdout).expect("text")
    }
}

fn asks(text: &str, skill: Option<&str>) -> Value {
    let mut params = say(text);
    if let Some(skill) = skill {
        params["metadata"] = json!({"skillId": skill});
    }
    params
}

#[tokio::test]
async fn s2_098_a_refused_skill_is_forbidden_by_name() {
    let poets = Poets::open().await;
    let told = "Insufficient permissions for skill 'epic'";
    let old = poets
        .rpc(
            "0.3",
            Some(MEMBER),
            "message/send",
            &asks("x", Some("epic")),
        )
        .await;
    assert_eq!(
        (old.status, &old.body["error"]["code"]),
        (403, &json!(-32603))
    );
    let text = old.body["error"]["message"].as_str().unwrap_or_default();
    assert!(text.ends_with(told), "{text}");
    let params = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]},
        "metadata": {"skillId": "epic"}});
    let new = poets.rpc("1.0", Some(MEMBER), "SendMessage", &params).await;
    assert_eq!(
        (new.status, &new.body["error"]["code"]),
        (403, &json!(-32055))
    );
    assert_eq!(new.body["error"]["message"], told);
    // It stands on no public card: what it asks for is not told either.
    assert!(new.headers.get("www-authenticate").is_none(), "{new:?}");
    let allowed = poets.rpc("1.0", Some(EPIC), "SendMessage", &params).await;
    assert_eq!(allowed.status, 200, "{allowed:?}");
}

#[tokio::test]
async fn s1_048_an_agent_that_is_not_visible_is_not_there() {
    let poets = Poets::open().await;
    let nobody = poets.card("nobody", Some(MEMBER)).await;
    for who in [None, Some(MEMBER)] {
        let hidden = poets.card("ghost", who).await;
        assert_eq!(hidden.status, 404);
        let (hidden, absent) = (hidden.body.to_string(), nobody.body.to_string());
        assert_eq!(hidden.replace("ghost", "nobody"), absent);
    }
    let seen = poets.card("ghost", Some(ADMIN)).await;
    assert_eq!(seen.status, 200);
    assert_eq!(seen.headers["cache-control"], "private, max-age=60");
}

#[tokio::test]
async fn s1_034_a_card_shows_what_its_reader_may_use() {
    let poets = Poets::open().await;
    for (who, skills) in [
        (None, &["haiku"][..]),
        (Some(STRANGER), &["haiku"]),
        (Some(MEMBER), &["haiku"]),
        (Some(EPIC), &["haiku", "epic"]),
        (Some(ADMIN), &["haiku", "epic", "ode"]),
    ] {
        let card = poets.card("poet", who).await.body;
        let shown = card["skills"].as_array().cloned().unwrap_or_default();
        let shown: Vec<&str> = shown.iter().filter_map(|s| s["id"].as_str()).collect();
        assert_eq!(shown, skills, "{who:?}");
    }
    let card = poets.card("poet", Some(EPIC)).await.body;
    assert_eq!(
        card["security"],
        json!([{"bearer": ["poet:use"]}, {"keys": []}])
    );
    assert_eq!(
        card["skills"][1]["security"],
        json!([{"bearer": ["poet:use", "epics"]}, {"keys": []}])
    );
}

#[tokio::test]
async fn s1_045_the_catalogue_lists_what_its_reader_may_know_of() {
    let poets = Poets::open().await;
    for (who, agents, skills) in [
        (None, &["desk", "poet", "porter"][..], &["haiku"][..]),
        (Some(MEMBER), &["desk", "poet", "porter"], &["haiku"]),
        (
            Some(ADMIN),
            &["desk", "ghost", "poet", "porter"],
            &["haiku", "epic", "ode"],
        ),
    ] {
        let short = poets.get("/agents", who).await;
        assert_eq!(names(&short.body["agents"], "name"), agents, "{who:?}");
        let poet = agents.iter().position(|name| *name == "poet").unwrap();
        let shown = &short.body["agents"][poet]["skills"];
        assert_eq!(names(shown, "id"), skills, "{who:?}");

        let full = poets.get("/.well-known/ai-catalog.json", who).await;
        assert_eq!(full.headers["content-type"], "application/ai-catalog+json");
        assert_eq!(full.body["specVersion"], "1.0");
        assert_eq!(names(&full.body["entries"], "name"), agents, "{who:?}");
        let entry = &full.body["entries"][poet];
        assert_eq!(entry["type"], "application/a2a-agent-card+json");
        let card = entry["url"].as_str().unwrap();
        let card = card.strip_prefix(&poets.server.url("")).expect("ours");
        let card = poets.get(card, who).await;
        assert_eq!(card.body["name"], entry["displayName"]);
        assert_eq!(names(&card.body["skills"], "id"), skills);
        let kept = match who {
            None => "public, max-age=60",
            Some(_) => "private, max-age=60",
        };
        assert_eq!(full.headers["cache-control"], kept, "{who:?}");
        let vary = full.headers["vary"].to_str().unwrap();
        assert!(vary.contains("Authorization"), "{vary}");
    }
}

fn names<'a>(list: &'a Value, member: &str) -> Vec<&'a str> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .filter_map(|entry| entry[member].as_str())
        .collect()
}

#[tokio::test]
async fn rules_about_a_task_tell_nobody_that_it_is_there() {
    let poets = Poets::open().await;
    let own = poets
        .rpc(
            "0.3",
            Some(ADMIN),
            "message/send",
            &asks("ask", Some("haiku")),
        )
        .await;
    let task = own.body["result"]["id"].clone();
    assert_eq!(
        own.body["result"]["status"]["state"], "input-required",
        "{own:?}"
    );
    let get = async |subject: &str, id: &Value| {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": id}});
        let request = poets.server.http.post(poets.server.url("/a2a/poet"));
        let token = poets.token(subject, ADMIN);
        answer(request.header("authorization", token).json(&call)).await
    };
    // One's own: the rule speaks.
    assert_eq!(get("ann", &task).await.status, 403);
    // Someone else's looks like none at all.
    let absent = Value::from("0".repeat(task.as_str().map_or(0, str::len)));
    let (foreign, absent) = (get("bob", &task).await, get("bob", &absent).await);
    assert_eq!(foreign.body["error"]["code"], -32001, "{foreign:?}");
    let id = task.as_str().unwrap_or_default();
    let text = |answer: &Answer| answer.body.to_string().replace(id, &"0".repeat(id.len()));
    assert_eq!(
        (foreign.status, text(&foreign)),
        (absent.status, text(&absent))
    );
}

#[tokio::test]
async fn an_agent_that_calls_another_obeys_the_rules_on_delegation() {
    let poets = Poets::open().await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": say("x")});
    // The rule names one of them. What the ghost asks of callers is not asked of agents.
    for (agent, ends) in [("desk", "failed"), ("porter", "completed")] {
        let answered = poets.server.post(&format!("/a2a/{agent}"), &call).await;
        let state = &answered.body["result"]["status"]["state"];
        assert_eq!(*state, ends, "{answered:?}");
    }
}

#[tokio::test]
async fn s1_029_an_answer_to_auth_required_is_not_kept() {
    let mut server = Server::serve(
        r#"
agents:
  vaulted:
    script:
      - choose:
          - when: { turn: 1 }
            do: [{ require_auth: "your code, please" }]
          - when: { text: swordfish-4711 }
            do: [{ complete: right }]
      - complete: wrong
"#,
    )
    .await;
    let asked = server.result("vaulted", "message/send", say("open")).await;
    assert_eq!(asked["status"]["state"], "auth-required", "{asked}");
    let mut reply = message("swordfish-4711");
    reply["taskId"] = asked["id"].clone();
    let done = server
        .result("vaulted", "message/send", json!({"message": reply}))
        .await;
    // The agent heard it.
    assert!(done["status"].to_string().contains("right"), "{done}");
    let history = done["history"].to_string();
    assert!(!history.contains("swordfish"), "{history}");
    assert!(history.contains("[redacted]"), "{history}");
    server.kill().await;
    let kept = std::fs::read_dir(server.data()).expect("a directory");
    let kept: Vec<_> = kept.flatten().map(|file| file.path()).collect();
    assert!(!kept.is_empty());
    for file in kept {
        let bytes = std::fs::read(&file).expect("a file");
        let found = bytes.windows(9).any(|text| text == b"swordfish");
        assert!(!found, "{}", file.display());
    }
    assert!(!server.logged().contains("swordfish"));
}

#[tokio::test]
async fn a_rule_is_asked_about_every_operation_by_its_name() {
    let operations = [
        ("SendMessage", "POST", "/message:send"),
        ("SendStreamingMessage", "POST", "/message:stream"),
        ("GetTask", "GET", "/tasks/t"),
        ("ListTasks", "GET", "/tasks"),
        ("CancelTask", "POST", "/tasks/t:cancel"),
        ("SubscribeToTask", "GET", "/tasks/t:subscribe"),
        (
            "CreateTaskPushNotificationConfig",
            "POST",
            "/tasks/t/pushNotificationConfigs",
        ),
        (
            "GetTaskPushNotificationConfig",
            "GET",
            "/tasks/t/pushNotificationConfigs/c",
        ),
        (
            "ListTaskPushNotificationConfigs",
            "GET",
            "/tasks/t/pushNotificationConfigs",
        ),
        (
            "DeleteTaskPushNotificationConfig",
            "DELETE",
            "/tasks/t/pushNotificationConfigs/c",
        ),
        ("GetExtendedAgentCard", "GET", "/extendedAgentCard"),
    ];
    let rules = operations.map(|(name, ..)| {
        format!("        - {{ deny: 'operation == \"{name}\"', name: {name}, tell: true }}\n")
    });
    let server = Server::serve(&format!(
        "agents:\n  shut:\n    extended_card: {{}}\n    access:\n      rules:\n{}    script: [complete: x]\n",
        rules.concat()
    ))
    .await;
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]});
    let params =
        json!({"message": message, "id": "t", "taskId": "t", "url": "https://hooks.example/x"});
    for (name, verb, path) in operations {
        let told = |answer: &Answer| {
            assert_eq!(answer.status, 403, "{name}: {answer:?}");
            let details = answer.body["error"].get("data");
            let details = details.unwrap_or(&answer.body["error"]["details"]);
            details[0]["metadata"]["rule"].clone()
        };
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": name, "params": match name {
            "ListTasks" | "GetExtendedAgentCard" => json!({}),
            "SendMessage" | "SendStreamingMessage" => json!({"message": message}),
            _ => params.clone(),
        }});
        assert_eq!(told(&server.post_v1("/a2a/shut", &call).await), name);
        let verb = verb.parse().expect("a verb");
        let request = server
            .http
            .request(verb, server.url(&format!("/a2a/shut{path}")));
        let request = request.header("A2A-Version", "1.0");
        let request = match name {
            "SendMessage" | "SendStreamingMessage" => request.json(&json!({"message": message})),
            "CreateTaskPushNotificationConfig" => {
                request.json(&json!({"url": "https://hooks.example/x"}))
            }
            _ => request,
        };
        assert_eq!(told(&answer(request).await), name);
    }
}
