/* SPDX-License-Identifier: Apache-2.0 */
/* Handles the backend's answer to an offer. */
#ifndef GPUFL_UPLOAD_ENGINE_ACK_H
#define GPUFL_UPLOAD_ENGINE_ACK_H

#include <stdint.h>

#include "upload/core/offer.h"
#include "upload/http/transport.h"

void ack_reply(struct offer *offer, const struct transport_reply *reply, uint64_t now_ms);

#endif
