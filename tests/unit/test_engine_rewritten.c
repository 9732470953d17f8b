/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed files of a complete session that change: that is said, and nothing is sent. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/rig_session.h"

static unsigned said;
static char last_said[400];

static void log_count(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    if (strstr(line, "session.rewritten")) {
        said++;
        snprintf(last_said, sizeof last_said, "%s", line);
    }
}

static const struct log counting = {.level = LOG_AT_WARN, .write = log_count};

static struct rig *rig_counting(struct live_session *s)
{
    struct rig *rig = rig_new();
    said = 0;
    rig->config.log = &counting;
    live_open(s, rig->root, RIG_ID);
    live_line(s, "device", "job_start", 1);
    return rig;
}

/* Files 1 and 2 of "device", and an active one; complete, and looked at. */
static struct rig *rig_complete(struct live_session *s)
{
    struct rig *rig = rig_counting(s);
    live_rotate(s, "device", 1);
    live_line(s, "device", "x", 2);
    live_rotate(s, "device", 2);
    live_line(s, "device", "shutdown", 3);
    live_close(s);
    rig_start(rig);
    rig_run(rig, 150000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    return rig;
}

static void last_byte_is(const struct live_session *s, const char *name, char c)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &c, 1, lseek(fd, 0, SEEK_END) - 1), 1);
    close(fd);
}

static void nothing_else_happens(struct rig *rig, unsigned times)
{
    unsigned requests = rig_count(rig, TRANSPORT_BATCH);
    rig_run(rig, 300000, false);
    assert_int_equal(said, times);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), requests);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
}

static void one_of_another_size_is_said_once_a_run(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_complete(&s);
    char path[600];
    snprintf(path, sizeof path, "%s/device.2.log", s.dir);
    dirs_append(s.dir, "device.2.log", "{\"type\":\"x\",\"n\":9}\n");
    nothing_else_happens(rig, 1);
    assert_non_null(strstr(last_said, "session=" RIG_ID " channel=device file=2 "));
    rig_stop(rig);
    rig_start(rig);
    nothing_else_happens(rig, 2);
    assert_int_equal(truncate(path, 0), 0);
    nothing_else_happens(rig, 2);
    rig_delete(rig);
}

static void one_of_the_same_size_is_said_and_so_is_the_next_time(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_complete(&s);
    last_byte_is(&s, "device.2.log", ' ');
    nothing_else_happens(rig, 1);
    last_byte_is(&s, "device.2.log", '\n');
    nothing_else_happens(rig, 1);
    last_byte_is(&s, "device.2.log", ' ');
    nothing_else_happens(rig, 2);
    rig_delete(rig);
}

static void one_that_is_touched_or_deleted_is_not(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_complete(&s);
    char path[600];
    snprintf(path, sizeof path, "%s/device.2.log", s.dir);
    assert_int_equal(chmod(path, 0600), 0);
    nothing_else_happens(rig, 0);
    assert_int_equal(unlink(path), 0);
    nothing_else_happens(rig, 0);
    rig_delete(rig);
}

/* It was seen when it was sealed for the first time. */
static void one_that_its_writer_took_back_and_sealed_again_is_not(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_counting(&s);
    char sealed[600];
    char active[600];
    live_rotate(&s, "device", 1);
    rig_start(rig);
    rig_run(rig, 5000, false);
    snprintf(sealed, sizeof sealed, "%s/device.1.log", s.dir);
    snprintf(active, sizeof active, "%s/device.log", s.dir);
    assert_int_equal(rename(sealed, active), 0);
    live_line(&s, "device", "x", 2);
    live_rotate(&s, "device", 1);
    live_line(&s, "device", "shutdown", 3);
    live_close(&s);
    rig_run(rig, 150000, false);
    assert_int_equal(rig_summary(rig).lines_acked, 3);
    nothing_else_happens(rig, 0);
    dirs_append(s.dir, "device.1.log", "{\"type\":\"x\",\"n\":9}\n");
    nothing_else_happens(rig, 1);
    rig_delete(rig);
}

static void what_another_user_puts_in_its_place_is_not(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    struct live_session s;
    struct rig *rig = rig_complete(&s);
    char command[1400];
    snprintf(command, sizeof command,
             "cd '%s' && cp -a %s .kept && mv %s .first && mv .kept %s && "
             "echo >> %s/device.2.log && chown -R 12345 %s",
             rig->root, RIG_ID, RIG_ID, RIG_ID, RIG_ID, RIG_ID);
    assert_int_equal(system(command), 0);
    nothing_else_happens(rig, 0);
    rig_delete(rig);
}

static unsigned opened;
static const struct sys *counted_from;

static int open_counted(int dir, const char *path, int flags, mode_t mode)
{
    opened++;
    return counted_from->open_beneath(dir, path, flags, mode);
}

/* Its writer, who may be anybody, makes a file of a high number. */
static void numbers_that_are_not_there_are_not_opened(void **state)
{
    (void)state;
    char path[600];
    struct live_session s;
    struct rig *rig = rig_counting(&s);
    struct sys counted = *rig->config.sys;
    counted_from = rig->config.sys;
    counted.open_beneath = open_counted;
    rig->config.sys = &counted;
    rig_start(rig);
    rig_run(rig, 5000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 1);
    live_rotate(&s, "device", 1);
    snprintf(path, sizeof path, "%s/device.1.log", s.dir);
    assert_int_equal(truncate(path, 1), 0);
    dirs_append(s.dir, "device.200000.log", "{\"type\":\"x\",\"n\":9}\n");
    opened = 0;
    rig_run(rig, 15000, false);
    assert_in_range(opened, 1, 1000);
    rig_stop(rig);
    rig->config.sys = counted_from;
    live_close(&s);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_are_not_there_are_not_opened),
        cmocka_unit_test(one_of_another_size_is_said_once_a_run),
        cmocka_unit_test(one_of_the_same_size_is_said_and_so_is_the_next_time),
        cmocka_unit_test(one_that_is_touched_or_deleted_is_not),
        cmocka_unit_test(one_that_its_writer_took_back_and_sealed_again_is_not),
        cmocka_unit_test(what_another_user_puts_in_its_place_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
