/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves and takes requests. The state directory is closed to others, and only files of
 * our user or of root are believed. */
#include "upload/engine/resolve_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "upload/engine/resolve.h"
#include "upload/source/listing.h"

#define REQUEST_INFIX ".resolve."
#define REQUEST_MAX   (JOURNAL_PATH_MAX + LAYOUT_CHANNEL_MAX + 8)

static void resolve_as_asked(struct root *root, const char *name, char *text)
{
    const struct engine *engine = root->engine;
    struct resolve_result result = {.why = "it names no session"};
    const char *path;
    text[strcspn(text, "\n")] = '\0';
    const char *channel = resolve_split(text, &path);
    if (path) {
        resolve_session(root, path, channel, &result);
    }
    if (result.busy) {
        root->requests_busy = true; /* at the next listing */
        return;
    }
    if (!result.given_up) {
        log_warn(engine->config.log, "resolve.failed", "root=%s request=%s reason=\"%s\"",
                 root->path, name, result.why);
    }
    engine->config.sys->unlinkat(root->state_fd, name, 0);
}

static void resolve_take_one(struct root *root, const char *name)
{
    const struct sys *sys = root->engine->config.sys;
    char *text;
    size_t len;
    if (file_read_owned(sys, root->state_fd, name, REQUEST_MAX, &text, &len) !=
        GPUFL_OK) {
        sys->unlinkat(root->state_fd, name, 0);
        return;
    }
    resolve_as_asked(root, name, text);
    free(text);
}

/* Not if nothing has changed in the directory; its mtime is coarse, and a request may
 * have come right after the last look, so there are two after a change. */
static bool resolve_may_be_asked(struct root *root)
{
    struct stat st;
    if (root->state_fd < 0 || journal_broken(root->journal) ||
        fstat(root->state_fd, &st) < 0) {
        return false;
    }
    bool same = st.st_mtim.tv_sec == root->requests_changed.tv_sec &&
                st.st_mtim.tv_nsec == root->requests_changed.tv_nsec;
    bool look = !same || root->requests_busy;
    root->requests_busy = !same;
    root->requests_changed = st.st_mtim;
    return look;
}

void resolve_take_requests(struct root *root)
{
    char prefix[RESOLVE_REQUEST_NAME];
    struct listing listing;
    int n = snprintf(prefix, sizeof prefix, "%s" REQUEST_INFIX, root->journal_name);
    if (!resolve_may_be_asked(root) || listing_open(&listing, root->engine->config.sys,
                                                    root->state_fd, ".") != GPUFL_OK) {
        return;
    }
    for (const struct dirent64 *entry; (entry = listing_next(&listing));) {
        const char *name = entry->d_name;
        if (strncmp(name, prefix, (size_t)n) == 0 &&
            strlen(name) < RESOLVE_REQUEST_NAME && !strstr(name, ".tmp")) {
            char copy[RESOLVE_REQUEST_NAME];
            memcpy(copy, name, strlen(name) + 1);
            resolve_take_one(root, copy);
        }
    }
    listing_close(&listing);
}

gpufl_status resolve_leave_request(const struct state_place *place, const char *what,
                                   char name[RESOLVE_REQUEST_NAME])
{
    uint64_t random;
    char text[REQUEST_MAX];
    sys_real.random(&random, sizeof random);
    snprintf(name, RESOLVE_REQUEST_NAME, "%s" REQUEST_INFIX "%016" PRIx64, place->name,
             random);
    int len = snprintf(text, sizeof text, "%s\n", what);
    return file_replace(&sys_real, place->fd, name, text, (size_t)len, true);
}
