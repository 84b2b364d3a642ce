//! Lists under a policy that looks at tasks: they are as if there were no other tasks than those that may be read.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message as _;
use serde_json::{Value, json};
use switchboard_proto::v1_0;
use switchboard_server::auth::{About, Access, Action, Ask, Denial, Policy, Verdict};
use switchboard_server::authorize::Authorized;
use switchboard_server::call::{Call, Handler, Origin, ReplyBody, ServiceParams, Target};
use switchboard_server::egress::Guard;
use switchboard_server::engine::{Engine, Parts, Settings};
use switchboard_server::log::Log;
use switchboard_server::principal::Principal;
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::sqlite::{SqliteOptions, SqliteStore};
use switchboard_server::store::{Error, MemoryStore, Store};
use switchboard_server::testing::agent::{FnAgent, profile};
use switchboard_server::testing::store_suite::{Story, at, commit};
use switchboard_server::testing::troubled::{Request, Trouble, Troubled};
use switchboard_types::model::{ContextId, TaskId, TaskState};
use switchboard_types::operation::{ListTasks, Method, Operation, Response, TaskPage};
use tokio::sync::Semaphore;

use crate::house::{House, open};
use crate::wire::{Answer, bearer};

/// Keeps these tasks from being read, and all that are canceled.
#[derive(Debug)]
struct Hides(BTreeSet<TaskId>);

impl Policy for Hides {
    fn decide(&self, ask: &Ask<'_>) -> Verdict {
        let hidden = match ask.task {
            About::Own(task) => self.0.contains(task.id) || task.state == TaskState::Canceled,
            About::Nothing | About::Unseen => false,
        };
        match ask.action {
            Action::Call(Method::Get) if hidden => Verdict::Deny(Denial::by("hidden", "no")),
            _ => Verdict::Allow,
        }
    }

    fn looks_at_tasks(&self) -> bool {
        true
    }
}

/// The agent of the stories, behind a policy that hides some of them.
fn hiding<'a>(store: &Arc<dyn Store>, hidden: impl IntoIterator<Item = &'a Story>) -> Authorized {
    let engine = Engine::new(Parts {
        name: Arc::from("echo"),
        agent: Arc::new(FnAgent::new(|_, _| std::future::pending())),
        router: None,
        profile: profile(),
        settings: Settings::default(),
        log: Log::new(Arc::clone(store)),
        guard: Arc::new(Guard::new(Vec::new())),
        tasks: Tasks::default(),
    });
    let hidden = hidden.into_iter().map(|story| story.id().clone()).collect();
    let access = Access::open().ruled_by(Arc::new(Hides(hidden)));
    Authorized::new(engine, Arc::new(access))
}

async fn list(agent: &Authorized, list: ListTasks) -> TaskPage {
    let call = Call {
        operation: Operation::List(list),
        target: Target::default(),
        principal: Principal::from(Story::new(0).head.owner),
        params: ServiceParams::internal(),
        origin: Origin::Network,
    };
    match agent.handle(call).await.unwrap().body {
        ReplyBody::Response(Response::Tasks(page)) => page,
        other => panic!("no list: {other:?}"),
    }
}

fn ids(page: &TaskPage) -> Vec<TaskId> {
    page.tasks.iter().map(|view| view.task.id.clone()).collect()
}

/// So many stories, one a second, each in that state.
async fn stories(store: &dyn Store, count: u32, state: TaskState) -> Vec<Story> {
    let mut stories = Vec::new();
    for n in 0..count {
        let mut story = Story::new(n);
        commit(store, [story.step(state, at(n.into()))]).await;
        stories.push(story);
    }
    stories
}

/// What a binding says: how many tasks, whether others follow, how many there are.
type Told = (usize, bool, u64);

fn told(page: &Value) -> Told {
    let tasks = page["tasks"].as_array().unwrap().len();
    let more = !page["nextPageToken"]
        .as_str()
        .unwrap_or_default()
        .is_empty();
    (tasks, more, page["totalSize"].as_u64().unwrap())
}

/// A page by every binding that has lists.
async fn by_every_binding(house: &House, size: i32, state: Option<(&str, i32)>) -> Vec<Told> {
    let mut params = json!({ "pageSize": size });
    let mut path = format!("/a2a/clerk/tasks?pageSize={size}");
    let mut request = v1_0::ListTasksRequest {
        page_size: Some(size),
        ..Default::default()
    };
    if let Some((name, number)) = state {
        params["status"] = name.into();
        path = format!("{path}&status={name}");
        request.status = number;
    }
    let mut headers = bearer("ann");
    let grpc = "/lf.a2a.v1.A2AService/ListTasks";
    let grpc: Answer = house.rpc_of(grpc, "clerk", headers.clone(), &request).await;
    let grpc = v1_0::ListTasksResponse::decode(&grpc.body[5..]).unwrap();
    headers.push(("a2a-version", "1.0".to_owned()));
    let rest = house.ask("GET", &path, &headers, "").await;
    let rpc = house.rpc("/a2a/clerk", "ann", "ListTasks", params).await;
    vec![
        told(&rpc.json()["result"]),
        told(&rest.json()),
        (
            grpc.tasks.len(),
            !grpc.next_page_token.is_empty(),
            u64::try_from(grpc.total_size).unwrap(),
        ),
    ]
}

#[tokio::test]
async fn pages_are_full_and_count_what_may_be_read_by_every_binding() {
    let house = open(&["clerk"]).await;
    for n in 0..6 {
        let message = |more: Value| {
            let mut message = json!({
                "messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}],
            });
            let more = more.as_object().unwrap().clone();
            message.as_object_mut().unwrap().extend(more);
            json!({ "message": message })
        };
        let say = async |params: Value| {
            let answer = house.rpc("/a2a/clerk", "ann", "SendMessage", params).await;
            answer.json()["result"]["task"].clone()
        };
        let task = say(message(json!({}))).await;
        // What is over is hidden.
        if n % 2 == 0 {
            let task = say(message(json!({"taskId": task["id"]}))).await;
            assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
        }
    }
    let waits = Some(("TASK_STATE_INPUT_REQUIRED", 6));
    let over = Some(("TASK_STATE_COMPLETED", 3));
    for (size, state, expected) in [
        (2, None, (2, true, 3)),
        (3, None, (3, false, 3)),
        (50, None, (3, false, 3)),
        (1, waits, (1, true, 3)),
        (1, over, (0, false, 0)),
    ] {
        let pages = by_every_binding(&house, size, state).await;
        assert_eq!(pages, [expected; 3], "{size} of {state:?}");
    }
}

#[tokio::test]
async fn tasks_that_arrive_between_pages_move_nothing() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let told = stories(&*store, 7, TaskState::Working).await;
    let agent = hiding(&store, told.iter().step_by(3));
    let mut query = ListTasks {
        page_size: Some(2),
        ..ListTasks::default()
    };
    let first = list(&agent, query.clone()).await;
    let mut late = Story::new(99);
    commit(&*store, [late.step(TaskState::Working, at(99))]).await;
    query.page_token = Some(first.next_page_token.clone());
    let second = list(&agent, query.clone()).await;
    assert_eq!(second.next_page_token, "");
    let seen: Vec<TaskId> = [ids(&first), ids(&second)].concat();
    let expected = [5, 4, 2, 1].map(|n: usize| told[n].id().clone());
    assert_eq!(seen, expected);
    assert_eq!((first.total_size, second.total_size), (4, 5));
}

#[tokio::test]
async fn one_visible_task_is_found_below_thousands() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let told = stories(&*store, 2_500, TaskState::Completed).await;
    let agent = hiding(&store, &told[2..]);
    let mut query = ListTasks {
        page_size: Some(1),
        ..ListTasks::default()
    };
    for (n, more) in [(1, true), (0, false)] {
        let page = list(&agent, query.clone()).await;
        let found = (ids(&page), page.total_size);
        assert_eq!(found, (vec![told[n].id().clone()], 2));
        assert_eq!(!page.next_page_token.is_empty(), more);
        query.page_token = Some(page.next_page_token);
    }
}

/// What is hidden takes nothing of the budget of a page.
#[tokio::test]
async fn a_page_ends_by_the_bytes_of_what_is_visible() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut told = stories(&*store, 8, TaskState::Working).await;
    for story in &mut told {
        commit(&*store, [story.say(&"x".repeat(900 << 10))]).await;
    }
    let agent = hiding(&store, told.iter().step_by(2));
    let mut query = ListTasks {
        include_artifacts: true,
        ..ListTasks::default()
    };
    for expected in [&[7, 5, 3][..], &[1]] {
        let page = list(&agent, query.clone()).await;
        let expected: Vec<TaskId> = expected.iter().map(|n| told[*n].id().clone()).collect();
        assert_eq!((ids(&page), page.total_size), (expected, 4));
        query.page_token = Some(page.next_page_token);
    }
    assert_eq!(query.page_token.as_deref(), Some(""));
}

/// Stops between the search for visible tasks and reading them.
#[derive(Debug, Clone)]
struct Interrupted {
    reached: Arc<Semaphore>,
    go: Arc<Semaphore>,
}

#[async_trait]
impl Trouble for Interrupted {
    async fn meet(&self, request: Request<'_>) -> Result<(), Error> {
        if let Request::ListById(_) = request {
            self.reached.add_permits(1);
            self.go.acquire().await.unwrap().forget();
        }
        Ok(())
    }
}

/// Neither is what has become hidden shown, nor is an empty page, nor is a task left out because it went on.
#[tokio::test]
async fn what_changes_while_a_page_is_read_is_shown_as_it_is_then() {
    let trouble = Interrupted {
        reached: Arc::new(Semaphore::new(0)),
        go: Arc::new(Semaphore::new(0)),
    };
    let store: Arc<dyn Store> = Arc::new(Troubled::by(trouble.clone()));
    let mut told = stories(&*store, 4, TaskState::Working).await;
    let agent = hiding(&store, []);
    let mut query = ListTasks {
        page_size: Some(1),
        ..ListTasks::default()
    };
    // The first page would be task 3, but that is hidden before it is read; task 2 goes on.
    let (page, ()) = tokio::join!(list(&agent, query.clone()), async {
        trouble.reached.acquire().await.unwrap().forget();
        commit(&*store, [told[3].step(TaskState::Canceled, at(10))]).await;
        trouble.go.add_permits(1);
        trouble.reached.acquire().await.unwrap().forget();
        commit(&*store, [told[2].step(TaskState::Working, at(11))]).await;
        trouble.go.add_permits(10);
    });
    assert_eq!(ids(&page), [told[2].id().clone()]);
    let mut seen = Vec::new();
    query.page_token = Some(page.next_page_token);
    while query.page_token.as_deref() != Some("") {
        let page = list(&agent, query.clone()).await;
        seen.extend(ids(&page));
        query.page_token = Some(page.next_page_token);
    }
    assert_eq!(seen, [1, 0].map(|n: usize| told[n].id().clone()));
}

/// A task: whether it is hidden, its state, since when, its conversation.
type Fact = (bool, TaskState, u8, u8);

fn facts() -> impl Strategy<Value = Vec<Fact>> {
    let states = prop::sample::select(vec![
        TaskState::Working,
        TaskState::Completed,
        TaskState::InputRequired,
        TaskState::Canceled,
    ]);
    vec((any::<bool>(), states, 0..6_u8, 0..3_u8), 0..24)
}

/// All pages of a list are the tasks that one may read, in their order; each is full but the last one.
async fn check(store: Arc<dyn Store>, facts: &[Fact], query: ListTasks) {
    let mut told = Vec::new();
    for (n, (_, state, when, context)) in (0..).zip(facts) {
        let mut story = Story::new(n).in_context(&format!("c{context}"));
        commit(&*store, [story.step(*state, at((*when).into()))]).await;
        told.push(story);
    }
    let hidden = told.iter().zip(facts).filter(|(_, fact)| fact.0);
    let agent = hiding(&store, hidden.map(|(story, _)| story));
    let matches = |story: &&Story| {
        let head = &story.head;
        query.status.is_none_or(|state| state == head.state)
            && query
                .status_timestamp_after
                .is_none_or(|from| head.updated >= from)
            && query
                .context_id
                .as_ref()
                .is_none_or(|context| *context == head.context)
            && head.state != TaskState::Canceled
    };
    let visible = told.iter().zip(facts).filter(|(_, fact)| !fact.0);
    let mut expected: Vec<&Story> = visible.map(|(story, _)| story).filter(matches).collect();
    expected.sort_by_key(|story| std::cmp::Reverse((story.head.updated, story.head.id.clone())));
    let expected: Vec<TaskId> = expected.iter().map(|story| story.id().clone()).collect();
    let size = usize::try_from(query.page_size.unwrap()).unwrap();
    let mut pages = expected.chunks(size).peekable();
    let mut query = query.clone();
    loop {
        let page = list(&agent, query.clone()).await;
        assert_eq!(ids(&page), pages.next().unwrap_or_default());
        assert_eq!(page.total_size, expected.len() as u64);
        assert_eq!(page.next_page_token.is_empty(), pages.peek().is_none());
        if page.next_page_token.is_empty() {
            return;
        }
        query.page_token = Some(page.next_page_token);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn all_pages_together_are_what_may_be_read(
        facts in facts(),
        size in 1..5_u32,
        status in prop::option::of(prop::sample::select(vec![
            TaskState::Working, TaskState::Completed, TaskState::Canceled,
        ])),
        since in prop::option::of(0..6_i64),
        context in prop::option::of(0..3_u8),
    ) {
        let query = ListTasks {
            page_size: Some(size),
            status,
            status_timestamp_after: since.map(at),
            context_id: context.map(|n| ContextId::new(format!("c{n}")).unwrap()),
            ..ListTasks::default()
        };
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            check(Arc::new(MemoryStore::new()), &facts, query.clone()).await;
            let store = SqliteStore::open(&SqliteOptions::new(dir.path())).unwrap();
            check(Arc::new(store), &facts, query).await;
        });
    }
}
