/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the origin takes the key. */
#ifndef GPUFL_UPLOAD_CORE_ORIGIN_PROOF_H
#define GPUFL_UPLOAD_CORE_ORIGIN_PROOF_H

#include "upload/core/origin.h"

/** \return true while data may be sent to it, as far as it is known. */
bool origin_takes(const struct origin *origin);

/** Asks whether it takes the key, if that must be known. */
void origin_ask_proof(struct origin *origin, uint64_t now_ms);

/** Handles the answer to that: its tag is &origin->asks_proof. */
void origin_on_proof(struct origin *origin, const struct transport_reply *reply,
                     uint64_t now_ms);

/** Notes an answer to another request: a success proves the key. */
void origin_note_proof(struct origin *origin, const struct transport_reply *reply);

/** The key was replaced. */
void origin_forget_proof(struct origin *origin);

#endif
