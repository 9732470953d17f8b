/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps room in front of what is read, so that nothing is moved to put a line there. */
#include "upload/core/raw_lines.h"

#include <stdlib.h>
#include <string.h>

#include "upload/http/positions_text.h"

static bool raw_lines_resize(struct engine *engine, size_t cap)
{
    char *old = engine->raw ? engine->raw - POSITIONS_LINE_MAX : NULL;
    char *raw = realloc(old, POSITIONS_LINE_MAX + cap + 1);
    if (raw) {
        engine->raw = raw + POSITIONS_LINE_MAX;
        engine->raw_cap = cap;
    }
    return raw != NULL;
}

bool raw_lines_grow(struct engine *engine, size_t cap)
{
    return (engine->raw && engine->raw_cap >= cap) || raw_lines_resize(engine, cap);
}

void raw_lines_shrink(struct engine *engine)
{
    if (engine->raw_cap > engine->config.max_batch_bytes) {
        (void)!raw_lines_resize(engine, engine->config.max_batch_bytes);
    }
}

const char *raw_lines_prepend(struct engine *engine, const char *line, size_t len)
{
    return memcpy(engine->raw - len, line, len);
}

void raw_lines_close(struct engine *engine)
{
    if (engine->raw) {
        free(engine->raw - POSITIONS_LINE_MAX);
        engine->raw = NULL;
    }
}
