//! The built-in agents in real engines: delegation, questions that are passed on, and crashes at any moment.

#![expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]

use std::collections::{BTreeSet, HashMap};
use std::slice;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use switchboard_agents::script::builtin::{self, Builtin};
use switchboard_agents::script::{Script, ScriptAgent};
use switchboard_keys::SealingKey;
use switchboard_server::auth::Access;
use switchboard_server::authorize::Authorized;
use switchboard_server::call::{
    Answering, Call, Handler, Origin, Reply, ReplyBody, ServiceParams, Target,
};
use switchboard_server::card::Profile;
use switchboard_server::egress::Guard;
use switchboard_server::engine::recover::{Recovered, recover};
use switchboard_server::engine::{Engine, Parts, Settings};
use switchboard_server::log::Log;
use switchboard_server::principal::Principal;
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::table::Table;
use switchboard_server::task::{Entry, Owner};
use switchboard_server::testing::agent::{Line, says};
use switchboard_types::model::{
    AgentCard, ContextId, Event, Message, MessageId, Part, Role, Task, TaskId, TaskState,
    TaskStatus,
};
use switchboard_types::operation::{
    CancelTask, ListTasks, Operation, Response, SendConfiguration, SendMessage, Subscribe, TaskView,
};
use tokio::runtime::Runtime;

/// All agents of a house, and who calls whom.
#[derive(Debug, Default)]
struct Router {
    table: Table,
    /// Whom an agent has asked, and which one.
    errands: Mutex<BTreeSet<(String, String)>>,
}

impl Handler for Router {
    fn handle(&self, call: Call) -> Answering {
        let name = call.target.agent.clone().unwrap();
        if let Origin::Agent(by) = &call.origin {
            let errand = (by.to_string(), name.to_string());
            self.errands.lock().unwrap().insert(errand);
        }
        self.table.handle(call)
    }
}

/// The built-in agents on a store.
struct House {
    log: Log,
    engines: HashMap<Arc<str>, Engine>,
    router: Arc<Router>,
}

impl House {
    fn open(store: &Arc<dyn Store>) -> Self {
        Self::with(store, None)
    }

    /// The same, and one more that follows this script.
    fn with(store: &Arc<dyn Store>, another: Option<(&'static str, &Script)>) -> Self {
        static SCRIPTS: LazyLock<Vec<Builtin>> = LazyLock::new(|| builtin::agents().unwrap());
        let log = Log::new(Arc::clone(store));
        let router = Arc::new(Router::default());
        let builtin = SCRIPTS.iter().map(|one| (one.name, &one.script));
        let engines = builtin.chain(another).map(|(name, script)| {
            let handler: Arc<dyn Handler> = router.clone();
            let name: Arc<str> = Arc::from(name);
            let engine = Engine::new(Parts {
                name: Arc::clone(&name),
                agent: Arc::new(ScriptAgent::new(script.clone(), Some(handler))),
                router: None,
                profile: profile(&name),
                settings: Settings::default(),
                log: log.clone(),
                guard: Arc::new(Guard::new(Vec::new())),
                tasks: Tasks::default(),
            });
            (name, engine)
        });
        let engines: HashMap<_, _> = engines.collect();
        let open = |engine: &Engine| Authorized::new(engine.clone(), Arc::new(Access::open()));
        let agents = engines.values().map(open).collect();
        router.table.change(agents, &[], &Arc::from("echo"));
        Self {
            log,
            engines,
            router,
        }
    }

    /// From now on nothing is stored; then the same store is opened again.
    async fn crash(self, store: &Arc<dyn Store>) -> (Self, Recovered) {
        self.log.stopping().cancel();
        self.log.close().await;
        let house = Self::open(store);
        let recovered = recover(&house.log, &house.engines).await.unwrap();
        (house, recovered)
    }

    async fn ask(&self, agent: &str, operation: Operation, last: Option<u64>) -> ReplyBody {
        let call = Call {
            operation,
            target: Target {
                agent: Some(Arc::from(agent)),
                tenant: None,
            },
            principal: Principal::from(Owner::new("tester")),
            params: ServiceParams {
                last_event_id: last,
                ..ServiceParams::internal()
            },
            origin: Origin::Network,
        };
        self.router.handle(call).await.unwrap().body
    }

    async fn send(&self, agent: &str, text: &str, to: Option<&TaskId>, wait: bool) -> Arc<Task> {
        let id = MessageId::new(format!("m-{text}")).unwrap();
        let message = Message {
            task_id: to.cloned(),
            ..Message::new(id, Role::User, vec![Part::text(text)])
        };
        let send = Operation::Send(Box::new(SendMessage {
            message,
            configuration: SendConfiguration {
                return_immediately: !wait,
                ..SendConfiguration::default()
            },
            metadata: None,
        }));
        match self.ask(agent, send, None).await {
            ReplyBody::Response(Response::SentTask(view)) => view.task,
            other => panic!("{other:?}"),
        }
    }

    async fn cancel(&self, agent: &str, id: &TaskId) {
        let cancel = Operation::Cancel(CancelTask {
            id: id.clone(),
            metadata: None,
        });
        self.ask(agent, cancel, None).await;
    }

    /// Every event of a task, from the first to the last.
    async fn events(&self, agent: &str, id: &TaskId) -> Vec<Arc<Entry>> {
        let subscribe = Operation::Subscribe(Subscribe { id: id.clone() });
        let ReplyBody::Stream(mut cursor) = self.ask(agent, subscribe, Some(0)).await else {
            panic!("no stream");
        };
        let mut entries = Vec::new();
        while let Some(items) = cursor.next().await.unwrap() {
            entries.extend(items.into_iter().map(|item| item.entry));
        }
        entries
    }

    async fn tasks(&self, agent: &str) -> Vec<Arc<Task>> {
        let list = Operation::List(ListTasks {
            include_artifacts: true,
            history_length: Some(100),
            ..ListTasks::default()
        });
        match self.ask(agent, list, None).await {
            ReplyBody::Response(Response::Tasks(page)) => {
                page.tasks.into_iter().map(|view| view.task).collect()
            }
            other => panic!("{other:?}"),
        }
    }
}

fn profile(name: &str) -> Profile {
    let modes = || vec!["*/*".to_owned()];
    let card = AgentCard {
        default_input_modes: modes(),
        default_output_modes: modes(),
        ..AgentCard::new(name, "")
    };
    Profile {
        is_default: true,
        ..Profile::new(card)
    }
}

fn store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

fn artifact(task: &Task, name: &str) -> String {
    let artifact = task.artifacts.iter().find(|a| a.id.as_str() == name);
    let parts = artifact.unwrap().parts.iter();
    parts.filter_map(Part::as_text).collect()
}

/// Events in words, without ids and times.
fn told(entries: &[Arc<Entry>]) -> Vec<String> {
    let told = entries.iter().map(|entry| match &entry.event {
        Event::Task(task) => format!("task {}", task.status.state.name()),
        Event::Message(message) => format!("message {}", message.text()),
        Event::Status(update) => {
            let text = update.status.message.as_ref().map(|m| m.text());
            format!(
                "{} {}",
                update.status.state.name(),
                text.unwrap_or_default()
            )
        }
        Event::Artifact(update) => format!(
            "{} {} {} {:?}",
            update.artifact.id, update.append, update.last_chunk, update.artifact.parts
        ),
    });
    told.collect()
}

#[tokio::test(start_paused = true)]
async fn echo_answers() {
    let task = House::open(&store())
        .send("echo", "one two three", None, true)
        .await;
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(artifact(&task, "echo"), "one two three");
}

#[tokio::test(start_paused = true)]
async fn desk_makes_a_tree_of_tasks() {
    let house = House::open(&store());
    let task = house.send("desk", "plan a team lunch", None, true).await;
    assert_eq!(task.status.state, TaskState::Completed, "{task:?}");
    let plan = artifact(&task, "plan");
    assert!(plan.starts_with("A plan for: plan a team lunch"), "{plan}");
    assert!(plan.contains("4. Finding 4 of 4"), "{plan}");
    for agent in ["research", "echo"] {
        let children = house.tasks(agent).await;
        assert_eq!(children.len(), 1);
        assert_eq!(children[0].context_id, task.context_id);
        let message = &children[0].history[0];
        assert_eq!(message.reference_task_ids, slice::from_ref(&task.id));
    }
    let told = told(&house.events("desk", &task.id).await);
    assert!(told.contains(&"working passed to research".to_owned()));
    assert!(told.contains(&"working research: Reading three sources".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_delegated_call_says_whose_errand_it_is() {
    let house = House::open(&store());
    house.send("echo", "one", None, true).await;
    assert!(house.router.errands.lock().unwrap().is_empty());
    house.send("desk", "plan a team lunch", None, true).await;
    let errands = house.router.errands.lock().unwrap().clone();
    let errand = |to: &str| ("desk".to_owned(), to.to_owned());
    assert_eq!(errands, BTreeSet::from(["echo", "research"].map(errand)));
}

#[tokio::test(start_paused = true)]
async fn desk_goes_on_where_a_helper_fails() {
    let house = House::open(&store());
    let task = house.send("desk", "try something risky", None, true).await;
    let said = task.status.message.as_ref().unwrap().text();
    assert_eq!(said, "Done at the second try: Worked this time: just work");
}

#[tokio::test(start_paused = true)]
async fn a_question_travels_up_and_the_answer_down() {
    for (answer, state) in [("yes", TaskState::Completed), ("no", TaskState::Rejected)] {
        let house = House::open(&store());
        let asked = house.send("desk", "order chairs", None, true).await;
        assert_eq!(asked.status.state, TaskState::InputRequired);
        let question = asked.status.message.as_ref().unwrap().text();
        assert!(question.contains("“order chairs”"), "{question}");
        let unsure = house.send("desk", "perhaps", Some(&asked.id), true).await;
        assert_eq!(unsure.status.state, TaskState::InputRequired);
        let done = house.send("desk", answer, Some(&asked.id), true).await;
        assert_eq!(done.status.state, state, "{done:?}");
        let approver = house.tasks("approver").await;
        assert_eq!(approver.len(), 1);
        assert_eq!(approver[0].status.state, state);
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_outlives_a_crash() {
    let store = store();
    let house = House::open(&store);
    let asked = house.send("desk", "order chairs", None, true).await;
    let (house, recovered) = house.crash(&store).await;
    assert_eq!(recovered.waiting, 2);
    let done = house.send("desk", "yes", Some(&asked.id), true).await;
    assert_eq!(done.status.state, TaskState::Completed, "{done:?}");
    let approver = house.tasks("approver").await;
    assert_eq!(approver[0].status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_reaches_the_helpers() {
    let house = House::open(&store());
    let task = house.send("desk", "plan a trip", None, false).await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    house.cancel("desk", &task.id).await;
    let research = house.tasks("research").await;
    assert_eq!(research[0].status.state, TaskState::Canceled);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_withdrawn_if_the_cancel_comes_before_its_answer_is_passed_on() {
    let script = Script::parse("- wait: 1s\n- call: { agent: approver }").unwrap();
    let house = House::with(&store(), Some(("slow", &script)));
    let asked = house.send("slow", "order chairs", None, true).await;
    assert_eq!(asked.status.state, TaskState::InputRequired);
    house.send("slow", "yes", Some(&asked.id), false).await;
    house.cancel("slow", &asked.id).await;
    let approver = house.tasks("approver").await;
    assert_eq!(approver[0].status.state, TaskState::Canceled);
    let said = approver[0].history.iter().map(|message| message.text());
    assert!(!said.collect::<Vec<_>>().contains(&"yes".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn two_messages_that_say_the_same_under_one_id_are_two_calls() {
    let yaml = "
- choose: [{ when: { turn: 1 }, do: [{ wait: 1s }, { ask: what? }] }]
- call: { agent: echo }
- ask: what else?
";
    let script = Script::parse(yaml).unwrap();
    let house = House::with(&store(), Some(("twice", &script)));
    let task = house.send("twice", "listen", None, false).await;
    // Both wait until the task asks.
    let again = || house.send("twice", "again", Some(&task.id), true);
    let (one, two) = tokio::join!(again(), again());
    for answered in [one, two] {
        let question = answered.status.message.as_ref().unwrap().text();
        assert_eq!(question, "what else?");
    }
    assert_eq!(house.tasks("echo").await.len(), 2);
}

/// An agent that asks for credentials, and for more when it has received some. It tells so only to who looks.
#[derive(Debug)]
struct Insatiable(Mutex<Task>);

impl Insatiable {
    fn new() -> Self {
        let status = TaskStatus {
            state: TaskState::AuthRequired,
            message: None,
            timestamp: None,
        };
        Self(Mutex::new(Task {
            id: TaskId::new("other").unwrap(),
            context_id: ContextId::new("c").unwrap(),
            status,
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
        }))
    }

    /// The answers that it has received.
    fn received(&self) -> Vec<String> {
        let task = self.0.lock().unwrap();
        task.history.iter().map(|message| message.text()).collect()
    }
}

impl Handler for Insatiable {
    fn handle(&self, call: Call) -> Answering {
        let mut task = self.0.lock().unwrap();
        let response = match call.operation {
            Operation::Send(send) => {
                task.history.push(Arc::new(send.message));
                Response::SentTask as fn(TaskView) -> Response
            }
            Operation::Stream(_) => Response::SentTask,
            Operation::Get(_) => Response::Task,
            _ => return Box::pin(std::future::pending()),
        };
        let view = TaskView {
            task: Arc::new(task.clone()),
            history_length: None,
            artifacts: true,
        };
        let reply = Reply {
            body: ReplyBody::Response(response(view)),
            extensions: Vec::new(),
            about: None,
        };
        Box::pin(async { Ok(reply) })
    }
}

/// One life of a process: what it has spawned is gone when it is dropped.
fn life() -> Runtime {
    let mut life = tokio::runtime::Builder::new_current_thread();
    life.enable_all().start_paused(true).build().unwrap()
}

/// An agent that passes answers on to `other` after a second.
async fn slow_to_answer(
    store: &Arc<dyn Store>,
    other: &Arc<Insatiable>,
    guard: Guard,
) -> (Line, Recovered) {
    let yaml = "- choose: [{ when: { turn: 2 }, do: [{ wait: 1s }] }]\n- hand_off: other";
    let (log, handler) = (Log::new(Arc::clone(store)), Arc::clone(other));
    let engine = Engine::new(Parts {
        name: Arc::from("agent"),
        agent: Arc::new(ScriptAgent::new(
            Script::parse(yaml).unwrap(),
            Some(handler),
        )),
        router: None,
        profile: profile("agent"),
        settings: Settings::default(),
        log: log.clone(),
        guard: Arc::new(guard),
        tasks: Tasks::default(),
    });
    engine.take_over();
    let engines = [(Arc::from("agent"), engine.clone())].into();
    let recovered = recover(&log, &engines).await.unwrap();
    (Line { engine, log }, recovered)
}

/// What came of a secret after a crash.
struct AfterCrash {
    /// It had arrived before.
    arrived_before: bool,
    /// What the agent that asked has received, all in all.
    received: Vec<String>,
    recovered: Recovered,
    state: TaskState,
}

/// Answers with a secret, and crashes after that many milliseconds.
fn crash_with_secret(guard: impl Fn() -> Guard, moment: u64) -> AfterCrash {
    let (store, other) = (store(), Arc::new(Insatiable::new()));
    let first = life();
    let id = first.block_on(async {
        let (line, _) = slow_to_answer(&store, &other, guard()).await;
        let asked = line.send(says("log me in")).await.unwrap();
        assert_eq!(asked.status.state, TaskState::AuthRequired);
        let answer = Message {
            task_id: Some(asked.id.clone()),
            ..says("hunter2")
        };
        line.send_at_once(answer).await.unwrap();
        tokio::time::sleep(Duration::from_millis(moment)).await;
        line.log.stopping().cancel();
        line.log.close().await;
        asked.id.clone()
    });
    drop(first);
    let arrived_before = !other.received().is_empty();
    life().block_on(async {
        let (line, recovered) = slow_to_answer(&store, &other, guard()).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let task = line.get(&id).await.unwrap();
        let mut shown = task.history.iter().map(|message| message.text());
        assert!(!shown.any(|text| text.contains("hunter2")), "{task:?}");
        AfterCrash {
            arrived_before,
            received: other.received(),
            recovered,
            state: task.status.state,
        }
    })
}

#[test]
fn a_secret_in_flight_at_a_crash_reaches_the_agent_that_asked_exactly_once() {
    let key = Arc::new(SealingKey::from_bytes([1; 32]));
    let guard = || Guard::new(Vec::new()).sealing(Arc::clone(&key));
    for (moment, arrives_before) in [(500, false), (2000, true)] {
        let after = crash_with_secret(guard, moment);
        assert_eq!(after.arrived_before, arrives_before);
        assert_eq!(after.received, ["hunter2"]);
        assert_eq!((after.recovered.resumed, after.recovered.waiting), (1, 0));
        assert_eq!(after.state, TaskState::Working);
    }
}

#[test]
fn a_secret_that_could_not_be_sealed_fails_its_task_at_a_restart() {
    let after = crash_with_secret(|| Guard::new(Vec::new()), 500);
    assert!(!after.arrived_before);
    assert!(after.received.is_empty(), "{:?}", after.received);
    assert_eq!((after.recovered.resumed, after.recovered.failed), (0, 1));
    assert_eq!(after.state, TaskState::Failed);
}

/// Runs `text` once in peace and once with a crash at `moment`; the same must be told.
async fn survives(agent: &str, text: &str, helpers: &[&str], moment: Duration) {
    let peace = House::open(&store());
    let begin = tokio::time::Instant::now();
    let task = peace.send(agent, text, None, true).await;
    let takes = begin.elapsed();
    let expected = told(&peace.events(agent, &task.id).await);

    let store = store();
    let house = House::open(&store);
    let task = house.send(agent, text, None, false).await;
    tokio::time::sleep(moment).await;
    let (house, recovered) = house.crash(&store).await;
    assert_eq!(recovered.failed, 0);
    assert_eq!(recovered.resumed > 0, moment < takes, "{moment:?}");
    let entries = house.events(agent, &task.id).await;
    assert_eq!(told(&entries), expected, "crashed after {moment:?}");
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
    let gapless: Vec<u64> = (1..).take(numbers.len()).collect();
    assert_eq!(numbers, gapless);
    for helper in helpers {
        assert_eq!(house.tasks(helper).await.len(), 1, "{helper} {moment:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn research_survives_a_crash_at_any_moment() {
    for tenth in 0..=60 {
        let moment = Duration::from_millis(tenth * 100);
        survives("research", "rivers in 8 chunks every 500ms", &[], moment).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_tree_survives_a_crash_at_any_moment() {
    for step in 0..=50 {
        let moment = Duration::from_millis(step * 90);
        survives("desk", "plan a trip", &["research"], moment).await;
    }
}
