//! Webhooks: registering, reading and removing them.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;

use crate::answer::{Answer, Outcome};
use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Need, Run, Verdict, unseen};
use crate::probe::Probe;

pub(super) static CHECKS: [Check; 5] = [
    Check {
        id: "S-019",
        level: Must,
        clause: "§3.1.7",
        title: "a webhook lasts until the task is over or it is removed",
        hint: "keep configurations as long as the task lives",
        run: Run::Link(&[Need::Push, Need::Asking], |p| Box::pin(lasts(p))),
    },
    Check {
        id: "S-020",
        level: Must,
        clause: "§3.1.8",
        title: "a webhook can be read; one that is not there is an error",
        hint: "answer url, taskId and id; TaskNotFound if there is none",
        run: Run::Link(&[Need::Push], |p| Box::pin(readable(p))),
    },
    Check {
        id: "S-021",
        level: Must,
        clause: "§3.1.9",
        title: "all webhooks of a task are listed",
        hint: "answer {\"configs\": […]} with every one of them",
        run: Run::Link(&[Need::Push], |p| Box::pin(listed(p))),
    },
    Check {
        id: "S-022",
        level: Must,
        clause: "§3.1.10",
        title: "a removed webhook is gone, and can be removed again",
        hint: "deleting what is not there succeeds; nothing is delivered any more",
        run: Run::Link(&[Need::Push], |p| Box::pin(removed(p))),
    },
    Check {
        id: "S-083",
        level: Should,
        clause: "§13.2",
        title: "webhooks that point inwards are refused",
        hint: "refuse link-local and metadata addresses",
        run: Run::Link(&[Need::Push], |p| Box::pin(inward(p))),
    },
];

/// Registers a webhook at a path of our own.
pub(super) async fn create(
    p: &Probe,
    task: &Value,
    path: &str,
) -> Result<(Answer, Value), Verdict> {
    let params = json!({
        "taskId": task["id"], "url": p.receiver.hook(path), "token": "conformance-token",
        "authentication": {"scheme": "Bearer", "credentials": "conformance-credentials"},
    });
    let answer = p.call(Method::CreatePushConfig, params).await;
    let config = answer
        .result("registering a webhook")
        .map_err(|verdict| not_here(&answer, verdict))?
        .clone();
    if config["id"].as_str().is_none_or(str::is_empty) {
        return Err(answer
            .fail("the webhook has no id")
            .hinting("give every webhook an id, and answer it"));
    }
    Ok((answer, config))
}

/// A server may well refuse to call this machine.
pub(super) fn not_here(answer: &Answer, verdict: Verdict) -> Verdict {
    match &answer.outcome {
        Outcome::Refused(refusal) if answer.is(ErrorKind::InvalidParams) => unseen(format!(
            "the agent refuses webhooks at our address; see --webhook-host ({})",
            refusal.message
        )),
        _ => verdict,
    }
}

fn name(task: &Value, config: &Value) -> Value {
    json!({"taskId": task["id"], "id": config["id"]})
}

async fn lasts(p: &Probe) -> Found {
    let task = p.waiting().await?;
    let path = format!("/lasts/{}", p.next());
    let (_, config) = create(p, &task, &path).await?;
    let sent = p
        .send(p.say_to("an answer", &task["id"]), "an answer")
        .await?;
    let came = p
        .receiver
        .wait(&path, p.plan.timeout, |all| !all.is_empty())
        .await;
    if came.is_empty() {
        return Err(sent
            .answer
            .fail("the task went on, and the webhook was not called"));
    }
    let over = sent
        .task
        .as_ref()
        .and_then(|task| p.read(task))
        .is_none_or(|t| t.status.state.is_terminal());
    if over {
        return Ok(());
    }
    let answer = p.call(Method::GetPushConfig, name(&task, &config)).await;
    p.clean_up(&task["id"]).await;
    answer.result("reading the webhook later").map(drop)
}

async fn readable(p: &Probe) -> Found {
    let task = p.finished().await?;
    let (_, config) = create(p, &task, "/readable").await?;
    let answer = p.call(Method::GetPushConfig, name(&task, &config)).await;
    let read = answer.result("reading a webhook")?;
    if read["url"] != json!(p.receiver.hook("/readable")) || read["id"] != config["id"] {
        return Err(answer.fail("the answer is not the webhook that was registered"));
    }
    let unknown = json!({"taskId": task["id"], "id": "nobody"});
    let answer = p.call(Method::GetPushConfig, unknown).await;
    answer.refused_as(&[ErrorKind::TaskNotFound], "reading an unknown webhook")
}

async fn listed(p: &Probe) -> Found {
    let task = p.finished().await?;
    let (_, one) = create(p, &task, "/listed/1").await?;
    let (_, two) = create(p, &task, "/listed/2").await?;
    let answer = p
        .call(Method::ListPushConfigs, json!({"taskId": task["id"]}))
        .await;
    let page = answer.result("listing webhooks")?;
    let configs = page["configs"].as_array();
    let configs = configs.ok_or_else(|| answer.fail("there is no configs member"))?;
    for config in [&one, &two] {
        let more = page["nextPageToken"]
            .as_str()
            .is_some_and(|token| !token.is_empty());
        if !more && !configs.iter().any(|listed| listed["id"] == config["id"]) {
            return Err(answer.fail(format!("webhook {} is not listed", config["id"])));
        }
    }
    Ok(())
}

async fn removed(p: &Probe) -> Found {
    let task = if p.lacks(Need::Asking).is_ok() {
        p.waiting().await?
    } else {
        p.finished().await?
    };
    let path = format!("/removed/{}", p.next());
    let (_, config) = create(p, &task, &path).await?;
    for what in ["removing a webhook", "removing it again"] {
        let answer = p.call(Method::DeletePushConfig, name(&task, &config)).await;
        answer.result(what)?;
    }
    let answer = p.call(Method::GetPushConfig, name(&task, &config)).await;
    let gone = answer.refusal("reading a removed webhook");
    gone.map_err(|verdict| verdict.hinting("forget a webhook once it is deleted"))?;
    p.lacks(Need::Asking)?;
    // Another webhook of the same task tells when the first would have been called.
    let witness = format!("{path}/witness");
    drop(create(p, &task, &witness).await?);
    let sent = p
        .send(p.say_to("an answer", &task["id"]), "an answer")
        .await?;
    drop(
        p.receiver
            .wait(&witness, p.plan.timeout, |all| !all.is_empty())
            .await,
    );
    p.clean_up(&task["id"]).await;
    if !p.receiver.at(&path).is_empty() {
        return Err(sent.answer.fail("a removed webhook was called"));
    }
    Ok(())
}

async fn inward(p: &Probe) -> Found {
    let task = p.finished().await?;
    let params = json!({"taskId": task["id"], "url": "http://169.254.169.254/latest/meta-data"});
    let answer = p.call(Method::CreatePushConfig, params).await;
    match answer.outcome {
        Outcome::Result(_) => Err(unseen(
            "it was registered; whether it would be called cannot be told",
        )),
        _ => Ok(()),
    }
}
