/* SPDX-License-Identifier: Apache-2.0 */
/* The fixed plans: short sentences of steps, in worlds without any other fault. */
#include "tests/sim/fixed_plans.h"

#include <string.h>

#define FIXED_STEPS_MAX 12
#define STEP(kind, a, b)                                                                 \
    {                                                                                    \
        STEP_##kind, 0, (a), (b), 0                                                      \
    }
#define SECOND(kind, a)                                                                  \
    {                                                                                    \
        STEP_##kind, 1, (a), 0, 0                                                        \
    }
#define WAIT(ms) STEP(WAIT, ms, 8)
#define BEGIN    STEP(BEGIN_JOB, 0, 0)
#define WRITE(n) STEP(WRITE, 0, 7 * (n)) /* 1 + 7 n lines */
#define END      STEP(END_JOB, 0, 0)

/* A part is written, and neither the rest nor a cut is possible. */
#define FAILING_WRITE STEP(PAUSE_JOB, WRITE_AT, 7 * 30000), WRITE(3)
#define WRITE_AT      18

/* Something in front of the origin answers with one status, by its place in gateway.c. */
#define GATEWAY(status) STEP(MOODY, 3 * (3 * (status) + 2) + 1, 89)

/* Which call of a write is the second rename of a rotation. */
#define PAUSE_AT 31

#define PLAIN                   PLAIN_OF(1500, 10)
#define PLAIN_OF(rotate, lines) OF_JOBS(1, rotate, lines)
#define OF_JOBS(jobs, rotate, lines)                                                     \
    .jobs_max = (jobs), .rotate_bytes = (rotate), .batch_lines = (lines),                \
    .journal_bytes = 512u << 10, .flush_ms = 500, .settled_ms = 1000

/* What is left to chance follows from the place: new ones come last. */
static const struct {
    const char *name;
    struct plan_world world;
    struct step step[FIXED_STEPS_MAX];
} plans[] = {
    {"a_mount_that_is_missing_at_a_start",
     {PLAIN, .outside = true},
     {BEGIN, WRITE(6), WAIT(9000), STEP(REPLACE_ROOT, 0, 0), STEP(RESTART, 0, 0),
      WAIT(9000), STEP(REPLACE_ROOT, 0, 0), WRITE(6), END}},
    {"a_fifo_in_the_place_of_the_progress_file",
     {PLAIN},
     {BEGIN, WRITE(6), WAIT(9000), STEP(FIFO, 0, 1), WRITE(6), WAIT(9000)}},
    {"a_fifo_among_the_files_of_a_session",
     {PLAIN},
     {BEGIN, WRITE(6), STEP(FIFO, 0, 0), WAIT(9000), WRITE(6)}},
    {"a_hard_link_to_a_file",
     {PLAIN},
     {BEGIN, WRITE(6), STEP(HARD_LINK, 0, 0), WAIT(9000), WRITE(6)}},
    {"two_journals",
     {PLAIN, .outside = true, .own_state = true},
     {BEGIN, WRITE(6), WAIT(9000), STEP(KILL, 0, 0), STEP(UPLOAD, 90000, 0), WRITE(6),
      WAIT(2000), WRITE(6), WAIT(19000)}},
    {"two_hosts_that_see_no_lock_of_each_other",
     {PLAIN, .outside = true, .own_state = true, .far = true},
     {BEGIN, WRITE(6), STEP(UPLOAD, 500000, 0), WAIT(9000), WRITE(6), WAIT(9000),
      WRITE(6), END, WAIT(19000)}},
    {"a_session_of_a_stranger_with_the_id_of_a_job",
     {PLAIN},
     {BEGIN, WRITE(6), WAIT(9000), STEP(PLANT, 0, 1), WAIT(19000), WRITE(6), END}},
    {"a_root_that_is_replaced",
     {PLAIN},
     {BEGIN, WRITE(6), STEP(REPLACE_ROOT, 0, 0), WAIT(19000), STEP(REPLACE_ROOT, 0, 0),
      WAIT(19000), WRITE(6)}},
    {"sealed_files_that_are_deleted_unsent",
     {PLAIN_OF(300, 10)},
     {BEGIN, STEP(KILL, 0, 0), WRITE(6), WRITE(6), STEP(DELETE_FILE, 1, 0),
      STEP(DELETE_FILE, 3, 0), WAIT(19000), WRITE(6)}},
    {"a_power_failure",
     {PLAIN, .sync_ms = 5000},
     {BEGIN, WRITE(6), WAIT(3000), WRITE(6), WAIT(700), STEP(POWER, 0, 0), WAIT(19000)}},
    {"a_progress_file_that_is_forged",
     {PLAIN, .outside = true},
     {STEP(FORGE, 0, 0), BEGIN, STEP(FORGE, 0, 0), WRITE(6), STEP(LOSE_STATE, 0, 0),
      WAIT(19000)}},
    {"a_directory_that_is_away_while_an_answer_is_lost",
     {PLAIN},
     {BEGIN, WRITE(6), STEP(LOSSY, 1, 89), WAIT(9000), STEP(RENAME_SESSION, 0, 0),
      WAIT(19000), STEP(RENAME_SESSION, 0, 0), WAIT(9000)}},
    {"a_root_that_a_stranger_locks",
     {PLAIN},
     {STEP(KILL, 0, 0), BEGIN, STEP(FLOCK, 0, 0), WRITE(6), WAIT(19000), WRITE(6)}},
    {"moods_around_a_restart",
     {PLAIN, .server = SERVER_WINDOWS},
     {BEGIN, STEP(MOODY, 1, 89), WRITE(6), WAIT(9000), STEP(KILL, 0, 0), WAIT(9000),
      WRITE(6)}},
    {"a_rotation_on_a_full_disk",
     {PLAIN_OF(300, 10)},
     {BEGIN, WRITE(3), WAIT(9000), STEP(DISK_FULL, 0, 0), WRITE(6), WRITE(6), WAIT(9000),
      STEP(DISK_FULL, 0, 0), WRITE(6)}},
    {"an_origin_that_goes_back",
     {PLAIN},
     {BEGIN, WRITE(6), STEP(COPY_ORIGIN, 0, 0), WRITE(6), END, WAIT(90000),
      STEP(RESTORE_ORIGIN, 0, 0)}},
    {"a_progress_file_without_its_journal",
     {PLAIN, .outside = true},
     {BEGIN, WRITE(6), WAIT(19000), STEP(LOSE_STATE, 0, 0), STEP(KILL_JOB, 0, 0)}},
    {"a_fifo_in_a_session_of_a_stranger",
     {PLAIN},
     {BEGIN, WRITE(6), STEP(PLANT, 2, 0), WAIT(19000), WRITE(6)}},
    {"a_root_that_is_away_while_lines_are_due",
     {PLAIN_OF(1500, 1)},
     {BEGIN, WRITE(6), STEP(SLOW, 1, 9000), WAIT(9000), STEP(UNMOUNT, 0, 0),
      WAIT(900000)}},
    {"files_of_others_in_a_session",
     {PLAIN},
     {BEGIN, WRITE(6), WAIT(9000), STEP(STRAY, 0, 0), STEP(STRAY, 1, 0), WRITE(6), END,
      WAIT(19000)}},
    {"a_copy_of_a_session_that_runs",
     {PLAIN},
     {BEGIN, WRITE(6), WAIT(9000), STEP(COPY_SESSION, 0, 0), WAIT(19000), WRITE(6),
      WAIT(19000), WRITE(6), END}},
    {"a_copy_that_goes_its_own_way", /* for an upload that knows nothing of the other */
     {PLAIN_OF(1 << 20, 10), .outside = true, .own_state = true},
     {BEGIN, WRITE(6), WAIT(9000), STEP(FORK, 0, 0), STEP(RENAME_SESSION, 0, 0),
      STEP(KILL, 0, 0), STEP(FORGE, 0, 0), STEP(UPLOAD, 90000, 0), WAIT(2000),
      WAIT(19000)}},
    {"files_that_begin_alike",
     {PLAIN_OF(1500, 10), .old = OLD_SHIFTING, .all_old = true, .same_heads = true},
     {BEGIN, WRITE(6), WAIT(9000), STEP(KILL, 0, 0), WRITE(6), WRITE(6), WAIT(19000),
      WRITE(6), WAIT(19000), END}},
    {"sealed_files_that_are_deleted_while_one_is_offered",
     {PLAIN_OF(300, 10), .server = SERVER_WINDOWS},
     {BEGIN, STEP(MOODY, 1, 89), WRITE(6), WAIT(9000), STEP(KILL, 0, 0), WRITE(6),
      WRITE(6), STEP(DELETE_FILE, 1, 0), STEP(DELETE_FILE, 3, 0), STEP(MOODY, 0, 0),
      WAIT(19000), WRITE(6)}},
    {"a_session_that_grows_when_it_seems_to_have_ended",
     {PLAIN, .old = OLD_SHIFTING, .all_old = true, .orphan_ms = 60000},
     {BEGIN, WRITE(6), STEP(WAIT, 900000, 0), WRITE(6), STEP(WAIT, 900000, 0), WRITE(6),
      END}},
    {"a_writer_on_another_host_that_seems_to_have_ended",
     {PLAIN, .outside = true, .own_state = true, .far = true, .jobs_far = true,
      .orphan_ms = 60000},
     {BEGIN, WRITE(6), STEP(WAIT, 900000, 0), WRITE(6), STEP(WAIT, 900000, 0), WRITE(6),
      END}},
    {"a_manifest_that_a_power_failure_emptied",
     {PLAIN_OF(300, 10)},
     {STEP(KILL, 0, 0), BEGIN, WRITE(6), WRITE(6), STEP(SPOIL_MANIFEST, 0, 0), WRITE(6),
      WAIT(19000), END}},
    {"a_manifest_of_a_newer_version",
     {PLAIN_OF(300, 10)},
     {STEP(KILL, 0, 0), BEGIN, WRITE(6), WRITE(6), STEP(SPOIL_MANIFEST, 1, 0), WRITE(6),
      WAIT(19000), END}},
    {"a_bit_of_a_journal_s_header",
     {PLAIN, .server = SERVER_WINDOWS, .outside = true},
     {BEGIN, WRITE(6), WAIT(9000), STEP(KILL, 0, 0), STEP(FLIP_STATE, 0, 99),
      STEP(FORGE, 0, 0), WRITE(6), WAIT(9000)}},
    {"a_rotation_that_is_taken_back",
     {PLAIN_OF(300, 10)},
     {BEGIN, WRITE(3), WAIT(9000), STEP(PAUSE_JOB, PAUSE_AT, 30000 + 9000), WRITE(3),
      WAIT(9000), WRITE(3), END}},
    {"a_rotation_that_can_be_neither_finished_nor_undone",
     {PLAIN_OF(300, 10)},
     {BEGIN, WRITE(3), WAIT(9000), STEP(PAUSE_JOB, PAUSE_AT, 60000 + 9000), WRITE(3),
      STEP(KILL_JOB, 0, 0), WAIT(9000)}},
    {"half_a_line_that_a_disk_keeps",
     {PLAIN_OF(1 << 20, 10)},
     {BEGIN, WRITE(6), FAILING_WRITE, FAILING_WRITE, FAILING_WRITE, WRITE(3), END}},
    {"retention_between_two_writes",
     {PLAIN},
     {BEGIN, WRITE(6), WAIT(9000), STEP(EXPIRE, 0, 0), WRITE(6), WAIT(9000),
      STEP(LOSE_STATE, 0, 0), WAIT(19000), END}},
    {"retention_of_a_session_that_has_ended",
     {OF_JOBS(2, 1500, 10)},
     {BEGIN, WRITE(6), END, WAIT(19000), BEGIN, WRITE(6), STEP(EXPIRE, 0, 39),
      STEP(LOSE_STATE, 0, 0), WAIT(19000)}},
    {"half_a_line_in_a_file_that_was_cut",
     {PLAIN_OF(1 << 20, 10)},
     {BEGIN, WRITE(6), STEP(CUT_FILE, 0, 99), FAILING_WRITE, WRITE(3), WRITE(3), WRITE(3),
      WRITE(3), WRITE(3), END}},
    {"a_file_that_is_cut_behind_half_a_line",
     {PLAIN_OF(1 << 20, 10)},
     {BEGIN, WRITE(6), FAILING_WRITE, STEP(CUT_FILE, 0, 99), WRITE(3), WRITE(3), WRITE(3),
      WRITE(3), WRITE(3), END}},
    {"a_file_that_is_cut_and_written_on_before_it_is_sealed",
     {PLAIN_OF(1500, 10)},
     {BEGIN, WRITE(1), WAIT(9000), STEP(KILL, 0, 0), STEP(CUT_FILE, 0, 99),
      STEP(WRITE, 0, 1), WRITE(3), END, WAIT(19000)}},
    {"files_that_begin_alike_and_come_again",
     {PLAIN_OF(300, 5), .server = SERVER_NOTHING, .old = OLD_SHIFTING, .all_old = true,
      .same_heads = true},
     {BEGIN, WRITE(3), STEP(LOSSY, 1, 89), WAIT(9000), WRITE(3), WAIT(19000)}},
    {"a_rotation_that_a_full_disk_keeps_from_being_finished",
     {PLAIN_OF(300, 10)},
     {BEGIN, WRITE(3), WAIT(9000), STEP(PAUSE_JOB, PAUSE_AT, 60000), WRITE(3),
      STEP(DISK_FULL, 0, 0), WRITE(3), STEP(KILL_JOB, 0, 0), WAIT(9000)}},
    {"an_end_that_was_told_before_windows_were_sent",
     {.jobs_max = 1,
      .rotate_bytes = 1500,
      .batch_lines = 10,
      .journal_bytes = 512u << 10,
      .settled_ms = 1000},
     {BEGIN, WRITE(1), STEP(RENAME_SESSION, 0, 0), WAIT(4000), STEP(STRAY, 0, 0),
      STEP(CAPABILITY, 0, 0), WAIT(730000)}},
    {"a_file_that_is_cut_when_its_session_seems_to_have_ended",
     {PLAIN_OF(300, 10), .outside = true, .far = true, .own_state = true,
      .jobs_far = true, .orphan_ms = 60000},
     {BEGIN, STEP(WAIT, 900000, 0), STEP(CUT_FILE, 0, 50), WRITE(4),
      STEP(LOSE_STATE, 0, 0), STEP(WRITE, 0, 1), STEP(KILL_JOB, 0, 0)}},
    {"first_files_of_another_host_that_are_deleted_unsent",
     {PLAIN_OF(300, 10), .outside = true, .far = true, .own_state = true,
      .jobs_far = true},
     {BEGIN, STEP(HALVE, 600, 4942), STEP(DELETE_FILE, 0, 0), WAIT(3000), END,
      WAIT(19000), STEP(UPLOAD, 90000, 0), WAIT(9000)}},
    {"an_origin_that_goes_back_to_an_early_end", /* whose files are deleted */
     {PLAIN_OF(300, 10), .far = true, .own_state = true, .jobs_far = true,
      .orphan_ms = 60000, .deletes = DELETE_ALL},
     {BEGIN, STEP(WAIT, 900000, 0), STEP(COPY_ORIGIN, 0, 0), WRITE(3), WRITE(3),
      STEP(WRITE, 1, 21), STEP(WRITE, 1, 21), STEP(WRITE, 2, 21), STEP(WRITE, 2, 21),
      STEP(WAIT, 900000, 0), STEP(RESTORE_ORIGIN, 0, 0), STEP(LOSE_STATE, 0, 0)}},
    {"a_write_in_two_calls_the_first_of_which_is_seen",
     {PLAIN_OF(1 << 20, 10)},
     {BEGIN, STEP(PAUSE_JOB, 0, 30000 * 4), WAIT(9000), WAIT(0),
      STEP(PAUSE_JOB, 10, 9000), STEP(HALVE, 1800, 21), STEP(KILL_JOB, 0, 0)}},
    {"another_sender_that_is_mistaken",
     {PLAIN_OF(1 << 20, 10)},
     {BEGIN, WRITE(6), WAIT(9000), STEP(MISTAKE, 0, 0), WRITE(6), WAIT(9000),
      STEP(MISTAKE, 0, 0), END}},
    {"a_first_file_of_another_host_that_is_deleted_and_no_other_is_sealed",
     {PLAIN_OF(600, 10), .far = true, .own_state = true, .jobs_far = true},
     {BEGIN, WRITE(2), STEP(DELETE_FILE, 0, 0), STEP(KILL_JOB, 0, 0), WAIT(9000)}},
    {"a_first_file_that_is_deleted_of_a_writer_that_tells_nothing",
     {PLAIN_OF(600, 10), .untold = true},
     {BEGIN, WRITE(2), STEP(DELETE_FILE, 0, 0), WAIT(9000), WRITE(2), WAIT(9000)}},
    {"a_disk_that_loses_the_end_of_the_newest_file",
     {PLAIN_OF(1 << 20, 10), .closes = true},
     {BEGIN, WRITE(6), WAIT(9000), STEP(KILL_JOB, 0, 0), STEP(CUT_FILE, 0, 4000),
      STEP(SYNC, 0, 0), STEP(POWER, 0, 0), WAIT(19000)}},
    {"a_disk_that_loses_the_end_of_a_sealed_file",
     {PLAIN_OF(600, 10), .closes = true},
     {BEGIN, WRITE(2), WAIT(9000), STEP(MOODY, 1, 89), WRITE(2), WAIT(9000),
      STEP(KILL, 0, 0), STEP(CUT_FILE, 4, 1000), STEP(SYNC, 0, 0), STEP(POWER, 0, 0),
      STEP(MOODY, 0, 0), WAIT(19000)}},
    {"a_newest_sealed_file_of_another_host_that_is_deleted_unsent",
     {PLAIN_OF(600, 10), .far = true, .own_state = true, .jobs_far = true},
     {BEGIN, WRITE(2), END, STEP(DELETE_FILE, 5, 0)}},
    {"a_cut_file_that_a_backend_without_positions_refuses",
     {PLAIN},
     {BEGIN, END, WAIT(15000), STEP(CAPABILITY, 0, 0), STEP(CUT_FILE, 1, 137),
      STEP(COPY_SESSION, 445108067, 517650126),
      STEP(RENAME_SESSION, 236188273, 404103684), STEP(LOSE_STATE, 0, 0), WAIT(9000)}},
    {"a_first_file_that_comes_back_when_the_others_are_sent",
     {PLAIN_OF(600, 10), .outside = true, .missing_max = 1},
     {STEP(KILL, 0, 0), BEGIN, WRITE(2), WRITE(2), STEP(MOVE_FILE, 1, 0), WAIT(19000),
      STEP(KILL, 0, 0), STEP(MOVE_FILE, 0, 0), STEP(LOSE_STATE, 0, 0), WRITE(2),
      WAIT(19000)}},
    {"a_copy_of_another_user_in_the_place_of_a_forgotten_session",
     {PLAIN},
     {BEGIN, WRITE(6), END, WAIT(19000), STEP(KILL, 0, 0), STEP(STEAL, 0, 0),
      STEP(LOSE_STATE, 0, 0), WAIT(19000)}},
    {"a_sealed_file_that_is_cut_before_anybody_saw_its_end",
     {PLAIN_OF(600, 10), .lacks = true},
     {BEGIN, WRITE(2), WAIT(9000), STEP(KILL, 0, 0), WRITE(2), STEP(CUT_FILE, 4, 1000),
      WAIT(19000)}},
    {"a_sealed_file_that_is_emptied_unsent",
     {PLAIN_OF(600, 10), .lacks = true},
     {STEP(KILL, 0, 0), BEGIN, WRITE(2), WRITE(2), STEP(CUT_FILE, 4, 0), WAIT(19000)}},
    /* Else the lock file tells of more, and the session is held for that. */
    {"a_file_that_is_cut_and_written_on_before_its_writer_sees_it",
     {PLAIN_OF(1 << 20, 10), .untold = true},
     {BEGIN, WRITE(6), WAIT(9000), STEP(KILL, 0, 0), STEP(HALVE, 0, 4001),
      STEP(CUT_FILE, 0, 99), STEP(HALVE, 0, 4001), STEP(KILL_JOB, 0, 0), WAIT(19000)}},
    {"half_a_line_in_a_file_that_is_cut_before_its_writer_sees_it",
     {PLAIN_OF(1 << 20, 10)},
     {BEGIN, WRITE(6), STEP(PAUSE_JOB, WRITE_AT, 6 * 30000), WRITE(3),
      STEP(CUT_FILE, STEP_UNSEEN, 99), WRITE(3), END}},
    /* A writer that does not look whether it has sealed makes one call less. */
    {"a_seal_that_can_be_neither_made_nor_undone",
     {PLAIN_OF(300, 10)},
     {BEGIN, WRITE(3), WAIT(9000), STEP(PAUSE_JOB, PAUSE_AT - 1, 60000 + 9000), WRITE(3),
      STEP(KILL_JOB, 0, 0), WAIT(9000)}},
    {"a_first_file_of_another_host_that_comes_back",
     {PLAIN_OF(1500, 10), .far = true, .own_state = true, .jobs_far = true,
      .missing_max = 1},
     {BEGIN, WRITE(1), WRITE(1), STEP(MOVE_FILE, 0, 0), WAIT(19000),
      STEP(MOVE_FILE, 0, 0), WAIT(9000)}},
    {"a_gateway_that_is_at_its_limit",
     {PLAIN, .server = SERVER_WINDOWS},
     {BEGIN, GATEWAY(1), WRITE(6), WAIT(19000), STEP(KILL, 0, 0), WAIT(19000), WRITE(6),
      END}},
    {"a_gateway_that_forbids",
     {PLAIN, .server = SERVER_NOTHING},
     {BEGIN, GATEWAY(2), WRITE(6), WAIT(19000), WRITE(6), END}},
    {"a_gateway_that_answers_as_one_that_has_closed_the_session",
     {PLAIN},
     {BEGIN, WRITE(6), GATEWAY(3), WAIT(19000), STEP(KILL, 0, 0), WAIT(19000), WRITE(6),
      END}},
    {"a_gateway_that_refuses_lines", /* and what it refused is in quarantine */
     {PLAIN, .lacks = true},
     {BEGIN, WAIT(19000), GATEWAY(4), WRITE(6), WAIT(19000), STEP(MOODY, 0, 0), WRITE(6),
      WAIT(9000), END}},
    {"a_gateway_that_shows_a_page",
     {PLAIN},
     {GATEWAY(6), BEGIN, WRITE(6), WAIT(19000), WRITE(6), WAIT(9000), END}},
    {"two_agents_and_two_uploads",
     {PLAIN, .more_agents = true, .more_uploads = true},
     {BEGIN, WRITE(6), STEP(KILL, 0, 0), STEP(UPLOAD, 90000, 0), SECOND(UPLOAD, 90000),
      WAIT(19000), WRITE(6), STEP(KILL, 0, 0), WAIT(19000), WRITE(6), END}},
    {"two_agents_and_two_uploads_with_states_of_their_own", /* and two hosts */
     {PLAIN, .more_agents = true, .more_uploads = true, .more_state = true,
      .own_state = true, .far = true},
     {BEGIN, WRITE(6), STEP(UPLOAD, 90000, 0), SECOND(UPLOAD, 90000), WAIT(19000),
      WRITE(6), STEP(KILL, 0, 0), WAIT(19000), WRITE(6), WAIT(9000), END}},
    {"an_agent_of_the_directory_above",
     {PLAIN, .more_agents = true, .more_state = true, .above = true},
     {BEGIN, WRITE(6), WAIT(19000), WRITE(6), END}},
};

const char *fixed_plan(unsigned index, struct plan *plan)
{
    if (index >= sizeof plans / sizeof *plans) {
        return NULL;
    }
    memset(plan, 0, sizeof *plan);
    plan->seed = index + 1;
    plan->world = plans[index].world;
    const struct step none = {.kind = STEP_WAIT};
    for (unsigned i = 0; i < FIXED_STEPS_MAX; i++) {
        if (memcmp(&plans[index].step[i], &none, sizeof none) != 0) {
            plan->step[plan->steps] = plans[index].step[i];
            plan->step[plan->steps++].salt = plan->seed * PLAN_STEPS_MAX + i + 1;
        }
    }
    return plans[index].name;
}
