/* SPDX-License-Identifier: Apache-2.0 */
/* Says which place of its stream a batch takes, for origins that know positions. */
#ifndef GPUFL_UPLOAD_BATCH_PART_H
#define GPUFL_UPLOAD_BATCH_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "upload/core/offer.h"
#include "upload/http/positions_text.h"

/** An encoded line is hardly longer than a plain one. */
#define PART_LINE_MAX (2 * POSITIONS_LINE_MAX)

/** Computes the place of \p offer over the \p len bytes of its file in the engine's
 * buffer, which follow the end of its stream. */
void part_measure(struct offer *offer, size_t len);

/** The same where \p crc is the CRC-32C of these bytes. */
void part_measure_over(struct offer *offer, uint32_t crc);

/** \return true if the \p len bytes in the engine's buffer are those that \p offer was
 * measured over. */
bool part_is_same(const struct offer *offer, size_t len);

/** Encodes the line of a request that has only the part of \p offer: a frame of its own,
 * so that the backend can store the one behind it as it came. \return its length; 0
 * without memory. */
size_t part_encode_line(const struct offer *offer, char out[PART_LINE_MAX]);

#endif
