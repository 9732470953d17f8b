/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the driver: on an H200, CUPTI 13.0.1 gave no record of a device whose context
 * existed before tracing. CUDA's number of a device is the driver's handle. */
#include "collector-lib/cupti/device.h"

#include <stdio.h>
#include <string.h>

bool device_uuid(uint32_t ordinal, CUuuid *uuid)
{
    CUresult (*get)(CUuuid *, CUdevice);
    void *at = cupti_driver_symbol("cuDeviceGetUuid_v2"); /* MIG devices have their own */
    memcpy(&get, &at, sizeof get);
    return at && get(uuid, (CUdevice)ordinal) == CUDA_SUCCESS;
}

static void read_name(uint32_t ordinal, struct trace_device *out)
{
    CUresult (*get)(char *, int, CUdevice);
    void *at = cupti_driver_symbol("cuDeviceGetName");
    memcpy(&get, &at, sizeof get);
    if (!at || get(out->name, (int)sizeof out->name, (CUdevice)ordinal) != CUDA_SUCCESS) {
        out->name[0] = '\0';
    }
    out->name[sizeof out->name - 1] = '\0';
}

static void read_uuid(uint32_t ordinal, struct trace_device *out)
{
    CUuuid uuid;
    if (!device_uuid(ordinal, &uuid)) {
        return;
    }
    size_t len = (size_t)snprintf(out->uuid, sizeof out->uuid, "%s",
                                  strstr(out->name, " MIG ") ? "MIG" : "GPU");
    for (size_t i = 0; i < sizeof uuid.bytes; i++) {
        bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        len += (size_t)snprintf(out->uuid + len, sizeof out->uuid - len, "%s%02x",
                                dash ? "-" : "", (unsigned char)uuid.bytes[i]);
    }
}

static void read_attributes(uint32_t ordinal, struct trace_device *out)
{
    CUresult (*get)(int *, CUdevice_attribute, CUdevice);
    const struct {
        CUdevice_attribute attribute;
        uint32_t *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &out->threads_per_warp},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &out->multi_processors},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &out->warps_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &out->blocks_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &out->registers_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &out->registers_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
         &out->shared_per_sm_bytes},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &out->shared_per_block_bytes},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &out->l2_bytes},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &out->memory_clock_khz},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &out->memory_bus_bits},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &out->compute_major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &out->compute_minor},
    };
    void *at = cupti_driver_symbol("cuDeviceGetAttribute");
    memcpy(&get, &at, sizeof get);
    for (size_t i = 0; at && i < sizeof wanted / sizeof wanted[0]; i++) {
        int value = 0;
        if (get(&value, wanted[i].attribute, (CUdevice)ordinal) == CUDA_SUCCESS) {
            *wanted[i].value = (uint32_t)value;
        }
    }
    if (out->threads_per_warp) { /* it is in threads */
        out->warps_per_sm /= out->threads_per_warp;
    }
}

/* The driver tells it of the current context alone. */
bool device_memory_free(CUcontext context, size_t *bytes)
{
    CUresult (*push)(CUcontext);
    CUresult (*get)(size_t *, size_t *);
    CUresult (*pop)(CUcontext *);
    void *symbol[] = {cupti_driver_symbol("cuCtxPushCurrent_v2"),
                      cupti_driver_symbol("cuMemGetInfo_v2"),
                      cupti_driver_symbol("cuCtxPopCurrent_v2")};
    memcpy(&push, &symbol[0], sizeof push);
    memcpy(&get, &symbol[1], sizeof get);
    memcpy(&pop, &symbol[2], sizeof pop);
    if (!push || !get || !pop || push(context) != CUDA_SUCCESS) {
        return false;
    }
    size_t total;
    CUcontext popped;
    CUresult result = get(bytes, &total);
    pop(&popped);
    return result == CUDA_SUCCESS;
}

void device_describe(uint32_t ordinal, struct trace_device *out)
{
    memset(out, 0, sizeof *out);
    read_name(ordinal, out);
    read_uuid(ordinal, out);
    read_attributes(ordinal, out);
}
