//! What a gateway says about one of its agents, as a card. Pure.

use serde_json::Value;
use switchboard_types::model::{AgentCard, Capabilities, Skill};

/// The card of an agent, from answers to `agents.list` and `skills.status`. Nothing, if there is no such agent.
pub(super) fn card(
    agents: &Value,
    skills: &Value,
    agent: &str,
    version: &str,
) -> Option<AgentCard> {
    let all = agents["agents"].as_array()?;
    let found = all.iter().find(|one| one["id"] == agent)?;
    let identity = &found["identity"];
    let word = |value: &Value| {
        let text = value.as_str().map(str::trim).unwrap_or_default();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let name = word(&identity["name"]).or_else(|| word(&found["name"]));
    let name = name.unwrap_or_else(|| agent.to_owned());
    let description = word(&identity["theme"]).unwrap_or_default();
    Some(AgentCard {
        version: version.to_owned(),
        capabilities: Capabilities::default(),
        default_input_modes: Vec::new(),
        default_output_modes: Vec::new(),
        skills: usable(skills).filter_map(skill).collect(),
        ..AgentCard::new(name, description)
    })
}

/// Skills that the agent really has: most that a gateway lists are not set up.
fn usable(skills: &Value) -> impl Iterator<Item = &Value> {
    let all = skills["skills"].as_array().into_iter().flatten();
    all.filter(|one| {
        let seen = one["modelVisible"].as_bool().unwrap_or(true);
        one["eligible"] == true && seen && one["disabled"] != true
    })
}

fn skill(row: &Value) -> Option<Skill> {
    let name = row["name"].as_str()?;
    let description = row["description"].as_str().unwrap_or(name);
    Some(Skill::new(name, name, description).with_tags(["openclaw"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_agent_is_known_by_its_identity_and_what_it_can_really_do() {
        let agents = json!({"defaultId": "main", "selectionRequired": true, "agents": [
            {"id": "main", "name": "main", "identity": {"name": "Mainy", "theme": "test bot", "emoji": "🦞"}},
            {"id": "research"},
        ]});
        let skills = json!({"skills": [
            {"name": "1password", "description": "x", "disabled": false, "eligible": false, "modelVisible": false},
            {"name": "github", "disabled": true, "eligible": true, "modelVisible": true},
            {"name": "weather", "description": "Forecasts", "disabled": false, "eligible": true, "modelVisible": true},
            {"name": "old", "eligible": true},
        ]});
        let main = card(&agents, &skills, "main", "2026.9.6").unwrap();
        assert_eq!((&*main.name, &*main.description), ("Mainy", "test bot"));
        assert_eq!(main.version, "2026.9.6");
        let skills: Vec<_> = main
            .skills
            .iter()
            .map(|s| (&*s.id, &*s.description))
            .collect();
        assert_eq!(skills, [("weather", "Forecasts"), ("old", "old")]);
        let bare = card(&agents, &Value::Null, "research", "2026.9.6").unwrap();
        assert_eq!((&*bare.name, bare.skills.len()), ("research", 0));
        assert!(card(&agents, &Value::Null, "nope", "1").is_none());
        assert!(card(&Value::Null, &Value::Null, "main", "1").is_none());
    }
}
