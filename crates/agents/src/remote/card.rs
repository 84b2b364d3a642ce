//! What has become of an upstream card since it was read last. Pure.

use std::collections::BTreeMap;

use switchboard_server::backend::{Difference, Subject};
use switchboard_types::model::{AgentCard, Capabilities, Interface, Skill};

/// What is kept of a text, in characters: a card is whatever somebody else writes.
const LONGEST: usize = 200;

/// What is different; nothing if callers would not notice.
pub(crate) fn drift(before: &AgentCard, now: &AgentCard) -> Vec<Difference> {
    let same = [
        (Subject::Name, before.name == now.name),
        (Subject::Version, before.version == now.version),
        (Subject::Description, before.description == now.description),
        (
            Subject::InputModes,
            before.default_input_modes == now.default_input_modes,
        ),
        (
            Subject::OutputModes,
            before.default_output_modes == now.default_output_modes,
        ),
        (Subject::Interfaces, before.interfaces == now.interfaces),
        (
            Subject::Capabilities,
            before.capabilities == now.capabilities,
        ),
        (
            Subject::Security,
            before.security == now.security && before.security_schemes == now.security_schemes,
        ),
    ];
    let differs = same.into_iter().filter(|(_, same)| !same);
    let differs = differs.map(|(what, _)| {
        let (was, is) = (words(before, &what), words(now, &what));
        difference(what, Some(was), Some(is))
    });
    differs.chain(skills(&before.skills, &now.skills)).collect()
}

/// What a card says of it.
fn words(card: &AgentCard, of: &Subject) -> String {
    match of {
        Subject::Name => card.name.clone(),
        Subject::Version => card.version.clone(),
        Subject::Description => card.description.clone(),
        Subject::InputModes => card.default_input_modes.join(", "),
        Subject::OutputModes => card.default_output_modes.join(", "),
        Subject::Interfaces => {
            let place = |i: &Interface| format!("{} {} {}", i.url, i.binding.name(), i.version);
            list(card.interfaces.iter().map(place))
        }
        Subject::Capabilities => capabilities(&card.capabilities),
        Subject::Security => list(card.security_schemes.keys().cloned()),
        Subject::Skill(id) => id.clone(),
    }
}

fn difference(what: Subject, was: Option<String>, now: Option<String>) -> Difference {
    let short = |text: String| match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    Difference {
        what,
        was: was.map(short),
        now: now.map(short),
    }
}

fn list(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    words.join(", ")
}

/// What it can do, by the names of the card.
fn capabilities(of: &Capabilities) -> String {
    let flags = [
        ("streaming", of.streaming),
        ("pushNotifications", of.push_notifications),
        ("extendedAgentCard", of.extended_agent_card),
        ("stateTransitionHistory", of.state_transition_history),
    ];
    let flags = flags.into_iter().filter(|(_, can)| *can == Some(true));
    let extensions = of.extensions.iter().map(|extension| extension.uri.clone());
    list(flags.map(|(name, _)| name.to_owned()).chain(extensions))
}

fn skills(before: &[Skill], now: &[Skill]) -> Vec<Difference> {
    let by_id = |skills: &[Skill]| -> BTreeMap<String, Skill> {
        let named = skills.iter().map(|skill| (skill.id.clone(), skill.clone()));
        named.collect()
    };
    let (before, now) = (by_id(before), by_id(now));
    let told = |id: &String, was: Option<&Skill>, is: Option<&Skill>| {
        let words = |skill: &Skill| format!("{}: {}", skill.name, skill.description);
        difference(Subject::Skill(id.clone()), was.map(words), is.map(words))
    };
    let differs = now
        .iter()
        .filter(|(id, skill)| before.get(*id) != Some(skill));
    let differs = differs.map(|(id, skill)| told(id, before.get(id), Some(skill)));
    let gone = before.iter().filter(|(id, _)| !now.contains_key(*id));
    let gone = gone.map(|(id, skill)| told(id, Some(skill), None));
    differs.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_types::wire::card::decode_card;

    fn card(version: &str, skills: &[(&str, &str)]) -> AgentCard {
        let skills = skills.iter().map(|(id, description)| {
            format!(r#"{{"id":"{id}","name":"{id}","description":"{description}","tags":[]}}"#)
        });
        let skills: Vec<String> = skills.collect();
        let json = format!(
            r#"{{"name":"a","description":"d","version":"{version}","capabilities":{{}},
            "supportedInterfaces":[{{"url":"http://a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}}],
            "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{}]}}"#,
            skills.join(",")
        );
        decode_card(json.as_bytes()).unwrap()
    }

    #[test]
    fn what_changed_on_a_card_is_named() {
        let before = card("1", &[("a", "x"), ("b", "x")]);
        let now = card("2", &[("a", "y"), ("c", "x")]);
        let words = |changes: Vec<Difference>| -> Vec<String> {
            changes.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            words(drift(&before, &now)),
            [
                r#"version is "2", was "1""#,
                r#"skill "a" changed"#,
                r#"skill "c" is new"#,
                r#"skill "b" is gone"#,
            ]
        );
        assert!(drift(&before, &before).is_empty());
        let able = AgentCard {
            capabilities: Capabilities {
                streaming: Some(true),
                ..Capabilities::default()
            },
            description: "x".repeat(1 << 20),
            ..before.clone()
        };
        let changes = drift(&before, &able);
        assert_eq!(changes[0].what, Subject::Description);
        assert_eq!(changes[0].was.as_deref(), Some("d"));
        let long = changes[0].now.as_deref().unwrap();
        assert_eq!(long.chars().count(), LONGEST + 1);
        assert_eq!(
            changes[1].to_string(),
            r#"capabilities is "streaming", was """#
        );
    }
}
