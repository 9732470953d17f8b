/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine takes for the file that it was reading, and what it does if that file
 * is gone. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "schema/layout.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"

/* A line that does not begin a channel. */
static void later_line(const struct live_session *s, const char *channel, int n)
{
    char name[64];
    char text[160];
    snprintf(name, sizeof name, "%s.log", channel);
    snprintf(text, sizeof text, "{\"type\":\"x\",\"session_id\":\"%s\",\"n\":%d}\n",
             s->id, n);
    dirs_append(s->dir, name, text);
}

static void remove_file(const struct live_session *s, const char *name)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    assert_int_equal(unlink(path), 0);
}

static void assert_stored(struct rig *rig, const char *channel, const char *numbers)
{
    char found[256] = "";
    char *stored = rig_stored(rig, RIG_ID, channel);
    for (const char *at = stored; (at = strstr(at, "\"n\":")); at++) {
        char number[16];
        snprintf(number, sizeof number, "%d ", atoi(at + 4));
        strncat(found, number, sizeof found - strlen(found) - 1);
    }
    assert_string_equal(found, numbers);
    free(stored);
}

static void rig_again(struct rig *rig)
{
    rig_stop(rig);
    rig_start(rig);
    rig_run(rig, 20000, false);
}

static void a_channel_without_its_first_record_is_sent_and_never_complete(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    later_line(&s, "device", 61);
    rig_start(rig);
    rig_run(rig, 20000, false);
    later_line(&s, "device", 62);
    live_close(&s);
    rig_again(rig);
    assert_stored(rig, "device", "61 62 ");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    rig_delete(rig);
}

static void a_file_whose_number_was_unknown_is_known_once_it_is_sealed(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    later_line(&s, "device", 61);
    rig_start(rig);
    rig_run(rig, 20000, false);
    later_line(&s, "device", 62);
    live_rotate(&s, "device", 4);
    later_line(&s, "device", 63);
    rig_run(rig, 70000, false);
    live_close(&s);
    rig_again(rig);
    assert_stored(rig, "device", "61 62 63 ");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    rig_delete(rig);
}

/* Two lines are sent; then three files are sealed and deleted. */
static struct rig *rig_that_lost_sealed_files(struct live_session *s, bool restart)
{
    struct rig *rig = rig_new();
    live_open(s, rig->root, RIG_ID);
    live_line(s, "device", "job_start", 1);
    live_line(s, "device", "x", 2);
    rig_start(rig);
    rig_run(rig, 20000, false);
    if (restart) {
        rig_stop(rig);
    }
    for (int n = 1; n <= 3; n++) {
        char name[32];
        later_line(s, "device", 10 * n);
        live_rotate(s, "device", (unsigned)n);
        snprintf(name, sizeof name, "device.%d.log", n);
        remove_file(s, name);
    }
    later_line(s, "device", 40);
    for (int n = 41; n < 50; n++) {
        later_line(s, "device", n);
    }
    if (restart) {
        rig_start(rig);
    }
    rig_run(rig, 70000, false);
    live_close(s);
    rig_run(rig, 70000, false);
    return rig;
}

static void the_active_file_is_not_taken_for_one_that_was_deleted(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct live_session s;
        struct rig *rig = rig_that_lost_sealed_files(&s, restart);
        assert_stored(rig, "device", "1 2 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        rig_delete(rig);
    }
}

static int away(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && rig->mark == 0 ? 503 : RIG_REGISTRY;
}

static void an_offer_whose_file_is_gone_does_not_take_another_ones_bytes(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    rig->answer = away;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    live_line(&s, "device", "x", 2);
    rig_start(rig);
    rig_run(rig, 20000, false);
    rig_stop(rig);
    live_rotate(&s, "device", 1);
    remove_file(&s, "device.1.log");
    live_line(&s, "device", "job_start",
              3); /* as long, and even its beginning is alike */
    live_line(&s, "device", "x", 4);
    rig->mark = 1;
    rig_start(rig);
    rig_run(rig, 600000, false);
    live_close(&s);
    rig_run(rig, 600000, false);
    assert_stored(rig, "device", "");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    rig_delete(rig);
}

static void the_newest_sealed_file_is_missed_after_a_restart(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    rig->answer = away;
    live_open(&s, rig->root, RIG_ID);
    for (int n = 1; n <= 3; n++) {
        live_line(&s, "device", n == 1 ? "job_start" : "x", n);
        live_rotate(&s, "device", (unsigned)n);
    }
    later_line(&s, "device", 4);
    rig_start(rig);
    rig_run(rig, 20000, false);
    rig_stop(rig);
    remove_file(&s, "device.3.log");
    rig->mark = 1;
    rig_start(rig);
    rig_run(rig, 600000, false);
    live_close(&s);
    rig_run(rig, 600000, false);
    assert_stored(rig, "device", "1 2 ");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    rig_delete(rig);
}

/* All that follows is bytes that were sent already, so the rest of the session goes on.
 */
static void a_file_that_was_cut_holds_its_channel_alone(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    char path[700];
    live_open(&s, rig->root, RIG_ID);
    for (int n = 0; n < 6; n++) {
        live_line(&s, "device", "x", n);
        live_line(&s, "scope", "x", n);
        live_line(&s, "system", "x", n);
    }
    rig_start(rig);
    rig_run(rig, 20000, false);
    rig_stop(rig);
    snprintf(path, sizeof path, "%s/device.log", s.dir);
    assert_int_equal(truncate(path, 100), 0);
    live_line(&s, "scope", "x", 6);
    live_line(&s, "system", "x", 6);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 70000, false);
    rig_same_as_file(rig, RIG_ID, "scope");
    rig_same_as_file(rig, RIG_ID, "system");
    assert_stored(rig, "device", "0 1 2 3 4 5 ");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    rig_delete(rig);
}

static void a_file_that_was_cut_and_written_anew_is_another_one(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    char path[700];
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    live_line(&s, "device", "x", 2);
    rig_start(rig);
    rig_run(rig, 20000, false);
    rig_stop(rig);
    snprintf(path, sizeof path, "%s/device.log", s.dir);
    assert_int_equal(truncate(path, 0), 0);
    live_line(&s, "device", "job_start", 3);
    live_line(&s, "device", "x", 4);
    live_line(&s, "device", "x", 5);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 70000, false);
    assert_stored(rig, "device", "1 2 ");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    rig_delete(rig);
}

static void a_damaged_manifest_holds_the_session_until_it_is_back(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    char from[700];
    char to[700];
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    live_rotate(&s, "device", 1);
    later_line(&s, "device", 2);
    rig_start(rig);
    rig_run(rig, 20000, false);
    rig_stop(rig);
    later_line(&s, "device", 3);
    live_rotate(&s, "device", 2);
    later_line(&s, "device", 4);
    live_close(&s);
    snprintf(from, sizeof from, "%s/" LAYOUT_MANIFEST, s.dir);
    snprintf(to, sizeof to, "%s/kept", rig->root);
    assert_int_equal(rename(from, to), 0);
    for (int empty = 0; empty < 2; empty++) {
        if (empty) {
            dirs_append(s.dir, LAYOUT_MANIFEST, "");
        }
        rig_start(rig);
        rig_run(rig, 70000, false);
        assert_stored(rig, "device", "1 2 ");
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        rig_stop(rig);
    }
    assert_int_equal(rename(to, from), 0);
    rig_start(rig);
    rig_run(rig, 70000, false);
    assert_stored(rig, "device", "1 2 3 4 ");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

static void an_empty_manifest_does_not_make_another_layout(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    char path[700];
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    live_rotate(&s, "device", 1);
    later_line(&s, "device", 2);
    live_close(&s);
    snprintf(path, sizeof path, "%s/" LAYOUT_MANIFEST, s.dir);
    assert_int_equal(truncate(path, 0), 0);
    rig_start(rig);
    rig_run(rig, 70000, false);
    assert_stored(rig, "device", "");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    rig_delete(rig);
}

/* The 1.1 layout: a file is known by its first line and by what was sent of it. */
static void files_that_begin_with_the_same_line_are_told_apart(void **state)
{
    (void)state;
    static const char head[] = "{\"type\":\"process_info\",\"app\":\"train\"}\n";
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_new();
        struct live_session s = {.id = RIG_ID};
        char active[700];
        char rotated[700];
        snprintf(s.dir, sizeof s.dir, "%s/" RIG_ID, rig->root);
        snprintf(active, sizeof active, "%s/device.log", s.dir);
        snprintf(rotated, sizeof rotated, "%s/device.1.log", s.dir);
        assert_int_equal(mkdir(s.dir, 0700), 0);
        dirs_append(s.dir, "device.log", head);
        later_line(&s, "device", 1);
        rig_start(rig);
        rig_run(rig, 20000, false);
        if (restart) {
            rig_stop(rig);
        }
        later_line(&s, "device", 2);
        assert_int_equal(rename(active, rotated), 0);
        dirs_append(s.dir, "device.log", head);
        for (int n = 3; n < 9; n++) {
            later_line(&s, "device", n);
        }
        if (restart) {
            rig_start(rig);
        }
        rig_run(rig, 70000, false);
        assert_stored(rig, "device", "1 2 3 4 5 6 7 8 ");
        rig_delete(rig);
    }
}

/* Begins an active file of the 1.1 layout, whose first line is that of all others. */
static void begin_alike(const struct live_session *s, int from, int to)
{
    dirs_append(s->dir, "device.log", "{\"type\":\"process_info\",\"app\":\"train\"}\n");
    for (int n = from; n < to; n++) {
        later_line(s, "device", n);
    }
}

static void rename_file(const struct live_session *s, const char *from, const char *to)
{
    char before[700];
    char after[700];
    snprintf(before, sizeof before, "%s/%s", s->dir, from);
    snprintf(after, sizeof after, "%s/%s", s->dir, to);
    assert_int_equal(rename(before, after), 0);
}

/* The writer deletes old files, so counting files does not tell which one it was. */
static void files_that_begin_alike_are_told_apart_though_the_oldest_is_gone(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s = {.id = RIG_ID};
    snprintf(s.dir, sizeof s.dir, "%s/" RIG_ID, rig->root);
    assert_int_equal(mkdir(s.dir, 0700), 0);
    begin_alike(&s, 1, 2);
    rig_start(rig);
    rig_run(rig, 20000, false);
    rename_file(&s, "device.log", "device.1.log");
    begin_alike(&s, 2, 3);
    rig_run(rig, 20000, false);
    assert_stored(rig, "device", "1 2 ");
    rig_stop(rig);
    later_line(&s, "device", 3);
    remove_file(&s, "device.1.log");
    rename_file(&s, "device.log", "device.1.log");
    begin_alike(&s, 4, 6);
    rig_start(rig);
    rig_run(rig, 70000, false);
    assert_stored(rig, "device", "1 2 3 4 5 ");
    rig_delete(rig);
}

/* Another program empties the active file of a living writer. */
static void empty_file(const struct live_session *s, const char *name)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    assert_int_equal(truncate(path, 0), 0);
}

static void more_lines(const struct live_session *s, const char *channel, int from,
                       int to)
{
    for (int n = from; n < to; n++) {
        later_line(s, channel, n);
    }
}

static void a_file_that_is_emptied_and_grows_again_holds_its_channel(void **state)
{
    (void)state;
    for (int seen_short = 0; seen_short < 2; seen_short++) {
        struct rig *rig = rig_new();
        struct live_session s;
        live_open(&s, rig->root, RIG_ID);
        live_line(&s, "device", "job_start", 1);
        live_line(&s, "device", "x", 2);
        rig_start(rig);
        rig_run(rig, 20000, false);
        empty_file(&s, "device.log");
        later_line(&s, "device", 3);
        if (seen_short) {
            rig_run(rig, 70000, false);
        }
        more_lines(&s, "device", 4, 20);
        rig_run(rig, 70000, false);
        live_close(&s);
        rig_run(rig, 70000, false);
        assert_stored(rig, "device", "1 2 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        rig_delete(rig);
    }
}

static void a_cut_file_that_gets_its_bytes_back_goes_on(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    more_lines(&s, "device", 2, 200); /* more than a mark covers */
    rig_start(rig);
    rig_run(rig, 20000, false);
    unsigned sent = rig->requests;
    empty_file(&s, "device.log");
    rig_run(rig, 70000, false);
    assert_int_equal(rig->requests, sent);
    live_line(&s, "device", "job_start", 1);
    more_lines(&s, "device", 2, 200);
    live_line(&s, "device", "shutdown", 200);
    rig_run(rig, 70000, false);
    live_close(&s);
    rig_run(rig, 70000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    assert_true(rig->requests > sent);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

static void an_open_offer_does_not_hide_that_its_file_was_emptied(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    rig->answer = away;
    rig->mark = 1;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    rig_start(rig);
    rig_run(rig, 20000, false);
    rig->mark = 0;
    later_line(&s, "device", 2);
    rig_run(rig, 20000, false);
    empty_file(&s, "device.log");
    more_lines(&s, "device", 3, 20);
    rig->mark = 1;
    rig_run(rig, 600000, false);
    live_close(&s);
    rig_run(rig, 600000, false);
    assert_stored(rig, "device", "1 2 ");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    rig_delete(rig);
}

/* The 1.1 layout: the file keeps its first line, too. */
static void a_plain_file_that_is_emptied_and_grows_again_is_held(void **state)
{
    (void)state;
    static const char head[] = "{\"type\":\"process_info\",\"app\":\"train\"}\n";
    struct rig *rig = rig_new();
    struct live_session s = {.id = RIG_ID};
    snprintf(s.dir, sizeof s.dir, "%s/" RIG_ID, rig->root);
    assert_int_equal(mkdir(s.dir, 0700), 0);
    dirs_append(s.dir, "device.log", head);
    more_lines(&s, "device", 1, 3);
    rig->config.orphan_timeout_ms = 600000;
    rig_start(rig);
    rig_run(rig, 20000, false);
    empty_file(&s, "device.log");
    dirs_append(s.dir, "device.log", head);
    more_lines(&s, "device", 3, 20);
    rig_run(rig, 900000, false);
    assert_stored(rig, "device", "1 2 ");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    rig_delete(rig);
}

/* A complete session of one channel, whose lock is free. */
static struct rig *rig_complete(struct live_session *s)
{
    struct rig *rig = rig_new();
    live_open(s, rig->root, RIG_ID);
    live_line(s, "device", "job_start", 1);
    live_line(s, "device", "x", 2);
    live_close(s);
    rig_start(rig);
    rig_run(rig, 20000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    return rig;
}

static void growth_after_the_end_is_sent_and_the_end_reported_again(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct live_session s;
        struct rig *rig = rig_complete(&s);
        if (restart) {
            rig_stop(rig);
        }
        later_line(&s, "device", 3);
        live_rotate(&s, "device", 1);
        later_line(&s, "device", 4);
        live_line(&s, "scope", "job_start", 1);
        if (restart) {
            rig_start(rig);
        }
        rig_run(rig, 700000, false);
        assert_stored(rig, "device", "1 2 3 4 ");
        assert_stored(rig, "scope", "1 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
        unsigned last = rig->requests - 1;
        while (rig->request[last].kind == TRANSPORT_PROBE) {
            last--; /* what the backend declares is asked now and then */
        }
        assert_int_equal(rig->request[last].kind, TRANSPORT_COMPLETE);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_again(rig);
        rig_run(rig, 700000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
        rig_delete(rig);
    }
}

/* The journal says that the session is open again before anything of it is sent. */
/* The writer's lock is not visible: it is of another host, or of a guest. */
static void a_free_lock_of_another_boot_does_not_end_a_session(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    remove_file(&s, LAYOUT_MANIFEST);
    dirs_append(s.dir, LAYOUT_MANIFEST,
                "{\"schema_version\":1,\"layout\":\"live\",\"session_id\":\"" RIG_ID
                "\",\"pid\":1,\"boot_id\":\"11111111-1111-4111-8111-111111111111\"}");
    live_line(&s, "device", "job_start", 1);
    live_close(&s);
    rig->config.orphan_timeout_ms = 600000;
    rig_start(rig);
    rig_run(rig, 500000, false);
    assert_stored(rig, "device", "1 ");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    later_line(&s, "device", 2);
    rig_run(rig, 500000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    rig_run(rig, 200000, false); /* killed, it seems */
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    later_line(&s, "device", 3); /* but it was only quiet */
    rig_run(rig, 900000, false);
    assert_stored(rig, "device", "1 2 3 ");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
    rig_delete(rig);
}

static void pack_active(const struct live_session *s, const char *channel)
{
    char data[4096];
    char from[700];
    char to[700];
    snprintf(from, sizeof from, "%s/%s.log", s->dir, channel);
    snprintf(to, sizeof to, "%s/%s.log.gz", s->dir, channel);
    FILE *plain = fopen(from, "r");
    assert_non_null(plain);
    size_t n = fread(data, 1, sizeof data, plain);
    fclose(plain);
    gzFile packed = gzopen(to, "wb");
    assert_int_equal(gzwrite(packed, data, (unsigned)n), n);
    gzclose(packed);
    assert_int_equal(unlink(from), 0);
}

/* As the existing uploader does it, also with the active file of a living writer. */
static void an_active_file_that_was_compressed_is_read(void **state)
{
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        struct rig *rig = rig_new();
        struct live_session s;
        live_open(&s, rig->root, RIG_ID);
        live_line(&s, "device", "job_start", 1);
        live_line(&s, "scope", "job_start", 1);
        rig_start(rig);
        rig_run(rig, 20000, false);
        later_line(&s, "device", 2);
        later_line(&s, "device", 3);
        if (whole) {
            live_line(&s, "device", "shutdown", 4);
        }
        pack_active(&s, "device");
        rig_run(rig, 70000, false);
        live_line(&s, "scope", "shutdown", 2);
        live_close(&s);
        rig_again(rig);
        rig_run(rig, 70000, false);
        assert_stored(rig, "device", whole ? "1 2 3 4 " : "1 2 3 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), whole);
        assert_int_equal(rig_summary(rig).sessions_blocked, !whole);
        rig_delete(rig);
    }
}

/* A copy lies beside the active file, which is removed later, as is the sealed one that
 * it may be of; its writer went on writing, and died. */
static void what_was_told_of_an_active_file_that_is_gone_is_missed(void **state)
{
    (void)state;
    for (int sealed = 0; sealed < 2; sealed++) {
        struct rig *rig = rig_new();
        struct live_session s;
        live_open(&s, rig->root, RIG_ID);
        live_line(&s, "device", "job_start", 1);
        live_line(&s, "device", "x", 2);
        rig_start(rig);
        rig_run(rig, 20000, false);
        pack_active(&s, "device");
        live_line(&s, "device", "job_start", 1); /* the name is back */
        live_line(&s, "device", "x", 2);
        rig_run(rig, 20000, false);
        if (sealed) {
            live_rotate(&s, "device", 1);
            live_line(&s, "device", "x", 3);
            rig_run(rig, 20000, false);
            remove_file(&s, "device.1.log");
        }
        live_tell(&s, NULL, "device", 1 + sealed, 4000);
        rig_run(rig, 70000, false);
        remove_file(&s, "device.log");
        live_close(&s);
        rig_run(rig, 70000, false);
        assert_stored(rig, "device", sealed ? "1 2 3 " : "1 2 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        rig_delete(rig);
    }
}

static void device_stat(const struct live_session *s, struct stat *st)
{
    char path[700];
    snprintf(path, sizeof path, "%s/device.log", s->dir);
    assert_int_equal(stat(path, st), 0);
}

struct left_case {
    struct live_told told; /* more than what is there */
    const char *boot_id;
    bool shutdown;
    bool held;
};

/* Its writer, which was killed, told what it wrote to which file. */
static void an_active_file_that_is_not_what_its_writer_left_is_held(void **state)
{
    (void)state;
    static const struct left_case cases[] = {
        {.told = {.bytes = 90}},                            /* it was about to */
        {.told = {.bytes = 90, .before = 1}, .held = true}, /* it was cut off */
        {.told = {.bytes = 90, .before = 1}, .shutdown = true, .held = true},
        {.told = {.bytes = 90, .before = 1}, .boot_id = "another"},
        {.told = {.bytes = 90, .before = 1, .torn = true}},
        {.told = {.inode = 1}}, /* it was compressed and restored */
        {.told = {.inode = 1, .bytes = 90}, .held = true},
        {.told = {.inode = 1, .bytes = -1, .before = -1},
         .held = true}, /* it was edited */
        {.told = {.inode = 1, .bytes = -1, .before = -1}, .shutdown = true},
        {.told = {.inode = 1, .bytes = 90, .copied = true}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int late = 0; late < 2; late++) {
            struct rig *rig = rig_new();
            struct live_session s;
            struct live_told told = cases[i].told;
            struct stat st;
            live_open(&s, rig->root, RIG_ID);
            live_line(&s, "device", cases[i].shutdown ? "shutdown" : "x", 1);
            device_stat(&s, &st);
            told.bytes += st.st_size;
            told.before += st.st_size;
            told.inode += (long)st.st_ino;
            live_tell_file(&s, cases[i].boot_id, &told);
            if (late) {
                live_close(&s);
            }
            rig_start(rig);
            rig_run(rig, 20000, false);
            if (!late) {
                live_close(&s);
            }
            rig_run(rig, 70000, false);
            rig_again(rig);
            rig_run(rig, 70000, false);
            if (rig_count(rig, TRANSPORT_COMPLETE) != !cases[i].held ||
                rig_summary(rig).sessions_blocked != cases[i].held) {
                fail_msg("case %zu, late %d", i, late);
            }
            rig_delete(rig);
        }
    }
}

static void an_active_file_that_is_gone_holds_its_channel_until_it_is_back(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    live_line(&s, "scope", "job_start", 1);
    rig_start(rig);
    rig_run(rig, 20000, false);
    remove_file(&s, "device.log");
    live_line(&s, "scope", "shutdown", 2);
    live_close(&s);
    rig_run(rig, 70000, false);
    rig_again(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    later_line(&s, "device", 1); /* not the file that was there */
    rig_run(rig, 70000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    remove_file(&s, "device.log");
    live_line(&s, "device", "job_start", 1);
    live_line(&s, "device", "shutdown", 2);
    rig_run(rig, 70000, false);
    assert_stored(rig, "device", "1 2 ");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

/* All of the sealed file is sent; nothing of the active one was read. */
static void an_active_file_that_was_never_read_is_missed(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_new();
        struct live_session s;
        live_open(&s, rig->root, RIG_ID);
        live_line(&s, "device", "job_start", 1);
        live_rotate(&s, "device", 1);
        dirs_append(s.dir, "device.log", "");
        rig_start(rig);
        rig_run(rig, 20000, false);
        assert_stored(rig, "device", "1 ");
        if (restart) {
            rig_stop(rig);
        }
        later_line(&s, "device", 2);
        remove_file(&s, "device.log");
        live_close(&s);
        if (restart) {
            rig_start(rig);
        }
        rig_run(rig, 70000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        later_line(&s, "device", 2);
        rig_again(rig);
        assert_stored(rig, "device", "1 2 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_delete(rig);
    }
}

static void a_sealed_file_that_ends_its_channel_needs_no_active_one(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_new();
        struct live_session s;
        live_open(&s, rig->root, RIG_ID);
        live_line(&s, "device", "job_start", 1);
        live_line(&s, "device", "shutdown", 2);
        live_rotate(&s, "device", 1);
        rig_start(rig);
        rig_run(rig, 20000, false);
        if (restart) {
            rig_stop(rig);
        }
        live_close(&s);
        if (restart) {
            rig_start(rig);
        }
        rig_run(rig, 70000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_delete(rig);
    }
}

/* Nothing but the manifest knows that there was such a channel. */
static void a_listed_channel_without_a_file_is_missed(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_new();
        struct live_session s;
        live_open(&s, rig->root, RIG_ID);
        live_list(&s, "\"device\",\"scope\"");
        live_line(&s, "scope", "job_start", 1);
        rig_start(rig);
        rig_run(rig, 20000, false);
        assert_int_equal(rig_summary(rig).sessions_blocked, 0);
        live_close(&s);
        rig_run(rig, 70000, false);
        if (restart) {
            rig_again(rig);
        }
        assert_stored(rig, "scope", "1 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        assert_true(engine_drained(rig->engine));
        live_line(&s, "device", "job_start", 2);
        rig_run(rig, 70000, false);
        assert_stored(rig, "device", "2 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_delete(rig);
    }
}

static void a_session_of_which_only_the_manifest_is_left_is_missed(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_list(&s, "\"device\"");
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 70000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    rig_delete(rig);
}

/* Each in a form in which it may be there. */
static void any_file_of_a_listed_channel_counts(void **state)
{
    (void)state;
    static const char *const present[] = {"device.log", "device.1.log"};
    for (size_t i = 0; i < sizeof present / sizeof *present; i++) {
        struct rig *rig = rig_new();
        struct live_session s;
        live_open(&s, rig->root, RIG_ID);
        live_list(&s, "\"device\"");
        live_line(&s, "device", "job_start", 1);
        live_line(&s, "device", "shutdown", 2);
        if (i == 1) {
            live_rotate(&s, "device", 1);
        }
        live_close(&s);
        rig_start(rig);
        rig_run(rig, 70000, false);
        assert_stored(rig, "device", "1 2 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_delete(rig);
    }
}

/* An empty file is one of a job that was killed before it wrote. */
static void an_empty_file_of_a_listed_channel_is_enough(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_list(&s, "\"device\",\"scope\"");
    dirs_append(s.dir, "device.log", "");
    live_line(&s, "scope", "job_start", 1);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 70000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

static void a_listed_channel_that_is_not_known_keeps_its_session_open(void **state)
{
    (void)state;
    for (int there = 0; there < 2; there++) {
        struct rig *rig = rig_new();
        struct live_session s;
        live_open(&s, rig->root, RIG_ID);
        live_list(&s, "\"device\",\"later\"");
        live_line(&s, "device", "job_start", 1);
        if (there) {
            live_line(&s, "later", "job_start", 2);
        }
        live_close(&s);
        rig_start(rig);
        rig_run(rig, 70000, false);
        assert_stored(rig, "device", "1 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        rig_delete(rig);
    }
}

static void a_listed_channel_that_is_not_followed_is_not_missed(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_list(&s, "\"device\",\"scope\"");
    live_line(&s, "scope", "job_start", 1);
    live_close(&s);
    rig->channels = (struct engine_channels){{"scope"}, 1};
    rig_start(rig);
    rig_run(rig, 70000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

static void a_session_that_grew_stays_open_over_a_restart(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_complete(&s);
    rig->answer = away;
    live_line(&s, "scope", "job_start", 1);
    rig_run(rig, 700000, false);
    rig_stop(rig);
    rig->answer = NULL;
    rig_start(rig);
    rig_run(rig, 700000, false);
    assert_stored(rig, "device", "1 2 ");
    assert_stored(rig, "scope", "1 ");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
    rig_delete(rig);
}

static void a_plain_directory_that_is_used_again_is_sent_again(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s = {.id = RIG_ID};
    snprintf(s.dir, sizeof s.dir, "%s/" RIG_ID, rig->root);
    assert_int_equal(mkdir(s.dir, 0700), 0);
    dirs_append(s.dir, "device.log", "{\"type\":\"job_start\",\"n\":1}\n");
    dirs_append(s.dir, "device.log", "{\"type\":\"shutdown\",\"n\":2}\n");
    rig_start(rig);
    rig_run(rig, 70000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    later_line(&s, "device", 3);
    dirs_append(s.dir, "device.log", "{\"type\":\"shutdown\",\"n\":4}\n");
    rig_run(rig, 700000, false);
    assert_stored(rig, "device", "1 2 3 4 ");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
    rig_delete(rig);
}

/* The writer's lock was not visible: it goes on after the end was reported. */
static void growth_in_later_files_reopens_a_session(void **state)
{
    (void)state;
    for (int offline = 0; offline < 2; offline++) {
        struct live_session s;
        struct rig *rig = rig_complete(&s);
        if (offline) {
            rig_stop(rig);
        }
        live_rotate(&s, "device", 1);
        more_lines(&s, "device", 3, 9);
        live_rotate(&s, "device", 2);
        dirs_append(s.dir, "device.log", "");
        if (offline) {
            rig_start(rig);
        }
        rig_run(rig, 700000, false);
        assert_stored(rig, "device", "1 2 3 4 5 6 7 8 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
        rig_delete(rig);
    }
}

static void growth_that_was_compressed_reopens_a_session(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        struct live_session s;
        struct rig *rig = rig_complete(&s);
        if (grows) {
            more_lines(&s, "device", 3, 9);
        }
        pack_active(&s, "device");
        rig_run(rig, 700000, false);
        rig_again(rig);
        rig_run(rig, 700000, false);
        assert_stored(rig, "device", grows ? "1 2 3 4 5 6 7 8 " : "1 2 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        assert_int_equal(rig_summary(rig).sessions_done, !grows);
        rig_delete(rig);
    }
}

/* The 1.1 layout. */
static void growth_that_was_rotated_and_compressed_reopens_a_session(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s = {.id = RIG_ID};
    char from[700];
    char to[700];
    snprintf(s.dir, sizeof s.dir, "%s/" RIG_ID, rig->root);
    snprintf(from, sizeof from, "%s/device.log.gz", s.dir);
    snprintf(to, sizeof to, "%s/device.1.log.gz", s.dir);
    assert_int_equal(mkdir(s.dir, 0700), 0);
    dirs_append(s.dir, "device.log", "{\"type\":\"job_start\",\"n\":1}\n");
    dirs_append(s.dir, "device.log", "{\"type\":\"shutdown\",\"n\":2}\n");
    rig_start(rig);
    rig_run(rig, 70000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    later_line(&s, "device", 3);
    dirs_append(s.dir, "device.log", "{\"type\":\"shutdown\",\"n\":4}\n");
    pack_active(&s, "device");
    assert_int_equal(rename(from, to), 0);
    rig_run(rig, 700000, false);
    assert_stored(rig, "device", "1 2 3 4 ");
    rig_again(rig);
    rig_run(rig, 700000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
    rig_delete(rig);
}

/* As long as it was, with another line in place of line \p n. */
static void rewrite_line(const char *dir, const char *name, int n)
{
    char path[1200];
    char text[4096];
    char number[16];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    size_t len = fread(text, 1, sizeof text - 1, file);
    text[len] = '\0';
    snprintf(number, sizeof number, "\"n\":%d}", n);
    char *at = strstr(text, number);
    assert_non_null(at);
    at[4] = '9';
    struct stat before;
    struct stat after;
    assert_int_equal(fstat(fileno(file), &before), 0);
    do { /* until the clock of the file system, which is coarse, tells it */
        assert_int_equal(ftruncate(fileno(file), 0), 0);
        rewind(file);
        assert_int_equal(fwrite(text, 1, len, file), len);
        assert_int_equal(fflush(file), 0);
        assert_int_equal(fstat(fileno(file), &after), 0);
    } while (after.st_ctim.tv_sec == before.st_ctim.tv_sec &&
             after.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
    fclose(file);
}

static void a_file_rewritten_to_the_same_size_holds_its_channel(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_new();
        struct live_session s;
        live_open(&s, rig->root, RIG_ID);
        live_line(&s, "device", "job_start", 1);
        live_line(&s, "device", "x", 2);
        rig_start(rig);
        rig_run(rig, 20000, false);
        if (restart) {
            rig_stop(rig);
        }
        rewrite_line(s.dir, "device.log", 2);
        if (restart) {
            rig_start(rig);
        }
        rig_run(rig, 71000, false);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1); /* while it lives, too */
        live_close(&s);
        rig_run(rig, 71000, false);
        assert_stored(rig, "device", "1 2 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        rig_delete(rig);
    }
}

static void a_file_that_was_only_touched_is_not_held(void **state)
{
    (void)state;
    char path[700];
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    rig_start(rig);
    rig_run(rig, 20000, false);
    snprintf(path, sizeof path, "%s/device.log", s.dir);
    assert_int_equal(chmod(path, 0600), 0);
    rig_run(rig, 71000, false);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    live_close(&s);
    rig_run(rig, 71000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

static int refuse_end(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_COMPLETE && rig->mark == 0 ? 503 : RIG_REGISTRY;
}

/* Its end was asked for in vain, and is to be repeated within a second or two. */
static void an_end_is_not_repeated_for_a_file_that_was_rewritten(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    live_close(&s);
    rig->answer = refuse_end;
    rig_start(rig);
    for (int i = 0; i < 1000 && rig_count(rig, TRANSPORT_COMPLETE) == 0; i++) {
        rig_run(rig, 10, false);
    }
    rewrite_line(s.dir, "device.log", 1);
    unsigned before = rig_count(rig, TRANSPORT_COMPLETE);
    rig->mark = 1;
    rig_run(rig, 10000, false);
    assert_true(before > 0);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), before);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    rig_delete(rig);
}

static void a_plain_file_rewritten_to_the_same_size_is_held(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_new();
        struct live_session s = {.id = RIG_ID};
        snprintf(s.dir, sizeof s.dir, "%s/" RIG_ID, rig->root);
        assert_int_equal(mkdir(s.dir, 0700), 0);
        later_line(&s, "device", 1);
        later_line(&s, "device", 2);
        rig_start(rig);
        rig_run(rig, 20000, false);
        if (restart) {
            rig_stop(rig);
        }
        rewrite_line(s.dir, "device.log", 2);
        if (restart) {
            rig_start(rig);
        }
        rig_run(rig, 71000, false);
        assert_stored(rig, "device", "1 2 ");
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        rig_delete(rig);
    }
}

static void an_active_file_that_is_compressed_again_holds_its_channel(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    live_line(&s, "device", "shutdown", 2);
    pack_active(&s, "device");
    rig_start(rig);
    rig_run(rig, 20000, false);
    assert_stored(rig, "device", "1 2 ");
    live_line(&s, "device", "job_start", 7);
    live_line(&s, "device", "shutdown", 2);
    pack_active(&s, "device");
    rig_run(rig, 71000, false);
    live_close(&s);
    rig_run(rig, 71000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    rig_delete(rig);
}

static void a_complete_session_rewritten_to_the_same_size_is_open_again(void **state)
{
    (void)state;
    for (int live = 0; live < 2; live++) {
        struct rig *rig = rig_new();
        struct live_session s = {.id = RIG_ID};
        snprintf(s.dir, sizeof s.dir, "%s/" RIG_ID, rig->root);
        if (live) {
            live_open(&s, rig->root, RIG_ID);
            live_close(&s);
        } else {
            assert_int_equal(mkdir(s.dir, 0700), 0);
        }
        dirs_append(s.dir, "device.log", "{\"type\":\"job_start\",\"n\":1}\n");
        later_line(&s, "device", 2);
        dirs_append(s.dir, "device.log", "{\"type\":\"shutdown\",\"n\":3}\n");
        rig_start(rig);
        rig_run(rig, 71000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rewrite_line(s.dir, "device.log", 2);
        rig_run(rig, 141000, false);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_delete(rig);
    }
}

/* As archiving does. */
static void a_complete_session_whose_files_are_touched_or_deleted_stays_so(void **state)
{
    (void)state;
    char path[700];
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "shutdown", 1);
    live_line(&s, "scope", "shutdown", 1);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 71000, false);
    snprintf(path, sizeof path, "%s/device.log", s.dir);
    assert_int_equal(chmod(path, 0600), 0);
    rig_run(rig, 71000, false);
    remove_file(&s, "scope.log");
    rig_run(rig, 141000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_without_its_first_record_is_sent_and_never_complete),
        cmocka_unit_test(a_file_whose_number_was_unknown_is_known_once_it_is_sealed),
        cmocka_unit_test(the_active_file_is_not_taken_for_one_that_was_deleted),
        cmocka_unit_test(an_offer_whose_file_is_gone_does_not_take_another_ones_bytes),
        cmocka_unit_test(the_newest_sealed_file_is_missed_after_a_restart),
        cmocka_unit_test(a_file_that_was_cut_holds_its_channel_alone),
        cmocka_unit_test(a_file_that_was_cut_and_written_anew_is_another_one),
        cmocka_unit_test(a_damaged_manifest_holds_the_session_until_it_is_back),
        cmocka_unit_test(files_that_begin_with_the_same_line_are_told_apart),
        cmocka_unit_test(files_that_begin_alike_are_told_apart_though_the_oldest_is_gone),
        cmocka_unit_test(growth_after_the_end_is_sent_and_the_end_reported_again),
        cmocka_unit_test(a_free_lock_of_another_boot_does_not_end_a_session),
        cmocka_unit_test(an_active_file_that_was_compressed_is_read),
        cmocka_unit_test(what_was_told_of_an_active_file_that_is_gone_is_missed),
        cmocka_unit_test(an_active_file_that_is_not_what_its_writer_left_is_held),
        cmocka_unit_test(an_active_file_that_is_gone_holds_its_channel_until_it_is_back),
        cmocka_unit_test(an_active_file_that_was_never_read_is_missed),
        cmocka_unit_test(a_sealed_file_that_ends_its_channel_needs_no_active_one),
        cmocka_unit_test(a_listed_channel_without_a_file_is_missed),
        cmocka_unit_test(a_session_of_which_only_the_manifest_is_left_is_missed),
        cmocka_unit_test(any_file_of_a_listed_channel_counts),
        cmocka_unit_test(an_empty_file_of_a_listed_channel_is_enough),
        cmocka_unit_test(a_listed_channel_that_is_not_known_keeps_its_session_open),
        cmocka_unit_test(a_listed_channel_that_is_not_followed_is_not_missed),
        cmocka_unit_test(a_session_that_grew_stays_open_over_a_restart),
        cmocka_unit_test(a_plain_directory_that_is_used_again_is_sent_again),
        cmocka_unit_test(an_empty_manifest_does_not_make_another_layout),
        cmocka_unit_test(a_file_that_is_emptied_and_grows_again_holds_its_channel),
        cmocka_unit_test(a_cut_file_that_gets_its_bytes_back_goes_on),
        cmocka_unit_test(an_open_offer_does_not_hide_that_its_file_was_emptied),
        cmocka_unit_test(a_plain_file_that_is_emptied_and_grows_again_is_held),
        cmocka_unit_test(growth_in_later_files_reopens_a_session),
        cmocka_unit_test(growth_that_was_compressed_reopens_a_session),
        cmocka_unit_test(growth_that_was_rotated_and_compressed_reopens_a_session),
        cmocka_unit_test(a_file_rewritten_to_the_same_size_holds_its_channel),
        cmocka_unit_test(a_file_that_was_only_touched_is_not_held),
        cmocka_unit_test(an_end_is_not_repeated_for_a_file_that_was_rewritten),
        cmocka_unit_test(a_plain_file_rewritten_to_the_same_size_is_held),
        cmocka_unit_test(an_active_file_that_is_compressed_again_holds_its_channel),
        cmocka_unit_test(a_complete_session_rewritten_to_the_same_size_is_open_again),
        cmocka_unit_test(a_complete_session_whose_files_are_touched_or_deleted_stays_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
