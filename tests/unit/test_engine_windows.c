/* SPDX-License-Identifier: Apache-2.0 */
/* 1.3 windows: what is sent of them, what is deleted, and what is kept back. */
#include "tests/support/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/layout.h"
#include "tests/support/rig_session.h"
#include "upload/http/encode.h"
#include "upload/http/origin_identity.h"

#define WINDOW_ID "49c3f74c-8631-4bcc-a364-97234259320"

/* The directory of an ended session with two published windows of "device". */
struct windows {
    struct rig *rig;
    char dir[600];
};

static void windows_put(const struct windows *w, unsigned number, const char *payload)
{
    char name[LAYOUT_PATH_MAX];
    char text[640];
    snprintf(text, sizeof text,
             "{\"schema_version\":1,\"type\":\"transport_window\",\"window_id\":"
             "\"" WINDOW_ID "%u\",\"session_id\":\"" RIG_ID "\",\"channel\":\"device\","
             "\"window_sequence\":%u,\"opened_mono_ms\":1,\"closed_mono_ms\":2,"
             "\"created_wall_ms\":3,\"payload_file\":\"device.%u.log.gz\","
             "\"payload_bytes\":%zu,\"payload_crc32\":%u}\n",
             number, number, number, strlen(payload),
             encode_crc32(0, payload, strlen(payload)));
    layout_sidecar(name, "device", number);
    dirs_append(w->dir, name, text);
    layout_numbered(name, "device", number, true);
    dirs_append(w->dir, name, payload);
}

static void windows_open(struct windows *w)
{
    w->rig = rig_new();
    w->rig->config.delete_acked = DELETE_WINDOWS;
    snprintf(w->dir, sizeof w->dir, "%s/" RIG_ID, w->rig->root);
    assert_int_equal(mkdir(w->dir, 0755), 0);
    dirs_append(w->dir, LAYOUT_LOCK, "");
    windows_put(w, 1, "first window");
    windows_put(w, 2, "second window");
}

/* Same size, other bytes. */
static void windows_damage(const struct windows *w, const char *name)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", w->dir, name);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fputc('?', file), '?');
    fclose(file);
}

static bool is_there(const struct windows *w, const char *name)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", w->dir, name);
    return access(path, F_OK) == 0;
}

static unsigned sent_of(const struct rig *rig, uint32_t sequence)
{
    unsigned count = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        const struct rig_request *r = &rig->request[i];
        count += r->kind == TRANSPORT_BATCH && r->sequence == sequence;
    }
    return count;
}

static void a_delivered_window_leaves_its_id_and_is_deleted(void **state)
{
    (void)state;
    struct windows w;
    windows_open(&w);
    rig_start(w.rig);
    rig_run(w.rig, 600000, true);
    assert_int_equal(rig_summary(w.rig).sessions_done, 1);
    assert_false(is_there(&w, "device.1.log.gz") || is_there(&w, "device.2.log.gz"));
    for (unsigned i = 0; i < w.rig->requests; i++) {
        const struct rig_request *r = &w.rig->request[i];
        char id[64];
        snprintf(id, sizeof id, WINDOW_ID "%u", r->sequence);
        assert_true(r->kind != TRANSPORT_BATCH || strcmp(r->id, id) == 0);
    }
    char *left = rig_file(w.rig, RIG_ID "/.gpufl-window-ack.device.2");
    assert_string_equal(left, WINDOW_ID "2\n");
    free(left);
    rig_delete(w.rig);
}

static void an_id_that_was_left_before_a_crash_is_enough(void **state)
{
    (void)state;
    struct windows w;
    windows_open(&w);
    dirs_append(w.dir, ".gpufl-window-ack.device.1", WINDOW_ID "1\n");
    rig_start(w.rig);
    rig_run(w.rig, 600000, true);
    assert_false(is_there(&w, "device.1.log.gz"));
    rig_delete(w.rig);
}

static int open_without_acks(int dir, const char *path, int flags, mode_t mode)
{
    if (strstr(path, "window-ack")) {
        errno = ENOSPC;
        return -1;
    }
    return sys_real.open_beneath(dir, path, flags, mode);
}

static void a_window_whose_id_cannot_be_left_stays(void **state)
{
    (void)state;
    struct windows w;
    static struct sys sys;
    windows_open(&w);
    sys = *w.rig->config.sys;
    sys.open_beneath = open_without_acks;
    w.rig->config.sys = &sys;
    rig_start(w.rig);
    rig_run(w.rig, 600000, true);
    assert_int_equal(rig_summary(w.rig).sessions_done, 1);
    assert_true(is_there(&w, "device.1.log.gz") && is_there(&w, "device.2.log.gz"));
    rig_delete(w.rig);
}

static void a_window_with_other_bytes_is_kept_back_and_stays(void **state)
{
    (void)state;
    struct windows w;
    windows_open(&w);
    windows_damage(&w, "device.1.log.gz");
    rig_start(w.rig);
    rig_run(w.rig, 600000, false);
    assert_int_equal(sent_of(w.rig, 1), 0);
    assert_int_equal(sent_of(w.rig, 2), 1);
    assert_int_equal(rig_summary(w.rig).ranges_quarantined, 1);
    assert_int_equal(rig_summary(w.rig).sessions_done, 0);
    assert_true(is_there(&w, "device.1.log.gz"));
    rig_delete(w.rig);
}

static int busy(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && rig->mark ? 503 : RIG_REGISTRY;
}

static bool disk_is_bad;

static ssize_t read_badly(int fd, void *buf, size_t len, off_t at)
{
    char path[64], name[700];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, name, sizeof name - 1);
    name[n > 0 ? n : 0] = '\0';
    if (disk_is_bad && strstr(name, "device.1.log.gz")) {
        errno = EIO;
        return -1;
    }
    return sys_real.pread(fd, buf, len, at);
}

static void a_window_that_cannot_be_read_now_is_sent_later(void **state)
{
    (void)state;
    struct windows w;
    windows_open(&w);
    struct sys sys = *w.rig->config.sys;
    sys.pread = read_badly;
    w.rig->config.sys = &sys;
    disk_is_bad = true;
    rig_start(w.rig);
    rig_run(w.rig, 60000, false);
    assert_int_equal(rig_count(w.rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(rig_summary(w.rig).ranges_quarantined, 0);
    disk_is_bad = false;
    rig_run(w.rig, 600000, false);
    assert_int_equal(rig_count(w.rig, TRANSPORT_COMPLETE), 1);
    rig_delete(w.rig);
}

static void a_window_that_changed_after_it_was_offered_is_not_sent(void **state)
{
    (void)state;
    struct windows w;
    windows_open(&w);
    w.rig->answer = busy;
    w.rig->mark = 1;
    rig_start(w.rig);
    rig_run(w.rig, 5000, false);
    rig_stop(w.rig);
    windows_damage(&w, "device.1.log.gz");
    unsigned before = sent_of(w.rig, 1);
    assert_true(before > 0);
    w.rig->mark = 0;
    rig_start(w.rig);
    rig_run(w.rig, 600000, false);
    assert_int_equal(sent_of(w.rig, 1), before);
    assert_int_equal(rig_summary(w.rig).sessions_done, 0);
    assert_true(is_there(&w, "device.1.log.gz"));
    rig_delete(w.rig);
}

/* Another window in the place of the one that was offered, sidecar and all, or the same
 * one. */
static void an_offered_window_is_sent_after_a_restart_if_it_is_the_same(void **state)
{
    (void)state;
    for (int other = 0; other < 2; other++) {
        struct windows w;
        char path[700];
        windows_open(&w);
        w.rig->answer = busy;
        w.rig->mark = 1;
        rig_start(w.rig);
        rig_run(w.rig, 5000, false);
        rig_stop(w.rig);
        if (other) {
            snprintf(path, sizeof path, "%s/device.1.log.gz", w.dir);
            assert_int_equal(unlink(path), 0);
            snprintf(path, sizeof path, "%s/.gpufl-window.device.1.json", w.dir);
            assert_int_equal(unlink(path), 0);
            windows_put(&w, 1, "a window that is longer than before");
        }
        unsigned before = sent_of(w.rig, 1);
        w.rig->mark = 0;
        rig_start(w.rig);
        rig_run(w.rig, 600000, false);
        assert_int_equal(sent_of(w.rig, 1), before + !other);
        assert_int_equal(sent_of(w.rig, 2), !other);
        assert_int_equal(rig_summary(w.rig).sessions_done, !other);
        rig_delete(w.rig);
    }
}

/* The sidecar comes first; a payload that went without its id left is lost. */
static void a_window_without_payload_is_passed_over_only_with_its_own_id(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        unsigned done;
    } row[] = {{WINDOW_ID "1\n", 1}, {WINDOW_ID "2\n", 0}, {NULL, 0}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct windows w;
        char path[700];
        windows_open(&w);
        snprintf(path, sizeof path, "%s/device.1.log.gz", w.dir);
        assert_int_equal(unlink(path), 0);
        if (row[i].id) {
            dirs_append(w.dir, ".gpufl-window-ack.device.1", row[i].id);
        }
        rig_start(w.rig);
        rig_run(w.rig, 600000, false);
        assert_int_equal(sent_of(w.rig, 1), 0);
        assert_int_equal(sent_of(w.rig, 2), row[i].done);
        assert_int_equal(rig_summary(w.rig).sessions_done, row[i].done);
        rig_delete(w.rig);
    }
}

static void windows_remove(const struct windows *w, const char *name)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", w->dir, name);
    assert_int_equal(unlink(path), 0);
}

static unsigned said_grown;

static void count_grown(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    said_grown += strstr(line, "session.grew") != NULL;
}

/* By another uploader, which left its windows where they were. */
static void what_another_has_uploaded_does_not_grow_every_minute(void **state)
{
    (void)state;
    static const struct log counts = {.level = LOG_AT_INFO, .write = count_grown};
    struct windows w;
    windows_open(&w);
    dirs_append(w.dir, LAYOUT_UPLOADED, "");
    w.rig->config.log = &counts;
    said_grown = 0;
    rig_start(w.rig);
    rig_run(w.rig, 600000, false);
    assert_int_equal(rig_count(w.rig, TRANSPORT_BATCH), 0);
    assert_int_equal(said_grown, 0);
    windows_remove(&w, LAYOUT_UPLOADED);
    rig_run(w.rig, 600000, false);
    assert_int_equal(rig_count(w.rig, TRANSPORT_BATCH), 2);
    rig_delete(w.rig);
}

/* Nobody can leave the mark of a complete session, as in a directory that is only read.
 */
static void what_another_has_delivered_is_known_after_a_restart(void **state)
{
    (void)state;
    static const struct log counts = {.level = LOG_AT_INFO, .write = count_grown};
    struct windows w;
    char mark[700];
    windows_open(&w);
    windows_remove(&w, "device.1.log.gz");
    windows_remove(&w, "device.2.log.gz");
    dirs_append(w.dir, ".gpufl-window-ack.device.1", WINDOW_ID "1\n");
    dirs_append(w.dir, ".gpufl-window-ack.device.2", WINDOW_ID "2\n");
    snprintf(mark, sizeof mark, "%s/" LAYOUT_UPLOADED, w.dir);
    assert_int_equal(mkdir(mark, 0755), 0);
    w.rig->config.log = &counts;
    said_grown = 0;
    for (int run = 0; run < 3; run++) {
        rig_start(w.rig);
        rig_run(w.rig, 600000, false);
        assert_int_equal(rig_summary(w.rig).sessions_done, 1);
        rig_stop(w.rig);
    }
    assert_int_equal(rig_count(w.rig, TRANSPORT_COMPLETE), 1);
    assert_int_equal(said_grown, 0);
    rig_delete(w.rig);
}

/* Another state directory, or none: nothing but the mark tells of the first run. Its
 * windows are still there. */
static void our_own_mark_counts_for_its_backend_only(void **state)
{
    (void)state;
    static const struct {
        const char *url, *database;
        unsigned sent;
    } row[] = {
        {"http://a/api/v1", "{\"supported\":[\"1\"],\"epoch\":\"one.1\"}", 0},
        {"http://a/api/v1", "{\"supported\":[\"1\"],\"epoch\":\"one.2\"}", 0},
        {"http://a/api/v1", "{\"epoch\":\"two.1\"}", 2},
        {"http://a/api/v1", "", 0},
        {"http://b/api/v1", "{\"supported\":[\"1\"],\"epoch\":\"one.1\"}", 2},
        {"http://b/api/v1", "", 2},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct windows w;
        struct origin_identity backend;
        windows_open(&w);
        w.rig->config.delete_acked = DELETE_NEVER;
        w.rig->config.backend = &backend;
        for (int run = 0; run < 2; run++) {
            const char *of = run ? row[i].database : row[0].database;
            origin_identity_make(run ? row[i].url : row[0].url, "key", &backend);
            w.rig->version_body = of;
            rig_start(w.rig);
            rig_run(w.rig, 600000, true);
            assert_int_equal(rig_summary(w.rig).sessions_done, 1);
            assert_int_equal(rig_count(w.rig, TRANSPORT_BATCH), 2 + run * row[i].sent);
            rig_stop(w.rig);
            rig_lose_journal(w.rig);
        }
        rig_delete(w.rig);
    }
}

static int refuses_the_end(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_COMPLETE && rig->mark ? 503 : RIG_REGISTRY;
}

/* The backend is put back while nothing is sent, and forgets the first window. It is
 * known by its epoch, which is asked for before the end is told. */
static void a_backend_that_went_back_is_offered_open_windows_again(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct windows w;
        windows_open(&w);
        w.rig->config.delete_acked = DELETE_NEVER;
        w.rig->version_body = "{\"supported\":[\"1\"],\"epoch\":\"one.1\"}";
        w.rig->answer = refuses_the_end;
        w.rig->mark = 1;
        rig_start(w.rig);
        rig_run(w.rig, 5000, false);
        assert_int_equal(rig_count(w.rig, TRANSPORT_BATCH), 2);
        if (restart) {
            rig_stop(w.rig);
        }
        for (unsigned i = 0; i < w.rig->requests; i++) {
            struct rig_request *r = &w.rig->request[i];
            if (r->kind == TRANSPORT_BATCH && r->sequence == 1) {
                free(r->raw);
                r->raw = NULL;
            }
        }
        w.rig->version_body = "{\"supported\":[\"1\"],\"epoch\":\"one.2\"}";
        w.rig->mark = 0;
        if (restart) {
            rig_start(w.rig);
        }
        rig_run(w.rig, 600000, true);
        assert_int_equal(rig_summary(w.rig).sessions_done, 1);
        assert_int_equal(sent_of(w.rig, 1), 2);
        assert_int_equal(rig_count(w.rig, TRANSPORT_BATCH), 4);
        const struct rig_request *last = &w.rig->request[w.rig->requests - 1];
        assert_int_equal(last->kind, TRANSPORT_COMPLETE);
        rig_delete(w.rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backend_that_went_back_is_offered_open_windows_again),
        cmocka_unit_test(our_own_mark_counts_for_its_backend_only),
        cmocka_unit_test(what_another_has_uploaded_does_not_grow_every_minute),
        cmocka_unit_test(what_another_has_delivered_is_known_after_a_restart),
        cmocka_unit_test(a_delivered_window_leaves_its_id_and_is_deleted),
        cmocka_unit_test(an_id_that_was_left_before_a_crash_is_enough),
        cmocka_unit_test(a_window_whose_id_cannot_be_left_stays),
        cmocka_unit_test(a_window_with_other_bytes_is_kept_back_and_stays),
        cmocka_unit_test(a_window_that_cannot_be_read_now_is_sent_later),
        cmocka_unit_test(a_window_that_changed_after_it_was_offered_is_not_sent),
        cmocka_unit_test(an_offered_window_is_sent_after_a_restart_if_it_is_the_same),
        cmocka_unit_test(a_window_without_payload_is_passed_over_only_with_its_own_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
