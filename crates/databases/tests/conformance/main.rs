//! The conformance suite: what every database must do, whatever it keeps its rows in.
//!
//! A check is written once, for any [`harness::Harness`]. The list below names them all; one line in `conformance!` runs
//! the list on another database. The properties, which need two databases at once, stand in `properties.rs`.

mod batches;
mod clocks;
mod committing;
mod creating;
mod exporting;
mod fencing;
mod files;
mod following;
mod harness;
mod leasing;
#[path = "../../../core/tests/kernel/limited.rs"]
mod limited;
mod limiting;
mod logging;
mod looking;
mod lying;
mod properties;
mod pruning;
mod random;
mod reading;
mod requests;
mod schema;
mod sized;
mod states;
mod sweeping;
mod tampering;
mod tracing;

macro_rules! conformance {
    ($($checks:tt)*) => {
        mod memory { each!(crate::harness::Memory; $($checks)*); }
        mod sqlite { each!(crate::harness::Sqlite; $($checks)*); }
        mod postgres { each!(crate::harness::Postgres; $($checks)*); }
    };
}

macro_rules! each {
    ($harness:ty; $($(#[$attribute:meta])* fn $name:ident() { $subject:ident })*) => {
        $($(#[$attribute])* fn $name() { crate::harness::check::<$harness>(crate::$subject::$name::<$harness>) })*
    };
}

conformance! {
    // fault: M1
    // covers: K-01, K-05, K-07
    #[test] fn an_item_moves_exactly_if_its_table_has_the_row_and_the_guards_hold() { states }

    #[test] fn requests_of_one_item_are_decided_in_order_of_arrival() { batches }
    #[test] fn one_bad_request_of_a_hundred_fails_alone() { batches }
    // covers: K-04
    #[test] fn a_batch_that_changes_nothing_writes_nothing() { batches }
    #[test] fn replies_come_in_the_order_of_requests() { batches }
    #[test] fn fresh_says_whether_something_was_written() { batches }
    #[test] fn callers_in_parallel_each_get_their_own_answer() { batches }
    #[test] fn an_acquire_leases_what_its_batch_made_ready() { batches }
    #[test] fn a_record_that_follows_an_erase_keeps_its_body() { batches }

    // covers: K-30
    #[test] fn a_hundred_parallel_creates_of_one_name_make_one_item() { creating }
    // covers: K-30
    #[test] fn the_first_answer_is_given_again_when_the_item_has_moved_on() { creating }
    // covers: K-30
    #[test] fn one_name_with_another_request_is_a_conflict() { creating }
    // covers: K-30
    #[test] fn names_count_within_their_store_and_kind() { creating }
    #[test] fn creates_on_one_key_coalesce_as_the_lifecycle_says() { creating }
    #[test] fn created_and_leased_in_one_step_it_is_never_offered() { creating }

    // covers: K-10, K-15
    #[test] fn of_two_claimers_one_wins() { leasing }
    // covers: K-32
    #[test] fn an_acquire_goes_by_rank() { leasing }
    // covers: K-32
    #[test] fn what_is_created_together_is_leased_in_order_of_arrival() { leasing }
    // covers: K-32
    #[test] fn nothing_is_offered_before_its_time() { leasing }
    #[test] fn what_comes_next_is_known_to_the_moment() { leasing }
    // covers: K-32
    #[test] fn a_delayed_item_does_not_hold_its_key() { leasing }
    // covers: K-32
    #[test] fn within_a_key_the_oldest_is_first() { leasing }
    // covers: K-31, K-32
    #[test] fn one_is_running_a_key_under_many_claimers() { leasing }
    #[test] fn never_more_is_leased_than_was_asked_for() { leasing }
    #[test] fn an_acquire_that_is_refused_harms_no_other() { leasing }
    #[test] fn kinds_are_taken_in_the_order_they_are_named() { leasing }
    #[test] fn acquires_of_one_batch_share_what_there_is() { leasing }
    // covers: K-18
    #[test] fn a_lost_answer_is_given_again_while_it_is_held() { leasing }
    // covers: K-18
    #[test] fn a_named_take_is_remembered_beside_a_named_acquire() { leasing }
    // covers: K-15
    #[test] fn losing_a_candidate_goes_on_to_the_next() { leasing }
    #[test] fn what_an_item_depends_on_is_looked_at() { leasing }

    // covers: K-38
    #[test] fn a_kind_runs_no_more_at_once_than_it_may() { limiting }
    // covers: K-03, K-38
    #[test] fn many_leases_at_once_keep_the_order_and_the_limits() { limiting }
    // covers: K-38
    #[test] fn a_key_runs_no_more_at_once_than_it_may() { limiting }
    // covers: K-32, K-38
    #[test] fn of_a_key_none_passes_an_older_one() { limiting }
    // covers: K-38
    #[test] fn a_kind_starts_no_more_than_its_rate_allows() { limiting }
    // covers: K-38
    #[test] fn a_key_starts_no_more_than_its_rate_allows() { limiting }
    // covers: K-38
    #[test] fn a_key_that_waits_for_its_rate_says_when_it_has_room() { limiting }
    // covers: K-38
    #[test] fn an_operator_pauses_and_limits_a_kind() { limiting }
    // covers: K-38
    #[test] fn an_order_holds_for_the_acquires_of_its_own_batch() { limiting }
    // covers: J-05, K-38
    #[test] fn a_spent_budget_puts_retries_off_and_an_open_breaker_stops_leases() { limiting }
    // covers: K-38
    #[test] fn many_claimers_never_exceed_a_limit() { limiting }

    // covers: K-12
    #[test] fn a_stale_write_is_refused_while_the_new_holder_is_in_the_same_state() { fencing }
    // covers: K-12
    #[test] fn a_row_that_is_not_as_it_was_found_is_not_written() { fencing }
    // covers: K-12
    #[test] fn only_the_holder_of_the_present_lease_can_write() { fencing }
    // covers: K-10, K-12
    #[test] fn a_lease_ends_at_the_very_moment_it_says() { fencing }
    // covers: K-10, K-12, K-14
    #[test] fn a_lease_of_any_length_ends_to_the_microsecond() { fencing }
    // covers: K-13
    #[test] fn a_renewal_writes_no_entry_and_no_version() { fencing }

    // covers: K-04, K-22, K-39
    #[test] fn a_commit_that_is_repeated_happens_once() { committing }
    // covers: K-23, K-24
    #[test] fn a_second_execution_learns_of_the_one_that_committed() { committing }
    // covers: K-05, K-22
    #[test] fn commit_races_sweep_races_cancel_and_one_of_them_ends_it() { committing }
    // covers: K-02, K-37
    #[test] fn effects_happen_all_or_not_at_all() { committing }
    #[test] fn the_newer_supersedes_the_older_in_one_batch() { committing }
    // covers: K-25
    #[test] fn what_has_committed_is_only_ever_finished() { committing }

    // covers: K-25, K-34
    #[test] fn what_time_ended_is_found_and_ended() { sweeping }
    #[test] fn leases_lapse_with_their_session() { sweeping }
    #[test] fn pages_of_what_is_due_reach_everything() { sweeping }
    #[test] fn a_list_that_was_read_before_a_renewal_has_no_effect() { sweeping }
    // covers: K-10, K-12, K-17
    #[test] fn a_lease_ends_if_the_clock_is_corrected_by_more_than_its_length() { clocks }
    // covers: K-10, K-17, K-33
    #[test] fn a_clock_that_was_ahead_stops_nothing_and_makes_nothing_due_early() { clocks }
    // covers: K-17
    #[test] fn items_that_were_promoted_too_early_wait_for_their_time() { clocks }
    // covers: K-17, K-38
    #[test] fn limits_that_were_used_ahead_hold_for_their_span_at_most() { clocks }
    #[test] fn one_that_can_not_be_swept_stops_no_other() { sweeping }
    #[test] fn no_open_step_keeps_a_run_from_ending() { sweeping }

    // covers: K-45
    #[test] fn what_was_read_once_never_changes() { logging }
    // covers: K-40, K-45
    #[test] fn a_history_is_contiguous_and_chained() { logging }
    #[test] fn the_log_replays_to_what_is_kept() { logging }
    #[test] fn a_clock_that_is_set_back_does_not_turn_a_history_round() { logging }

    // covers: K-41, K-42
    #[test] fn an_export_is_replayed_to_the_same_log() { exporting }
    #[test] fn the_items_of_a_key_are_replayed_one_after_the_other() { exporting }
    #[test] fn an_empty_log_has_two_lines() { exporting }
    // covers: K-40, K-41
    #[test] fn a_line_is_checked_by_hand() { exporting }
    // covers: K-42
    #[test] fn what_was_held_comes_back_expired() { exporting }
    // covers: K-44
    #[test] fn a_replay_that_was_interrupted_is_carried_on() { exporting }
    // covers: K-44
    #[test] fn a_database_with_another_log_is_left_alone() { exporting }
    // covers: K-44
    #[test] fn an_unknown_event_stops_a_replay_before_anything_is_written() { exporting }
    // covers: K-40
    #[test] fn an_erased_body_leaves_a_line_that_says_so() { exporting }
    // covers: K-41
    #[test] fn odd_json_is_kept_exactly_or_refused() { exporting }
    // covers: K-45, K-46
    #[test] fn an_export_is_one_moment_while_others_write() { exporting }
    // covers: K-41
    #[test] fn a_lifecycle_comes_with_its_source() { exporting }
    // covers: K-46
    #[test] fn a_head_that_was_kept_proves_what_came_before_it() { exporting }
    // covers: K-42, K-44
    #[test] fn a_log_of_this_format_stays_readable() { exporting }
    // covers: K-08, K-30, K-43
    #[test] fn every_lie_about_an_item_is_found() { lying }
    // covers: K-08, K-43
    // fault: W5
    #[test] fn a_lie_in_the_last_short_page_is_found() { lying }
    // covers: K-44
    // fault: W5
    #[test] fn a_log_of_more_than_a_page_is_exported_to_its_last_entry() { exporting }
    // covers: K-08, K-31
    #[test] fn every_lie_about_a_lane_is_found() { lying }

    #[test] fn what_was_kept_long_enough_goes_and_its_log_stays() { pruning }
    #[test] fn a_key_of_what_was_removed_makes_a_new_item() { pruning }
    #[test] fn what_somebody_needs_is_not_removed() { pruning }
    // fault: M4
    #[test] fn what_has_ended_and_can_still_move_needs_what_it_is_linked_to() { pruning }
    // covers: K-26
    #[test] fn messages_are_kept_for_who_has_yet_to_hear_of_them() { pruning }
    #[test] fn of_two_prunes_one_removes() { pruning }
    // covers: K-43
    #[test] fn an_item_that_is_missing_without_a_prune_is_found() { pruning }
    // covers: K-41, K-42
    #[test] fn a_log_with_removed_items_is_replayed_to_the_same_rows() { pruning }
    // covers: K-26
    #[test] fn a_mark_only_grows() { following }
    // covers: K-26
    #[test] fn a_message_is_read_by_what_names_it() { following }
    #[test] fn those_that_stand_for_their_keys_are_listed() { following }

    #[test] fn who_comes_before_an_item_is_counted_up_to_a_bound() { looking }
    #[test] fn a_list_in_outline_is_the_list() { looking }
    #[test] fn of_a_key_the_older_come_before_and_the_lane_says_who_runs() { looking }
    #[test] fn what_has_come_due_counts_before_anybody_has_looked() { looking }
    #[test] fn what_is_linked_to_an_item_is_found_from_it() { looking }
    #[test] fn a_record_is_found_by_its_id() { looking }
    #[test] fn the_clock_that_judges_can_be_asked() { looking }
    #[test] fn a_name_tells_what_it_stands_for() { looking }

    #[test] fn a_trace_goes_with_its_item_to_every_attempt() { tracing }
    #[test] fn a_trace_is_in_no_entry_and_makes_no_other_request() { tracing }
    #[test] fn a_trace_goes_on_to_what_a_commit_creates_and_to_a_retry() { tracing }
    #[test] fn a_trace_is_erased_with_the_bodies() { tracing }

    #[test] fn a_list_is_filtered_by_every_field() { reading }
    // covers: K-19
    #[test] fn owners_are_listed_with_what_they_hold() { reading }
    #[test] fn the_newest_come_first_where_that_is_asked_for() { reading }
    #[test] fn pages_of_a_list_hold_every_item_once() { reading }
    #[test] fn nothing_is_found_across_stores() { reading }
    #[test] fn a_key_or_name_of_another_store_is_another() { reading }
    #[test] fn an_item_keeps_its_lifecycle() { reading }
}
