/* SPDX-License-Identifier: Apache-2.0 */
#include "upload/engine/parked.h"

#include <stdlib.h>
#include <string.h>

#include "upload/engine/engine_internal.h"

#define OPENED_AT_ONCE 32u

static struct parked_session *of(struct path_node *node)
{
    return (struct parked_session *)node; /* its first member */
}

static struct parked_session *put(struct root *root, const char *path, uint8_t streams)
{
    size_t fixed = sizeof(struct parked_session) + streams * sizeof(struct parked_stream);
    size_t len = strlen(path) + 1;
    struct parked_session *s = malloc(fixed + len);
    if (!s) {
        return NULL;
    }
    memset(s, 0, fixed);
    s->streams = streams;
    s->node.path = memcpy((char *)s + fixed, path, len);
    s->listed = root->listing_number;
    if (!path_table_add(&root->parked.table, &s->node)) {
        free(s);
        return NULL;
    }
    return s;
}

/* In or out of the counters of complete ones. */
static void count(struct parked *parked, const struct parked_session *s, int by)
{
    if (s->complete && s->wanted) {
        parked->complete += (unsigned)by;
        parked->complete_streams += (unsigned)by * s->streams;
    }
    parked->changed = parked->changed || s->complete;
}

static void unwait(struct parked *parked, const struct parked_session *s)
{
    struct parked_session **link = &parked->waiting;
    while (*link && *link != s) {
        link = &(*link)->next_waiting;
    }
    if (*link) {
        *link = s->next_waiting;
        parked->waiting_last = *link ? parked->waiting_last : link;
        parked->waiting_count--;
    }
}

struct parked_session *parked_find(const struct root *root, const char *path)
{
    struct path_node *node = path_table_find(&root->parked.table, path);
    return node ? of(node) : NULL;
}

bool parked_wait(struct root *root, const char *path)
{
    struct parked *parked = &root->parked;
    struct parked_session *s = put(root, path, 0);
    if (!s) {
        return false;
    }
    *(parked->waiting ? parked->waiting_last : &parked->waiting) = s;
    parked->waiting_last = &s->next_waiting;
    parked->waiting_count++;
    return true;
}

void parked_complete(struct session *session)
{
    struct root *root = session->root;
    struct parked_session *s = put(root, session->path, session->streams);
    if (!s) {
        return;
    }
    s->complete = true;
    s->wanted = session->wanted;
    s->in_cursor = session->in_cursor;
    s->gone = session->gone;
    s->listed = session->listed;
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        s->stream[i] = (struct parked_stream){.offset = st->offset,
                                              .head = st->head,
                                              .lines = st->lines,
                                              .file = st->file,
                                              .sequence = st->sequence,
                                              .id = st->id,
                                              .channel = st->channel,
                                              .kind = st->kind,
                                              .keep = st->keep};
    }
    count(&root->parked, s, 1);
    root_drop_session(session);
}

void parked_drop(struct root *root, struct parked_session *s)
{
    if (!s->complete) {
        unwait(&root->parked, s);
    }
    count(&root->parked, s, -1);
    path_table_remove(&root->parked.table, &s->node);
    free(s);
}

struct session *parked_open(struct root *root, struct parked_session *s)
{
    struct session *session = root_session(root, s->node.path, true);
    if (!session) {
        return NULL;
    }
    session->listed = s->listed;
    session->present = true;
    session->in_cursor = s->in_cursor;
    for (unsigned i = 0; i < s->streams; i++) {
        const struct parked_stream *from = &s->stream[i];
        struct stream *st = session_stream(session, root->channel_name[from->channel]);
        if (!st) {
            root_drop_session(session);
            return NULL;
        }
        st->offset = from->offset;
        st->head = from->head;
        st->lines = from->lines;
        st->file = st->journal_file = from->file;
        st->sequence = from->sequence;
        st->id = from->id;
        st->kind = from->kind;
        st->keep = from->keep;
    }
    parked_drop(root, s);
    return session;
}

/* While the journal is broken nothing new is sent. */
bool parked_waits(const struct root *root)
{
    return root->parked.waiting && !journal_broken(root->journal);
}

bool parked_open_some(struct engine *engine)
{
    unsigned opened = 0;
    for (unsigned i = 0; engine->wants_more && i < engine->roots; i++) {
        struct root *root = engine->root[i];
        while (parked_waits(root) && opened < OPENED_AT_ONCE) {
            struct session *session = parked_open(root, root->parked.waiting);
            if (!session) {
                return opened > 0; /* no memory: at the next turn */
            }
            session_mark(session);
            opened++;
        }
    }
    return opened > 0;
}

static uint64_t append(const struct root *root, const struct parked_session *s)
{
    for (unsigned i = 0; i < s->streams; i++) {
        const struct parked_stream *st = &s->stream[i];
        struct record_stream record = {.stream = st->id,
                                       .kind = st->kind,
                                       .file = st->file,
                                       .offset = st->offset,
                                       .sequence = st->sequence,
                                       .lines = st->lines,
                                       .marks = st->keep ? MARK_KEEP : 0,
                                       .head = st->head};
        strcpy(record.path, s->node.path);
        strcpy(record.channel, root->channel_name[st->channel]);
        if (st->id) {
            record_append_stream(root->journal, &record);
        }
    }
    return record_append_session(root->journal, JOURNAL_DONE, s->node.path);
}

void parked_seen(struct root *root, struct parked_session *s)
{
    if (!s->gone || append(root, s)) {
        root->parked.changed = root->parked.changed || s->gone;
        s->listed = root->listing_number;
        s->gone = false;
    } /* else the journal is broken: at the next listing */
}

/* ---- each of them ---- */

struct below {
    const char *path;
    size_t len;
    uint32_t listing;
};

static void keep(void *arg, struct path_node *node)
{
    const struct below *below = arg;
    char next = node->path[strnlen(node->path, below->len)];
    if (strncmp(node->path, below->path, below->len) == 0 && (next == '/' || !next)) {
        of(node)->listed = below->listing;
    }
}

void parked_keep(struct root *root, const char *path)
{
    struct below below = {path, strlen(path), root->listing_number};
    path_table_each(&root->parked.table, keep, &below);
}

static void forget(void *arg, struct path_node *node)
{
    struct root *root = arg;
    struct parked_session *s = of(node);
    if (s->listed == root->listing_number) {
        return;
    }
    if (!s->complete) {
        root_say_vanished(root, node->path);
        root->engine->counters.lost_windows++;
        parked_drop(root, s);
    } else if (!s->gone) {
        s->gone = record_append_session(root->journal, JOURNAL_FORGET, node->path) != 0;
        root->parked.changed = true;
    } else if (root_absent_for_long(root, s->listed)) {
        parked_drop(root, s);
    }
}

void parked_forget_absent(struct root *root)
{
    path_table_each(&root->parked.table, forget, root);
}

static void reopen(void *arg, struct path_node *node)
{
    if (of(node)->complete && of(node)->wanted) {
        parked_open(arg, of(node));
    }
}

void parked_open_complete(struct root *root)
{
    path_table_each(&root->parked.table, reopen, root);
}

struct visitor {
    void (*visit)(void *arg, struct parked_session *parked_session);
    void *arg;
};

static void visit_complete(void *arg, struct path_node *node)
{
    const struct visitor *visitor = arg;
    if (of(node)->complete && !of(node)->gone) {
        visitor->visit(visitor->arg, of(node));
    }
}

void parked_each_complete(struct root *root,
                          void (*visit)(void *arg, struct parked_session *parked_session),
                          void *arg)
{
    struct visitor visitor = {visit, arg};
    path_table_each(&root->parked.table, visit_complete, &visitor);
}

static void write_state(void *arg, struct parked_session *s)
{
    append(arg, s);
}

void parked_write_state(struct root *root)
{
    parked_each_complete(root, write_state, root);
}

static void release(void *arg, struct path_node *node)
{
    (void)arg;
    free(node);
}

void parked_close(struct root *root)
{
    path_table_each(&root->parked.table, release, NULL);
    path_table_close(&root->parked.table);
}
