/* SPDX-License-Identifier: Apache-2.0 */
/* The uploader as a state machine. It never sleeps, reads no real clock, and touches
 * neither a socket nor a disk sync: clock, randomness, file calls, syncs and transport
 * are passed in. One thread drives it: call engine_turn, wait as long as it says or until
 * something happens, call it again. */
#ifndef GPUFL_UPLOAD_ENGINE_ENGINE_H
#define GPUFL_UPLOAD_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "upload/core/counters.h"
#include "upload/core/engine_config.h"
#include "upload/core/origin.h"
#include "upload/engine/engine_report.h"
#include "upload/engine/wakeups.h"

/** Returned by engine_turn: nothing to do until something happens. */
#define ENGINE_FOREVER UINT64_MAX

struct engine;

GPUFL_MUST gpufl_status engine_open(const struct engine_config *config,
                                    struct engine **out);

/** Takes over \p path: locks it and opens its journal. The next turns inspect what is in
 * it. \return GPUFL_OK; GPUFL_BUSY if another uploader holds it; GPUFL_ERR_NOT_FOUND,
 * GPUFL_ERR_IO, GPUFL_ERR_FORMAT (journal of a newer version). \p why then holds one
 * sentence. */
GPUFL_MUST gpufl_status engine_add_root(struct engine *engine, const char *path,
                                        const struct engine_channels *channels,
                                        char why[512]);

/** Runs one step. \return the ms until the next is needed at the latest. */
uint64_t engine_turn(struct engine *engine);

/** For the end of a run: from now on nothing waits for a flush interval, and what waits
 * for a backoff is retried at once. */
void engine_flush(struct engine *engine);

/** Changes the flush interval and the request budget. */
void engine_set_pace(struct engine *engine, uint64_t flush_interval_ms,
                     unsigned max_requests_per_second);

/** The key in the identity of the configuration was replaced, in place. */
void engine_take_key(struct engine *engine);

/** \return the URL of the backend that a journal was kept for, if everything is to be
 * sent to another one but has not begun; else NULL. */
const char *engine_moves_from(const struct engine *engine);

/** Has gpufl status say what of the program does not work although sessions are sent; ""
 * = nothing. */
void engine_tell(struct engine *engine, const char *what);

/** Retries an origin that waits for a person: the cause may be fixed. */
void engine_retry_now(struct engine *engine);

/** \return what was done so far; borrowed, changes with each turn. */
const struct counters *engine_counters(const struct engine *engine);

/** \return why nothing is sent to the origin, HOLD_NONE if it is. Cheap. */
enum engine_hold engine_holding(const struct engine *engine);

/** Releases everything; the journal is synced first. */
void engine_close(struct engine *engine);

#endif
