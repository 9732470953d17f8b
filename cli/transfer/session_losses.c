/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the end of an active file: its writer puts the same record into each channel. */
#include "cli/transfer/session_losses.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "schema/layout.h"
#include "schema/record_field.h"
#include "schema/records.h"

#define END_BYTES 32768u /* has the record, and the few that follow it */

/* \return whether the record is in \p text. The first line may be the rest of one. */
static bool losses_in_lines(const char *text, size_t len, struct losses *out)
{
    bool found = false;
    for (const char *end; (end = memchr(text, '\n', len)) != NULL;) {
        size_t line = (size_t)(end - text);
        if (record_field_is(text, line, "type", RECORD_CAPABILITIES)) {
            losses_raise(out, text, line);
            found = true;
        }
        text = end + 1;
        len -= line + 1;
    }
    return found;
}

static bool losses_in_file(int root, const char *path, const struct scan_channel *c,
                           struct losses *out)
{
    char text[END_BYTES];
    char active[LAYOUT_PATH_MAX];
    char file[LAYOUT_SESSION_PATH_MAX + LAYOUT_PATH_MAX];
    layout_active(active, c->name, false);
    snprintf(file, sizeof file, "%s/%s", path, active);
    int fd = file_open(&sys_real, root, file);
    if (fd < 0) {
        return false;
    }
    uint64_t from = c->active_bytes > END_BYTES ? c->active_bytes - END_BYTES : 0;
    ssize_t n = file_pread_full(&sys_real, fd, text, sizeof text, (off_t)from);
    close(fd);
    return n > 0 && losses_in_lines(text, (size_t)n, out);
}

struct losses session_losses(int root, const char *path, const struct scan *scan)
{
    struct losses out = {.count = {0}};
    for (unsigned i = 0; i < scan->channels; i++) {
        const struct scan_channel *c = &scan->channel[i];
        if (scan->layout == SESSION_LIVE && c->has_active &&
            losses_in_file(root, path, c, &out)) {
            break;
        }
    }
    return out;
}
