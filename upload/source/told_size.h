/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer of a live session tells of the size of its active files. */
#ifndef GPUFL_UPLOAD_SOURCE_TOLD_SIZE_H
#define GPUFL_UPLOAD_SOURCE_TOLD_SIZE_H

#include <stdbool.h>

#include "upload/source/tail_where.h"

/** \return true if the writer has written nothing of the channel behind the position, as
 * its lock file says. False if that says nothing of this boot, or may be of others. */
bool told_size_is_reached(const struct sys *sys, const struct tail_where *where);

#endif
