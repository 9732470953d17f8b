/* SPDX-License-Identifier: Apache-2.0 */
/* The backend in memory that a rig's engine talks to. */
#ifndef GPUFL_TESTS_RIG_BACKEND_H
#define GPUFL_TESTS_RIG_BACKEND_H

#include <stdbool.h>

#include "tests/support/rig.h"
#include "upload/http/transport.h"

struct transport rig_backend(struct rig *rig);

/** \return how long the next answer takes yet; UINT64_MAX if none is to come. */
uint64_t rig_answers_in_ms(const struct rig *rig);

/** True when the registry holds \p request's id already: then no refusal may follow. */
bool rig_knows(struct rig *rig, const struct rig_request *request);

/** An answer of rigs: a batch of "device" has none though it is stored, and is then too
 * large; so is its first half, whose answer is lost, too. */
int rig_lose_then_too_large(struct rig *rig, const struct rig_request *request);

/** All raw lines that the registry holds of a channel, in sequence order, as one string
 * (the caller's). */
char *rig_stored(struct rig *rig, const char *session, const char *channel);

#endif
