/* SPDX-License-Identifier: Apache-2.0 */
/* The network between uploaders and the origin: requests arrive late, twice, in another
 * order or not at all, also after their sender gave them up or died. */
#ifndef GPUFL_TESTS_SIM_NETWORK_H
#define GPUFL_TESTS_SIM_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/server.h"
#include "upload/http/transport.h"

/** One end of it: an uploader, in one of its lives. */
struct network_end {
    int pid;
    unsigned in_flight;
    unsigned doubts;  /**< answers in a row by which the origin was perhaps not asked */
    struct text last; /**< the body that the reply taken last points to */
};

void network_begin(struct server *server);
void network_finish(void);

struct transport network_transport(struct network_end *end);
/** The process behind it is gone. */
void network_end_dies(struct network_end *end);

/** Lets arrive what is due. */
void network_step(void);
/** \return when something happens next; UINT64_MAX = nothing does. */
uint64_t network_next_ms(void);
/** \return true if a reply for \p end can be taken. */
bool network_has_reply(const struct network_end *end);

#endif
