/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer's header is in front of its bytes, so that it is found from the pointer that
 * CUPTI returns. The pool keeps its memory, since CUPTI may hold a buffer until the
 * process ends. */
#include "collector-lib/cupti/buffers.h"

#include <pthread.h>
#include <stdlib.h>

#define HEADER 64 /* a cache line; keeps the bytes aligned */

_Static_assert(sizeof(struct buffer) <= HEADER, "the header fits");

static struct {
    pthread_mutex_t lock;
    size_t bytes;
    unsigned max, made, out;
    struct buffer *free;
    struct buffer *first, **last; /* completed */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &pool.first};

void buffers_configure(size_t bytes, unsigned max)
{
    pthread_mutex_lock(&pool.lock);
    if (pool.bytes != bytes) {
        while (pool.free) { /* of another size */
            struct buffer *b = pool.free;
            pool.free = b->next;
            pool.made--;
            free(b);
        }
    }
    pool.bytes = bytes;
    pool.max = max;
    pthread_mutex_unlock(&pool.lock);
}

static struct buffer *make(void)
{
    struct buffer *b = aligned_alloc(HEADER, HEADER + pool.bytes);
    if (b) {
        b->bytes = (uint8_t *)b + HEADER;
        pool.made++;
    }
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
    pool.out += b != NULL;
    *size = b ? pool.bytes : 0;
    pthread_mutex_unlock(&pool.lock);
    return b ? b->bytes : NULL;
}

void buffers_complete(uint8_t *bytes, size_t valid)
{
    struct buffer *b = (struct buffer *)(void *)(bytes - HEADER);
    b->valid = valid;
    b->next = NULL;
    pthread_mutex_lock(&pool.lock);
    *pool.last = b;
    pool.last = &b->next;
    pthread_mutex_unlock(&pool.lock);
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

unsigned buffers_out(void)
{
    pthread_mutex_lock(&pool.lock);
    unsigned out = pool.out;
    pthread_mutex_unlock(&pool.lock);
    return out;
}
