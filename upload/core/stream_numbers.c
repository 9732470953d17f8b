/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table with chaining: the numbers are given in turn, and so spread by
 * themselves. */
#include "upload/core/stream_numbers.h"

#include <stdlib.h>

static struct stream **numbers_bucket(struct stream_numbers *numbers, uint32_t id)
{
    return numbers->buckets ? &numbers->bucket[id & (numbers->buckets - 1)]
                            : &numbers->single;
}

static void numbers_put(struct stream_numbers *numbers, struct stream *st)
{
    struct stream **bucket = numbers_bucket(numbers, st->id);
    st->next_numbered = *bucket;
    *bucket = st;
}

/* Doubles the number of chains once there are as many streams; without memory the chains
 * get longer. */
static void numbers_grow(struct stream_numbers *numbers)
{
    struct stream_numbers more = {.buckets = numbers->buckets ? 2 * numbers->buckets
                                                              : STREAM_NUMBERS_AT_FIRST,
                                  .count = numbers->count};
    if (numbers->count < numbers->buckets ||
        !(more.bucket = calloc(more.buckets, sizeof *more.bucket))) {
        return;
    }
    for (unsigned i = 0; i < (numbers->buckets ? numbers->buckets : 1); i++) {
        struct stream **chain = numbers_bucket(numbers, i);
        for (struct stream *st = *chain, *next; st; st = next) {
            next = st->next_numbered;
            numbers_put(&more, st);
        }
    }
    free(numbers->bucket);
    *numbers = more;
}

static void numbers_remove(struct stream_numbers *numbers, const struct stream *st)
{
    struct stream **link = numbers_bucket(numbers, st->id);
    while (*link != st) {
        link = &(*link)->next_numbered;
    }
    *link = st->next_numbered;
    numbers->count--;
}

struct stream *stream_numbered(const struct root *root, uint32_t id)
{
    const struct stream_numbers *numbers = &root->numbers;
    struct stream *st =
        numbers->buckets ? numbers->bucket[id & (numbers->buckets - 1)] : numbers->single;
    while (st && st->id != id) {
        st = st->next_numbered;
    }
    return st;
}

void stream_set_number(struct stream *st, uint32_t id)
{
    struct stream_numbers *numbers = &st->session->root->numbers;
    if (st->id) {
        numbers_remove(numbers, st);
    }
    st->id = id;
    if (id) {
        numbers_grow(numbers);
        numbers_put(numbers, st);
        numbers->count++;
    }
}

void stream_numbers_close(struct root *root)
{
    free(root->numbers.bucket);
}
