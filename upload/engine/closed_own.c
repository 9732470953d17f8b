/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for the directories of complete sessions that were this user's. */
#include "upload/engine/closed_own.h"

#include <stdio.h>

#include "upload/core/registry.h"
#include "upload/source/directory_mark.h"

struct closed_own {
    const struct root *root;
    struct engine_summary *out;
};

static void closed_own_visit(void *arg, struct parked_session *s)
{
    const struct closed_own *of = arg;
    const struct root *root = of->root;
    struct engine_summary *out = of->out;
    bool counts = s->wanted || !root->engine->config.named;
    struct directory_id known = parked_directory(s);
    if (!counts || !directory_is_closed_own(root->fd, s->node.path, &known)) {
        return;
    }
    out->sessions_blocked++;
    out->sessions_kept_back++;
    if (!out->held[0]) {
        snprintf(out->held, sizeof out->held, "session %s waits: %s", s->node.path,
                 held_text(HELD_DIRECTORY));
        out->held_exit = held_exit(HELD_DIRECTORY);
    }
}

void closed_own_count(const struct engine *engine, struct engine_summary *out)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        struct closed_own of = {.root = root, .out = out};
        parked_each_complete(&root->parked, closed_own_visit, &of);
    }
}
