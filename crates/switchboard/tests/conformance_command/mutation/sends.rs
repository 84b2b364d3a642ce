//! Faults of sending, reading and canceling.

use serde_json::json;

use super::{
    Fault, Finding, REST, REST_0_3, RPC, RPC_0_3, fault, misread, must_be_found, refuse, remove,
    reply, task,
};

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn faults_of_sending_are_found() {
    const FORGETS_THE_TASK: &[Finding] = &[
        (
            RPC,
            "S-048",
            "unknown task was taken",
            "id that the client chose",
        ),
        (RPC, "S-049", "became", "by the task"),
        (RPC_0_3, "V03-018", "unknown task was taken", "-32001"),
        (RPC_0_3, "V03-019", "became", "continues that task"),
    ];
    must_be_found(vec![
        fault(
            Fault::IgnoresBlocking,
            &[
                (
                    RPC,
                    "S-024",
                    "while the task was",
                    "terminal or interrupted",
                ),
                (RPC_0_3, "V03-025", "while the task was", "blocking: true"),
            ],
        ),
        fault(
            Fault::IgnoresReturnImmediately,
            &[
                (
                    RPC,
                    "S-025",
                    "when the task was completed",
                    "submitted or working",
                ),
                (
                    RPC_0_3,
                    "V03-011",
                    "when the task was over",
                    "submitted or working",
                ),
            ],
        ),
        fault(
            Fault::ReusesTaskIds,
            &[
                (RPC, "S-047", "two tasks have the id", "a new id"),
                (RPC_0_3, "V03-027", "two tasks have the id", "a new id"),
            ],
        ),
        fault(
            Fault::ReplacesContexts,
            &[
                (RPC, "S-045", "became", "the client's contextId"),
                (RPC_0_3, "V03-026", "became", "contextId of the message"),
            ],
        ),
        fault(
            Fault::IgnoresContextMismatch,
            &[(RPC, "S-050", "taken", "message.contextId")],
        ),
        misread(
            |call| remove(&mut call.params["message"], "taskId"),
            FORGETS_THE_TASK,
        ),
        fault(
            Fault::RestartsTasks,
            &[
                (RPC, "S-052", "taken instead of refused", "-32004"),
                (
                    RPC_0_3,
                    "V03-017",
                    "taken instead of refused",
                    "cannot be started again",
                ),
            ],
        ),
        reply(
            |call, r| {
                if call.given.get("notYetInvented").is_some() {
                    refuse(r, -32602);
                }
            },
            &[
                (
                    RPC,
                    "S-067",
                    "unknown members was refused",
                    "unknown members",
                ),
                (
                    RPC_0_3,
                    "V03-028",
                    "unknown members was refused",
                    "unknown members",
                ),
            ],
        ),
        fault(
            Fault::IgnoresHistoryLength,
            &[
                (
                    RPC,
                    "S-027",
                    "with historyLength 1",
                    "historyLength most recent",
                ),
                (
                    RPC,
                    "S-112",
                    "instead of none",
                    "configuration.historyLength",
                ),
                (
                    RPC_0_3,
                    "V03-020",
                    "with historyLength 1",
                    "historyLength most recent",
                ),
                (
                    RPC_0_3,
                    "V03-030",
                    "with historyLength 1",
                    "configuration.historyLength",
                ),
            ],
        ),
        reply(
            |_, r| task(r, |task| task["history"] = json!([])),
            &[(RPC, "S-028", "there is a history member", "an empty list")],
        ),
        misread(
            |call| {
                if call.params["historyLength"] == -1 {
                    remove(&mut call.params, "historyLength");
                }
            },
            &[(
                RPC,
                "S-027",
                "a negative historyLength was taken",
                "negative",
            )],
        ),
    ])
    .await;
}

#[tokio::test]
async fn cancels_that_do_not_cancel_are_found() {
    const DEAD: &[Finding] = &[
        (RPC, "S-015", "and the task is completed", "stop the work"),
        (REST, "S-015", "and the task is completed", "stop the work"),
        (
            RPC_0_3,
            "V03-016",
            "and the task is completed",
            "stop the work",
        ),
        (
            REST_0_3,
            "V03-016",
            "and the task is completed",
            "stop the work",
        ),
    ];
    const LIES: &[Finding] = &[
        (
            RPC,
            "S-015",
            "answered with state canceled",
            "stop the work",
        ),
        (
            RPC_0_3,
            "V03-016",
            "answered with state canceled",
            "stop the work",
        ),
    ];
    must_be_found(vec![
        fault(Fault::CancelIsDead, DEAD),
        fault(Fault::CancelLies, LIES),
        fault(
            Fault::RunsOnAfterCancel,
            &[
                (RPC, "S-123", "became completed later", "nothing may change"),
                (
                    RPC_0_3,
                    "V03-013",
                    "became completed later",
                    "nothing may change",
                ),
            ],
        ),
        fault(
            Fault::CancelsFinishedTasks,
            &[
                (RPC, "S-015", "is over was taken", "TaskNotCancelable"),
                (RPC_0_3, "V03-015", "is over was taken", "-32002"),
            ],
        ),
    ])
    .await;
}

fn is_get(what: &str) -> bool {
    ["GetTask", "tasks/get"].contains(&what)
}

#[tokio::test]
async fn tasks_that_are_read_wrongly_are_found() {
    must_be_found(vec![
        reply(
            |call, r| {
                if is_get(&call.what) {
                    task(r, |task| task["id"] = json!("another"));
                }
            },
            &[
                (RPC, "S-123", "id was", "keeps its id"),
                (RPC_0_3, "V03-013", "id was", "keeps its id"),
            ],
        ),
        reply(
            |call, r| {
                if is_get(&call.what) {
                    task(r, |task| task["contextId"] = json!("another"));
                }
            },
            &[
                (RPC, "S-123", "contextId was", "its context"),
                (RPC_0_3, "V03-013", "contextId was", "its context"),
            ],
        ),
        reply(
            |call, r| {
                if is_get(&call.what) {
                    task(r, |task| {
                        let older = task.get("kind").is_some();
                        let state = if older {
                            "working"
                        } else {
                            "TASK_STATE_WORKING"
                        };
                        task["status"]["state"] = json!(state);
                    });
                }
            },
            &[
                (RPC, "S-123", "was completed, and is working", "final"),
                (RPC_0_3, "V03-013", "was completed, and is working", "final"),
            ],
        ),
        reply(
            |call, r| {
                if is_get(&call.what) {
                    task(r, |task| remove(task, "artifacts"));
                }
            },
            &[
                (RPC, "S-123", "artifacts are not those", "artifacts"),
                (RPC_0_3, "V03-013", "artifacts are not those", "artifacts"),
            ],
        ),
    ])
    .await;
}
