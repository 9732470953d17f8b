/* SPDX-License-Identifier: Apache-2.0 */
/* A rotation that cannot be done loses nothing and is done later. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector-lib/core/channel_file.h"
#include "tests/support/dirs.h"

struct channel_rig {
    char *path;
    int dir;
    struct channel_file file;
};

static void channel_rig_open(struct channel_rig *rig)
{
    rig->path = dirs_make();
    rig->dir = open(rig->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(channel_file_begin(&rig->file, rig->dir, CHANNEL_DEVICE), 0);
    assert_int_equal(write(rig->file.own.fd, "1", 1), 1);
}

static void channel_rig_close(struct channel_rig *rig)
{
    close(rig->file.own.fd);
    close(rig->dir);
    dirs_remove(rig->path);
}

static void channel_rotates(struct channel_rig *rig)
{
    channel_file_rotate(&rig->file, rig->dir, CHANNEL_DEVICE);
}

/* The file of that name, as text; NULL = it is not there. */
static const char *channel_text(const struct channel_rig *rig, const char *name)
{
    static char text[16];
    int fd = openat(rig->dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void channel_is_restored(struct channel_rig *rig)
{
    struct session_amount lost;
    assert_int_equal(channel_file_restore(&rig->file, rig->dir, CHANNEL_DEVICE, &lost),
                     CHANNEL_RESTORED);
    assert_int_equal(lost.lines, 0);
}

static void it_goes_on_in_the_same_file(struct channel_rig *rig)
{
    channel_rotates(rig);
    assert_int_equal(rig->file.rotated, 0);
    assert_int_equal(write(rig->file.own.fd, "2", 1), 1);
    assert_string_equal(channel_text(rig, "device.log"), "12");
    assert_null(channel_text(rig, "device.1.log"));
}

static void then_it_is_sealed(struct channel_rig *rig)
{
    channel_rotates(rig);
    assert_int_equal(rig->file.rotated, 1);
    assert_int_equal(write(rig->file.own.fd, "3", 1), 1);
    assert_string_equal(channel_text(rig, "device.1.log"), "12");
    assert_string_equal(channel_text(rig, "device.log"), "3");
    assert_null(channel_text(rig, ".gpufl-next.device.2"));
    channel_rig_close(rig);
}

static void nothing_is_sealed_while_no_file_can_be_made(void **state)
{
    (void)state;
    struct channel_rig rig;
    struct rlimit usual;
    channel_rig_open(&rig);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    struct rlimit none = {.rlim_cur = (rlim_t)rig.dir, .rlim_max = usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    channel_rotates(&rig);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(rig.file.rotated, 0);
    assert_int_equal(write(rig.file.own.fd, "2", 1), 1);
    assert_string_equal(channel_text(&rig, "device.log"), "12");
    then_it_is_sealed(&rig);
}

static void a_planted_name_that_cannot_be_removed_delays_it(void **state)
{
    (void)state;
    struct channel_rig rig;
    channel_rig_open(&rig);
    assert_int_equal(mkdirat(rig.dir, ".gpufl-next.device.2", 0755), 0);
    it_goes_on_in_the_same_file(&rig);
    assert_int_equal(unlinkat(rig.dir, ".gpufl-next.device.2", AT_REMOVEDIR), 0);
    then_it_is_sealed(&rig);
}

static void a_planted_link_is_not_followed(void **state)
{
    (void)state;
    struct channel_rig rig;
    channel_rig_open(&rig);
    assert_int_equal(write(rig.file.own.fd, "2", 1), 1);
    dirs_append(rig.path, "other", "other");
    assert_int_equal(symlinkat("other", rig.dir, ".gpufl-next.device.2"), 0);
    channel_rotates(&rig);
    assert_int_equal(write(rig.file.own.fd, "4", 1), 1);
    assert_string_equal(channel_text(&rig, "other"), "other");
    assert_string_equal(channel_text(&rig, "device.log"), "4");
    channel_rig_close(&rig);
}

static void a_number_that_is_taken_seals_nothing_and_leaves_nothing(void **state)
{
    (void)state;
    struct channel_rig rig;
    channel_rig_open(&rig);
    dirs_append(rig.path, "device.1.log", "other");
    channel_rotates(&rig);
    assert_int_equal(rig.file.rotated, 0);
    assert_string_equal(channel_text(&rig, "device.1.log"), "other");
    assert_string_equal(channel_text(&rig, "device.log"), "1");
    assert_null(channel_text(&rig, ".gpufl-next.device.2"));
    channel_rig_close(&rig);
}

static void an_active_file_that_was_removed_leaves_no_sign_of_a_next_one(void **state)
{
    (void)state;
    struct channel_rig rig;
    channel_rig_open(&rig);
    assert_int_equal(unlinkat(rig.dir, "device.log", 0), 0);
    channel_rotates(&rig);
    assert_null(channel_text(&rig, ".gpufl-next.device.2"));
    channel_is_restored(&rig);
    assert_string_equal(channel_text(&rig, "device.log"), "1");
    channel_rig_close(&rig);
}

/* A file of that content takes the name, as by sed -i or cp and mv. */
static void channel_replace(struct channel_rig *rig, const char *content)
{
    dirs_append(rig->path, "other", content);
    assert_int_equal(renameat(rig->dir, "other", rig->dir, "device.log"), 0);
    assert_false(channel_file_has_name(&rig->file, rig->dir, CHANNEL_DEVICE));
}

static void a_copy_of_the_active_file_that_has_its_name_is_replaced(void **state)
{
    (void)state;
    struct channel_rig rig;
    channel_rig_open(&rig);
    assert_true(channel_file_has_name(&rig.file, rig.dir, CHANNEL_DEVICE));
    channel_replace(&rig, "1");
    assert_int_equal(write(rig.file.own.fd, "2", 1), 1);
    channel_is_restored(&rig);
    assert_true(channel_file_has_name(&rig.file, rig.dir, CHANNEL_DEVICE));
    assert_int_equal(write(rig.file.own.fd, "3", 1), 1);
    assert_string_equal(channel_text(&rig, "device.log"), "123");
    channel_rig_close(&rig);
}

static void other_content_is_left_and_what_it_lacks_is_counted(void **state)
{
    (void)state;
    struct channel_rig rig;
    struct session_amount lost;
    channel_rig_open(&rig);
    assert_int_equal(write(rig.file.own.fd, "\n2\n3\n", 5), 5);
    channel_replace(&rig, "1\n4\n3\n");
    assert_int_equal(channel_file_restore(&rig.file, rig.dir, CHANNEL_DEVICE, &lost),
                     CHANNEL_REPLACED);
    assert_int_equal(lost.lines, 2);
    assert_string_equal(channel_text(&rig, "device.log"), "1\n4\n3\n");
    assert_null(channel_text(&rig, ".new-device.log"));
    channel_rig_close(&rig);
}

static void one_that_was_renamed_to_its_next_number_is_left_there(void **state)
{
    (void)state;
    struct channel_rig rig;
    channel_rig_open(&rig);
    assert_int_equal(renameat(rig.dir, "device.log", rig.dir, "device.1.log"), 0);
    assert_true(channel_file_has_name(&rig.file, rig.dir, CHANNEL_DEVICE));
    dirs_append(rig.path, "device.log", "");
    assert_true(channel_file_has_name(&rig.file, rig.dir, CHANNEL_DEVICE));
    channel_rig_close(&rig);
}

/* By which a reader would take it for a later file: a copy of it would be stored twice.
 */
static void one_that_was_renamed_to_another_number_is_renamed_back(void **state)
{
    (void)state;
    for (int created = 0; created < 2; created++) { /* as logrotate does, or not */
        struct channel_rig rig;
        channel_rig_open(&rig);
        assert_int_equal(renameat(rig.dir, "device.log", rig.dir, "device.3.log"), 0);
        if (created) {
            dirs_append(rig.path, "device.log", "");
        }
        assert_false(channel_file_has_name(&rig.file, rig.dir, CHANNEL_DEVICE));
        channel_is_restored(&rig);
        assert_null(channel_text(&rig, "device.3.log"));
        assert_int_equal(write(rig.file.own.fd, "2", 1), 1);
        then_it_is_sealed(&rig);
    }
}

static void what_is_left_under_another_number_is_not_lost(void **state)
{
    (void)state;
    struct channel_rig rig;
    struct session_amount lost;
    channel_rig_open(&rig);
    assert_int_equal(write(rig.file.own.fd, "\n", 1), 1);
    assert_int_equal(renameat(rig.dir, "device.log", rig.dir, "device.3.log"), 0);
    dirs_append(rig.path, "device.log", "other");
    assert_int_equal(channel_file_restore(&rig.file, rig.dir, CHANNEL_DEVICE, &lost),
                     CHANNEL_REPLACED);
    assert_int_equal(lost.lines, 0);
    assert_string_equal(channel_text(&rig, "device.3.log"), "1\n");
    assert_string_equal(channel_text(&rig, "device.log"), "other");
    channel_rig_close(&rig);
}

static void
one_that_has_its_next_number_is_followed_in_place_of_an_empty_one(void **state)
{
    (void)state;
    struct channel_rig rig;
    channel_rig_open(&rig);
    assert_int_equal(renameat(rig.dir, "device.log", rig.dir, "device.1.log"), 0);
    dirs_append(rig.path, "device.log", "");
    assert_int_equal(write(rig.file.own.fd, "2", 1), 1);
    assert_true(channel_file_is_sealed(&rig.file, rig.dir, CHANNEL_DEVICE));
    then_it_is_sealed(&rig);
}

/* What the two renames leave if the second one fails and the first cannot be undone. */
static void a_seal_that_was_neither_finished_nor_undone_is_finished(void **state)
{
    (void)state;
    struct channel_rig rig;
    channel_rig_open(&rig);
    assert_false(channel_file_is_sealed(&rig.file, rig.dir, CHANNEL_DEVICE));
    assert_int_equal(renameat(rig.dir, "device.log", rig.dir, "device.1.log"), 0);
    dirs_append(rig.path, ".gpufl-next.device.2", "");
    assert_int_equal(write(rig.file.own.fd, "2", 1), 1);
    assert_true(channel_file_is_sealed(&rig.file, rig.dir, CHANNEL_DEVICE));
    then_it_is_sealed(&rig);
}

static void of_one_that_has_its_number_other_content_is_left(void **state)
{
    (void)state;
    struct channel_rig rig;
    struct session_amount lost;
    channel_rig_open(&rig);
    assert_int_equal(renameat(rig.dir, "device.log", rig.dir, "device.1.log"), 0);
    dirs_append(rig.path, "device.log", "other");
    assert_false(channel_file_is_sealed(&rig.file, rig.dir, CHANNEL_DEVICE));
    assert_false(channel_file_has_name(&rig.file, rig.dir, CHANNEL_DEVICE));
    assert_int_equal(channel_file_restore(&rig.file, rig.dir, CHANNEL_DEVICE, &lost),
                     CHANNEL_NOT_RESTORED);
    assert_int_equal(lost.lines, 0);
    channel_rotates(&rig);
    assert_int_equal(rig.file.rotated, 0);
    assert_string_equal(channel_text(&rig, "device.log"), "other");
    assert_string_equal(channel_text(&rig, "device.1.log"), "1");
    channel_rig_close(&rig);
}

/* A job may have no descriptor left, or the disk an error. */
static void what_cannot_be_read_is_no_other_content(void **state)
{
    (void)state;
    struct channel_rig rig;
    struct rlimit usual;
    struct session_amount lost;
    channel_rig_open(&rig);
    channel_replace(&rig, "1");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(channel_file_restore(&rig.file, rig.dir, CHANNEL_DEVICE, &lost),
                     CHANNEL_NOT_RESTORED);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    channel_is_restored(&rig);
    channel_rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_sealed_while_no_file_can_be_made),
        cmocka_unit_test(a_planted_name_that_cannot_be_removed_delays_it),
        cmocka_unit_test(a_planted_link_is_not_followed),
        cmocka_unit_test(a_number_that_is_taken_seals_nothing_and_leaves_nothing),
        cmocka_unit_test(an_active_file_that_was_removed_leaves_no_sign_of_a_next_one),
        cmocka_unit_test(a_copy_of_the_active_file_that_has_its_name_is_replaced),
        cmocka_unit_test(other_content_is_left_and_what_it_lacks_is_counted),
        cmocka_unit_test(one_that_was_renamed_to_its_next_number_is_left_there),
        cmocka_unit_test(one_that_was_renamed_to_another_number_is_renamed_back),
        cmocka_unit_test(what_is_left_under_another_number_is_not_lost),
        cmocka_unit_test(
            one_that_has_its_next_number_is_followed_in_place_of_an_empty_one),
        cmocka_unit_test(a_seal_that_was_neither_finished_nor_undone_is_finished),
        cmocka_unit_test(of_one_that_has_its_number_other_content_is_left),
        cmocka_unit_test(what_cannot_be_read_is_no_other_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
