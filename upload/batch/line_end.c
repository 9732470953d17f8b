/* SPDX-License-Identifier: Apache-2.0 */
/* Searches a batch's size at a time, as the end may be very far: a file with a hole costs
 * its owner nothing. Others have their turns between. */
#include "upload/batch/line_end.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/crc32c_combine.h"
#include "upload/source/tail.h"

#define AGAIN_MS 1000u

uint64_t line_end_searched(const struct stream *st)
{
    const struct stream_search *search = &st->search;
    bool same = search->file == st->file && search->begin == st->offset &&
                search->head == st->head;
    return same ? search->end : 0;
}

bool line_end_find(struct stream *st, uint64_t from, uint32_t crc, uint64_t *end)
{
    struct engine *engine = st->session->root->engine;
    uint64_t now_ms = engine->config.sys->now_ms();
    struct tail_where where = stream_where(st);
    struct tail_chunk chunk;
    where.offset = from;
    where.tells_holes = true;
    gpufl_status status = tail_read(engine->config.sys, &where, engine->raw,
                                    engine->config.max_batch_bytes, &chunk);
    if (status == GPUFL_BUSY) {
        stream_decode_on(st);
        return false;
    }
    st->search = (struct stream_search){0};
    if (status != GPUFL_OK) {
        stream_enqueue(st, false, now_ms + AGAIN_MS); /* from the line's begin */
        return false;
    }
    engine->made_bytes += chunk.len;
    bool final = chunk.sealed || session_writer_is_gone(st->session);
    const char *newline = memchr(engine->raw, '\n', chunk.len);
    size_t len = newline ? (size_t)(newline - engine->raw) + 1 : chunk.len;
    *end = from + len + chunk.hole;
    crc = crc32c_zeros(crc32c(crc, engine->raw, len), chunk.hole);
    if (newline || (chunk.at_end && final)) {
        st->search.crc = crc;
        return true;
    }
    st->search = (struct stream_search){
        .head = st->head, .begin = st->offset, .end = *end, .crc = crc, .file = st->file};
    if (!chunk.at_end) {
        stream_enqueue(st, false, now_ms + 1);
    }
    st->unfinished = chunk.at_end;
    return false; /* also if it is still being written */
}
