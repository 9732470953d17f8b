/* SPDX-License-Identifier: Apache-2.0 */
/* Rings are lock-free for their producers; one consumer drains all of them. */
#include "collector-lib/core/ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collector-lib/core/fork_guard.h"

/* One drain takes about so many rows, and from each ring the same number at most, or,
 * while calls are awaited, half of them so, and half from the rings that hold these: its
 * memory is bounded (1 MiB, or a row or two of each ring), it ends soon, and no ring
 * waits for another one. */
#define DRAIN_ROWS 16384u

struct ring *rings_add(struct rings *rings)
{
    struct ring *ring = aligned_alloc(64, sizeof *ring);
    if (!ring) {
        return NULL;
    }
    /* Rows and scopes are not cleared: their pages are allocated as they are used. */
    memset(ring, 0, offsetof(struct ring, scopes) + offsetof(struct thread_scopes, at));
    ring->rings = rings;
    if (fork_guard_lock(&rings->lock) != 0) {
        free(ring);
        return NULL;
    }
    ring->id = ++rings->last_id;
    ring->next = rings->first;
    rings->first = ring;
    rings->count++;
    pthread_mutex_unlock(&rings->lock);
    return ring;
}

bool ring_has_room(struct ring *ring, uint32_t rows)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t need = (uint64_t)ring->scopes.count + rows;
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

void ring_push_call(struct ring *ring, const struct row *row)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    /* Ordered by the row's release. */
    atomic_store_explicit(&ring->called, head + 1, memory_order_relaxed);
    ring_push(ring, row);
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

static bool ends_elsewhere(const struct row *row)
{
    return row->kind == ROW_SCOPE_END &&
           row->instance >> RING_INSTANCE_SHIFT != row->ring_id;
}

static bool is_awaited(const struct ring *ring)
{
    return atomic_load_explicit(&ring->tail, memory_order_relaxed) < ring->awaited;
}

/* Takes \p most rows at most. Returns true if rows remain. */
static bool drain_one(struct ring *ring, uint32_t most, uint16_t generation,
                      struct ring_rows *out)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t until = head - tail > most ? tail + most : head;
    while (tail < until) {
        const struct row *row = &ring->row[tail % RING_ROWS];
        struct row_list *list = ends_elsewhere(row) ? &out->later : &out->now;
        if (row->generation == generation) {
            if (!list_reserve(list)) {
                break;
            }
            list->row[list->count++] = *row;
        }
        tail++;
    }
    atomic_store_explicit(&ring->tail, tail, memory_order_release);
    return tail < head;
}

/* The ends that were read before all that the rings have held since was drained come
 * behind what happened before them. */
static void take_ripe(struct ring_rows *rows)
{
    size_t taken = 0;
    while (taken < rows->ripening && list_reserve(&rows->now)) {
        struct row *row = &rows->now.row[rows->now.count++];
        *row = rows->later.row[taken++];
        row->ring_id = UINT32_MAX; /* the last of equal times */
    }
    rows->later.count -= taken;
    if (taken) {
        memmove(rows->later.row, rows->later.row + taken,
                rows->later.count * sizeof *rows->later.row);
    }
    rows->ripening = 0;
}

/* Drains of shares that make a ring full have emptied each ring of what it held before
 * them. */
static void ripen(struct ring_rows *rows, bool emptied)
{
    if (rows->ripening) {
        rows->ripe_in -= rows->share < rows->ripe_in ? rows->share : rows->ripe_in;
        if (emptied || rows->ripe_in == 0) {
            take_ripe(rows);
        }
    }
    if (!rows->ripening) {
        rows->ripening = rows->later.count;
        rows->ripe_in = RING_ROWS;
    }
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

/* Only the consumer removes rings, and new ones are put in front: between two rings it
 * needs no lock, so that no thread waits for a drain. */
static struct ring *first_ring(struct rings *rings)
{
    pthread_mutex_lock(&rings->lock);
    struct ring *first = rings->first;
    pthread_mutex_unlock(&rings->lock);
    return first;
}

static uint32_t rings_count(struct rings *rings)
{
    pthread_mutex_lock(&rings->lock);
    uint32_t count = rings->count;
    pthread_mutex_unlock(&rings->lock);
    return count;
}

static uint32_t rows_held(struct rings *rings)
{
    uint64_t most = 0;
    for (struct ring *ring = first_ring(rings); ring; ring = ring->next) {
        uint64_t held = atomic_load_explicit(&ring->head, memory_order_acquire) -
                        atomic_load_explicit(&ring->tail, memory_order_relaxed);
        most = held > most ? held : most;
    }
    return (uint32_t)most;
}

/* An end by another thread, once it is read, waits for those before it, and for its own
 * turn. */
void rings_ask(struct rings *rings, struct ring_rows *rows)
{
    uint32_t held = rows_held(rings);
    rows->asked = held ? held : 1; /* ends may wait, too */
    rows->asked_behind = 2 * RING_ROWS;
}

/* A call is in its ring before the device's record of it can be fetched. Rows before it
 * have the begin of its scope, so it takes its ring's turn. */
void rings_await_calls(struct rings *rings, struct ring_rows *rows)
{
    rows->awaited = 0;
    for (struct ring *ring = first_ring(rings); ring; ring = ring->next) {
        uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
        uint64_t called = atomic_load_explicit(&ring->called, memory_order_relaxed);
        ring->awaited = called < head ? called : head; /* one may not be there yet */
        rows->awaited += is_awaited(ring);
    }
}

static void follow_asked(struct ring_rows *rows, bool more)
{
    rows->asked -= rows->share < rows->asked ? rows->share : rows->asked;
    if (rows->asked == 0) {
        rows->asked = rows->later.count ? rows->asked_behind : 0;
        rows->asked_behind = 0;
    }
    if (!more) {
        rows->asked = rows->asked_behind = 0;
    }
}

static void remove_ring(struct rings *rings, struct ring *ring)
{
    pthread_mutex_lock(&rings->lock);
    struct ring **link = &rings->first;
    while (*link != ring) {
        link = &(*link)->next;
    }
    *link = ring->next;
    rings->count--;
    add_lost(ring, rings->lost_by_gone);
    pthread_mutex_unlock(&rings->lock);
    free(ring->ended);
    free(ring);
}

static uint32_t share_of(uint32_t rows, uint32_t rings)
{
    uint32_t share = rings < rows ? rows / (rings ? rings : 1) : 1;
    return share < RING_ROWS ? share : RING_ROWS;
}

bool rings_drain(struct rings *rings, uint16_t generation, struct ring_rows *rows)
{
    bool more = false;
    uint32_t for_calls = rows->awaited ? DRAIN_ROWS / 2 : 0;
    uint32_t share_awaited = share_of(for_calls, rows->awaited);
    rows->share = share_of(DRAIN_ROWS - for_calls, rings_count(rings));
    rows->awaited = 0;
    rows->now.count = 0;
    for (struct ring *next, *ring = first_ring(rings); ring; ring = next) {
        next = ring->next;
        bool abandoned = atomic_load_explicit(&ring->abandoned, memory_order_acquire);
        uint32_t most = rows->share + (is_awaited(ring) ? share_awaited : 0);
        bool left = drain_one(ring, most, generation, rows);
        rows->awaited += is_awaited(ring);
        more = more || left;
        if (abandoned && !left) {
            remove_ring(rings, ring);
        }
    }
    ripen(rows, !more);
    if (rows->now.count > 1) {
        qsort(rows->now.row, rows->now.count, sizeof *rows->now.row, by_time);
    }
    more = more || rows->later.count;
    follow_asked(rows, more);
    return more;
}

void ring_rows_fini(struct ring_rows *rows)
{
    free(rows->now.row);
    free(rows->later.row);
    memset(rows, 0, sizeof *rows);
}

static void take_ended(struct ring *ring)
{
    for (size_t i = 0; i < ring->ended_count; i++) {
        thread_scopes_remove(&ring->scopes, ring->ended[i]);
    }
    ring->ended_count = 0;
}

void ring_take_ended(struct ring *ring)
{
    if (fork_guard_lock(&ring->rings->lock) != 0) {
        return; /* the next call does it */
    }
    ring->elsewhere_seen = atomic_load_explicit(&ring->elsewhere, memory_order_relaxed);
    take_ended(ring);
    pthread_mutex_unlock(&ring->rings->lock);
}

void ring_close(struct ring *ring)
{
    pthread_mutex_lock(&ring->rings->lock);
    take_ended(ring);
    ring->closing = true;
    pthread_mutex_unlock(&ring->rings->lock);
}

static bool note_ended(struct ring *ring, uint64_t instance)
{
    uint64_t *grown = ring->ended_count < THREAD_SCOPES_MAX
                          ? array_grown(ring->ended, ring->ended_count, &ring->ended_cap,
                                        sizeof *ring->ended)
                          : NULL;
    if (!grown) {
        return false;
    }
    ring->ended = grown;
    ring->ended[ring->ended_count++] = instance;
    atomic_fetch_add_explicit(&ring->elsewhere, 1, memory_order_relaxed);
    return true;
}

bool rings_end_elsewhere(struct rings *rings, uint64_t instance)
{
    if (fork_guard_lock(&rings->lock) != 0) {
        return false;
    }
    struct ring *ring = rings->first;
    while (ring && ring->id != instance >> RING_INSTANCE_SHIFT) {
        ring = ring->next;
    }
    bool noted = ring && !ring->closing && note_ended(ring, instance);
    pthread_mutex_unlock(&rings->lock);
    return noted;
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
