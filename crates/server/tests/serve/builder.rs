//! What the builder makes of what it is given.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_server::Server;
use switchboard_server::agent::{Outcome, Said};
use switchboard_server::auth::method::{Basic, User};
use switchboard_server::engine::Settings;
use switchboard_server::serve::{ServeError, ServerBuilder, ShutdownHandle};
use switchboard_server::shutdown::Tasks;
use switchboard_server::testing::agent::FnAgent;
use switchboard_testkit::answer;
use switchboard_types::model::{AgentCard, Secret};

use crate::{Caller, said, state};

fn echo() -> FnAgent {
    FnAgent::new(|turn, _| async move { Ok(Outcome::Completed(Said::text(turn.message.text()))) })
}

fn card() -> AgentCard {
    AgentCard::new("Echo", "Repeats what you say")
}

/// A server on a free port, which runs until it is shut down.
struct Running {
    base: String,
    handle: ShutdownHandle,
    tasks: Tasks,
}

impl Running {
    async fn start(server: ServerBuilder) -> Self {
        let server = server.listen("127.0.0.1:0").bind().await.unwrap();
        let base = format!("http://{}", server.local_addr());
        let handle = server.shutdown_handle();
        let tasks = Tasks::default();
        tasks.spawn(async { server.serve().await.unwrap() });
        Self {
            base,
            handle,
            tasks,
        }
    }

    fn caller(&self, agent: &str) -> Caller {
        Caller::new(format!("{}/a2a/{agent}", self.base))
    }

    async fn shut_down(self) {
        self.handle.shutdown();
        assert!(self.tasks.drain(Duration::from_secs(60)).await);
    }
}

#[tokio::test]
async fn agents_answer_by_name_and_the_first_one_is_the_default() {
    let loud = FnAgent::new(|turn, _| async move {
        let text = turn.message.text().to_uppercase();
        Ok(Outcome::Completed(Said::text(text)))
    });
    let server = Server::builder().agent("echo", card(), echo());
    let server = server.agent("loud", AgentCard::new("Loud", "Shouts"), loud);
    let server = Running::start(server).await;
    assert_eq!(said(&server.caller("loud").send("hello").await), "HELLO");
    assert_eq!(said(&server.caller("echo").send("hello").await), "hello");
    let default = Caller::new(server.base.clone());
    assert_eq!(said(&default.send("hello").await), "hello");
    server.shut_down().await;
}

#[tokio::test]
async fn the_card_has_addresses_and_a_skill() {
    let server = Server::builder().agent("echo", card(), echo());
    let server = Running::start(server.public_url("https://agents.example.com/")).await;
    let card = server.caller("echo").card().await;
    assert_eq!(card["name"], "Echo");
    assert_eq!(card["version"], "1.0.0");
    assert_eq!(card["capabilities"]["streaming"], true);
    assert_eq!(card["defaultInputModes"], json!(["text/plain"]));
    assert_eq!(card["skills"][0]["id"], "echo");
    let url = "https://agents.example.com/a2a/echo";
    assert_eq!(card["supportedInterfaces"][0]["url"], url);
    server.shut_down().await;
}

#[tokio::test]
async fn tasks_in_a_data_directory_survive_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let start = || {
        let server = Server::builder().agent("echo", card(), echo());
        Running::start(server.data(dir.path().join("data")))
    };
    let server = start().await;
    let task = server.caller("echo").send("hello").await;
    server.shut_down().await;
    let key = std::fs::metadata(dir.path().join("data/secret.key")).unwrap();
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
    let server = start().await;
    let found = server
        .caller("echo")
        .get(task["id"].as_str().unwrap())
        .await;
    assert_eq!(state(&found), "TASK_STATE_COMPLETED");
    assert_eq!(said(&found), "hello");
    server.shut_down().await;
}

#[tokio::test]
async fn callers_need_credentials_where_the_server_asks_for_them() {
    let ann = User {
        name: "ann".to_owned(),
        password: Secret::new("open"),
        tenant: None,
        scopes: Vec::new(),
    };
    let users = Arc::new(Basic::new("users".into(), vec![ann]));
    let server = Server::builder().agent("echo", card(), echo());
    let server = Running::start(server.authentication(vec![users])).await;
    let caller = server.caller("echo");
    assert!(caller.card().await["securitySchemes"]["users"].is_object());
    let request = || caller.request("ListTasks", &json!({}));
    assert_eq!(answer(request()).await.status, 401);
    let known = request().header("Authorization", "Basic YW5uOm9wZW4=");
    assert_eq!(answer(known).await.status, 200);
    server.shut_down().await;
}

#[tokio::test]
async fn an_agent_has_its_own_settings() {
    let settings = Settings {
        reply_with_message: true,
        ..Settings::default()
    };
    let replies = FnAgent::new(|_, _| async { Ok(Outcome::Reply(Said::text("hi"))) });
    let server = Server::builder().agent_with("echo", card(), replies, settings);
    let server = Running::start(server.memory()).await;
    let caller = server.caller("echo");
    let sent = caller
        .call("SendMessage", &crate::message("hello", None))
        .await;
    assert_eq!(sent["message"]["parts"][0]["text"], "hi");
    server.shut_down().await;
}

#[tokio::test]
async fn webhooks_to_private_addresses_are_refused() {
    let server = Server::builder().agent("echo", card(), echo());
    let server = Running::start(server).await;
    let caller = server.caller("echo");
    let task = caller.send("hello").await;
    let config = json!({"taskId": task["id"], "url": "http://127.0.0.1:9/hook"});
    let request = caller.request("CreateTaskPushNotificationConfig", &config);
    let answer = answer(request).await;
    assert_eq!(answer.body["error"]["code"], -32602, "{answer:?}");
    server.shut_down().await;
}

async fn refusal(server: ServerBuilder) -> ServeError {
    match server.bind().await {
        Ok(server) => panic!("it starts: {server:?}"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn what_cannot_be_served_is_refused_with_the_reason() {
    let one = |name: &str| {
        let server = Server::builder().listen("127.0.0.1:0");
        server.agent(name, card(), echo())
    };
    let server = Server::builder().listen("127.0.0.1:0");
    assert!(matches!(refusal(server).await, ServeError::NoAgents));
    let error = refusal(one("Echo")).await.to_string();
    assert!(error.contains("use lower-case letters"), "{error}");
    let error = refusal(one("echo").agent("echo", card(), echo())).await;
    assert_eq!(error.to_string(), "there are two agents named `echo`");
    let error = refusal(one("echo").listen("nowhere")).await.to_string();
    assert!(error.starts_with("cannot listen on nowhere: "), "{error}");
}

#[tokio::test]
async fn other_machines_reach_it_only_if_that_is_said() {
    let server = || {
        let server = Server::builder().agent("echo", card(), echo());
        server.listen("0.0.0.0:0")
    };
    let error = refusal(server()).await;
    assert!(matches!(error, ServeError::Exposed(_)), "{error}");
    assert!(server().public().bind().await.is_ok());
}

#[tokio::test]
async fn a_data_directory_in_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let server = || {
        let server = Server::builder().agent("echo", card(), echo());
        server.data(dir.path()).listen("127.0.0.1:0")
    };
    let first = server().bind().await.unwrap();
    let error = refusal(server()).await;
    assert!(matches!(error, ServeError::Store(_)), "{error}");
    drop(first);
    assert!(server().bind().await.is_ok());
}
