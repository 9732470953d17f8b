/* SPDX-License-Identifier: Apache-2.0 */
/* A watched root: its lock, its journal, its sessions. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "upload/engine_internal.h"
#include "upload/progress.h"
#include "upload/state_dir.h"

static struct session **bucket_of(struct root *root, const char *path)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *path; path++) {
        hash = (hash ^ (unsigned char)*path) * 16777619u;
    }
    return &root->by_path[hash % ROOT_BUCKETS];
}

struct session *root_session(struct root *root, const char *path, bool create)
{
    struct session **bucket = bucket_of(root, path);
    for (struct session *s = *bucket; s; s = s->next_by_path) {
        if (strcmp(s->path, path) == 0) {
            return s;
        }
    }
    size_t len = strlen(path);
    struct session *s =
        create && len < FACTS_PATH_MAX ? calloc(1, sizeof *s + len + 1) : NULL;
    if (!s) {
        return NULL;
    }
    s->root = root;
    strcpy(s->path, path);
    const char *slash = strrchr(s->path, '/');
    s->id = slash ? slash + 1 : s->path;
    const struct engine_config *config = &root->engine->config;
    s->wanted = !config->wanted || config->wanted(config->wanted_arg, s->id);
    s->next = root->sessions;
    root->sessions = s;
    root->change_stamp++;
    s->next_by_path = *bucket;
    *bucket = s;
    return s;
}

int root_channel(struct root *root, const char *channel)
{
    for (unsigned i = 0; i < root->channel_names; i++) {
        if (strcmp(root->channel_name[i], channel) == 0) {
            return (int)i;
        }
    }
    if (root->channel_names == SCAN_CHANNELS_MAX) {
        return -1;
    }
    strcpy(root->channel_name[root->channel_names], channel);
    return (int)root->channel_names++;
}

gpufl_status root_rewrite(struct root *root)
{
    return journal_rewrite(root->journal, replay_write_state, root);
}

uint64_t root_add_quarantine(struct root *root, const struct fact_quarantine *fact)
{
    struct fact_quarantine *more =
        realloc(root->quarantine, (root->quarantines + 1) * sizeof *more);
    if (!more) {
        return 0;
    }
    root->quarantine = more;
    uint64_t ticket = fact_append_quarantine(root->journal, fact);
    if (ticket) {
        root->quarantine[root->quarantines++] = *fact;
    }
    return ticket;
}

/* ---- discovery ---- */

static void found(struct root *root, const char *path)
{
    struct session *session = root_session(root, path, true);
    if (session) {
        root->change_stamp += !session->watched;
        session->present = true;
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
    } else if (status == GPUFL_ERR_NOT_FOUND && !visit->group[0]) {
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
        if (s->present || s->streams == 0) {
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

/* ---- life ---- */

static gpufl_status lock_root(struct root *root, char why[512])
{
    if (flock(root->fd, LOCK_EX | LOCK_NB) == 0) {
        return GPUFL_OK;
    }
    if (errno != EWOULDBLOCK) {
        snprintf(why, 512, "cannot lock %.300s: %s", root->path, strerror(errno));
        return GPUFL_ERR_IO;
    }
    char holder[128];
    progress_holder(root->engine->config.sys, root->fd, holder, sizeof holder);
    snprintf(why, 512, "%.300s is served by %s; only one uploader works on a directory",
             root->path, holder);
    return GPUFL_BUSY;
}

static gpufl_status open_journal(struct root *root, char why[512])
{
    struct engine *engine = root->engine;
    char name[STATE_NAME_MAX] = "memory";
    gpufl_status status = GPUFL_OK;
    if (!engine->config.memory_state) {
        status = state_dir_open(engine->config.state_dir, root->fd, root->path, true,
                                &root->state_fd, name, why);
    }
    if (status != GPUFL_OK) {
        return status;
    }
    struct replay *replay = replay_open(root);
    struct journal_config config = {.sys = engine->config.sys,
                                    .syncer = engine->config.syncer,
                                    .log = engine->config.log,
                                    .dir = root->state_fd,
                                    .name = name,
                                    .root = root->path};
    status = journal_open(&config, replay_record, replay, &root->journal);
    replay_close(replay);
    if (status == GPUFL_OK) {
        if (journal_is_new(root->journal) || journal_was_damaged(root->journal)) {
            progress_import(root);
        }
        status = root_rewrite(root);
    }
    if (status != GPUFL_OK) {
        snprintf(why, 512, "cannot use the journal of %.300s: %s%s", root->path,
                 status == GPUFL_ERR_FORMAT ? "it was written by a newer gpufl"
                                            : gpufl_status_text(status),
                 status == GPUFL_ERR_FORMAT ? "; upgrade this one"
                                            : "; free some space or give --state-dir");
    }
    return status;
}

static bool is_stream_of(const struct session *session, uint32_t id)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->id == id) {
            return true;
        }
    }
    return false;
}

/* What was quarantined of this session is offered again: it leaves the list. */
static void forgive(struct session *session)
{
    struct root *root = session->root;
    size_t kept = 0;
    for (size_t i = 0; i < root->quarantines; i++) {
        if (!is_stream_of(session, root->quarantine[i].stream)) {
            root->quarantine[kept++] = root->quarantine[i];
        }
    }
    root->quarantines = kept;
    session->quarantined = 0;
}

/* Force: everything is read and sent again. The sequence goes on, so no number is used
 * twice. */
static void rewind_all(struct root *root)
{
    for (struct session *s = root->sessions; s; s = s->next) {
        if (!s->wanted) {
            continue;
        }
        s->state = SESSION_OPEN;
        forgive(s);
        for (unsigned i = 0; i < s->streams; i++) {
            struct stream *st = s->stream[i];
            if (st->offer) {
                offer_free(root->engine, st->offer);
            }
            st->file = 1;
            st->journal_file = 0; /* nothing is deleted before it was sent again */
            st->offset = 0;
            st->head = 0;
            st->lines = st->refused_lines = 0;
        }
    }
}

gpufl_status root_open(struct engine *engine, const char *path,
                       const struct engine_channels *channels, struct root **out,
                       char why[512])
{
    *out = NULL;
    struct root *root = calloc(1, sizeof *root);
    if (!root) {
        snprintf(why, 512, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    root->engine = engine;
    root->index = engine->roots;
    root->channels = *channels;
    memcpy(root->channel_name, channels->name, sizeof root->channel_name);
    root->channel_names = channels->count;
    root->state_fd = -1;
    root->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    root->path = root->fd >= 0 ? realpath(path, NULL) : NULL;
    gpufl_status status = GPUFL_OK;
    if (!root->path) {
        snprintf(why, 512, "cannot open the directory %.300s: %s", path, strerror(errno));
        status = errno == ENOENT ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
    }
    if (status == GPUFL_OK) {
        status = lock_root(root, why);
    }
    if (status == GPUFL_OK) {
        status = open_journal(root, why);
    }
    if (status == GPUFL_OK && engine->config.force) {
        rewind_all(root);
        status = root_rewrite(root);
    }
    if (status != GPUFL_OK) {
        root_close(root);
        return status;
    }
    *out = root;
    return GPUFL_OK;
}

void root_close(struct root *root)
{
    journal_close(root->journal);
    while (root->sessions) {
        struct session *s = root->sessions;
        for (unsigned i = 0; i < s->streams; i++) {
            if (s->stream[i]->offer) {
                offer_free(root->engine, s->stream[i]->offer);
            }
        }
        for (unsigned i = 0; i < SCAN_CHANNELS_MAX; i++) {
            free(s->stream[i]);
        }
        root->sessions = s->next;
        free(s);
    }
    if (root->state_fd >= 0) {
        close(root->state_fd);
    }
    if (root->fd >= 0) {
        close(root->fd);
    }
    free(root->quarantine);
    free(root->path);
    free(root);
}
