//! A store that takes its time: what a command has said is not lost by that.

use async_trait::async_trait;
use switchboard_server::store::Error;
use switchboard_server::task::Change;
use switchboard_server::testing::troubled::{Request, Trouble, Troubled};

use super::*;

/// Takes this long for each batch of events.
const EACH: Duration = Duration::from_millis(800);

#[derive(Debug)]
struct Slow;

#[async_trait]
impl Trouble for Slow {
    async fn meet(&self, request: Request<'_>) -> Result<(), Error> {
        if let Request::Commit(changes) = request
            && changes.iter().any(|it| matches!(it, Change::Append(_)))
        {
            tokio::time::sleep(EACH).await;
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_slow_store_does_not_cut_off_what_was_printed() {
    // More than may wait to be stored, and less than a pipe holds: the command has ended long before all is stored.
    let script = r#"for n in $(seq 1500); do echo '{"type":"status","text":"x"}'; done
        echo '{"type":"artifact","text":"the end"}'"#;
    let settings = Settings {
        protocol: Protocol::Json,
        ..shell(script)
    };
    let log = Log::new(Arc::new(Troubled::by(Slow)));
    let line = on(&log, settings, engine::Settings::default());
    let task = line.send(says("go")).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
    assert_eq!(text(&task, "output"), "the end");
}

#[tokio::test]
async fn who_left_the_group_and_holds_a_pipe_open_is_not_waited_for() {
    let begin = tokio::time::Instant::now();
    let task = run(
        "echo one; setsid sh -c 'sleep 20; echo two' & sleep 0.1",
        "go",
    )
    .await;
    assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
    assert_eq!(text(&task, "output"), "one\n");
    assert!(begin.elapsed() < Duration::from_secs(15));
}
