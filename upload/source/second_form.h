/* SPDX-License-Identifier: Apache-2.0 */
/* A compressed file that another tool left of an active one, to which its writer has
 * given its name back: whether it holds anything that no other file has. */
#ifndef GPUFL_UPLOAD_SOURCE_SECOND_FORM_H
#define GPUFL_UPLOAD_SOURCE_SECOND_FORM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"

/** \return true if `<channel>.log.gz` in the session's directory \p dir holds something,
 * and just that is where `<channel>.log` or a sealed file of the channel begins. If it
 * does, *known stands for it, and it is not read again; NULL = it is. */
bool second_form_is_copy(const struct sys *sys, int dir, const char *channel,
                         uint64_t *known);

#endif
