//! The checklist: every rule for servers of A2A 1.0, by its number, and a smaller list for A2A 0.3.
//!
//! Each number stands in exactly one table. What cannot be seen from outside stands in [`unseen`], with the reason.

mod card;
mod errors;
mod everything;
mod extensions;
mod grpc;
mod jsonrpc;
mod lists;
mod older;
mod older_tasks;
mod push;
mod push_delivery;
mod rest;
mod security;
mod send;
mod stream;
mod subscribe;
mod tasks;
mod unseen;
mod versions;

use super::check::Check;

/// The rules for A2A 1.0, in the order in which they are checked: those that look at all answers come last.
pub(super) fn newest() -> impl Iterator<Item = &'static Check> {
    let tables: [&'static [Check]; 17] = [
        &card::CHECKS,
        &send::CHECKS,
        &stream::CHECKS,
        &tasks::CHECKS,
        &lists::CHECKS,
        &subscribe::CHECKS,
        &errors::CHECKS,
        &push::CHECKS,
        &push_delivery::CHECKS,
        &versions::CHECKS,
        &jsonrpc::CHECKS,
        &rest::CHECKS,
        &extensions::CHECKS,
        &security::CHECKS,
        &everything::CHECKS,
        &grpc::CHECKS,
        &unseen::CHECKS,
    ];
    tables.into_iter().flatten()
}

/// The rules for A2A 0.3.
pub(super) fn older() -> impl Iterator<Item = &'static Check> {
    older::CHECKS.iter().chain(&older_tasks::CHECKS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_number_of_the_checklist_is_in_exactly_one_table() {
        let mut found: Vec<&str> = newest().map(|check| check.id).collect();
        found.sort_unstable();
        let expected: Vec<String> = (1..=122).map(|n| format!("S-{n:03}")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_rules_of_0_3_are_numbered_without_gaps() {
        let found: BTreeSet<&str> = older().map(|check| check.id).collect();
        let expected: Vec<String> = (1..=found.len()).map(|n| format!("V03-{n:03}")).collect();
        assert!(found.iter().eq(expected.iter()), "{found:?}");
        assert_eq!(older().count(), found.len());
    }

    #[test]
    fn every_rule_names_its_section_and_what_to_do() {
        for check in newest().chain(older()) {
            assert!(check.clause.contains('§'), "{}", check.id);
            assert!(
                !check.title.ends_with('.') && !check.hint.ends_with('.'),
                "{}",
                check.id
            );
            let seen = !matches!(check.run, crate::conformance::check::Run::Unseen(_));
            assert_eq!(seen, !check.hint.is_empty(), "{}", check.id);
        }
    }
}
