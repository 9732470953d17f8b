/* SPDX-License-Identifier: Apache-2.0 */
/* Rings are lock-free for their producers; one consumer drains all of them. */
#include "collector-lib/core/ring.h"

#include <stdlib.h>
#include <string.h>

/* One drain takes at most this many rows, so that its memory is bounded (4 MiB). */
#define DRAIN_ROWS 65536u

struct ring *rings_add(struct rings *rings)
{
    struct ring *ring = aligned_alloc(64, sizeof *ring);
    if (!ring) {
        return NULL;
    }
    /* The rows are not cleared: their pages are allocated as they are used. */
    memset(ring, 0, offsetof(struct ring, row));
    pthread_mutex_lock(&rings->lock);
    ring->id = ++rings->last_id;
    ring->next = rings->first;
    rings->first = ring;
    pthread_mutex_unlock(&rings->lock);
    return ring;
}

bool ring_has_room(struct ring *ring, uint32_t rows)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t need = (uint64_t)ring->open + rows;
    if (head - ring->seen_tail + need <= RING_ROWS) {
        return true;
    }
    /* Pairs with the consumer's release: the slots below tail have been read. */
    ring->seen_tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    return head - ring->seen_tail + need <= RING_ROWS;
}

void ring_push(struct ring *ring, const struct row *row)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    struct row *slot = &ring->row[head % RING_ROWS];
    *slot = *row;
    slot->order = head;
    slot->ring_id = ring->id;
    /* Pairs with the consumer's acquire: the row is complete before it is counted. */
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

static bool list_reserve(struct row_list *list)
{
    if (list->count < list->cap) {
        return true;
    }
    size_t cap = list->cap ? list->cap * 2 : 256;
    struct row *row = aligned_alloc(64, cap * sizeof *row);
    if (!row) {
        return false;
    }
    if (list->count) {
        memcpy(row, list->row, list->count * sizeof *row);
    }
    free(list->row);
    list->row = row;
    list->cap = cap;
    return true;
}

/* Returns true if rows remain. */
static bool drain_one(struct ring *ring, uint16_t generation, struct row_list *out)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    while (tail < head) {
        const struct row *row = &ring->row[tail % RING_ROWS];
        if (row->generation == generation) {
            if (out->count >= DRAIN_ROWS || !list_reserve(out)) {
                break;
            }
            out->row[out->count++] = *row;
        }
        tail++;
    }
    atomic_store_explicit(&ring->tail, tail, memory_order_release);
    return tail < head;
}

static int by_time(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    if (a->mono_ns != b->mono_ns) {
        return a->mono_ns < b->mono_ns ? -1 : 1;
    }
    if (a->ring_id != b->ring_id) {
        return a->ring_id < b->ring_id ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

static void add_lost(struct ring *ring, uint64_t *to)
{
    for (int kind = 0; kind < LOSS_RING_KINDS; kind++) {
        to[kind] += atomic_load_explicit(&ring->lost[kind], memory_order_relaxed);
    }
}

bool rings_drain(struct rings *rings, uint16_t generation, struct row_list *out)
{
    bool more = false;
    out->count = 0;
    pthread_mutex_lock(&rings->lock);
    for (struct ring **link = &rings->first; *link;) {
        struct ring *ring = *link;
        bool abandoned = atomic_load_explicit(&ring->abandoned, memory_order_acquire);
        bool left = drain_one(ring, generation, out);
        more = more || left;
        if (abandoned && !left) {
            *link = ring->next;
            add_lost(ring, rings->lost_by_gone);
            free(ring);
        } else {
            link = &ring->next;
        }
    }
    pthread_mutex_unlock(&rings->lock);
    if (out->count > 1) {
        qsort(out->row, out->count, sizeof *out->row, by_time);
    }
    return more;
}

void ring_count_lost(struct ring *ring, enum loss kind)
{
    uint64_t lost = atomic_load_explicit(&ring->lost[kind], memory_order_relaxed);
    atomic_store_explicit(&ring->lost[kind], lost + 1, memory_order_relaxed);
}

void rings_count_without(struct rings *rings)
{
    atomic_fetch_add_explicit(&rings->without_ring, 1, memory_order_relaxed);
}

void rings_losses(struct rings *rings, struct losses *out)
{
    pthread_mutex_lock(&rings->lock);
    memcpy(out->count, rings->lost_by_gone, sizeof rings->lost_by_gone);
    for (struct ring *ring = rings->first; ring; ring = ring->next) {
        add_lost(ring, out->count);
    }
    pthread_mutex_unlock(&rings->lock);
    out->count[LOSS_NO_MEMORY] +=
        atomic_load_explicit(&rings->without_ring, memory_order_relaxed);
}
