/* SPDX-License-Identifier: Apache-2.0 */
/* Tells open pages which session has changed, by server-sent events. */
#ifndef GPUFL_BACKEND_HTTP_HTTP_CHANGES_H
#define GPUFL_BACKEND_HTTP_HTTP_CHANGES_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "schema/layout.h"

#define CHANGES_LISTENERS_MAX 64u
#define CHANGES_RECENT        64u

struct change_listener;

/** Zero-initialise, except for the lock. */
struct changes {
    pthread_mutex_t lock;
    uint64_t count;                                    /**< of changes so far */
    char session[CHANGES_RECENT][LAYOUT_NAME_MAX + 1]; /**< the last ones, by count */
    struct change_listener *listener[CHANGES_LISTENERS_MAX];
    bool closing;
};

/** Something of \p session was stored. */
void changes_note(struct changes *changes, const char *session);

/** Begins a stream of events on \p c. \return NULL when too many listen already. */
struct MHD_Response *changes_listen(struct changes *changes, struct MHD_Connection *c);

/** Ends all streams: before the daemon stops. */
void changes_close(struct changes *changes);

#endif
