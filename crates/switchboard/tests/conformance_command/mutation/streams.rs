//! Faults of streams and subscriptions.

use serde_json::{Value, json};

use super::{Fault, Finding, RPC, RPC_0_3, event, fault, misread, must_be_found};

/// The event without its envelope and wrapper.
fn inner(data: &mut Value) -> &mut Value {
    let wrapped = ["task", "statusUpdate", "artifactUpdate"];
    let name = wrapped
        .into_iter()
        .find(|name| data["result"].get(*name).is_some());
    match name {
        Some(name) => &mut data["result"][name],
        None => &mut data["result"],
    }
}

/// Sets a state, in the spelling of the version.
fn set_state(data: &mut Value, state: &str) {
    let older = data["result"].get("kind").is_some();
    let name = if older {
        state.to_owned()
    } else {
        format!("TASK_STATE_{}", state.to_uppercase())
    };
    inner(data)["status"]["state"] = json!(name);
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn faults_of_streams_are_found() {
    const OF_ANOTHER_TASK: &[Finding] = &[
        (RPC, "S-004", "is of task \"another\"", "updates"),
        (
            RPC_0_3,
            "V03-034",
            "is of task \"another\"",
            "taskId and contextId",
        ),
    ];
    const AGAIN: &[Finding] = &[
        (RPC, "S-055", "submitted again", "never back"),
        (RPC_0_3, "V03-036", "submitted again", "never back"),
    ];
    must_be_found(vec![
        fault(
            Fault::StreamOmitsTask,
            &[
                (
                    RPC,
                    "S-002",
                    "begins with TaskStatusUpdateEvent",
                    "the Task before its updates",
                ),
                (
                    RPC_0_3,
                    "V03-033",
                    "begins with a status-update",
                    "the Task before its updates",
                ),
            ],
        ),
        fault(
            Fault::StreamDropsChunk,
            &[
                (RPC, "S-055", "was streamed as", "sum of their chunks"),
                (RPC_0_3, "V03-036", "was streamed as", "every chunk"),
            ],
        ),
        fault(
            Fault::StreamGoesOnAfterEnd,
            &[
                (
                    RPC,
                    "S-005",
                    "updates follow the terminal state",
                    "after the terminal status",
                ),
                (RPC_0_3, "V03-035", "follow it", "close the stream after it"),
            ],
        ),
        fault(
            Fault::StreamIsBuffered,
            &[(RPC, "S-006", "came together", "flush each event")],
        ),
        fault(
            Fault::NeverCloses,
            &[
                (RPC, "S-005", "stays open", "close the connection"),
                (RPC_0_3, "V03-006", "stays open", "close the stream"),
            ],
        ),
        event(
            |at, data| {
                if at == 1 {
                    inner(data)["taskId"] = json!("another");
                }
            },
            OF_ANOTHER_TASK,
        ),
        event(
            |at, data| {
                if at == 1 {
                    inner(data)["contextId"] = json!("another");
                }
            },
            &[
                (
                    RPC,
                    "S-004",
                    "is of context \"another\"",
                    "contextId of its task",
                ),
                (
                    RPC_0_3,
                    "V03-034",
                    "is of context \"another\"",
                    "taskId and contextId",
                ),
            ],
        ),
        event(
            |at, data| match at {
                0 => set_state(data, "working"),
                1 => set_state(data, "submitted"),
                _ => {}
            },
            AGAIN,
        ),
        event(
            |at, data| {
                if at == 1 {
                    data["result"] = json!({"progress": 50});
                }
            },
            &[
                (RPC, "S-004", "none of the four", "one of task, message"),
                (RPC_0_3, "V03-005", "none of the four", "one of the four"),
            ],
        ),
        event(
            |_, data| {
                if data["result"]["final"] == true {
                    data["result"]["final"] = json!(false);
                }
            },
            &[(RPC_0_3, "V03-006", "is not final", "final: true")],
        ),
        event(
            |_, data| {
                if data["result"].get("final").is_some() {
                    data["result"]["final"] = json!(true);
                }
            },
            &[(
                RPC_0_3,
                "V03-035",
                "is final, and",
                "the last status update",
            )],
        ),
    ])
    .await;
}

#[tokio::test]
async fn faults_of_subscriptions_are_found() {
    must_be_found(vec![
        fault(
            Fault::SubscribeOmitsTask,
            &[(RPC, "S-016", "came first", "the Task first")],
        ),
        fault(
            Fault::SubscribeIsEmpty,
            &[
                (RPC, "S-056", "saw no update", "one log of events"),
                (
                    RPC_0_3,
                    "V03-021",
                    "did not go on to the end",
                    "until the task is over",
                ),
            ],
        ),
        fault(
            Fault::SubscribeShowsAnotherTask,
            &[
                (RPC, "S-016", "task \"another\" came", "the Task first"),
                (
                    RPC_0_3,
                    "V03-021",
                    "of task",
                    "of the task that was asked for",
                ),
            ],
        ),
        misread(
            |call| {
                if ["SubscribeToTask", "tasks/resubscribe"].contains(&&*call.what) {
                    call.params["id"] = json!("nobody");
                }
            },
            &[
                (RPC, "S-016", "a running task was refused", "a running task"),
                (
                    RPC_0_3,
                    "V03-021",
                    "a running task was refused",
                    "a running task",
                ),
            ],
        ),
        fault(
            Fault::LeavingCancels,
            &[(
                RPC,
                "S-057",
                "canceled when one reader left",
                "tie the work to a connection",
            )],
        ),
    ])
    .await;
}
