/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the files of a complete session have grown. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_GROWTH_H
#define GPUFL_UPLOAD_LIFECYCLE_GROWTH_H

#include <stdbool.h>

#include "upload/core/registry.h"

/** \p dir: the session's directory, -1 = the one at its path. \return true if a file of
 * the session ends elsewhere than where it was sent to, or holds other bytes there, and
 * has changed since the last call. */
bool growth_of(const struct root *root, int dir, struct parked_session *session);

/** \return true if its directory has changed since the last call, and holds files that
 * are not read, others than those that a person gave up, or a file whose number is behind
 * what was sent; also if more than one step is needed to tell. */
bool growth_of_names(struct root *root, struct parked_session *session);

#endif
