//! API keys, from the file and the command line to the wire.

use serde_json::{Value, json};
use switchboard_testkit::{Answer, answer, eventually};

use crate::credentials::{AUDIENCE, Header, Quality, Sort, bearer};
use crate::world::World;

async fn make(world: &World, path: &str, shown: &[Header], body: &Value) -> Answer {
    let mut request = world.server.http.post(world.server.url(path)).json(body);
    for (name, value) in shown {
        request = request.header(*name, value);
    }
    answer(request).await
}

async fn tasks(world: &World, agent: &str, shown: &[Header]) -> u16 {
    let path = format!("/a2a/{agent}/tasks");
    let mut request = world.server.http.get(world.server.url(&path));
    request = request.header("A2A-Version", "1.0");
    for (name, value) in shown {
        request = request.header(*name, value);
    }
    answer(request).await.status
}

#[tokio::test]
async fn s3_088_only_a_token_makes_keys_by_either_path() {
    let world = World::open().await;
    let maker = bearer(
        &world
            .tokens
            .token("alice", AUDIENCE, "use keys:create", 600),
    );
    for path in ["/a2a/scoped/api-key", "/a2a/scoped/api-key/generate"] {
        let asked = json!({"label": "ci", "scopes": ["use"], "expiresInSeconds": 600});
        let made = make(&world, path, &maker, &asked).await;
        assert_eq!(made.status, 201, "{made:?}");
        assert_eq!(made.headers["cache-control"], "no-store");
        let key = made.body["apiKey"].as_str().unwrap();
        assert!(key.starts_with("sbk_") && key.len() >= 47, "{key}");
        assert_eq!(made.body["agents"], json!(["scoped"]));
        // It opens its own agent, and makes no keys.
        let shown = bearer(key);
        assert_eq!(tasks(&world, "scoped", &shown).await, 200);
        assert_eq!(tasks(&world, "closed", &shown).await, 401);
        assert_eq!(make(&world, path, &shown, &json!({})).await.status, 403);
        // More than one has oneself cannot be given away.
        let more = json!({"scopes": ["use", "admin"]});
        assert_eq!(make(&world, path, &maker, &more).await.status, 403);
        for bad in [
            json!({"label": 7}),
            json!({"expiresInSeconds": -1}),
            json!([]),
            json!({"x": 1}),
        ] {
            let refused = make(&world, path, &maker, &bad).await;
            assert_eq!(refused.status, 400, "{bad}: {refused:?}");
        }
        let plain = world.show(Sort::Token, Quality::Right).unwrap();
        assert_eq!(make(&world, path, &plain, &json!({})).await.status, 403);
        let password = world.show(Sort::Password, Quality::Right).unwrap();
        assert_eq!(make(&world, path, &password, &json!({})).await.status, 403);
        assert_eq!(make(&world, path, &[], &json!({})).await.status, 401);
    }
    let nobody = make(&world, "/a2a/nobody/api-key", &maker, &json!({})).await;
    assert_eq!(nobody.status, 404, "{nobody:?}");
}

#[tokio::test]
async fn s3_036_a_bearer_is_a_token_or_a_key() {
    let world = World::open().await;
    let token = bearer(&world.tokens.token("alice", AUDIENCE, "use", 600));
    assert_eq!(tasks(&world, "scoped", &token).await, 200);
    assert_eq!(
        tasks(&world, "scoped", &bearer(&world.keys.right)).await,
        200
    );
    // Both at once, of different people: nobody knows who it is.
    let mut both = token;
    both.push(("x-api-key", world.keys.of_another_agent.clone()));
    assert_eq!(tasks(&world, "scoped", &both).await, 401);
}

/// A key that is expired, revoked or of another agent is told from no key at all only by who has it.
#[tokio::test]
async fn a_revoked_key_is_refused_within_a_second() {
    let world = World::open().await;
    let shown = bearer(&world.keys.right);
    assert_eq!(tasks(&world, "scoped", &shown).await, 200);
    let run = |args: &[&str]| {
        let done = std::process::Command::new(env!("CARGO_BIN_EXE_switchboard"))
            .args(args)
            .arg("--config")
            .arg(world.server.configuration())
            .arg("--data")
            .arg(world.server.data())
            .env("PASSWORD", "open-sesame")
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let listed = run(&["key", "list", "-o", "json"]);
    let records = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let records: Vec<Value> = records.collect();
    let record = records
        .iter()
        .find(|key| key["subject"] == "alice")
        .unwrap();
    run(&["key", "revoke", record["id"].as_str().unwrap()]);
    eventually("the revoked key is refused", async || {
        tasks(&world, "scoped", &shown).await == 401
    })
    .await;
    let audit = run(&["audit", "-o", "json"]);
    for what in ["key-created", "key-revoked"] {
        assert!(audit.contains(what), "{what}: {audit}");
    }
    assert!(!audit.contains(&world.keys.right), "{audit}");
}
