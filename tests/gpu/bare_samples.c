/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's continuous PC sampling alone, in a process that is there: does its end fail by
 * itself, and what keeps it from that? Loaded by step.py. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cupti.h>
#include <cupti_pcsampling.h>

#define PCS     65536u
#define BEAT_MS 250 /* CUPTI decodes each 100 ms */
#define STEP_MS 2

/* How it begins and ends. */
#define WITH_RECORDS 1u  /* kernel records are on beneath it */
#define AFTER_DECODE 2u  /* it ends just behind a beat of CUPTI's own */
#define STOPPED      4u  /* by cuptiPCSamplingStart and Stop */
#define UNFETCHED    8u  /* without a fetch before */
#define ASLEEP       16u /* CUPTI's own beat is too slow to come */

#define ATTRIBUTE(name) CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_##name

/** Of bare.c. */
int bare_start(void);
/** 0, or what CUPTI answered. */
__attribute__((visibility("default"))) int bare_samples_begin(unsigned how);
__attribute__((visibility("default"))) int bare_samples_end(unsigned how);

/* Made once: whatever CUPTI may still write to, it is there. */
static struct {
    CUcontext context;
    size_t reasons;
    uint32_t *index;
    char **name;
    CUpti_PCSamplingData last, fetched;
} bare;

static void make_room(CUpti_PCSamplingData *data)
{
    CUpti_PCSamplingStallReason *reason = calloc(PCS * bare.reasons, sizeof *reason);
    *data = (CUpti_PCSamplingData){.size = sizeof *data,
                                   .collectNumPcs = PCS,
                                   .pPcData = calloc(PCS, sizeof *data->pPcData)};
    for (size_t i = 0; i < PCS; i++) {
        data->pPcData[i].size = sizeof *data->pPcData;
        data->pPcData[i].stallReason = reason + i * bare.reasons;
    }
}

static CUptiResult find_reasons(void)
{
    CUpti_PCSamplingGetNumStallReasonsParams count = {
        .size = CUpti_PCSamplingGetNumStallReasonsParamsSize,
        .ctx = bare.context,
        .numStallReasons = &bare.reasons};
    CUptiResult result = cuptiPCSamplingGetNumStallReasons(&count);
    if (result != CUPTI_SUCCESS || bare.index) {
        return result;
    }
    bare.index = calloc(bare.reasons, sizeof *bare.index);
    bare.name = calloc(bare.reasons, sizeof *bare.name);
    for (size_t i = 0; i < bare.reasons; i++) {
        bare.name[i] = calloc(1, CUPTI_STALL_REASON_STRING_SIZE);
    }
    make_room(&bare.last);
    make_room(&bare.fetched);
    CUpti_PCSamplingGetStallReasonsParams names = {
        .size = CUpti_PCSamplingGetStallReasonsParamsSize,
        .ctx = bare.context,
        .numStallReasons = bare.reasons,
        .stallReasonIndex = bare.index,
        .stallReasons = bare.name};
    return cuptiPCSamplingGetStallReasons(&names);
}

/* As libgpufl does it. */
static CUptiResult configure(unsigned how)
{
    CUpti_PCSamplingConfigurationInfo info[] = {
        {.attributeType = ATTRIBUTE(COLLECTION_MODE),
         .attributeData.collectionModeData.collectionMode =
             CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS},
        {.attributeType = ATTRIBUTE(SAMPLING_PERIOD),
         .attributeData.samplingPeriodData.samplingPeriod = 15},
        {.attributeType = ATTRIBUTE(SCRATCH_BUFFER_SIZE),
         .attributeData.scratchBufferSizeData.scratchBufferSize = 64u << 20},
        {.attributeType = ATTRIBUTE(HARDWARE_BUFFER_SIZE),
         .attributeData.hardwareBufferSizeData.hardwareBufferSize = 64u << 20},
        {.attributeType = ATTRIBUTE(STALL_REASON),
         .attributeData.stallReasonData = {.stallReasonCount = bare.reasons,
                                           .pStallReasonIndex = bare.index}},
        {.attributeType = ATTRIBUTE(ENABLE_START_STOP_CONTROL),
         .attributeData.enableStartStopControlData.enableStartStopControl =
             (how & STOPPED) != 0},
        {.attributeType = ATTRIBUTE(WORKER_THREAD_PERIODIC_SLEEP_SPAN),
         .attributeData.workerThreadPeriodicSleepSpanData.workerThreadPeriodicSleepSpan =
             how & ASLEEP ? 20000 : 100},
        {.attributeType = ATTRIBUTE(SAMPLING_DATA_BUFFER),
         .attributeData.samplingDataBufferData.samplingDataBuffer = &bare.last},
    };
    CUpti_PCSamplingConfigurationInfoParams params = {
        .size = CUpti_PCSamplingConfigurationInfoParamsSize,
        .ctx = bare.context,
        .numAttributes = sizeof info / sizeof info[0],
        .pPCSamplingConfigurationInfo = info};
    return cuptiPCSamplingSetConfigurationAttribute(&params);
}

int bare_samples_begin(unsigned how)
{
    cuCtxGetCurrent(&bare.context);
    CUpti_PCSamplingEnableParams enable = {.size = CUpti_PCSamplingEnableParamsSize,
                                           .ctx = bare.context};
    CUpti_PCSamplingStartParams start = {.size = CUpti_PCSamplingStartParamsSize,
                                         .ctx = bare.context};
    CUptiResult result = how & WITH_RECORDS ? (CUptiResult)bare_start() : CUPTI_SUCCESS;
    if (result == CUPTI_SUCCESS) {
        result = cuptiPCSamplingEnable(&enable);
    }
    if (result == CUPTI_SUCCESS) {
        result = find_reasons();
    }
    if (result == CUPTI_SUCCESS) {
        result = configure(how);
    }
    if (result == CUPTI_SUCCESS && how & STOPPED) {
        result = cuptiPCSamplingStart(&start);
    }
    return (int)result;
}

/* All that is decoded; how many there were in \p found. */
static CUptiResult fetch(size_t *found)
{
    CUpti_PCSamplingGetDataParams params = {.size = CUpti_PCSamplingGetDataParamsSize,
                                            .ctx = bare.context,
                                            .pcSamplingData = &bare.fetched};
    CUptiResult result;
    *found = 0;
    do {
        bare.fetched.totalNumPcs = 0;
        result = cuptiPCSamplingGetData(&params);
        *found += bare.fetched.totalNumPcs;
    } while (result == CUPTI_SUCCESS && bare.fetched.totalNumPcs > 0 &&
             bare.fetched.remainingNumPcs > 0);
    return result;
}

static CUptiResult fetch_behind_a_beat(void)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
    size_t found = 0;
    CUptiResult result = CUPTI_SUCCESS;
    for (int ms = 0; ms < BEAT_MS && !found && result == CUPTI_SUCCESS; ms += STEP_MS) {
        nanosleep(&step, NULL);
        result = fetch(&found);
    }
    return result;
}

int bare_samples_end(unsigned how)
{
    size_t found;
    CUpti_PCSamplingStopParams stop = {.size = CUpti_PCSamplingStopParamsSize,
                                       .ctx = bare.context};
    CUpti_PCSamplingDisableParams disable = {.size = CUpti_PCSamplingDisableParamsSize,
                                             .ctx = bare.context};
    CUptiResult result = how & STOPPED ? cuptiPCSamplingStop(&stop) : CUPTI_SUCCESS;
    if (result == CUPTI_SUCCESS && !(how & UNFETCHED)) {
        result = fetch(&found);
    }
    if (result == CUPTI_SUCCESS && how & AFTER_DECODE) {
        result = fetch_behind_a_beat();
    }
    if (result == CUPTI_SUCCESS) {
        result = cuptiPCSamplingDisable(&disable);
    }
    if (result == CUPTI_SUCCESS && how & WITH_RECORDS) {
        cuptiActivityFlushAll(0);
        cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    }
    return (int)result;
}
