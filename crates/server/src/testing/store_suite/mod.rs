//! What every [`Store`] must do, as a table of behaviours; each is checked on an empty store.
#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

mod events;
mod lists;
mod operators;
mod steps;
mod story;
mod turns;
mod upkeep;
mod webhooks;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::store::Store;

pub use story::{Story, at, commit};

type Checked = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One thing that a store must do.
pub struct Behaviour {
    /// In words.
    pub name: &'static str,
    check: fn(Arc<dyn Store>) -> Checked,
}

impl Behaviour {
    /// Checks it on an empty store; panics if it does not hold.
    pub async fn check(&self, store: Arc<dyn Store>) {
        (self.check)(store).await;
    }
}

impl fmt::Debug for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! behaviours {
    ($($module:ident: $($name:ident)*;)*) => {
        &[$($(Behaviour {
            name: concat!(stringify!($module), "::", stringify!($name)),
            check: |store| Box::pin($module::$name(store)),
        }),*),*]
    };
}

/// All behaviours.
pub const BEHAVIOURS: &[Behaviour] = behaviours! {
    events:
        a_task_is_read_as_it_was_written
        a_task_grows_by_appends
        every_kind_of_event_and_content_survives
        events_are_read_after_a_number_and_up_to_a_limit
        a_page_of_events_ends_by_bytes
        an_unknown_task_is_not_there_and_has_no_events
        events_do_not_leave_a_gap
        a_refused_task_costs_no_other
        one_of_thousands_is_refused
        a_snapshot_stands_for_the_events_before_it
        folding_lets_the_events_before_the_snapshot_go
        folding_an_unknown_task_changes_nothing
        large_events_survive
        many_tasks_are_made_in_one_commit
        readers_see_whole_commits_while_others_are_made;
    lists:
        the_latest_status_comes_first
        ties_are_broken_by_id_across_pages
        an_update_moves_a_task_to_the_front
        only_the_own_tasks_are_listed
        filters_narrow_the_list_and_its_total
        filters_hold_across_pages
        the_total_follows_every_change
        listed_tasks_are_complete
        a_page_of_tasks_ends_by_bytes
        a_task_larger_than_a_page_is_listed_without_its_content
        tasks_are_listed_by_id_in_the_order_asked_for
        live_tasks_are_walked_in_id_order;
    operators:
        operators_list_the_latest_tasks_of_all_callers
        operators_filter_and_page_the_tasks_of_all_callers;
    webhooks:
        webhooks_stay_in_the_order_they_were_made
        a_webhook_is_replaced_in_its_place
        a_removed_webhook_is_gone
        a_delivery_is_remembered
        a_delivery_to_no_webhook_changes_nothing
        webhooks_with_events_left_are_walked_in_order
        a_webhook_that_has_all_comes_back_with_the_next_event
        dead_letters_are_read_newest_first;
    turns:
        the_first_turn_is_implied
        turns_are_read_in_order_and_the_latest_alone
        a_turn_of_the_same_number_is_replaced
        turns_of_unknown_tasks_are_ignored
        turns_go_with_their_task
        a_pending_release_stays_until_it_is_done
        tasks_with_a_pending_release_are_walked_in_id_order;
    steps:
        steps_are_numbered_in_the_order_of_commits
        the_latest_step_of_a_name_is_read_alone
        steps_are_read_after_a_number_and_up_to_a_limit
        a_page_of_steps_ends_by_bytes
        steps_of_unknown_tasks_are_ignored
        steps_go_with_their_task;
    upkeep:
        the_first_answer_stays
        a_task_under_a_key_that_was_used_is_not_made
        of_two_tasks_under_one_key_the_first_is_made
        answers_are_kept_apart_by_caller_and_agent
        old_answers_are_forgotten
        finished_tasks_expire_oldest_first
        live_tasks_neither_expire_nor_go
        a_removed_task_takes_everything_with_it
        a_removed_id_can_begin_again
        long_finished_tasks_are_foldable_once
        short_and_unfinished_tasks_are_not_foldable
        a_task_with_undelivered_webhooks_is_not_foldable;
};

/// Checks all behaviours, each on a store from `make`.
pub async fn run_all(make: impl Fn() -> Arc<dyn Store>) {
    for behaviour in BEHAVIOURS {
        behaviour.check(make()).await;
    }
}
