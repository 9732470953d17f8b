/* SPDX-License-Identifier: Apache-2.0 */
/* A list that is handed over as a whole. */
#include "agent/watch/watch_requests.h"

void watch_requests_init(struct watch_requests *r)
{
    pthread_mutex_init(&r->lock, NULL);
}

void watch_requests_add(struct watch_requests *r, struct watch_place *place)
{
    pthread_mutex_lock(&r->lock);
    *(r->first ? r->end : &r->first) = place;
    r->end = &place->next;
    pthread_mutex_unlock(&r->lock);
}

struct watch_place *watch_requests_take(struct watch_requests *r)
{
    pthread_mutex_lock(&r->lock);
    struct watch_place *first = r->first;
    r->first = NULL;
    pthread_mutex_unlock(&r->lock);
    return first;
}

void watch_requests_fini(struct watch_requests *r)
{
    watch_place_list_free(r->first);
    pthread_mutex_destroy(&r->lock);
}
