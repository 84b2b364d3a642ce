//! A skill that not everyone may use cannot be had under another name.

use serde_json::{Value, json};
use switchboard_testkit::{Answer, Server, answer};

use crate::credentials::{AUDIENCE, Tokens};

const CONFIGURATION: &str = "
auth:
  methods:
    corp: { jwt: { jwks_file: keys.json, issuer: 'https://login.example', audience: ['https://agents.example'] } }
agents:
  desk:
    skills:
      - { id: chat, description: Talks }
      - { id: deploy, description: Deploys, scopes: [deploy] }
    script: [{ ask: Really? }]
";

struct Desk {
    server: Server,
    wide: String,
    narrow: String,
}

impl Desk {
    async fn open() -> Self {
        let tokens = Tokens::new();
        let files = [("keys.json", tokens.jwks())];
        Self {
            server: Server::serve_with(CONFIGURATION, &files, &[]).await,
            wide: tokens.token("ann", AUDIENCE, "deploy", 600),
            narrow: tokens.token("ann", AUDIENCE, "look", 600),
        }
    }

    async fn send(&self, token: &str, request: Value, message: Value, task: &Value) -> Answer {
        let body = json!({"metadata": request, "message": {
            "messageId": "m", "role": "ROLE_USER", "parts": [{"text": "yes"}],
            "metadata": message, "taskId": task,
        }});
        let post = self
            .server
            .http
            .post(self.server.url("/a2a/desk/message:send"));
        let post = post.header("A2A-Version", "1.0").bearer_auth(token);
        answer(post.json(&body)).await
    }
}

#[tokio::test]
async fn two_names_are_no_name() {
    let desk = Desk::open().await;
    let (chat, deploy) = (json!({"skillId": "chat"}), json!({"skillId": "deploy"}));
    let denied = desk
        .send(&desk.narrow, json!({}), deploy.clone(), &Value::Null)
        .await;
    assert_eq!(denied.status, 403, "{denied:?}");
    for (request, message) in [
        (chat.clone(), deploy.clone()),
        (deploy, chat.clone()),
        (json!({}), json!({"skillId": "chat", "skill": "deploy"})),
    ] {
        let refused = desk
            .send(&desk.narrow, request, message, &Value::Null)
            .await;
        assert_eq!(refused.status, 400, "{refused:?}");
    }
    let taken = desk
        .send(&desk.narrow, chat.clone(), chat, &Value::Null)
        .await;
    assert_eq!(taken.status, 200, "{taken:?}");
}

#[tokio::test]
async fn a_task_stays_what_it_was_begun_as() {
    let desk = Desk::open().await;
    let deploy = json!({"skillId": "deploy"});
    let begun = desk.send(&desk.wide, deploy, json!({}), &Value::Null).await;
    let task = &begun.body["task"]["id"];
    assert!(task.is_string(), "{begun:?}");
    for named in [json!({}), json!({"skillId": "chat"})] {
        let denied = desk.send(&desk.narrow, named, json!({}), task).await;
        assert_eq!(denied.status, 403, "{denied:?}");
    }
    let taken = desk.send(&desk.wide, json!({}), json!({}), task).await;
    assert_eq!(taken.status, 200, "{taken:?}");
}

#[tokio::test]
async fn who_asks_nobody_gets_little_room_to_talk() {
    let desk = Desk::open().await;
    let long = "x".repeat(1 << 20);
    for (agent, token) in [("nobody", ""), ("nobody", &*desk.wide)] {
        let url = desk.server.url(&format!("/a2a/{agent}/message:send"));
        let post = desk.server.http.post(url).header("A2A-Version", "1.0");
        let refused = answer(post.bearer_auth(token).body(long.clone())).await;
        assert!([404, 413].contains(&refused.status), "{refused:?}");
    }
}
