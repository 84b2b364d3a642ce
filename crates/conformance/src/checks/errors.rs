//! Refusing what is wrong or not offered, in the right words.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;

use crate::answer::{Answer, Link, Outcome};
use crate::check::Level::Must;
use crate::check::{Check, Found, Need, Run, unseen, weak};
use crate::probe::{Manner, Probe, members};
use crate::rpc;

pub(super) static CHECKS: [Check; 6] = [
    Check {
        id: "S-023",
        level: Must,
        clause: "§3.1.11, §3.3.4",
        title: "the extended card is served if it is offered, and refused as UnsupportedOperation if not",
        hint: "without capabilities.extendedAgentCard answer UnsupportedOperation; with it but no card, ExtendedAgentCardNotConfigured",
        run: Run::Link(&[], |p| Box::pin(extended_card(p))),
    },
    Check {
        id: "S-029",
        level: Must,
        clause: "§3.3.2",
        title: "what goes wrong is answered by an error that says what",
        hint: "never answer a failed request by a result, and put words into message",
        run: Run::Link(&[], |p| Box::pin(says_what(p))),
    },
    Check {
        id: "S-033",
        level: Must,
        clause: "§3.3.2, §13.4",
        title: "wrong input is refused as InvalidParams, with the name of the field",
        hint: "check messageId, role and parts before anything happens; name the field in google.rpc.BadRequest",
        run: Run::Link(&[], |p| Box::pin(wrong_input(p))),
    },
    Check {
        id: "S-041",
        level: Must,
        clause: "§3.3.4",
        title: "webhooks that are not offered are refused as PushNotificationNotSupported",
        hint: "answer -32003, HTTP 400 with PUSH_NOTIFICATION_NOT_SUPPORTED, to all four operations",
        run: Run::Link(&[Need::NoPush], |p| Box::pin(no_push(p))),
    },
    Check {
        id: "S-042",
        level: Must,
        clause: "§3.3.4",
        title: "streaming that is not offered is refused as UnsupportedOperation",
        hint: "answer -32004, HTTP 400 with UNSUPPORTED_OPERATION",
        run: Run::Link(&[Need::NoStreaming], |p| Box::pin(no_streaming(p))),
    },
    Check {
        id: "S-106",
        level: Must,
        clause: "§14.1.1",
        title: "content that is not UTF-8 or not of the schema is refused",
        hint: "refuse it as a parse error or InvalidParams; do not fail on it",
        run: Run::Link(&[], |p| Box::pin(bad_content(p))),
    },
];

async fn extended_card(p: &Probe) -> Found {
    let answer = p.call(Method::ExtendedCard, json!({})).await;
    if p.lacks(Need::ExtendedCard).is_err() {
        return answer.refused_as(
            &[ErrorKind::UnsupportedOperation],
            "an extended card that is not offered",
        );
    }
    match &answer.outcome {
        Outcome::Result(card) if card["name"].is_string() => Ok(()),
        Outcome::Result(_) => Err(answer
            .fail("the answer is no card")
            .hinting("answer with the AgentCard itself")),
        _ if [401, 403].contains(&answer.status) => Err(unseen("needs --bearer or --api-key")),
        Outcome::Refused(refusal) if refusal.reason.as_deref() == Some("PERMISSION_DENIED") => {
            Err(unseen("needs --bearer or --api-key"))
        }
        _ => answer.refused_as(
            &[ErrorKind::ExtendedAgentCardNotConfigured],
            "the extended card",
        ),
    }
}

async fn says_what(p: &Probe) -> Found {
    let answer = p.call(Method::Get, json!({"id": "nobody"})).await;
    let refusal = answer.refusal("reading an unknown task")?;
    if refusal.message.trim().is_empty() {
        return Err(answer.fail("the error has no message"));
    }
    Ok(())
}

async fn wrong_input(p: &Probe) -> Found {
    let mut named = None;
    for (field, wrong) in [
        ("message.parts", json!([])),
        ("message.parts", Value::Null),
        ("message.messageId", Value::Null),
        ("message.role", nobodys_role(p)),
    ] {
        let mut params = p.say(&p.plan.message);
        let name = field.trim_start_matches("message.");
        if wrong.is_null() {
            let mut message = members(&params["message"]);
            message.remove(name);
            params["message"] = Value::Object(message);
        } else {
            params["message"][name] = wrong.clone();
        }
        let answer = p.call(Method::Send, params).await;
        let what = match wrong {
            Value::Null => format!("a message without {name}"),
            wrong => format!("a message with {name} {wrong}"),
        };
        answer.refused_as(&[ErrorKind::InvalidParams], &what)?;
        let refusal = answer.refusal(&what)?;
        let said = refusal.object.to_string();
        let snake = if name == "messageId" {
            "message_id"
        } else {
            name
        };
        if !said.contains(name) && !said.contains(snake) {
            named.get_or_insert(weak(
                format!("{what} was refused without naming the field"),
                &answer.exchange,
            ));
        }
    }
    named.map_or(Ok(()), Err)
}

/// A role that is none. Protobuf knows numbers only.
fn nobodys_role(p: &Probe) -> Value {
    match p.link {
        Link::Grpc => json!(99),
        _ => json!("ROLE_OF_NOBODY"),
    }
}

async fn no_push(p: &Probe) -> Found {
    let task = p.answered().await?.task.clone();
    let id = task.map_or_else(|| json!("nobody"), |task| task["id"].clone());
    let hook = p.receiver.hook("/never");
    for (method, params) in [
        (Method::CreatePushConfig, json!({"taskId": id, "url": hook})),
        (Method::GetPushConfig, json!({"taskId": id, "id": "c"})),
        (Method::ListPushConfigs, json!({"taskId": id})),
        (Method::DeletePushConfig, json!({"taskId": id, "id": "c"})),
    ] {
        let answer = p.call(method, params).await;
        answer.refused_as(
            &[ErrorKind::PushNotificationNotSupported],
            p.words.method(method),
        )?;
    }
    Ok(())
}

async fn no_streaming(p: &Probe) -> Found {
    let kinds = [ErrorKind::UnsupportedOperation];
    p.refuses(Method::Stream, p.say(&p.plan.message), &kinds, "a stream")
        .await?;
    p.refuses(
        Method::Subscribe,
        json!({"id": "nobody"}),
        &kinds,
        "a subscription",
    )
    .await
}

async fn bad_content(p: &Probe) -> Found {
    let params = p.say("SPOIL");
    let (path, body) = match p.link {
        Link::JsonRpc => {
            let name = p.words.method(Method::Send);
            (String::new(), Probe::envelope(&json!("bad"), name, &params))
        }
        Link::Rest => ("/message:send".to_owned(), params.to_string().into_bytes()),
        Link::Grpc => p.message(Method::Send, &params),
    };
    // A byte that is nowhere in UTF-8.
    let body: Vec<u8> = body
        .iter()
        .map(|byte| if *byte == b'P' { 0xff } else { *byte })
        .collect();
    if p.link == Link::Grpc {
        return no_message(p, &path, &body).await;
    }
    let spoiled = p.ask("POST", &path, body, Manner::default()).await;
    let utf8 = cleanly(&spoiled, "a body that is not UTF-8");
    let mut params = p.say(&p.plan.message);
    params["message"]["parts"] = json!("not a list");
    let answer = p.call(Method::Send, params).await;
    cleanly(&answer, "a message whose parts are no list").map_err(|why| answer.fail(why))?;
    // That JSON is UTF-8 is said to those who write it, so a lenient reader is only impolite.
    utf8.map_err(|why| weak(why, &spoiled.exchange))
}

/// Over gRPC whatever reads messages may refuse them before the agent does, and calls that an error of its own.
async fn no_message(p: &Probe, path: &str, spoiled: &[u8]) -> Found {
    for (what, message) in [
        ("a text that is not UTF-8", spoiled),
        ("what is no protobuf", b"\xff\xff\xff"),
    ] {
        let body = rpc::framed(message);
        let answer = p.ask("POST", path, body, Manner::default()).await;
        answer.refusal(what)?;
    }
    Ok(())
}

/// Refused by the caller's fault, not by the server's.
fn cleanly(answer: &Answer, what: &str) -> Result<(), String> {
    match &answer.outcome {
        Outcome::Result(_) => Err(format!("{what} was taken instead of refused")),
        Outcome::Broken(why) => Err(format!("{what} got no answer: {why}")),
        Outcome::Refused(_) if answer.status >= 500 || answer.is(ErrorKind::Internal) => {
            Err(format!("{what} made the server fail"))
        }
        Outcome::Refused(_) => Ok(()),
    }
}
