/* SPDX-License-Identifier: Apache-2.0 */
/* Offers that are sent again: after a backoff, by a person's help, in another encoding.
 * No position moves here. */
#ifndef GPUFL_UPLOAD_ENGINE_RETRY_H
#define GPUFL_UPLOAD_ENGINE_RETRY_H

#include <stdint.h>

#include "upload/core/offer.h"
#include "upload/http/transport.h"

/** No answer, or one that says that it cannot now. While others succeed, the offer backs
 * off by itself, else the origin does. */
void retry_after_failure(struct offer *offer, const struct transport_reply *reply,
                         uint64_t now_ms);

/** 402: the workspace is at its limit, and the session waits. */
void retry_at_quota(struct offer *offer, uint64_t now_ms);

/** 415: the origin reads no zstd, so it is sent as gzip. */
void retry_plain_codec(struct offer *offer, uint64_t now_ms);

/** The origin waits for a person. */
void retry_when_mended(struct offer *offer, const struct transport_reply *reply,
                       uint64_t now_ms);

#endif
