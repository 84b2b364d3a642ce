//! Webhooks: what is delivered, and how.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_types::operation::Method;

use super::push::{create, not_here};
use crate::answer::Answer;
use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Need, Run, Verdict, unseen};
use crate::probe::Probe;
use crate::receiver::Delivery;
use crate::shape::EVENTS;

/// How long a second attempt is waited for.
const SECOND_ATTEMPT: Duration = Duration::from_secs(8);

pub(super) static CHECKS: [Check; 6] = [
    Check {
        id: "S-018",
        level: Must,
        clause: "§3.1.7",
        title: "a webhook that is added to a task is called",
        hint: "deliver what happens after CreateTaskPushNotificationConfig",
        run: Run::Link(&[Need::Push, Need::Asking], |p| Box::pin(armed(p))),
    },
    Check {
        id: "S-079",
        level: Must,
        clause: "§4.3.3",
        title: "a notification is a StreamResponse with exactly one member",
        hint: "send {\"task\"}, {\"message\"}, {\"statusUpdate\"} or {\"artifactUpdate\"}, whatever binding was used",
        run: Run::Link(&[Need::Push], |p| Box::pin(one_member(p))),
    },
    Check {
        id: "S-080",
        level: Must,
        clause: "§4.3.3, §13.2",
        title: "notifications carry the credentials of the webhook",
        hint: "send Authorization: {scheme} {credentials} as registered",
        run: Run::Link(&[Need::Push], |p| Box::pin(credentials(p))),
    },
    Check {
        id: "S-081",
        level: Must,
        clause: "§4.3.3",
        title: "delivery is attempted at least once per webhook",
        hint: "call every webhook of the task",
        run: Run::Link(&[Need::Push], |p| Box::pin(attempted(p))),
    },
    Check {
        id: "S-082",
        level: Should,
        clause: "§13.2",
        title: "a delivery that fails is tried again",
        hint: "retry with exponential backoff",
        run: Run::Link(&[Need::Push], |p| Box::pin(again(p))),
    },
    Check {
        id: "S-113",
        level: Must,
        clause: "§3.1.7, §3.2.2",
        title: "a webhook in a send hears of the task from its first event",
        hint: "register configuration.taskPushNotificationConfig before the work begins",
        run: Run::Link(&[Need::Push], |p| Box::pin(from_the_beginning(p))),
    },
];

/// What came of a message with a webhook.
struct Delivered {
    answer: Answer,
    /// The state in which the send returned.
    state: Value,
    came: Vec<Delivery>,
}

/// Sends the plain message with a webhook, and waits until that was told what the sender was told.
async fn deliver(p: &Probe, path: &str) -> Result<Delivered, Verdict> {
    let mut params = p.say(&p.plan.message);
    params["configuration"] = json!({ p.words.inline_push: {
        "url": p.receiver.hook(path), "token": "conformance-token",
        "authentication": {"scheme": "Bearer", "credentials": "conformance-credentials"},
    }});
    let answer = p.call(Method::Send, params).await;
    let result = answer
        .result("a message with a webhook")
        .map_err(|v| not_here(&answer, v))?;
    let Some(task) = p.task_in(result) else {
        return Err(unseen(
            "the agent answers --message with a message, not a task",
        ));
    };
    let state = task["status"]["state"].clone();
    let patience = p.plan.timeout.min(Duration::from_secs(15));
    let told = |all: &[Delivery]| all.iter().any(|delivery| tells(&delivery.body, &state));
    let came = p.receiver.wait(path, patience, told).await;
    if came.is_empty() {
        let why = format!("nothing was delivered within {patience:?}");
        return Err(answer
            .fail(why)
            .hinting("post every event of the task to the webhook that came with the message"));
    }
    Ok(Delivered {
        answer,
        state,
        came,
    })
}

/// The same, for checks of what is delivered: that nothing is, is said once.
async fn delivered(p: &Probe, path: &str) -> Result<Delivered, Verdict> {
    let delivered = deliver(p, path).await;
    delivered.map_err(|verdict| match verdict {
        Verdict::Fail(_) => unseen("nothing was delivered, see S-081"),
        other => other,
    })
}

/// Whether a notification tells that a task is in a state.
fn tells(body: &Value, state: &Value) -> bool {
    let events = [&body["statusUpdate"], &body["task"]];
    events
        .iter()
        .any(|event| event["status"]["state"] == *state)
}

async fn armed(p: &Probe) -> Found {
    let task = p.waiting().await?;
    let path = format!("/armed/{}", p.next());
    let (answer, _) = create(p, &task, &path).await?;
    drop(
        p.send(p.say_to("an answer", &task["id"]), "an answer")
            .await?,
    );
    let came = p
        .receiver
        .wait(&path, p.plan.timeout, |all| !all.is_empty())
        .await;
    p.clean_up(&task["id"]).await;
    if came.is_empty() {
        return Err(answer.fail("the task went on, and the webhook was not called"));
    }
    Ok(())
}

async fn one_member(p: &Probe) -> Found {
    let Delivered { answer, came, .. } = delivered(p, &format!("/body/{}", p.next())).await?;
    for delivery in came {
        let members = delivery.body.as_object();
        let known = |name: &&String| EVENTS.iter().any(|(event, _)| event == name);
        let one = members.is_some_and(|m| m.len() == 1 && m.keys().all(|name| known(&name)));
        if !one {
            return Err(answer.fail(format!("the webhook was sent {}", delivery.body)));
        }
    }
    Ok(())
}

async fn credentials(p: &Probe) -> Found {
    let Delivered { answer, came, .. } =
        delivered(p, &format!("/credentials/{}", p.next())).await?;
    for delivery in came {
        let sent = delivery
            .headers
            .get("authorization")
            .and_then(|value| value.to_str().ok());
        if sent != Some("Bearer conformance-credentials") {
            let what = if sent.is_none() { "no" } else { "another" };
            return Err(answer.fail(format!(
                "the webhook was called with {what} Authorization header"
            )));
        }
    }
    Ok(())
}

async fn attempted(p: &Probe) -> Found {
    deliver(p, &format!("/attempted/{}", p.next()))
        .await
        .map(drop)
}

async fn again(p: &Probe) -> Found {
    let path = format!("/again/{}", p.next());
    p.receiver.fail_once(&path);
    let came = delivered(p, &path).await?.came;
    let first = came[0].body.clone();
    let repeated = |all: &[Delivery]| all.iter().filter(|d| d.body == first).count() > 1;
    let all = p.receiver.wait(&path, SECOND_ATTEMPT, repeated).await;
    if repeated(&all) {
        return Ok(());
    }
    Err(unseen(format!(
        "no second attempt within {SECOND_ATTEMPT:?}; there may be one later"
    )))
}

async fn from_the_beginning(p: &Probe) -> Found {
    let Delivered {
        answer,
        state,
        came,
    } = deliver(p, &format!("/inline/{}", p.next())).await?;
    if came.iter().any(|delivery| tells(&delivery.body, &state)) {
        return Ok(());
    }
    Err(answer.fail(format!("the webhook was not told that the task is {state}")))
}
