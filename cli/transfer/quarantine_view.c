/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the journal and shows what the backend refused; changes nothing. */
#include "cli/transfer/quarantine_view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "cli/exit_codes.h"
#include "cli/transfer/directory_fault.h"
#include "cli/transfer/quarantine_print.h"

#define NO_JOURNAL                                                                       \
    "no journal found (nothing was uploaded yet, or give the --state-dir that was used)"

/* A directory and its journal, open. */
struct quarantine_view {
    struct journal_read journal;
    int root;
};

/* \return GPUFL_OK, or why not, which has been said. */
static gpufl_status view_open(const struct quarantine_choice *choice,
                              struct quarantine_view *out)
{
    char *path = realpath(choice->directory, NULL);
    out->root = open(choice->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->root < 0 || !path) {
        directory_fault("gpufl quarantine", choice->directory, errno);
        free(path);
        return GPUFL_ERR_IO;
    }
    gpufl_status status =
        journal_read_open(&sys_real, choice->state_dir, out->root, path, &out->journal);
    free(path);
    if (status != GPUFL_OK) {
        close(out->root);
        bool none = status == GPUFL_ERR_NOT_FOUND;
        message_line("gpufl quarantine", "%s: %s",
                     choice->state_dir && !none ? "--state-dir" : choice->directory,
                     none ? NO_JOURNAL : out->journal.why);
    }
    return status;
}

static void view_close(struct quarantine_view *view)
{
    journal_read_fini(&view->journal);
    close(view->root);
}

int quarantine_view_check(const struct quarantine_choice *choice)
{
    struct quarantine_view view = {.root = -1};
    gpufl_status status = view_open(choice, &view);
    if (status == GPUFL_OK) {
        view_close(&view);
    }
    return status == GPUFL_OK ? EXIT_ALL_DONE : EXIT_BAD_USE;
}

static void print_ranges(const struct quarantine_view *view, bool json)
{
    struct quarantined range;
    struct text out = {0};
    text_puts(&out, json ? "[" : "");
    for (size_t i = 0; quarantine_in_journal(&view->journal, i, &range); i++) {
        if (json) {
            text_puts(&out, i ? "," : "");
            quarantine_print_json(&out, &range);
        } else {
            quarantine_print_line(&out, &range);
            text_puts(&out, "\n");
        }
    }
    text_puts(&out, json ? "]\n" : "");
    fwrite(out.data, 1, out.failed ? 0 : out.len, stdout);
    text_fini(&out);
}

static bool look_at(const void *from, size_t index, struct quarantined *out)
{
    const struct quarantine_view *view = from;
    return quarantine_in_journal(&view->journal, index, out);
}

int quarantine_view_list(const struct quarantine_choice *choice, bool json)
{
    struct quarantine_view view = {.root = -1};
    gpufl_status status = view_open(choice, &view);
    if (status == GPUFL_OK) {
        if (json || !quarantine_choice_of_none(choice, look_at, &view)) {
            print_ranges(&view, json);
        }
        view_close(&view);
        return EXIT_ALL_DONE;
    }
    if (status != GPUFL_ERR_NOT_FOUND) {
        return EXIT_BAD_USE;
    }
    fputs(json ? "[]\n" : "", stdout);
    return EXIT_ALL_DONE;
}

static int print_lines(int root, const struct quarantined *range)
{
    char *data;
    size_t len;
    bool gz;
    gpufl_status status = quarantine_read(&sys_real, root, range, &data, &len, &gz);
    if (status != GPUFL_OK) {
        message_line("gpufl quarantine", "%s: its lines cannot be read from the file: %s",
                     range->name, gpufl_status_text(status));
        return EXIT_NOT_ALL;
    }
    if (gz) {
        message_line("gpufl quarantine", "%s: a compressed window (pipe it to zcat)",
                     range->name);
    }
    bool written = fwrite(data, 1, len, stdout) == len;
    if (len && !gz && data[len - 1] != '\n') {
        putchar('\n');
    }
    free(data);
    return written ? EXIT_ALL_DONE : EXIT_NOT_ALL;
}

int quarantine_view_show(const struct quarantine_choice *choice)
{
    struct quarantine_view view = {.root = -1};
    struct quarantined range;
    if (view_open(choice, &view) != GPUFL_OK) {
        return EXIT_BAD_USE;
    }
    quarantine_choice_of_none(choice, look_at, &view);
    int rc = quarantine_choice_missing(choice, look_at, &view);
    for (size_t i = 0; look_at(&view, i, &range); i++) {
        if (quarantine_choice_has(choice, &range) &&
            print_lines(view.root, &range) != EXIT_ALL_DONE) {
            rc = EXIT_NOT_ALL;
        }
    }
    view_close(&view);
    return rc;
}
