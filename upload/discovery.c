/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions lie under a root: found, kept while they cannot be looked into,
 * forgotten when they are gone. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "upload/engine_internal.h"

/* Does somebody serve that directory? Its uploader holds an exclusive lock on it. */
bool root_is_served(int dir)
{
    bool served = flock(dir, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    if (!served) {
        flock(dir, LOCK_UN);
    }
    return served;
}

static void found(struct root *root, const char *path)
{
    struct session *session = root_session(root, path, true);
    if (session) {
        root->change_stamp += !session->watched;
        session->present = true;
        session->gone = false;
        session_mark(session);
    }
}

struct visit {
    struct root *root;
    const char *group; /* "" at the top */
};

/* What cannot be looked into just now is there all the same: nothing of it is forgotten.
 */
static void keep_present(struct root *root, const char *path)
{
    size_t len = strlen(path);
    for (struct session *s = root->sessions; s; s = s->next) {
        if (strncmp(s->path, path, len) == 0 && (s->path[len] == '/' || !s->path[len])) {
            s->present = true;
            session_mark(s);
        }
    }
}

/* A group directory may be the root of another uploader, now or until now: what was sent
 * of it stands in that one's journal. */
static bool group_is_a_root(struct root *root, const char *name)
{
    const struct sys *sys = root->engine->config.sys;
    int dir = sys->open_beneath(root->fd, name, O_RDONLY | O_DIRECTORY, 0);
    bool other =
        dir >= 0 && (root_is_served(dir) ||
                     faccessat(dir, LAYOUT_STATE_DIR, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    if (dir >= 0) {
        close(dir);
    }
    if (other && !root->other_root_said) {
        root->other_root_said = true;
        log_warn(
            root->engine->config.log, "scan.other_root",
            "root=%s dir=%s note=\"it has an uploader, or the journal of one, of its "
            "own: serve it by that\"",
            root->path, name);
    }
    if (other) {
        keep_present(root, name);
    }
    return other;
}

static void visit_dir(void *arg, const char *name)
{
    struct visit *visit = arg;
    struct root *root = visit->root;
    const struct sys *sys = root->engine->config.sys;
    char path[FACTS_PATH_MAX];
    struct scan scan;
    snprintf(path, sizeof path, "%s%s%s", visit->group, visit->group[0] ? "/" : "", name);
    struct session *old = root_session(root, path, false);
    if (old && old->state == SESSION_DONE) {
        old->present = true;
        return;
    }
    gpufl_status status = scan_session(sys, root->fd, path, name, &scan);
    if (status == GPUFL_OK) {
        found(root, path);
    } else if (status == GPUFL_ERR_NOT_FOUND && !visit->group[0] &&
               !group_is_a_root(root, name)) {
        struct visit inner = {.root = root, .group = name}; /* a multi-pass run */
        if (scan_subdirs(sys, root->fd, name, visit_dir, &inner) != GPUFL_OK) {
            log_warn(root->engine->config.log, "scan.skipped", "root=%s dir=%s",
                     root->path, name);
            keep_present(root, path);
        }
    } else if (status != GPUFL_ERR_NOT_FOUND) {
        keep_present(root, path);
    }
}

static bool has_unsettled(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->offer || !session->stream[i]->drained) {
            return session->streams > 0;
        }
    }
    return false;
}

/* A directory that is gone takes its state along; unsent lines in it are lost, and said.
 */
static void forget_absent(struct root *root)
{
    for (struct session *s = root->sessions; s; s = s->next) {
        if (s->present || s->gone || s->streams == 0) {
            continue;
        }
        if (s->state != SESSION_DONE && has_unsettled(s)) {
            log_error(root->engine->config.log, "session.vanished",
                      "session=%s note=\"deleted before all of it was sent\"", s->id);
        }
        for (unsigned i = 0; i < s->streams; i++) {
            struct stream *st = s->stream[i];
            if (st->offer && st->offer->state == OFFER_IN_FLIGHT) {
                return; /* its answer still points here; forget it next time */
            }
        }
        if (!fact_append_session(root->journal, FACT_FORGET, s->path)) {
            return;
        }
        for (unsigned i = 0; i < s->streams; i++) {
            if (s->stream[i]->offer) {
                offer_free(root->engine, s->stream[i]->offer);
            }
            s->stream[i]->id = 0;
            s->stream[i]->drained = true;
        }
        root->change_stamp++;
        s->gone = true;
        s->held = true; /* nothing is read of it; it stays as an empty shell */
        s->looked = false;
    }
}

void root_scan(struct root *root)
{
    struct visit visit = {.root = root, .group = ""};
    for (struct session *s = root->sessions; s; s = s->next) {
        s->present = false;
    }
    if (scan_subdirs(root->engine->config.sys, root->fd, ".", visit_dir, &visit) ==
        GPUFL_OK) {
        forget_absent(root);
    } else {
        log_error(root->engine->config.log, "scan.failed", "root=%s reason=\"%s\"",
                  root->path, strerror(errno));
    }
}
