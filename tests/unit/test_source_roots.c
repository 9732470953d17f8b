/* SPDX-License-Identifier: Apache-2.0 */
/* Which files may be read, given roots, links and names that are nearly alike. */
#include "tests/support/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector-lib/core/source_roots.h"
#include "tests/support/dirs.h"

/* allowed/in.cu, allowed2/near.cu, out.cu, and links between them. */
static char *tree;

static const char *at(const char *name)
{
    static char path[4][4096];
    static unsigned next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", tree, name);
    return path[next];
}

static int grow(void **state)
{
    (void)state;
    tree = dirs_make();
    mkdir(at("allowed"), 0755);
    mkdir(at("allowed2"), 0755);
    dirs_append(at("allowed"), "in.cu", "in");
    dirs_append(at("allowed2"), "near.cu", "near");
    dirs_append(tree, "out.cu", "out");
    return symlink("../out.cu", at("allowed/away.cu")) ||
           symlink("..", at("allowed/up")) || symlink("allowed/in.cu", at("back.cu")) ||
           symlink("allowed", at("alias")) || mkfifo(at("allowed/pipe"), 0600);
}

static int cut(void **state)
{
    (void)state;
    dirs_remove(tree);
    return 0;
}

static struct source_roots resolved(const char *list)
{
    struct source_roots roots;
    char why[SOURCE_ROOTS_FAULT_BYTES];
    assert_int_equal(source_roots_resolve(list, &roots, why), GPUFL_OK);
    return roots;
}

static void assert_file(const char *list, const char *path, enum source_file expected)
{
    struct source_roots roots = resolved(list);
    struct own_fd file = OWN_FD_NONE;
    assert_int_equal(source_roots_open(&roots, path, &file), expected);
    own_fd_close(&file);
}

static void a_file_is_read_if_it_lies_below_a_root(void **state)
{
    (void)state;
    struct source_roots roots = resolved(at("allowed"));
    struct own_fd file = OWN_FD_NONE;
    char text[8] = "";
    assert_int_equal(source_roots_open(&roots, at("allowed/in.cu"), &file),
                     SOURCE_FILE_OPENED);
    assert_int_equal(read(file.fd, text, sizeof text), 2);
    assert_string_equal(text, "in");
    own_fd_close(&file);
    assert_file(at("allowed"), at("out.cu"), SOURCE_FILE_OUTSIDE);
    assert_file(at("allowed"), at("allowed/../out.cu"), SOURCE_FILE_OUTSIDE);
    assert_file(at("allowed"), at("allowed/missing.cu"), SOURCE_FILE_NONE);
}

static void a_name_that_begins_like_a_root_is_another(void **state)
{
    (void)state;
    assert_file(at("allowed"), at("allowed2/near.cu"), SOURCE_FILE_OUTSIDE);
    assert_file(at("allowed2"), at("allowed2/near.cu"), SOURCE_FILE_OPENED);
}

static void links_are_followed_before_anything_is_compared(void **state)
{
    (void)state;
    assert_file(at("allowed"), at("allowed/away.cu"), SOURCE_FILE_OUTSIDE);
    assert_file(at("allowed"), at("allowed/up/out.cu"), SOURCE_FILE_OUTSIDE);
    assert_file(at("allowed"), at("allowed/up/allowed/in.cu"), SOURCE_FILE_OPENED);
    assert_file(at("allowed"), at("back.cu"), SOURCE_FILE_OPENED);
    assert_file(at("alias"), at("allowed/in.cu"), SOURCE_FILE_OPENED);
    assert_file(at("alias"), at("alias/in.cu"), SOURCE_FILE_OPENED);
}

static atomic_bool swapping;

/* Turns a link to a file within into one to a file without, and back. */
static void *swap_links(void *link)
{
    char next[4096];
    snprintf(next, sizeof next, "%s.next", (const char *)link);
    for (unsigned i = 0; atomic_load(&swapping); i++) {
        (void)!symlink(i % 2 ? "in.cu" : "../out.cu", next);
        rename(next, link);
    }
    return NULL;
}

static void a_link_that_changes_meanwhile_leads_nowhere(void **state)
{
    (void)state;
    struct source_roots roots = resolved(at("allowed"));
    unsigned seen[3] = {0};
    pthread_t thread;
    char link[4096];
    snprintf(link, sizeof link, "%s", at("allowed/changing.cu"));
    assert_int_equal(symlink("in.cu", link), 0);
    atomic_store(&swapping, true);
    assert_int_equal(pthread_create(&thread, NULL, swap_links, link), 0);
    for (unsigned i = 0; i < 20000 || !seen[SOURCE_FILE_OPENED]; i++) {
        struct own_fd file = OWN_FD_NONE;
        char text[8] = "";
        enum source_file found = source_roots_open(&roots, link, &file);
        seen[found]++;
        if (found == SOURCE_FILE_OPENED) {
            assert_int_equal(read(file.fd, text, sizeof text), 2);
        }
        own_fd_close(&file);
    }
    atomic_store(&swapping, false);
    pthread_join(thread, NULL);
    assert_int_equal(seen[SOURCE_FILE_NONE], 0);
}

/* Reading a pipe would take what its reader waits for. */
static void what_is_no_regular_file_is_left_alone(void **state)
{
    (void)state;
    assert_file("/", at("allowed/pipe"), SOURCE_FILE_NONE);
    assert_file("/", at("allowed"), SOURCE_FILE_NONE);
    assert_file("/", "/dev/null", SOURCE_FILE_NONE);
}

static void several_roots_all_and_none(void **state)
{
    (void)state;
    char list[9000];
    snprintf(list, sizeof list, ":%s::%s/:", at("allowed2"), at("allowed"));
    assert_file(list, at("allowed/in.cu"), SOURCE_FILE_OPENED);
    assert_file(list, at("allowed2/near.cu"), SOURCE_FILE_OPENED);
    assert_file(list, at("out.cu"), SOURCE_FILE_OUTSIDE);
    assert_file("/", at("out.cu"), SOURCE_FILE_OPENED);
    assert_file("", at("out.cu"), SOURCE_FILE_OUTSIDE);
    assert_file(":", at("out.cu"), SOURCE_FILE_OUTSIDE);
}

/* A colon in its name does not make two of it. */
static void a_dot_is_the_working_directory_of_that_moment(void **state)
{
    (void)state;
    struct own_fd file = OWN_FD_NONE;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    mkdir(at("allowed:x"), 0755);
    dirs_append(at("allowed:x"), "here.cu", "here");
    assert_int_equal(chdir(at("allowed:x")), 0);
    struct source_roots roots = resolved(".");
    assert_int_equal(chdir(tree), 0);
    assert_int_equal(source_roots_open(&roots, at("allowed:x/here.cu"), &file),
                     SOURCE_FILE_OPENED);
    own_fd_close(&file);
    assert_int_equal(source_roots_open(&roots, "allowed/in.cu", &file),
                     SOURCE_FILE_OUTSIDE);
    assert_int_equal(chdir("/"), 0);
    roots = resolved(".");
    assert_int_equal(source_roots_open(&roots, at("out.cu"), &file), SOURCE_FILE_OUTSIDE);
    mkdir(at("gone"), 0755);
    assert_int_equal(chdir(at("gone")), 0);
    rmdir(at("gone"));
    roots = resolved(".");
    assert_int_equal(source_roots_open(&roots, at("out.cu"), &file), SOURCE_FILE_OUTSIDE);
    assert_int_equal(chdir(before), 0);
}

static void a_root_that_cannot_be_one_is_refused(void **state)
{
    (void)state;
    struct source_roots roots;
    char why[SOURCE_ROOTS_FAULT_BYTES];
    char list[9000];
    const struct {
        const char *given, *said;
    } cases[] = {
        {"src", "'src': not an absolute path (expected absolute directories,"},
        {"..", "'..': not an absolute path"},
        {"./src", "'./src': not an absolute path"},
        {at("missing"), "No such file or directory"},
        {at("out.cu"), "Not a directory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(list, sizeof list, "/:%s", cases[i].given);
        assert_int_equal(source_roots_resolve(list, &roots, why), GPUFL_ERR_USAGE);
        assert_int_equal(why[0], '\'');
        assert_non_null(strstr(why, cases[i].said));
    }
    size_t len = 0;
    for (int i = 0; i < 1000 && len < sizeof list - 300; i++) {
        len += (size_t)snprintf(list + len, sizeof list - len, "%s:", at("allowed"));
    }
    assert_int_equal(source_roots_resolve(list, &roots, why), GPUFL_ERR_USAGE);
    assert_non_null(strstr(why, "too long together"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_read_if_it_lies_below_a_root, grow,
                                        cut),
        cmocka_unit_test_setup_teardown(a_name_that_begins_like_a_root_is_another, grow,
                                        cut),
        cmocka_unit_test_setup_teardown(links_are_followed_before_anything_is_compared,
                                        grow, cut),
        cmocka_unit_test_setup_teardown(a_link_that_changes_meanwhile_leads_nowhere, grow,
                                        cut),
        cmocka_unit_test_setup_teardown(what_is_no_regular_file_is_left_alone, grow, cut),
        cmocka_unit_test_setup_teardown(several_roots_all_and_none, grow, cut),
        cmocka_unit_test_setup_teardown(a_dot_is_the_working_directory_of_that_moment,
                                        grow, cut),
        cmocka_unit_test_setup_teardown(a_root_that_cannot_be_one_is_refused, grow, cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
