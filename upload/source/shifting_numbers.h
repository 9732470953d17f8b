/* SPDX-License-Identifier: Apache-2.0 */
/* Which numbers of a channel of the 1.1 layout have a file. */
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

/** Opens the file of that number, 0 for the active one, in the form that is there.
 * \return -1 with errno ENOENT when neither is there as a regular file. */
int shifting_number_open(const struct sys *sys, const struct tail_where *where,
                         uint32_t number, bool *gz);

/** \return true if the number has a file; also, with \p failed set, if that cannot be
 * told. */
bool shifting_number_is_used(const struct sys *sys, const struct tail_where *where,
                             uint32_t number, bool *failed);
/** \return the highest number that has one, 0 for none; likewise. */
uint32_t shifting_number_highest(const struct sys *sys, const struct tail_where *where,
                                 bool *failed);
/** \return true if one between \p below and \p above has one; likewise. */
bool shifting_number_between(const struct sys *sys, const struct tail_where *where,
                             uint32_t below, uint32_t above, bool *failed);

#endif
