/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for the session that a manifest names. */
#include "cli/transfer/other_session.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "upload/published/progress_file.h"

struct other_session {
    const char *path;
    bool renamed; /* as the uploader says */
};

static void other_session_note(void *arg, const struct progress_note *note)
{
    struct other_session *other = arg;
    other->renamed = other->renamed || (strcmp(note->path, other->path) == 0 &&
                                        strcmp(note->text, held_text(HELD_RENAMED)) == 0);
}

static bool other_session_is_there(int root, const char *path, const char *id)
{
    char beside[LAYOUT_SESSION_PATH_MAX];
    layout_beside(beside, path, id);
    return faccessat(root, beside, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
           faccessat(root, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

enum held_reason other_session_reason(int root, const char *path, const char *id)
{
    struct other_session other = {.path = path};
    progress_notes(&sys_real, root, other_session_note, &other);
    return !other.renamed && other_session_is_there(root, path, id) ? HELD_COPY
                                                                    : HELD_RENAMED;
}
