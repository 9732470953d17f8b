/* SPDX-License-Identifier: Apache-2.0 */
/* Switches PC sampling of a context on and off, and fetches from it. */
#include "collector-lib/cupti/pc_context.h"

#include <stdio.h>
#include <string.h>

#include "collector-lib/cupti/device.h"
#include "collector-lib/cupti/gpu_claim.h"
#include "collector-lib/cupti/pc_memory.h"

#define PERIOD_LOG2   15          /* cycles between samples of an SM, 2^n */
#define SCRATCH_BYTES (64u << 20) /* of the host */

void pc_context_free(struct pc_context *pc)
{
    stall_reasons_fini(&pc->reasons);
    pc_room_free(&pc->config);
    pc_room_free(&pc->fetch);
    memset(pc, 0, sizeof *pc);
}

static CUptiResult configure_sampling(struct pc_context *pc, size_t hardware_bytes)
{
#define ATTRIBUTE(name) CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_##name
    CUpti_PCSamplingConfigurationInfo info[] = {
        {.attributeType = ATTRIBUTE(COLLECTION_MODE),
         .attributeData.collectionModeData.collectionMode =
             CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS},
        {.attributeType = ATTRIBUTE(SAMPLING_PERIOD),
         .attributeData.samplingPeriodData.samplingPeriod = PERIOD_LOG2},
        {.attributeType = ATTRIBUTE(SCRATCH_BUFFER_SIZE),
         .attributeData.scratchBufferSizeData.scratchBufferSize = SCRATCH_BYTES},
        {.attributeType = ATTRIBUTE(HARDWARE_BUFFER_SIZE),
         .attributeData.hardwareBufferSizeData.hardwareBufferSize = hardware_bytes},
        {.attributeType = ATTRIBUTE(STALL_REASON),
         .attributeData.stallReasonData = {.stallReasonCount = pc->reasons.count,
                                           .pStallReasonIndex = pc->reasons.index}},
        {.attributeType = ATTRIBUTE(SAMPLING_DATA_BUFFER),
         .attributeData.samplingDataBufferData.samplingDataBuffer = &pc->config.data},
    };
#undef ATTRIBUTE
    CUpti_PCSamplingConfigurationInfoParams params = {
        .size = CUpti_PCSamplingConfigurationInfoParamsSize,
        .ctx = pc->context,
        .numAttributes = sizeof info / sizeof info[0],
        .pPCSamplingConfigurationInfo = info};
    return pc_room_make(&pc->config, PC_CONTEXT_LAST_PCS, pc->reasons.count) &&
                   pc_room_make(&pc->fetch, PC_CONTEXT_PCS, pc->reasons.count)
               ? cupti.PCSamplingSetConfigurationAttribute(&params)
               : CUPTI_ERROR_OUT_OF_MEMORY;
}

/* CUPTI 13.0.1 on an H200: after it has failed to disable sampling, a call of
 * cuptiActivityDisable ends the process with SIGSEGV, or kernel records are refused
 * until the process ends. It fails if another process samples the GPU (UNKNOWN), and on
 * some machines about one time in 25, for no known reason (INVALID_PARAMETER; never in
 * 920 times on nine other machines). */
CUptiResult pc_context_disable(struct pc_context *pc)
{
    CUpti_PCSamplingDisableParams params = {.size = CUpti_PCSamplingDisableParamsSize,
                                            .ctx = pc->context};
    CUptiResult result = cupti.PCSamplingDisable(&params);
    if (result != CUPTI_SUCCESS) {
        cupti_api_lose(result);
    }
    return result;
}

/* 0 with a sentence in \p why. If the driver does not tell what is free, the least. */
static size_t bytes_for(CUcontext context, uint32_t device, size_t most_bytes, char *why,
                        size_t size)
{
    size_t device_free;
    size_t host_free = pc_memory_host_free("/proc/meminfo");
    if (!device_memory_free(context, &device_free)) {
        device_free = PC_MEMORY_MIN_BYTES * PC_MEMORY_SHARE;
    }
    size_t bytes = pc_memory_share(device_free, host_free, most_bytes);
    if (!bytes) {
        snprintf(why, size,
                 "too little memory is free: %zu MiB of GPU %u, %zu MiB of the host (%zu "
                 "MiB of each are needed)",
                 device_free >> 20, (unsigned)device, host_free >> 20,
                 PC_MEMORY_MIN_BYTES * PC_MEMORY_SHARE >> 20);
    }
    return bytes;
}

bool pc_context_open(struct pc_context *pc, CUcontext context, size_t most_bytes,
                     char *why, size_t size)
{
    CUpti_PCSamplingEnableParams params = {.size = CUpti_PCSamplingEnableParamsSize,
                                           .ctx = context};
    uint32_t device = 0;
    bool known =
        cupti.GetDeviceId && cupti.GetDeviceId(context, &device) == CUPTI_SUCCESS;
    size_t bytes = bytes_for(context, device, most_bytes, why, size);
    if (!bytes) {
        return false;
    }
    if (known && !gpu_claim(device)) {
        snprintf(why, size,
                 "another process samples GPU %u, which supports one at a time",
                 (unsigned)device);
        return false;
    }
    CUptiResult result = cupti.PCSamplingEnable(&params);
    if (result != CUPTI_SUCCESS) {
        return cupti_api_refused(why, size, "PC sampling", result);
    }
    pc->context = context;
    pc->device = device;
    result = stall_reasons_read(&pc->reasons, context);
    if (result == CUPTI_SUCCESS) {
        result = configure_sampling(pc, bytes);
    }
    if (result != CUPTI_SUCCESS) {
        if (pc_context_disable(pc) == CUPTI_SUCCESS) {
            pc_context_free(pc);
        }
        return cupti_api_refused(why, size, "the settings of PC sampling", result);
    }
    return true;
}

CUptiResult pc_context_fetch(struct pc_context *pc)
{
    CUpti_PCSamplingGetDataParams params = {.size = CUpti_PCSamplingGetDataParamsSize,
                                            .ctx = pc->context,
                                            .pcSamplingData = &pc->fetch.data};
    return cupti.PCSamplingGetData(&params);
}
