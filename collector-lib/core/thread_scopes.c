/* SPDX-License-Identifier: Apache-2.0 */
/* A circular array. Scopes mostly end in the reverse order, so that the search begins at
 * the innermost one. */
#include "collector-lib/core/thread_scopes.h"

#define SLOT(scopes, i) ((scopes)->at[((scopes)->first + (i)) % THREAD_SCOPES_MAX])

bool thread_scopes_search(struct thread_scopes *s, uint64_t instance)
{
    uint32_t i = s->count;
    while (i > 0 && SLOT(s, i - 1).instance != instance) {
        i--;
    }
    if (i == 0) {
        return false;
    }
    if (i == 1) { /* the oldest, as in a pipeline: nothing has to move */
        thread_scopes_take_first(s);
        return true;
    }
    for (; i < s->count; i++) {
        SLOT(s, i - 1) = SLOT(s, i);
    }
    s->count--;
    return true;
}

struct thread_scope thread_scopes_take_first(struct thread_scopes *s)
{
    struct thread_scope first = SLOT(s, 0);
    s->first = (s->first + 1) % THREAD_SCOPES_MAX;
    s->count--;
    return first;
}
