/* SPDX-License-Identifier: Apache-2.0 */
#include "collector-lib/cupti/pc_context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/cupti/gpu_claim.h"

#define PERIOD_LOG2    15           /* cycles between samples of an SM, 2^n */
#define SCRATCH_BYTES  (64u << 20)  /* of the host */
#define HARDWARE_BYTES (256u << 20) /* of the device */
#define REASONS_MAX    256u
#define STALL_PREFIX   "smsp__pcsamp_warps_issue_stalled_"

/* ---- room ---- */

static void room_free(struct pc_room *room)
{
    free(room->pc);
    free(room->reason);
    memset(room, 0, sizeof *room);
}

static bool room_make(struct pc_room *room, size_t pcs, size_t reasons)
{
    room->pc = calloc(pcs, sizeof *room->pc);
    room->reason = calloc(pcs * reasons, sizeof *room->reason);
    if (!room->pc || !room->reason) {
        room_free(room);
        return false;
    }
    for (size_t i = 0; i < pcs; i++) {
        room->pc[i].size = sizeof *room->pc;
        room->pc[i].stallReason = room->reason + i * reasons;
    }
    room->data = (CUpti_PCSamplingData){
        .size = sizeof room->data, .collectNumPcs = pcs, .pPcData = room->pc};
    return true;
}

void pc_context_free(struct pc_context *pc)
{
    for (size_t i = 0; pc->reason_name && i < pc->reasons; i++) {
        free(pc->reason_name[i]);
    }
    free(pc->reason_name);
    free(pc->reason_index);
    room_free(&pc->config);
    room_free(&pc->fetch);
    memset(pc, 0, sizeof *pc);
}

/* ---- reasons ---- */

static bool reasons_alloc(struct pc_context *pc)
{
    pc->reason_index = calloc(pc->reasons, sizeof *pc->reason_index);
    pc->reason_name = calloc(pc->reasons, sizeof *pc->reason_name);
    bool room = pc->reason_index && pc->reason_name;
    for (size_t i = 0; room && i < pc->reasons; i++) {
        pc->reason_name[i] = calloc(1, CUPTI_STALL_REASON_STRING_SIZE);
        room = pc->reason_name[i] != NULL;
    }
    return room;
}

static CUptiResult read_reasons(struct pc_context *pc)
{
    CUpti_PCSamplingGetNumStallReasonsParams count = {
        .size = CUpti_PCSamplingGetNumStallReasonsParamsSize,
        .ctx = pc->context,
        .numStallReasons = &pc->reasons};
    CUptiResult result = cupti.PCSamplingGetNumStallReasons(&count);
    if (result != CUPTI_SUCCESS) {
        return result;
    }
    if (!reasons_alloc(pc)) {
        return CUPTI_ERROR_OUT_OF_MEMORY;
    }
    CUpti_PCSamplingGetStallReasonsParams names = {
        .size = CUpti_PCSamplingGetStallReasonsParamsSize,
        .ctx = pc->context,
        .numStallReasons = pc->reasons,
        .stallReasonIndex = pc->reason_index,
        .stallReasons = pc->reason_name};
    return cupti.PCSamplingGetStallReasons(&names);
}

/* A copy that lives as long as the process: a sample may outlive its context. The
 * devices of a process have a few dozen reasons in all. */
static const char *keep(const char *name)
{
    static char *kept[REASONS_MAX];
    size_t i = 0;
    while (i < REASONS_MAX && kept[i] && strcmp(kept[i], name) != 0) {
        i++;
    }
    if (i < REASONS_MAX && !kept[i]) {
        kept[i] = strdup(name);
    }
    return i < REASONS_MAX && kept[i] ? kept[i] : "unknown";
}

const char *pc_context_reason(const struct pc_context *pc, uint32_t index)
{
    for (size_t i = 0; i < pc->reasons; i++) {
        if (pc->reason_index[i] == index) {
            const char *name = pc->reason_name[i];
            size_t prefix = sizeof STALL_PREFIX - 1;
            return keep(strncmp(name, STALL_PREFIX, prefix) == 0 ? name + prefix : name);
        }
    }
    return "unknown";
}

/* ---- on and off ---- */

static CUptiResult configure(struct pc_context *pc)
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
         .attributeData.hardwareBufferSizeData.hardwareBufferSize = HARDWARE_BYTES},
        {.attributeType = ATTRIBUTE(STALL_REASON),
         .attributeData.stallReasonData = {.stallReasonCount = pc->reasons,
                                           .pStallReasonIndex = pc->reason_index}},
        {.attributeType = ATTRIBUTE(SAMPLING_DATA_BUFFER),
         .attributeData.samplingDataBufferData.samplingDataBuffer = &pc->config.data},
    };
#undef ATTRIBUTE
    CUpti_PCSamplingConfigurationInfoParams params = {
        .size = CUpti_PCSamplingConfigurationInfoParamsSize,
        .ctx = pc->context,
        .numAttributes = sizeof info / sizeof info[0],
        .pPCSamplingConfigurationInfo = info};
    return room_make(&pc->config, PC_CONTEXT_LAST_PCS, pc->reasons) &&
                   room_make(&pc->fetch, PC_CONTEXT_PCS, pc->reasons)
               ? cupti.PCSamplingSetConfigurationAttribute(&params)
               : CUPTI_ERROR_OUT_OF_MEMORY;
}

/* CUPTI 13.0.1 on an H200: after it has failed to switch the sampling off, a call of
 * cuptiActivityDisable ends the process by SIGSEGV, or kernel records are refused until
 * the process ends. It fails where another process samples the GPU (UNKNOWN), and on some
 * machines at about one end in 25, without a cause that is known (INVALID_PARAMETER; not
 * once in 920 ends on nine others). */
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

bool pc_context_open(struct pc_context *pc, CUcontext context, char *why, size_t size)
{
    CUpti_PCSamplingEnableParams params = {.size = CUpti_PCSamplingEnableParamsSize,
                                           .ctx = context};
    uint32_t device = 0;
    if (cupti.GetDeviceId && cupti.GetDeviceId(context, &device) == CUPTI_SUCCESS &&
        !gpu_claim(device)) {
        snprintf(why, size,
                 "another process samples GPU %u, which serves one at a time; sample in "
                 "one of them",
                 (unsigned)device);
        return false;
    }
    CUptiResult result = cupti.PCSamplingEnable(&params);
    if (result != CUPTI_SUCCESS) {
        return cupti_api_refused(why, size, "PC sampling", result);
    }
    pc->context = context;
    pc->device = device;
    result = read_reasons(pc);
    if (result == CUPTI_SUCCESS) {
        result = configure(pc);
    }
    if (result != CUPTI_SUCCESS) {
        if (pc_context_disable(pc) == CUPTI_SUCCESS) {
            pc_context_free(pc);
        }
        return cupti_api_refused(why, size, "the sampling's settings", result);
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
