//! Who is let in is decided once for each request, however many ask for the outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::header::HeaderValue;
use serde_json::{Value, json};
use switchboard_server::auth::{
    Access, Alternative, Authenticator, Carried, Finding, Rejection, Scheme,
};
use switchboard_server::limit::Rate;
use switchboard_server::principal::Identity;
use switchboard_server::shutdown::Tasks;
use switchboard_types::model::SecurityScheme;

use crate::house::{Books, House, serve};
use crate::schemes::Bearer;
use crate::wire::{WAYS, bearer};

/// A bearer that counts how often it is asked who someone is, and how often an agent asks for its name: to see whether
/// it has recognised the caller.
#[derive(Debug)]
struct Counting {
    inner: Bearer,
    identified: AtomicUsize,
    named: AtomicUsize,
}

impl Scheme for Counting {
    fn name(&self) -> &Arc<str> {
        self.named.fetch_add(1, Ordering::Relaxed);
        self.inner.name()
    }

    fn identify<'a>(&'a self, carried: &'a Carried<'_>) -> Finding<'a> {
        self.identified.fetch_add(1, Ordering::Relaxed);
        self.inner.identify(carried)
    }

    fn challenge(&self, cause: Option<Rejection>, carried: &Carried<'_>) -> HeaderValue {
        self.inner.challenge(cause, carried)
    }

    fn declared(&self) -> SecurityScheme {
        self.inner.declared()
    }
}

impl Counting {
    fn take(&self) -> (usize, usize) {
        let taken = |count: &AtomicUsize| count.swap(0, Ordering::Relaxed);
        (taken(&self.identified), taken(&self.named))
    }
}

/// An agent with a rate that is the default one, another that only those see who may use it, and who counts.
async fn counting() -> (House, Arc<Counting>) {
    let scheme = Arc::new(Counting {
        inner: Bearer("bearer".into()),
        identified: AtomicUsize::new(0),
        named: AtomicUsize::new(0),
    });
    let access = || Access::by(vec![Alternative(vec![Arc::clone(&scheme) as _])]);
    let rate = Rate {
        requests: 1_000,
        per: Duration::from_secs(60),
    };
    let agents = vec![
        ("desk".into(), access().limited_to(rate)),
        ("attic".into(), access().hidden()),
    ];
    let tasks = Tasks::default();
    let books = Books::unread(&tasks);
    let authenticator = Authenticator::new(vec![Arc::clone(&scheme) as _]);
    let house = serve(agents, authenticator, books, tasks).await;
    // How often one evaluation asks.
    scheme.take();
    let known = Identity {
        scheme: "bearer".into(),
        ..Identity::default()
    };
    access().admit_known("desk", vec![known]).unwrap();
    assert_eq!(scheme.take(), (0, 1));
    (house, scheme)
}

#[tokio::test]
async fn a_request_is_authenticated_and_let_in_once_by_every_binding() {
    let (house, scheme) = counting().await;
    for agent in ["desk", "attic"] {
        for way in WAYS {
            let answer = house.read(way, agent, "ann", "nothing").await;
            way.expect(&answer, 404, 5, false);
            assert_eq!(scheme.take(), (1, 1), "{way:?} of {agent}");
        }
        let path = format!("/a2a/{agent}/.well-known/agent-card.json");
        let card = house.ask("GET", &path, &bearer("ann"), "").await;
        assert_eq!(card.status, 200);
        assert_eq!(scheme.take(), (1, 1), "the card of {agent}");
        let path = format!("/agents/{agent}/chat");
        let says = json!({"message": "x"}).to_string();
        let chat = house.ask("POST", &path, &bearer("ann"), says).await;
        assert_eq!(chat.status, 200, "{chat:?}");
        assert_eq!(scheme.take(), (1, 1), "chat with {agent}");
    }
}

/// Only the body may say which agent is meant: each that it may be is evaluated once.
#[tokio::test]
async fn an_agent_that_the_body_names_is_evaluated_once() {
    let (house, scheme) = counting().await;
    for (tenant, evaluated) in [(Value::Null, 1), (json!("desk"), 1), (json!("attic"), 2)] {
        let mut params = json!({"id": "nothing"});
        if !tenant.is_null() {
            params["tenant"] = tenant.clone();
        }
        let answer = house.rpc("/", "ann", "GetTask", params).await;
        assert_eq!(answer.json()["error"]["code"], -32001, "{answer:?}");
        assert_eq!(scheme.take(), (1, evaluated), "{tenant}");
    }
}
