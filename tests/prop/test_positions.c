/* SPDX-License-Identifier: Apache-2.0 */
/* Random sessions against an origin that knows positions. The journal is lost, put back
 * from an old copy, exchanged for another or kept in memory, the process and the machine
 * die, the origin loses answers, restarts and goes back to a backup, a disk loses the end
 * of what was delivered: in the end the origin has every line once, in order, and knows
 * that it is complete. SEED=n repeats one run; ROUNDS=n runs more. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/dirs.h"
#include "tests/support/disk.h"
#include "tests/support/pick.h"
#include "tests/support/rig.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_positions.h"
#include "tests/support/teller.h"

#define SESSIONS 3
#define STEPS    60
#define COPIES   3

static const char *const channels[] = {"device", "scope", "system"};

struct model {
    struct live_session live;
    bool ended;
    int line;
    unsigned rotated[3];
    bool torn[3];
    bool cut[3];
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

static struct rig_positions backup;
static bool copied[COPIES];
static bool went_back;
static bool was_cut; /* the origin alone has some of the lines: it does not go back */

/* Any answer that leaves the line with us, or loses the answer to one that is stored. */
static int moody(struct rig *rig, const struct rig_request *r)
{
    static const int status[] = {0, 408, 425, 429, 500, 502, 503, 504, 401, 404};
    if (r->kind == TRANSPORT_PARTS && r->lines > 1 && pick(8) == 0) {
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

static void copy_state(const char *from, const char *to)
{
    char command[2400];
    snprintf(command, sizeof command, "rm -rf '%s'; cp -a '%s' '%s' 2>/dev/null || :", to,
             from, to);
    assert_int_equal(system(command), 0);
}

static void name_copy(const struct rig *rig, unsigned copy, char out[600])
{
    snprintf(out, 600, "%s.%u", rig->root, copy);
}

/* While no process has it: what others do to a state directory. */
static void harm_journal(struct rig *rig)
{
    unsigned copy = (unsigned)pick(COPIES);
    unsigned faults = disk_fault_percent();
    char state[600];
    char old[600];
    snprintf(state, sizeof state, "%s/.gpufl-agent", rig->root);
    name_copy(rig, copy, old);
    switch (pick(6)) {
    case 0:
        copy_state("/nonexistent", state); /* it is lost */
        break;
    case 1:
        copy_state(state, old);
        copied[copy] = true;
        break;
    case 2:
        if (copied[copy]) {
            copy_state(old, state);
        }
        break;
    case 3:
        rig->config.memory_state = !rig->config.memory_state;
        break;
    default:
        break;
    }
    disk_close(); /* whatever it knew of the directory is over */
    disk_open(rig->root);
    disk_faults(faults);
}

/* The process dies, or the machine: what was under way is not heard of. */
static void crash(struct rig *rig)
{
    disk_crash((enum disk_loss)pick(DISK_LOSS_KINDS));
    rig_stop(rig);
    disk_restore();
    harm_journal(rig);
    rig_start(rig);
    teller_begin(&teller, rig->engine);
}

static void new_epoch(struct rig *rig)
{
    static char version[256];
    rig->positions.epoch++;
    snprintf(version, sizeof version,
             "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
             "\"live_windows\":true,\"window_registry\":true,\"positions\":true,"
             "\"epoch\":\"%u\"}",
             rig->positions.epoch);
    rig->version_body = version;
}

static void restart_origin(struct rig *rig)
{
    unsigned epoch = rig->positions.epoch;
    if (pick(2)) {
        if (backup.declared && !was_cut && pick(2)) {
            rig_positions_copy(&rig->positions, &backup);
            went_back = true;
            rig->positions.epoch = epoch;
        } else {
            rig_positions_copy(&backup, &rig->positions);
        }
    }
    new_epoch(rig);
}

/* The writer is gone, the origin has all of the channel, and the disk loses the end of
 * its active file. Its first line stays, which shows whose the file is. */
static void cut_file(struct rig *rig, struct model *m, int c)
{
    const struct rig_stream *st =
        rig_positions_stream(&rig->positions, m->live.id, channels[c]);
    char path[700];
    struct stat file;
    snprintf(path, sizeof path, "%s/%s.log", m->live.dir, channels[c]);
    if (!m->ended || m->cut[c] || !st->raw || strcmp(st->raw, m->written[c]) != 0 ||
        stat(path, &file) < 0 || file.st_size == 0) {
        return;
    }
    const char *begin = m->written[c] + m->len[c] - file.st_size;
    size_t first = (size_t)(strchrnul(begin, '\n') - begin) + 1;
    if (first >= (size_t)file.st_size) {
        return;
    }
    size_t kept = first + pick((uint64_t)file.st_size - first);
    assert_int_equal(truncate(path, (off_t)kept), 0);
    teller_note(&teller, m->live.id, NULL);
    m->cut[c] = was_cut = true;
}

static void one_step(struct rig *rig)
{
    struct model *m = &model[pick(SESSIONS)];
    int c = (int)pick(3);
    switch (pick(13)) {
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
    case 8:
        restart_origin(rig);
        break;
    case 9:
        if (!m->ended && pick(4) == 0) {
            end(m);
        }
        break;
    case 10:
        cut_file(rig, m, c);
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

/* Of what was deleted before the origin went back, a part is missing and said to be. */
static void in_order_and_once(const char *stored, const char *written)
{
    for (const char *line = stored; *line;) {
        size_t len = (size_t)(strchrnul(line, '\n') - line) + 1;
        const char *found = written;
        while (found && strncmp(found, line, len) != 0) {
            found = strchr(found, '\n');
            found = found ? found + 1 : NULL;
        }
        if (!found) {
            fail_msg("twice, or out of order: %.200s", line);
        }
        written = found + len;
        line += len;
    }
}

static bool compare_session(struct rig *rig, const struct model *m)
{
    bool may_lack = went_back && rig->config.delete_acked == DELETE_ALL;
    bool whole = true;
    for (int c = 0; c < 3; c++) {
        const struct rig_stream *st =
            rig_positions_stream(&rig->positions, m->live.id, channels[c]);
        if (may_lack) { /* or its channel is held, as nothing proves where it ends */
            in_order_and_once(st->raw, m->written[c]);
            whole = whole && strcmp(st->raw, m->written[c]) == 0;
        } else {
            same(st->raw, m->written[c], channels[c]);
        }
    }
    int state = rig_positions_state(&rig->positions, m->live.id);
    /* It may have ended (2), also if nothing is missing: of a file that is gone, nobody
     * knows that nothing was behind the end. */
    assert_true(state == whole || (may_lack && state != 1));
    return state != 0;
}

/* \return the number of sessions that are complete, or have ended. */
static unsigned compare_all(struct rig *rig)
{
    unsigned closed = 0;
    for (int i = 0; i < SESSIONS; i++) {
        closed += compare_session(rig, &model[i]);
    }
    return closed;
}

static void finish_and_compare(struct rig *rig)
{
    disk_faults(0);
    rig->silent = false;
    rig->mark = 0;
    engine_retry_now(rig->engine);
    for (int i = 0; i < SESSIONS; i++) {
        if (!model[i].ended) {
            end(&model[i]);
        }
    }
    engine_rescan(rig->engine);
    rig_run(rig, 24ull * 3600 * 1000, false);
    struct engine_summary s;
    engine_summary(rig->engine, &s);
    assert_int_equal(s.sessions_done, compare_all(rig));
}

static void one_round(uint64_t seed)
{
    static struct rig rig;
    pick_seed(seed);
    rig_open(&rig);
    memset(model, 0, sizeof model);
    memset(copied, 0, sizeof copied);
    went_back = was_cut = false;
    rig_positions_fini(&backup);
    memset(&backup, 0, sizeof backup);
    for (int i = 0; i < SESSIONS; i++) {
        char id[40];
        snprintf(id, sizeof id, "%08d-1111-4111-8111-111111111111", i);
        live_open(&model[i].live, rig.root, id);
        for (int c = 0; c < 3; c++) {
            append(&model[i], c, "{\"type\":\"job_start\"}\n", true);
        }
    }
    rig.positions.declared = true;
    new_epoch(&rig);
    rig.answer = moody;
    rig.config.max_batch_lines = (uint32_t)pick(20) + 1;
    static const uint64_t slowest_ms[] = {1, 5000, 60000};
    rig.sync_ms = pick(slowest_ms[pick(3)]);
    rig.config.journal_bytes = pick(2) ? 2000 : 512u << 10;
    rig.config.flush_interval_ms = pick(2) * 500;
    rig.config.settled_sync_ms = pick(2) * 1000;
    rig.config.max_requests_per_second = 0;
    rig.config.delete_acked = pick(3) == 0 ? DELETE_ALL : DELETE_NEVER;
    rig_start(&rig);
    teller_begin(&teller, rig.engine);
    for (int i = 0; i < STEPS; i++) {
        one_step(&rig);
    }
    finish_and_compare(&rig);
    for (int i = 0; i < SESSIONS; i++) {
        for (int c = 0; c < 3; c++) {
            free(model[i].written[c]);
        }
    }
    for (unsigned i = 0; i < COPIES; i++) {
        char old[600];
        name_copy(&rig, i, old);
        copy_state("/nonexistent", old);
    }
    rig_close(&rig);
}

static void every_line_once_whatever_becomes_of_the_journal(void **state)
{
    (void)state;
    const char *seed = getenv("SEED");
    const char *rounds = getenv("ROUNDS");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
    uint64_t count = seed ? 1 : rounds ? strtoull(rounds, NULL, 10) : 40;
    for (uint64_t i = 0; i < count; i++) {
        fprintf(stderr, "SEED=%llu\n", (unsigned long long)(first + i));
        one_round(first + i);
    }
    rig_positions_fini(&backup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_once_whatever_becomes_of_the_journal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
