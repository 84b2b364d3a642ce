//! Faults of access: credentials, versions, extensions, the extended card.

use serde_json::json;

use super::agent::Credentials;
use super::serve::Call;
use super::{Fault, Finding, REST, REST_0_3, RPC, RPC_0_3, fault, must_be_found, refuse, reply};

/// Whether a caller asks for an extension that no card has.
fn asks_for_the_unheard_of(call: &Call) -> bool {
    let mut asked = ["a2a-extensions", "x-a2a-extensions"].into_iter();
    asked.any(|name| {
        let value = call.headers.get(name).and_then(|value| value.to_str().ok());
        value.is_some_and(|value| value.contains("unheard-of"))
    })
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn faults_of_access_are_found() {
    const OPEN: &[Finding] = &[
        (RPC, "S-030", "without credentials was taken", "with 401"),
        (REST, "S-030", "without credentials was taken", "with 401"),
        (RPC, "S-096", "needs no credentials", "authenticate before"),
        (RPC_0_3, "V03-038", "without credentials was taken", "401"),
        (REST_0_3, "V03-038", "without credentials was taken", "401"),
    ];
    const SHOWN: &[Finding] = &[
        (
            RPC,
            "S-091",
            "without credentials was taken",
            "refuse GetExtendedAgentCard",
        ),
        (
            RPC_0_3,
            "V03-039",
            "without credentials was taken",
            "getAuthenticatedExtendedCard",
        ),
    ];
    must_be_found(vec![
        fault(Fault::IgnoresCredentials, OPEN)
            .offering(|traits| traits.credentials = Credentials::Required)
            .args(&["--bearer", "right"]),
        reply(
            |_, r| r.unset("www-authenticate"),
            &[
                (RPC, "S-030", "no WWW-Authenticate", "WWW-Authenticate"),
                (
                    RPC_0_3,
                    "V03-038",
                    "no WWW-Authenticate",
                    "WWW-Authenticate",
                ),
            ],
        )
        .offering(|traits| traits.credentials = Credentials::Required)
        .args(&["--bearer", "right"]),
        fault(Fault::ShowsExtendedCardToAll, SHOWN).offering(|traits| traits.extended_card = true),
        reply(
            |call, r| {
                if call.what.ends_with("ExtendedCard") || call.what.ends_with("ExtendedAgentCard") {
                    r.json["result"] = json!({"card": "soon"});
                }
            },
            &[
                (
                    RPC,
                    "S-023",
                    "the answer is no card",
                    "the AgentCard itself",
                ),
                (
                    RPC_0_3,
                    "V03-039",
                    "the answer is no card",
                    "the AgentCard itself",
                ),
            ],
        )
        .offering(|traits| traits.extended_card = true)
        .args(&["--bearer", "right"]),
        fault(
            Fault::IgnoresVersion,
            &[
                (RPC, "S-059", "expected -32009", "-32009"),
                (
                    REST,
                    "S-059",
                    "VERSION_NOT_SUPPORTED",
                    "VERSION_NOT_SUPPORTED",
                ),
            ],
        ),
        reply(
            |_, r| {
                r.unset("a2a-extensions");
                r.unset("x-a2a-extensions");
            },
            &[
                (
                    RPC,
                    "S-093",
                    "A2A-Extensions of the answer is",
                    "A2A-Extensions back",
                ),
                (
                    RPC_0_3,
                    "V03-041",
                    "X-A2A-Extensions of the answer is",
                    "X-A2A-Extensions back",
                ),
            ],
        )
        .offering(|traits| traits.extension = Some(("urn:example:known", false))),
        reply(
            |call, r| {
                if asks_for_the_unheard_of(call) {
                    refuse(r, -32600);
                }
            },
            &[
                (
                    RPC,
                    "S-092",
                    "unheard-of extension was refused",
                    "take no notice",
                ),
                (
                    RPC_0_3,
                    "V03-040",
                    "unheard-of extension was refused",
                    "take no notice",
                ),
            ],
        ),
        reply(
            |call, r| {
                if asks_for_the_unheard_of(call) {
                    let name = if call.what.contains('/') {
                        "x-a2a-extensions"
                    } else {
                        "a2a-extensions"
                    };
                    r.set(name, "urn:switchboard:conformance:unheard-of/v9");
                }
            },
            &[
                (RPC, "S-092", "said to be active", "take no notice"),
                (RPC_0_3, "V03-040", "said to be active", "take no notice"),
            ],
        ),
    ])
    .await;
}
