/* SPDX-License-Identifier: Apache-2.0 */
/* A thread fetches the samples: a fetch took 10 to 170 ms on an H200, too long for the
 * thread that drains the rings. Launches wait during a fetch, so there are few. The
 * thread holds the lock of the contexts meanwhile; a thread of the job that creates or
 * destroys a context waits for it for half a second at most. A context that is created
 * in vain is sampled from the next fetch on; one that is destroyed in vain is forgotten
 * then, before another one gets its address. */
#include "collector-lib/cupti/pc_sampling.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/core/thread.h"
#include "collector-lib/cupti/gpu_claim.h"
#include "collector-lib/cupti/line_table.h"
#include "collector-lib/cupti/pc_context.h"
#include "collector-lib/cupti/primary_contexts.h"
#include "collector-lib/cupti/sample_queue.h"

#define FETCH_MS     1000
#define CONTEXTS_MAX 64u
#define LOCK_WAIT_MS 500
#define NS_PER_MS    1000000ll
#define NS_PER_S     1000000000ll
#define NEVER_SAMPLED                                                                    \
    "a context was made while samples were fetched, and was never sampled"

static struct {
    _Atomic bool on; /* sampling is on; read by the job's threads */
    _Atomic bool source;
    size_t buffer_bytes; /* of a context, at most */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the contexts and the thread's end */
    pthread_cond_t wake;
    bool stopping;
    struct pc_context context[CONTEXTS_MAX];
    struct sample_queue queue;
    pthread_mutex_t late_lock;    /* nothing is called while it is held */
    CUcontext late[CONTEXTS_MAX]; /* not sampled yet */
    CUcontext gone[CONTEXTS_MAX]; /* destroyed during a fetch, and in the table yet */
    _Atomic uint64_t unsampled;   /* contexts that could not be */
    pthread_mutex_t why_lock;
    char why[256];
} pc = {.lock = PTHREAD_MUTEX_INITIALIZER,
        .late_lock = PTHREAD_MUTEX_INITIALIZER,
        .queue = SAMPLE_QUEUE_INIT,
        .why_lock = PTHREAD_MUTEX_INITIALIZER};

static struct timespec after_ms(int64_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t ns = at.tv_nsec + ms * NS_PER_MS;
    return (struct timespec){.tv_sec = at.tv_sec + ns / NS_PER_S,
                             .tv_nsec = ns % NS_PER_S};
}

static struct pc_context *find_context(CUcontext context)
{
    for (size_t i = 0; i < CONTEXTS_MAX; i++) {
        if (pc.context[i].context == context) {
            return &pc.context[i];
        }
    }
    return NULL;
}

/* Keeps the first reason: later ones follow from it. */
static void note_why(const char *why)
{
    pthread_mutex_lock(&pc.why_lock);
    if (!pc.why[0]) {
        snprintf(pc.why, sizeof pc.why, "%s", why);
    }
    pthread_mutex_unlock(&pc.why_lock);
}

/* How many samples it would have had is not known. */
static void note_unsampled(const char *why)
{
    sample_queue_drop(&pc.queue, 1);
    note_why(why);
}

static void open_context(CUcontext context)
{
    char why[sizeof pc.why];
    struct pc_context *free_one = find_context(NULL);
    if (find_context(context) || cupti_api_lost()) {
        return;
    }
    if (!free_one) {
        note_unsampled("there are more contexts than can be sampled");
    } else if (!pc_context_open(free_one, context, pc.buffer_bytes, why, sizeof why)) {
        atomic_fetch_add(&pc.unsampled, 1);
        note_why(why);
    }
}

/* Puts \p to in the place of \p from; NULL is a free place. \return false if there is
 * none. */
static bool replace_in(CUcontext list[CONTEXTS_MAX], CUcontext from, CUcontext to)
{
    bool found = false;
    pthread_mutex_lock(&pc.late_lock);
    for (size_t i = 0; i < CONTEXTS_MAX && !found; i++) {
        found = list[i] == from;
        list[i] = found ? to : list[i];
    }
    pthread_mutex_unlock(&pc.late_lock);
    return found;
}

static CUcontext take_from(CUcontext list[CONTEXTS_MAX])
{
    CUcontext context = NULL;
    pthread_mutex_lock(&pc.late_lock);
    for (size_t i = 0; i < CONTEXTS_MAX && !context; i++) {
        context = list[i];
        list[i] = NULL;
    }
    pthread_mutex_unlock(&pc.late_lock);
    return context;
}

/* What CUPTI may still write to stays allocated. */
static void forget_gone(void)
{
    for (CUcontext context; (context = take_from(pc.gone)) != NULL;) {
        struct pc_context *c = find_context(context);
        if (c) {
            memset(c, 0, sizeof *c);
            note_unsampled("a context was destroyed while samples were fetched, and its "
                           "last ones are lost");
        }
    }
}

/* With the lock of the contexts: whoever destroys one waits for it. */
static void open_late(void)
{
    forget_gone();
    for (CUcontext context; (context = take_from(pc.late)) != NULL;) {
        open_context(context);
    }
}

static void queue_instruction(const struct pc_context *c,
                              const CUpti_PCSamplingPCData *at, int64_t now_ns)
{
    struct source_line line = {0};
    if (pc.source && at->functionName) {
        line_table_find(at->cubinCrc, at->functionName, at->pcOffset, &line);
    }
    struct trace_sample sample = {
        .at_ns = now_ns,
        .symbol = at->functionName ? at->functionName : "(unknown)",
        .file = line.file,
        .line = line.number,
        .pc_offset = at->pcOffset,
        .device = c->device,
    };
    for (size_t i = 0; i < at->stallReasonCount; i++) {
        const CUpti_PCSamplingStallReason *r = &at->stallReason[i];
        sample.stall = r->pcSamplingStallReasonIndex;
        sample.stall_name = stall_reasons_name(&c->reasons, sample.stall);
        sample.samples = r->samples;
        if (sample.samples) {
            sample_queue_push(&pc.queue, &sample);
        }
    }
}

static void queue_room(const struct pc_context *c, const struct pc_room *room)
{
    int64_t now_ns = clock_mono_ns();
    for (size_t i = 0; i < room->data.totalNumPcs && i < room->data.collectNumPcs; i++) {
        queue_instruction(c, &room->pc[i], now_ns);
    }
    sample_queue_drop(&pc.queue, room->data.droppedSamples);
}

/* CUPTI does not tell how many samples were lost. */
static void note_full_buffer(void)
{
    sample_queue_drop(&pc.queue, 1);
    note_why("its buffer was full, and samples were lost (a larger one: "
             "pc_sampling_buffer_mib, GPUFL_PC_SAMPLING_BUFFER_MIB)");
}

/* Fetches as long as there are samples. CUPTI_ERROR_OUT_OF_MEMORY means that the
 * hardware's buffer was full; there may be samples all the same. False if CUPTI returns
 * none. */
static bool fetch_samples(struct pc_context *c)
{
    const CUpti_PCSamplingData *data = &c->fetch.data;
    do {
        c->fetch.data.totalNumPcs = 0;
        CUptiResult result = pc_context_fetch(c);
        if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_OUT_OF_MEMORY) {
            char why[sizeof pc.why];
            snprintf(why, sizeof why, "CUPTI returned no samples: %s; tracing continues",
                     cupti_api_error(result));
            note_why(why);
            return false;
        }
        if (result == CUPTI_ERROR_OUT_OF_MEMORY) {
            note_full_buffer();
        }
        queue_room(c, &c->fetch);
    } while (data->totalNumPcs > 0 && data->remainingNumPcs > 0);
    return true;
}

/* If CUPTI is lost, the last samples of the other contexts are lost too, and the
 * contexts stay as they are. If only disabling failed, what was decoded can still be
 * fetched. */
static void close_context(struct pc_context *c)
{
    if (cupti_api_lost()) {
        return;
    }
    bool fetched = fetch_samples(c);
    CUptiResult ended = pc_context_disable(c);
    if (ended == CUPTI_SUCCESS) {
        queue_room(c, &c->config);
        sample_queue_drop(&pc.queue,
                          c->config.data.remainingNumPcs); /* at least one sample each */
        pc_context_free(c);
        return;
    }
    if (fetched) {
        fetch_samples(c);
    }
    char why[sizeof pc.why];
    snprintf(
        why, sizeof why,
        "CUPTI failed to stop it: %s; samples so far are recorded, later sessions of "
        "this process run Monitor",
        cupti_api_error(ended));
    note_why(why);
}

static void fetch_all(void)
{
    for (size_t i = 0; i < CONTEXTS_MAX; i++) {
        forget_gone();
        if (pc.context[i].context && !cupti_api_lost()) {
            fetch_samples(&pc.context[i]);
        }
    }
}

static void *fetch_until_stopped(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&pc.lock);
    while (!pc.stopping) {
        struct timespec at = after_ms(FETCH_MS);
        pthread_cond_timedwait(&pc.wake, &pc.lock, &at);
        if (!pc.stopping) {
            fetch_all();
            open_late();
        }
    }
    pthread_mutex_unlock(&pc.lock);
    return NULL;
}

static bool sampling_available(void)
{
    return cupti.PCSamplingEnable && cupti.PCSamplingDisable &&
           cupti.PCSamplingSetConfigurationAttribute && cupti.PCSamplingGetData &&
           cupti.PCSamplingGetNumStallReasons && cupti.PCSamplingGetStallReasons;
}

static void enable_callbacks(CUpti_SubscriberHandle subscriber)
{
    static const CUpti_CallbackId id[] = {CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
                                          CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
                                          CUPTI_CBID_RESOURCE_MODULE_LOADED};
    for (size_t i = 0; i < sizeof id / sizeof id[0]; i++) {
        cupti.EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id[i]);
    }
}

void pc_sampling_start(const struct tracer_config *config,
                       CUpti_SubscriberHandle subscriber)
{
    pthread_mutex_lock(&pc.lock);
    pc.source = config->source;
    pc.buffer_bytes = config->sample_buffer_bytes;
    sample_queue_reset(&pc.queue);
    memset(pc.late, 0, sizeof pc.late); /* sampling is off: nobody else uses it */
    memset(pc.gone, 0, sizeof pc.gone);
    pc.why[0] = '\0';
    atomic_store(&pc.unsampled, 0);
    pc.stopping = false;
    if (!sampling_available()) {
        note_why("libcupti has no PC sampling (CUDA 12 or later is needed)");
    } else {
        thread_condition_init(&pc.wake);
        pc.on = thread_start(&pc.thread, THREAD_SAMPLES, fetch_until_stopped, NULL) == 0;
    }
    if (pc.on) {
        enable_callbacks(subscriber);
        primary_contexts_visit(open_context);
    }
    pthread_mutex_unlock(&pc.lock);
}

void pc_sampling_resource(CUpti_CallbackId id, const void *data)
{
    const CUpti_ResourceData *resource = data;
    if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
        const CUpti_ModuleResourceData *m = resource->resourceDescriptor;
        if (pc.source) {
            line_table_add(m->pCubin, m->cubinSize);
        }
        return;
    }
    if (!pc.on) {
        return;
    }
    bool created = id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED;
    if (!created && replace_in(pc.late, resource->context, NULL)) {
        note_unsampled(NEVER_SAMPLED);
    }
    if (thread_lock_within(&pc.lock, LOCK_WAIT_MS) != 0) {
        if (!replace_in(created ? pc.late : pc.gone, NULL, resource->context)) {
            note_unsampled(NEVER_SAMPLED);
        }
        return; /* the last samples are lost, but the job is not held up */
    }
    forget_gone();
    struct pc_context *c = find_context(resource->context);
    if (created) {
        open_context(resource->context);
    } else if (c) {
        close_context(c);
    }
    pthread_mutex_unlock(&pc.lock);
}

void pc_sampling_finish(void)
{
    if (!pc.on) {
        return;
    }
    pthread_mutex_lock(&pc.lock);
    pc.stopping = true;
    pthread_cond_signal(&pc.wake);
    pthread_mutex_unlock(&pc.lock);
    pthread_join(pc.thread, NULL);
    pthread_mutex_lock(&pc.lock);
    forget_gone();
    while (take_from(pc.late)) {
        note_unsampled(NEVER_SAMPLED);
    }
    fetch_all(); /* before disabling one can fail */
    for (size_t i = 0; i < CONTEXTS_MAX; i++) {
        if (pc.context[i].context) {
            close_context(&pc.context[i]);
        }
    }
    if (!cupti_api_lost()) { /* otherwise it is still sampling */
        gpu_claim_drop_all();
    }
    pc.on = false;
    pthread_cond_destroy(&pc.wake);
    pthread_mutex_unlock(&pc.lock);
}

void pc_sampling_deliver(const struct tracer_sink *sink)
{
    sample_queue_deliver(&pc.queue, sink);
}

void pc_sampling_status(struct tracer_status *out)
{
    sample_queue_status(&pc.queue, out);
    out->modules_dropped = line_table_dropped();
    out->contexts_unsampled = atomic_load(&pc.unsampled);
    pthread_mutex_lock(&pc.why_lock);
    memcpy(out->pc_sampling_why, pc.why, sizeof pc.why);
    pthread_mutex_unlock(&pc.why_lock);
}

void pc_sampling_stop(void)
{
    pc_sampling_finish();
    line_table_forget();
}
