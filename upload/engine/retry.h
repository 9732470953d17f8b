/* SPDX-License-Identifier: Apache-2.0 */
/* Offers that are sent again: after a backoff, after a person has acted, in another
 * encoding. No position moves here. */
#ifndef GPUFL_UPLOAD_ENGINE_RETRY_H
#define GPUFL_UPLOAD_ENGINE_RETRY_H

#include <stdint.h>

#include "upload/core/offer.h"
#include "upload/http/transport.h"

/** After no answer, or one that asks for a retry: the offer backs off alone if others
 * succeed, else the whole origin does. */
void retry_after_failure(struct offer *offer, const struct transport_reply *reply,
                         uint64_t now_ms);

/** The offer backs off alone: the origin works, but not for this one. */
void retry_alone(struct offer *offer, const char *why, uint64_t now_ms);

/** After 402, when the workspace is at its limit, or a verdict of an answer \p status by
 * which there is no room: the session waits. */
void retry_at_quota(struct offer *offer, int status, uint64_t now_ms);

/** After 415: the origin does not read zstd, so it is sent as gzip. */
void retry_plain_codec(struct offer *offer, uint64_t now_ms);

/** After an answer that a person must act on. */
void retry_when_mended(struct offer *offer, const struct transport_reply *reply,
                       uint64_t now_ms);

#endif
