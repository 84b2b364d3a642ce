//! Routing as a hook of the engine: what was decided about a task holds for all its turns, and no agent is wrapped.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use switchboard_server::agent::{
    Agent, AgentError, Outcome, Progress, Restart, Router, Said, Turn,
};
use switchboard_server::backend::Health;
use switchboard_server::egress::Guard;
use switchboard_server::engine::recover::recover;
use switchboard_server::engine::{Engine, Parts, Settings};
use switchboard_server::log::Log;
use switchboard_server::principal::Principal;
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::testing::agent::{Line, profile, says};
use switchboard_types::model::{Message, MessageId, Task, TaskId, TaskState};
use switchboard_types::operation::SendMessage;

use super::input::crash;

/// Asks once, then says its name.
#[derive(Debug)]
struct Named(String);

#[async_trait]
impl Agent for Named {
    async fn run(&self, turn: Turn, _: Progress) -> Result<Outcome, AgentError> {
        let said = Said::text(format!("{} {}", self.0, turn.number));
        Ok(match turn.number {
            1 => Outcome::InputRequired(said),
            _ => Outcome::Completed(said),
        })
    }

    async fn on_restart(&self, _: &Turn) -> Restart {
        Restart::Resume
    }

    async fn health(&self) -> Health {
        Health::up(self.0.clone())
    }
}

/// Sends a message to the agent that it names, unless it names none.
#[derive(Debug)]
struct ByText;

impl Router for ByText {
    fn reads_messages(&self) -> bool {
        true
    }

    fn decide(&self, send: &SendMessage, _: &Principal) -> Option<Value> {
        let text = send.message.text();
        let name = text.strip_prefix("to ")?;
        Some(json!({ "to": name }))
    }

    fn agent(&self, decision: &Value) -> Result<Arc<dyn Agent>, AgentError> {
        let name = decision["to"].as_str();
        let name = name.ok_or_else(|| AgentError::new("unreadable"))?;
        Ok(Arc::new(Named(name.to_owned())))
    }
}

async fn start(store: &Arc<dyn Store>, router: Option<Arc<dyn Router>>) -> (Line, Arc<dyn Agent>) {
    let log = Log::new(Arc::clone(store));
    let own: Arc<dyn Agent> = Arc::new(Named("own".to_owned()));
    let engine = Engine::new(Parts {
        name: Arc::from("agent"),
        agent: Arc::clone(&own),
        router,
        profile: profile(),
        settings: Settings::default(),
        log: log.clone(),
        guard: Arc::new(Guard::new(Vec::new())),
        tasks: Tasks::default(),
    });
    engine.take_over();
    let engines = [(Arc::from("agent"), engine.clone())].into();
    recover(&log, &engines).await.unwrap();
    (Line { engine, log }, own)
}

fn answer(task: &TaskId) -> Message {
    Message {
        id: MessageId::new("answer").unwrap(),
        task_id: Some(task.clone()),
        ..says("to other")
    }
}

fn said(task: &Task) -> String {
    task.status.message.as_ref().unwrap().text()
}

#[tokio::test(start_paused = true)]
async fn a_decision_holds_for_all_turns_even_after_a_restart() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (line, _) = start(&store, Some(Arc::new(ByText))).await;
    let own = line.send(says("hello")).await.unwrap();
    assert_eq!(said(&own), "own 1");
    let routed = line.send(says("to clerk")).await.unwrap();
    assert_eq!(said(&routed), "clerk 1");
    crash(&line).await;
    let (line, _) = start(&store, Some(Arc::new(ByText))).await;
    // What an answer says decides nothing.
    assert_eq!(said(&line.send(answer(&own.id)).await.unwrap()), "own 2");
    let done = line.send(answer(&routed.id)).await.unwrap();
    assert_eq!(said(&done), "clerk 2");
    let turns = store.turns(&routed.id).await.unwrap();
    let decisions: Vec<_> = turns.into_iter().map(|turn| turn.decision).collect();
    assert_eq!(decisions, vec![Some(json!({ "to": "clerk" })); 2]);
}

#[tokio::test(start_paused = true)]
async fn a_routed_task_without_a_router_fails_and_goes_to_nobody_else() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (line, _) = start(&store, Some(Arc::new(ByText))).await;
    let routed = line.send(says("to clerk")).await.unwrap();
    crash(&line).await;
    let (line, _) = start(&store, None).await;
    let failed = line.send(answer(&routed.id)).await.unwrap();
    assert_eq!(failed.status.state, TaskState::Failed);
    assert!(said(&failed).contains("no routing rules"), "{failed:?}");
}

/// So a method that is added to `Agent` with a default reaches whoever overrides it.
#[tokio::test]
async fn the_agent_of_a_routed_engine_is_the_agent_itself() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (line, own) = start(&store, Some(Arc::new(ByText))).await;
    assert!(Arc::ptr_eq(line.engine.agent(), &own));
    assert_eq!(line.engine.agent().health().await, Health::up("own"));
}
