/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI fills our buffers and returns them when they are full or flushed; the callbacks
 * only move pointers. The collector's thread decodes the records. Measured on an H200
 * with CUPTI 13.0.1: a flush takes 0.2 ms, or 1 to 2 ms while a thread launches without
 * pause, and returns the complete records of buffers of any size. */
#include "collector-lib/cupti/activity.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/cupti/activity_decode.h"
#include "collector-lib/cupti/buffers.h"
#include "collector-lib/cupti/calls.h"
#include "collector-lib/cupti/cupti_api.h"

#define LAST_WAIT_MS 1000
#define LAST_STEP_MS 2
#define CLOCK_TRIES  4
#define CLOCK_AGAIN  ((struct timespec){.tv_nsec = 2000000})

#define ALWAYS SIZE_MAX
#define NEEDED TRACER_PARTS /* nothing is recorded without it */

/* CONCURRENT_KERNEL, since KERNEL would serialise the job's kernels. SYNCHRONIZATION
 * and RUNTIME are not used: with either, on an H200 with CUPTI 13.0.1, each call of the
 * CUDA runtime becomes slower (cudaGetDevice from 29 to 200 ns, cudaEventQuery from 140
 * to 430 ns), even after tracing has ended, and a step of PyTorch makes thousands of
 * calls. Callbacks report waits and the ids that frameworks push instead (calls.c);
 * they do not affect other calls. */
static const struct {
    CUpti_ActivityKind kind;
    enum tracer_part part;
    size_t wanted; /* offset of a bool in the configuration */
    const char *records;
} kinds[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, NEEDED, ALWAYS, "kernel records"},
    {CUPTI_ACTIVITY_KIND_MEMCPY, TRACER_COPIES, ALWAYS, "memory copy records"},
    {CUPTI_ACTIVITY_KIND_MEMSET, TRACER_SETS, ALWAYS, "memory set records"},
    {CUPTI_ACTIVITY_KIND_MEMORY2, TRACER_ALLOCATIONS,
     offsetof(struct tracer_config, memory), "allocation records"},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, TRACER_GRAPHS,
     offsetof(struct tracer_config, graphs), "graph records"},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static struct {
    struct tracer_config config;
    CUptiResult enabled[KINDS];
    bool registered;
    struct buffer *taken;
    uint64_t dropped;
    _Atomic uint64_t foreign; /* buffers that another client had lent */
    uint64_t fetches_failed;
    bool fetch_failed;   /* this one */
    char fetch_why[256]; /* the last one */
    struct activity_decode decode;
} activity;

static void CUPTIAPI on_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = buffers_request(size);
    *max_records = 0;
}

static void CUPTIAPI on_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                  size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    if (buffer && !buffers_complete(buffer, valid)) {
        atomic_fetch_add_explicit(&activity.foreign, 1, memory_order_relaxed);
    }
}

static bool kind_wanted(size_t i)
{
    bool flag = true;
    if (kinds[i].wanted != ALWAYS) {
        memcpy(&flag, (const char *)&activity.config + kinds[i].wanted, sizeof flag);
    }
    return flag;
}

/* Once a process. Whoever registers later gets the buffers, and we no longer would. */
static bool register_callbacks(char *why, size_t size)
{
    if (activity.registered) {
        return true;
    }
    CUptiResult result = cupti.ActivityRegisterCallbacks(on_requested, on_completed);
    activity.registered = result == CUPTI_SUCCESS;
    return activity.registered || cupti_api_refused(why, size, "its callbacks", result);
}

/* Theirs is read between two reads of ours; the closest pair of several is used. */
static CUptiResult compare_clocks(void)
{
    int64_t best_width_ns = INT64_MAX;
    uint64_t best = 0;
    int64_t middle_ns = 0;
    for (int i = 0; i < CLOCK_TRIES; i++) {
        uint64_t theirs;
        int64_t before_ns = clock_mono_ns();
        CUptiResult result = cupti.GetTimestamp(&theirs);
        int64_t width_ns = clock_mono_ns() - before_ns;
        if (result != CUPTI_SUCCESS) {
            record_clock_failed(&activity.decode.clock, before_ns);
            return result;
        }
        if (width_ns < best_width_ns) {
            best_width_ns = width_ns;
            best = theirs;
            middle_ns = before_ns + width_ns / 2;
        }
    }
    record_clock_add(&activity.decode.clock, best, middle_ns);
    return CUPTI_SUCCESS;
}

/* After the last record that was taken. */
static void follow_clock(void)
{
    compare_clocks();
    if (record_clock_in_doubt(&activity.decode.clock)) {
        nanosleep(&CLOCK_AGAIN, NULL);
        compare_clocks();
    }
}

bool activity_start(const struct tracer_config *config, char *why, size_t size)
{
    activity.config = *config;
    buffers_configure(config->buffer_bytes, config->buffers_max);
    activity.dropped = 0;
    atomic_store_explicit(&activity.foreign, 0, memory_order_relaxed);
    activity.fetches_failed = 0;
    activity.fetch_why[0] = '\0';
    memset(&activity.decode, 0, sizeof activity.decode);
    CUptiResult compared = compare_clocks();
    if (compared != CUPTI_SUCCESS) {
        return cupti_api_refused(why, size, "its clock", compared);
    }
    if (!register_callbacks(why, size)) {
        return false;
    }
    for (size_t i = 0; i < KINDS; i++) {
        CUptiResult result =
            kind_wanted(i) ? cupti.ActivityEnable(kinds[i].kind) : CUPTI_SUCCESS;
        if (result != CUPTI_SUCCESS && kinds[i].part == NEEDED) {
            activity_stop();
            return cupti_api_refused(why, size, kinds[i].records, result);
        }
        activity.enabled[i] = result;
    }
    return true;
}

void activity_stop(void)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (kind_wanted(i) && !cupti_api_lost()) {
            cupti.ActivityDisable(kinds[i].kind);
        }
    }
    for (struct buffer *b = buffers_take(); b;) {
        struct buffer *next = b->next;
        buffers_release(b);
        b = next;
    }
}

static bool is_launched_kernel(const CUpti_Activity *record)
{
    const void *kernel = record;
    return record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
           calls_is_launch(((const cupti_kernel *)kernel)->correlationId);
}

static uint64_t kernels_in(const struct buffer *b)
{
    uint64_t kernels = 0;
    for (; b; b = b->next) {
        CUpti_Activity *record = NULL;
        while (cupti.ActivityGetNextRecord(b->bytes, b->valid, &record) ==
               CUPTI_SUCCESS) {
            kernels += is_launched_kernel(record);
        }
    }
    return kernels;
}

/* Appends the completed buffers to those that were taken before. */
static struct buffer *take_completed(void)
{
    struct buffer **end = &activity.taken;
    while (*end) {
        end = &(*end)->next;
    }
    return *end = buffers_take();
}

/* CUPTI is not called before the job's first call of CUDA: if we are injected, cuInit,
 * which loads us, may still be running on another thread. */
static bool anything_to_collect(void)
{
    return calls_heard() || !calls_told() || buffers_out() > 0;
}

static void check_fetch(CUptiResult result, const char *what)
{
    if (result != CUPTI_SUCCESS && anything_to_collect()) {
        activity.fetch_failed = true;
        cupti_api_refused(activity.fetch_why, sizeof activity.fetch_why, what, result);
    }
}

static void flush_records(uint32_t flag)
{
    check_fetch(cupti.ActivityFlushAll(flag), "to return records");
}

static void count_dropped(void)
{
    size_t dropped = 0;
    bool ran_out = buffers_ran_out();
    CUptiResult result = cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped);
    if (result == CUPTI_SUCCESS) {
        activity.dropped += dropped;
    } else if (ran_out) {
        check_fetch(result, "to say how many records it dropped");
    }
}

/* Kernels that were launched just before the end get time to finish. */
static void wait_for_kernels(void)
{
    uint64_t launched = calls_launched();
    uint64_t ended = activity.decode.ended + kernels_in(activity.taken);
    for (int ms = 0; ms < LAST_WAIT_MS && ended < launched; ms += LAST_STEP_MS) {
        struct timespec step = {.tv_nsec = LAST_STEP_MS * 1000000};
        nanosleep(&step, NULL);
        flush_records(0);
        ended += kernels_in(take_completed());
    }
    flush_records(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    take_completed();
}

void activity_collect(bool last)
{
    if (!last && (!anything_to_collect() || cupti_driver_is_over())) {
        return;
    }
    activity.fetch_failed = false;
    flush_records(0);
    take_completed();
    if (last) {
        wait_for_kernels();
    }
    follow_clock();
    count_dropped();
    activity.fetches_failed += activity.fetch_failed;
}

void activity_collect_nothing(void)
{
    if (buffers_out() > 0) {
        activity.fetches_failed++;
        snprintf(activity.fetch_why, sizeof activity.fetch_why,
                 "the CUDA driver had shut down before the last records were fetched");
    }
}

void activity_deliver(const struct tracer_sink *sink)
{
    activity_decode_buffers(&activity.decode, activity.taken, sink);
    while (activity.taken) {
        struct buffer *b = activity.taken;
        activity.taken = b->next;
        buffers_release(b);
    }
}

static void say_refused(struct tracer_status *out)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (activity.enabled[i] != CUPTI_SUCCESS) {
            cupti_api_refused(out->refused_why[kinds[i].part], sizeof out->refused_why[0],
                              kinds[i].records, activity.enabled[i]);
        }
    }
}

void activity_status(struct tracer_status *out)
{
    say_refused(out);
    uint64_t launched = calls_launched();
    uint64_t told = activity.decode.ended + activity.dropped;
    out->unrecorded = launched > told ? launched - told : 0;
    out->fetches_failed = activity.fetches_failed;
    snprintf(out->fetch_why, sizeof out->fetch_why, "%s", activity.fetch_why);
    out->records = activity.decode.records;
    out->dropped = activity.dropped;
    out->foreign = atomic_load_explicit(&activity.foreign, memory_order_relaxed);
    out->incomplete = activity.decode.incomplete;
    out->buffers_unread = activity.decode.buffers_unread;
}
