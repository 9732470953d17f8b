/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves and takes requests, and tells what became of one. The state directory is closed
 * to others, and only files of our user or of root are believed. */
#include "upload/resolve/resolve_request.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "schema/channels.h"
#include "schema/layout.h"
#include "upload/resolve/resolve.h"
#include "upload/source/listing.h"

#define REQUEST_INFIX ".resolve."
#define REQUEST_MAX   (JOURNAL_PATH_MAX + LAYOUT_CHANNEL_MAX + 8)
#define ANSWER_INFIX  ".answer."
/* When it is of a gpufl resolve that was interrupted. */
#define ANSWER_OLD_S 60
/* It begins with whether something was given up. */
#define ANSWER_DONE    '+'
#define ANSWER_REFUSED '-'

/* A request of which a part is done, and the rest waits for another turn. */
struct resolve_unfinished {
    struct resolve_unfinished *next;
    char name[RESOLVE_REQUEST_NAME];
    struct resolve_result result;
};

const char *resolve_split(char *text, const char **path)
{
    char *slash = strrchr(text, '/');
    const char *channel = NULL;
    if (slash && channel_is_known(slash + 1)) {
        *slash = '\0';
        channel = slash + 1;
    }
    slash = strchr(text, '/');
    char group[LAYOUT_NAME_MAX + 2] = "g";
    if (slash) {
        snprintf(group, sizeof group, "%.*s", (int)(slash - text), text);
    }
    *path =
        layout_name_ok(group) && layout_name_ok(slash ? slash + 1 : text) ? text : NULL;
    return channel;
}

/* The name of the answer to request \p name, which is as long. */
static void answer_name(const char *journal, const char *name,
                        char out[RESOLVE_REQUEST_NAME])
{
    size_t n = strlen(journal);
    snprintf(out, RESOLVE_REQUEST_NAME, "%s" ANSWER_INFIX "%s", journal,
             name + n + sizeof REQUEST_INFIX - 1);
}

/* Without room for it, only the log says what became of it. */
static void resolve_answer(struct root *root, const char *name,
                           const struct resolve_result *result)
{
    const struct engine *engine = root->engine;
    char answer[RESOLVE_REQUEST_NAME];
    char text[RESOLVE_TEXT + 1];
    bool done = result->given_up > 0;
    int len = snprintf(text, sizeof text, "%c%s", done ? ANSWER_DONE : ANSWER_REFUSED,
                       done ? result->text : result->why);
    answer_name(root->journal_name, name, answer);
    if (!done) {
        log_warn(engine->config.log, "resolve.failed", "root=%s request=%s reason=\"%s\"",
                 root->path, name, result->why);
    }
    (void)!file_replace(engine->config.sys, root->state_fd, answer, text, (size_t)len,
                        false);
}

/* \return where the one of that name is, or would be put. */
static struct resolve_unfinished **unfinished_link(struct root *root, const char *name)
{
    struct resolve_unfinished **link = &root->unfinished;
    while (*link && strcmp((*link)->name, name) != 0) {
        link = &(*link)->next;
    }
    return link;
}

static void unfinished_drop(struct resolve_unfinished **link)
{
    struct resolve_unfinished *gone = *link;
    if (gone) {
        *link = gone->next;
        free(gone);
    }
}

/* So that its answer tells all that was given up for it. Without memory it tells what the
 * last turn did, as after a restart. */
static void unfinished_keep(struct resolve_unfinished **link, const char *name,
                            const struct resolve_result *result)
{
    if (!*link && result->given_up) {
        *link = calloc(1, sizeof **link);
    }
    if (*link) {
        snprintf((*link)->name, sizeof(*link)->name, "%s", name);
        (*link)->result = *result;
        (*link)->result.busy = 0;
        (*link)->result.why[0] = '\0';
    }
}

/* Somebody may have taken a request back. */
static void unfinished_sweep(struct root *root)
{
    for (struct resolve_unfinished **link = &root->unfinished; *link;) {
        if (faccessat(root->state_fd, (*link)->name, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
            unfinished_drop(link);
        } else {
            link = &(*link)->next;
        }
    }
}

static void resolve_as_asked(struct root *root, const char *name, char *text)
{
    struct resolve_unfinished **unfinished = unfinished_link(root, name);
    struct resolve_result result = {0};
    const char *path;
    text[strcspn(text, "\n")] = '\0';
    const char *channel = resolve_split(text, &path);
    if (*unfinished) {
        result = (*unfinished)->result;
    }
    if (path) {
        resolve_session(root, path, channel, &result);
    } else {
        snprintf(result.why, sizeof result.why, "it names no session");
    }
    if (result.busy) {
        root->requests_busy = true; /* at the next listing */
        unfinished_keep(unfinished, name, &result);
        return;
    }
    unfinished_drop(unfinished);
    resolve_answer(root, name, &result);
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

static void resolve_drop_old_answer(const struct root *root, const char *name)
{
    const struct sys *sys = root->engine->config.sys;
    struct stat st;
    if (fstatat(root->state_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        llabs((long long)(sys->wall_s() - st.st_mtim.tv_sec)) > ANSWER_OLD_S) {
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
    } else if (resolve_is_named(root, name, ANSWER_INFIX)) {
        resolve_drop_old_answer(root, name);
    }
}

void resolve_take_requests(struct root *root)
{
    struct listing listing;
    if (!resolve_may_be_asked(root) || listing_open(&listing, root->engine->config.sys,
                                                    root->state_fd, ".") != GPUFL_OK) {
        return;
    }
    unfinished_sweep(root);
    for (const struct dirent64 *entry; (entry = listing_next(&listing));) {
        char name[RESOLVE_REQUEST_NAME];
        if (strlen(entry->d_name) < sizeof name) {
            memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
            resolve_take_named(root, name);
        }
    }
    listing_close(&listing);
}

void resolve_close(struct root *root)
{
    while (root->unfinished) {
        unfinished_drop(&root->unfinished);
    }
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

bool resolve_take_answer(const struct state_place *place, const char *name,
                         struct resolve_result *out)
{
    char answer[RESOLVE_REQUEST_NAME];
    char *text;
    size_t len;
    *out = (struct resolve_result){0};
    answer_name(place->name, name, answer);
    if (file_read(&sys_real, place->fd, answer, RESOLVE_TEXT, &text, &len) != GPUFL_OK) {
        return false;
    }
    for (char *c = text; *c; c++) {
        *c = iscntrl((unsigned char)*c) ? '?' : *c; /* it goes to a terminal */
    }
    out->given_up = *text == ANSWER_DONE;
    snprintf(out->text, sizeof out->text, "%s", out->given_up ? text + 1 : "");
    snprintf(out->why, sizeof out->why, "%s", out->given_up || !len ? "" : text + 1);
    free(text);
    sys_real.unlinkat(place->fd, answer, 0);
    return len > 0;
}
