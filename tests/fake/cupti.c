/* SPDX-License-Identifier: Apache-2.0 */
/* A libcupti.so.13 for tests, and the GPU behind it: fake_launch() and its like do what a
 * CUDA call would, with CUPTI's callbacks and records. Buffers come back from a thread of
 * its own, as CUPTI's do, which it makes in cuptiSubscribe (H100, CUDA 13): it has the
 * name of the one that makes it.
 *
 * FAKE_CUPTI_FAIL=name=n   that call (without "cupti") answers n; several by commas
 * FAKE_CUPTI_THREAD=name   that of its thread
 * FAKE_CUPTI_VERSION=n     cuptiGetVersion says n
 * FAKE_CUPTI_BAD=n         the nth record has a kind that cannot be read
 * FAKE_CUPTI_CALLS=path    the calls that switch something, a line each
 * FAKE_CUPTI_ACTIVE=1      a context is there from the start
 * FAKE_CUPTI_GPU=n         which GPU it is; else each process has its own
 * FAKE_CUPTI_UUIDS=a,b     the UUIDs of its devices instead; "MIG-a": a part of a GPU
 * FAKE_CUPTI_TICKS=n       its clock is one that somebody lent: n ticks a nanosecond
 * FAKE_CUPTI_FREE_MIB=n,m  so much memory of each device is free; else 80 GiB
 * FAKE_CUPTI_DROPPED=n     the first fetch of samples says that so many were dropped
 * FAKE_CUPTI_INIT=how      cuptiSubscribe initialises CUDA ("within"), or waits until
 *                          another thread, which has begun to, has done so ("beside")
 * FAKE_CUPTI_OVERTAKEN=1   exit() ends the runtime within the first call, which is told
 *                          before the next handler is called
 * FAKE_CUPTI_LATE=n        so many instructions are only decoded as sampling ends
 *
 * After PC sampling could not be switched off what switches anything else ends the
 * process, as a call of the real one does. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cupti.h>
#include <cupti_pcsampling.h>

#include "tests/fake/cupti.h"

#define EXPORT    __attribute__((visibility("default")))
#define KINDS_MAX 128
#define IDS_MAX   1024
#define STACK_MAX 8
#define REASONS   2
#define PCS       3
#define GPUS      2

#define LINE_TABLE ".debug_line"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool kind[KINDS_MAX];
    bool driver_id[IDS_MAX];
    bool runtime_id[IDS_MAX];
    bool resource_id[IDS_MAX];
    CUpti_CallbackFunc callback;
    void *callback_arg;
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    uint32_t correlation;
    uint64_t records;
    uint8_t *buffer; /* the one that is filled */
    size_t size, used;
    size_t dropped;
    struct full {
        uint8_t *bytes;
        size_t size, used;
        struct full *next;
    } * first, **last;
    unsigned out;       /* completed by us, not yet handed over */
    unsigned completed; /* whose callback has returned */
    bool thread_runs;
    bool sampled[GPUS];
    uint64_t crc; /* of the module that the kernels are of: the last */
    CUpti_PCSamplingData *config;
    bool wrecked;
    uint32_t late; /* instructions that are decoded as sampling ends */
    uint64_t fetches;
    bool holds_fetches, fetch_is_held;
    _Atomic bool ended; /* the runtime of CUDA */
    _Atomic bool told;  /* a call */
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER,
          .last = &fake.first};

static char gpus[GPUS]; /* a context each, known by its address */

static CUcontext context_of(int gpu)
{
    return (CUcontext)(void *)&gpus[gpu];
}

static uint32_t gpu_of(CUcontext context)
{
    return (uint32_t)((char *)(void *)context - gpus);
}

static __thread struct {
    CUpti_ExternalCorrelationKind kind;
    uint64_t id;
} pushed[STACK_MAX];
static __thread int pushed_count;
static __thread uint32_t used; /* the GPU of this thread's calls */

/* ---- what was asked of it ---- */

static CUptiResult answer(const char *name)
{
    size_t len = strlen(name);
    for (const char *fail = getenv("FAKE_CUPTI_FAIL"); fail; fail = strchr(fail, ',')) {
        fail += *fail == ',';
        if (strncmp(fail, name, len) == 0 && fail[len] == '=') {
            return (CUptiResult)atoi(fail + len + 1);
        }
    }
    return CUPTI_SUCCESS;
}

/* Of a call that switches something. */
static CUptiResult switched(const char *name)
{
    if (fake.wrecked) {
        fprintf(stderr, "fake libcupti: %s after it has failed\n", name);
        abort();
    }
    return answer(name);
}

static void note(const char *what, long value)
{
    const char *path = getenv("FAKE_CUPTI_CALLS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%s %ld\n", what, value);
        fclose(file);
    }
}

static uint64_t now(void)
{
    struct timespec t;
    const char *ticks = getenv("FAKE_CUPTI_TICKS");
    clock_gettime(ticks ? CLOCK_MONOTONIC : CLOCK_REALTIME, &t);
    uint64_t ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return ticks ? ns * strtoull(ticks, NULL, 10) : ns;
}

/* ---- records ---- */

static size_t size_of(CUpti_ActivityKind kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return sizeof(CUpti_ActivityGraphTrace2);
    default:
        return 0;
    }
}

static void *hand_over(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&fake.lock);
    for (;;) {
        while (!fake.first) {
            pthread_cond_wait(&fake.changed, &fake.lock);
        }
        struct full *full = fake.first;
        fake.first = full->next;
        if (!fake.first) {
            fake.last = &fake.first;
        }
        pthread_mutex_unlock(&fake.lock);
        fake.complete(NULL, 0, full->bytes, full->size, full->used);
        free(full);
        pthread_mutex_lock(&fake.lock);
        fake.completed++;
        fake.out--;
        pthread_cond_broadcast(&fake.changed);
    }
    return NULL;
}

/* With the lock held. */
static void end_buffer(void)
{
    struct full *full = malloc(sizeof *full);
    *full = (struct full){.bytes = fake.buffer, .size = fake.size, .used = fake.used};
    *fake.last = full;
    fake.last = &full->next;
    fake.out++;
    fake.buffer = NULL;
    pthread_cond_broadcast(&fake.changed);
}

/* As CUPTI's documentation asks for them: aligned, and with room for as many records as
 * fit. */
static void lend(uint8_t **buffer, size_t *size)
{
    size_t most = 1;
    *buffer = NULL;
    fake.request(buffer, size, &most);
    if (*buffer && ((uintptr_t)*buffer % 8 || most != 0 || *size < 4096)) {
        fprintf(stderr, "fake libcupti: a buffer at %p of %zu bytes for %zu records\n",
                (void *)*buffer, *size, most);
        abort();
    }
}

static void append(const void *record)
{
    CUpti_Activity head;
    memcpy(&head, record, sizeof head);
    size_t size = size_of(head.kind);
    const char *bad = getenv("FAKE_CUPTI_BAD");
    pthread_mutex_lock(&fake.lock);
    bool wanted = fake.kind[head.kind];
    if (wanted && fake.buffer && fake.used + size > fake.size) {
        end_buffer();
    }
    if (wanted && !fake.buffer) {
        lend(&fake.buffer, &fake.size);
        fake.used = 0;
    }
    if (wanted && !fake.buffer) {
        fake.dropped++;
    } else if (wanted) {
        memcpy(fake.buffer + fake.used, record, size);
        if (bad && ++fake.records == (uint64_t)atol(bad)) {
            head.kind = CUPTI_ACTIVITY_KIND_FORCE_INT;
            memcpy(fake.buffer + fake.used, &head, sizeof head);
        }
        fake.used += size;
    }
    pthread_mutex_unlock(&fake.lock);
}

/* ---- the activity API ---- */

EXPORT CUptiResult cuptiGetVersion(uint32_t *version)
{
    const char *text = getenv("FAKE_CUPTI_VERSION");
    *version = text ? (uint32_t)atoi(text) : CUPTI_API_VERSION;
    return answer("GetVersion");
}

EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    static __thread char name[32];
    snprintf(name, sizeof name, "FAKE_ERROR_%d", (int)result);
    *text = name;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    *timestamp = now();
    return answer("GetTimestamp");
}

EXPORT CUptiResult
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
    (void)clock;
    note("timestamp", 0);
    return answer("ActivityRegisterTimestampCallback");
}

EXPORT CUptiResult cuptiActivityRegisterCallbacks(
    CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
    note("register", 0);
    CUptiResult result = answer("ActivityRegisterCallbacks");
    if (result == CUPTI_SUCCESS) {
        fake.request = request;
        fake.complete = complete;
    }
    return result;
}

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    char name[40];
    snprintf(name, sizeof name, "ActivityEnable%d", (int)kind);
    note("enable", kind);
    if ((fake.sampled[0] || fake.sampled[1]) &&
        kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        return CUPTI_ERROR_NOT_COMPATIBLE; /* as the real one */
    }
    CUptiResult result = switched(name);
    pthread_mutex_lock(&fake.lock);
    fake.kind[kind] = result == CUPTI_SUCCESS;
    pthread_mutex_unlock(&fake.lock);
    return result;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                     CUdevice device)
{
    static const struct {
        CUdevice_attribute attribute;
        int value;
    } known[] = {{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
                 {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
                 {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
                 {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
                 {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
                 {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
                 {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
                 {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
                 {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 62914560},
                 {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
                 {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
                 {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3201000},
                 {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144}};
    (void)device;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].attribute == attribute) {
            *value = known[i].value;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuDeviceGetCount(int *count)
{
    *count = 1;
    return fake.ended ? CUDA_ERROR_DEINITIALIZED : CUDA_SUCCESS;
}

/* The one whose memory is asked for. */
static __thread CUcontext current;

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    *context = current;
    current = NULL;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemGetInfo_v2(size_t *bytes, size_t *total)
{
    const char *told = getenv("FAKE_CUPTI_FREE_MIB");
    const char *second = told && gpu_of(current) ? strchr(told, ',') : NULL;
    told = second ? second + 1 : told;
    *total = (size_t)80 << 30;
    *bytes = told ? (size_t)atoi(told) << 20 : *total;
    return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    (void)device;
    *flags = 0;
    *active = getenv("FAKE_CUPTI_ACTIVE") != NULL;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = context_of(device);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    (void)device;
    return CUDA_SUCCESS;
}

/* The UUID of a device in FAKE_CUPTI_UUIDS; NULL if there is none. */
static const char *told_uuid(CUdevice device)
{
    const char *at = getenv("FAKE_CUPTI_UUIDS");
    while (at && device-- > 0) {
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    return at;
}

static bool is_part(CUdevice device)
{
    const char *told = told_uuid(device);
    return told && strncmp(told, "MIG-", 4) == 0;
}

EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    snprintf(name, (size_t)size, "Fake H200%s", is_part(device) ? " MIG 1g.18gb" : "");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    const char *gpu = getenv("FAKE_CUPTI_GPU");
    const char *told = told_uuid(device);
    memset(uuid, 0, sizeof *uuid);
    if (told) {
        told += is_part(device) ? 4 : 0;
        for (size_t i = 0; i < sizeof uuid->bytes; i++) {
            unsigned byte = 0;
            told += *told == '-';
            sscanf(told, "%2x", &byte);
            uuid->bytes[i] = (char)byte;
            told += 2;
        }
        return CUDA_SUCCESS;
    }
    snprintf(uuid->bytes, sizeof uuid->bytes, "%d %s %d", (int)device,
             gpu ? "gpu" : "pid", gpu ? atoi(gpu) : (int)getpid());
    return CUDA_SUCCESS;
}

EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    note("disable", kind);
    CUptiResult result = switched("ActivityDisable");
    pthread_mutex_lock(&fake.lock);
    fake.kind[kind] = false;
    pthread_mutex_unlock(&fake.lock);
    return result;
}

/* While the file $FAKE_CUPTI_HANG exists, it never returns. */
EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    const char *hang = getenv("FAKE_CUPTI_HANG");
    while (hang && access(hang, F_OK) == 0) {
        pause();
    }
    if (fake.ended) {
        fprintf(stderr, "fake libcupti: called without a runtime\n");
    }
    note("flush", flag);
    CUptiResult result = answer("ActivityFlushAll");
    pthread_mutex_lock(&fake.lock);
    if (fake.buffer && fake.used && result == CUPTI_SUCCESS) {
        end_buffer();
    }
    while (fake.out) {
        pthread_cond_wait(&fake.changed, &fake.lock);
    }
    pthread_mutex_unlock(&fake.lock);
    return result;
}

EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
                                                     size_t *dropped)
{
    (void)context;
    (void)stream;
    pthread_mutex_lock(&fake.lock);
    *dropped = fake.dropped;
    fake.dropped = 0;
    pthread_mutex_unlock(&fake.lock);
    return answer("ActivityGetNumDroppedRecords");
}

EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                              CUpti_Activity **record)
{
    uint8_t *at = buffer;
    if (*record) {
        size_t size = size_of((*record)->kind);
        if (!size) {
            return CUPTI_ERROR_INVALID_KIND;
        }
        at = (uint8_t *)*record + size;
    }
    if (at >= buffer + valid) {
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    *record = (CUpti_Activity *)(void *)at;
    return size_of((*record)->kind) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

/* ---- callbacks ---- */

/* The first call of CUDA. */
static struct {
    pthread_mutex_t lock;
    atomic_bool begun, awaited;
} start = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};

static bool starts(const char *how)
{
    const char *asked = getenv("FAKE_CUPTI_INIT");
    return asked && strcmp(asked, how) == 0;
}

static void rest_ms(long ms)
{
    struct timespec rest = {.tv_nsec = ms * 1000000};
    nanosleep(&rest, NULL);
}

/* What a call of CUPTI may have to do with it. */
static void start_first(void)
{
    while (starts("beside") && !atomic_load(&start.begun)) {
        rest_ms(1);
    }
    if (starts("beside") || starts("within")) {
        atomic_store(&start.awaited, true);
        fake_init();
    }
}

EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
                                  CUpti_CallbackFunc callback, void *arg)
{
    note("subscribe", 0);
    start_first();
    CUptiResult result = fake.callback ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                                       : switched("Subscribe");
    if (result == CUPTI_SUCCESS) {
        pthread_t thread;
        if (!fake.thread_runs && pthread_create(&thread, NULL, hand_over, NULL) == 0) {
            const char *name = getenv("FAKE_CUPTI_THREAD");
            (void)(name && pthread_setname_np(thread, name));
            fake.thread_runs = true;
        }
        fake.callback = callback;
        fake.callback_arg = arg;
        *subscriber = (CUpti_SubscriberHandle)&fake;
    }
    return result;
}

EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    (void)subscriber;
    note("unsubscribe", 0);
    CUptiResult result = switched("Unsubscribe");
    fake.callback = NULL;
    memset(fake.driver_id, 0, sizeof fake.driver_id);
    memset(fake.runtime_id, 0, sizeof fake.runtime_id);
    memset(fake.resource_id, 0, sizeof fake.resource_id);
    return result;
}

EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    (void)subscriber;
    bool *ids = domain == CUPTI_CB_DOMAIN_RESOURCE     ? fake.resource_id
                : domain == CUPTI_CB_DOMAIN_DRIVER_API ? fake.driver_id
                                                       : fake.runtime_id;
    CUptiResult result = switched("EnableCallback");
    ids[id % IDS_MAX] = enable != 0 && result == CUPTI_SUCCESS;
    return result;
}

EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                        const char **name)
{
    static const struct {
        CUpti_CallbackDomain domain;
        CUpti_CallbackId id;
        const char *name;
    } known[] = {
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
         "cuLaunchKernel"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
         "cuGraphLaunch"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2,
         "cuMemcpyHtoD_v2"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2,
         "cuMemsetD8_v2"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
         "cuMemAlloc_v2"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize,
         "cuEventSynchronize"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent,
         "cuStreamWaitEvent"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
         "cuStreamSynchronize"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz,
         "cuStreamSynchronize_ptsz"},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2,
         "cuCtxSynchronize_v2"},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020,
         "cudaMemcpy_v3020"},
        {CUPTI_CB_DOMAIN_RUNTIME_API,
         CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
         "cudaStreamSynchronize_v3020"},
    };
    CUptiResult result =
        id < IDS_MAX ? answer("GetCallbackName") : CUPTI_ERROR_INVALID_PARAMETER;
    *name = result == CUPTI_SUCCESS ? "cuOther" : NULL;
    for (size_t i = 0; *name && i < sizeof known / sizeof known[0]; i++) {
        *name = known[i].domain == domain && known[i].id == id ? known[i].name : *name;
    }
    return result;
}

EXPORT CUptiResult
cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    if (pushed_count == STACK_MAX) {
        return CUPTI_ERROR_OUT_OF_MEMORY;
    }
    pushed[pushed_count].kind = kind;
    pushed[pushed_count++].id = id;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *id)
{
    if (pushed_count == 0 || pushed[pushed_count - 1].kind != kind) {
        return CUPTI_ERROR_QUEUE_EMPTY;
    }
    *id = pushed[--pushed_count].id;
    return CUPTI_SUCCESS;
}

/* The legacy default stream is 7, a thread's own 14, as on a real GPU; others are what
 * their handle says. */
EXPORT CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream,
                                      uint8_t per_thread, uint32_t *id)
{
    (void)context;
    *id = stream ? (uint32_t)(uintptr_t)stream : per_thread ? 14 : 7;
    return answer("GetStreamIdEx");
}

/* ---- PC sampling ---- */

EXPORT CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *device)
{
    *device = gpu_of(context);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *params)
{
    note("sample", 1);
    CUptiResult result = switched("PCSamplingEnable");
    fake.sampled[gpu_of(params->ctx)] = result == CUPTI_SUCCESS;
    return result;
}

EXPORT CUptiResult
cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *params)
{
    *params->numStallReasons = REASONS;
    return answer("PCSamplingGetNumStallReasons");
}

EXPORT CUptiResult
cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *params)
{
    static const char *const name[REASONS] = {
        "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
        "smsp__pcsamp_warps_issue_stalled_selected"};
    for (uint32_t i = 0; i < REASONS; i++) {
        params->stallReasonIndex[i] = 14 + 14 * i;
        snprintf(params->stallReasons[i], CUPTI_STALL_REASON_STRING_SIZE, "%s", name[i]);
    }
    return answer("PCSamplingGetStallReasons");
}

EXPORT CUptiResult
cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *params)
{
    for (size_t i = 0; i < params->numAttributes; i++) {
        const CUpti_PCSamplingConfigurationInfo *info =
            &params->pPCSamplingConfigurationInfo[i];
        if (info->attributeType ==
            CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE) {
            note("mode", info->attributeData.collectionModeData.collectionMode);
        } else if (info->attributeType ==
                   CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE) {
            note("MiB",
                 (long)(info->attributeData.hardwareBufferSizeData.hardwareBufferSize >>
                        20));
        } else if (info->attributeType ==
                   CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER) {
            fake.config = info->attributeData.samplingDataBufferData.samplingDataBuffer;
        }
    }
    return answer("PCSamplingSetConfigurationAttribute");
}

static void add_instruction(CUpti_PCSamplingData *data, char *function, uint32_t at,
                            uint32_t samples)
{
    CUpti_PCSamplingPCData *pc = &data->pPcData[data->totalNumPcs++];
    pc->cubinCrc = fake.crc;
    pc->pcOffset = 16 * at;
    pc->functionName = function;
    pc->stallReasonCount = REASONS;
    for (uint32_t r = 0; r < REASONS; r++) {
        pc->stallReason[r].pcSamplingStallReasonIndex = 14 + 14 * r;
        pc->stallReason[r].samples = samples;
    }
}

/* As many as there is room for; one sample of each reason. */
static void fill_late(CUpti_PCSamplingData *data)
{
    for (; fake.late > 0 && data->totalNumPcs < data->collectNumPcs; fake.late--) {
        add_instruction(data, "_Z4latePf", fake.late, 1);
    }
    data->remainingNumPcs = fake.late;
}

/* Each fetch: three instructions of one function, 10, 20 and 30 samples of each reason.
 */
static void fill(CUpti_PCSamplingData *data)
{
    data->totalNumPcs = 0;
    for (uint32_t i = 0; i < PCS; i++) {
        add_instruction(data, "_Z3hotPf", i, 10 * (i + 1));
    }
    data->totalSamples = 120;
    data->droppedSamples = 0;
}

EXPORT CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *params)
{
    CUpti_PCSamplingData *data = params->pcSamplingData;
    pthread_mutex_lock(&fake.lock);
    while (fake.holds_fetches) {
        fake.fetch_is_held = true;
        pthread_cond_broadcast(&fake.changed);
        pthread_cond_wait(&fake.changed, &fake.lock);
    }
    pthread_mutex_unlock(&fake.lock);
    CUptiResult result = answer("PCSamplingGetData");
    const char *dropped = fake.fetches == 0 ? getenv("FAKE_CUPTI_DROPPED") : NULL;
    if (result == CUPTI_SUCCESS && fake.wrecked) {
        data->totalNumPcs = 0;
        fill_late(data);
    } else if (result == CUPTI_SUCCESS) {
        fill(data);
        data->remainingNumPcs = fake.fetches++ == 0 ? 1 : 0; /* the first is not all */
    } else if (result == CUPTI_ERROR_OUT_OF_MEMORY) {
        data->remainingNumPcs = 1;
    }
    data->droppedSamples = dropped ? strtoull(dropped, NULL, 10) : 0;
    return result;
}

EXPORT CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *params)
{
    note("sample", 0);
    CUptiResult result = switched("PCSamplingDisable");
    const char *late = getenv("FAKE_CUPTI_LATE");
    fake.late = late ? (uint32_t)atoi(late) : 0;
    fake.wrecked = result != CUPTI_SUCCESS;
    if (!fake.wrecked && fake.config) {
        fill(fake.config);
        fill_late(fake.config);
    }
    if (!fake.wrecked) {
        fake.sampled[gpu_of(params->ctx)] = false;
    }
    return result;
}

/* Of the folder's last name. */
static uint64_t crc_of(const char *folder)
{
    uint64_t crc = 5381;
    const char *name = strrchr(folder, '/');
    for (const char *at = name ? name + 1 : folder; *at; at++) {
        crc = crc * 33 + (unsigned char)*at;
    }
    return crc;
}

EXPORT CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams *params)
{
    params->cubinCrc = crc_of(params->cubin);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult
cuptiGetSassToSourceCorrelation(CUpti_GetSassToSourceCorrelationParams *params)
{
    params->lineNumber = 40 + (uint32_t)params->pcOffset / 16;
    params->fileName = strdup("hot.cu");
    params->dirName = strdup((const char *)params->cubin); /* the module's bytes */
    return CUPTI_SUCCESS;
}

/* ---- the GPU ---- */

static void runtime_ends(void)
{
    fake.ended = true;
    while (getenv("FAKE_CUPTI_OVERTAKEN") && !fake.told) {
        rest_ms(1);
    }
}

static void set_up_runtime(void)
{
    atexit(runtime_ends);
    while (getenv("FAKE_CUPTI_OVERTAKEN") && !fake.ended) {
        rest_ms(1);
    }
}

/* The first call sets up the runtime, which has a handler of its own for exit(). */
static uint32_t next_correlation(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up_runtime);
    return __atomic_add_fetch(&fake.correlation, 1, __ATOMIC_RELAXED);
}

struct call {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId id;
    uint32_t correlation;
    const void *params;
    uint64_t word;
};

static void tell_call(struct call *call, CUpti_ApiCallbackSite site)
{
    CUresult result = CUDA_SUCCESS;
    bool driver = call->domain == CUPTI_CB_DOMAIN_DRIVER_API;
    CUpti_CallbackData data = {.callbackSite = site,
                               .correlationId = call->correlation,
                               .contextUid = 1,
                               .correlationData = &call->word,
                               .functionParams = call->params,
                               .functionReturnValue =
                                   site == CUPTI_API_EXIT ? &result : NULL};
    CUpti_CallbackFunc callback = fake.callback;
    if (callback && (driver ? fake.driver_id : fake.runtime_id)[call->id]) {
        callback(fake.callback_arg, call->domain, call->id, &data);
        fake.told = true;
    }
}

static struct call begin_call(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              uint32_t correlation)
{
    struct call call = {.domain = domain, .id = id, .correlation = correlation};
    tell_call(&call, CUPTI_API_ENTER);
    return call;
}

static void end_call(struct call call)
{
    tell_call(&call, CUPTI_API_EXIT);
}

/* A call of the driver that takes \p ms and does nothing else; its id. */
static uint32_t driver_call(CUpti_CallbackId id, const void *params, long ms)
{
    struct call call = {.domain = CUPTI_CB_DOMAIN_DRIVER_API,
                        .id = id,
                        .correlation = next_correlation(),
                        .params = params};
    tell_call(&call, CUPTI_API_ENTER);
    rest_ms(ms);
    end_call(call);
    return call.correlation;
}

static void load_injected(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *injected = path ? dlopen(path, RTLD_NOW) : NULL;
    void *at = injected ? dlsym(injected, "InitializeInjection") : NULL;
    int (*initialize)(void);
    if (at) {
        memcpy(&initialize, &at, sizeof initialize);
        initialize();
    }
}

/* As cuInit does, once: whoever comes meanwhile waits for it. */
EXPORT void fake_init(void)
{
    pthread_mutex_lock(&start.lock);
    if (!atomic_exchange(&start.begun, true)) {
        while (starts("beside") && !atomic_load(&start.awaited)) {
            rest_ms(1);
        }
        load_injected();
    }
    pthread_mutex_unlock(&start.lock);
}

static void tell_resource(CUpti_CallbackId id, CUcontext context, void *descriptor)
{
    CUpti_ResourceData data = {.context = context, .resourceDescriptor = descriptor};
    CUpti_CallbackFunc callback = fake.callback;
    if (callback && fake.resource_id[id]) {
        callback(fake.callback_arg, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
    }
}

static struct call begin_launch(void)
{
    return begin_call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                      next_correlation());
}

static CUpti_ActivityKernel10 kernel_of(uint32_t correlation, const char *symbol)
{
    uint64_t begin = now();
    return (CUpti_ActivityKernel10){.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                    .registersPerThread = 32,
                                    .start = begin,
                                    .end = begin + 1000,
                                    .deviceId = used,
                                    .contextId = used + 1,
                                    .streamId = 7,
                                    .gridX = 1,
                                    .gridY = 1,
                                    .gridZ = 1,
                                    .blockX = 128,
                                    .blockY = 1,
                                    .blockZ = 1,
                                    .correlationId = correlation,
                                    .name = symbol};
}

EXPORT void fake_launch(const char *symbol, int grid)
{
    struct call call = begin_launch();
    CUpti_ActivityKernel10 kernel = kernel_of(call.correlation, symbol);
    kernel.gridX = grid;
    append(&kernel);
    end_call(call);
}

EXPORT void fake_launch_captured(void)
{
    struct call call = begin_launch();
    tell_resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, context_of(0), NULL);
    end_call(call);
}

EXPORT void fake_launch_as(const struct fake_kernel *like)
{
    struct call call = begin_launch();
    CUpti_ActivityKernel10 kernel = kernel_of(call.correlation, like->symbol);
    kernel.registersPerThread = (uint16_t)like->registers;
    kernel.staticSharedMemory = (int32_t)like->static_shared;
    kernel.dynamicSharedMemory = (int32_t)like->dynamic_shared;
    kernel.sharedMemoryExecuted = like->shared_executed;
    kernel.localMemoryPerThread = like->local_thread;
    kernel.localMemoryTotal_v2 = like->local_total;
    kernel.cacheConfig.config.requested = like->cache_requested & 0xf;
    kernel.cacheConfig.config.executed = like->cache_executed & 0xf;
    append(&kernel);
    end_call(call);
}

static CUpti_ActivityKernel10 late;

EXPORT void fake_launch_late(const char *symbol)
{
    struct call call = begin_launch();
    late = kernel_of(call.correlation, symbol);
    end_call(call);
}

EXPORT void fake_end_late(void)
{
    append(&late);
}

EXPORT void fake_use(int gpu)
{
    used = (uint32_t)gpu;
}

EXPORT void fake_launch_that_never_ends(const char *symbol)
{
    append(&(CUpti_ActivityKernel10){.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                     .start = now(),
                                     .correlationId = next_correlation(),
                                     .name = symbol});
}

/* The runtime's call and the driver's within it, under one id. */
static uint32_t copy_call(void)
{
    struct call outer =
        begin_call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020,
                   next_correlation());
    end_call(begin_call(CUPTI_CB_DOMAIN_DRIVER_API,
                        CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, outer.correlation));
    end_call(outer);
    return outer.correlation;
}

static void copy_and_set(uint64_t bytes, uint64_t at)
{
    append(&(CUpti_ActivityMemcpy6){.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                    .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                    .bytes = bytes,
                                    .start = at,
                                    .end = at + 500,
                                    .deviceId = used,
                                    .contextId = used + 1,
                                    .streamId = 7,
                                    .correlationId = copy_call()});
    append(&(CUpti_ActivityMemset4){
        .kind = CUPTI_ACTIVITY_KIND_MEMSET,
        .bytes = bytes,
        .start = at,
        .end = at + 500,
        .deviceId = used,
        .contextId = used + 1,
        .streamId = 7,
        .correlationId = driver_call(CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2, NULL, 0)});
}

EXPORT void fake_others(uint64_t bytes)
{
    uint64_t at = now();
    cuStreamSynchronize_params stream = {NULL};
    copy_and_set(bytes, at);
    driver_call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, &stream, 2);
    append(&(CUpti_ActivityMemory4){
        .kind = CUPTI_ACTIVITY_KIND_MEMORY2,
        .memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
        .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
        .address = 4096,
        .bytes = bytes,
        .timestamp = at,
        .deviceId = used,
        .contextId = used + 1,
        .correlationId = driver_call(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, NULL, 1)});
    append(&(CUpti_ActivityGraphTrace2){
        .kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
        .start = at,
        .end = at + 3000,
        .graphId = 5,
        .deviceId = used,
        .contextId = used + 1,
        .streamId = 7,
        .correlationId = driver_call(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, NULL, 0)});
}

/* The runtime's call around the driver's, under one id, as far as the real one goes. */
EXPORT void fake_waits(void)
{
    cuStreamWaitEvent_params both = {.hStream = (CUstream)20, .hEvent = (CUevent)0x310};
    cuEventSynchronize_params event = {(CUevent)0x310};
    cuStreamSynchronize_params none = {NULL}, own = {CU_STREAM_PER_THREAD};
    struct call outer = begin_call(CUPTI_CB_DOMAIN_RUNTIME_API,
                                   CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
                                   next_correlation());
    driver_call(CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize, &event, 2);
    end_call(outer);
    driver_call(CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent, &both, 0);
    driver_call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, &none, 2);
    driver_call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, &own, 2);
    driver_call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz, &none, 2);
    driver_call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, NULL, 2);
}

/* Of a wait and an allocation that began before anyone listened, their ends. */
EXPORT void fake_ends(void)
{
    cuStreamSynchronize_params stream = {NULL};
    end_call((struct call){.domain = CUPTI_CB_DOMAIN_DRIVER_API,
                           .id = CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
                           .correlation = next_correlation(),
                           .params = &stream});
    uint32_t id = next_correlation();
    end_call((struct call){.domain = CUPTI_CB_DOMAIN_DRIVER_API,
                           .id = CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
                           .correlation = id});
    append(&(CUpti_ActivityMemory4){.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
                                    .memoryOperationType =
                                        CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
                                    .bytes = 1,
                                    .timestamp = now(),
                                    .correlationId = id});
}

EXPORT void fake_context(int gpu, const char *folder)
{
    static char bytes[4096];
    CUcontext context = context_of(gpu);
    if (!folder) {
        tell_resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context, NULL);
        return;
    }
    memset(bytes, 0, sizeof bytes);
    snprintf(bytes, sizeof bytes, "%s%c%s", folder, 0, *folder == '/' ? LINE_TABLE : "");
    fake.crc = crc_of(bytes);
    CUpti_ModuleResourceData module = {.cubinSize = sizeof bytes, .pCubin = bytes};
    tell_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, NULL);
    tell_resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, context, &module);
}

EXPORT void fake_hold_fetches(int hold)
{
    pthread_mutex_lock(&fake.lock);
    fake.holds_fetches = hold;
    fake.fetch_is_held = false;
    pthread_cond_broadcast(&fake.changed);
    while (hold && !fake.fetch_is_held) {
        pthread_cond_wait(&fake.changed, &fake.lock);
    }
    pthread_mutex_unlock(&fake.lock);
}

/* ---- buffers ---- */

#define ASKERS    8
#define ASK_MAX_S 60 /* a hang, not a busy machine */

static struct {
    pthread_mutex_t lock;
    uint8_t *seen[FAKE_BUFFERS_MAX];
    struct fake_asked asked;
} ask = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void see(uint8_t *buffer)
{
    unsigned i = 0;
    pthread_mutex_lock(&ask.lock);
    ask.asked.lent++;
    while (i < ask.asked.distinct && ask.seen[i] != buffer) {
        i++;
    }
    if (i == ask.asked.distinct && i < FAKE_BUFFERS_MAX) {
        ask.seen[ask.asked.distinct++] = buffer;
    }
    pthread_mutex_unlock(&ask.lock);
}

static bool was_lent(unsigned often)
{
    pthread_mutex_lock(&ask.lock);
    bool lent = ask.asked.lent >= often;
    pthread_mutex_unlock(&ask.lock);
    return lent;
}

/* Two at a time. They come back when the thread that decodes them has its turn, which may
 * take a while. */
static void *ask_often(void *often)
{
    time_t end_s = time(NULL) + ASK_MAX_S;
    while (!was_lent(*(unsigned *)often) && time(NULL) < end_s) {
        uint8_t *buffer[2];
        size_t size[2];
        for (int b = 0; b < 2; b++) {
            lend(&buffer[b], &size[b]);
        }
        for (int b = 0; b < 2; b++) {
            if (buffer[b]) {
                memset(buffer[b], 0xff, size[b]);
                see(buffer[b]);
                fake.complete(NULL, 0, buffer[b], size[b], 0);
            }
        }
    }
    return NULL;
}

EXPORT struct fake_asked fake_ask(unsigned often)
{
    pthread_t thread[ASKERS];
    for (int i = 0; i < ASKERS; i++) {
        pthread_create(&thread[i], NULL, ask_often, &often);
    }
    for (int i = 0; i < ASKERS; i++) {
        pthread_join(thread[i], NULL);
    }
    return ask.asked;
}

EXPORT unsigned fake_run_out(void)
{
    uint8_t *buffer[FAKE_BUFFERS_MAX];
    size_t size[FAKE_BUFFERS_MAX];
    unsigned lent = 0;
    do {
        lend(&buffer[lent], &size[lent]);
    } while (buffer[lent] && ++lent < FAKE_BUFFERS_MAX);
    for (unsigned b = 0; b < lent; b++) {
        fake.complete(NULL, 0, buffer[b], size[b], 0);
    }
    return lent;
}

EXPORT unsigned fake_completed(void)
{
    pthread_mutex_lock(&fake.lock);
    unsigned completed = fake.completed;
    pthread_mutex_unlock(&fake.lock);
    return completed;
}
