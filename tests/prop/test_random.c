/* SPDX-License-Identifier: Apache-2.0 */
/* Random sessions, random answers, a disk that fails and forgets, random deaths, against
 * a model: in the end the registry holds every line once, in order. SEED=n repeats one
 * run; ROUNDS=n runs more.
 */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/dirs.h"
#include "tests/support/disk.h"
#include "tests/support/pick.h"
#include "tests/support/rig.h"
#include "tests/support/rig_backend.h"
#include "tests/support/teller.h"

#define SESSIONS 3
#define STEPS    60

static const char *const channels[] = {"device", "scope", "system"};

struct model {
    struct live_session live;
    bool ended;
    int line;
    unsigned rotated[3];
    bool torn[3];
    char *written[3]; /* what the registry must hold in the end */
    size_t len[3];
};

static struct model model[SESSIONS];
static struct teller teller;

static void append(struct model *m, int c, const char *text, bool whole)
{
    char name[32];
    snprintf(name, sizeof name, "%s.log", channels[c]);
    dirs_append(m->live.dir, name, text);
    size_t n = strlen(text);
    m->written[c] = realloc(m->written[c], m->len[c] + n + 1);
    memcpy(m->written[c] + m->len[c], text, n + 1);
    m->len[c] += n;
    m->torn[c] = !whole;
    teller_note(&teller, m->live.id, name);
}

static void finish_torn(struct model *m, int c)
{
    if (m->torn[c]) {
        append(m, c, "\"end\":true}\n", true);
    }
}

static void write_lines(struct model *m, int c)
{
    char text[256];
    finish_torn(m, c);
    for (uint64_t n = pick(12) + 1; n > 0; n--) {
        snprintf(text, sizeof text, "{\"type\":\"x\",\"session_id\":\"%s\",\"n\":%d}\n",
                 m->live.id, m->line++);
        append(m, c, text, true);
    }
    if (pick(4) == 0) {
        snprintf(text, sizeof text, "{\"type\":\"x\",\"session_id\":\"%s\",\"n\":%d,",
                 m->live.id, m->line++);
        append(m, c, text, false);
    }
}

static void rotate(struct model *m, int c)
{
    for (uint64_t times = pick(4); times > 0; times--) {
        write_lines(m, c);
        finish_torn(m, c);
        live_rotate(&m->live, channels[c], ++m->rotated[c]);
        char name[32];
        snprintf(name, sizeof name, "%s.log", channels[c]);
        dirs_append(m->live.dir, name, "");
        teller_note(&teller, m->live.id, NULL);
    }
}

static void end(struct model *m)
{
    char text[128];
    for (int c = 0; c < 3; c++) {
        finish_torn(m, c);
        snprintf(text, sizeof text, "{\"type\":\"shutdown\",\"session_id\":\"%s\"}\n",
                 m->live.id);
        append(m, c, text, true);
    }
    live_close(&m->live);
    teller_note(&teller, m->live.id, NULL);
    m->ended = true;
}

/* Any answer that leaves the line with us, or loses the answer to one that is stored. */
static int moody(struct rig *rig, const struct rig_request *r)
{
    static const int status[] = {0, 408, 425, 429, 500, 502, 503, 504, 401, 404};
    if (r->kind == TRANSPORT_BATCH && r->lines > 1 && pick(8) == 0 &&
        !rig_knows(rig, r)) {
        return 413;
    }
    if (pick(100) >= (uint64_t)rig->mark) {
        return RIG_REGISTRY;
    }
    if (pick(3) == 0) {
        return RIG_LOST;
    }
    return status[pick(sizeof status / sizeof status[0])];
}

/* The process dies, or the machine: what was under way is not heard of. */
static void crash(struct rig *rig)
{
    disk_crash((enum disk_loss)pick(DISK_LOSS_KINDS));
    rig_stop(rig);
    disk_restore();
    rig_start(rig);
    teller_begin(&teller, rig->engine);
}

static void one_step(struct rig *rig)
{
    struct model *m = &model[pick(SESSIONS)];
    int c = (int)pick(3);
    switch (pick(10)) {
    case 0:
    case 1:
    case 2:
        if (!m->ended) {
            write_lines(m, c);
            if (pick(2)) {
                teller_tell(&teller, m->live.id);
            }
        }
        break;
    case 3:
        if (!m->ended) {
            rotate(m, c);
        }
        break;
    case 4:
        crash(rig);
        break;
    case 5:
        rig->silent = !rig->silent;
        break;
    case 6:
        rig->mark = (int)pick(90);
        break;
    case 7:
        disk_faults(pick(2) ? (unsigned)pick(30) : 0);
        break;
    default:
        rig_run(rig, pick(20000), false);
        teller_ask(&teller);
        if (pick(2)) {
            teller_tell(&teller, NULL);
        }
        break;
    }
}

/* Until what nobody watches was looked at, and all that happened was told. */
static void tell_all(struct rig *rig)
{
    for (int i = 0; i < 3; i++) {
        rig_run(rig, rig->config.rescan_interval_ms + 1, false);
        teller_ask(&teller);
        teller_tell(&teller, NULL);
    }
}

/* Says where two texts part, not all of both. */
static void same(const char *stored, const char *written, const char *channel)
{
    size_t at = 0;
    while (stored[at] && stored[at] == written[at]) {
        at++;
    }
    if (stored[at] != written[at]) {
        size_t from = at < 100 ? 0 : at - 100;
        fail_msg("%s differs at byte %zu\nstored:  %.200s\nwritten: %.200s", channel, at,
                 stored + from, written + from);
    }
}

static void compare_all(struct rig *rig)
{
    assert_true(engine_drained(rig->engine));
    for (int i = 0; i < SESSIONS; i++) {
        for (int c = 0; c < 3; c++) {
            char *stored = rig_stored(rig, model[i].live.id, channels[c]);
            same(stored, model[i].written[c], channels[c]);
            free(stored);
        }
    }
}

/* While the jobs still run, with a good backend that takes its time: what the engine
 * takes for all must be all. */
static void compare_live(struct rig *rig)
{
    for (int i = 0; i < 20; i++) {
        struct model *m = &model[pick(SESSIONS)];
        rig->silent = pick(2);
        for (uint64_t n = pick(3); n > 0 && !m->ended; n--) {
            write_lines(m, (int)pick(3));
        }
        teller_tell(&teller, NULL);
        rig_run(rig, pick(400), false);
        teller_ask(&teller);
    }
    rig->silent = false;
    for (int i = 0; i < SESSIONS; i++) {
        for (int c = 0; c < 3; c++) {
            finish_torn(&model[i], c);
        }
    }
    tell_all(rig);
    rig_run(rig, 24ull * 3600 * 1000, true);
    compare_all(rig);
}

static void ack_and_compare(struct rig *rig)
{
    disk_faults(0);
    rig->silent = false;
    rig->mark = 0;
    engine_retry_now(rig->engine);
    if (pick(2)) {
        compare_live(rig);
    }
    for (int i = 0; i < SESSIONS; i++) {
        if (!model[i].ended) {
            end(&model[i]);
        }
    }
    if (pick(2)) {
        engine_rescan(rig->engine);
    } else {
        tell_all(rig);
    }
    rig_run(rig, 24ull * 3600 * 1000, true);
    compare_all(rig);
    struct engine_summary s;
    engine_summary(rig->engine, &s);
    assert_int_equal(s.sessions_done, SESSIONS);
}

static void one_round(uint64_t seed)
{
    static struct rig rig;
    pick_seed(seed);
    rig_open(&rig);
    memset(model, 0, sizeof model);
    for (int i = 0; i < SESSIONS; i++) {
        char id[40];
        snprintf(id, sizeof id, "%08d-1111-4111-8111-111111111111", i);
        live_open(&model[i].live, rig.root, id);
        for (int c = 0; c < 3; c++) {
            append(&model[i], c, "{\"type\":\"job_start\"}\n", true);
        }
    }
    rig.answer = moody;
    rig.config.max_batch_lines = (uint32_t)pick(20) + 1;
    static const uint64_t slowest_ms[] = {1, 5000, 60000};
    rig.sync_ms = pick(slowest_ms[pick(3)]);
    rig.config.journal_bytes = pick(2) ? 2000 : 512u << 10;
    rig.config.flush_interval_ms = pick(2) * 500;
    rig.config.settled_sync_ms = pick(2) * 1000;
    rig.config.max_requests_per_second = 0;
    rig.config.delete_acked = pick(2) ? DELETE_ALL : DELETE_NEVER;
    rig_start(&rig);
    teller_begin(&teller, rig.engine);
    for (int i = 0; i < STEPS; i++) {
        one_step(&rig);
    }
    ack_and_compare(&rig);
    for (int i = 0; i < SESSIONS; i++) {
        for (int c = 0; c < 3; c++) {
            free(model[i].written[c]);
        }
    }
    rig_close(&rig);
}

static void every_line_once_whatever_happens(void **state)
{
    (void)state;
    const char *seed = getenv("SEED");
    const char *rounds = getenv("ROUNDS");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
    uint64_t count = seed ? 1 : rounds ? strtoull(rounds, NULL, 10) : 60;
    for (uint64_t i = 0; i < count; i++) {
        fprintf(stderr, "SEED=%llu\n", (unsigned long long)(first + i));
        one_round(first + i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_once_whatever_happens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
