//! Who an agent is to what stands behind it: callers, a server, an agent, an issuer of tokens and a service, all on
//! sockets.

#![expect(clippy::unwrap_used, reason = "a test may stop where it is surprised")]

mod canceled;
mod card;
mod langgraph;
mod renewed;
mod site;
mod upstream;
mod world;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_agents::identity::Outbound;
use switchboard_client::{in_task, text};
use switchboard_server::principal::Principal;
use switchboard_server::store::sqlite::{SqliteOptions, SqliteStore};
use switchboard_testkit::eventually;
use switchboard_types::model::{Binding, Secret, Task, TaskState};
use tokio::time::Instant;

use crate::site::{Asked, Site};
use crate::world::{Backend, SECRET, World, exchanged, own, task, token_of};

const TRACE: HeaderName = HeaderName::from_static("x-trace");

/// What arrived beside what every HTTP client sends.
fn arrived(asked: &Asked) -> Vec<(String, String)> {
    let usual = ["accept", "host", "content-length"];
    let all = asked.headers.iter();
    let more = all.filter(|(name, _)| !usual.contains(&name.as_str()));
    let mut more: Vec<_> = more
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    more.sort();
    more
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = pairs.iter();
    owned
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn state(task: &Arc<Task>) -> TaskState {
    task.status.state
}

fn said(task: &Arc<Task>) -> String {
    let message = task.status.message.as_ref();
    message.map(|message| message.text()).unwrap_or_default()
}

#[tokio::test]
async fn exactly_what_is_named_arrives_by_every_binding() {
    let ann = token_of("ann", 1);
    let bearer = format!("Bearer {ann}");
    let cases = [
        (Outbound::none(), pairs(&[])),
        (
            Outbound::forwarded(vec![AUTHORIZATION, TRACE]).unwrap(),
            pairs(&[("authorization", &bearer), ("x-trace", "one")]),
        ),
        (
            Outbound::forwarded(vec![TRACE, HeaderName::from_static("x-absent")]).unwrap(),
            pairs(&[("x-trace", "one")]),
        ),
        (
            Outbound::forwarded(vec![COOKIE]).unwrap(),
            pairs(&[("cookie", "session=no")]),
        ),
        (
            Outbound::fixed([(HeaderName::from_static("x-key"), Secret::new("k"))]).unwrap(),
            pairs(&[("x-key", "k")]),
        ),
    ];
    for (identity, expected) in cases {
        let shown = format!("{identity:?}");
        let upstream = Site::upstream().await;
        let world = World::open(Backend::new(identity, &upstream)).await;
        for binding in [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc] {
            let client = world.client(Some(&ann), binding.clone()).await;
            let done = task(client.send(text("x")).await.unwrap());
            assert_eq!(said(&done), "200", "{binding:?} {shown}");
            let asked = upstream.asked();
            let last = asked.last().unwrap();
            assert_eq!(arrived(last), expected, "{binding:?} {shown}");
        }
    }
}

#[tokio::test]
async fn the_agents_own_token_serves_all_callers() {
    let (issuer, upstream) = (Site::issuer().await, Site::upstream().await);
    let world = World::open(Backend::new(own(&issuer), &upstream)).await;
    for caller in [Some(token_of("ann", 1)), Some(token_of("bob", 1)), None] {
        assert_eq!(said(&world.ask(caller.as_deref()).await), "200");
    }
    for asked in upstream.asked() {
        assert_eq!(
            arrived(&asked),
            pairs(&[("authorization", "Bearer token-1")])
        );
    }
    let [asked] = &issuer.asked()[..] else {
        panic!("asked more than once");
    };
    assert_eq!(asked.form()["grant_type"], "client_credentials");
}

#[tokio::test]
async fn a_hundred_callers_of_one_subject_need_one_token() {
    let (issuer, upstream) = (Site::issuer().await, Site::upstream().await);
    let world = World::open(Backend::new(exchanged(&issuer), &upstream)).await;
    let ann = token_of("ann", 1);
    let client = world.client(Some(&ann), Binding::JsonRpc).await;
    let asking = (0..100).map(|_| client.send(text("x")));
    for sent in join_all(asking).await {
        assert_eq!(said(&task(sent.unwrap())), "200");
    }
    let asked = upstream.asked();
    assert_eq!(asked.len(), 100);
    assert!(asked.iter().all(|a| a.authorization() == "Bearer token-1"));
    let [asked] = &issuer.asked()[..] else {
        panic!("asked more than once");
    };
    let form = asked.form();
    let grant = "urn:ietf:params:oauth:grant-type:token-exchange";
    assert_eq!(
        (&*form["grant_type"], &*form["subject_token"]),
        (grant, &*ann)
    );
    assert_eq!(form["audience"], "upstream");
}

#[tokio::test]
async fn each_caller_is_shown_as_itself() {
    let (issuer, upstream) = (Site::issuer().await, Site::upstream().await);
    let world = World::open(Backend::new(exchanged(&issuer), &upstream)).await;
    let ann = token_of("ann", 1);
    let callers = [ann.clone(), token_of("bob", 1), ann];
    for token in &callers {
        assert_eq!(said(&world.ask(Some(token)).await), "200");
    }
    // Another token of Ann's may grant less than the first: what that one was exchanged for is not hers now.
    world.ask(Some(&token_of("ann", 2))).await;
    let shown: Vec<String> = upstream
        .asked()
        .iter()
        .map(|a| a.authorization().to_owned())
        .collect();
    assert_eq!(
        shown,
        [
            "Bearer token-1",
            "Bearer token-2",
            "Bearer token-1",
            "Bearer token-3"
        ]
    );
}

#[tokio::test]
async fn a_token_that_the_service_does_not_take_is_replaced_once() {
    let issuer = Site::issuer().await;
    let upstream = Site::open(|asked, _| match asked.authorization() {
        "Bearer token-2" => Some((200, String::new())),
        _ => Some((401, String::new())),
    })
    .await;
    let world = World::open(Backend::new(exchanged(&issuer), &upstream)).await;
    let ann = token_of("ann", 1);
    for _ in 0..2 {
        assert_eq!(said(&world.ask(Some(&ann)).await), "200");
    }
    assert_eq!((issuer.asked().len(), upstream.asked().len()), (2, 3));
    // Where it takes none, it is asked twice and no more.
    assert_eq!(said(&world.ask(Some(&token_of("bob", 1))).await), "401");
    assert_eq!((issuer.asked().len(), upstream.asked().len()), (4, 5));
}

#[tokio::test]
async fn whoever_has_no_token_is_asked_for_one() {
    let (issuer, upstream) = (Site::issuer().await, Site::upstream().await);
    let world = World::open(Backend::new(exchanged(&issuer), &upstream)).await;
    let asked = world.ask(None).await;
    assert_eq!(state(&asked), TaskState::AuthRequired);
    assert!(said(&asked).contains("credentials"), "{asked:?}");
    assert!(issuer.asked().is_empty() && upstream.asked().is_empty());
}

#[tokio::test]
async fn a_turn_that_goes_on_after_a_restart_asks_for_what_was_never_stored() {
    let upstream = Site::upstream().await;
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        let store = SqliteStore::open(&SqliteOptions::new(dir.path()));
        Arc::new(store.unwrap())
    };
    let backend = |stuck| Backend {
        stuck,
        ..Backend::new(
            Outbound::forwarded(vec![AUTHORIZATION, TRACE]).unwrap(),
            &upstream,
        )
    };
    let world = World::on(open(), backend(true)).await;
    let ann = token_of("ann", 1);
    let client = world.client(Some(&ann), Binding::JsonRpc).await;
    let mut events = client.stream(text("x")).await.unwrap();
    let id = loop {
        let item = events.next().await.unwrap().unwrap();
        if format!("{item:?}").contains("stuck") {
            break events.task().unwrap().id.clone();
        }
    };
    drop(events);
    world.fall_over().await;
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let holds = |text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
        assert!(!holds(&ann) && !holds("x-trace"), "a header was stored");
    }

    let world = World::on(open(), backend(false)).await;
    assert_eq!(world.recovered.resumed, 1);
    let client = world.client(Some(&ann), Binding::JsonRpc).await;
    eventually("a question for credentials", async || {
        let waiting = client.get(&id, None).await.unwrap();
        let asks = state(&waiting) == TaskState::AuthRequired;
        asks.then_some(()).ok_or(format!("{waiting:?}"))
    })
    .await;
    assert!(upstream.asked().is_empty());
    let done = task(
        client
            .send(in_task(text("again"), &id, None))
            .await
            .unwrap(),
    );
    assert_eq!((state(&done), &*said(&done)), (TaskState::Completed, "200"));
    let bearer = format!("Bearer {ann}");
    let expected = pairs(&[("authorization", &bearer), ("x-trace", "one")]);
    assert_eq!(arrived(&upstream.asked()[0]), expected);
}

#[tokio::test]
async fn callers_learn_nothing_of_an_issuer_that_gives_no_token() {
    type Answer = fn(&Asked, usize) -> Option<(u16, String)>;
    let cases: [(&str, Answer, &str); 6] = [
        (
            "refuses",
            |_, _| Some((400, r#"{"error":"invalid_target"}"#.into())),
            "may not act",
        ),
        (
            "fails",
            |_, _| Some((500, "broken".into())),
            "are not available now",
        ),
        (
            "HTML",
            |_, _| Some((200, "<html>".into())),
            "are not available now",
        ),
        (
            "huge",
            |_, _| Some((200, "x".repeat(2 << 20))),
            "are not available now",
        ),
        ("silent", |_, _| None, "are not available now"),
        (
            "no header",
            |_, _| Some((200, r#"{"access_token":"a\r\nx: y"}"#.into())),
            "are not available now",
        ),
    ];
    for (what, answer, expected) in cases {
        let (issuer, upstream) = (Site::open(answer).await, Site::upstream().await);
        let world = World::open(Backend {
            patience: Duration::from_secs(1),
            ..Backend::new(exchanged(&issuer), &upstream)
        })
        .await;
        let began = Instant::now();
        let failed = world.ask(Some(&token_of("ann", 1))).await;
        assert_eq!(state(&failed), TaskState::Failed, "{what}");
        assert!(
            said(&failed).contains(expected),
            "{what}: {}",
            said(&failed)
        );
        assert!(began.elapsed() < Duration::from_secs(5), "{what}");
        let shown = format!("{failed:?}");
        for secret in [&*issuer.url, SECRET, "invalid_target"] {
            assert!(!shown.contains(secret), "{what}: {shown}");
        }
        assert!(upstream.asked().is_empty(), "{what}");
    }
}

#[tokio::test]
async fn no_value_is_shown_to_people() {
    let issuer = Site::issuer().await;
    let mut sent = HeaderMap::new();
    sent.insert(AUTHORIZATION, HeaderValue::from_static("Bearer of-ann"));
    let forwarded = Outbound::forwarded(vec![AUTHORIZATION]).unwrap();
    let caller = Principal::known(Vec::new()).bringing(&sent, forwarded.wants());
    let deadline = Instant::now() + Duration::from_secs(20);
    for (identity, value) in [
        (forwarded, "Bearer of-ann"),
        (own(&issuer), "Bearer token-1"),
    ] {
        let headers = identity.headers(&caller, deadline).await.unwrap();
        assert_eq!(headers[AUTHORIZATION], value);
        let shown = format!("{headers:?} {identity:?} {caller:?}");
        for secret in [SECRET, "of-ann", "token-1"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}
