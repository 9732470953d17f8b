/* SPDX-License-Identifier: Apache-2.0 */
/* An array of marks and paths, which is made anew after each listing: what is in it may
 * be no stray any more, or forgotten. */
#include "upload/core/strays.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static uint32_t strays_hash(uint64_t mark)
{
    return (uint32_t)(mark ^ mark >> 32);
}

bool strays_add(struct root *root, const struct session *session)
{
    struct strays *strays = &root->strays;
    uint64_t mark = session->directory.mark;
    char *path = strdup(session->path);
    struct stray *more =
        array_grown(strays->stray, strays->by_mark.count, &strays->cap, sizeof *more);
    strays->stray = more ? more : strays->stray;
    if (!path || !more || !lookup_add(&strays->by_mark, strays_hash(mark))) {
        free(path);
        return false;
    }
    more[strays->by_mark.count - 1] = (struct stray){.mark = mark, .path = path};
    return true;
}

bool strays_any(const struct root *root)
{
    return root->strays.by_mark.count > 0;
}

void strays_each(struct root *root, uint64_t mark,
                 void (*visit)(struct session *session, const char *path),
                 const char *path)
{
    const struct strays *strays = &root->strays;
    for (size_t at = lookup_first(&strays->by_mark, strays_hash(mark)); at != LOOKUP_NONE;
         at = lookup_next(&strays->by_mark, at)) {
        struct session *s = session_find(root, strays->stray[at].path);
        if (s && s->stray && s->directory.mark == mark) {
            visit(s, path);
        }
    }
}

void strays_clear(struct root *root)
{
    struct strays *strays = &root->strays;
    for (size_t i = 0; i < strays->by_mark.count; i++) {
        free(strays->stray[i].path);
    }
    free(strays->stray);
    lookup_close(&strays->by_mark);
    *strays = (struct strays){0};
}
