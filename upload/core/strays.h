/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions in whose place is another directory than was noted, by the noted one: a
 * listing asks for each name that it comes to whether it is one of those. */
#ifndef GPUFL_UPLOAD_CORE_STRAYS_H
#define GPUFL_UPLOAD_CORE_STRAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/registry.h"
#include "upload/core/session.h"

/** Adds a session with its noted directory. \return false without memory. */
bool strays_add(struct root *root, const struct session *session);

/** \return true if there are any. */
bool strays_any(const struct root *root);

/** Visits the sessions whose noted directory has \p mark. */
void strays_each(struct root *root, uint64_t mark,
                 void (*visit)(struct session *session, const char *path),
                 const char *path);

/** Forgets all of them. */
void strays_clear(struct root *root);

#endif
