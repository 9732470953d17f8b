/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a root's path with its descriptor, and opens the root anew. */
#include "upload/engine/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "upload/core/engine_state.h"
#include "upload/core/offer.h"
#include "upload/engine/progress.h"
#include "upload/engine/root.h"
#include "upload/lifecycle/discovery.h"

#define RETRY_MS 1000u
#define DENIED   "the path names another directory, which this process may not open"

void engine_bind(struct engine *engine)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        engine->root[i]->bound = true;
    }
}

const char *engine_denied_root(const struct engine *engine)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        if (strcmp(engine->root[i]->away_reason, DENIED) == 0) {
            return engine->root[i]->path;
        }
    }
    return NULL;
}

/* Device and inode cannot be those of another directory while ours is open. */
static bool reopen_is_elsewhere(const struct root *root)
{
    struct stat named;
    struct stat open;
    return stat(root->given, &named) < 0 || fstat(root->fd, &open) < 0 ||
           named.st_dev != open.st_dev || named.st_ino != open.st_ino;
}

static void reopen_say_away(struct root *root, const char *why)
{
    struct engine *engine = root->engine;
    if (strcmp(root->away_reason, why) != 0) {
        snprintf(root->away_reason, sizeof root->away_reason, "%s", why);
        log_error(engine->config.log, "root.away",
                  "root=%s reason=\"%s\" note=\"nothing of it is forgotten; it goes on "
                  "when the directory is back\"",
                  root->path, why);
        trouble_say(&engine->trouble, "%s is away: %s", root->path, why);
        engine->trouble.stamp++;
    }
}

/* Replies refer to offers and sessions. */
static bool reopen_any_in_flight(const struct root *root)
{
    for (const struct offer *o = root->engine->offers; o; o = o->next) {
        if (o->stream->session->root == root && o->state == OFFER_IN_FLIGHT) {
            return true;
        }
    }
    for (const struct session *s = root->sessions; s; s = s->next) {
        if (s->complete_in_flight || s->ends_in_flight) {
            return true;
        }
    }
    return false;
}

static void reopen_clear_queue(struct queue *queue, const struct root *root)
{
    struct queue others = {0};
    for (struct queue_node *node; (node = queue_pop(queue));) {
        if (stream_of(node)->session->root != root) {
            queue_push(&others, node);
        }
    }
    *queue = others;
}

static void reopen_clear_lanes(struct lanes *lanes, const struct root *root)
{
    for (unsigned i = 0; i < lanes->used; i++) {
        reopen_clear_queue(&lanes->lane[i].queue, root);
    }
}

static bool reopen_keeps(void *arg, struct visits_node *node)
{
    struct session *session = session_of_turn(node);
    session->dirty = session->root != arg;
    return session->dirty;
}

static void reopen_clear_lists(struct engine *engine, struct root *root)
{
    struct session *later = engine->later;
    engine->later = NULL;
    visits_filter(&engine->visits, reopen_keeps, root);
    for (struct session *s = later, *next; s; s = next) {
        next = s->next_later;
        s->next_later = NULL;
        if (s->root != root) {
            *(engine->later ? engine->later_last : &engine->later) = s;
            engine->later_last = &s->next_later;
        }
    }
    for (struct session **link = &engine->completing; *link;) {
        bool ours = (*link)->root == root;
        engine->completing_count -= ours;
        if (ours) {
            *link = (*link)->next_completing;
        } else {
            link = &(*link)->next_completing;
        }
    }
}

/* As at the end of a run; the journal has what is known. */
static void reopen_close(struct engine *engine, struct root *root)
{
    progress_publish_last(root);
    reopen_clear_lanes(&engine->live, root);
    reopen_clear_lanes(&engine->backlog, root);
    reopen_clear_lanes(&engine->bulk, root);
    reopen_clear_lists(engine, root);
    gz_cache_close(&engine->gz);
    root_close(root);
}

/* \return false without memory: then the root stays as it is. */
static bool reopen_vacate(struct engine *engine, unsigned index)
{
    struct root *root = engine->root[index];
    struct root *vacant = root_vacant(root);
    if (vacant) {
        reopen_close(engine, root);
        engine->root[index] = vacant;
    }
    return vacant != NULL;
}

static void reopen_now(struct engine *engine, unsigned index)
{
    struct root *found;
    char why[512];
    if (engine->root[index]->fd >= 0 && !reopen_vacate(engine, index)) {
        return;
    }
    struct root *vacant = engine->root[index];
    if (root_open(engine, vacant->given, &vacant->channels, &found, why) != GPUFL_OK) {
        reopen_say_away(vacant, why);
        return;
    }
    root_close(vacant);
    found->index = index;
    found->unwatch = true;
    engine->root[index] = found;
    log_warn(engine->config.log, "root.replaced",
             "root=%s note=\"the path names another directory than before: it is opened "
             "anew\"",
             found->path);
    engine->trouble.stamp++;
}

static void reopen_try(struct engine *engine, unsigned index, uint64_t now_ms)
{
    struct root *root = engine->root[index];
    int fd = open(root->given, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    root->reopen_at_ms = now_ms + RETRY_MS;
    if (fd < 0) {
        reopen_say_away(root, strerror(errno));
        return;
    }
    close(fd);
    if (root->fd >= 0 && !reopen_is_elsewhere(root)) {
        root->away = false;
        root->away_reason[0] = '\0';
        root->inspect_all = true; /* what was told meanwhile was not heard */
        root->rescan_at_ms = root->complete_inspect_ms = 0;
        log_info(engine->config.log, "root.back", "root=%s", root->path);
        engine->trouble.stamp++;
    } else if (root->bound) {
        reopen_say_away(root, DENIED);
    } else if (!reopen_any_in_flight(root)) {
        reopen_now(engine, index);
        engine->root[index]->reopen_at_ms = now_ms + RETRY_MS;
    }
}

void reopen_step(struct engine *engine, unsigned index, uint64_t now_ms)
{
    struct root *root = engine->root[index];
    if (!root->away && !discovery_lists(root) &&
        (root->list_soon || now_ms >= root->rescan_at_ms)) {
        root->away = reopen_is_elsewhere(root);
        root->reopen_at_ms = 0;
    }
    if (root->away && now_ms >= root->reopen_at_ms) {
        reopen_try(engine, index, now_ms);
    }
}
