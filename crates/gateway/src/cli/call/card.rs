//! `switchboard card get`: who an agent is and what it offers.

use switchboard_client::SignatureState;
use switchboard_types::model::AgentCard;
use switchboard_types::wire::card::{CardShape, encode_card};

use super::args::CardGetArgs;
use super::failure::Local;
use super::{Connected, End, Failure, Settings, print_json, print_text};

pub(super) async fn get(args: &CardGetArgs, settings: Settings) -> Result<End, Failure> {
    let connected = Connected::to_any(settings).await?;
    let card = if args.extended {
        connected.ask(connected.client.extended_card()).await?
    } else {
        connected.client.card()
    };
    let signature = connected.client.signature();
    let mut problems = if args.validate {
        problems(&card)
    } else {
        Vec::new()
    };
    if args.validate && signature == SignatureState::Bad {
        problems.push("no signature is good, or of a key in --card-keys".to_owned());
    }
    // Programs get one object: the card, or what is wrong with it.
    if !connected.json() {
        let mut page = connected.page();
        page.card(&card);
        page.field("Signature", told(signature));
        print_text(page)?;
    } else if problems.is_empty() {
        print_json(|out| {
            encode_card(CardShape::V1, &card, out);
            // One member more, which readers of cards pass over.
            out.pop();
            out.extend_from_slice(
                format!(r#","signatureStatus":"{}"}}"#, word(signature)).as_bytes(),
            );
        })?;
    }
    if problems.is_empty() {
        return Ok(End::Done);
    }
    let message = format!("the card is wrong: {}", problems.join("; "));
    Err(Failure::local(Local::CardInvalid, message))
}

/// Whether the signatures of a card are good, for programs.
fn word(signature: SignatureState) -> &'static str {
    match signature {
        SignatureState::Absent => "absent",
        SignatureState::Unchecked => "unchecked",
        SignatureState::Good => "good",
        SignatureState::Bad => "bad",
    }
}

/// The same for people.
fn told(signature: SignatureState) -> &'static str {
    match signature {
        SignatureState::Unchecked => "not checked: give --card-keys",
        SignatureState::Bad => "bad: none is good, or of a key in --card-keys",
        SignatureState::Absent | SignatureState::Good => word(signature),
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
            "security names {scheme}, which is not a scheme of this card"
        ));
    }
    found
}
