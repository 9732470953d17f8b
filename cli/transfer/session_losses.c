/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the end of an active file, as its writer puts the same record into each channel,
 * and the loss markers. */
#include "cli/transfer/session_losses.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "schema/layout.h"
#include "schema/record_field.h"
#include "schema/records.h"
#include "upload/source/listing.h"

#define MARKER_BYTES_MAX (64u << 10)
#define END_BYTES        32768u /* has the record, and the few that follow it */

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

/* The closing record counts the same lines, but for those that were lost after it. */
static void losses_in_markers(int root, const char *path, const struct scan *scan,
                              struct losses *out)
{
    struct listing listing;
    uint64_t lines = 0;
    if (!scan->has_loss || listing_open(&listing, &sys_real, root, path) != GPUFL_OK) {
        return;
    }
    for (const struct dirent64 *entry; (entry = listing_next(&listing));) {
        char name[LAYOUT_SESSION_PATH_MAX + NAME_MAX + 2];
        char *text = NULL;
        size_t len = 0;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (losses_is_marker(entry->d_name) &&
            file_read(&sys_real, root, name, MARKER_BYTES_MAX, &text, &len) == GPUFL_OK) {
            lines += losses_of_marker(text, len);
            free(text);
        }
    }
    listing_close(&listing);
    if (lines > out->count[LOSS_LINES]) {
        out->count[LOSS_LINES] = lines;
    }
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
    losses_in_markers(root, path, scan, &out);
    return out;
}
