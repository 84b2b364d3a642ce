//! Faults of webhooks.

use serde_json::json;

use super::serve::{Call, Reply};
use super::{Fault, Finding, REST_0_3, RPC, RPC_0_3, fault, must_be_found, remove, reply};

/// The webhook in an answer to one of these methods, in either version.
fn config(call: &Call, reply: &mut Reply, verbs: [&str; 2], change: fn(&mut serde_json::Value)) {
    let named = call.what.contains("ushNotificationConfig");
    if !named || !verbs.iter().any(|verb| call.what.contains(verb)) {
        return;
    }
    for place in ["/result/pushNotificationConfig", "/result"] {
        let found = reply.json.pointer_mut(place);
        if let Some(config) = found.filter(|config| config.get("url").is_some()) {
            return change(config);
        }
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn faults_of_webhooks_are_found() {
    const INLINE: &[Finding] = &[
        (
            RPC,
            "S-113",
            "nothing was delivered",
            "that came with the message",
        ),
        (
            RPC_0_3,
            "V03-024",
            "nothing was delivered",
            "that came with the message",
        ),
    ];
    must_be_found(vec![
        fault(
            Fault::NeverDelivers,
            &[
                (RPC, "S-018", "was not called", "deliver what happens"),
                (RPC, "S-081", "nothing was delivered", "post every event"),
                (RPC_0_3, "V03-024", "nothing was delivered", "post the task"),
            ],
        ),
        fault(Fault::IgnoresInlineWebhooks, INLINE),
        fault(
            Fault::DeliversBareText,
            &[
                (RPC, "S-079", "something happened", "{\"statusUpdate\"}"),
                (RPC_0_3, "V03-050", "something happened", "post the Task"),
            ],
        ),
        fault(
            Fault::DeliversArtifactsOnly,
            &[(
                RPC,
                "S-113",
                "was not told that the task is",
                "before the work begins",
            )],
        ),
        fault(
            Fault::DropsWebhookCredentials,
            &[(
                RPC,
                "S-080",
                "no Authorization header",
                "Authorization: {scheme}",
            )],
        ),
        fault(
            Fault::DropsWebhookToken,
            &[(
                RPC_0_3,
                "V03-024",
                "the token was not sent",
                "X-A2A-Notification-Token",
            )],
        ),
        fault(
            Fault::KeepsDeletedWebhooks,
            &[
                (
                    RPC,
                    "S-022",
                    "a removed webhook was taken",
                    "once it is deleted",
                ),
                (
                    RPC_0_3,
                    "V03-022",
                    "a deleted webhook was taken",
                    "once it is deleted",
                ),
                (
                    REST_0_3,
                    "V03-022",
                    "a deleted webhook was taken",
                    "once it is deleted",
                ),
            ],
        ),
        fault(
            Fault::DeletesOnce,
            &[(
                RPC,
                "S-022",
                "removing it again was refused",
                "what is not there succeeds",
            )],
        ),
        fault(
            Fault::ListsOneWebhook,
            &[(RPC, "S-021", "is not listed", "every one of them")],
        ),
        fault(
            Fault::ListsNoWebhooks,
            &[
                (RPC, "S-021", "is not listed", "every one of them"),
                (RPC_0_3, "V03-022", "is not listed", "list every webhook"),
            ],
        ),
        reply(
            |call, r| {
                config(call, r, ["Get", "/get"], |config| {
                    config["url"] = json!("http://127.0.0.1:9/elsewhere");
                });
            },
            &[
                (
                    RPC,
                    "S-020",
                    "not the webhook that was registered",
                    "url, taskId and id",
                ),
                (
                    RPC_0_3,
                    "V03-022",
                    "not the webhook that was set",
                    "set answers",
                ),
            ],
        ),
        reply(
            |call, r| config(call, r, ["Create", "/set"], |config| remove(config, "id")),
            &[
                (RPC, "S-020", "the webhook has no id", "an id"),
                (RPC_0_3, "V03-022", "the webhook has no id", "an id"),
            ],
        ),
    ])
    .await;
}
