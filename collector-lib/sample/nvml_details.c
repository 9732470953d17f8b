/* SPDX-License-Identifier: Apache-2.0 */
/* Asks NVML for this process's share of a device, for NVLink traffic and for Xid errors.
 */
#include "collector-lib/sample/nvml_details.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 256u /* on one device; beyond them ours may not be found */
#define EVENTS_MAX    64   /* read at once */
/* The host's own pid namespace has this name on every Linux: PROC_PID_INIT_INO. */
#define HOST_PIDS "pid:[4026531836]"

struct nvml_details {
    const struct nvml *api;
    const nvml_device *device;
    unsigned count;
    unsigned pid;
    bool pids_are_the_hosts; /* NVML reports pids of the host; a container may have its
                                own */
    nvml_event_set events;
    int64_t xids[GPU_MAX], last_xid[GPU_MAX];
    unsigned long long use_seen_us[GPU_MAX];
    struct nvml_process process[PROCESSES_MAX];
    struct nvml_process_use use[PROCESSES_MAX];
};

static bool in_host_pids(void)
{
    char name[64];
    ssize_t len = readlink("/proc/self/ns/pid", name, sizeof name - 1);
    return len == (ssize_t)strlen(HOST_PIDS) && memcmp(name, HOST_PIDS, (size_t)len) == 0;
}

static void listen_for_xids(struct nvml_details *d)
{
    const struct nvml *api = d->api;
    bool any = false;
    if (!api->event_set_create || !api->event_set_free || !api->register_events ||
        !api->event_wait || api->event_set_create(&d->events) != NVML_SUCCESS) {
        d->events = NULL;
        return;
    }
    for (unsigned i = 0; i < d->count; i++) {
        bool heard =
            api->register_events(d->device[i], NVML_EVENT_XID, d->events) == NVML_SUCCESS;
        d->xids[i] = heard ? 0 : GPU_NOT_AVAILABLE;
        any = any || heard;
    }
    if (!any) {
        api->event_set_free(d->events);
        d->events = NULL;
    }
}

struct nvml_details *nvml_details_open(const struct nvml *api, const nvml_device *device,
                                       unsigned count)
{
    struct nvml_details *d = calloc(1, sizeof *d);
    if (!d) {
        return NULL;
    }
    d->api = api;
    d->device = device;
    d->count = count;
    d->pid = (unsigned)getpid();
    d->pids_are_the_hosts = in_host_pids();
    memset(d->xids, 0xff, sizeof d->xids); /* GPU_NOT_AVAILABLE */
    memset(d->last_xid, 0xff, sizeof d->last_xid);
    listen_for_xids(d);
    return d;
}

void nvml_details_close(struct nvml_details *d)
{
    if (d && d->events) {
        d->api->event_set_free(d->events);
    }
    free(d);
}

static void take_xids(struct nvml_details *d)
{
    struct nvml_event event;
    for (int n = 0; d->events && n < EVENTS_MAX &&
                    d->api->event_wait(d->events, &event, 0) == NVML_SUCCESS;
         n++) {
        for (unsigned i = 0; i < d->count; i++) {
            if (d->device[i] == event.device && event.type == NVML_EVENT_XID) {
                d->xids[i]++;
                d->last_xid[i] = (int64_t)event.data;
            }
        }
    }
}

/* 0 only if it is certain that the process uses nothing there. */
static int64_t own_used_mib(struct nvml_details *d, nvml_device device)
{
    unsigned count = PROCESSES_MAX;
    if (!d->api->processes ||
        d->api->processes(device, &count, d->process) != NVML_SUCCESS) {
        return GPU_NOT_AVAILABLE;
    }
    for (unsigned i = 0; i < count && i < PROCESSES_MAX; i++) {
        if (d->process[i].pid == d->pid && d->pids_are_the_hosts) {
            return d->process[i].used_bytes == ~0ull
                       ? GPU_NOT_AVAILABLE
                       : (int64_t)(d->process[i].used_bytes >> 20);
        }
    }
    return d->pids_are_the_hosts ? 0 : GPU_NOT_AVAILABLE;
}

/* The driver's newest sample since the last query. */
static int64_t own_util_pct(struct nvml_details *d, unsigned at)
{
    unsigned count = PROCESSES_MAX;
    int64_t newest = GPU_NOT_AVAILABLE;
    unsigned long long when = 0;
    if (!d->pids_are_the_hosts || !d->api->process_use ||
        d->api->process_use(d->device[at], d->use, &count, d->use_seen_us[at]) !=
            NVML_SUCCESS) {
        return GPU_NOT_AVAILABLE;
    }
    for (unsigned i = 0; i < count && i < PROCESSES_MAX; i++) {
        const struct nvml_process_use *use = &d->use[i];
        if (use->timestamp_us > d->use_seen_us[at]) {
            d->use_seen_us[at] = use->timestamp_us;
        }
        if (use->pid == d->pid && use->timestamp_us >= when) {
            when = use->timestamp_us;
            newest = use->sm_pct;
        }
    }
    return newest;
}

/* KiB of all links since the driver was loaded. */
static int64_t nvlink_bytes(const struct nvml *api, nvml_device device, unsigned id)
{
    struct nvml_field field = {.id = id, .scope = NVML_ALL_LINKS};
    if (!api->fields || api->fields(device, 1, &field) != NVML_SUCCESS ||
        field.status != NVML_SUCCESS) {
        return GPU_NOT_AVAILABLE;
    }
    return field.type == NVML_VALUE_UINT ? (int64_t)field.value.u * 1024
           : field.type == NVML_VALUE_ULONG || field.type == NVML_VALUE_ULONG_LONG
               ? (int64_t)field.value.ull * 1024
               : GPU_NOT_AVAILABLE;
}

void nvml_details_ask(struct nvml_details *d, unsigned at, int64_t out[SLOW_FIGURES])
{
    if (!d) {
        return;
    }
    take_xids(d);
    out[SLOW_OWN_USED] = own_used_mib(d, d->device[at]);
    out[SLOW_OWN_UTIL] = own_util_pct(d, at);
    out[SLOW_NVLINK_RX] = nvlink_bytes(d->api, d->device[at], NVML_FIELD_NVLINK_RX);
    out[SLOW_NVLINK_TX] = nvlink_bytes(d->api, d->device[at], NVML_FIELD_NVLINK_TX);
    out[SLOW_XID_COUNT] = d->xids[at];
    out[SLOW_LAST_XID] = d->last_xid[at];
}
