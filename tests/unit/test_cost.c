/* SPDX-License-Identifier: Apache-2.0 */
/* Four times as many sessions, with four times as many ranges in quarantine, directories
 * in the place of others and names, take some four times as long: none of them is looked
 * at for each other one. */
#include "tests/support/check.h"

#include <stdio.h>
#include <time.h>

#include "tests/support/ended_sessions.h"
#include "tests/support/rig_session.h"
#include "upload/core/strays.h"
#include "upload/lifecycle/replaced.h"
#include "upload/resolve/quarantine.h"

#define FEW          2000u
#define RUNS         2u
#define MOST_AS_LONG 8u

static uint64_t used_ns(void)
{
    struct timespec used;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void append_session(struct journal *journal, uint32_t id, bool forgotten)
{
    struct record_stream stream = {.stream = id, .kind = STREAM_BATCHED, .file = 2};
    struct record_quarantine range = {.stream = id, .file = 1, .end = 9, .lines = 1};
    snprintf(stream.path, sizeof stream.path, "session%u", id);
    snprintf(stream.channel, sizeof stream.channel, "device");
    assert_true(record_append_stream(journal, &stream) > 0);
    assert_true(record_append_quarantine(journal, &range) > 0);
    if (forgotten) {
        assert_true(record_append_session(journal, JOURNAL_FORGET, stream.path) > 0);
    }
}

/* A journal of so many sessions, each with one range in quarantine, and of as many that
 * are forgotten. */
static struct rig *rig_with(unsigned sessions)
{
    struct rig *rig = rig_new();
    rig->config.quarantine_ranges = 0;
    rig->config.journal_bytes = 1 << 30; /* it is not written anew */
    rig_start(rig);
    struct journal *journal = ended_root(rig)->journal;
    for (unsigned n = sessions; n > 0; n--) { /* the order that moves most */
        append_session(journal, n, false);
    }
    for (unsigned n = 0; n < sessions; n++) {
        append_session(journal, sessions + 1 + n, true);
    }
    journal_want(journal);
    journal_pump(journal);
    rig_stop(rig);
    return rig;
}

static void start(struct rig *rig)
{
    rig_start(rig);
}

static void start_anew(struct rig *rig)
{
    rig->config.force = true;
    rig_start(rig);
}

/* As `gpufl quarantine drop --all`. */
static void drop_all(struct rig *rig)
{
    struct quarantined range;
    while (quarantine_at(rig->engine, 0, &range)) {
        assert_int_equal(quarantine_release(rig->engine, &range, false), GPUFL_OK);
    }
}

/* All of them have another directory in their place, and a listing comes to as many
 * names. */
static void look_for_strays(struct rig *rig)
{
    struct root *root = ended_root(rig);
    for (struct session *s = root->sessions; s; s = s->next) {
        s->stray = 1;
        s->directory.mark = (uintptr_t)s;
        assert_true(strays_add(root, s));
    }
    for (unsigned i = 0; i < root->by_path.count; i++) {
        replaced_visit(root, ".");
    }
    for (struct session *s = root->sessions; s; s = s->next) {
        s->stray = 0;
    }
}

static uint64_t cost_of(struct rig *rig, void (*act)(struct rig *rig))
{
    uint64_t began = used_ns();
    act(rig);
    return used_ns() - began;
}

struct cost {
    uint64_t start, strays, anew, drop;
};

static void cost_at_most(uint64_t *least, uint64_t cost)
{
    *least = !*least || cost < *least ? cost : *least;
}

static struct cost cost_with(unsigned sessions)
{
    struct cost least = {0};
    for (unsigned i = 0; i < RUNS; i++) {
        struct rig *rig = rig_with(sessions);
        cost_at_most(&least.start, cost_of(rig, start));
        assert_int_equal(rig_summary(rig).ranges_quarantined, sessions);
        cost_at_most(&least.strays, cost_of(rig, look_for_strays));
        rig_stop(rig);
        cost_at_most(&least.anew, cost_of(rig, start_anew));
        assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
        rig_delete(rig);
        rig = rig_with(sessions);
        rig_start(rig);
        cost_at_most(&least.drop, cost_of(rig, drop_all));
        assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
        rig_delete(rig);
    }
    return least;
}

static void grows_as(const char *what, uint64_t few, uint64_t many)
{
    print_message("%s: %llu and %llu us\n", what, (unsigned long long)few / 1000,
                  (unsigned long long)many / 1000);
    assert_true(many < MOST_AS_LONG * few);
}

static void the_cost_grows_as_the_number_of_sessions(void **state)
{
    (void)state;
    struct cost few = cost_with(FEW);
    struct cost many = cost_with(4 * FEW);
    grows_as("start", few.start, many.start);
    grows_as("strays", few.strays, many.strays);
    grows_as("start with --force", few.anew, many.anew);
    grows_as("drop --all", few.drop, many.drop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cost_grows_as_the_number_of_sessions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
