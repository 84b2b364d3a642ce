//! What has become of an upstream card since it was read last. Pure.

use std::collections::BTreeMap;

use switchboard_types::model::{AgentCard, Interface, Skill};

/// What is different, in words; nothing if callers would not notice.
pub(crate) fn drift(before: &AgentCard, now: &AgentCard) -> Vec<String> {
    let mut changes = Vec::new();
    let mut text = |what: &str, before: &str, now: &str| {
        if before != now {
            changes.push(format!("{what} is {now:?}, was {before:?}"));
        }
    };
    text("name", &before.name, &now.name);
    text("version", &before.version, &now.version);
    let modes = |modes: &[String]| modes.join(", ");
    text(
        "input modes",
        &modes(&before.default_input_modes),
        &modes(&now.default_input_modes),
    );
    text(
        "output modes",
        &modes(&before.default_output_modes),
        &modes(&now.default_output_modes),
    );
    let places = |card: &AgentCard| {
        let place = |i: &Interface| format!("{} {} {}", i.url, i.binding.name(), i.version);
        let places: Vec<String> = card.interfaces.iter().map(place).collect();
        places.join(", ")
    };
    text("interfaces", &places(before), &places(now));
    let changed = [
        ("description", before.description != now.description),
        ("capabilities", before.capabilities != now.capabilities),
        (
            "security",
            before.security != now.security || before.security_schemes != now.security_schemes,
        ),
    ];
    let changed = changed.into_iter().filter(|(_, changed)| *changed);
    changes.extend(changed.map(|(what, _)| format!("{what} changed")));
    changes.extend(skills(&before.skills, &now.skills));
    changes
}

fn skills(before: &[Skill], now: &[Skill]) -> Vec<String> {
    let by_id = |skills: &[Skill]| -> BTreeMap<String, Skill> {
        let named = skills.iter().map(|skill| (skill.id.clone(), skill.clone()));
        named.collect()
    };
    let (before, now) = (by_id(before), by_id(now));
    let mut changes = Vec::new();
    for (id, skill) in &now {
        match before.get(id) {
            None => changes.push(format!("skill {id:?} is new")),
            Some(known) if known != skill => changes.push(format!("skill {id:?} changed")),
            Some(_) => {}
        }
    }
    let gone = before.keys().filter(|id| !now.contains_key(*id));
    changes.extend(gone.map(|id| format!("skill {id:?} is gone")));
    changes
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
        assert_eq!(
            drift(&before, &now),
            [
                r#"version is "2", was "1""#,
                r#"skill "a" changed"#,
                r#"skill "c" is new"#,
                r#"skill "b" is gone"#,
            ]
        );
        assert!(drift(&before, &before).is_empty());
    }
}
