//! How commands end, and that nothing is left of them.

use std::collections::HashMap;

use switchboard_server::engine::recover::recover;
use switchboard_testkit::eventually;
use tokio::time::Instant;

use super::*;

/// Waits until there is no such process, not even a dead one that nobody has waited for.
pub(crate) async fn gone(pid: &str) {
    let place = format!("/proc/{}", pid.trim().parse::<u32>().unwrap());
    eventually("the end of the process", async || {
        !Path::new(&place).exists()
    })
    .await;
}

/// A command that says its own number and that of its child, and stays.
const STAYS: &str = "sleep 1000 & echo $$ $!; wait";

/// Begins a task with such a command: the task, and the numbers.
async fn begun(line: &Line) -> (EventStream, Vec<String>) {
    let mut cursor = line.stream(says("go")).await.unwrap();
    let first = piece(&mut cursor).await;
    let numbers = first.artifact.parts[0].as_text().unwrap();
    let numbers = numbers.split_whitespace().map(str::to_owned).collect();
    (cursor, numbers)
}

#[tokio::test]
async fn an_exit_code_fails_the_task_and_stderr_says_why() {
    let settings = Settings {
        environment: vec![("TOKEN".to_owned(), Secret::new("hush-hush"))],
        ..shell(r#"echo half; echo "cannot use $TOKEN" >&2; exit 3"#)
    };
    let task = line(settings).send(says("go")).await.unwrap();
    assert_eq!(state(&task), TaskState::Failed);
    assert_eq!(
        said(&task),
        "the command ended with exit code 3: cannot use ***"
    );
    assert_eq!(text(&task, "output"), "half\n");

    let task = run("kill -9 $$", "go").await;
    assert_eq!(said(&task), "the command was ended by signal 9");
}

#[tokio::test]
async fn what_a_command_inherits_is_not_told_to_callers_either() {
    let secret = std::env::var("CARGO_PKG_NAME").unwrap();
    let settings = Settings {
        inherit: vec!["CARGO_PKG_NAME".to_owned(), "HOME".to_owned()],
        ..shell(r#"echo "no use for $CARGO_PKG_NAME in $HOME" >&2; exit 3"#)
    };
    let task = line(settings).send(says("go")).await.unwrap();
    assert!(!said(&task).contains(&secret), "{}", said(&task));
    let home = std::env::var("HOME").unwrap_or_default();
    let told = format!("no use for *** in {home}");
    assert!(said(&task).ends_with(told.trim_end()), "{}", said(&task));
}

#[tokio::test]
async fn what_prints_too_much_is_ended() {
    let limited = |script: &str| Settings {
        max_output_bytes: 10_000,
        max_line_bytes: 1000,
        grace: Duration::from_millis(200),
        ..shell(script)
    };
    for (script, why) in [
        ("echo $$; yes", "printed more than 10000 bytes"),
        (
            "echo $$; yes | tr -d '\\n'",
            "a line of more than 1000 bytes",
        ),
    ] {
        let task = line(limited(script)).send(says("go")).await.unwrap();
        assert_eq!(state(&task), TaskState::Failed);
        assert!(said(&task).contains(why), "{}", said(&task));
        gone(text(&task, "output").lines().next().unwrap()).await;
    }
}

#[tokio::test]
async fn what_takes_too_long_is_ended() {
    let settings = Settings {
        timeout: Duration::from_millis(500),
        ..shell(STAYS)
    };
    let line = line(settings);
    let (mut cursor, numbers) = begun(&line).await;
    rest(&mut cursor).await;
    let task = line.get(cursor.task_id()).await.unwrap();
    assert_eq!(state(&task), TaskState::Failed);
    assert_eq!(said(&task), "the command took longer than 0.5 s");
    for number in &numbers {
        gone(number).await;
    }
}

#[tokio::test]
async fn a_cancel_ends_the_whole_group() {
    let line = line(shell(STAYS));
    let (cursor, numbers) = begun(&line).await;
    let begin = Instant::now();
    let task = line.cancel(cursor.task_id()).await.unwrap();
    assert_eq!(state(&task), TaskState::Canceled);
    assert!(begin.elapsed() < Duration::from_secs(2), "a hint is enough");
    assert_eq!(numbers.len(), 2);
    for number in &numbers {
        gone(number).await;
    }
}

#[tokio::test]
async fn who_does_not_heed_is_killed_after_the_grace() {
    let settings = Settings {
        grace: Duration::from_millis(200),
        ..shell("trap '' TERM; sleep 1000 & echo $$ $!; wait; while :; do sleep 1; done")
    };
    let line = line(settings);
    let (cursor, numbers) = begun(&line).await;
    let task = line.cancel(cursor.task_id()).await.unwrap();
    assert_eq!(state(&task), TaskState::Canceled);
    for number in &numbers {
        gone(number).await;
    }
}

#[tokio::test]
async fn an_agent_that_is_dropped_leaves_nothing_behind() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let settings = Settings {
        grace: Duration::from_secs(3600),
        ..shell("trap '' TERM; sleep 1000 & echo $$ $!; wait; while :; do sleep 1; done")
    };
    let engine = engine::Settings {
        cancel_grace: Duration::from_millis(100),
        ..engine::Settings::default()
    };
    let line = on(&Log::new(store), settings, engine);
    let (cursor, numbers) = begun(&line).await;
    line.cancel(cursor.task_id()).await.unwrap();
    for number in &numbers {
        gone(number).await;
    }
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_ended_with_it() {
    let begin = Instant::now();
    let task = run("sleep 1000 & echo $!", "go").await;
    assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
    assert!(begin.elapsed() < Duration::from_secs(100));
    gone(&text(&task, "output")).await;
}

#[tokio::test]
async fn a_command_that_cannot_be_started_is_unavailable() {
    let line = line(Settings::new(["/no/such/command"]));
    let mut cursor = line.stream(says("go")).await.unwrap();
    let events = rest(&mut cursor).await;
    let Event::Status(update) = &events.last().unwrap().1 else {
        panic!("{events:?}");
    };
    let told = update.metadata.as_ref().unwrap();
    assert_eq!(told.get::<String>("reason").unwrap(), "AGENT_UNAVAILABLE");
    assert!(
        told.as_str().contains("check the agent's command"),
        "{told:?}"
    );
}

#[tokio::test]
async fn after_a_restart_a_command_is_not_run_again_and_what_is_left_of_it_is_ended() {
    let place = tempfile::tempdir().unwrap();
    let runs = place.path().join("runs");
    let script = format!("echo run >> {}; {STAYS}", runs.display());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let log = Log::new(Arc::clone(&store));
    let before = on(&log, shell(&script), engine::Settings::default());
    let (cursor, numbers) = begun(&before).await;
    let id = cursor.task_id().clone();
    log.stopping().cancel();
    log.close().await;

    let log = Log::new(store);
    let after = on(&log, shell(&script), engine::Settings::default());
    let engines = HashMap::from([(Arc::from("agent"), after.engine.clone())]);
    let recovered = recover(&log, &engines).await.unwrap();
    assert_eq!((recovered.resumed, recovered.failed), (0, 1));
    rest(&mut after.subscribe(&id, Some(0)).await.unwrap()).await;
    let task = after.get(&id).await.unwrap();
    assert_eq!(state(&task), TaskState::Failed);
    assert!(said(&task).contains("restart"), "{}", said(&task));
    assert_eq!(std::fs::read_to_string(&runs).unwrap(), "run\n");
    for number in &numbers {
        gone(number).await;
    }
}
