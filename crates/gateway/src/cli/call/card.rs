//! `switchboard card get`: who an agent is and what it offers.

use std::io::{self, Write};

use switchboard_types::model::AgentCard;
use switchboard_types::wire::card::{CardShape, encode_card};

use super::args::CardGetArgs;
use super::connect::failure;
use super::failure::Local;
use super::{Connected, End, Failure, Settings, print_json, print_text};

pub(super) async fn get(args: &CardGetArgs, settings: Settings) -> Result<End, Failure> {
    let connected = Connected::to(settings).await?;
    let card = if args.extended {
        let card = connected.client.extended_card().await;
        card.map_err(|error| failure(&error))?
    } else {
        connected.client.card()
    };
    if connected.json() {
        print_json(|out| encode_card(CardShape::V1, &card, out))?;
    } else {
        let mut page = connected.page();
        page.card(&card);
        print_text(page)?;
    }
    if args.validate {
        validate(&card)?;
    }
    Ok(End::Done)
}

/// Tells what is wrong with a card.
fn validate(card: &AgentCard) -> Result<(), Failure> {
    let problems = problems(card);
    let mut stderr = io::stderr().lock();
    for problem in &problems {
        writeln!(stderr, "invalid: {problem}")?;
    }
    match problems.len() {
        0 => Ok(()),
        1 => Err(Failure::local(Local::CardInvalid, "the card has 1 problem")),
        n => Err(Failure::local(
            Local::CardInvalid,
            format!("the card has {n} problems"),
        )),
    }
}

/// What the specification asks of a card and this one does not have.
fn problems(card: &AgentCard) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in [
        ("name", &card.name),
        ("description", &card.description),
        ("version", &card.version),
    ] {
        if value.trim().is_empty() {
            found.push(format!("{name} is missing"));
        }
    }
    for (name, empty) in [
        ("supportedInterfaces", card.interfaces.is_empty()),
        ("defaultInputModes", card.default_input_modes.is_empty()),
        ("defaultOutputModes", card.default_output_modes.is_empty()),
        ("skills", card.skills.is_empty()),
    ] {
        if empty {
            found.push(format!("{name} is empty"));
        }
    }
    for (at, interface) in card.interfaces.iter().enumerate() {
        if interface.url.is_empty() {
            found.push(format!("supportedInterfaces[{at}].url is missing"));
        }
        if interface.version.is_empty() {
            found.push(format!(
                "supportedInterfaces[{at}].protocolVersion is missing"
            ));
        }
    }
    for (at, skill) in card.skills.iter().enumerate() {
        for (name, empty) in [
            ("id", skill.id.is_empty()),
            ("name", skill.name.is_empty()),
            ("description", skill.description.is_empty()),
            ("tags", skill.tags.is_empty()),
        ] {
            if empty {
                found.push(format!("skills[{at}].{name} is missing"));
            }
        }
    }
    let named = card
        .security
        .iter()
        .flat_map(|requirement| requirement.0.keys());
    for scheme in named.filter(|name| !card.security_schemes.contains_key(*name)) {
        found.push(format!(
            "security names {scheme}, which is no scheme of this card"
        ));
    }
    found
}
