/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the backend, again if it does not answer. */
#ifndef GPUFL_UPLOAD_VERIFY_VERIFY_ASK_H
#define GPUFL_UPLOAD_VERIFY_VERIFY_ASK_H

#include "base/sys.h"
#include "upload/http/transport.h"
#include "upload/source/gz_cache.h"

/** Where to read and whom to ask. */
struct verify {
    const struct sys *sys;
    int root; /**< the descriptor of the log directory */
    const struct transport *transport;
    char *buf; /**< of VERIFY_BUFFER_BYTES */
    struct gz_cache gz;
    uint64_t read_bytes; /**< of all files, decompressed */
    char why[256];       /**< what went wrong, for a person */
};

#define VERIFY_BUFFER_BYTES (1u << 20)

/** \return GPUFL_OK with *reply, of which the status is 200, 404 or 410; GPUFL_ERR_AUTH,
 * GPUFL_ERR_CONTACT for any other answer or none, GPUFL_ERR_NOMEM, with v->why. */
GPUFL_MUST gpufl_status verify_ask(struct verify *v,
                                   const struct transport_request *request,
                                   struct transport_reply *reply);

/** Waits, no longer than a question that is asked again does. */
void verify_wait(struct verify *v, uint64_t ms);

#endif
