//! Credentials and encryption, as far as a stranger can see.

use serde_json::json;
use switchboard_types::operation::Method;

use super::card::local;
use crate::answer::{Answer, Link, Outcome};
use crate::check::Level::Must;
use crate::check::{Check, Found, Need, Run, Verdict, fail, unseen, weak};
use crate::probe::{Manner, Probe};

pub(super) static CHECKS: [Check; 4] = [
    Check {
        id: "S-030",
        level: Must,
        clause: "§3.3.2, §7.4",
        title: "requests without credentials are refused, with a challenge",
        hint: "answer 401 with WWW-Authenticate",
        run: Run::Link(&[Need::Security], |p| Box::pin(challenged(p))),
    },
    Check {
        id: "S-091",
        level: Must,
        clause: "§13.3",
        title: "the extended card needs credentials",
        hint: "refuse GetExtendedAgentCard to callers who did not authenticate",
        run: Run::Link(&[Need::ExtendedCard], |p| Box::pin(extended_card(p))),
    },
    Check {
        id: "S-095",
        level: Must,
        clause: "§7.1",
        title: "the transport is encrypted",
        hint: "serve https outside this machine",
        run: Run::Link(&[], |p| Box::pin(encrypted(p))),
    },
    Check {
        id: "S-096",
        level: Must,
        clause: "§7.4",
        title: "every operation needs credentials",
        hint: "authenticate before anything else",
        run: Run::Link(&[Need::Security], |p| Box::pin(every_operation(p))),
    },
];

async fn stranger(p: &Probe, method: Method, params: serde_json::Value) -> Answer {
    let manner = Manner {
        anonymous: true,
        ..Manner::default()
    };
    p.call_as(method, params, manner).await
}

async fn challenged(p: &Probe) -> Found {
    let answer = stranger(p, Method::Send, p.say(&p.plan.message)).await;
    let refused = answer.refusal("a message without credentials");
    refused.map_err(|verdict| {
        verdict.hinting("refuse requests without credentials with 401, or say in the card that they are optional")
    })?;
    if ![401, 403].contains(&answer.status) {
        return Err(weak(
            format!("the status is {}, not 401", answer.status),
            &answer.exchange,
        ));
    }
    // The status of gRPC says enough.
    let http = p.link != Link::Grpc;
    if http && answer.status == 401 && answer.header("www-authenticate").is_none() {
        return Err(weak("there is no WWW-Authenticate", &answer.exchange));
    }
    Ok(())
}

async fn extended_card(p: &Probe) -> Found {
    let answer = stranger(p, Method::ExtendedCard, json!({})).await;
    answer
        .refusal("the extended card without credentials")
        .map(drop)
}

async fn encrypted(p: &Probe) -> Found {
    let url = p.url("");
    match url.scheme() {
        "https" => Ok(()),
        _ if local(&url) => Err(unseen(
            "the agent is on this machine, where nothing need be encrypted",
        )),
        _ => Err(fail(format!("{url} is not encrypted"), &p.found.exchange)),
    }
}

async fn every_operation(p: &Probe) -> Found {
    let task = match p.answered().await {
        Ok(sent) => sent.task.clone().unwrap_or_default(),
        Err(_) => return Err(unseen("needs credentials that the agent takes")),
    };
    for (method, params) in [
        (Method::Get, json!({"id": task["id"]})),
        (Method::Cancel, json!({"id": task["id"]})),
        (Method::List, json!({})),
    ] {
        let answer = stranger(p, method, params).await;
        let refused = match &answer.outcome {
            Outcome::Refused(_) => true,
            Outcome::Result(_) => false,
            Outcome::Broken(_) => return Err(Verdict::NotSeen("there was no answer".into())),
        };
        if !refused {
            return Err(answer.fail(format!("{} needs no credentials", p.words.method(method))));
        }
    }
    Ok(())
}
