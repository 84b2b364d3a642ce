//! Faults of lists. 0.3 has none.

use serde_json::{Value, json};

use super::serve::Reply;
use super::{Fault, REST, RPC, fault, misread, must_be_found, remove, reply};

fn tasks(reply: &mut Reply) -> impl Iterator<Item = &mut Value> {
    let list = reply
        .json
        .pointer_mut("/result/tasks")
        .and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

#[tokio::test]
async fn faults_of_lists_are_found() {
    must_be_found(vec![
        fault(
            Fault::PagesOverlap,
            &[
                (RPC, "S-011", "does not go on where", "after the last task"),
                (REST, "S-011", "does not go on where", "after the last task"),
            ],
        ),
        fault(
            Fault::PagesSkip,
            &[(
                RPC,
                "S-011",
                "on none of the pages",
                "not on the pages before it",
            )],
        ),
        fault(
            Fault::PagesNeverEnd,
            &[(
                RPC,
                "S-011",
                "still has a nextPageToken",
                "an empty nextPageToken",
            )],
        ),
        fault(
            Fault::IgnoresListFilters,
            &[(RPC, "S-126", "a task of", "contextId and status.state")],
        ),
        misread(
            |call| remove(&mut call.params, "pageSize"),
            &[(RPC, "S-013", "a page of 1 holds", "pageSize")],
        ),
        misread(
            |call| {
                if call.params["pageSize"] == 101 {
                    call.params["pageSize"] = json!(100);
                }
            },
            &[(RPC, "S-013", "pageSize 101 was taken", "InvalidParams")],
        ),
        reply(
            |_, r| remove(&mut r.json["result"], "nextPageToken"),
            &[(RPC, "S-009", "no nextPageToken", "nextPageToken")],
        ),
        reply(
            |_, r| tasks(r).for_each(|task| task["artifacts"] = json!([])),
            &[(RPC, "S-007", "has artifacts", "no artifacts member")],
        ),
        reply(
            |_, r| tasks(r).for_each(|task| remove(task, "artifacts")),
            &[(
                RPC,
                "S-008",
                "no artifacts member",
                "artifacts member of every task",
            )],
        ),
        reply(
            |_, r| {
                if let Some(list) = r
                    .json
                    .pointer_mut("/result/tasks")
                    .and_then(Value::as_array_mut)
                {
                    list.reverse();
                }
            },
            &[(RPC, "S-012", "newer than the one before", "descending")],
        ),
        misread(
            |call| remove(&mut call.params, "statusTimestampAfter"),
            &[(RPC, "S-014", "older than statusTimestampAfter", ">=")],
        ),
    ])
    .await;
}
