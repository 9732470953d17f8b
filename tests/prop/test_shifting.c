/* SPDX-License-Identifier: Apache-2.0 */
/* The 1.1 layout under the reader: a writer that renames, compresses and deletes, a step
 * at a time, between any two of the reader's opens. In the end the registry holds every
 * line once, in order. SEED=n repeats one run; ROUNDS=n runs more. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/dirs.h"
#include "tests/support/pick.h"
#include "tests/support/rig.h"
#include "tests/support/rig_backend.h"

#define ID      "33333333-3333-4333-8333-333333333333"
#define CHANNEL "scope"
#define KEPT    100
#define STEPS   60

/* ---- the writer, as the existing client 1.1 does it ---- */

enum phase {
    WRITES,
    SHIFTS,
    RETIRES,
    COMPRESSES,
    DELETES_RAW,
    CLOSES,
    DELETES_ACTIVE,
    OVER
};

static struct writer {
    char dir[600];
    enum phase phase;
    int shifting; /* the number that moves up next */
    int line;
    int rotations;
    bool compresses;
    bool wants_end;
    char *written;
    size_t len;
} writer;

static char *path_of(int index, bool gz)
{
    static char path[2][700];
    static int turn;
    char *out = path[turn ^= 1];
    if (index) {
        snprintf(out, sizeof path[0], "%s/" CHANNEL ".%d.log%s", writer.dir, index,
                 gz ? ".gz" : "");
    } else {
        snprintf(out, sizeof path[0], "%s/" CHANNEL ".log%s", writer.dir,
                 gz ? ".gz" : "");
    }
    return out;
}

static void append(const char *text)
{
    size_t n = strlen(text);
    dirs_append(writer.dir, CHANNEL ".log", text);
    writer.written = realloc(writer.written, writer.len + n + 1);
    memcpy(writer.written + writer.len, text, n + 1);
    writer.len += n;
}

static void write_line(void)
{
    char pad[900];
    char text[1200];
    size_t n = pick(8) ? pick(20) : pick(sizeof pad);
    memset(pad, 'x', n);
    pad[n] = '\0';
    snprintf(text, sizeof text,
             "{\"type\":\"x\",\"session_id\":\"" ID "\",\"n\":%d,\"pad\":\"%s\"}\n",
             writer.line++, pad);
    append(text);
}

/* Half of it first, as another step sees it; then the whole file. */
static void compress_file(int index, bool half)
{
    static char data[1 << 20];
    int fd = open(path_of(index, false), O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, data, sizeof data) : -1;
    if (fd >= 0) {
        close(fd);
    }
    assert_true(n > 0 && (size_t)n < sizeof data);
    gzFile file = gzopen(path_of(index, true), "wb");
    gzwrite(file, data, (unsigned)n);
    gzclose(file);
    struct stat st;
    if (half && stat(path_of(index, true), &st) == 0) {
        assert_int_equal(truncate(path_of(index, true), st.st_size / 2), 0);
    }
}

static void begin_rotation(void)
{
    unlink(path_of(KEPT, false));
    unlink(path_of(KEPT, true));
    writer.phase = SHIFTS;
    writer.shifting = KEPT - 1;
    writer.rotations++;
}

static void shift_one(void)
{
    for (; writer.shifting > 0; writer.shifting--) {
        for (int gz = 1; gz >= 0; gz--) {
            if (access(path_of(writer.shifting, gz), F_OK) == 0) {
                char *from = path_of(writer.shifting, gz);
                assert_int_equal(rename(from, path_of(writer.shifting + 1, gz)), 0);
                writer.shifting--;
                return;
            }
        }
    }
    writer.phase = RETIRES;
}

/* One step: what a reader may see before and after. */
static void writer_step(void)
{
    struct stat st;
    switch (writer.phase) {
    case WRITES:
        if (writer.wants_end) {
            append("{\"type\":\"shutdown\",\"session_id\":\"" ID "\"}\n");
            writer.phase = writer.compresses ? CLOSES : OVER;
        } else if (pick(4) == 0 && stat(path_of(0, false), &st) == 0 && st.st_size) {
            begin_rotation();
        } else {
            write_line();
        }
        break;
    case SHIFTS:
        shift_one();
        break;
    case RETIRES:
        rename(path_of(0, false), path_of(1, false));
        writer.phase = writer.compresses ? COMPRESSES : WRITES;
        break;
    case COMPRESSES:
        compress_file(1, pick(2));
        writer.phase = pick(2) ? COMPRESSES : DELETES_RAW;
        break;
    case DELETES_RAW:
        compress_file(1, false);
        unlink(path_of(1, false));
        writer.phase = WRITES;
        break;
    case CLOSES:
        compress_file(0, pick(2));
        writer.phase = pick(2) ? CLOSES : DELETES_ACTIVE;
        break;
    case DELETES_ACTIVE:
        compress_file(0, false);
        unlink(path_of(0, false));
        writer.phase = OVER;
        break;
    case OVER:
        break;
    }
}

/* ---- between any two opens ---- */

static unsigned in_between; /* of 100 opens so many find the writer a few steps further */

static int open_after_steps(int dir, const char *path, int flags, mode_t mode)
{
    if (in_between && pick(100) < in_between) {
        for (uint64_t n = pick(12) + 1; n > 0 && writer.rotations < KEPT / 2; n--) {
            writer_step();
        }
    }
    return sys_real.open_beneath(dir, path, flags, mode);
}

static void start(struct rig *rig, struct sys *sys)
{
    rig_open(rig);
    memset(&writer, 0, sizeof writer);
    snprintf(writer.dir, sizeof writer.dir, "%s/" ID, rig->root);
    mkdir(writer.dir, 0700);
    *sys = *rig->config.sys;
    sys->open_beneath = open_after_steps;
    rig->config.sys = sys;
    rig->config.max_requests_per_second = 0;
}

static void finish(struct rig *rig)
{
    rig_close(rig);
    free(writer.written);
}

static void settle(struct rig *rig)
{
    in_between = 0;
    writer.wants_end = true;
    while (writer.phase != OVER) {
        writer_step();
    }
    rig->silent = false;
    engine_retry_now(rig->engine);
    engine_rescan(rig->engine);
    rig_run(rig, 3600 * 1000, true);
}

static void compare(struct rig *rig)
{
    char *stored = rig_stored(rig, ID, CHANNEL);
    size_t at = 0;
    while (stored[at] && stored[at] == writer.written[at]) {
        at++;
    }
    if (stored[at] != writer.written[at]) {
        fail_msg("differs at byte %zu of %zu\nstored:  %.150s\nwritten: %.150s", at,
                 writer.len, stored + (at < 60 ? 0 : at - 60),
                 writer.written + (at < 60 ? 0 : at - 60));
    }
    free(stored);
}

static void one_round(uint64_t seed)
{
    static struct rig rig;
    struct sys sys;
    struct engine_summary s;
    pick_seed(seed);
    start(&rig, &sys);
    writer.compresses = pick(4) != 0;
    for (uint64_t n = pick(200); n > 0; n--) {
        writer_step(); /* what the reader finds at first */
    }
    rig.config.max_batch_lines = (uint32_t)pick(10) + 1;
    rig.config.max_batch_bytes = 4096;
    rig_start(&rig);
    for (int i = 0; i < STEPS; i++) {
        in_between = (unsigned)pick(30);
        switch (pick(6)) {
        case 0:
            rig_stop(&rig);
            rig_start(&rig);
            break;
        case 1:
            rig.silent = !rig.silent;
            break;
        default:
            for (uint64_t n = pick(20); n > 0 && writer.rotations < KEPT / 2; n--) {
                writer_step();
            }
            rig_run(&rig, pick(30000), false);
            break;
        }
    }
    settle(&rig);
    compare(&rig);
    engine_summary(rig.engine, &s);
    assert_int_equal(s.sessions_done, 1);
    finish(&rig);
}

static void every_line_arrives_once_while_names_shift(void **state)
{
    (void)state;
    const char *seed = getenv("SEED");
    const char *rounds = getenv("ROUNDS");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
    uint64_t last = seed ? first : rounds ? strtoull(rounds, NULL, 10) : 30;
    for (uint64_t s = first; s <= last; s++) {
        printf("SEED=%llu\r", (unsigned long long)s);
        fflush(stdout);
        one_round(s);
    }
    putchar('\n');
}

/* More rotations than are kept, between two looks: what is left is sent, in order and
 * once, and the session is not reported complete. */
static void what_the_writer_dropped_is_said(void **state)
{
    (void)state;
    static struct rig rig;
    struct sys sys;
    struct engine_summary s;
    pick_seed(7);
    start(&rig, &sys);
    in_between = 0;
    write_line();
    rig_start(&rig);
    rig_run(&rig, 5000, false);
    char *before = rig_stored(&rig, ID, CHANNEL);
    assert_string_equal(before, writer.written);
    free(before);
    while (writer.rotations < KEPT + 20 || writer.phase != WRITES) {
        writer_step();
    }
    settle(&rig);
    char *stored = rig_stored(&rig, ID, CHANNEL);
    size_t first = strcspn(stored, "\n") + 1;
    size_t rest = strlen(stored + first);
    assert_true(rest > 0 && rest < writer.len - first);
    assert_string_equal(stored + first, writer.written + writer.len - rest);
    engine_summary(rig.engine, &s);
    assert_int_equal(s.sessions_done, 0);
    free(stored);
    finish(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_arrives_once_while_names_shift),
        cmocka_unit_test(what_the_writer_dropped_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
