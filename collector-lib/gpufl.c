/* SPDX-License-Identifier: Apache-2.0 */
/* The public API: one collector a process, with one session at a time. */
#include <gpufl/gpufl.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/core/fork_guard.h"
#include "collector-lib/core/names.h"
#include "collector-lib/core/ring.h"
#include "collector-lib/core/session_dir.h"
#include "collector-lib/core/settings.h"
#include "collector-lib/trace/profiler.h"
#include "collector-lib/writer/writer.h"

#define SCOPE_DEPTH 64u /* kernels of deeper scopes are attributed to the 64th */

/* The collector of this process. Memory that the hot path uses is never freed, so a
 * scope that races with gpufl_shutdown is harmless: its rows carry an old generation.
 * */
static struct {
    pthread_mutex_t lock; /* guards all up to thread_end */
    struct writer *writer;
    struct writer *left_behind; /* after a fork; kept reachable for leak checkers */
    uint16_t last_generation;
    bool hooked;
    bool ended; /* a session has ended, and `last` is its result */
    struct writer_result last;
    pthread_key_t thread_end;
    _Atomic uint16_t generation; /* 0 = off */
    _Atomic bool switched_off;
    struct rings rings;
    struct names names;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER, .rings = RINGS_INIT, .names = NAMES_INIT};

static __thread struct ring *this_ring;
static __thread uint16_t this_depth;
/* Open scopes by depth: a kernel's launch belongs to the innermost one. */
static __thread uint64_t this_scope[SCOPE_DEPTH];

static void on_thread_end(void *ring)
{
    this_ring = NULL;
    atomic_store_explicit(&((struct ring *)ring)->abandoned, true, memory_order_release);
}

/* A forked child has the parent's memory but not its writer thread, so it records
 * nothing until it calls gpufl_init. Locks may have been held by other threads at the
 * fork, so they are initialised again. */
static void reset_in_child(void)
{
    atomic_store_explicit(&process.generation, 0, memory_order_relaxed);
    if (process.writer) {
        writer_abandon(process.writer);
        process.left_behind = process.writer;
        process.writer = NULL;
    }
    pthread_mutex_init(&process.lock, NULL);
    pthread_mutex_init(&process.rings.lock, NULL);
    pthread_mutex_init(&process.names.lock, NULL);
    fork_guard_in_child();
    stacks_after_fork();
    process.rings.first = NULL;
    this_ring = NULL;
    pthread_setspecific(process.thread_end, NULL);
}

void gpufl_init_options_default(struct gpufl_init_options *options)
{
    *options = (struct gpufl_init_options)GPUFL_INIT_OPTIONS_DEFAULT;
}

bool gpufl_is_disabled(void)
{
    return settings_disabled_by_env() ||
           atomic_load_explicit(&process.switched_off, memory_order_relaxed);
}

static void stop_locked(void)
{
    atomic_store_explicit(&process.generation, 0, memory_order_release);
    if (process.writer) {
        free(process.last.report);
        writer_stop(process.writer, &process.last);
        process.writer = NULL;
        process.ended = true;
    }
}

static bool hook_once(void)
{
    if (!process.hooked) {
        process.hooked =
            pthread_key_create(&process.thread_end, on_thread_end) == 0 &&
            pthread_atfork(fork_guard_before, fork_guard_in_parent, reset_in_child) == 0;
    }
    return process.hooked;
}

static const struct tracer_listener listener;

static gpufl_status start_locked(const struct settings *settings)
{
    struct profiler profiler;
    struct session_dir dir = {
        .rotate_bytes = settings->rotate_bytes,
        .rotate_after_ns = (int64_t)settings->rotate_after_ms * 1000000,
        .sync_each_write = settings->sync_each_write,
        .with_sass = settings->source_collection && profiler_samples(settings->engine),
    };
    gpufl_status status =
        hook_once() ? session_dir_open(&dir, settings->log_path) : GPUFL_ERR_NOMEM;
    if (status == GPUFL_OK) {
        process.last_generation = (uint16_t)(process.last_generation % UINT16_MAX + 1);
        profiler_start(&profiler, settings, &listener);
        const struct writer_input input = {.rings = &process.rings,
                                           .names = &process.names,
                                           .generation = process.last_generation};
        status = writer_start(settings, &profiler, &dir, &input, &process.writer);
    }
    if (status == GPUFL_OK) {
        atomic_store_explicit(&process.generation, process.last_generation,
                              memory_order_release);
    } else {
        fprintf(
            stderr,
            "[GPUFL] not recording: cannot create a session in %s: %s (set log_path to a "
            "writable directory)\n",
            settings->log_path, strerror(errno));
    }
    return status;
}

gpufl_status gpufl_init(const struct gpufl_init_options *options)
{
    struct settings settings;
    char why[256];
    gpufl_status status = settings_resolve(options, &settings, why);
    pthread_mutex_lock(&process.lock);
    stop_locked();
    atomic_store_explicit(&process.switched_off, status == GPUFL_OFF,
                          memory_order_relaxed);
    if (status == GPUFL_OK) {
        status = start_locked(&settings);
    } else if (status == GPUFL_ERR_USAGE) {
        fprintf(stderr, "[GPUFL] not recording: %s\n", why);
    }
    pthread_mutex_unlock(&process.lock);
    return status;
}

void gpufl_shutdown(void)
{
    pthread_mutex_lock(&process.lock);
    stop_locked();
    pthread_mutex_unlock(&process.lock);
}

gpufl_status gpufl_session_id(char out[40])
{
    out[0] = '\0';
    pthread_mutex_lock(&process.lock);
    if (process.writer) {
        snprintf(out, 40, "%s", writer_session_id(process.writer));
    }
    pthread_mutex_unlock(&process.lock);
    return out[0] ? GPUFL_OK : GPUFL_ERR_NOT_FOUND;
}

void gpufl_flush(void)
{
    pthread_mutex_lock(&process.lock);
    if (process.writer) {
        writer_flush(process.writer);
    }
    pthread_mutex_unlock(&process.lock);
}

gpufl_status gpufl_get_stats(struct gpufl_stats *stats)
{
    struct gpufl_stats full;
    pthread_mutex_lock(&process.lock);
    bool known = process.writer || process.ended;
    if (process.writer) {
        writer_stats(process.writer, &full);
    } else {
        full = process.last.stats;
    }
    pthread_mutex_unlock(&process.lock);
    if (!known || stats->struct_size < sizeof(size_t)) {
        return known ? GPUFL_ERR_USAGE : GPUFL_ERR_NOT_FOUND;
    }
    size_t size = stats->struct_size < sizeof full ? stats->struct_size : sizeof full;
    full.struct_size = stats->struct_size;
    memcpy(stats, &full, size);
    return GPUFL_OK;
}

gpufl_status gpufl_generate_report(const char *path)
{
    gpufl_status status = GPUFL_ERR_NOT_FOUND;
    pthread_mutex_lock(&process.lock);
    if (process.ended && process.last.report) {
        FILE *out = path && *path ? fopen(path, "we") : stdout;
        status = out && fputs(process.last.report, out) >= 0 ? GPUFL_OK : GPUFL_ERR_IO;
        if (out && (out == stdout ? fflush(out) : fclose(out)) != 0) {
            status = GPUFL_ERR_IO;
        }
    }
    pthread_mutex_unlock(&process.lock);
    return status;
}

/* Gives the thread a ring when it first records something. */
static struct ring *attach_ring(void)
{
    struct ring *ring = rings_add(&process.rings);
    if (ring && pthread_setspecific(process.thread_end, ring) != 0) {
        atomic_store_explicit(&ring->abandoned, true, memory_order_release);
        ring = NULL;
    }
    this_ring = ring;
    return ring;
}

/* This thread's ring, ready for the current session; NULL when nothing is recorded. */
static struct ring *current_ring(uint16_t generation)
{
    struct ring *ring = this_ring ? this_ring : attach_ring();
    if (ring && ring->generation != generation) {
        ring->generation = generation;
        ring->open = 0;
        this_depth = 0;
    }
    return ring;
}

static uint32_t cached_name_id(struct ring *ring, const char *name)
{
    size_t len;
    uint64_t hash = names_hash(name, &len);
    struct ring_cached_name *cached = &ring->cache[hash % RING_CACHE_SLOTS];
    if (cached->id && cached->hash == hash && strcmp(cached->text, name) == 0) {
        return cached->id;
    }
    const char *stored;
    uint32_t id = names_intern(&process.names, name, hash, len, &stored);
    if (id && strcmp(stored, name) == 0) {
        *cached = (struct ring_cached_name){.hash = hash, .text = stored, .id = id};
    }
    return id;
}

static void count_dropped(struct ring *ring)
{
    uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
    atomic_store_explicit(&ring->dropped, dropped + 1, memory_order_relaxed);
}

struct gpufl_scope gpufl_scope_begin(const char *name)
{
    struct gpufl_scope scope = {0};
    uint16_t generation = atomic_load_explicit(&process.generation, memory_order_acquire);
    if (generation == 0 || !name) {
        return scope;
    }
    struct ring *ring = current_ring(generation);
    if (!ring) {
        return scope;
    }
    uint32_t id = cached_name_id(ring, name);
    /* Room for this row, and for its end, which is reserved. */
    if (!id || !ring_has_room(ring, 2)) {
        count_dropped(ring);
        return scope;
    }
    scope.instance = ((uint64_t)ring->id << RING_INSTANCE_SHIFT) | ++ring->next_instance;
    scope.name_id = id;
    scope.depth = this_depth++;
    this_scope[scope.depth < SCOPE_DEPTH ? scope.depth : SCOPE_DEPTH - 1] =
        scope.instance;
    scope.generation = generation;
    ring_push(ring, &(struct row){.mono_ns = clock_mono_ns(),
                                  .instance = scope.instance,
                                  .name_id = id,
                                  .depth = scope.depth,
                                  .generation = generation,
                                  .kind = ROW_SCOPE_BEGIN});
    ring->open++;
    return scope;
}

void gpufl_scope_end(struct gpufl_scope scope)
{
    struct ring *ring = this_ring;
    if (scope.instance == 0 || !ring || ring->generation != scope.generation ||
        scope.instance >> RING_INSTANCE_SHIFT != ring->id || ring->open == 0) {
        return;
    }
    ring_push(ring, &(struct row){.mono_ns = clock_mono_ns(),
                                  .instance = scope.instance,
                                  .name_id = scope.name_id,
                                  .depth = scope.depth,
                                  .generation = scope.generation,
                                  .kind = ROW_SCOPE_END});
    ring->open--;
    this_depth = scope.depth;
}

/* Called from within a call of CUDA, on the thread that makes it. */
static void push_call(const struct trace_call *call)
{
    uint16_t generation = atomic_load_explicit(&process.generation, memory_order_acquire);
    bool tagged = call->with_stack || call->external_kind;
    bool wanted = generation != 0 && (tagged || this_depth > 0);
    struct ring *ring = wanted ? current_ring(generation) : NULL;
    uint16_t depth = this_depth < SCOPE_DEPTH ? this_depth : SCOPE_DEPTH;
    if (!ring || (depth == 0 && !tagged)) {
        return;
    }
    if (!ring_has_room(ring, 1)) {
        count_dropped(ring);
        return;
    }
    ring_push(ring,
              &(struct row){.mono_ns = clock_mono_ns(),
                            .instance = depth ? this_scope[depth - 1] : 0,
                            .name_id = call->correlation,
                            .stack_id = call->with_stack ? stacks_here(ring->stack) : 0,
                            .type = call->external_kind,
                            .value = call->external_id,
                            .depth = depth,
                            .generation = generation,
                            .kind = ROW_CALL});
}

static void push_wait(const struct trace_wait *w)
{
    uint16_t generation = atomic_load_explicit(&process.generation, memory_order_acquire);
    struct ring *ring = generation ? current_ring(generation) : NULL;
    if (!ring) {
        return;
    }
    if (!ring_has_room(ring, 1)) {
        count_dropped(ring);
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

static const struct tracer_listener listener = {.called = push_call, .waited = push_wait};

static void push_mark(const char *name, enum row_kind kind)
{
    uint16_t generation = atomic_load_explicit(&process.generation, memory_order_acquire);
    struct ring *ring = generation ? current_ring(generation) : NULL;
    if (!ring) {
        return;
    }
    uint32_t id = cached_name_id(ring, name && *name ? name : "system");
    if (!id || !ring_has_room(ring, 1)) {
        count_dropped(ring);
        return;
    }
    ring_push(ring, &(struct row){.mono_ns = clock_mono_ns(),
                                  .name_id = id,
                                  .generation = generation,
                                  .kind = (uint8_t)kind});
}

void gpufl_system_start(const char *name)
{
    push_mark(name, ROW_SYSTEM_START);
}

void gpufl_system_stop(const char *name)
{
    push_mark(name, ROW_SYSTEM_STOP);
}
