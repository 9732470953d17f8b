/* SPDX-License-Identifier: Apache-2.0 */
/* Which numbers of a channel of the 1.1 layout have a file, read by one system call. */
#ifndef GPUFL_UPLOAD_SOURCE_SHIFTING_NUMBERS_H
#define GPUFL_UPLOAD_SOURCE_SHIFTING_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"
#include "upload/source/tail_where.h"

/** Which is the lowest number beyond \p below that the channel has a file of, in either
 * form and of whatever kind, at one moment; 0 = none up to SCAN_SHIFTING_MAX.
 * \return false where that cannot be told: on file systems that may leave out a file that
 * is renamed meanwhile, and in large directories. */
bool shifting_number_beyond(const struct sys *sys, const struct tail_where *where,
                            uint32_t below, uint32_t *number);

#endif
