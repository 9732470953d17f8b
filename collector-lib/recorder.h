/* SPDX-License-Identifier: Apache-2.0 */
/* What the job's threads record: each into a ring of its own, without a lock once it has
 * one. */
#ifndef GPUFL_COLLECTOR_RECORDER_H
#define GPUFL_COLLECTOR_RECORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <gpufl/gpufl.h>

#include "collector-lib/core/names.h"
#include "collector-lib/core/ring.h"
#include "collector-lib/trace/tracer.h"

/** Its memory is never freed, so a scope that races with the end of a session is
 * harmless: its rows carry an old generation. */
struct recorder {
    _Atomic uint16_t generation; /**< of the session; 0 = off */
    struct rings rings;
    struct names names;
    pthread_key_t thread_end;
    bool prepared;
};

#define RECORDER_INIT                                                                    \
    {                                                                                    \
        .rings = RINGS_INIT, .names = NAMES_INIT                                         \
    }

/** Before the first session. False without memory. */
bool recorder_prepare(struct recorder *recorder);

/** The generation behind \p last, which is never 0: rows and scopes of 65,535 sessions
 * before are gone. */
static inline uint16_t recorder_generation_after(uint16_t last)
{
    return (uint16_t)(last % UINT16_MAX + 1);
}

/** In the child of a fork, which records nothing until it begins a session. \return
 * memory that nothing refers to any more. */
const void *recorder_after_fork(struct recorder *recorder);

/* Each does nothing while no session runs. */
struct gpufl_scope recorder_begin_scope(struct recorder *recorder, const char *name,
                                        uint32_t repeat, uint32_t warmup);
/** By any thread. */
void recorder_end_scope(struct recorder *recorder, struct gpufl_scope scope);
void recorder_call(struct recorder *recorder, const struct trace_call *call);
void recorder_wait(struct recorder *recorder, const struct trace_wait *wait);
/** \p kind: ROW_SYSTEM_START or ROW_SYSTEM_STOP. */
void recorder_phase(struct recorder *recorder, const char *name, enum row_kind kind);

#endif
