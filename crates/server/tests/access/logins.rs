//! Passwords, and those who guess them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use hyper::header::HeaderValue;
use switchboard_server::auth::method::{Basic, User};
use switchboard_server::auth::{
    Access, Alternative, Authenticator, Carried, Failures, Finding, Rejection, Scheme,
};
use switchboard_server::shutdown::Tasks;
use switchboard_types::model::{ApiKeyLocation, Secret, SecurityScheme};
use tokio::sync::Barrier;

use crate::house::{Books, House, serve};
use crate::issuer::desk;
use crate::schemes::Bearer;
use crate::wire::{WAYS, Way};

fn basic() -> Arc<dyn Scheme> {
    let alice = User {
        name: "alice".to_owned(),
        password: Secret::new("open sesame"),
        tenant: None,
        scopes: Vec::new(),
    };
    Arc::new(Basic::new("ops".into(), vec![alice]))
}

fn encoded(credentials: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(credentials)
}

async fn login(house: &House, agent: &str, credentials: &str) -> crate::wire::Answer {
    let headers = [
        ("authorization", format!("Basic {}", encoded(credentials))),
        ("a2a-version", "1.0".to_owned()),
    ];
    let path = format!("/a2a/{agent}/tasks/nothing");
    house.ask("GET", &path, &headers, "").await
}

#[tokio::test]
async fn a_password_is_asked_for_and_taken() {
    let house = desk(vec![basic()], Failures::default()).await;
    let asked = "Basic realm=\"switchboard\", charset=\"UTF-8\"";
    for way in WAYS {
        let answer = house.read(way, "desk", "", "nothing").await;
        way.expect(&answer, 401, 16, true);
        assert_eq!(answer.challenges(), [asked]);
    }
    assert_eq!(login(&house, "desk", "alice:open sesame").await.status, 404);
    let wrong = login(&house, "desk", "alice:sesame").await;
    let unknown = login(&house, "desk", "bob:sesame").await;
    assert_eq!((wrong.status, &wrong.body), (unknown.status, &unknown.body));
    assert_eq!(wrong.status, 401);
}

/// Of two lists of users a password stands in one.
#[tokio::test]
async fn a_password_that_one_list_knows_is_no_failure_at_another() {
    let other = User {
        name: "alice".to_owned(),
        password: Secret::new("another one"),
        tenant: None,
        scopes: Vec::new(),
    };
    let schemes: Vec<Arc<dyn Scheme>> =
        vec![Arc::new(Basic::new("guests".into(), vec![other])), basic()];
    let house = desk(schemes, Failures::new(2, Duration::from_secs(600))).await;
    for _ in 0..5 {
        for password in ["open sesame", "another one"] {
            let answer = login(&house, "desk", &format!("alice:{password}")).await;
            assert_eq!(answer.status, 404, "{answer:?}");
        }
    }
    // Two who have the same name are two.
    let callers = |password: &str| format!("alice:{password}");
    let made = say(&house, &callers("open sesame")).await;
    let made = made.json()["task"]["id"].as_str().unwrap().to_owned();
    for (password, status) in [("open sesame", 200), ("another one", 404)] {
        let text = format!("Basic {}", encoded(&callers(password)));
        let headers = [("authorization", text), ("a2a-version", "1.0".to_owned())];
        let path = format!("/a2a/desk/tasks/{made}");
        let answer = house.ask("GET", &path, &headers, "").await;
        assert_eq!(answer.status, status, "{password}");
    }
    assert_eq!(login(&house, "desk", "alice:1").await.status, 401);
}

async fn say(house: &House, credentials: &str) -> crate::wire::Answer {
    let headers = [
        ("authorization", format!("Basic {}", encoded(credentials))),
        ("a2a-version", "1.0".to_owned()),
    ];
    let message =
        serde_json::json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]});
    let body = serde_json::json!({"message": message}).to_string();
    house
        .ask("POST", "/a2a/desk/message:send", &headers, body)
        .await
}

#[tokio::test]
async fn who_guesses_is_not_listened_to_for_a_while() {
    let scheme = basic();
    let bearer: Arc<dyn Scheme> = Arc::new(Bearer("bearer".into()));
    let way = |scheme: &Arc<dyn Scheme>| Alternative(vec![Arc::clone(scheme)]);
    let closed = Access::by(vec![way(&scheme), way(&bearer)]);
    let lounge = Access::by(vec![way(&scheme), Alternative::default()]);
    let brake = Failures::new(5, Duration::from_secs(600));
    let tasks = Tasks::default();
    let house = serve(
        vec![
            ("desk".into(), closed),
            ("lounge".into(), lounge),
            ("hall".into(), Access::open()),
        ],
        Authenticator::new(vec![scheme, bearer]).with_failures(brake),
        Books::unread(&tasks),
        tasks,
    )
    .await;
    for n in 0..5 {
        assert_eq!(
            login(&house, "desk", &format!("alice:{n}")).await.status,
            401
        );
    }
    // Also the right one: else guessing would go on.
    let answer = login(&house, "desk", "alice:open sesame").await;
    assert_eq!(answer.status, 429);
    assert!(answer.header("retry-after").is_some());
    assert!(answer.error().contains("too many failed logins"));
    assert!(answer.error().contains("retryAfterSeconds"));
    for way in WAYS {
        let answer = house.read(way, "desk", "wrong", "nothing").await;
        way.expect(&answer, 429, 8, true);
        // What nobody can guess opens all the same, and who shows nothing does not guess.
        let answer = house.read(way, "desk", "ann", "nothing").await;
        way.expect(&answer, 404, 5, false);
        let answer = house.read(way, "desk", "", "nothing").await;
        way.expect(&answer, 401, 16, true);
        // Also if others have to be asked about it.
        let answer = house.read(way, "desk", "slow", "nothing").await;
        way.expect(&answer, 404, 5, false);
    }
    // A password that is not looked at makes nobody a stranger.
    let answer = login(&house, "lounge", "alice:open sesame").await;
    assert_eq!(answer.status, 429);
    let answer = house.read(Way::Rest10, "lounge", "", "nothing").await;
    assert_eq!(answer.status, 404);
    // An agent that asks for nothing has nothing to guess.
    assert_eq!(login(&house, "hall", "alice:1").await.status, 404);
}

/// A badge that is looked up only when so many others are.
#[derive(Debug)]
struct Slow(Arc<str>, Barrier);

impl Scheme for Slow {
    fn name(&self) -> &Arc<str> {
        &self.0
    }

    fn identify<'a>(&'a self, carried: &'a Carried<'_>) -> Finding<'a> {
        match carried.headers().get("x-badge") {
            None => Finding::Absent,
            Some(_) => Finding::Later(Box::pin(async {
                self.1.wait().await;
                Err(Rejection::Expired)
            })),
        }
    }

    fn challenge(&self, _: Option<Rejection>, _: &Carried<'_>) -> HeaderValue {
        HeaderValue::from_static("ApiKey in=\"header\", name=\"X-Badge\"")
    }

    fn declared(&self) -> SecurityScheme {
        SecurityScheme::ApiKey {
            description: None,
            location: ApiKeyLocation::Header,
            name: "X-Badge".to_owned(),
        }
    }
}

/// Guesses that wait for other credentials of theirs are not all looked at because none had failed when they came.
#[tokio::test]
async fn who_guesses_many_at_once_is_not_listened_to_longer() {
    let slow: Arc<dyn Scheme> = Arc::new(Slow("badge".into(), Barrier::new(9)));
    let house = desk(
        vec![slow, basic()],
        Failures::new(3, Duration::from_secs(600)),
    )
    .await;
    let guess = async |n: usize| {
        let headers = [
            (
                "authorization",
                format!("Basic {}", encoded(&format!("alice:{n}"))),
            ),
            ("x-badge", "expired".to_owned()),
            ("a2a-version", "1.0".to_owned()),
        ];
        let path = "/a2a/desk/tasks/nothing";
        house.ask("GET", path, &headers, "").await.status
    };
    let answers = join_all((0..9).map(guess)).await;
    let looked_at = answers.iter().filter(|&&status| status == 401).count();
    let not = answers.iter().filter(|&&status| status == 429).count();
    assert_eq!((looked_at, not), (3, 6), "{answers:?}");
}
