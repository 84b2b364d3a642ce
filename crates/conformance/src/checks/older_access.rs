//! A2A 0.3: credentials and extensions.

use serde_json::json;
use switchboard_types::operation::Method;

use crate::answer::{Link, Outcome};
use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Need, Run, Verdict, hold, unseen, weak};
use crate::probe::{Manner, Probe};

const UNHEARD_OF: &str = "urn:switchboard:conformance:unheard-of/v9";

pub(super) static CHECKS: [Check; 4] = [
    Check {
        id: "V03-038",
        level: Must,
        clause: "0.3 §4.4, §4.5",
        title: "requests without credentials are refused, with a challenge",
        hint: "answer 401 with WWW-Authenticate, or say in the card that credentials are optional",
        run: Run::Link(&[Need::Security], |p| Box::pin(challenged(p))),
    },
    Check {
        id: "V03-039",
        level: Must,
        clause: "0.3 §7.10, §9.1",
        title: "the extended card needs credentials, and is a card",
        hint: "refuse agent/getAuthenticatedExtendedCard to callers who did not authenticate",
        run: Run::Link(&[Need::Json, Need::ExtendedCard], |p| {
            Box::pin(extended_card(p))
        }),
    },
    Check {
        id: "V03-040",
        level: Should,
        clause: "0.3 extensions §activation",
        title: "extensions that are not known are ignored",
        hint: "take no notice of URIs in X-A2A-Extensions that the card does not name",
        run: Run::Link(&[], |p| Box::pin(ignored(p))),
    },
    Check {
        id: "V03-041",
        level: Should,
        clause: "0.3 extensions §activation",
        title: "active extensions are named in the answer",
        hint: "send X-A2A-Extensions back with those that are active",
        run: Run::Link(&[Need::Json], |p| Box::pin(echoed(p))),
    },
];

fn stranger() -> Manner<'static> {
    Manner {
        anonymous: true,
        ..Manner::default()
    }
}

async fn challenged(p: &Probe) -> Found {
    for (method, params) in [
        (Method::Send, p.say(&p.plan.message)),
        (Method::Get, json!({"id": "nobody"})),
    ] {
        let answer = p.call_as(method, params, stranger()).await;
        let what = format!("{} without credentials", p.words.method(method));
        answer.refusal(&what)?;
        // An error of A2A means that the request was looked at.
        if ![401, 403].contains(&answer.status) {
            let why = format!("{what} was answered with HTTP {}, not 401", answer.status);
            return Err(weak(why, &answer.exchange));
        }
        let challenged = answer.header("www-authenticate").is_some() || p.link == Link::Grpc;
        if answer.status == 401 && !challenged {
            return Err(weak("there is no WWW-Authenticate", &answer.exchange)
                .hinting("send WWW-Authenticate with 401"));
        }
    }
    Ok(())
}

async fn extended_card(p: &Probe) -> Found {
    let answer = p.call_as(Method::ExtendedCard, json!({}), stranger()).await;
    answer.refusal("the extended card without credentials")?;
    let answer = p.call(Method::ExtendedCard, json!({})).await;
    match &answer.outcome {
        Outcome::Result(card) if card["name"].is_string() => Ok(()),
        Outcome::Result(_) => Err(answer
            .fail("the answer is no card")
            .hinting("answer with the AgentCard itself")),
        _ => Err(unseen("needs --bearer or --api-key")),
    }
}

async fn ignored(p: &Probe) -> Found {
    let required = p.required();
    let all = match required.is_empty() {
        true => UNHEARD_OF.to_owned(),
        false => format!("{required}, {UNHEARD_OF}"),
    };
    let manner = Manner {
        extensions: Some(&all),
        ..Manner::default()
    };
    let answer = p
        .call_as(Method::Send, p.say(&p.plan.message), manner)
        .await;
    answer.result("a message that asks for an unheard-of extension")?;
    let active = answer.header("x-a2a-extensions").unwrap_or_default();
    hold(
        !active.contains(UNHEARD_OF),
        "an unheard-of extension is said to be active",
        &answer.exchange,
    )
}

async fn echoed(p: &Probe) -> Found {
    let extensions = &p.found.card.capabilities.extensions;
    let Some(first) = extensions.first() else {
        return Err(Verdict::NotOffered("the card names no extension"));
    };
    let all: Vec<&str> = extensions.iter().map(|extension| &*extension.uri).collect();
    let all = all.join(", ");
    let manner = Manner {
        extensions: Some(&all),
        ..Manner::default()
    };
    let answer = p
        .call_as(Method::Send, p.say(&p.plan.message), manner)
        .await;
    answer.result("a message that asks for the agent's extensions")?;
    let active = answer.header("x-a2a-extensions").unwrap_or_default();
    let why = format!("X-A2A-Extensions of the answer is {}", json!(active));
    hold(active.contains(&first.uri), why, &answer.exchange)
}
