/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves and takes requests, and tells why one was refused. The state directory is closed
 * to others, and only files of our user or of root are believed. */
#include "upload/engine/resolve_request.h"

#include <ctype.h>
#include <fcntl.h>
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
#define REFUSAL_INFIX ".refused."
/* When it is of a gpufl resolve that was interrupted. */
#define REFUSAL_OLD_S 60

/* The name of the refusal of request \p name, which is as long. */
static void refusal_name(const char *journal, const char *name,
                         char out[RESOLVE_REQUEST_NAME])
{
    size_t n = strlen(journal);
    snprintf(out, RESOLVE_REQUEST_NAME, "%s" REFUSAL_INFIX "%s", journal,
             name + n + sizeof REQUEST_INFIX - 1);
}

/* Without room for it, only the log says why. */
static void resolve_refuse(struct root *root, const char *name, const char *why)
{
    const struct engine *engine = root->engine;
    char refusal[RESOLVE_REQUEST_NAME];
    refusal_name(root->journal_name, name, refusal);
    log_warn(engine->config.log, "resolve.failed", "root=%s request=%s reason=\"%s\"",
             root->path, name, why);
    (void)!file_replace(engine->config.sys, root->state_fd, refusal, why, strlen(why),
                        false);
}

static void resolve_as_asked(struct root *root, const char *name, char *text)
{
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
        resolve_refuse(root, name, result.why);
    }
    root->engine->config.sys->unlinkat(root->state_fd, name, 0);
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

static void resolve_drop_old_refusal(const struct root *root, const char *name)
{
    const struct sys *sys = root->engine->config.sys;
    struct stat st;
    if (fstatat(root->state_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        llabs((long long)(sys->wall_s() - st.st_mtim.tv_sec)) > REFUSAL_OLD_S) {
        sys->unlinkat(root->state_fd, name, 0);
    }
}

/* Whether a file of the state directory is this root's with that infix, and whole. */
static bool resolve_is_named(const struct root *root, const char *name, const char *infix)
{
    size_t n = strlen(root->journal_name);
    return strncmp(name, root->journal_name, n) == 0 &&
           strncmp(name + n, infix, strlen(infix)) == 0 && !strstr(name, ".tmp");
}

static void resolve_take_named(struct root *root, const char *name)
{
    if (resolve_is_named(root, name, REQUEST_INFIX)) {
        resolve_take_one(root, name);
    } else if (resolve_is_named(root, name, REFUSAL_INFIX)) {
        resolve_drop_old_refusal(root, name);
    }
}

void resolve_take_requests(struct root *root)
{
    struct listing listing;
    if (!resolve_may_be_asked(root) || listing_open(&listing, root->engine->config.sys,
                                                    root->state_fd, ".") != GPUFL_OK) {
        return;
    }
    for (const struct dirent64 *entry; (entry = listing_next(&listing));) {
        char name[RESOLVE_REQUEST_NAME];
        if (strlen(entry->d_name) < sizeof name) {
            memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
            resolve_take_named(root, name);
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

bool resolve_take_refusal(const struct state_place *place, const char *name,
                          char why[RESOLVE_WHY])
{
    char refusal[RESOLVE_REQUEST_NAME];
    char *text;
    size_t len;
    refusal_name(place->name, name, refusal);
    if (file_read(&sys_real, place->fd, refusal, RESOLVE_WHY, &text, &len) != GPUFL_OK) {
        return false;
    }
    snprintf(why, RESOLVE_WHY, "%s", text);
    for (char *c = why; *c; c++) {
        *c = iscntrl((unsigned char)*c) ? '?' : *c; /* it goes to a terminal */
    }
    free(text);
    sys_real.unlinkat(place->fd, refusal, 0);
    return true;
}
