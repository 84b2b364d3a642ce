//! Runs that a real gateway (2026.9.6) took, told again: every frame as it came over its socket, with our names of the
//! run and of its session. A message that is none of theirs is none of ours either.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

/// What was sent, and what came of it, a frame a line.
const RUNS: [&str; 4] = [
    include_str!("recorded/hello.jsonl"),
    include_str!("recorded/slow.jsonl"),
    include_str!("recorded/tool.jsonl"),
    include_str!("recorded/aborted.jsonl"),
];

/// The longest pause between two frames: nobody has to wait for a model of then.
const PAUSE: Duration = Duration::from_millis(100);

/// The run of that message, if there is one.
pub(super) fn of(text: &str) -> Option<&'static str> {
    let said = |run: &&str| {
        let first: Value = serde_json::from_str(run.lines().next().unwrap()).unwrap();
        first["message"] == text
    };
    RUNS.into_iter().find(said)
}

/// Tells a run again, by our names of it and of its session, until its end or until it is stopped; gives how it ended.
pub(super) async fn replay(
    frames: &str,
    (run, session): (&str, &str),
    mut ended: watch::Receiver<Option<Value>>,
    tell: impl Fn(&str, &Value),
) -> Value {
    let mut last = 0;
    for line in frames.lines().skip(1) {
        let line = line.replace("RUN", run).replace("SESSION", session);
        let frame: Value = serde_json::from_str(&line).unwrap();
        if frame["until"].is_string() {
            ended.wait_for(Option::is_some).await.unwrap();
            continue;
        }
        let at = frame["ms"].as_u64().unwrap();
        let pause = Duration::from_millis(at.saturating_sub(last));
        last = at;
        tokio::time::sleep(pause.min(PAUSE)).await;
        match frame["event"].as_str() {
            Some(event) => tell(event, &frame["payload"]),
            None => return frame,
        }
    }
    Value::Null
}
