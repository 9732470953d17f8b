/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that wait for their turn. */
#include "upload/engine/engine_internal.h"

void queue_push(struct queue *queue, struct stream *st)
{
    if (!queue->first) {
        queue->last = &queue->first;
    }
    st->next = NULL;
    *queue->last = st;
    queue->last = &st->next;
}

struct stream *queue_pop(struct queue *queue)
{
    struct stream *st = queue->first;
    if (st) {
        queue->first = st->next;
        st->next = NULL;
    }
    return st;
}

/* Behind what waits already. */
void queue_append(struct queue *to, struct queue *from)
{
    if (from->first) {
        *(to->first ? to->last : &to->first) = from->first;
        to->last = from->last;
    }
    *from = (struct queue){0};
}

/* What is written within one flush interval goes at its end, of all sessions together:
 * one sync, one turn. */
uint64_t engine_next_flush(const struct engine *engine, uint64_t now_ms)
{
    uint64_t interval_ms = engine->config.flush_interval_ms;
    return interval_ms ? now_ms - now_ms % interval_ms + interval_ms : now_ms;
}

/* Waiting already, it keeps its place and takes the earlier time. */
void stream_enqueue(struct stream *st, bool live, uint64_t due_ms)
{
    struct engine *engine = st->session->root->engine;
    if (st->drained || !st->waits_since_ms) {
        st->waits_since_ms = engine->config.sys->now_ms();
    }
    st->drained = false;
    if (st->queued) {
        st->due_ms = due_ms < st->due_ms ? due_ms : st->due_ms;
        return;
    }
    st->queued = true;
    st->due_ms = due_ms;
    queue_push(live ? &engine->live : &engine->backlog, st);
}
