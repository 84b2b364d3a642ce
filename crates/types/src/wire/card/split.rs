//! One OAuth flow per scheme, as 1.0 wants it.
//!
//! 0.x offers several flows in one scheme, any of which will do; 1.0 has a oneof.
//! Such a scheme becomes several: the first flow keeps the name, the others are called `name-2`,
//! `name-3` and so on, past names already taken. A requirement that names the scheme becomes
//! several alternatives, one per flow. A scheme with one flow or none stays as it is. The union is
//! split for both versions, or 1.0 readers that look at its 0.x members would choke on them.
//!
//! Pure; called by `write` and `write_security`.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{SecurityRequirement, SecurityScheme};

/// How many alternatives one requirement may become. More are left out: each alternative suffices
/// alone, so the card still tells the truth, and a foreign card cannot make ours explode.
const MAX_ALTERNATIVES: usize = 32;

/// The names under which the flows of each scheme with several flows are declared.
#[derive(Debug)]
pub(crate) struct Split<'a> {
    names: BTreeMap<&'a str, Vec<String>>,
}

impl<'a> Split<'a> {
    /// Plans the split of a card's schemes. The same schemes always get the same names.
    pub(crate) fn plan(schemes: &'a BTreeMap<String, SecurityScheme>) -> Self {
        let mut taken: BTreeSet<String> = schemes.keys().cloned().collect();
        let mut names = BTreeMap::new();
        for (name, scheme) in schemes {
            let SecurityScheme::OAuth2 { flows, .. } = scheme else {
                continue;
            };
            if flows.len() < 2 {
                continue;
            }
            let mut own = vec![name.clone()];
            let mut free = (2..).map(|n| format!("{name}-{n}"));
            while own.len() < flows.len() {
                own.extend(free.find(|candidate| taken.insert(candidate.clone())));
            }
            names.insert(name.as_str(), own);
        }
        Self { names }
    }

    /// The schemes with one flow each, in place of the scheme of that name.
    pub(crate) fn schemes(
        &self,
        name: &'a str,
        scheme: &SecurityScheme,
    ) -> Vec<(String, SecurityScheme)> {
        match (self.names.get(name), scheme) {
            (
                Some(names),
                SecurityScheme::OAuth2 {
                    description,
                    flows,
                    metadata_url,
                },
            ) => names
                .iter()
                .zip(flows)
                .map(|(name, flow)| {
                    let one = SecurityScheme::OAuth2 {
                        description: description.clone(),
                        flows: vec![flow.clone()],
                        metadata_url: metadata_url.clone(),
                    };
                    (name.clone(), one)
                })
                .collect(),
            _ => vec![(name.to_owned(), scheme.clone())],
        }
    }

    /// The requirements in terms of the split schemes.
    pub(crate) fn requirements(
        &self,
        required: &[SecurityRequirement],
    ) -> Vec<SecurityRequirement> {
        required
            .iter()
            .flat_map(|requirement| self.alternatives(requirement))
            .collect()
    }

    fn alternatives(&self, requirement: &SecurityRequirement) -> Vec<SecurityRequirement> {
        let mut all = vec![SecurityRequirement::default()];
        for (name, scopes) in &requirement.0 {
            let own = [name.clone()];
            let names = self
                .names
                .get(name.as_str())
                .map_or(&own[..], Vec::as_slice);
            all = all
                .iter()
                .flat_map(|so_far| names.iter().map(move |name| (so_far, name)))
                .take(MAX_ALTERNATIVES)
                .map(|(so_far, name)| {
                    let mut next = so_far.clone();
                    next.0.insert(name.clone(), scopes.clone());
                    next
                })
                .collect();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{OAuthFlow, Scopes};

    fn oauth(flows: usize) -> SecurityScheme {
        let flow = OAuthFlow::ClientCredentials {
            token_url: "https://auth.example.com/token".to_owned(),
            refresh_url: None,
            scopes: Scopes::new(),
        };
        SecurityScheme::OAuth2 {
            description: None,
            flows: vec![flow; flows],
            metadata_url: None,
        }
    }

    fn schemes(of: &[(&str, usize)]) -> BTreeMap<String, SecurityScheme> {
        of.iter()
            .map(|(name, flows)| ((*name).to_owned(), oauth(*flows)))
            .collect()
    }

    fn names(requirements: &[SecurityRequirement]) -> Vec<String> {
        let joined = |r: &SecurityRequirement| r.0.keys().cloned().collect::<Vec<_>>().join("+");
        requirements.iter().map(joined).collect()
    }

    fn all_of(names: &[&str]) -> SecurityRequirement {
        SecurityRequirement(
            names
                .iter()
                .map(|n| ((*n).to_owned(), vec!["s".to_owned()]))
                .collect(),
        )
    }

    #[test]
    fn flows_get_names_of_their_own_past_those_taken() {
        let schemes = schemes(&[("a", 3), ("a-2", 1), ("b", 1)]);
        let split = Split::plan(&schemes);
        let all: Vec<String> = schemes
            .iter()
            .flat_map(|(name, scheme)| split.schemes(name, scheme))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(all, ["a", "a-3", "a-4", "a-2", "b"]);
    }

    #[test]
    fn a_requirement_becomes_one_alternative_per_flow() {
        let schemes = schemes(&[("a", 2), ("b", 2), ("c", 1)]);
        let split = Split::plan(&schemes);
        let required = [all_of(&["a", "b"]), all_of(&["c"]), all_of(&[])];
        let split = split.requirements(&required);
        assert_eq!(names(&split), ["a+b", "a+b-2", "a-2+b", "a-2+b-2", "c", ""]);
        assert!(
            split
                .iter()
                .all(|r| r.0.values().all(|scopes| scopes == &["s"]))
        );
    }

    #[test]
    fn alternatives_do_not_explode() {
        let many: Vec<String> = (0..40).map(|n| format!("s{n}")).collect();
        let of: Vec<(&str, usize)> = many.iter().map(|name| (name.as_str(), 5)).collect();
        let schemes = schemes(&of);
        let required = all_of(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let split = Split::plan(&schemes).requirements(&[required]);
        assert_eq!(split.len(), MAX_ALTERNATIVES);
        assert!(split.iter().all(|r| r.0.len() == 40));
    }
}
