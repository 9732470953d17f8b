/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of CUPTI that we call, looked up at run time in the version that the
 * job's CUDA brings. Formats: the CUPTI reference of CUDA 13.0. */
#ifndef GPUFL_COLLECTOR_CUPTI_CUPTI_API_H
#define GPUFL_COLLECTOR_CUPTI_CUPTI_API_H

#include <stdbool.h>
#include <stddef.h>

#include <cupti.h>
#include <cupti_pcsampling.h>

/* Kernel records as CUDA 12 has them: later versions append. */
typedef CUpti_ActivityKernel9 cupti_kernel;
typedef CUpti_ActivityMemcpy5 cupti_memcpy;

#define CUPTI_REQUIRED(X)                                                                \
    X(GetVersion)                                                                        \
    X(GetResultString)                                                                   \
    X(GetTimestamp)                                                                      \
    X(Subscribe)                                                                         \
    X(Unsubscribe)                                                                       \
    X(EnableCallback)                                                                    \
    X(GetCallbackName)                                                                   \
    X(ActivityEnable)                                                                    \
    X(ActivityDisable)                                                                   \
    X(ActivityRegisterCallbacks)                                                         \
    X(ActivityGetNextRecord)                                                             \
    X(ActivityGetNumDroppedRecords)                                                      \
    X(ActivityFlushAll)

/* Functions that older versions lack, or that only some engines need. */
#define CUPTI_OPTIONAL(X)                                                                \
    X(ActivityPushExternalCorrelationId)                                                 \
    X(ActivityPopExternalCorrelationId)                                                  \
    X(GetStreamIdEx)                                                                     \
    X(GetDeviceId)                                                                       \
    X(PCSamplingEnable)                                                                  \
    X(PCSamplingDisable)                                                                 \
    X(PCSamplingSetConfigurationAttribute)                                               \
    X(PCSamplingGetData)                                                                 \
    X(PCSamplingGetNumStallReasons)                                                      \
    X(PCSamplingGetStallReasons)                                                         \
    X(GetSassToSourceCorrelation)                                                        \
    X(GetCubinCrc)

#define CUPTI_POINTER(name) __typeof__(cupti##name) *name;
struct cupti_api {
    CUPTI_REQUIRED(CUPTI_POINTER)
    CUPTI_OPTIONAL(CUPTI_POINTER)
};
#undef CUPTI_POINTER

extern struct cupti_api cupti;

/** Loads the library once. False with a sentence in \p why. */
bool cupti_api_load(char *why, size_t size);

/** CUPTI's own name of \p result. */
const char *cupti_api_error(CUptiResult result);

/** Returns false, with a sentence in \p why: CUPTI refused \p what. */
bool cupti_api_refused(char *why, size_t size, const char *what, CUptiResult result);

/** Marks CUPTI as lost: it failed with \p result to end PC sampling, and enabling or
 * disabling anything may now end the process. What it collects can still be fetched.
 * For any thread. */
void cupti_api_lose(CUptiResult result);
bool cupti_api_lost(void);

/** A function of the CUDA driver; NULL if there is none. */
void *cupti_driver_symbol(const char *name);

/** Whether the driver says that it shuts down: exit() may have run its handler before
 * ours, as where another thread was in its first call of CUDA. Nothing may be asked of
 * CUPTI then. */
bool cupti_driver_is_over(void);

/** Looks that up before it is asked: a thread that waits for us may hold the loader's
 * lock later. */
void cupti_driver_look_up(void);

/** The file that a function \p name of the driver was loaded from; NULL if there is none.
 * Valid as long as the process. */
const char *cupti_driver_file(const char *name);

#endif
