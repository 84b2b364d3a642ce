//! Passwords, and those who guess them.

use std::sync::Arc;
use std::time::Duration;

use switchboard_server::auth::method::{Basic, User};
use switchboard_server::auth::{Access, Authenticator, Failures, Scheme};
use switchboard_server::shutdown::Tasks;
use switchboard_types::model::Secret;

use crate::house::{Books, House, serve};
use crate::issuer::desk;
use crate::wire::WAYS;

fn basic() -> Arc<dyn Scheme> {
    let alice = User {
        name: "alice".to_owned(),
        password: Secret::new("open sesame"),
        tenant: None,
        scopes: Vec::new(),
    };
    Arc::new(Basic::new("ops".into(), vec![alice]))
}

async fn login(house: &House, agent: &str, credentials: &str) -> crate::wire::Answer {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(credentials);
    let headers = [
        ("authorization", format!("Basic {text}")),
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

#[tokio::test]
async fn who_guesses_is_not_listened_to_for_a_while() {
    let scheme = basic();
    let closed = Access::by(vec![switchboard_server::auth::Alternative(vec![
        Arc::clone(&scheme),
    ])]);
    let brake = Failures::new(5, Duration::from_secs(600));
    let tasks = Tasks::default();
    let house = serve(
        vec![("desk".into(), closed), ("hall".into(), Access::open())],
        Authenticator::new(vec![scheme]).with_failures(brake),
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
        let answer = house.read(way, "desk", "", "nothing").await;
        way.expect(&answer, 429, 8, true);
    }
    // An agent that asks for nothing has nothing to guess.
    assert_eq!(login(&house, "hall", "alice:1").await.status, 404);
}
