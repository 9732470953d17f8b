/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the last settled batch again. */
#include "upload/engine/proof.h"

#include "base/crc32c.h"
#include "upload/core/engine_state.h"

/* \return false if it cannot be read now. */
static bool proof_read(const struct stream *st, uint32_t *crc)
{
    struct engine *engine = st->session->root->engine;
    struct tail_where where = stream_where(st);
    struct tail_chunk chunk;
    *crc = 0;
    for (where.offset = st->proof_begin; where.offset < st->offset;
         where.offset += chunk.len) {
        uint64_t left = st->offset - where.offset;
        size_t want = left < engine->raw_cap ? (size_t)left : engine->raw_cap;
        if (tail_read(engine->config.sys, &where, engine->raw, want, &chunk) !=
                GPUFL_OK ||
            chunk.len == 0) {
            return false;
        }
        *crc = crc32c(*crc, engine->raw, chunk.len);
    }
    return true;
}

bool proof_holds(struct stream *st)
{
    uint32_t crc;
    if (st->proved || st->session->layout != SESSION_LIVE) {
        return true;
    }
    if (st->proof_crc32c == 0) {
        st->proved = true;
        return true;
    }
    if (!proof_read(st, &crc)) {
        return true; /* that a file is missing or shorter is found by reading on */
    }
    st->proved = crc == st->proof_crc32c;
    if (!st->proved) {
        stream_hold(st, "its file holds other bytes than were sent from it");
    }
    return st->proved;
}
