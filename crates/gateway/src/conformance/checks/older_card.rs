//! A2A 0.3: the card.

use switchboard_types::model::Binding;

use super::card::{as_json, is_absolute};
use crate::conformance::check::Level::Must;
use crate::conformance::check::{Check, Found, Run, Verdict, fail, hold_or};
use crate::conformance::discover::Discovered;

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
    let main = [("url".to_owned(), &card["url"])].into_iter();
    let others = card["additionalInterfaces"].as_array();
    let others = others.into_iter().flatten().enumerate();
    let urls = main.chain(
        others
            .clone()
            .map(|(at, one)| (format!("additionalInterfaces[{at}].url"), &one["url"])),
    );
    let grpc = |url: &str| {
        let mut interfaces = found.card.interfaces.iter();
        interfaces.any(|one| one.url == url && one.binding == Binding::Grpc)
    };
    for (name, url) in urls {
        let url = url.as_str().unwrap_or_default();
        hold_or(
            is_absolute(url) || grpc(url),
            format!("{name} {url:?} is no absolute URL"),
            "write the whole URL of every interface, with its scheme and host",
            &found.exchange,
        )?;
    }
    for (at, one) in others {
        hold_or(
            one["transport"].is_string(),
            format!("additionalInterfaces[{at}].transport is missing"),
            "name the transport of every interface: JSONRPC, GRPC or HTTP+JSON",
            &found.exchange,
        )?;
    }
    Ok(())
}
