/* SPDX-License-Identifier: Apache-2.0 */
/* A watcher as the engine may expect one: it tells what happens in the directories that
 * it was asked to watch, late and with several things joined to one hint, but all of it.
 */
#ifndef GPUFL_TESTS_TELLER_H
#define GPUFL_TESTS_TELLER_H

#include "upload/engine/engine.h"

#define TELLER_SESSIONS 8

struct teller {
    struct engine *engine;
    struct {
        char id[129];
        bool watched;
        bool waits;   /**< something happened that was not told yet */
        bool changed; /**< more than growth */
        char file[64];
    } session[TELLER_SESSIONS];
};

/** From now on for \p engine, which has asked for nothing yet. */
void teller_begin(struct teller *teller, struct engine *engine);

/** Asks the engine what is to be watched. */
void teller_ask(struct teller *teller);

/** \p file of a session grew, or with NULL anything else happened there. */
void teller_note(struct teller *teller, const char *id, const char *file);

/** Tells all that was noted of a session; \p id NULL: of all of them. */
void teller_tell(struct teller *teller, const char *id);

#endif
