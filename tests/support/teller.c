/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/teller.h"

#include <stdio.h>
#include <string.h>

void teller_begin(struct teller *teller, struct engine *engine)
{
    memset(teller, 0, sizeof *teller);
    teller->engine = engine;
}

static unsigned index_of(struct teller *teller, const char *id)
{
    unsigned i = 0;
    while (teller->session[i].id[0] && strcmp(teller->session[i].id, id) != 0) {
        i++;
    }
    snprintf(teller->session[i].id, sizeof teller->session[i].id, "%s", id);
    return i;
}

static void on_visit(void *arg, unsigned root, const char *root_path, const char *id,
                     bool done)
{
    struct teller *teller = arg;
    (void)root;
    (void)root_path;
    if (id[0]) {
        teller->session[index_of(teller, id)].watched = !done;
        teller_note(teller, id, NULL); /* what happened before the watch was there */
    }
}

void teller_ask(struct teller *teller)
{
    engine_visit_changed(teller->engine, on_visit, teller);
}

void teller_note(struct teller *teller, const char *id, const char *file)
{
    unsigned i = index_of(teller, id);
    if (!teller->session[i].watched) {
        return;
    }
    if (!file) {
        teller->session[i].changed = true;
    } else if (!teller->session[i].waits) {
        snprintf(teller->session[i].file, sizeof teller->session[i].file, "%s", file);
    } else if (strcmp(teller->session[i].file, file) != 0) {
        teller->session[i].file[0] = '\0';
    }
    teller->session[i].waits = true;
}

void teller_tell(struct teller *teller, const char *id)
{
    for (unsigned i = 0; i < TELLER_SESSIONS && teller->session[i].id[0]; i++) {
        if (!teller->session[i].waits || (id && strcmp(teller->session[i].id, id) != 0)) {
            continue;
        }
        if (teller->session[i].changed) {
            engine_touch(teller->engine, 0, teller->session[i].id);
        } else {
            engine_grew(teller->engine, 0, teller->session[i].id,
                        teller->session[i].file);
        }
        teller->session[i].waits = teller->session[i].changed = false;
        teller->session[i].file[0] = '\0';
    }
}
