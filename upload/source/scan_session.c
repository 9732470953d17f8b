/* SPDX-License-Identifier: Apache-2.0 */
/* Decides on a compressed file by what it was found to be and by what the writer told. */
#include "upload/source/scan_session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "schema/layout.h"
#include "upload/source/told.h"

/* Channels are found in any order. What is corrected later, as by what the writer told,
 * does not count. */
uint32_t scan_stamp(const struct scan *scan)
{
    uint64_t stamp = 0;
    for (unsigned i = 0; i < scan->channels; i++) {
        const struct scan_channel *c = &scan->channel[i];
        const uint64_t found[] = {channel_named(c->name), (uint64_t)c->active_changed_ns,
                                  c->active_bytes, c->payloads, c->numbered_bytes};
        stamp += hash64_bytes(HASH64_BASIS, found, sizeof found);
    }
    return (uint32_t)(stamp ^ stamp >> 32) | 1;
}

bool scan_is_unlisted(const struct scan *scan)
{
    return scan->manifest_state != SCAN_MANIFEST_NONE &&
           scan->manifest_state != SCAN_MANIFEST_VALID;
}

bool scan_hides_end(const struct scan *scan)
{
    bool hides = false;
    for (unsigned i = 0; i < scan->channels; i++) {
        const struct scan_channel *c = &scan->channel[i];
        hides = hides || (c->has_active_gz && scan->layout != SESSION_WINDOWS) ||
                (c->highest && scan->layout == SESSION_SHIFTING);
    }
    return hides;
}

bool scan_is_odd(const struct scanning *scanning)
{
    const struct scan *found = &scanning->found;
    bool odd = found->unread.names > 0;
    for (unsigned i = 0; i < found->channels; i++) {
        const struct scan_channel *c = &found->channel[i];
        bool misplaced =
            scanning->marks.sidecar ? c->has_active : c->highest != c->highest_shifting;
        odd = odd || c->has_active_gz || (misplaced && !scanning->dir.live);
    }
    return odd;
}

bool scan_number_is_copy(const struct sys *sys, int root, const char *path,
                         const char *channel, uint32_t number)
{
    struct active_files told = {0};
    struct unread unread = {0};
    bool now;
    int dir = sys->open_beneath(root, path, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0) {
        return false;
    }
    bool copy = told_read(sys, dir, &told, &now) != GPUFL_ERR_IO &&
                told_note_beyond(sys, dir, channel, number, &told, &unread);
    close(dir);
    return copy;
}

/* The active file is all that its writer has written of it: what was cut off of a copy of
 * it is there. A living writer tells a size before it writes, and is asked again. */
static bool scan_active_is_whole(int dir, const struct scan_channel *c, bool lives)
{
    char name[LAYOUT_PATH_MAX];
    struct stat st;
    layout_active(name, c->name, false);
    bool gap = c->highest > 0 && c->payloads != c->highest - c->lowest + 1;
    return c->told_active == c->highest + 1 && !gap && c->told_bytes >= 0 &&
           fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (lives || st.st_size >= c->told_bytes);
}

static void scan_note_form(const struct scan_second_of *of, struct scan_channel *c,
                           enum second_form form)
{
    char name[LAYOUT_PATH_MAX];
    bool failed = false;
    bool active = !c->has_active &&
                  !told_is_earlier(of->sys, of->dir, c->name, c->highest + 1, &failed) &&
                  !failed &&
                  (form == SECOND_FORM_OTHER || form == SECOND_FORM_UNREADABLE);
    bool copy =
        form >= SECOND_FORM_COPY_ACTIVE ||
        (form == SECOND_FORM_CUT_ACTIVE && scan_active_is_whole(of->dir, c, of->lives));
    if (!active && !copy) {
        layout_active(name, c->name, true);
        unread_add(&of->scan->unread,
                   form == SECOND_FORM_OTHER ? UNREAD_LAYOUT : UNREAD_DAMAGED, name);
    }
    c->has_active_gz = active || (!copy && c->has_active);
}

/* Stands for the files that a compressed one is compared with. */
static uint64_t scan_files_of(const struct scan_channel *c)
{
    const uint64_t all[] = {c->highest, c->payloads, c->numbered_bytes, c->active_bytes};
    return hash64_bytes(HASH64_BASIS, all, sizeof all);
}

bool scan_second_some(struct scan_second *second, const struct scan_second_of *of,
                      int64_t *budget)
{
    struct scan *scan = of->scan;
    for (; scan->layout != SESSION_WINDOWS && second->at < scan->channels; second->at++) {
        struct scan_channel *c = &scan->channel[second->at];
        enum channel index = channel_named(c->name);
        enum second_form form;
        bool beside = c->has_active || scan->layout == SESSION_LIVE;
        if (!c->has_active_gz || !beside || index == CHANNEL_COUNT) {
            continue;
        }
        const struct second_place place = {.sys = of->sys,
                                           .dir = of->dir,
                                           .channel = c->name,
                                           .files = scan_files_of(c),
                                           .known = &of->known[index]};
        if (second_form_step(&place, &second->search, budget, &form) == GPUFL_BUSY) {
            return false;
        }
        scan_note_form(of, c, form);
    }
    return true;
}

gpufl_status scan_session(const struct sys *sys, int root, const char *path,
                          const char *id, struct scan *out)
{
    struct second_known known[CHANNEL_COUNT] = {{0}};
    struct scan_second second = {0};
    int64_t budget = INT64_MAX;
    memset(out, 0, sizeof *out);
    int dir = sys->open_beneath(root, path, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0) {
        return errno == ENOENT || errno == ENOTDIR ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
    }
    const struct scan_second_of of = {
        .sys = sys, .dir = dir, .scan = out, .known = known};
    gpufl_status status = scan_directory(sys, dir, id, out);
    (void)scan_second_some(&second, &of, &budget);
    second_form_stop(second.search);
    close(dir);
    return status;
}
