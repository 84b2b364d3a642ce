//! Faults of errors: numbers, statuses, texts and details.

use serde_json::json;

use super::{Finding, REST, REST_0_3, RPC, RPC_0_3, must_be_found, remove, renumber, reply};

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn wrong_numbers_of_errors_are_found() {
    const NOT_FOUND: &[Finding] = &[
        (RPC, "S-034", "expected -32001", "TaskNotFound"),
        (RPC_0_3, "V03-014", "expected -32001", "-32001"),
    ];
    must_be_found(vec![
        reply(|_, r| renumber(r, -32001, -32602), NOT_FOUND),
        reply(
            |_, r| renumber(r, -32002, -32603),
            &[
                (RPC, "S-015", "expected -32002", "TaskNotCancelable"),
                (RPC_0_3, "V03-015", "expected -32002", "-32002"),
            ],
        ),
        reply(
            |_, r| renumber(r, -32003, -32601),
            &[
                (RPC, "S-041", "expected -32003", "-32003"),
                (RPC_0_3, "V03-023", "expected -32003", "-32003"),
            ],
        )
        .offering(|traits| traits.push = false),
        reply(
            |_, r| renumber(r, -32004, -32601),
            &[
                (RPC, "S-042", "expected -32004", "-32004"),
                (RPC_0_3, "V03-007", "expected -32004", "-32004"),
            ],
        )
        .offering(|traits| traits.streaming = false),
        reply(
            |_, r| renumber(r, -32004, -32602),
            &[(RPC, "S-052", "expected -32004", "-32004")],
        ),
        reply(
            |_, r| renumber(r, -32005, -32602),
            &[
                (RPC, "S-053", "expected -32005", "-32005"),
                (RPC_0_3, "V03-029", "expected -32005", "-32005"),
            ],
        ),
        reply(
            |_, r| renumber(r, -32602, -32600),
            &[
                (RPC, "S-033", "expected -32602", "messageId, role and parts"),
                (RPC_0_3, "V03-010", "expected -32602", "-32602"),
            ],
        ),
        reply(
            |_, r| renumber(r, -32601, -32600),
            &[
                (
                    RPC,
                    "S-117",
                    "expected -32601",
                    "-32601 to an unknown method",
                ),
                (
                    RPC_0_3,
                    "V03-008",
                    "expected -32601",
                    "-32601 to an unknown method",
                ),
            ],
        ),
        reply(
            |_, r| renumber(r, -32700, -32600),
            &[
                (
                    RPC,
                    "S-117",
                    "expected -32700",
                    "-32700 to what is not JSON",
                ),
                (
                    RPC_0_3,
                    "V03-008",
                    "expected -32700",
                    "-32700 to what is not JSON",
                ),
            ],
        ),
        reply(
            |_, r| renumber(r, -32600, -32602),
            &[
                (
                    RPC,
                    "S-117",
                    "expected -32600",
                    "-32600 to a call without jsonrpc",
                ),
                (
                    RPC_0_3,
                    "V03-008",
                    "expected -32600",
                    "-32600 to a call without jsonrpc",
                ),
            ],
        ),
        reply(
            |_, r| renumber(r, -32009, -32600),
            &[(RPC, "S-059", "expected -32009", "-32009")],
        ),
        reply(
            |_, r| renumber(r, -32008, -32600),
            &[(RPC, "S-043", "expected -32008", "-32008")],
        )
        .offering(|traits| traits.extension = Some(("urn:example:required", true))),
    ])
    .await;
}

#[tokio::test]
async fn incomplete_errors_are_found() {
    must_be_found(vec![
        reply(
            |_, r| {
                if let Some(error) = r.json.get_mut("error") {
                    remove(error, "message");
                }
            },
            &[
                (RPC, "S-036", "no message", "code and message"),
                (RPC_0_3, "V03-044", "no message", "message as a text"),
            ],
        ),
        reply(
            |_, r| {
                if let Some(code) = r
                    .json
                    .get_mut("error")
                    .and_then(|error| error.get_mut("code"))
                {
                    *code = json!(code.to_string());
                }
            },
            &[
                (RPC, "S-036", "no code", "code and message"),
                (
                    RPC_0_3,
                    "V03-044",
                    "the code \"-32001\"",
                    "code as a number",
                ),
            ],
        ),
        reply(
            |_, r| {
                if let Some(error) = r.json.get_mut("error") {
                    error["data"] = json!({"reason": "free"});
                }
            },
            &[(RPC, "S-040", "error.data is no list", "a list")],
        ),
        reply(
            |_, r| {
                if let Some(error) = r.json.get_mut("error") {
                    remove(error, "data");
                }
            },
            &[(RPC, "S-040", "no ErrorInfo", "google.rpc.ErrorInfo")],
        ),
        reply(
            |_, r| {
                if r.status == 404 {
                    r.status = 500;
                }
            },
            &[
                (
                    REST,
                    "S-037",
                    "TASK_NOT_FOUND has 500, expected 404",
                    "§5.4",
                ),
                (REST_0_3, "V03-014", "HTTP 500", "404"),
            ],
        ),
        reply(
            |_, r| {
                if r.status == 404 {
                    r.status = 200;
                }
            },
            &[
                (REST, "S-034", "taken instead of refused", "TaskNotFound"),
                (REST_0_3, "V03-014", "taken instead of refused", "404"),
            ],
        ),
    ])
    .await;
}
