//! Which version a request is in.

use serde_json::{Value, json};
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;

use crate::answer::{Link, Outcome};
use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Need, Run};
use crate::discover::speaks;
use crate::probe::{Manner, Probe};

pub(super) static CHECKS: [Check; 4] = [
    Check {
        id: "S-058",
        level: Must,
        clause: "§3.6.2",
        title: "a request in 1.0 is answered in 1.0",
        hint: "no kind members, enum names in capitals, results in their wrapper",
        run: Run::Link(&[], |p| Box::pin(same_version(p))),
    },
    Check {
        id: "S-059",
        level: Must,
        clause: "§3.6.2",
        title: "a version that is not supported is VersionNotSupported",
        hint: "answer -32009, HTTP 400 with VERSION_NOT_SUPPORTED",
        run: Run::Link(&[], |p| Box::pin(unknown_version(p))),
    },
    Check {
        id: "S-060",
        level: Must,
        clause: "§3.6.2",
        title: "without A2A-Version a request of 0.3 is served",
        hint: "clients of 0.3 send no version: take message/send without one as 0.3",
        run: Run::Link(&[Need::Json], |p| Box::pin(absent_version(p))),
    },
    Check {
        id: "S-061",
        level: Should,
        clause: "§3.6",
        title: "patch numbers are not looked at",
        hint: "read 1.0.7 as 1.0; write major and minor only",
        run: Run::Link(&[], |p| Box::pin(patch_number(p))),
    },
];

async fn same_version(p: &Probe) -> Found {
    let sent = p.answered().await?;
    let result = sent.answer.result("a message")?;
    if result.get("kind").is_some()
        || !(result["task"].is_object() || result["message"].is_object())
    {
        return Err(sent.answer.fail("the answer has the shape of 0.3"));
    }
    match result["task"]["status"]["state"].as_str() {
        Some(state) if !state.starts_with("TASK_STATE_") => Err(sent
            .answer
            .fail(format!("the state {state:?} is spelled as in 0.3"))),
        _ => Ok(()),
    }
}

async fn ask_in(p: &Probe, version: &str) -> crate::answer::Answer {
    let manner = Manner {
        version: Some(version),
        ..Manner::default()
    };
    p.call_as(Method::Get, json!({"id": "nobody"}), manner)
        .await
}

async fn unknown_version(p: &Probe) -> Found {
    let answer = ask_in(p, "99.0").await;
    answer.refused_as(&[ErrorKind::VersionNotSupported], "A2A-Version 99.0")
}

async fn absent_version(p: &Probe) -> Found {
    // A name that only 1.0 has may be refused, since 0.3 does not have it, or served: no request of 0.3 can mean it. The
    // official kit takes every answer that can be read.
    let answer = ask_in(p, "").await;
    if let Outcome::Broken(why) = &answer.outcome {
        let what = "an operation of 1.0 without A2A-Version got no answer";
        return Err(answer.fail(format!("{what}: {why}")));
    }
    let older = p.found.card.interfaces.iter().any(|interface| {
        speaks(&interface.version) == Some("0.3")
            && interface.url == p.interface.url
            && interface.binding == p.interface.binding
    });
    if !older || p.link == Link::Rest {
        return Ok(());
    }
    let message = json!({"kind": "message", "messageId": uuid::Uuid::new_v4().to_string(), "role": "user",
        "parts": [{"kind": "text", "text": p.plan.message}]});
    let body = Probe::envelope(&json!("old"), "message/send", &json!({"message": message}));
    let manner = Manner {
        version: Some(""),
        ..Manner::default()
    };
    let answer = p.ask("POST", "", body, manner).await;
    match answer.result("message/send of 0.3 without A2A-Version")? {
        Value::Object(result) if result.contains_key("kind") => Ok(()),
        _ => Err(answer.fail("message/send of 0.3 was not answered in 0.3")),
    }
}

async fn patch_number(p: &Probe) -> Found {
    let answer = ask_in(p, "1.0.7").await;
    match &answer.outcome {
        Outcome::Broken(why) => Err(answer.fail(format!("there was no answer: {why}"))),
        _ if answer.is(ErrorKind::VersionNotSupported) => {
            Err(answer.fail("A2A-Version 1.0.7 was refused"))
        }
        _ => Ok(()),
    }
}
