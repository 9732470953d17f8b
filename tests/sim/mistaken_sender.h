/* SPDX-License-Identifier: Apache-2.0 */
/* A sender of somebody else, which is wrong about where a stream ends. */
#ifndef GPUFL_TESTS_SIM_MISTAKEN_SENDER_H
#define GPUFL_TESTS_SIM_MISTAKEN_SENDER_H

#include "tests/sim/server.h"

/** Sends parts of \p channel of \p session, each of which is wrong in one member of its
 * place. It is a failure of the world if the origin takes one, or says that it has it. */
void mistaken_sender(struct server *server, const char *session, const char *channel);

#endif
