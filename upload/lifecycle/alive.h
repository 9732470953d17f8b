/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the backend which sessions are silent although their writer lives, where it
 * declares that it wants to know: it cannot tell them from lost ones. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_ALIVE_H
#define GPUFL_UPLOAD_LIFECYCLE_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/engine_state.h"
#include "upload/http/transport.h"

/** \return true if it has waited for requests of batches for so long that the next one
 * is its own. */
bool alive_is_late(const struct engine *engine, uint64_t now_ms);

/** Sends one request for all sessions that are due, as many as fit, unless one is under
 * way or, except when it is late, a batch waits. It is not counted among the requests
 * that keep batches waiting, but in the request budget. */
void alive_step(struct engine *engine, uint64_t now_ms);

/** Handles the answer, of which nothing depends: who was not told of now is in a later
 * request. */
void alive_on_reply(struct engine *engine, const struct transport_reply *reply,
                    uint64_t now_ms);

/** \return the ms until alive_step is to be called; UINT64_MAX if something else happens
 * before. */
uint64_t alive_wait_ms(const struct engine *engine, uint64_t now_ms);

#endif
