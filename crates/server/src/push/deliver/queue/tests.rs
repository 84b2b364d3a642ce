//! Whose turn it is, whoever hangs.

use std::time::Duration;

use super::*;

fn key(name: &str) -> Key {
    (TaskId::new("t").unwrap(), PushConfigId::new(name).unwrap())
}

fn route(owner: &str, host: &str, failing: bool) -> Route {
    Route {
        owner: Owner::new(owner),
        host: Arc::from(host),
        failing,
    }
}

fn add(queue: &mut Queue, host: &str, names: &[&str]) {
    for name in names {
        queue.add(key(name), route("owner", host, false), None);
    }
}

fn running(queue: &mut Queue) -> Vec<String> {
    std::iter::from_fn(|| queue.next())
        .map(|(_, id)| id.as_str().to_owned())
        .collect()
}

fn taken(next: Next) -> Ended {
    Ended {
        next,
        answered: Some(true),
        failing: Some(false),
    }
}

fn failed(next: Next) -> Ended {
    Ended {
        next,
        answered: Some(false),
        failing: Some(true),
    }
}

fn nothing_is_kept(queue: &Queue) -> bool {
    queue.known.is_empty()
        && queue.first_attempts.is_empty()
        && queue.retries.is_empty()
        && queue.waiting.is_empty()
}

#[test]
fn hosts_take_turns_within_their_slots() {
    // Nine slots for first attempts, six of them for one owner, and two for one of its hosts.
    let mut queue = Queue::new(12, 3);
    add(&mut queue, "a", &["a1", "a2", "a3"]);
    add(&mut queue, "b", &["b1", "b2", "b3"]);
    add(&mut queue, "c", &["c1"]);
    assert_eq!(running(&mut queue), ["a1", "b1", "c1", "a2", "b2"]);
    queue.done(key("c1"), taken(Next::Idle));
    assert_eq!(running(&mut queue), [""; 0], "a and b have no slot left");
    queue.done(key("b1"), taken(Next::Idle));
    assert_eq!(running(&mut queue), ["b3"]);
}

#[test]
fn a_silent_host_gets_one_slot_until_it_answers() {
    let mut queue = Queue::new(12, 4);
    add(&mut queue, "a", &["a1", "a2", "a3", "a4", "a5"]);
    assert_eq!(running(&mut queue), ["a1", "a2", "a3"]);
    for name in ["a1", "a2"] {
        queue.done(key(name), failed(Next::Idle));
        assert_eq!(running(&mut queue), [""; 0]);
    }
    queue.done(key("a3"), failed(Next::Idle));
    assert_eq!(running(&mut queue), ["a4"]);
    add(&mut queue, "a", &["a6"]);
    queue.done(key("a4"), taken(Next::Idle));
    assert_eq!(running(&mut queue), ["a5", "a6"]);
}

/// However many webhooks of one owner hang, at however many hosts and in whichever lane, the first attempt of
/// another owner starts at once, even at the same host.
#[test]
fn one_owner_never_takes_the_last_slot() {
    for slots in [8, 16, 128] {
        let mut queue = Queue::new(slots, 8);
        for n in 0..1000 {
            let host = format!("host-{}", n % 400);
            queue.add(key(&format!("new-{n}")), route("a", &host, false), None);
            queue.add(key(&format!("old-{n}")), route("a", &host, true), None);
        }
        let hanging = running(&mut queue);
        assert!(hanging.len() >= slots / 2, "{} run", hanging.len());
        assert!(hanging.iter().any(|name| name.starts_with("old")));
        queue.add(key("b"), route("b", "host-0", false), None);
        queue.add(key("b-old"), route("b", "host-0", true), None);
        assert_eq!(running(&mut queue)[0], "b", "{slots} slots");
    }
}

#[test]
fn owners_take_turns_before_hosts() {
    let mut queue = Queue::new(128, 8);
    for n in 0..40 {
        let host = format!("host-{n}");
        queue.add(key(&format!("a{n}")), route("a", &host, false), None);
    }
    queue.add(key("b"), route("b", "host-0", false), None);
    assert_eq!(running(&mut queue)[..3], ["a0", "b", "a1"]);
}

/// A host that is silent for one owner is not so for another, who may call another path of it.
#[test]
fn silence_counts_for_its_owner_only() {
    let mut queue = Queue::new(128, 8);
    add(&mut queue, "host", &["a1"]);
    assert_eq!(running(&mut queue), ["a1"]);
    add(&mut queue, "host", &["a2", "a3"]);
    assert_eq!(running(&mut queue), ["a2", "a3"]);
    queue.done(key("a1"), failed(Next::Idle));
    for name in ["b1", "b2"] {
        queue.add(key(name), route("b", "host", false), None);
    }
    assert_eq!(running(&mut queue), ["b1", "b2"]);
}

#[test]
fn what_failed_is_retried_in_a_lane_of_its_own() {
    let now = Instant::now();
    // Six slots for first attempts, two for retries, one of them for one owner.
    let mut queue = Queue::new(8, 8);
    let dead = ["a1", "a2", "a3", "a4"];
    add(&mut queue, "host", &dead);
    assert_eq!(running(&mut queue), dead);
    for name in dead {
        queue.done(key(name), failed(Next::At(now)));
    }
    queue.wake(now);
    let retried = running(&mut queue);
    assert_eq!(retried, ["a1"], "one after the other");
    add(&mut queue, "host", &["good"]);
    assert_eq!(running(&mut queue), ["good"], "no retry is in its way");
    queue.done(key("a1"), taken(Next::Again));
    let mut after = running(&mut queue);
    after.sort_unstable();
    assert_eq!(after, ["a1", "a2"], "what recovered leaves that lane");
    queue.done(key("good"), taken(Next::Idle));
    queue.done(key("a1"), taken(Next::Idle));
    for name in ["a2", "a3", "a4"] {
        queue.done(key(name), failed(Next::Idle));
        running(&mut queue);
    }
    assert!(nothing_is_kept(&queue), "{queue:?}");
}

#[test]
fn one_webhook_runs_once_at_a_time_and_again_if_something_happened() {
    let mut queue = Queue::new(12, 12);
    add(&mut queue, "a", &["a1", "a1"]);
    assert_eq!(running(&mut queue), ["a1"]);
    add(&mut queue, "a", &["a1", "a1"]);
    assert_eq!(running(&mut queue), [""; 0]);
    queue.done(key("a1"), taken(Next::Idle));
    assert_eq!(running(&mut queue), ["a1"]);
    queue.done(key("a1"), taken(Next::Again));
    assert_eq!(running(&mut queue), ["a1"]);
    let unknown = Ended {
        next: Next::Idle,
        answered: None,
        failing: None,
    };
    queue.done(key("a1"), unknown);
    assert!(nothing_is_kept(&queue), "{queue:?}");
}

#[test]
fn waiting_webhooks_wake_in_time_and_not_for_news() {
    let now = Instant::now();
    let later = now + Duration::from_secs(1);
    let mut queue = Queue::new(12, 12);
    add(&mut queue, "a", &["a1"]);
    assert_eq!(running(&mut queue), ["a1"]);
    queue.done(key("a1"), failed(Next::At(later)));
    let much_later = later + Duration::from_secs(1);
    queue.add(key("a1"), route("owner", "a", true), Some(much_later));
    queue.wake(now);
    assert_eq!(running(&mut queue), [""; 0]);
    assert_eq!(queue.next_wake(), Some(later));
    queue.wake(later);
    assert_eq!(running(&mut queue), ["a1"]);
    queue.done(key("a1"), taken(Next::Idle));
    assert!(nothing_is_kept(&queue), "{queue:?}");
}

#[test]
fn a_replaced_webhook_need_not_wait() {
    let later = Instant::now() + Duration::from_secs(9);
    let mut queue = Queue::new(12, 12);
    queue.add(key("a1"), route("owner", "a", true), Some(later));
    queue.add(key("a1"), route("owner", "b", false), None);
    assert_eq!(running(&mut queue), ["a1"]);
    assert_eq!(queue.next_wake(), None);
    queue.done(key("a1"), taken(Next::Idle));
    assert!(nothing_is_kept(&queue), "{queue:?}");
}

/// Its new host may be fine: it must not queue up behind those that hang at the old one.
#[test]
fn a_webhook_replaced_while_it_runs_goes_on_at_its_new_host() {
    let mut queue = Queue::new(12, 4);
    add(&mut queue, "a", &["a1", "a2", "a3", "a4"]);
    assert_eq!(running(&mut queue), ["a1", "a2", "a3"]);
    queue.add(key("a1"), route("owner", "b", false), None);
    queue.done(key("a1"), taken(Next::Idle));
    let mut next = running(&mut queue);
    next.sort_unstable();
    assert_eq!(next, ["a1", "a4"]);
}
