//! Deliveries that must not happen.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use switchboard_server::egress::{Allow, Guard, Lookup};
use switchboard_server::push::Settings;
use switchboard_types::Dialect;
use switchboard_types::model::TaskState;

use crate::receiver::{Answer, Receiver};
use crate::scene::{Happen, Scene, quick};

const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn allow(rules: &[&str]) -> Vec<Allow> {
    rules
        .iter()
        .map(|rule| Allow::parse(rule).unwrap())
        .collect()
}

fn everything_is_here() -> (Lookup, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let lookup = Lookup::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok(vec![LOOPBACK]))
    });
    (lookup, asked)
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (inner, outer) = (Receiver::start().await, Receiver::start().await);
    let scene = Scene::start(Settings {
        give_up_after: std::time::Duration::ZERO,
        ..quick()
    });
    for status in [301, 302, 303, 307, 308] {
        outer.always(Answer::new(status).header("location", inner.url("/secret")));
        let id = status.to_string();
        scene.task(&id, &[("w", &outer.url("/"), Dialect::V1)]);
        scene.until(&id, "w", |d| d.delivered == 1).await;
    }
    assert!(inner.got().is_empty());
    let letters = scene.dead_letters().await;
    assert_eq!(letters[1].error, "answered 302: redirects are not followed");
}

#[tokio::test]
async fn a_name_that_leads_inside_is_not_called() {
    let receiver = Receiver::start().await;
    let (lookup, asked) = everything_is_here();
    let scene = Scene::with(Guard::with_lookup(Vec::new(), lookup), Settings::default());
    let url = format!("https://rebind.example:{}/", receiver.port());
    scene.task("t", &[("w", &url, Dialect::V1)]);
    let error = scene.until("t", "w", |d| d.attempts > 0).await.last_error;
    assert_eq!(
        error.as_deref(),
        Some("could not connect: the host resolves to a loopback address, which is not allowed")
    );
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(receiver.got().is_empty());
}

#[tokio::test]
async fn an_address_that_is_no_longer_allowed_is_not_called() {
    let receiver = Receiver::start().await;
    let scene = Scene::with(Guard::new(Vec::new()), Settings::default());
    scene.task("t", &[("w", &receiver.url("/"), Dialect::V1)]);
    let error = scene.until("t", "w", |d| d.attempts > 0).await.last_error;
    assert_eq!(
        error.as_deref(),
        Some(
            "the url must not point to a loopback address; an operator can allow it with push.allow"
        )
    );
    assert!(receiver.got().is_empty());
}

#[tokio::test]
async fn an_allowed_name_is_called_where_it_leads() {
    let receiver = Receiver::start().await;
    let (lookup, _) = everything_is_here();
    let guard = Guard::with_lookup(allow(&["hooks.corp"]), lookup);
    let scene = Scene::with(guard, quick());
    let url = format!("http://hooks.corp:{}/", receiver.port());
    let task = scene.task("t", &[("w", &url, Dialect::V1)]);
    task.becomes(TaskState::Completed);
    let got = receiver.after(2).await;
    let host = format!("hooks.corp:{}", receiver.port());
    assert_eq!(got[0].header("host"), Some(host.as_str()));
}

#[tokio::test]
async fn an_exception_for_a_port_is_one_for_that_port() {
    let (open, closed) = (Receiver::start().await, Receiver::start().await);
    let (lookup, _) = everything_is_here();
    let rule = format!("hooks.corp:{}", open.port());
    let scene = Scene::with(Guard::with_lookup(allow(&[&rule]), lookup), quick());
    let url = |receiver: &Receiver| format!("http://hooks.corp:{}/", receiver.port());
    scene.task("open", &[("w", &url(&open), Dialect::V1)]);
    scene.task("closed", &[("w", &url(&closed), Dialect::V1)]);
    scene.until("open", "w", |d| d.delivered == 1).await;
    scene.until("closed", "w", |d| d.attempts > 1).await;
    assert!(closed.got().is_empty());
}
