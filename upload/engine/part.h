/* SPDX-License-Identifier: Apache-2.0 */
/* Says which place of its stream a batch takes, for origins that know positions. */
#ifndef GPUFL_UPLOAD_ENGINE_PART_H
#define GPUFL_UPLOAD_ENGINE_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "upload/core/offer.h"

/** Computes the place of \p offer over the \p len bytes of its file in the engine's
 * buffer, which follow the end of its stream. */
void part_measure(struct offer *offer, size_t len);

/** The same where \p crc is the CRC-32C of these bytes. */
void part_measure_over(struct offer *offer, uint32_t crc);

/** \return true if the \p len bytes in the engine's buffer are those that \p offer was
 * measured over. */
bool part_is_same(const struct offer *offer, size_t len);

/** Puts the line of the request in front of the engine's buffer. \return where the
 * request begins; *\p len, of what is sent of the buffer, becomes that of all. */
const char *part_put_line(const struct offer *offer, size_t *len);

#endif
