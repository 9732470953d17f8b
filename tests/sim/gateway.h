/* SPDX-License-Identifier: Apache-2.0 */
/* What is in front of the origin, and answers in its place for a while: with a status,
 * and perhaps a web page, but never with what the origin would say. */
#ifndef GPUFL_TESTS_SIM_GATEWAY_H
#define GPUFL_TESTS_SIM_GATEWAY_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/server.h"

/** Chooses from \p draw which status it has, 0 = various ones by which lines stay with
 * their sender. */
void gateway_set(struct server *server, uint32_t draw);

/** \return what it answers to \p request, in place of the origin. */
int gateway_status(struct server *server, const struct server_request *request);

/** The sender of \p request hears \p status, and may make other requests of its lines. */
void gateway_hear(struct server *server, const struct server_request *request,
                  int status);

/** Lets a request through, and notes which of its lines are stored if its sender has
 * heard that they are refused. \return the origin's status. */
int gateway_pass(struct server *server, const struct server_request *request,
                 struct text *answer);

/** Notes what the sender of probes hears, of which \p doubts in a row do not say what the
 * origin is. After three, it counts as one that declares nothing. */
void gateway_note_probe(struct server *server, int status, bool page, unsigned *doubts);

#endif
