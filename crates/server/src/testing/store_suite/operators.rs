//! Lists of the tasks of all callers, for operators.

use std::sync::Arc;

use switchboard_types::model::{ContextId, TaskId, TaskState};

use super::lists::BEGUN_BY_ONE;
use super::story::{Story, at, commit, ids};
use crate::store::{RecentQuery, Store};
use crate::task::Owner;

pub(super) async fn operators_list_the_latest_tasks_of_all_callers(store: Arc<dyn Store>) {
    use TaskState::{Completed, Failed, Rejected, Working};
    let mut told = Vec::new();
    for (n, owner, agent, state, when) in [
        (1, "ann", "echo", Failed, 10),
        (2, "bob", "echo", Completed, 40),
        (3, "ann", "poet", Failed, 30),
        (4, "cat", "poet", Working, 20),
        (5, "bob", "echo", Rejected, 30),
        (6, "ann", "echo", Failed, 50),
    ] {
        let mut story = Story::new(n).owned_by(owner).at_agent(agent);
        commit(&*store, [story.step(state, at(when))]).await;
        told.push(story);
    }
    let any = RecentQuery {
        limit: 10,
        ..RecentQuery::default()
    };
    let states = vec![Failed, Rejected];
    let failed = RecentQuery {
        states: states.clone(),
        ..any.clone()
    };
    let of_echo = RecentQuery {
        agent: Some("echo".into()),
        ..failed.clone()
    };
    let since = RecentQuery {
        updated_from: Some(at(30)),
        ..any.clone()
    };
    for (query, expected) in [
        (any.clone(), vec![5, 1, 4, 2, 3, 0]),
        (RecentQuery { limit: 3, ..any }, vec![5, 1, 4]),
        (failed.clone(), vec![5, 4, 2, 0]),
        (RecentQuery { limit: 1, ..failed }, vec![5]),
        (of_echo, vec![5, 4, 0]),
        (since, vec![5, 1, 4, 2]),
    ] {
        let heads = store.recent(query.clone()).await.unwrap();
        let found: Vec<TaskId> = heads.iter().map(|head| head.id.clone()).collect();
        let expected = ids(expected.into_iter().map(|i: usize| &told[i]));
        assert_eq!(found, expected, "{query:?}");
    }
    let heads = store.recent(RecentQuery {
        limit: 1,
        states,
        ..RecentQuery::default()
    });
    let head = heads.await.unwrap().remove(0);
    assert_eq!((head.owner.as_str(), &*head.agent), ("ann", "echo"));
}

pub(super) async fn operators_filter_and_page_the_tasks_of_all_callers(store: Arc<dyn Store>) {
    let states = [TaskState::Failed, TaskState::Completed, TaskState::Working];
    let mut told = Vec::new();
    for n in 0..36_u32 {
        let n_of = usize::try_from(n).unwrap();
        let mut story = Story::new(n)
            .owned_by(["ann", "bob"][n_of % 2])
            .at_agent(["echo", "poet", "desk"][n_of / 2 % 3])
            .in_context(["even", BEGUN_BY_ONE][n_of / 3 % 2]);
        let step = story.step(states[n_of % 3], at(i64::from(n / 5)));
        commit(&*store, [step]).await;
        told.push(story);
    }
    let owners = [None, Some(Owner::new("ann")), Some(Owner::new("nobody"))];
    let contexts = [None, Some("even"), Some(BEGUN_BY_ONE), Some("none")];
    let spans = [
        (None, None),
        (Some(at(2)), Some(at(4))),
        (None, Some(at(3))),
    ];
    for owner in owners {
        for context in contexts {
            for (updated_from, updated_until) in spans {
                let query = RecentQuery {
                    owner: owner.clone(),
                    context: context.map(|context| ContextId::new(context).unwrap()),
                    agent: updated_from.map(|_| "poet".into()),
                    states: updated_until.map_or_else(Vec::new, |_| states[..2].to_vec()),
                    updated_from,
                    updated_until,
                    limit: 5,
                    ..RecentQuery::default()
                };
                let mut expected: Vec<_> = told.iter().filter(|s| query.matches(&s.head)).collect();
                expected.sort_by_key(|s| std::cmp::Reverse((s.head.updated, s.head.id.clone())));
                assert_eq!(
                    recent_pages(&*store, &query).await,
                    ids(expected),
                    "{query:?}"
                );
            }
        }
    }
}

/// All pages of operators' lists.
async fn recent_pages(store: &dyn Store, query: &RecentQuery) -> Vec<TaskId> {
    let mut seen = Vec::new();
    let mut query = query.clone();
    loop {
        let page = store.recent(query.clone()).await.unwrap();
        assert!(page.len() <= query.limit);
        let Some(last) = page.last() else {
            return seen;
        };
        query.after = Some((last.updated, last.id.clone()));
        seen.extend(page.into_iter().map(|head| head.id));
    }
}
