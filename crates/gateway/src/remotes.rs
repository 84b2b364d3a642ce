//! Agents elsewhere that stand behind ours, and what their cards say.

use std::collections::BTreeSet;
use std::time::Duration;

use switchboard_agents::profile;
use switchboard_server::engine::Profile;
use switchboard_types::model::AgentCard;

use crate::config::Agent;

/// How long a start, and a reload, waits for the cards of agents elsewhere.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// What an agent's cards say once `card` is known.
pub(crate) fn filled(agent: &Agent, card: &AgentCard) -> Profile {
    let mut profile = agent.profile.clone();
    let own: BTreeSet<String> = ids(&profile.card).collect();
    profile::fill(&mut profile.card, &agent.gaps, card);
    if let Some(extended) = &mut profile.extended {
        // What it has beyond the first card stays.
        let mut more = std::mem::take(&mut extended.skills);
        more.retain(|skill| !own.contains(&skill.id));
        extended.skills.clone_from(&agent.profile.card.skills);
        profile::fill(extended, &agent.gaps, card);
        let known: BTreeSet<String> = ids(extended).collect();
        more.retain(|skill| !known.contains(&skill.id));
        extended.skills.extend(more);
    }
    profile
}

fn ids(card: &AgentCard) -> impl Iterator<Item = String> {
    card.skills.iter().map(|skill| skill.id.clone())
}
