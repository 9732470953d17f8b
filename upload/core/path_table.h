/* SPDX-License-Identifier: Apache-2.0 */
/* Things found by a path, as chains by its hash; a thing holds its own node. */
#ifndef GPUFL_UPLOAD_CORE_PATH_TABLE_H
#define GPUFL_UPLOAD_CORE_PATH_TABLE_H

#include <stdbool.h>

/** First member of what is in a table. */
struct path_node {
    struct path_node *next;
    const char *path; /**< the holder's, unchanged while it is in the table */
};

/** All zero is an empty one. */
struct path_table {
    struct path_node **bucket;
    unsigned buckets; /**< a power of two, or 0 */
    unsigned count;
};

/** \return the node with \p path, or NULL. */
struct path_node *path_table_find(const struct path_table *table, const char *path);

/** Adds a node whose path no other has. \return false without memory. */
bool path_table_add(struct path_table *table, struct path_node *node);

/** Takes it out, if it is in. */
void path_table_remove(struct path_table *table, struct path_node *node);

/** Visits each, in no order; the one that is visited may be removed and freed. */
void path_table_each(struct path_table *table,
                     void (*visit)(void *arg, struct path_node *node), void *arg);

/** Frees the table, not what was in it. */
void path_table_close(struct path_table *table);

#endif
