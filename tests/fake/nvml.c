/* SPDX-License-Identifier: Apache-2.0 */
/* A libnvidia-ml.so.1 for tests: devices with known figures.
 *
 * FAKE_NVML_INIT=n      nvmlInit answers n
 * FAKE_NVML_INIT_MS=n   and takes so long
 * FAKE_NVML_STARTED=path and answers once there is that file
 * FAKE_NVML_FAIL=name   that call fails with "not supported"
 * FAKE_NVML_DEVICES=n   so many, 2 if not set, 8 at most; the last one is divided in two
 *                       parts where FAKE_NVML_MIG is set
 * FAKE_NVML_UUIDS=a,b   their UUIDs, else known ones
 * FAKE_NVML_XID=n       device 1 tells of this error once
 * FAKE_NVML_HANG=name   Init, Sample, Late (the 5th sample) or Pcie does not return
 * FAKE_NVML_SAMPLE_MS=n a sample of a device takes so long
 * FAKE_NVML_LIE=name    count: of devices and processes; text: names without an end, of
 * bytes that are no text; numbers: the largest; nothing: nothing is told
 * FAKE_NVML_LOADED=path it is loaded once there is that file
 * FAKE_NVML_SLOW=path   it takes 200 ms to load; path.begun, then path.done say how far
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT  __attribute__((visibility("default")))
#define DEVICES 8
#define PARTS   2

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, TIMEOUT = 10 };

struct memory {
    unsigned long long total, free, used;
};
struct utilization {
    unsigned gpu, memory;
};
struct field {
    unsigned id, scope;
    long long timestamp_us, latency_us;
    int type, status;
    unsigned long long value;
};
struct pci {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
};

struct process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};
struct process_use {
    unsigned pid;
    unsigned long long timestamp_us;
    unsigned sm, memory, encoder, decoder;
};
struct event {
    void *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

static int device[DEVICES + PARTS];

static unsigned devices(void)
{
    const char *wanted = getenv("FAKE_NVML_DEVICES");
    return wanted ? (unsigned)atoi(wanted) : 2;
}

static int fails(const char *name)
{
    const char *wanted = getenv("FAKE_NVML_FAIL");
    return wanted && strstr(wanted, name) ? NOT_SUPPORTED : SUCCESS;
}

static int lies(const char *about)
{
    const char *wanted = getenv("FAKE_NVML_LIE");
    return wanted && strcmp(wanted, about) == 0;
}

static unsigned at(const void *handle)
{
    return (unsigned)((const int *)handle - device);
}

static void say(const char *path, const char *how)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%s", path, how);
    FILE *file = fopen(name, "w");
    if (file) {
        fclose(file);
    }
}

static void hang(const char *where)
{
    const char *wanted = getenv("FAKE_NVML_HANG");
    while (wanted && strcmp(wanted, where) == 0) {
        pause();
    }
}

static void await_file(const char *variable)
{
    const char *until = getenv(variable);
    const struct timespec t = {.tv_nsec = 10000000};
    while (until && access(until, F_OK) != 0) {
        nanosleep(&t, NULL);
    }
}

__attribute__((constructor)) static void load_slowly(void)
{
    const char *path = getenv("FAKE_NVML_SLOW");
    struct timespec t = {.tv_nsec = 200000000};
    await_file("FAKE_NVML_LOADED");
    if (path) {
        say(path, "begun");
        nanosleep(&t, NULL);
        say(path, "done");
    }
}

static void take_ms(const char *variable)
{
    const char *wanted = getenv(variable);
    long ms = wanted ? atol(wanted) : 0;
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    if (wanted) {
        nanosleep(&t, NULL);
    }
}

EXPORT int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    hang("Init");
    take_ms("FAKE_NVML_INIT_MS");
    await_file("FAKE_NVML_STARTED");
    const char *code = getenv("FAKE_NVML_INIT");
    return code ? atoi(code) : SUCCESS;
}

EXPORT int nvmlShutdown(void);
int nvmlShutdown(void)
{
    return SUCCESS;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = lies("count") ? 4000000000u : devices();
    return fails("Count");
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{
    if (!lies("nothing")) {
        *handle = &device[index % (DEVICES + PARTS)];
    }
    return SUCCESS;
}

/* Without an end, with what JSON has to escape; or nothing at all. */
static int lies_in_text(char *text, unsigned size)
{
    if (!lies("text")) {
        return lies("nothing");
    }
    memset(text, '"', size);
    memset(text + size / 2, 0xff, size - size / 2);
    text[1] = '\n';
    return 1;
}

EXPORT int nvmlDeviceGetName(void *handle, char *name, unsigned size);
int nvmlDeviceGetName(void *handle, char *name, unsigned size)
{
    if (lies_in_text(name, size)) {
        return SUCCESS;
    }
    snprintf(name, size, "Fake H200 %u", at(handle));
    return fails("Name");
}

EXPORT int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned size);
int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned size)
{
    if (lies_in_text(uuid, size)) {
        return SUCCESS;
    }
    const char *told = getenv("FAKE_NVML_UUIDS");
    for (unsigned i = 0; told && i < at(handle); i++) {
        told = strchr(told, ',');
        told = told ? told + 1 : NULL;
    }
    if (told) {
        snprintf(uuid, size, "GPU-%.36s", told);
        return SUCCESS;
    }
    snprintf(uuid, size, "GPU-0000000%u-2222-3333-4444-555555555555", at(handle));
    return SUCCESS;
}

EXPORT int nvmlDeviceGetPciInfo_v3(void *handle, struct pci *pci);
int nvmlDeviceGetPciInfo_v3(void *handle, struct pci *pci)
{
    memset(pci, 0, sizeof *pci);
    pci->bus = 27 + at(handle);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor);
int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor)
{
    (void)handle;
    *major = 9;
    *minor = 0;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetNumGpuCores(void *handle, unsigned *cores);
int nvmlDeviceGetNumGpuCores(void *handle, unsigned *cores)
{
    *cores = lies("numbers") ? ~0u : 16896;
    return at(handle) < DEVICES ? fails("Cores") : NOT_SUPPORTED;
}

struct attributes {
    unsigned multiprocessors, others[7];
    unsigned long long memory_mib;
};

/* Of a MIG device alone. */
EXPORT int nvmlDeviceGetAttributes_v2(void *handle, struct attributes *out);
int nvmlDeviceGetAttributes_v2(void *handle, struct attributes *out)
{
    *out = (struct attributes){.multiprocessors = 16};
    return at(handle) < DEVICES ? NOT_SUPPORTED : SUCCESS;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *handle, struct memory *memory);
int nvmlDeviceGetMemoryInfo(void *handle, struct memory *memory)
{
    if (lies("numbers")) {
        memset(memory, 0xff, sizeof *memory);
        return SUCCESS;
    }
    memory->total = 143771ull << 20;
    memory->used = (1024ull + at(handle)) << 20;
    memory->free = memory->total - memory->used;
    return fails("Memory");
}

EXPORT int nvmlDeviceGetUtilizationRates(void *handle, struct utilization *used);
int nvmlDeviceGetUtilizationRates(void *handle, struct utilization *used)
{
    static int calls;
    hang(++calls > 10 ? "Late" : "Sample");
    take_ms("FAKE_NVML_SAMPLE_MS");
    used->gpu = lies("numbers") ? ~0u : 87 + at(handle);
    used->memory = 41;
    return fails("Utilization");
}

EXPORT int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *value);
int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *value)
{
    (void)handle;
    *value = lies("numbers") ? ~0u : sensor == 0 ? 61 : 0;
    return fails("Temperature");
}

EXPORT int nvmlDeviceGetPowerUsage(void *handle, unsigned *value);
int nvmlDeviceGetPowerUsage(void *handle, unsigned *value)
{
    (void)handle;
    *value = lies("numbers") ? ~0u : 512340;
    return fails("Power");
}

EXPORT int nvmlDeviceGetClockInfo(void *handle, int type, unsigned *value);
int nvmlDeviceGetClockInfo(void *handle, int type, unsigned *value)
{
    (void)handle;
    *value = lies("numbers") ? ~0u : type == 2 ? 3201 : 1980;
    return fails("Clock");
}

EXPORT int nvmlDeviceGetFanSpeed_v2(void *handle, unsigned fan, unsigned *value);
int nvmlDeviceGetFanSpeed_v2(void *handle, unsigned fan, unsigned *value)
{
    *value = 30 + at(handle) + fan;
    return fails("Fan");
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *mj);
int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *mj)
{
    (void)handle;
    *mj = lies("numbers") ? ~0ull : 912345678;
    return fails("Energy");
}

EXPORT int nvmlDeviceGetMemoryErrorCounter(void *handle, int kind, int counter,
                                           int location, unsigned long long *count);
int nvmlDeviceGetMemoryErrorCounter(void *handle, int kind, int counter, int location,
                                    unsigned long long *count)
{
    (void)handle;
    *count = kind == 0 ? 5 : 2;
    return counter == 0 && location == 2 ? fails("Ecc") : NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetFieldValues(void *handle, int count, struct field *field);
int nvmlDeviceGetFieldValues(void *handle, int count, struct field *field)
{
    (void)handle;
    int link = field->id == 138 || field->id == 139; /* sent, received: KiB, 64 bits */
    field->type = link ? 3 : 1;
    field->value = link ? (1ull << 32) + field->id : 48;
    field->status = count == 1 && (field->id == 82 || (link && field->scope == ~0u))
                        ? SUCCESS
                        : NOT_SUPPORTED;
    return fails("Field");
}

/* As slow as the real one. */
EXPORT int nvmlDeviceGetPcieThroughput(void *handle, int direction, unsigned *kib);
int nvmlDeviceGetPcieThroughput(void *handle, int direction, unsigned *kib)
{
    struct timespec t = {.tv_nsec = 20000000};
    (void)handle;
    hang("Pcie");
    nanosleep(&t, NULL);
    *kib = direction == 0 ? 1000 : 234;
    return fails("Pcie");
}

/* The older name of nvmlDeviceGetCurrentClocksEventReasons, which this driver lacks. */
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *handle,
                                                     unsigned long long *value);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *handle, unsigned long long *value)
{
    (void)handle;
    *value = 0x4;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count,
                                                   struct process *process);
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count,
                                            struct process *process)
{
    process[0] = (struct process){.pid = 1, .used_bytes = 5ull << 30};
    process[1] = (struct process){.pid = (unsigned)getpid(), .used_bytes = 300ull << 20};
    *count = lies("count")     ? 4000000000u
             : at(handle) == 0 ? 2
                               : 1; /* the job is on the first alone */
    return fails("Processes");
}

EXPORT int nvmlDeviceGetProcessUtilization(void *handle, struct process_use *use,
                                           unsigned *count, unsigned long long since);
int nvmlDeviceGetProcessUtilization(void *handle, struct process_use *use,
                                    unsigned *count, unsigned long long since)
{
    unsigned own = (unsigned)getpid();
    use[0] = (struct process_use){.pid = own, .timestamp_us = since + 1, .sm = 20};
    use[1] = (struct process_use){.pid = 1, .timestamp_us = since + 3, .sm = 90};
    use[2] = (struct process_use){.pid = own, .timestamp_us = since + 2, .sm = 55};
    *count = lies("count") ? 4000000000u : 3;
    return at(handle) == 0 ? fails("Utilization") : NOT_FOUND;
}

EXPORT int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending);
int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending)
{
    *current = *pending = getenv("FAKE_NVML_MIG") && at(handle) == devices() - 1;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *count);
int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *count)
{
    (void)handle;
    *count = lies("count") ? 4000000000u : 7;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **part);
int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **part)
{
    (void)handle;
    *part = &device[DEVICES + index % PARTS];
    return index < PARTS ? SUCCESS : NOT_FOUND;
}

static void *listened;

EXPORT int nvmlEventSetCreate(void **set);
int nvmlEventSetCreate(void **set)
{
    *set = &listened;
    return fails("EventSet");
}

EXPORT int nvmlEventSetFree(void *set);
int nvmlEventSetFree(void *set)
{
    return set == &listened ? SUCCESS : NOT_FOUND;
}

EXPORT int nvmlDeviceRegisterEvents(void *handle, unsigned long long types, void *set);
int nvmlDeviceRegisterEvents(void *handle, unsigned long long types, void *set)
{
    listened = at(handle) == 1 ? handle : listened;
    return types == 8 && set == &listened ? fails("Register") : NOT_SUPPORTED;
}

EXPORT int nvmlEventSetWait_v2(void *set, struct event *event, unsigned timeout_ms);
int nvmlEventSetWait_v2(void *set, struct event *event, unsigned timeout_ms)
{
    static int told;
    const char *xid = getenv("FAKE_NVML_XID");
    if (set != &listened || !xid || told++ || timeout_ms > 0) {
        return TIMEOUT;
    }
    *event = (struct event){
        .device = listened, .type = 8, .data = (unsigned long long)atoi(xid)};
    return SUCCESS;
}
