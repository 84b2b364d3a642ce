//! How often a caller may ask, and what it is told.

use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use serde_json::json;
use switchboard_proto::rpc;
use switchboard_server::auth::{Access, Alternative, Authenticator, Failures, Scheme};
use switchboard_server::clock;
use switchboard_server::limit::Rate;
use switchboard_server::net::Cidr;
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::access::What;

use crate::house::{Books, House, serve_with};
use crate::schemes::Bearer;
use crate::wire::{Answer, WAYS, Way, bearer, decode};

/// So many in an hour: none comes back while a test runs.
fn an_hour(requests: u32) -> Rate {
    Rate {
        requests,
        per: Duration::from_secs(3600),
    }
}

/// `hall` is open, `desk` wants a bearer; `yard` is open and has no rate.
async fn open(hall: u32, desk: u32, proxies: &[&str]) -> House {
    let scheme: Arc<dyn Scheme> = Arc::new(Bearer("bearer".into()));
    let closed = Access::by(vec![Alternative(vec![Arc::clone(&scheme)])]);
    let agents = vec![
        ("hall".into(), Access::open().limited_to(an_hour(hall))),
        ("desk".into(), closed.limited_to(an_hour(desk))),
        ("yard".into(), Access::open()),
    ];
    let brake = Failures::new(3, Duration::from_secs(600));
    let tasks = Tasks::default();
    let books = Books::unread(&tasks);
    let authenticator = Authenticator::new(vec![scheme])
        .with_failures(brake)
        .audited(books.audit.clone());
    serve_with(agents, authenticator, books, tasks, |parts| {
        let proxies = proxies.iter().map(|range| Cidr::parse(range).unwrap());
        parts.base_url.trusted_proxies = proxies.collect();
    })
    .await
}

impl Answer {
    /// What it says of the rate: limit, remaining.
    fn standing(&self) -> Option<(u32, u32)> {
        let number = |name| Some(self.header(name)?.parse::<u32>().unwrap());
        let limit = number("x-ratelimit-limit")?;
        Some((limit, number("x-ratelimit-remaining").unwrap()))
    }
}

/// S2-099, S2-100, S2-101, S2-102
#[tokio::test]
async fn every_answer_of_an_agent_with_a_rate_says_how_the_caller_stands() {
    let house = open(100, 100, &[]).await;
    let mut left = 100;
    let mut expect = |answer: &Answer, what: &str| {
        left -= 1;
        assert_eq!(answer.standing(), Some((100, left)), "{what}: {answer:?}");
        let reset: i64 = answer.header("x-ratelimit-reset").unwrap().parse().unwrap();
        let full_in = reset - clock::now().as_micros() / 1_000_000;
        let each = i64::from(100 - left) * 36;
        assert!(
            (each - 30..=each + 1).contains(&full_in),
            "{what}: {full_in}"
        );
    };
    for way in WAYS {
        let answer = house.read(way, "hall", "", "nothing").await;
        way.expect(&answer, 404, 5, false);
        expect(&answer, &format!("{way:?}"));
    }
    let message =
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}});
    for method in ["SendMessage", "SendStreamingMessage", "NoSuchMethod"] {
        let answer = house.rpc("/a2a/hall", "", method, message.clone()).await;
        expect(&answer, method);
    }
    for (verb, path, body) in [
        ("POST", "/a2a/hall", "{"),
        ("POST", "/a2a/hall", ""),
        ("POST", "/a2a/hall/message:send", "[]"),
        ("GET", "/a2a/hall/nowhere", ""),
        ("GET", "/a2a/hall/agent/authenticatedExtendedCard", ""),
        // The default agent, if nobody else is meant.
        ("POST", "/", "{"),
        ("GET", "/tasks/nothing", ""),
        ("POST", "/message:send", "[]"),
    ] {
        expect(&house.ask(verb, path, &[], body).await, path);
    }
    for (token, path) in [("", "401"), ("expired", "401, expired")] {
        let answer = house.read(Way::Rest10, "desk", token, "nothing").await;
        assert_eq!(answer.status, 401);
        assert!(answer.standing().is_some(), "{path}");
    }
    for path in ["/livez", "/a2a/hall/.well-known/agent-card.json"] {
        let answer = house.ask("GET", path, &[], "").await;
        assert_eq!(answer.standing(), None, "{path} is no call");
    }
    for way in WAYS {
        let answer = house.read(way, "yard", "", "nothing").await;
        assert_eq!(answer.standing(), None, "{way:?}: no rate, no word");
    }
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_again() {
    let house = open(1, 2, &[]).await;
    for _ in 0..2 {
        let answer = house.read(Way::Rest10, "desk", "ann", "nothing").await;
        assert_eq!(answer.status, 404);
    }
    for way in WAYS {
        let answer = house.read(way, "desk", "ann", "nothing").await;
        way.expect(&answer, 429, 8, true);
        assert_eq!(answer.standing(), Some((2, 0)), "{way:?}");
        let wait: u32 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1700..=1800).contains(&wait), "{way:?}: {wait}");
        let error = answer.error();
        let says = format!("ate limit exceeded: 2 requests per 3600 s; retry after {wait} s");
        assert!(error.contains(&says), "{way:?}: {error}");
        assert!(error.contains("RESOURCE_EXHAUSTED"), "{way:?}: {error}");
        let fact = format!("\"retryAfterSeconds\":\"{wait}\"");
        let fact = if answer.code.is_some() {
            fact.replace(':', ": ")
        } else {
            fact
        };
        assert!(error.contains(&fact), "{way:?}: {error}");
        if let Some(details) = answer.header("grpc-status-details-bin") {
            let status = rpc::Status::decode(&*decode(details)).unwrap();
            let mut details = status.details.iter();
            let retry = details.find(|d| d.type_url.ends_with("RetryInfo")).unwrap();
            let retry = rpc::RetryInfo::decode(&*retry.value).unwrap();
            assert_eq!(retry.retry_delay.unwrap().seconds, i64::from(wait));
        }
    }
    // Refused before its body is looked at; its id is told all the same.
    let garbage = [bearer("ann"), vec![("a2a-version", "1.0".to_owned())]].concat();
    let answer = house.ask("POST", "/a2a/desk", &garbage, "{\"id\":7,").await;
    assert_eq!(answer.status, 429);
    let streams =
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}});
    let answer = house
        .rpc("/a2a/desk", "ann", "SendStreamingMessage", streams)
        .await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["id"]),
        (429, &json!(7))
    );
    // The 0.2 way to the extended card.
    let path = "/a2a/hall/agent/authenticatedExtendedCard";
    house.ask("GET", path, &[], "").await;
    let answer = house.ask("GET", path, &[], "").await;
    assert_eq!(answer.status, 429);
    assert!(answer.header("retry-after").is_some());
}

#[tokio::test]
async fn callers_and_agents_are_counted_apart() {
    let house = open(1, 1, &[]).await;
    let ask = async |agent: &str, token: &str| {
        let answer = house.read(Way::Rpc10, agent, token, "nothing").await;
        answer.status.as_u16()
    };
    assert_eq!(ask("desk", "ann").await, 200);
    assert_eq!(ask("desk", "ann").await, 429);
    assert_eq!(ask("desk", "bob").await, 200);
    // Who shows nothing is known by address; so is Ann, where nobody asks who she is.
    assert_eq!(ask("hall", "").await, 200);
    assert_eq!(ask("hall", "ann").await, 429);
    assert_eq!(ask("yard", "").await, 200);
    // A wrong token is told to be one, however often it comes.
    assert_eq!(ask("desk", "expired").await, 401);
    assert_eq!(ask("desk", "expired").await, 401);
}

#[tokio::test]
async fn the_agent_that_is_meant_counts_and_no_other() {
    let house = open(1, 2, &[]).await;
    // The path means the hall, the message the desk.
    for left in [1, 0] {
        let answer = house.read_of_tenant("desk", "ann").await;
        assert_eq!(answer.code, Some(5));
        assert_eq!(answer.standing(), Some((2, left)));
    }
    assert_eq!(house.read_of_tenant("desk", "ann").await.code, Some(8));
    let answer = house.read_of_tenant("hall", "").await;
    assert_eq!(answer.code, Some(5), "nothing was taken from the hall");
    assert_eq!(house.read_of_tenant("hall", "").await.code, Some(8));
    // No room in the hall is none of the yard's business.
    let answer = house.read_of_tenant("yard", "").await;
    assert_eq!((answer.code, answer.standing()), (Some(5), None));
}

async fn from(house: &House, agent: &str, token: &str, forwarded: &str) -> Answer {
    let mut headers = bearer(token);
    headers.push(("x-forwarded-for", forwarded.to_owned()));
    headers.push(("a2a-version", "1.0".to_owned()));
    let path = format!("/a2a/{agent}/tasks/nothing");
    house.ask("GET", &path, &headers, "").await
}

#[tokio::test]
async fn behind_a_proxy_callers_are_told_apart_by_what_it_says() {
    let house = open(1, 100, &["127.0.0.1"]).await;
    assert_eq!(from(&house, "hall", "", "198.51.100.7").await.status, 404);
    assert_eq!(from(&house, "hall", "", "198.51.100.7").await.status, 429);
    let forged = "198.51.100.8, 198.51.100.7";
    assert_eq!(from(&house, "hall", "", forged).await.status, 429);
    assert_eq!(from(&house, "hall", "", "198.51.100.8").await.status, 404);
    assert_eq!(from(&house, "hall", "", "2001:db8::1").await.status, 404);
    assert_eq!(from(&house, "hall", "", "2001:db8::2").await.status, 429);
}

#[tokio::test]
async fn without_a_proxy_to_trust_nobody_chooses_an_address() {
    let house = open(1, 100, &["10.0.0.0/8"]).await;
    assert_eq!(from(&house, "hall", "", "198.51.100.7").await.status, 404);
    assert_eq!(from(&house, "hall", "", "198.51.100.8").await.status, 429);
}

#[tokio::test]
async fn who_guesses_behind_a_proxy_locks_out_nobody_else() {
    let house = open(1, 100, &["127.0.0.1"]).await;
    for _ in 0..3 {
        let answer = from(&house, "desk", "guess", "198.51.100.7").await;
        assert_eq!(answer.status, 401);
    }
    let answer = from(&house, "desk", "guess", "198.51.100.7").await;
    assert_eq!(answer.status, 429);
    let wait: u32 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((590..=601).contains(&wait), "{wait}");
    assert!(answer.error().contains(&format!("retry after {wait} s")));
    assert_eq!(
        from(&house, "desk", "guess", "198.51.100.8").await.status,
        401
    );
    let failed = house.audited(What::LoginFailed).await;
    assert!(!failed.is_empty());
    let addresses = failed.iter().map(|entry| entry.address.as_deref());
    assert!(
        addresses
            .flatten()
            .all(|address| address.starts_with("198.51.100."))
    );
}
