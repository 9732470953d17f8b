/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine asks the watcher's thread for. */
#ifndef GPUFL_AGENT_WATCH_WATCH_REQUESTS_H
#define GPUFL_AGENT_WATCH_WATCH_REQUESTS_H

#include <pthread.h>

#include "agent/watch/watch_places.h"

struct watch_requests {
    pthread_mutex_t lock; /* of what follows */
    struct watch_place *first;
    struct watch_place **end; /* where to append, unless empty */
};

void watch_requests_init(struct watch_requests *requests);

/** Takes over \p place. */
void watch_requests_add(struct watch_requests *requests, struct watch_place *place);

/** \return all, in order: the last one counts. */
struct watch_place *watch_requests_take(struct watch_requests *requests);

void watch_requests_fini(struct watch_requests *requests);

#endif
