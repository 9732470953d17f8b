/* SPDX-License-Identifier: Apache-2.0 */
/* Joins what happens in one directory within a round. */
#include "agent/watch/watch_hints.h"

#include <stdio.h>
#include <string.h>

void watch_hints_init(struct watch_hints *h)
{
    h->half[0].shares.limit = h->half[1].shares.limit = WATCH_HINTS_MAX;
    h->round = 1; /* 0 is the mark of a directory that had no hint yet */
    pthread_mutex_init(&h->lock, NULL);
}

/* A writer writes to its lock file before it appends, which tells nothing new. */
static void join_hint(struct watch_hint *hint, const struct watch_news *more)
{
    if (more->what > hint->what) {
        hint->what = more->what;
    }
    hint->told = more->told ? more->told : hint->told;
    if (hint->what == HINT_GREW && strcmp(hint->file, LAYOUT_LOCK) == 0) {
        snprintf(hint->file, sizeof hint->file, "%s", more->file);
    } else if (strcmp(hint->file, more->file) != 0 &&
               !(hint->what == HINT_GREW && strcmp(more->file, LAYOUT_LOCK) == 0)) {
        hint->file[0] = '\0';
    }
}

bool watch_hints_add(struct watch_hints *h, struct watch_mark *mark,
                     const struct watch_news *news)
{
    bool added = true;
    pthread_mutex_lock(&h->lock);
    struct watch_half *half = &h->half[h->round & 1];
    if (mark && mark->round == h->round) {
        join_hint(&half->hint[mark->hint], news);
    } else if (half->count < WATCH_HINTS_MAX &&
               shares_have_room(&half->shares, news->owner, 1)) {
        shares_add(&half->shares, news->owner, 1);
        struct watch_hint *hint = &half->hint[half->count];
        hint->root = news->root;
        hint->what = news->what;
        hint->told = news->told;
        snprintf(hint->file, sizeof hint->file, "%s", news->file);
        snprintf(hint->session, sizeof hint->session, "%s", news->session);
        if (mark) {
            *mark = (struct watch_mark){.round = h->round, .hint = half->count};
        }
        half->count++;
    } else {
        added = false;
    }
    pthread_mutex_unlock(&h->lock);
    return added;
}

void watch_hints_set_overflowed(struct watch_hints *h)
{
    atomic_store_explicit(&h->overflowed, true, memory_order_relaxed);
}

size_t watch_hints_take(struct watch_hints *h, const struct watch_hint **first)
{
    pthread_mutex_lock(&h->lock);
    const struct watch_half *half = &h->half[h->round & 1];
    h->round++;
    struct watch_half *next = &h->half[h->round & 1];
    next->count = 0;
    shares_close(&next->shares);
    next->shares.amount = 0;
    pthread_mutex_unlock(&h->lock);
    *first = half->hint;
    return half->count;
}

bool watch_hints_overflowed(struct watch_hints *h)
{
    return atomic_exchange_explicit(&h->overflowed, false, memory_order_relaxed);
}

void watch_hints_fini(struct watch_hints *h)
{
    shares_close(&h->half[0].shares);
    shares_close(&h->half[1].shares);
    pthread_mutex_destroy(&h->lock);
}
