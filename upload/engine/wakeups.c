/* SPDX-License-Identifier: Apache-2.0 */
/* Marks what changed, and lists the directories to watch. */
#include "upload/engine/wakeups.h"

#include "upload/core/room.h"
#include "upload/core/session_streams.h"
#include "upload/engine/engine_report.h"
#include "upload/lifecycle/discovery.h"

static struct session *wakeups_session(const struct engine *engine, unsigned root,
                                       const char *path)
{
    return root < engine->roots ? session_find(engine->root[root], path) : NULL;
}

/* The listing of very many names may have to wait. What was appended to files that are
 * known is read before. */
void engine_touch(struct engine *engine, unsigned root, const char *session_path)
{
    if (root >= engine->roots || engine->root[root]->away) {
        return;
    }
    struct session *session = wakeups_session(engine, root, session_path);
    uint64_t now_ms = engine->config.sys->now_ms();
    if (session && session->turn.names > VISITS_STEP_NAMES) {
        (void)session_grew(session, "", now_ms);
    }
    if (session_path[0]) {
        discovery_touch(engine->root[root], session_path, now_ms);
    } else {
        discovery_list_soon(engine->root[root]);
    }
}

/* One that waits for its turn. */
static struct parked_session *wakeups_waiting(const struct engine *engine, unsigned root,
                                              const char *path)
{
    struct parked_session *s =
        root < engine->roots ? parked_find(&engine->root[root]->parked, path) : NULL;
    return s && !s->complete && !s->held ? s : NULL;
}

void engine_grew(struct engine *engine, unsigned root, const char *session_path,
                 const char *file)
{
    struct session *session = wakeups_session(engine, root, session_path);
    uint64_t now_ms = engine->config.sys->now_ms();
    if (session && session_grew(session, file, now_ms)) {
        return;
    }
    if (session && session->quiet_until_ms > now_ms) {
        session_mark_later(session, now_ms);
    } else {
        engine_touch(engine, root, session_path);
    }
}

void engine_unwatched(struct engine *engine, unsigned root, const char *session_path)
{
    struct session *session = wakeups_session(engine, root, session_path);
    if (session && session->watched) {
        session->watched = false;
        session->root->change_stamp++;
    }
    struct parked_session *parked = wakeups_waiting(engine, root, session_path);
    if (parked) {
        parked->watched = false;
    }
    engine_touch(engine, root, session_path);
}

void engine_note_watch(struct engine *engine, unsigned root, const char *session_path,
                       bool watched)
{
    struct session *session = wakeups_session(engine, root, session_path);
    struct parked_session *parked = wakeups_waiting(engine, root, session_path);
    if (session && session->watched != watched) {
        session->watched = watched;
        session->root->change_stamp++;
    }
    if (session) {
        session->unwatchable = !watched;
    } else if (parked) {
        parked->watched = watched;
    }
}

void engine_rescan(struct engine *engine)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        engine->root[i]->inspect_all = true;
        engine->root[i]->rescan_at_ms = 0;
    }
}

void wakeups_list_again(struct engine *engine)
{
    if (!engine->config.once || !engine_waits_for_listing(engine)) {
        return;
    }
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        root->list_soon = root->list_soon || room_goes_on(root);
    }
}

void engine_poll(struct engine *engine, uint64_t interval_ms)
{
    if (!engine->polling) {
        engine->polling = true;
        engine->unpolled_interval_ms = engine->config.rescan_interval_ms;
        engine->config.rescan_interval_ms = interval_ms;
        engine_rescan(engine);
    }
}

void engine_poll_end(struct engine *engine)
{
    if (engine->polling) {
        engine->polling = false;
        engine->config.rescan_interval_ms = engine->unpolled_interval_ms;
        engine_rescan(engine);
    }
}

/* A session whose writer is gone grows no more: the next scan is soon enough, unless all
 * that it waits for is that something is removed. */
static bool wakeups_is_over(const struct session *session)
{
    return session_writer_is_gone(session) && !session->unread &&
           session->salvage == SESSION_SALVAGE_NONE;
}

void engine_visit_changed(struct engine *engine,
                          void (*visit)(void *arg, unsigned root, const char *root_path,
                                        const char *session_path, bool done),
                          void *arg)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        if (root->unwatch) {
            root->unwatch = false;
            visit(arg, i, root->path, "", true);
        }
        if (!root->visited) {
            root->visited = true;
            visit(arg, i, root->path, "", false);
        }
        /* The list is walked only after a change, which is rare. */
        if (root->visit_stamp == root->change_stamp) {
            continue;
        }
        root->visit_stamp = root->change_stamp;
        for (struct session *s = root->sessions; s; s = s->next) {
            if (!s->inspected && !s->watched) {
                continue; /* most of a large backlog has ended, as the first inspection
                             shows */
            }
            bool done =
                s->state == SESSION_DONE || !session_is_listed(s) || wakeups_is_over(s);
            if (s->watched == done && !s->unwatchable) {
                s->watched = !done;
                visit(arg, i, root->path, s->path, done);
            }
        }
    }
}
