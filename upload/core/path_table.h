/* SPDX-License-Identifier: Apache-2.0 */
/* A table of things found by their path; each thing holds its own node. */
#ifndef GPUFL_UPLOAD_CORE_PATH_TABLE_H
#define GPUFL_UPLOAD_CORE_PATH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/** First member of each thing in a table. */
struct path_node {
    struct path_node *next;
    struct path_node **link; /**< what points to it */
    const char
        *path; /**< owned by the holder, unchanged while the node is in the table */
};

/** All zero when empty, but for the seed, which stays. */
struct path_table {
    struct path_node **bucket;
    unsigned buckets; /**< a power of two, or 0 */
    unsigned count;
    uint32_t seed; /**< by which it is looked up: others choose names, but not this */
};

/** \return the node with \p path, or NULL. */
struct path_node *path_table_find(const struct path_table *table, const char *path);

/** \return another node with the path of \p node, or NULL: path_table_find finds the
 * first of them. */
struct path_node *path_table_next(const struct path_node *node);

/** Adds a node. \return false without memory. */
bool path_table_add(struct path_table *table, struct path_node *node);

/** Removes the node if it is in the table, or was zeroed and never in one. */
void path_table_remove(struct path_table *table, struct path_node *node);

/** Visits each node, in no particular order; the visited one may be removed and freed. */
void path_table_each(struct path_table *table,
                     void (*visit)(void *arg, struct path_node *node), void *arg);

/** Frees the table, but not what was in it. */
void path_table_close(struct path_table *table);

#endif
