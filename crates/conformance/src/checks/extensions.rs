//! Extensions: required, asked for, unheard of.

use serde_json::json;
use switchboard_types::ErrorKind;
use switchboard_types::operation::Method;

use crate::check::Level::{Must, Should};
use crate::check::{Check, Found, Run, Verdict, hold};
use crate::probe::{Manner, Probe};

const UNHEARD_OF: &str = "urn:switchboard:conformance:unheard-of/v9";

pub(super) static CHECKS: [Check; 3] = [
    Check {
        id: "S-043",
        level: Must,
        clause: "§3.3.4",
        title: "without a required extension a request is ExtensionSupportRequired",
        hint: "answer -32008, HTTP 400 with EXTENSION_SUPPORT_REQUIRED",
        run: Run::Link(&[], |p| Box::pin(required(p))),
    },
    Check {
        id: "S-092",
        level: Should,
        clause: "§4.6.3",
        title: "extensions that are not known are ignored",
        hint: "take no notice of URIs in A2A-Extensions that the card does not name",
        run: Run::Link(&[], |p| Box::pin(ignored(p))),
    },
    Check {
        id: "S-093",
        level: Should,
        clause: "extensions guide §activation",
        title: "active extensions are named in the answer",
        hint: "send A2A-Extensions back with those that are active",
        run: Run::Link(&[], |p| Box::pin(echoed(p))),
    },
];

async fn required(p: &Probe) -> Found {
    if p.required().is_empty() {
        return Err(Verdict::NotOffered("the card requires no extension"));
    }
    let manner = Manner {
        extensions: Some(""),
        ..Manner::default()
    };
    let answer = p
        .call_as(Method::Send, p.say(&p.plan.message), manner)
        .await;
    answer.refused_as(
        &[ErrorKind::ExtensionSupportRequired],
        "a message without the required extension",
    )
}

async fn ignored(p: &Probe) -> Found {
    let required = p.required();
    let all = if required.is_empty() {
        UNHEARD_OF.to_owned()
    } else {
        format!("{required}, {UNHEARD_OF}")
    };
    let manner = Manner {
        extensions: Some(&all),
        ..Manner::default()
    };
    let answer = p
        .call_as(Method::Send, p.say(&p.plan.message), manner)
        .await;
    answer.result("a message that asks for an unheard-of extension")?;
    let active = answer.header("a2a-extensions").unwrap_or_default();
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
    let active = answer.header("a2a-extensions").unwrap_or_default();
    let why = format!("A2A-Extensions of the answer is {}", json!(active));
    hold(active.contains(&first.uri), why, &answer.exchange)
}
