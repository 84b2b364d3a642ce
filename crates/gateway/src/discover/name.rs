//! What agents are called that were found.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use switchboard_agents::langgraph::Assistant;

/// Longer names make addresses no one can read.
const LONGEST_NAME: usize = 63;

/// The assistants of a server, by the names of our agents.
pub(super) type Named = BTreeMap<Arc<str>, Assistant>;

/// Gives each a name that can be part of an address. One that had a name keeps it.
pub(super) fn name(
    found: Vec<Assistant>,
    prefix: &str,
    before: &Named,
    taken: &BTreeSet<Arc<str>>,
) -> Named {
    let known: HashMap<&str, &Arc<str>> = before
        .iter()
        .map(|(name, assistant)| (assistant.id.as_str(), name))
        .collect();
    let mut named = Named::new();
    let (old, mut new): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|assistant| known.contains_key(assistant.id.as_str()));
    for assistant in old {
        named.insert(Arc::clone(known[assistant.id.as_str()]), assistant);
    }
    // Of two with one name, the one that the server made itself is called so.
    new.sort_by_key(|a| (!a.is_default(), a.name.clone(), a.id.clone()));
    for assistant in new {
        let called = match assistant.name.as_str() {
            "" => &assistant.graph,
            name => name,
        };
        let plain: Arc<str> = Arc::from(address(prefix, called));
        let is_free = |name: &Arc<str>, named: &Named| {
            !named.contains_key(name)
                && !before.contains_key(name)
                && !taken.contains(name)
                && **name != *prefix
        };
        let short: String = assistant.id.chars().take(8).collect();
        let longer = address(prefix, &format!("{short}-{called}"));
        let longest = address(prefix, &assistant.id);
        let names = [plain, Arc::from(longer), Arc::from(longest)];
        match names.into_iter().find(|name| is_free(name, &named)) {
            Some(name) => drop(named.insert(name, assistant)),
            None => tracing::warn!(
                agents = prefix,
                assistant = assistant.id,
                "assistant skipped: all its names are taken"
            ),
        }
    }
    named
}

fn address(prefix: &str, called: &str) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_');
    let called = called.to_lowercase();
    let called = called.replace(|c: char| !fits(c), "-");
    let mut address = format!("{prefix}-{}", called.trim_matches('-'));
    address.truncate(LONGEST_NAME);
    address.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn assistant(id: &str, name: &str, by: &str) -> Assistant {
        let json = json!({"assistant_id": id, "graph_id": "g", "name": name, "metadata": {"created_by": by}});
        serde_json::from_value(json).unwrap()
    }

    fn names(named: &Named) -> Vec<(&str, &str)> {
        named
            .iter()
            .map(|(name, found)| (&**name, found.id.as_str()))
            .collect()
    }

    #[test]
    fn names_fit_into_addresses_are_unique_and_stay() {
        let taken = BTreeSet::from([Arc::from("lg-file")]);
        let found = vec![
            assistant("11111111-2", "Two  Words!", "user"),
            assistant("22222222-2", "g", "user"),
            assistant("33333333-2", "g", "system"),
            assistant("44444444-2", "file", "user"),
            assistant("55555555-2", "", "user"),
            assistant("66666666-2", "?!", "user"),
        ];
        let first = name(found.clone(), "lg", &Named::new(), &taken);
        let expected = [
            ("lg-22222222-g", "22222222-2"),
            ("lg-44444444-file", "44444444-2"),
            ("lg-55555555-g", "55555555-2"),
            ("lg-66666666", "66666666-2"),
            ("lg-g", "33333333-2"),
            ("lg-two--words", "11111111-2"),
        ];
        assert_eq!(names(&first), expected);
        // The one that had the name is gone, but the others keep theirs.
        let less: Vec<Assistant> = found.into_iter().filter(|a| a.id != "33333333-2").collect();
        let now = name(less, "lg", &first, &taken);
        assert_eq!(names(&now).len(), 5);
        assert_eq!(names(&now)[0], expected[0]);
        assert_eq!(address("lg", &"x".repeat(80)).len(), LONGEST_NAME);
    }

    #[test]
    fn a_name_that_is_taken_is_nobody_s_however_it_came_about() {
        let taken = ["lg-a", "lg-11111111-a"].map(Arc::from);
        let found = vec![assistant("11111111-2", "a", "user")];
        let named = name(found.clone(), "lg", &Named::new(), &taken.clone().into());
        assert_eq!(names(&named), [("lg-11111111-2", "11111111-2")]);
        let all = [&taken[..], &[Arc::from("lg-11111111-2")]].concat();
        let all = all.into_iter().collect();
        assert!(name(found, "lg", &Named::new(), &all).is_empty());
    }
}
