/* SPDX-License-Identifier: Apache-2.0 */
/* Whose offer is made, and whose is sent, while there are many or the backend fails: each
 * owner has its turn, however many offers of others wait or fail. */
#ifndef GPUFL_UPLOAD_ENGINE_SEND_ORDER_H
#define GPUFL_UPLOAD_ENGINE_SEND_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/engine_state.h"

/** Frames of so many bytes are large: the loop has made enough for a turn, and no more
 * are made than can be sent. */
#define ENOUGH_FRAME_BYTES (64u << 10)

/** Counts the full batches that are offered and do not fail alone, and those that are
 * under way. */
void send_order_count_full(struct engine *engine, uint64_t now_ms);

/** \return true if one more full batch may be made, besides those that small requests
 * may become. */
bool send_order_has_room_for_full(const struct engine *engine);

/** \return false for a full batch while as many are under way as the pace allows. */
bool send_order_keeps_pace(const struct offer *offer);

/** \return true if one more offer may be made, of any owner. */
bool send_order_has_room(const struct engine *engine, uint64_t now_ms);

/** Takes out the stream of which an offer is made next: of any owner, or of one of whom
 * no offer waits. Those that are likely to make a full batch wait for no token; \p token
 * tells whether one was taken. Each stream is looked at once, until send_order_rewind.
 * \return NULL if there is none. */
struct stream *send_order_take(struct engine *engine, bool any_owner, bool *token,
                               uint64_t now_ms);

/** Puts those that were passed over back in their places. */
void send_order_rewind(struct engine *engine);

/** \return true if it may be sent once the origin takes it; a token is there for it. */
bool send_order_is_due(const struct offer *offer, uint64_t now_ms);

/** Notes whose offers wait: others may have one made, also while there is no room. */
void send_order_mark(struct engine *engine, uint64_t now_ms);

/** Notes that an offer of \p owner waits. */
void send_order_mark_one(struct engine *engine, uint32_t owner);

/** \return true if an offer of \p owner waits, as of send_order_mark. */
bool send_order_is_marked(const struct engine *engine, uint32_t owner);

/** \return true if more offers are due than may be under way, or the backend fails: they
 * are not sent in their order, but by send_order_next. */
bool send_order_by_owner(const struct engine *engine, uint64_t now_ms);

/** \return the offer that is sent next: of the owner whose last one is the longest ago;
 * of that owner the first one, or, while the backend fails, one that has not failed. NULL
 * if there is none that may be sent. */
struct offer *send_order_next(const struct engine *engine, uint64_t now_ms);

/** \return true if the backend fails, and an offer is there that will show whether it
 * still does: no other is made. Each is another stream's, so that one that fails alone
 * does not stand for all of them. */
bool send_order_has_probe(const struct engine *engine, uint64_t now_ms);

#endif
