/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table with open addressing and linear probing, emptied when it is half full. */
#include "collector-lib/trace/kernel_configs.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define CONFIGS_SLOTS 65536u
#define CONFIGS_MAX   (CONFIGS_SLOTS / 2)

/* All that a kernel_detail says, what it is computed of, and what tells two kernels of
 * one name apart: words alone, without padding. */
struct kernel_config {
    struct {
        uint32_t kernel_id, device, path_id, stack_id, registers;
        uint32_t static_shared, dynamic_shared, shared_executed;
        uint32_t local_thread, local_total[2];
        uint32_t cache_requested, cache_executed;
        int32_t grid[3], block[3];
    } key;
    uint32_t correlation; /* whose detail it is; 0 = free */
};

bool kernel_configs_init(struct kernel_configs *c)
{
    c->slot = calloc(CONFIGS_SLOTS, sizeof *c->slot);
    return c->slot != NULL;
}

void kernel_configs_fini(struct kernel_configs *c)
{
    free(c->slot);
    *c = (struct kernel_configs){0};
}

void kernel_configs_forget(struct kernel_configs *c)
{
    if (c->slot) {
        memset(c->slot, 0, CONFIGS_SLOTS * sizeof *c->slot);
    }
    c->count = 0;
}

/* The slot of the key, free or taken. Empties the table if it is half full. */
static struct kernel_config *config_slot(struct kernel_configs *c,
                                         const struct kernel_config *wanted)
{
    uint64_t hash = HASH64_BASIS;
    const uint32_t *word = (const uint32_t *)&wanted->key;
    for (size_t i = 0; i < sizeof wanted->key / sizeof *word; i++) {
        hash = hash64_word(hash, word[i]);
    }
    if (c->count >= CONFIGS_MAX) {
        kernel_configs_forget(c);
    }
    size_t at = (size_t)(hash ^ (hash >> 32)) % CONFIGS_SLOTS;
    while (c->slot[at].correlation &&
           memcmp(&c->slot[at].key, &wanted->key, sizeof wanted->key) != 0) {
        at = (at + 1) % CONFIGS_SLOTS;
    }
    return &c->slot[at];
}

uint32_t kernel_configs_detail(struct kernel_configs *c, const struct trace_kernel *k,
                               uint32_t kernel_id, const struct launch *launch,
                               bool *is_new)
{
    struct kernel_config wanted = {
        .key = {.kernel_id = kernel_id,
                .device = k->device,
                .path_id = launch->path_id,
                .stack_id = launch->stack_id,
                .registers = k->registers,
                .static_shared = k->static_shared_bytes,
                .dynamic_shared = k->dynamic_shared_bytes,
                .shared_executed = k->shared_executed_bytes,
                .local_thread = k->local_thread_bytes,
                .local_total = {(uint32_t)k->local_total_bytes,
                                (uint32_t)(k->local_total_bytes >> 32)},
                .cache_requested = k->cache_requested,
                .cache_executed = k->cache_executed,
                .grid = {k->grid[0], k->grid[1], k->grid[2]},
                .block = {k->block[0], k->block[1], k->block[2]}},
        .correlation = k->correlation ? k->correlation : 1};
    struct kernel_config *config = config_slot(c, &wanted);
    *is_new = config->correlation == 0;
    if (*is_new) {
        *config = wanted;
        c->count++;
    }
    return config->correlation;
}
