/* SPDX-License-Identifier: Apache-2.0 */
/* Turns calls of the job's threads into rows of their rings. */
#include "collector-lib/recorder.h"

#include <errno.h>
#include <string.h>

#include "collector-lib/core/clock.h"

static __thread struct {
    struct ring *ring;
    bool attaches; /* takes memory for one: a malloc of the job may record scopes */
} this_thread;

static void push_end(struct ring *ring, struct thread_scope scope)
{
    ring_push(ring, &(struct row){.mono_ns = clock_mono_ns(),
                                  .instance = scope.instance,
                                  .name_id = scope.name_id,
                                  .depth = scope.depth,
                                  .generation = ring->generation,
                                  .kind = ROW_SCOPE_END});
}

/* Ends the oldest scope, whose end has its slot. */
static void end_forgotten(struct ring *ring)
{
    push_end(ring, thread_scopes_take_first(&ring->scopes));
    ring_count_lost(ring, LOSS_NOT_ENDED);
}

static void on_thread_end(void *arg)
{
    struct ring *ring = arg;
    this_thread.ring = NULL;
    ring_close(ring);
    while (ring->scopes.count) {
        end_forgotten(ring);
    }
    atomic_store_explicit(&ring->abandoned, true, memory_order_release);
}

bool recorder_prepare(struct recorder *r)
{
    r->prepared = r->prepared || pthread_key_create(&r->thread_end, on_thread_end) == 0;
    return r->prepared;
}

const void *recorder_after_fork(struct recorder *r)
{
    const struct ring *rings = r->rings.first;
    const pthread_mutex_t fresh = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    r->rings.lock = r->names.lock = fresh;
    r->rings.first = NULL;
    r->rings.count = 0;
    this_thread.ring = NULL;
    if (r->prepared) {
        pthread_setspecific(r->thread_end, NULL);
    }
    return rings;
}

/* Gives the thread a ring when it first records something. A scope changes no errno. */
static struct ring *attach_ring(struct recorder *r)
{
    int saved = errno;
    this_thread.attaches = true;
    struct ring *ring = rings_add(&r->rings);
    if (ring && pthread_setspecific(r->thread_end, ring) != 0) {
        atomic_store_explicit(&ring->abandoned, true, memory_order_release);
        ring = NULL;
    }
    this_thread.ring = ring;
    this_thread.attaches = false;
    errno = saved;
    return ring;
}

/* This thread's ring, ready for the current session. Without memory for it, and while it
 * is being made, NULL, and what was to be recorded is counted. */
static struct ring *current_ring(struct recorder *r, uint16_t generation)
{
    struct ring *ring = this_thread.ring;
    if (!ring && !this_thread.attaches) {
        ring = attach_ring(r);
    }
    if (!ring) {
        rings_count_without(&r->rings);
        return NULL;
    }
    if (ring->generation != generation) {
        ring->generation = generation;
        ring->scopes.count = 0;
    }
    ring_refresh(ring);
    return ring;
}

static uint32_t cached_name_id(struct recorder *r, struct ring *ring, const char *name)
{
    uint64_t mixed = (uintptr_t)name * 0x9e3779b97f4a7c15u;
    struct ring_cached_name *cached = &ring->cache[(mixed >> 32) % RING_CACHE_SLOTS];
    if (cached->given == name && strncmp(cached->text, name, NAMES_SCOPE_BYTES) == 0) {
        return cached->id;
    }
    size_t len;
    const char *stored;
    int saved = errno;
    uint64_t hash = names_hash(name, NAMES_SCOPE_BYTES, &len);
    uint32_t id = names_intern(&r->names, name, hash, len, &stored);
    errno = saved;
    if (id && names_is(stored, name, len)) {
        *cached = (struct ring_cached_name){.given = name, .text = stored, .id = id};
    }
    return id;
}

struct gpufl_scope recorder_begin_scope(struct recorder *r, const char *name,
                                        uint32_t repeat, uint32_t warmup)
{
    struct gpufl_scope scope = {0};
    uint16_t generation = atomic_load_explicit(&r->generation, memory_order_acquire);
    if (generation == 0 || !name) {
        return scope;
    }
    struct ring *ring = current_ring(r, generation);
    if (!ring) {
        return scope;
    }
    uint32_t id = cached_name_id(r, ring, name);
    if (ring->scopes.count == THREAD_SCOPES_MAX) {
        end_forgotten(ring);
    }
    /* Room for this row, and for its end, which is reserved. */
    if (!id || !ring_has_room(ring, 2)) {
        ring_count_lost(ring, LOSS_SCOPES);
        return scope;
    }
    const struct thread_scope *outer = thread_scopes_last(&ring->scopes);
    scope.instance = ((uint64_t)ring->id << RING_INSTANCE_SHIFT) | ++ring->next_instance;
    scope.name_id = id;
    scope.depth =
        outer ? (uint16_t)(outer->depth + (outer->depth < UINT16_MAX)) : (uint16_t)0;
    scope.generation = generation;
    ring_push(ring, &(struct row){.mono_ns = clock_mono_ns(),
                                  .instance = scope.instance,
                                  .name_id = id,
                                  .depth = scope.depth,
                                  .value = outer ? outer->instance : 0,
                                  .repeat = repeat,
                                  .warmup = warmup,
                                  .generation = generation,
                                  .kind = ROW_SCOPE_BEGIN});
    thread_scopes_push(&ring->scopes,
                       (struct thread_scope){scope.instance, id, scope.depth});
    return scope;
}

/* The other thread learns of it before it records anything else. */
static void end_elsewhere(struct recorder *r, struct ring *ring,
                          struct thread_scope scope)
{
    if (!ring_has_room(ring, 1)) {
        ring_count_lost(ring, LOSS_SCOPE_ENDS);
    } else if (rings_end_elsewhere(&r->rings, scope.instance)) {
        push_end(ring, scope);
    }
}

void recorder_end_scope(struct recorder *r, struct gpufl_scope scope)
{
    uint16_t generation = atomic_load_explicit(&r->generation, memory_order_acquire);
    const struct thread_scope ended = {scope.instance, scope.name_id, scope.depth};
    if (scope.instance == 0 || scope.generation != generation) {
        return;
    }
    struct ring *ring = current_ring(r, generation);
    if (!ring) {
        return;
    }
    if (scope.instance >> RING_INSTANCE_SHIFT != ring->id) {
        end_elsewhere(r, ring, ended);
    } else if (thread_scopes_remove(&ring->scopes, scope.instance)) {
        push_end(ring, ended);
    }
}

/* Called from within a call of CUDA, on the thread that makes it. */
void recorder_call(struct recorder *r, const struct trace_call *call)
{
    uint16_t generation = atomic_load_explicit(&r->generation, memory_order_acquire);
    bool tagged = call->with_stack || call->external_kind;
    bool wanted = generation != 0 &&
                  (tagged || (this_thread.ring && this_thread.ring->scopes.count));
    struct ring *ring = wanted ? current_ring(r, generation) : NULL;
    const struct thread_scope *in = ring ? thread_scopes_last(&ring->scopes) : NULL;
    if (!ring || (!in && !tagged)) {
        return;
    }
    if (!ring_has_room(ring, 1)) {
        ring_count_lost(ring, LOSS_CALLS);
        return;
    }
    ring_push_call(
        ring, &(struct row){.mono_ns = clock_mono_ns(),
                            .instance = in ? in->instance : 0,
                            .name_id = call->correlation,
                            .stack_id = call->with_stack ? stacks_here(ring->stack) : 0,
                            .type = call->external_kind,
                            .value = call->external_id,
                            .depth = in ? (uint16_t)(in->depth + 1) : (uint16_t)0,
                            .generation = generation,
                            .kind = ROW_CALL});
}

void recorder_wait(struct recorder *r, const struct trace_wait *w)
{
    uint16_t generation = atomic_load_explicit(&r->generation, memory_order_acquire);
    struct ring *ring = generation ? current_ring(r, generation) : NULL;
    if (!ring) {
        return;
    }
    if (!ring_has_room(ring, 1)) {
        ring_count_lost(ring, LOSS_WAITS);
        return;
    }
    ring_push(ring,
              &(struct row){.mono_ns = w->end_ns,
                            .name_id = w->correlation,
                            .stack_id = w->with_stack ? stacks_here(ring->stack) : 0,
                            .type = w->type,
                            .value = (uint64_t)(w->end_ns - w->start_ns),
                            .context = w->context,
                            .stream = w->stream,
                            .event = w->event,
                            .generation = generation,
                            .kind = ROW_WAIT});
}

void recorder_phase(struct recorder *r, const char *name, enum row_kind kind)
{
    uint16_t generation = atomic_load_explicit(&r->generation, memory_order_acquire);
    struct ring *ring = generation ? current_ring(r, generation) : NULL;
    if (!ring) {
        return;
    }
    uint32_t id = cached_name_id(r, ring, name && *name ? name : "system");
    if (!id || !ring_has_room(ring, 1)) {
        ring_count_lost(ring, LOSS_PHASES);
        return;
    }
    ring_push(ring, &(struct row){.mono_ns = clock_mono_ns(),
                                  .name_id = id,
                                  .generation = generation,
                                  .kind = (uint8_t)kind});
}
