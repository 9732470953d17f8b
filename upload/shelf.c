/* SPDX-License-Identifier: Apache-2.0 */
#include "upload/shelf.h"

#include <stdlib.h>
#include <string.h>

#include "upload/engine_internal.h"

#define OPENED_AT_ONCE 32u

static struct shelved *of(struct path_node *node)
{
    return (struct shelved *)node; /* its first member */
}

static struct shelved *put(struct root *root, const char *path, uint8_t streams)
{
    size_t fixed = sizeof(struct shelved) + streams * sizeof(struct shelved_stream);
    size_t len = strlen(path) + 1;
    struct shelved *s = malloc(fixed + len);
    if (!s) {
        return NULL;
    }
    memset(s, 0, fixed);
    s->streams = streams;
    s->node.path = memcpy((char *)s + fixed, path, len);
    s->listed = root->listing_number;
    if (!path_table_add(&root->shelf.table, &s->node)) {
        free(s);
        return NULL;
    }
    return s;
}

/* In or out of the counters of complete ones. */
static void count(struct shelf *shelf, const struct shelved *s, int by)
{
    if (s->complete && s->wanted) {
        shelf->complete += (unsigned)by;
        shelf->complete_streams += (unsigned)by * s->streams;
    }
    shelf->changed = shelf->changed || s->complete;
}

static void unwait(struct shelf *shelf, const struct shelved *s)
{
    struct shelved **link = &shelf->waiting;
    while (*link && *link != s) {
        link = &(*link)->next_waiting;
    }
    if (*link) {
        *link = s->next_waiting;
        shelf->waiting_last = *link ? shelf->waiting_last : link;
        shelf->waiting_count--;
    }
}

struct shelved *shelf_find(const struct root *root, const char *path)
{
    struct path_node *node = path_table_find(&root->shelf.table, path);
    return node ? of(node) : NULL;
}

bool shelf_wait(struct root *root, const char *path)
{
    struct shelf *shelf = &root->shelf;
    struct shelved *s = put(root, path, 0);
    if (!s) {
        return false;
    }
    *(shelf->waiting ? shelf->waiting_last : &shelf->waiting) = s;
    shelf->waiting_last = &s->next_waiting;
    shelf->waiting_count++;
    return true;
}

void shelf_complete(struct session *session)
{
    struct root *root = session->root;
    struct shelved *s = put(root, session->path, session->streams);
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
        s->stream[i] = (struct shelved_stream){.offset = st->offset,
                                               .head = st->head,
                                               .lines = st->lines,
                                               .file = st->file,
                                               .sequence = st->sequence,
                                               .id = st->id,
                                               .channel = st->channel,
                                               .kind = st->kind,
                                               .keep = st->keep};
    }
    count(&root->shelf, s, 1);
    root_drop_session(session);
}

void shelf_drop(struct root *root, struct shelved *s)
{
    if (!s->complete) {
        unwait(&root->shelf, s);
    }
    count(&root->shelf, s, -1);
    path_table_remove(&root->shelf.table, &s->node);
    free(s);
}

struct session *shelf_open(struct root *root, struct shelved *s)
{
    struct session *session = root_session(root, s->node.path, true);
    if (!session) {
        return NULL;
    }
    session->listed = s->listed;
    session->present = true;
    session->in_cursor = s->in_cursor;
    for (unsigned i = 0; i < s->streams; i++) {
        const struct shelved_stream *from = &s->stream[i];
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
    shelf_drop(root, s);
    return session;
}

/* While the journal is broken nothing new is sent. */
bool shelf_waits(const struct root *root)
{
    return root->shelf.waiting && !journal_broken(root->journal);
}

bool shelf_open_some(struct engine *engine)
{
    unsigned opened = 0;
    for (unsigned i = 0; engine->wants_more && i < engine->roots; i++) {
        struct root *root = engine->root[i];
        while (shelf_waits(root) && opened < OPENED_AT_ONCE) {
            struct session *session = shelf_open(root, root->shelf.waiting);
            if (!session) {
                return opened > 0; /* no memory: at the next turn */
            }
            session_mark(session);
            opened++;
        }
    }
    return opened > 0;
}

static uint64_t append(const struct root *root, const struct shelved *s)
{
    for (unsigned i = 0; i < s->streams; i++) {
        const struct shelved_stream *st = &s->stream[i];
        struct fact_stream fact = {.stream = st->id,
                                   .kind = st->kind,
                                   .file = st->file,
                                   .offset = st->offset,
                                   .sequence = st->sequence,
                                   .lines = st->lines,
                                   .marks = st->keep ? MARK_KEEP : 0,
                                   .head = st->head};
        strcpy(fact.path, s->node.path);
        strcpy(fact.channel, root->channel_name[st->channel]);
        if (st->id) {
            fact_append_stream(root->journal, &fact);
        }
    }
    return fact_append_session(root->journal, FACT_DONE, s->node.path);
}

void shelf_seen(struct root *root, struct shelved *s)
{
    if (!s->gone || append(root, s)) {
        root->shelf.changed = root->shelf.changed || s->gone;
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

void shelf_keep(struct root *root, const char *path)
{
    struct below below = {path, strlen(path), root->listing_number};
    path_table_each(&root->shelf.table, keep, &below);
}

static void forget(void *arg, struct path_node *node)
{
    struct root *root = arg;
    struct shelved *s = of(node);
    if (s->listed == root->listing_number) {
        return;
    }
    if (!s->complete) {
        root_say_vanished(root, node->path);
        root->engine->counters.lost_windows++;
        shelf_drop(root, s);
    } else if (!s->gone) {
        s->gone = fact_append_session(root->journal, FACT_FORGET, node->path) != 0;
        root->shelf.changed = true;
    } else if (root_absent_for_long(root, s->listed)) {
        shelf_drop(root, s);
    }
}

void shelf_forget_absent(struct root *root)
{
    path_table_each(&root->shelf.table, forget, root);
}

static void reopen(void *arg, struct path_node *node)
{
    if (of(node)->complete && of(node)->wanted) {
        shelf_open(arg, of(node));
    }
}

void shelf_open_complete(struct root *root)
{
    path_table_each(&root->shelf.table, reopen, root);
}

struct visitor {
    void (*visit)(void *arg, struct shelved *shelved);
    void *arg;
};

static void visit_complete(void *arg, struct path_node *node)
{
    const struct visitor *visitor = arg;
    if (of(node)->complete && !of(node)->gone) {
        visitor->visit(visitor->arg, of(node));
    }
}

void shelf_each_complete(struct root *root,
                         void (*visit)(void *arg, struct shelved *shelved), void *arg)
{
    struct visitor visitor = {visit, arg};
    path_table_each(&root->shelf.table, visit_complete, &visitor);
}

static void write_state(void *arg, struct shelved *s)
{
    append(arg, s);
}

void shelf_write_state(struct root *root)
{
    shelf_each_complete(root, write_state, root);
}

static void release(void *arg, struct path_node *node)
{
    (void)arg;
    free(node);
}

void shelf_close(struct root *root)
{
    path_table_each(&root->shelf.table, release, NULL);
    path_table_close(&root->shelf.table);
}
