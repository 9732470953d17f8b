/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the progress of another uploader with the directory as it is. */
#include "upload/holder_left.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "upload/published/progress_file.h"

/* A session has a line for each of its channels, one behind the other. */
struct holder_left {
    int root;
    const struct selection *selection;
    char last[JOURNAL_PATH_MAX];
    struct engine_summary *out;
};

/* One that is under another path now has moved. */
static bool holder_left_is_away(const struct holder_left *left, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct stat st;
    return !select_has(left->selection, slash ? slash + 1 : path) &&
           fstatat(left->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

static void holder_left_note(void *arg, const struct progress_line *line)
{
    struct holder_left *left = arg;
    if (line->complete || strcmp(line->path, left->last) == 0) {
        return;
    }
    snprintf(left->last, sizeof left->last, "%s", line->path);
    if (holder_left_is_away(left, line->path)) {
        struct engine_summary *out = left->out;
        out->sessions_away++;
        snprintf(out->away_session, sizeof out->away_session, "%.255s", line->path);
    }
}

void holder_left_count(const struct sys *sys, int root, const struct selection *selection,
                       struct engine_summary *out)
{
    struct holder_left left = {.root = root, .selection = selection, .out = out};
    unsigned before = out->sessions_away;
    /* Where there is no progress to read, no session is known. */
    if (progress_read(sys, root, NULL, holder_left_note, &left) != GPUFL_OK) {
        out->sessions_away = before;
    }
}
