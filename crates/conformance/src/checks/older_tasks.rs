//! A2A 0.3: tasks and webhooks.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;

use super::older::events;
use super::older_stream::{is_over, same_task};
use super::push::not_here;
use super::subscribe::subscribe;
use super::tasks::{cancels, end_is_final, same, talkative};
use crate::answer::{Answer, Link};
use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Need, Run, Verdict, hold, hold_or, unseen};
use crate::probe::Probe;
use crate::receiver::Delivery;
use crate::stream::End;

pub(super) static CHECKS: [Check; 13] = [
    Check {
        id: "V03-013",
        level: Must,
        clause: "0.3 §7.3",
        title: "tasks/get shows a task as it was answered, and a terminal state is final",
        hint: "store a task before it is answered, and read it from there",
        run: Run::Link(&[], |p| Box::pin(get(p))),
    },
    Check {
        id: "V03-014",
        level: Must,
        clause: "0.3 §8.2",
        title: "an unknown task is TaskNotFound",
        hint: "answer -32001, over HTTP+JSON 404, to tasks/get, tasks/cancel and tasks/resubscribe",
        run: Run::Link(&[], |p| Box::pin(not_found(p))),
    },
    Check {
        id: "V03-015",
        level: Must,
        clause: "0.3 §7.4, §8.2",
        title: "canceling a task that is over is TaskNotCancelable",
        hint: "answer -32002",
        run: Run::Link(&[], |p| Box::pin(not_cancelable(p))),
    },
    Check {
        id: "V03-016",
        level: Must,
        clause: "0.3 §7.4",
        title: "tasks/cancel ends the task, and answers with it",
        hint: "answer the Task as it stands after the cancel",
        run: Run::Link(&[Need::Long], |p| Box::pin(cancels(p))),
    },
    Check {
        id: "V03-017",
        level: Must,
        clause: "0.3 §7.1, §6.1",
        title: "a message to a task that is over is refused",
        hint: "tasks that are over cannot be started again",
        run: Run::Link(&[], |p| Box::pin(terminal_task(p))),
    },
    Check {
        id: "V03-018",
        level: Must,
        clause: "0.3 §8.2",
        title: "a message to an unknown task is TaskNotFound",
        hint: "answer -32001",
        run: Run::Link(&[], |p| Box::pin(unknown_task(p))),
    },
    Check {
        id: "V03-019",
        level: Must,
        clause: "0.3 §6.3, §9.4",
        title: "a task that asks goes on with the answer",
        hint: "a message with taskId continues that task, in its context",
        run: Run::Link(&[Need::Asking], |p| Box::pin(goes_on(p))),
    },
    Check {
        id: "V03-020",
        level: Should,
        clause: "0.3 §7.3.1",
        title: "tasks/get gives no more history than asked for",
        hint: "return at most the historyLength most recent messages",
        run: Run::Link(&[], |p| Box::pin(history(p))),
    },
    Check {
        id: "V03-021",
        level: Must,
        clause: "0.3 §7.9",
        title: "tasks/resubscribe goes on with a running task",
        hint: "stream the events from now on",
        run: Run::Link(&[Need::Streaming, Need::Long], |p| Box::pin(resubscribe(p))),
    },
    Check {
        id: "V03-022",
        level: Must,
        clause: "0.3 §7.5 to §7.8",
        title: "webhooks can be set, read, listed and deleted",
        hint: "set answers with the configuration and its id, list with an array, delete with null",
        run: Run::Link(&[Need::Push], |p| Box::pin(webhooks(p))),
    },
    Check {
        id: "V03-023",
        level: Must,
        clause: "0.3 §8.2",
        title: "webhooks that are not offered are PushNotificationNotSupported",
        hint: "answer -32003",
        run: Run::Link(&[Need::NoPush], |p| Box::pin(no_webhooks(p))),
    },
    Check {
        id: "V03-024",
        level: Should,
        clause: "0.3 §6.8, §9.5",
        title: "a webhook is called with its token",
        hint: "send X-A2A-Notification-Token as it was registered",
        run: Run::Link(&[Need::Push, Need::JsonRpc], |p| Box::pin(called(p))),
    },
    Check {
        id: "V03-050",
        level: Should,
        clause: "0.3 §9.5",
        title: "a notification names its task",
        hint: "post the Task as JSON, with its id and status",
        run: Run::Link(&[Need::Push, Need::JsonRpc], |p| Box::pin(told(p))),
    },
];

async fn get(p: &Probe) -> Found {
    let task = p.finished().await?;
    same(p, &task).await?;
    if p.lacks(Need::Long).is_err() {
        return Ok(());
    }
    end_is_final(p).await
}

async fn not_found(p: &Probe) -> Found {
    for method in [Method::Get, Method::Cancel] {
        let params = json!({"id": format!("nobody-{}", uuid::Uuid::new_v4())});
        let answer = p.call(method, params).await;
        answer.refused_as(&[ErrorKind::TaskNotFound], p.words.method(method))?;
    }
    if p.lacks(Need::Streaming).is_err() || p.link != Link::JsonRpc {
        return Ok(());
    }
    let params = json!({"id": format!("nobody-{}", uuid::Uuid::new_v4())});
    let kinds = [ErrorKind::TaskNotFound];
    p.refuses(
        Method::Subscribe,
        params,
        &kinds,
        p.words.method(Method::Subscribe),
    )
    .await
}

async fn not_cancelable(p: &Probe) -> Found {
    let task = p.finished().await?;
    let answer = p.call(Method::Cancel, json!({"id": task["id"]})).await;
    answer.refused_as(
        &[ErrorKind::TaskNotCancelable],
        "canceling a task that is over",
    )
}

async fn terminal_task(p: &Probe) -> Found {
    let task = p.finished().await?;
    let params = p.say_to(&p.plan.message, &task["id"]);
    let answer = p.call(Method::Send, params).await;
    answer.refusal("a message to a task that is over").map(drop)
}

async fn unknown_task(p: &Probe) -> Found {
    let params = p.say_to(
        &p.plan.message,
        &json!(format!("nobody-{}", uuid::Uuid::new_v4())),
    );
    let answer = p.call(Method::Send, params).await;
    answer.refused_as(&[ErrorKind::TaskNotFound], "a message to an unknown task")
}

async fn goes_on(p: &Probe) -> Found {
    let task = p.waiting().await?;
    let sent = p
        .send(p.say_to("an answer", &task["id"]), "an answer")
        .await?;
    let after = sent.task.clone().unwrap_or_default();
    p.clean_up(&task["id"]).await;
    for name in ["id", "contextId"] {
        let why = format!("{name} {} became {}", task[name], after[name]);
        hold(after[name] == task[name], why, &sent.answer.exchange)?;
    }
    Ok(())
}

async fn history(p: &Probe) -> Found {
    let task = talkative(p).await?;
    let answer = p
        .call(Method::Get, json!({"id": task["id"], "historyLength": 1}))
        .await;
    let read = answer.result("reading a task")?;
    let length = read["history"].as_array().map_or(0, Vec::len);
    hold(
        length <= 1,
        format!("with historyLength 1, {length} messages of history came"),
        &answer.exchange,
    )
}

async fn resubscribe(p: &Probe) -> Found {
    let task = p.running().await?;
    let stream = subscribe(p, &task).await?;
    let streamed = stream.rest(p.plan.timeout).await;
    let events = events(p, &streamed)?;
    let hint = "stream the events of the task that was asked for, and no others";
    same_task(&streamed, &events).map_err(|verdict| verdict.hinting(hint))?;
    let first = &events[0].1;
    let of = if events[0].0 == "task" {
        &first["id"]
    } else {
        &first["taskId"]
    };
    let why = format!("the events are of task {of}, not {}", task["id"]);
    hold_or(*of == task["id"], why, hint, &streamed.exchange)?;
    let ended = |event: &(&str, Value)| is_over(p, event) || event.1["final"] == true;
    hold_or(
        streamed.end == End::Closed && events.iter().any(ended),
        "the stream did not go on to the end of the task",
        "stream all updates until the task is over, then close the stream",
        &streamed.exchange,
    )
}

fn hook(p: &Probe, path: &str) -> Value {
    json!({"url": p.receiver.hook(path), "token": "conformance-token"})
}

async fn webhooks(p: &Probe) -> Found {
    let task = p.finished().await?;
    let params = match p.link {
        Link::JsonRpc => json!({"taskId": task["id"], "pushNotificationConfig": hook(p, "/older")}),
        Link::Rest | Link::Grpc => {
            let name = format!("tasks/{}", task["id"].as_str().unwrap_or_default());
            let config = json!({"name": format!("{name}/pushNotificationConfigs/c1"), "pushNotificationConfig": hook(p, "/older")});
            json!({"taskId": task["id"], "parent": name, "configId": "c1", "config": config})
        }
    };
    let answer = p.call(Method::CreatePushConfig, params).await;
    let set = answer
        .result("setting a webhook")
        .map_err(|verdict| not_here(&answer, verdict))?;
    let own = set["pushNotificationConfig"]["id"].as_str();
    let named = set["name"]
        .as_str()
        .and_then(|name| name.rsplit('/').next());
    let given = [own, named].into_iter().flatten().find(|id| !id.is_empty());
    let Some(id) = given else {
        return Err(answer
            .fail("the webhook has no id")
            .hinting("give every webhook an id, and answer it"));
    };
    let one = json!({"id": task["id"], "pushNotificationConfigId": id});
    let answer = p.call(Method::GetPushConfig, one.clone()).await;
    let read = answer.result("reading a webhook")?;
    let same = read["pushNotificationConfig"]["url"] == json!(p.receiver.hook("/older"));
    hold(
        same,
        "the answer is not the webhook that was set",
        &answer.exchange,
    )?;
    let answer = p
        .call(Method::ListPushConfigs, json!({"id": task["id"]}))
        .await;
    let listed = answer.result("listing webhooks")?;
    let all = listed.as_array().or_else(|| listed["configs"].as_array());
    hold_or(
        all.is_some_and(|all| !all.is_empty()),
        "the webhook is not listed",
        "list every webhook of the task",
        &answer.exchange,
    )?;
    let answer = p.call(Method::DeletePushConfig, one.clone()).await;
    answer.result("deleting a webhook")?;
    let answer = p.call(Method::GetPushConfig, one).await;
    let gone = answer.refusal("reading a deleted webhook");
    gone.map(drop)
        .map_err(|verdict| verdict.hinting("forget a webhook once it is deleted"))
}

async fn no_webhooks(p: &Probe) -> Found {
    let id = p
        .sent()
        .await?
        .task
        .as_ref()
        .map_or_else(|| json!("nobody"), |task| task["id"].clone());
    let params = json!({"id": id, "taskId": id, "pushNotificationConfig": hook(p, "/never")});
    let answer = p.call(Method::CreatePushConfig, params).await;
    answer.refused_as(&[ErrorKind::PushNotificationNotSupported], "a webhook")
}

/// A delivery of the plain message, and the answer to it.
async fn delivered(p: &Probe) -> Result<(Answer, Vec<Delivery>), Verdict> {
    let path = format!("/called/{}", p.next());
    let mut params = p.say(&p.plan.message);
    params["configuration"] = json!({ p.words.inline_push: hook(p, &path), "blocking": true });
    let answer = p.call(Method::Send, params).await;
    let result = answer
        .result("a message with a webhook")
        .map_err(|verdict| not_here(&answer, verdict))?;
    if p.task_in(result).is_none() {
        return Err(unseen(
            "the agent answers --message with a message, not a task",
        ));
    }
    let patience = p.plan.timeout.min(Duration::from_secs(15));
    let came = p
        .receiver
        .wait(&path, patience, |all| !all.is_empty())
        .await;
    if came.is_empty() {
        let why = format!("nothing was delivered within {patience:?}");
        return Err(answer
            .fail(why)
            .hinting("post the task to the webhook that came with the message"));
    }
    Ok((answer, came))
}

async fn called(p: &Probe) -> Found {
    let (answer, came) = delivered(p).await?;
    for delivery in came {
        let token = delivery.headers.get("x-a2a-notification-token");
        let token = token.and_then(|value| value.to_str().ok());
        let why = "the token was not sent";
        hold(token == Some("conformance-token"), why, &answer.exchange)?;
    }
    Ok(())
}

async fn told(p: &Probe) -> Found {
    let Ok((answer, came)) = delivered(p).await else {
        return Err(unseen("nothing was delivered, see V03-024"));
    };
    let id = answer.result("a message with a webhook")?["id"].clone();
    for delivery in came {
        let body = &delivery.body;
        // The text shows a Task; SDKs send events, bare or wrapped.
        let wrapped = ["task", "statusUpdate", "artifactUpdate", "message"].map(|name| &body[name]);
        let objects = wrapped.into_iter().chain([body]);
        let named = |object: &Value| object["id"] == id || object["taskId"] == id;
        let told = objects.filter(|object| object.is_object()).any(named);
        let why = format!("the webhook was sent {body}");
        hold(told, why, &answer.exchange)?;
    }
    Ok(())
}
