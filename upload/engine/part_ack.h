/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the answer to a part: to a batch of a stream that goes by positions. */
#ifndef GPUFL_UPLOAD_ENGINE_PART_ACK_H
#define GPUFL_UPLOAD_ENGINE_PART_ACK_H

#include <stdint.h>

#include "upload/core/offer.h"
#include "upload/http/transport.h"

void part_ack_reply(struct offer *offer, const struct transport_reply *reply,
                    uint64_t now_ms);

#endif
