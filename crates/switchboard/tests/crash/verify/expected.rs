//! What each agent must have made of its messages, whatever cut it off.

use serde_json::Value;

use crate::wire::text;
use crate::world::Promise;

/// What is not as it should be in a completed task.
pub(super) fn difference(promise: &Promise, task: &Value, events: usize) -> Option<String> {
    let last = promise.messages.last().map_or("", |(_, text)| text);
    let (artifacts, count) = made(promise, last);
    let found = task["artifacts"].as_array().cloned().unwrap_or_default();
    let found: Vec<(String, String)> = found
        .iter()
        .map(|a| (a["name"].as_str().unwrap_or_default().to_owned(), text(a)))
        .collect();
    if found != artifacts {
        return Some(format!("made {found:?}, not {artifacts:?}"));
    }
    if events != count {
        return Some(format!("has {events} events, not {count}"));
    }
    let said = text(&task["status"]["message"]);
    if said != format!("end {last}") {
        return Some(format!("ended with {said:?}"));
    }
    let heard = heard(task);
    let sent: Vec<&str> = promise.messages.iter().map(|(id, _)| id.as_str()).collect();
    (heard != sent).then(|| format!("heard {heard:?}, not {sent:?}"))
}

/// The ids of the client's messages in a task, in order.
pub(super) fn heard(task: &Value) -> Vec<&str> {
    let history = task["history"].as_array().into_iter().flatten();
    let from_user = history.filter(|message| message["role"] == "ROLE_USER");
    from_user
        .filter_map(|message| message["messageId"].as_str())
        .collect()
}

/// The artifacts, and the number of events.
fn made(promise: &Promise, last: &str) -> (Vec<(String, String)>, usize) {
    let artifact = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let words = last.split_whitespace().count();
    let turns = promise.messages.len();
    match promise.agent {
        // Submitted, working, the artifact, completed.
        "echo" => (vec![artifact("echo", last)], 4),
        // One thing said, and a chunk for each word.
        "slow" => (vec![artifact("answer", last)], 4 + words),
        // Submitted; each turn works, says, makes, ends.
        "asks" => {
            let messages = (1..).zip(&promise.messages);
            let each = messages.map(|(n, (_, text))| artifact(&format!("turn-{n}"), text));
            (each.collect(), 1 + 4 * turns)
        }
        // Passed to slow, what slow says, between, passed to echo; the artifact.
        "desk" => (vec![artifact("answer", &format!("{last}/{last}"))], 8),
        // Submitted; each turn works, passes on, repeats, ends.
        _ => (Vec::new(), 1 + 4 * turns),
    }
}
