/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI has one pair of callbacks for all its clients, so who registers gets what another
 * lent: a buffer that comes back is looked for among ours, and one that is not there is
 * never read, written or freed. Ours begin where their memory does: a client that frees
 * what it gets harms nobody. The pool keeps its memory, since CUPTI may hold a buffer
 * until the process ends. */
#include "collector-lib/cupti/buffers.h"

#include <pthread.h>
#include <stdlib.h>

#define ALIGNMENT 64 /* a cache line */

static struct {
    pthread_mutex_t lock;
    size_t bytes;
    unsigned max, made, out;
    struct buffer *free;
    struct buffer *lent;          /* CUPTI has them */
    struct buffer *first, **last; /* completed */
    bool ran_out;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &pool.first};

void buffers_configure(size_t bytes, unsigned max)
{
    pthread_mutex_lock(&pool.lock);
    if (pool.bytes != bytes) {
        while (pool.free) { /* of another size */
            struct buffer *b = pool.free;
            pool.free = b->next;
            pool.made--;
            free(b->bytes);
            free(b);
        }
    }
    pool.bytes = bytes;
    pool.max = max;
    pool.ran_out = false;
    pthread_mutex_unlock(&pool.lock);
}

static struct buffer *make(void)
{
    struct buffer *b = malloc(sizeof *b);
    uint8_t *bytes = aligned_alloc(ALIGNMENT, pool.bytes);
    if (!b || !bytes) {
        free(b);
        free(bytes);
        return NULL;
    }
    b->bytes = bytes;
    pool.made++;
    return b;
}

uint8_t *buffers_request(size_t *size)
{
    pthread_mutex_lock(&pool.lock);
    struct buffer *b = pool.free;
    if (b) {
        pool.free = b->next;
    } else if (pool.made < pool.max) {
        b = make();
    }
    if (b) {
        b->next = pool.lent;
        pool.lent = b;
        pool.out++;
    }
    pool.ran_out |= !b;
    *size = b ? pool.bytes : 0;
    pthread_mutex_unlock(&pool.lock);
    return b ? b->bytes : NULL;
}

/* Takes the buffer out of those that are lent; NULL if it is not one of them. */
static struct buffer *take_lent(const uint8_t *bytes)
{
    struct buffer **at = &pool.lent;
    while (*at && (*at)->bytes != bytes) {
        at = &(*at)->next;
    }
    struct buffer *b = *at;
    if (b) {
        *at = b->next;
    }
    return b;
}

bool buffers_complete(uint8_t *bytes, size_t valid)
{
    pthread_mutex_lock(&pool.lock);
    struct buffer *b = take_lent(bytes);
    if (b) {
        b->valid = valid;
        b->next = NULL;
        *pool.last = b;
        pool.last = &b->next;
    }
    pthread_mutex_unlock(&pool.lock);
    return b != NULL;
}

struct buffer *buffers_take(void)
{
    pthread_mutex_lock(&pool.lock);
    struct buffer *first = pool.first;
    pool.first = NULL;
    pool.last = &pool.first;
    pthread_mutex_unlock(&pool.lock);
    return first;
}

void buffers_release(struct buffer *b)
{
    pthread_mutex_lock(&pool.lock);
    b->next = pool.free;
    pool.free = b;
    pool.out--;
    pthread_mutex_unlock(&pool.lock);
}

bool buffers_ran_out(void)
{
    pthread_mutex_lock(&pool.lock);
    bool ran_out = pool.ran_out;
    pool.ran_out = false;
    pthread_mutex_unlock(&pool.lock);
    return ran_out;
}

unsigned buffers_out(void)
{
    pthread_mutex_lock(&pool.lock);
    unsigned out = pool.out;
    pthread_mutex_unlock(&pool.lock);
    return out;
}
