/* SPDX-License-Identifier: Apache-2.0 */
/* Grows the buffer for long lines, and shrinks it after them. */
#include "upload/core/raw_lines.h"

#include <stdlib.h>

#include "base/json_text.h"
#include "schema/protocol.h"

#define RECORD_MAX_DEPTH 64

static bool raw_lines_resize(struct engine *engine, size_t cap)
{
    char *raw = realloc(engine->raw, cap + 1);
    if (raw) {
        engine->raw = raw;
        engine->raw_cap = cap;
    }
    return raw != NULL;
}

bool raw_lines_grow(struct engine *engine, size_t cap)
{
    return (engine->raw && engine->raw_cap >= cap) || raw_lines_resize(engine, cap);
}

gpufl_status raw_lines_read(struct engine *engine, const struct tail_where *where,
                            struct tail_chunk *out)
{
    return raw_lines_grow(engine, PROTOCOL_MAX_LINE_BYTES)
               ? tail_read(engine->config.sys, where, engine->raw, engine->raw_cap, out)
               : GPUFL_ERR_NOMEM;
}

bool raw_lines_is_record(const struct engine *engine, size_t len)
{
    return json_is_object(engine->raw, len, RECORD_MAX_DEPTH);
}

void raw_lines_shrink(struct engine *engine)
{
    if (engine->raw_cap > engine->config.max_batch_bytes) {
        (void)!raw_lines_resize(engine, engine->config.max_batch_bytes);
    }
}

void raw_lines_close(struct engine *engine)
{
    free(engine->raw);
    engine->raw = NULL;
}
