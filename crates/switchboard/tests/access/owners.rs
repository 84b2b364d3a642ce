//! A task belongs to who made it. Nobody else learns that it is there.

use switchboard_types::model::TaskId;
use switchboard_types::operation::{Method, Operation};

use crate::credentials::{AUDIENCE, Header, SCOPE, bearer};
use crate::ways::{Way, id, message, operation, say, ways};
use crate::world::World;

const ABSENT: &str = "00000000-0000-4000-8000-000000000000";

fn caller(world: &World, subject: &str) -> Vec<Header> {
    bearer(&world.tokens.token(subject, AUDIENCE, SCOPE, 600))
}

/// All that a task can be asked for by its id.
fn on(task: &TaskId) -> Vec<Operation> {
    let named = [
        Method::Get,
        Method::Cancel,
        Method::Subscribe,
        Method::CreatePushConfig,
        Method::GetPushConfig,
        Method::ListPushConfigs,
        Method::DeletePushConfig,
    ];
    let go_on = || {
        let mut message = message();
        message.task_id = Some(task.clone());
        say(message)
    };
    let mut all: Vec<Operation> = named.map(|method| operation(method, task)).into();
    all.push(Operation::Send(go_on()));
    all.push(Operation::Stream(go_on()));
    all
}

#[tokio::test]
async fn a_second_user_learns_by_no_operation_that_a_task_exists() {
    let world = World::open().await;
    let (alice, mallory) = (caller(&world, "alice"), caller(&world, "mallory"));
    let hers = world.task("closed", &alice).await;
    let absent: TaskId = id(ABSENT);
    assert_eq!(hers.as_str().len(), ABSENT.len());
    for way in ways() {
        for (real, made_up) in on(&hers).into_iter().zip(on(&absent)) {
            if !way.has(real.method()) {
                continue;
            }
            let of_hers = way.ask(&world, "closed", &mallory, &real).await;
            let of_none = way.ask(&world, "closed", &mallory, &made_up).await;
            let (a, b) = (of_hers.told(&hers), of_none.told(&absent));
            assert_eq!(a, b, "{way:?} {:?}", real.method());
            assert!(!of_hers.is_good(), "{way:?} {:?}", real.method());
        }
    }
    // Nothing has happened to it.
    let way: Way = ways().next().unwrap();
    let get = way
        .ask(&world, "closed", &alice, &operation(Method::Get, &hers))
        .await;
    let task = &get.json()["result"];
    assert_eq!(
        task["status"]["state"], "TASK_STATE_INPUT_REQUIRED",
        "{task}"
    );
}

#[tokio::test]
async fn lists_and_contexts_are_ones_own() {
    let world = World::open().await;
    let (alice, mallory) = (caller(&world, "alice"), caller(&world, "mallory"));
    let hers = world.task("closed", &alice).await;
    for way in ways().filter(|way| way.has(Method::List)) {
        let list = operation(Method::List, &hers);
        let seen = way.ask(&world, "closed", &mallory, &list).await;
        let text = String::from_utf8_lossy(&seen.body).into_owned();
        assert!(seen.is_good(), "{way:?} {seen:?}");
        assert!(!text.contains(hers.as_str()), "{way:?} {text}");
    }
    let way: Way = ways().next().unwrap();
    let get = way
        .ask(&world, "closed", &alice, &operation(Method::Get, &hers))
        .await;
    let context = get.json()["result"]["contextId"]
        .as_str()
        .unwrap()
        .to_owned();
    // Her conversation, by its id: what is made there is his, and of hers nothing is told.
    let mut said = message();
    said.context_id = Some(id(&context));
    let send = Operation::Send(say(said));
    let made = way.ask(&world, "closed", &mallory, &send).await;
    let text = String::from_utf8_lossy(&made.body).into_owned();
    assert!(!text.contains(hers.as_str()), "{text}");
    let list = operation(Method::List, &hers);
    let listed = way.ask(&world, "closed", &alice, &list).await;
    assert_eq!(listed.json()["result"]["totalSize"], 1, "{listed:?}");
}

#[tokio::test]
async fn the_same_key_for_repeats_is_another_one_for_another_caller() {
    let world = World::open().await;
    let way: Way = ways().next().unwrap();
    let send = operation(Method::Send, &id(ABSENT));
    let mut ids = Vec::new();
    for subject in ["alice", "mallory", "alice"] {
        let mut headers = caller(&world, subject);
        headers.push(("idempotency-key", "1".to_owned()));
        let sent = way.ask(&world, "closed", &headers, &send).await;
        ids.push(sent.json()["result"]["task"]["id"].clone());
    }
    assert!(ids[0].is_string());
    assert_ne!(ids[0], ids[1]);
    assert_eq!(ids[0], ids[2]);
}

/// Two issuers, or a key and a token, may name the same subject: they are not the same caller.
#[tokio::test]
async fn a_name_counts_only_where_it_comes_from() {
    let world = World::open().await;
    let hers = world.task("scoped", &caller(&world, "alice")).await;
    let key = [("x-api-key", world.keys.right.clone())];
    for way in ways() {
        let get = way
            .ask(&world, "scoped", &key, &operation(Method::Get, &hers))
            .await;
        assert!(!get.is_good(), "{way:?} {get:?}");
    }
}
