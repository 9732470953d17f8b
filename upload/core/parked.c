/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the table of parked sessions, the order of those that wait, and their counts. */
#include "upload/core/parked.h"

#include <stdlib.h>
#include <string.h>

struct parked_session *parked_of(struct path_node *node)
{
    return (struct parked_session *)node; /* its first member */
}

struct parked_session *parked_new(struct parked *parked, const char *path,
                                  uint8_t streams)
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
    if (!path_table_add(&parked->table, &s->node)) {
        free(s);
        return NULL;
    }
    return s;
}

/* Adds or subtracts it from the counts of complete sessions. */
static void parked_count(struct parked *parked, const struct parked_session *s, int by)
{
    if (s->complete && s->wanted) {
        parked->complete += (unsigned)by;
        parked->complete_streams += (unsigned)by * s->streams;
    }
    parked->changed = parked->changed || s->complete;
}

void parked_add_complete(struct parked *parked, struct parked_session *session)
{
    session->complete = true;
    parked_count(parked, session, 1);
}

void parked_stop_waiting(struct parked *parked, struct parked_session *s)
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

struct parked_session *parked_find(const struct parked *parked, const char *path)
{
    struct path_node *node = path_table_find(&parked->table, path);
    return parked_of(node);
}

void parked_wait_again(struct parked *parked, struct parked_session *s)
{
    s->next_waiting = NULL;
    *(parked->waiting ? parked->waiting_last : &parked->waiting) = s;
    parked->waiting_last = &s->next_waiting;
    parked->waiting_count++;
}

bool parked_wait(struct parked *parked, const char *path, uint32_t listed)
{
    struct parked_session *s = parked_new(parked, path, 0);
    if (!s) {
        return false;
    }
    s->listed = listed;
    parked_wait_again(parked, s);
    return true;
}

void parked_drop(struct parked *parked, struct parked_session *s)
{
    if (!s->complete) {
        parked_stop_waiting(parked, s);
        parked->away -= s->away;
    }
    parked_count(parked, s, -1);
    path_table_remove(&parked->table, &s->node);
    free(s);
}

struct below {
    const char *path;
    size_t len;
    uint32_t listing;
};

static void parked_keep_below(void *arg, struct path_node *node)
{
    const struct below *below = arg;
    char next = node->path[strnlen(node->path, below->len)];
    if (strncmp(node->path, below->path, below->len) == 0 && (next == '/' || !next)) {
        parked_of(node)->listed = below->listing;
    }
}

void parked_keep(struct parked *parked, const char *path, uint32_t listed)
{
    struct below below = {path, strlen(path), listed};
    path_table_each(&parked->table, parked_keep_below, &below);
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

static void parked_free_node(void *arg, struct path_node *node)
{
    (void)arg;
    free(node);
}

void parked_close(struct parked *parked)
{
    path_table_each(&parked->table, parked_free_node, NULL);
    path_table_close(&parked->table);
}
