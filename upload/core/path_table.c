/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table with chaining that grows with its content. */
#include "upload/core/path_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define BUCKETS_AT_FIRST 64u

static struct path_node **path_table_bucket(const struct path_table *table,
                                            const char *path)
{
    return &table->bucket[hash_text(table->seed, path) & (table->buckets - 1)];
}

struct path_node *path_table_find(const struct path_table *table, const char *path)
{
    struct path_node *node = table->buckets ? *path_table_bucket(table, path) : NULL;
    while (node && strcmp(node->path, path) != 0) {
        node = node->next;
    }
    return node;
}

struct path_node *path_table_next(const struct path_node *node)
{
    struct path_node *next = node->next;
    while (next && strcmp(next->path, node->path) != 0) {
        next = next->next;
    }
    return next;
}

static void path_table_put(struct path_table *table, struct path_node *node)
{
    struct path_node **bucket = path_table_bucket(table, node->path);
    node->next = *bucket;
    node->link = bucket;
    if (node->next) {
        node->next->link = &node->next;
    }
    *bucket = node;
}

/* Doubles the number of chains once there are as many nodes; without memory the chains
 * get longer. */
static bool path_table_grow(struct path_table *table)
{
    struct path_table more = {.buckets =
                                  table->buckets ? 2 * table->buckets : BUCKETS_AT_FIRST,
                              .count = table->count,
                              .seed = table->seed};
    if (table->count < table->buckets) {
        return true;
    }
    more.bucket = calloc(more.buckets, sizeof(struct path_node *));
    if (!more.bucket) {
        return table->buckets > 0;
    }
    for (unsigned i = 0; i < table->buckets; i++) {
        for (struct path_node *node = table->bucket[i], *next; node; node = next) {
            next = node->next;
            path_table_put(&more, node);
        }
    }
    free(table->bucket);
    *table = more;
    return true;
}

bool path_table_add(struct path_table *table, struct path_node *node)
{
    if (!path_table_grow(table)) {
        return false;
    }
    path_table_put(table, node);
    table->count++;
    return true;
}

void path_table_remove(struct path_table *table, struct path_node *node)
{
    if (!node->link) {
        return;
    }
    *node->link = node->next;
    if (node->next) {
        node->next->link = node->link;
    }
    node->link = NULL;
    table->count--;
}

void path_table_each(struct path_table *table,
                     void (*visit)(void *arg, struct path_node *node), void *arg)
{
    for (unsigned i = 0; i < table->buckets; i++) {
        for (struct path_node *node = table->bucket[i], *next; node; node = next) {
            next = node->next;
            visit(arg, node);
        }
    }
}

void path_table_close(struct path_table *table)
{
    free(table->bucket);
    *table = (struct path_table){.seed = table->seed};
}
