//! A2A 0.3: the card.

use switchboard_types::model::Binding;

use super::card::{as_json, whole_address};
use crate::check::Level::Must;
use crate::check::{Check, Found, Run, Verdict, fail, hold_or};
use crate::discover::Discovered;

pub(super) static CHECKS: [Check; 1] = [Check {
    id: "V03-001",
    level: Must,
    clause: "0.3 §5.5",
    title: "the card has the members that clients of 0.3 need",
    hint: "write protocolVersion, url, name, description, version, capabilities, both modes and skills",
    run: Run::Card(card),
}];

fn card(found: &Discovered) -> Found {
    let newer = found.raw.get("supportedInterfaces").is_some() && found.raw.get("url").is_none();
    if newer {
        return Err(Verdict::NotOffered(
            "it is a card of 1.0, which clients of 0.3 cannot read",
        ));
    }
    let card = &found.raw;
    let wrong = |why: String| Err(fail(why, &found.exchange));
    for name in ["protocolVersion", "name", "description", "url", "version"] {
        if card[name].as_str().is_none_or(str::is_empty) {
            return wrong(format!("{name} is missing, or no text"));
        }
    }
    if !card["capabilities"].is_object() {
        return wrong("capabilities is missing, or no object".to_owned());
    }
    for name in ["defaultInputModes", "defaultOutputModes", "skills"] {
        if !card[name].is_array() {
            return wrong(format!("{name} is missing, or no list"));
        }
    }
    for (at, skill) in card["skills"].as_array().into_iter().flatten().enumerate() {
        for name in ["id", "name", "description"] {
            if !skill[name].is_string() {
                return wrong(format!("skills[{at}].{name} is missing"));
            }
        }
        if !skill["tags"].is_array() {
            return wrong(format!("skills[{at}].tags is missing"));
        }
    }
    transports(found)?;
    as_json(found)
}

/// Every address is whole, and every interface says how it is spoken to.
fn transports(found: &Discovered) -> Found {
    let card = &found.raw;
    let others = card["additionalInterfaces"].as_array();
    let others = others.into_iter().flatten().enumerate();
    let urls = [&card["url"]].into_iter();
    let urls = urls.chain(others.clone().map(|(_, one)| &one["url"]));
    let grpc = |url: &str| {
        let mut interfaces = found.card.interfaces.iter();
        interfaces.any(|one| one.url == url && one.binding == Binding::Grpc)
    };
    let mut weaker = None;
    for url in urls {
        let url = url.as_str().unwrap_or_default();
        match whole_address(found, url, grpc(url)) {
            Err(Verdict::Fail(fault)) if fault.only.is_some() => {
                weaker.get_or_insert(Verdict::Fail(fault));
            }
            other => other?,
        }
    }
    for (at, one) in others {
        hold_or(
            one["transport"].is_string(),
            format!("additionalInterfaces[{at}].transport is missing"),
            "name the transport of every interface: JSONRPC, GRPC or HTTP+JSON",
            &found.exchange,
        )?;
    }
    weaker.map_or(Ok(()), Err)
}
