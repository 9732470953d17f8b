/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the tables of parked sessions, and their counts. */
#include "upload/core/parked.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "upload/core/kept_bytes.h"
#include "upload/source/directory_mark.h"

#define PROGRESS_LINE      36u /* of a channel, without the path */
#define PROGRESS_DIRECTORY 42u /* of a session */

struct parked_session *parked_of(struct path_node *node)
{
    return (struct parked_session *)node; /* its first member */
}

/* What is kept of it, the path's text as the last of that, and its lines in the progress
 * file if that is kept in memory. */
static uint64_t parked_bytes(const struct parked *parked, const struct parked_session *s)
{
    uint64_t line = parked->shown ? strlen(s->node.path) + PROGRESS_LINE : 0;
    uint64_t directory = parked->shown ? PROGRESS_DIRECTORY : 0;
    return (uint64_t)(s->node.path - (const char *)s) + kept_bytes_of_path(s->node.path) +
           s->streams * line + directory;
}

static void parked_charge(const struct parked *parked, const struct parked_session *s)
{
    if (parked->shares) {
        shares_add(parked->shares, s->owner, parked_bytes(parked, s));
    }
}

static void parked_free(const struct parked *parked, struct parked_session *s)
{
    if (parked->shares) {
        shares_remove(parked->shares, s->owner, parked_bytes(parked, s));
    }
    free(s);
}

struct parked_session *parked_new(struct parked *parked, const char *path, uint32_t owner,
                                  const struct packed_stream *stream, unsigned count)
{
    unsigned char packed[SCAN_CHANNELS_MAX * STREAM_PACK_MAX];
    size_t packed_len = stream_pack(stream, count, packed);
    size_t len = strlen(path) + 1;
    struct parked_session *s = malloc(sizeof *s + packed_len + len);
    if (!s) {
        return NULL;
    }
    memset(s, 0, sizeof *s);
    memcpy(s->packed, packed, packed_len);
    s->streams = (uint8_t)count;
    s->owner = owner;
    s->node.path = memcpy((char *)s->packed + packed_len, path, len);
    if (!path_table_add(&parked->table, &s->node)) {
        free(s);
        return NULL;
    }
    parked_charge(parked, s);
    return s;
}

void parked_streams(const struct parked_session *s,
                    struct packed_stream out[SCAN_CHANNELS_MAX])
{
    stream_unpack(s->packed, s->streams, out);
}

struct directory_id parked_directory(const struct parked_session *s)
{
    return (struct directory_id){.mark = s->mark,
                                 .boot = s->this_boot ? directory_this_boot() : 0,
                                 .user = s->user,
                                 .above = s->above,
                                 .above_own = s->above_own};
}

void parked_set_directory(struct parked_session *s, const struct directory_id *id)
{
    s->mark = id->mark;
    s->this_boot = id->boot && id->boot == directory_this_boot();
    s->user = id->user;
    s->above = id->above;
    s->above_own = id->above_own;
}

/* Adds or subtracts it from the counts of complete sessions. */
static void parked_count(struct parked *parked, const struct parked_session *s, int by)
{
    if (s->complete && s->wanted) {
        parked->complete += (unsigned)by;
        parked->complete_streams += (unsigned)by * s->streams;
        parked->marked += s->outcome == SESSION_MARKED ? (unsigned)by : 0;
        parked->lacking += s->outcome == SESSION_LACKS ? (unsigned)by : 0;
    }
    parked->changed = parked->changed || s->complete;
}

void parked_add_complete(struct parked *parked, struct parked_session *session)
{
    session->complete = true;
    parked_count(parked, session, 1);
}

void parked_set_replaced(struct parked *parked, struct parked_session *s, bool replaced,
                         bool conceded)
{
    parked->replaced +=
        (unsigned)(replaced && !conceded) - (unsigned)(s->replaced && !s->conceded);
    s->replaced = replaced;
    s->conceded = conceded;
}

struct parked_session *parked_turn(struct parked *parked)
{
    struct waiting_node *node = waiting_turn(&parked->waiting);
    return node
               ? (struct parked_session *)(void *)((char *)node -
                                                   offsetof(struct parked_session, waits))
               : NULL;
}

void parked_stop_waiting(struct parked *parked, struct parked_session *s)
{
    waiting_remove(&parked->waiting, s->owner, &s->waits);
}

struct parked_session *parked_find(const struct parked *parked, const char *path)
{
    struct path_node *node = path_table_find(&parked->table, path);
    return parked_of(node);
}

bool parked_wait_again(struct parked *parked, struct parked_session *s)
{
    return waiting_add(&parked->waiting, s->owner, &s->waits);
}

bool parked_wait(struct parked *parked, const char *path, uint32_t owner, uint32_t listed)
{
    struct parked_session *s = parked_new(parked, path, owner, NULL, 0);
    if (!s) {
        return false;
    }
    s->listed = listed;
    if (!parked_wait_again(parked, s)) {
        parked_drop(parked, s);
        return false;
    }
    return true;
}

struct parked_held *parked_held_of(struct parked_session *session)
{
    return (struct parked_held *)(void *)session->packed;
}

struct parked_session *parked_held_session(struct parked_held *held)
{
    return (struct parked_session *)(void *)((char *)held -
                                             offsetof(struct parked_session, packed));
}

/* Its first member. */
static struct parked_held *parked_held_at(struct path_node *by_id)
{
    return (struct parked_held *)by_id;
}

bool parked_held_counts(const struct parked_held *held)
{
    return held->hold_reason || held->unread;
}

/* Adds it to the counts, or subtracts it. */
static void parked_count_held(struct parked *parked, const struct parked_held *h, int by)
{
    if (parked_held_counts(h)) {
        parked->held += (unsigned)by;
        parked->held_live += (unsigned)by * !h->over;
        parked->held_pending += (unsigned)by * h->pending;
    }
}

bool parked_hold(struct parked *parked, const char *path, uint32_t owner, uint32_t listed,
                 const struct parked_held *what)
{
    size_t len = strlen(path) + 1;
    struct parked_session *s = malloc(sizeof *s + sizeof *what + len);
    if (!s) {
        return false;
    }
    *s = (struct parked_session){.listed = listed, .owner = owner, .held = true};
    struct parked_held *h = memcpy(s->packed, what, sizeof *what);
    s->node.path = memcpy((char *)h + sizeof *h, path, len);
    const char *slash = strrchr(s->node.path, '/');
    h->by_id.path = slash ? slash + 1 : s->node.path;
    if (!path_table_add(&parked->table, &s->node)) {
        free(s);
        return false;
    }
    if (!path_table_add(&parked->held_ids, &h->by_id)) {
        path_table_remove(&parked->table, &s->node);
        free(s);
        return false;
    }
    parked_charge(parked, s);
    parked_count_held(parked, h, 1);
    return true;
}

struct parked_held *parked_held_find(const struct parked *parked, const char *id)
{
    return parked_held_at(path_table_find(&parked->held_ids, id));
}

struct parked_held *parked_held_next(const struct parked_held *held)
{
    return parked_held_at(path_table_next(&held->by_id));
}

void parked_drop(struct parked *parked, struct parked_session *s)
{
    if (s->held) {
        parked_count_held(parked, parked_held_of(s), -1);
        path_table_remove(&parked->held_ids, &parked_held_of(s)->by_id);
    } else if (!s->complete) {
        parked_stop_waiting(parked, s);
        parked->away -= s->away;
    }
    parked_set_replaced(parked, s, false, false);
    parked_count(parked, s, -1);
    path_table_remove(&parked->table, &s->node);
    parked_free(parked, s);
}

struct visitor {
    void (*visit)(void *arg, struct parked_session *session);
    void *arg;
};

static void parked_visit_complete(void *arg, struct path_node *node)
{
    const struct visitor *visitor = arg;
    if (parked_of(node)->complete) {
        visitor->visit(visitor->arg, parked_of(node));
    }
}

void parked_each_complete(struct parked *parked,
                          void (*visit)(void *arg, struct parked_session *session),
                          void *arg)
{
    struct visitor visitor = {visit, arg};
    path_table_each(&parked->table, parked_visit_complete, &visitor);
}

struct held_visitor {
    void (*visit)(void *arg, struct parked_held *held);
    void *arg;
};

static void parked_visit_held(void *arg, struct path_node *by_id)
{
    const struct held_visitor *visitor = arg;
    visitor->visit(visitor->arg, parked_held_at(by_id));
}

void parked_each_held(struct parked *parked,
                      void (*visit)(void *arg, struct parked_held *held), void *arg)
{
    struct held_visitor visitor = {visit, arg};
    path_table_each(&parked->held_ids, parked_visit_held, &visitor);
}

static void parked_free_node(void *arg, struct path_node *node)
{
    parked_free(arg, parked_of(node));
}

void parked_close(struct parked *parked)
{
    path_table_each(&parked->table, parked_free_node, parked);
    waiting_close(&parked->waiting);
    path_table_close(&parked->table);
    path_table_close(&parked->held_ids);
}
