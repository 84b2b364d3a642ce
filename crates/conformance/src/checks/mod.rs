//! The checklist: every rule for servers of A2A 1.0, by its number, and those of A2A 0.3.
//!
//! Each number stands in exactly one table. What cannot be seen from outside stands in [`unseen`], with the reason.

mod card;
mod errors;
mod everything;
mod extensions;
mod grpc;
mod jsonrpc;
mod kept;
mod lists;
mod older;
mod older_access;
mod older_card;
mod older_rpc;
mod older_send;
mod older_shape;
mod older_stream;
mod older_tasks;
mod push;
mod push_delivery;
mod rest;
mod security;
mod send;
mod stream;
mod subscribe;
mod tasks;
mod times;
mod unseen;
mod versions;

use super::check::Check;

/// The rules for A2A 1.0, in the order in which they are checked: those that look at all answers come last.
pub(super) fn newest() -> impl Iterator<Item = &'static Check> {
    let tables: [&'static [Check]; 19] = [
        &card::CHECKS,
        &send::CHECKS,
        &stream::CHECKS,
        &tasks::CHECKS,
        &kept::CHECKS,
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
        &times::CHECKS,
        &grpc::CHECKS,
        &unseen::CHECKS,
    ];
    tables.into_iter().flatten()
}

/// The rules for A2A 0.3.
pub(super) fn older() -> impl Iterator<Item = &'static Check> {
    let tables: [&'static [Check]; 8] = [
        &older_card::CHECKS,
        &older::CHECKS,
        &older_tasks::CHECKS,
        &older_send::CHECKS,
        &older_stream::CHECKS,
        &older_access::CHECKS,
        &older_rpc::CHECKS,
        &older_shape::CHECKS,
    ];
    tables.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::check::Run;

    #[test]
    fn every_number_of_the_checklist_is_in_exactly_one_table() {
        let mut found: Vec<&str> = newest().map(|check| check.id).collect();
        found.sort_unstable();
        let expected: Vec<String> = (1..=126).map(|n| format!("S-{n:03}")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_rules_of_0_3_are_numbered_without_gaps() {
        let found: BTreeSet<&str> = older().map(|check| check.id).collect();
        let expected: Vec<String> = (1..=found.len()).map(|n| format!("V03-{n:03}")).collect();
        assert!(found.iter().eq(expected.iter()), "{found:?}");
        assert_eq!(older().count(), found.len());
    }

    /// The rules in a table of the document: single ones, and those from one to another.
    fn documented(text: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let rows = text.lines().filter(|line| line.starts_with('|'));
        for cell in rows.flat_map(|row| row.split(['|', ','])) {
            let rule = |text: &str| {
                let (list, number) = text.trim().split_once('-')?;
                let known = ["S", "V03"].contains(&list) && number.len() == 3;
                Some((list.to_owned(), number.parse::<u32>().ok()?)).filter(|_| known)
            };
            let (first, last) = cell.split_once(" to ").unwrap_or((cell, cell));
            if let (Some((list, first)), Some((_, last))) = (rule(first), rule(last)) {
                found.extend((first..=last).map(|number| format!("{list}-{number:03}")));
            }
        }
        found
    }

    #[test]
    fn the_document_lists_what_is_checked() {
        let named = documented(include_str!("../../../../docs/conformance.md"));
        let all = newest().chain(older());
        let seen = all.filter(|check| !matches!(check.run, Run::Unseen(_)));
        let seen: BTreeSet<String> = seen.map(|check| check.id.to_owned()).collect();
        assert_eq!(named, seen);
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
            let seen = !matches!(check.run, Run::Unseen(_));
            assert_eq!(seen, !check.hint.is_empty(), "{}", check.id);
        }
    }
}
