//! Lists and walks.

use std::sync::Arc;

use switchboard_types::model::{ContextId, TaskId, TaskState, Timestamp};

use super::story::{Story, all, at, commit, ids, listed};
use crate::store::{Store, TaskQuery};
use crate::task::{Change, Head, Owner, Snapshot};

/// Stores a story of each: its number, its state, since when.
async fn tell(store: &dyn Store, stories: &[(u32, TaskState, i64)]) -> Vec<Story> {
    let mut told = Vec::new();
    for (n, state, when) in stories {
        let mut story = Story::new(*n);
        commit(store, [story.step(*state, at(*when))]).await;
        told.push(story);
    }
    told
}

/// All pages of a list, of `limit` tasks each.
async fn pages(store: &dyn Store, query: &TaskQuery, limit: usize) -> Vec<TaskId> {
    let mut seen: Vec<TaskId> = Vec::new();
    let mut query = TaskQuery {
        limit,
        ..query.clone()
    };
    loop {
        let page = store.list(query.clone()).await.unwrap();
        assert!(page.tasks.len() <= limit);
        let heads: Vec<Head> = page.tasks.iter().map(|task| task.head.clone()).collect();
        assert_eq!(store.heads(query.clone()).await.unwrap(), heads);
        let Some(last) = page.tasks.last() else {
            assert_eq!(page.total, u64::try_from(seen.len()).unwrap());
            return seen;
        };
        query.after = Some((last.head.updated, last.head.id.clone()));
        seen.extend(page.tasks.into_iter().map(|task| task.head.id));
    }
}

pub(super) async fn the_latest_status_comes_first(store: Arc<dyn Store>) {
    use TaskState::{Canceled, Completed, Failed, InputRequired, Working};
    let told = tell(
        &*store,
        &[
            (1, Completed, 30),
            (2, Working, 10),
            (3, Failed, 20),
            (4, InputRequired, 40),
            (5, Canceled, 0),
        ],
    )
    .await;
    let expected = ids([3, 0, 2, 1, 4].map(|i| &told[i]));
    assert_eq!(listed(&*store, all()).await, (expected, 5));
}

pub(super) async fn ties_are_broken_by_id_across_pages(store: Arc<dyn Store>) {
    let states = [TaskState::Completed, TaskState::Working, TaskState::Failed];
    let rows: Vec<_> = (0..23u32)
        .map(|n| (n, states[n as usize % 3], i64::from(n / 8)))
        .collect();
    let told = tell(&*store, &rows).await;
    let expected = ids(told.iter().rev());
    assert_eq!(listed(&*store, all()).await, (expected.clone(), 23));
    for limit in [1, 2, 7, 23, 24] {
        assert_eq!(
            pages(&*store, &all(), limit).await,
            expected,
            "{limit} a page"
        );
    }
}

pub(super) async fn an_update_moves_a_task_to_the_front(store: Arc<dyn Store>) {
    let mut told = tell(
        &*store,
        &[(1, TaskState::Working, 1), (2, TaskState::Working, 2)],
    )
    .await;
    commit(&*store, [told[0].step(TaskState::Working, at(3))]).await;
    assert_eq!(listed(&*store, all()).await.0, ids([&told[0], &told[1]]));
    commit(&*store, [told[1].step(TaskState::Completed, at(4))]).await;
    assert_eq!(listed(&*store, all()).await, (ids([&told[1], &told[0]]), 2));
    commit(&*store, [told[0].say("no change of status")]).await;
    assert_eq!(listed(&*store, all()).await, (ids([&told[1], &told[0]]), 2));
}

pub(super) async fn only_the_own_tasks_are_listed(store: Arc<dyn Store>) {
    let mut mine = Story::new(1).in_context("shared");
    let mut theirs = Story::new(2).in_context("shared").owned_by("caller-b");
    let mut elsewhere = Story::new(3).in_context("shared").at_agent("research");
    let stories = [&mut mine, &mut theirs, &mut elsewhere];
    commit(
        &*store,
        stories.map(|story| story.step(TaskState::Completed, at(1))),
    )
    .await;
    let context = Some(ContextId::new("shared").unwrap());
    for query in [all(), TaskQuery { context, ..all() }] {
        assert_eq!(listed(&*store, query).await, (ids([&mine]), 1));
    }
    let others = TaskQuery::of("echo".into(), Owner::new("caller-b"));
    assert_eq!(listed(&*store, others).await, (ids([&theirs]), 1));
    let nobodys = TaskQuery::of("echo".into(), Owner::new("nobody"));
    assert_eq!(listed(&*store, nobodys).await, (Vec::new(), 0));
}

/// The conversation that task 1 began, as the engine named it before contexts had ids of their own.
pub(super) const BEGUN_BY_ONE: &str = "0190a5c3-0000-7001-8000-00000000abcc";

/// Twelve tasks in two conversations and three states.
async fn twelve(store: &dyn Store) -> Vec<Story> {
    let states = [
        TaskState::Completed,
        TaskState::Working,
        TaskState::InputRequired,
    ];
    let mut stories = Vec::new();
    for n in 0..12 {
        let context = if n % 2 == 0 { "even" } else { BEGUN_BY_ONE };
        let mut story = Story::new(n).in_context(context);
        commit(
            store,
            [story.step(states[n as usize % 3], at(i64::from(n / 2)))],
        )
        .await;
        stories.push(story);
    }
    stories
}

/// Every combination of filters, with the stories that match.
fn combinations(stories: &[Story]) -> Vec<(TaskQuery, Vec<TaskId>)> {
    let contexts = [None, Some("even"), Some(BEGUN_BY_ONE), Some("none")];
    let states = [
        None,
        Some(TaskState::Working),
        Some(TaskState::Completed),
        Some(TaskState::Failed),
    ];
    let moments = [None, Some(at(0)), Some(at(3)), Some(at(99))];
    let mut combinations = Vec::new();
    for context in contexts {
        for state in states {
            for updated_from in moments {
                let matching = stories.iter().rev().filter(|story| {
                    context.is_none_or(|context| story.head.context.as_str() == context)
                        && state.is_none_or(|state| story.head.state == state)
                        && updated_from.is_none_or(|from: Timestamp| story.head.updated >= from)
                });
                let context = context.map(|context| ContextId::new(context).unwrap());
                let query = TaskQuery {
                    context,
                    state,
                    updated_from,
                    ..all()
                };
                combinations.push((query, ids(matching)));
            }
        }
    }
    combinations
}

pub(super) async fn filters_narrow_the_list_and_its_total(store: Arc<dyn Store>) {
    let stories = twelve(&*store).await;
    for (query, expected) in combinations(&stories) {
        let total = u64::try_from(expected.len()).unwrap();
        assert_eq!(
            listed(&*store, query.clone()).await,
            (expected.clone(), total),
            "{query:?}"
        );
        let limit = 2;
        let page = listed(
            &*store,
            TaskQuery {
                limit,
                ..query.clone()
            },
        )
        .await;
        assert_eq!(
            page,
            (expected[..limit.min(expected.len())].to_vec(), total),
            "{query:?}"
        );
    }
}

pub(super) async fn filters_hold_across_pages(store: Arc<dyn Store>) {
    let stories = twelve(&*store).await;
    for (query, expected) in combinations(&stories) {
        assert_eq!(pages(&*store, &query, 2).await, expected, "{query:?}");
    }
}

pub(super) async fn the_total_follows_every_change(store: Arc<dyn Store>) {
    let mut stories = twelve(&*store).await;
    let total = async |state| {
        listed(
            &*store,
            TaskQuery {
                state,
                limit: 1,
                ..all()
            },
        )
        .await
        .1
    };
    let (working, completed) = (Some(TaskState::Working), Some(TaskState::Completed));
    assert_eq!(
        (
            total(None).await,
            total(working).await,
            total(completed).await
        ),
        (12, 4, 4)
    );
    commit(&*store, [stories[1].step(TaskState::Completed, at(9))]).await;
    assert_eq!(
        (
            total(None).await,
            total(working).await,
            total(completed).await
        ),
        (12, 3, 5)
    );
    commit(&*store, [Change::Remove(stories[0].head.id.clone())]).await;
    assert_eq!(
        (
            total(None).await,
            total(working).await,
            total(completed).await
        ),
        (11, 3, 4)
    );
}

pub(super) async fn listed_tasks_are_complete(store: Arc<dyn Store>) {
    let told = tell(
        &*store,
        &[(1, TaskState::Working, 1), (2, TaskState::Completed, 2)],
    )
    .await;
    let list = store.list(all()).await.unwrap();
    assert!(!list.more);
    for (listed, story) in list.tasks.iter().zip(told.iter().rev()) {
        assert_eq!(listed.head, story.head);
        assert_eq!(listed.task.as_deref(), Some(&story.whole()));
    }
    commit(&*store, [Change::Fold(told[1].snapshot())]).await;
    let list = store.list(TaskQuery { limit: 1, ..all() }).await.unwrap();
    assert!(list.more);
    assert_eq!(list.tasks[0].task.as_deref(), Some(&told[1].task()));
}

pub(super) async fn a_page_of_tasks_ends_by_bytes(store: Arc<dyn Store>) {
    let mut stories: Vec<Story> = (1..=12).map(Story::new).collect();
    for (n, story) in stories.iter_mut().enumerate() {
        commit(&*store, [story.step(TaskState::Working, at(0))]).await;
        commit(&*store, [story.say(&"x".repeat(100_000))]).await;
        let when = at(i64::try_from(n).unwrap());
        commit(&*store, [story.step(TaskState::Completed, when)]).await;
    }
    let bytes = 256 << 10;
    let mut query = TaskQuery { bytes, ..all() };
    let mut seen = Vec::new();
    loop {
        let page = store.list(query.clone()).await.unwrap();
        assert_eq!(page.total, 12);
        assert!((1..=3).contains(&page.tasks.len()), "{}", page.tasks.len());
        let last = &page.tasks.last().unwrap().head;
        query.after = Some((last.updated, last.id.clone()));
        for listed in page.tasks {
            let story = stories.iter().find(|story| story.head == listed.head);
            assert_eq!(listed.task.as_deref(), Some(&story.unwrap().whole()));
            seen.push(listed.head.id);
        }
        if !page.more {
            break;
        }
    }
    assert_eq!(seen, ids(stories.iter().rev()));

    // What is not asked for does not count.
    let narrow = TaskQuery {
        bytes,
        artifacts: false,
        history: Some(0),
        ..all()
    };
    let page = store.list(narrow).await.unwrap();
    assert_eq!((page.tasks.len(), page.more), (12, false));
    for listed in &page.tasks {
        let task = listed.task.as_ref().unwrap();
        assert!(task.artifacts.is_empty() && task.history.is_empty());
    }
}

pub(super) async fn a_task_larger_than_a_page_is_listed_without_its_content(store: Arc<dyn Store>) {
    let mut stories = [Story::new(1), Story::new(2), Story::new(3)];
    for story in &mut stories {
        commit(&*store, [story.step(TaskState::Working, at(1))]).await;
    }
    commit(&*store, [stories[1].say(&"x".repeat(100_000))]).await;
    let query = TaskQuery {
        bytes: 64 << 10,
        ..all()
    };
    for folded in [false, true] {
        let page = store.list(query.clone()).await.unwrap();
        let shown: Vec<_> = page
            .tasks
            .iter()
            .map(|listed| listed.task.is_some())
            .collect();
        assert_eq!(shown, [true, false, true], "folded: {folded}");
        assert_eq!(page.tasks[1].head, stories[1].head);
        let snapshot = Snapshot {
            task: Arc::new(stories[1].whole()),
            seq: stories[1].head.seq,
        };
        commit(&*store, [Change::Fold(snapshot)]).await;
    }
}

pub(super) async fn tasks_are_listed_by_id_in_the_order_asked_for(store: Arc<dyn Store>) {
    let mut stories: Vec<Story> = (1..=4).map(Story::new).collect();
    for story in &mut stories {
        commit(&*store, [story.step(TaskState::Working, at(1))]).await;
        commit(&*store, [story.say(&"x".repeat(100_000))]).await;
    }
    commit(&*store, [stories[3].say(&"x".repeat(300_000))]).await;
    let order = [&stories[2], &Story::new(9), &stories[0], &stories[1]];
    let listed = async |query: TaskQuery| {
        let listed = store.list_by_id(ids(order), query).await.unwrap();
        let heads = listed.iter().map(|listed| listed.head.id.clone());
        (heads.collect::<Vec<_>>(), listed)
    };
    let (found, whole) = listed(all()).await;
    assert_eq!(found, ids([&stories[2], &stories[0], &stories[1]]));
    assert_eq!(whole[0].head, stories[2].head);
    assert_eq!(whole[0].task.as_deref(), Some(&stories[2].whole()));

    let bytes = 150_000;
    let (found, _) = listed(TaskQuery { bytes, ..all() }).await;
    assert_eq!(found, ids([&stories[2], &stories[0]]), "the bytes end it");
    let narrow = TaskQuery {
        bytes,
        artifacts: false,
        ..all()
    };
    let (found, short) = listed(narrow.clone()).await;
    assert_eq!(found.len(), 3);
    assert!(short[0].task.as_ref().unwrap().artifacts.is_empty());
    let large = store.list_by_id(ids([&stories[3]]), narrow).await.unwrap();
    assert!(large[0].task.is_none() && large[0].head == stories[3].head);
}

pub(super) async fn live_tasks_are_walked_in_id_order(store: Arc<dyn Store>) {
    let rows: Vec<_> = (0..9u32)
        .rev()
        .map(|n| (n, TaskState::ALL[n as usize], i64::from(n)))
        .collect();
    let mut told = tell(&*store, &rows).await;
    told.reverse();
    let mut live: Vec<_> = told
        .iter()
        .filter(|s| !s.head.state.is_terminal())
        .collect();
    let heads: Vec<_> = live.iter().map(|story| story.head.clone()).collect();
    assert_eq!(heads.len(), 4);
    assert_eq!(store.live(None, 10).await.unwrap(), heads);
    assert_eq!(store.live(None, 3).await.unwrap(), heads[..3]);
    let second = Some(live.swap_remove(1).head.id.clone());
    assert_eq!(store.live(second, 10).await.unwrap(), heads[2..]);
    let last = heads.last().map(|head| head.id.clone());
    assert!(store.live(last, 10).await.unwrap().is_empty());

    for story in &mut told {
        if !story.head.state.is_terminal() {
            commit(&*store, [story.step(TaskState::Canceled, at(99))]).await;
        }
    }
    assert!(store.live(None, 10).await.unwrap().is_empty());
}
