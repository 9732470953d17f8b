/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from many threads come out once, in time order; only whole pairs drop. */
#include "tests/support/check.h"

#include <pthread.h>
#include <stdlib.h>

#include "collector-lib/core/ring.h"

static void push(struct ring *ring, int64_t t, uint64_t instance)
{
    ring_push(ring, &(struct row){.mono_ns = t, .instance = instance, .generation = 1});
}

static void free_all(struct rings *rings, struct row_list *list)
{
    for (struct ring *r = rings->first; r; r = r->next) {
        atomic_store(&r->abandoned, true);
    }
    rings_drain(rings, 1, list);
    assert_null(rings->first);
    free(list->row);
}

static void rows_of_all_rings_are_ordered_by_time(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct row_list list = {0};
    struct ring *a = rings_add(&rings);
    struct ring *b = rings_add(&rings);
    push(a, 10, 1);
    push(a, 30, 2);
    push(a, 30, 3);
    push(b, 20, 4);
    push(b, 30, 5);
    assert_false(rings_drain(&rings, 1, &list));
    static const uint64_t want[] = {1, 4, 2, 3, 5};
    assert_int_equal(list.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(list.row[i].instance, want[i]);
    }
    rings_drain(&rings, 1, &list);
    assert_int_equal(list.count, 0);
    free_all(&rings, &list);
}

static void a_full_ring_keeps_room_for_the_ends_of_open_scopes(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct row_list list = {0};
    struct ring *ring = rings_add(&rings);
    uint32_t begun = 0;
    while (ring_has_room(ring, 2)) {
        push(ring, begun, begun);
        ring->open++;
        begun++;
    }
    assert_int_equal(begun, RING_ROWS / 2);
    while (ring->open) {
        push(ring, begun, 0); /* every end fits */
        ring->open--;
    }
    assert_false(ring_has_room(ring, 1));
    rings_drain(&rings, 1, &list);
    assert_int_equal(list.count, RING_ROWS);
    assert_true(ring_has_room(ring, 1));
    free_all(&rings, &list);
}

static void rows_of_another_session_are_thrown_away(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct row_list list = {0};
    struct ring *ring = rings_add(&rings);
    push(ring, 1, 1);
    rings_drain(&rings, 2, &list);
    assert_int_equal(list.count, 0);
    free_all(&rings, &list);
}

#define THREADS 4
#define EACH    100000

static void *produce(void *arg)
{
    struct ring *ring = arg;
    for (int64_t i = 0; i < EACH;) {
        if (ring_has_room(ring, 1)) {
            push(ring, i, (uint64_t)i);
            i++;
        }
    }
    atomic_store(&ring->abandoned, true);
    return NULL;
}

static void nothing_is_lost_between_threads(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct row_list list = {0};
    pthread_t thread[THREADS];
    uint64_t next[THREADS + 1] = {0};
    size_t got = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread[i], NULL, produce, rings_add(&rings));
    }
    while (got < THREADS * EACH) {
        rings_drain(&rings, 1, &list);
        for (size_t i = 0; i < list.count; i++) {
            assert_int_equal(list.row[i].instance, next[list.row[i].ring_id]++);
        }
        got += list.count;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    free_all(&rings, &list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_all_rings_are_ordered_by_time),
        cmocka_unit_test(a_full_ring_keeps_room_for_the_ends_of_open_scopes),
        cmocka_unit_test(rows_of_another_session_are_thrown_away),
        cmocka_unit_test(nothing_is_lost_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
