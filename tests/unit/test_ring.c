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

static void free_all(struct rings *rings, struct ring_rows *list)
{
    for (struct ring *r = rings->first; r; r = r->next) {
        atomic_store(&r->abandoned, true);
    }
    while (rings_drain(rings, 1, list)) {
    }
    assert_null(rings->first);
    ring_rows_fini(list);
}

static void rows_of_all_rings_are_ordered_by_time(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct ring_rows list = {0};
    struct ring *a = rings_add(&rings);
    struct ring *b = rings_add(&rings);
    push(a, 10, 1);
    push(a, 30, 2);
    push(a, 30, 3);
    push(b, 20, 4);
    push(b, 30, 5);
    assert_false(rings_drain(&rings, 1, &list));
    static const uint64_t want[] = {1, 4, 2, 3, 5};
    assert_int_equal(list.now.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(list.now.row[i].instance, want[i]);
    }
    rings_drain(&rings, 1, &list);
    assert_int_equal(list.now.count, 0);
    free_all(&rings, &list);
}

static void a_full_ring_keeps_room_for_the_ends_of_open_scopes(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct ring_rows list = {0};
    struct ring *ring = rings_add(&rings);
    uint32_t begun = 0;
    while (ring_has_room(ring, 2)) {
        push(ring, begun, begun);
        thread_scopes_push(&ring->scopes, (struct thread_scope){.instance = begun});
        begun++;
    }
    assert_int_equal(begun, RING_ROWS / 2);
    while (ring->scopes.count) {
        push(ring, begun, 0); /* every end fits */
        thread_scopes_take_first(&ring->scopes);
    }
    assert_false(ring_has_room(ring, 1));
    rings_drain(&rings, 1, &list);
    assert_int_equal(list.now.count, RING_ROWS);
    assert_true(ring_has_room(ring, 1));
    free_all(&rings, &list);
}

static uint64_t instance_of(const struct ring *ring, uint64_t number)
{
    return (uint64_t)ring->id << RING_INSTANCE_SHIFT | number;
}

static void an_end_by_another_thread_comes_after_all_that_was_before(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct ring_rows list = {0};
    struct ring *a = rings_add(&rings);
    struct ring *b = rings_add(&rings);
    uint64_t scope = instance_of(b, 1);
    ring_push(
        a, &(struct row){
               .mono_ns = 30, .instance = scope, .generation = 1, .kind = ROW_SCOPE_END});
    assert_true(rings_drain(&rings, 1, &list)); /* b may not have been read that far */
    assert_int_equal(list.now.count, 0);
    push(b, 30, scope);
    push(b, 40, 2);
    assert_false(rings_drain(&rings, 1, &list));
    assert_int_equal(list.now.count, 3);
    assert_int_equal(list.now.row[0].kind, ROW_SCOPE_BEGIN);
    assert_int_equal(list.now.row[1].kind, ROW_SCOPE_END);
    assert_int_equal(list.now.row[2].instance, 2);
    free_all(&rings, &list);
}

#define HOT 40

static void fill(struct ring *ring)
{
    while (ring_has_room(ring, 1)) {
        push(ring, 1, 1);
    }
}

static void a_drain_takes_as_much_of_each_ring(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct ring_rows list = {0};
    struct ring *ring[HOT];
    size_t got = 0;
    for (unsigned i = 0; i < HOT; i++) {
        fill(ring[i] = rings_add(&rings));
    }
    rings_ask(&rings, &list);
    assert_true(rings_drain(&rings, 1, &list));
    assert_true(list.now.count <= 16384);
    for (unsigned i = 0; i < HOT; i++) {
        assert_int_equal(ring[i]->tail, list.share);
    }
    for (bool more = true; more;) {
        got += list.now.count;
        assert_true(list.asked > 0);
        more = rings_drain(&rings, 1, &list);
    }
    assert_int_equal(got + list.now.count, HOT * RING_ROWS);
    assert_int_equal(list.asked, 0);
    free_all(&rings, &list);
}

static void what_is_recorded_after_it_was_asked_for_is_not_waited_for(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct ring_rows list = {0};
    struct ring *ring[HOT];
    for (unsigned i = 0; i < HOT; i++) {
        fill(ring[i] = rings_add(&rings));
    }
    rings_ask(&rings, &list);
    while (list.asked) {
        assert_true(rings_drain(&rings, 1, &list));
        for (unsigned i = 0; i < HOT; i++) {
            fill(ring[i]);
        }
    }
    for (unsigned i = 0; i < HOT; i++) {
        assert_true(ring[i]->tail >= RING_ROWS);
        assert_true(ring[i]->tail < RING_ROWS + list.share);
    }
    free_all(&rings, &list);
}

static void push_call(struct ring *ring)
{
    ring_push_call(ring, &(struct row){.mono_ns = 1, .generation = 1, .kind = ROW_CALL});
}

static size_t calls_in(const struct ring_rows *list)
{
    size_t calls = 0;
    for (size_t i = 0; i < list->now.count; i++) {
        calls += list->now.row[i].kind == ROW_CALL;
    }
    return calls;
}

static void calls_wait_for_their_own_ring_alone(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct ring_rows list = {0};
    struct ring *ring[HOT];
    for (unsigned i = 0; i < HOT; i++) {
        ring[i] = rings_add(&rings);
        if (i > 0) {
            fill(ring[i]);
        }
    }
    for (unsigned i = 0; i < RING_ROWS - 1; i++) {
        push(ring[0], 1, 1);
    }
    push_call(ring[0]);
    rings_await_calls(&rings, &list);
    assert_int_equal(list.awaited, 1);
    assert_true(rings_drain(&rings, 1, &list));
    assert_int_equal(list.awaited, 0);
    assert_int_equal(calls_in(&list), 1);
    assert_true(list.now.count <= 16384);
    for (unsigned i = 1; i < HOT; i++) { /* which go on */
        assert_true(ring[i]->tail > 0);
    }
    push_call(ring[0]); /* not asked for */
    assert_int_equal(list.awaited, 0);
    free_all(&rings, &list);
}

static void calls_of_all_rings_come_within_a_ring_of_each(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct ring_rows list = {0};
    struct ring *ring[HOT];
    size_t calls = 0, drained = 0;
    for (unsigned i = 0; i < HOT; i++) {
        ring[i] = rings_add(&rings);
        while (ring_has_room(ring[i], 2)) {
            push(ring[i], 1, 1);
        }
        push_call(ring[i]);
    }
    rings_await_calls(&rings, &list);
    assert_int_equal(list.awaited, HOT);
    while (list.awaited) {
        rings_drain(&rings, 1, &list);
        assert_true(list.now.count <= 16384);
        calls += calls_in(&list);
        drained += list.now.count;
        for (unsigned i = 0; i < HOT; i++) {
            fill(ring[i]);
        }
    }
    assert_int_equal(calls, HOT);
    assert_true(drained < HOT * RING_ROWS + 16384);
    free_all(&rings, &list);
}

static void an_end_by_another_thread_comes_while_rings_are_never_empty(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct ring_rows list = {0};
    struct ring *a = rings_add(&rings);
    struct ring *b = rings_add(&rings);
    struct ring *c = rings_add(&rings);
    bool begun = false, ended = false;
    fill(b);
    uint64_t scope = instance_of(b, 1);
    b->row[(b->head - 1) % RING_ROWS].instance = scope; /* the last one */
    ring_push(
        a, &(struct row){
               .mono_ns = 2, .instance = scope, .generation = 1, .kind = ROW_SCOPE_END});
    rings_ask(&rings, &list);
    while (!ended && list.asked) {
        fill(a);
        fill(b);
        fill(c);
        assert_true(rings_drain(&rings, 1, &list));
        for (size_t i = 0; i < list.now.count && !ended; i++) {
            begun = begun || list.now.row[i].instance == scope;
            ended = list.now.row[i].kind == ROW_SCOPE_END;
        }
    }
    assert_true(begun && ended);
    free_all(&rings, &list);
}

static void scopes_end_in_any_order_and_on_any_thread(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct ring_rows list = {0};
    struct ring *ring = rings_add(&rings);
    for (uint64_t i = 1; i <= THREAD_SCOPES_MAX; i++) {
        thread_scopes_push(&ring->scopes,
                           (struct thread_scope){.instance = instance_of(ring, i)});
    }
    for (uint64_t i = 1; i <= 10; i++) { /* as in a pipeline, round the circle */
        assert_int_equal(thread_scopes_take_first(&ring->scopes).instance,
                         instance_of(ring, i));
        thread_scopes_push(&ring->scopes, (struct thread_scope){.instance = i});
    }
    assert_true(thread_scopes_remove(&ring->scopes, 9));
    assert_false(thread_scopes_remove(&ring->scopes, 9));
    assert_int_equal(thread_scopes_last(&ring->scopes)->instance, 10);
    assert_true(thread_scopes_remove(&ring->scopes, 10));
    assert_int_equal(thread_scopes_last(&ring->scopes)->instance, 8);
    assert_true(rings_end_elsewhere(&rings, instance_of(ring, 11)));
    assert_true(rings_end_elsewhere(&rings, instance_of(ring, 4000)));
    ring_refresh(ring);
    assert_int_equal(ring->scopes.count, THREAD_SCOPES_MAX - 4);
    assert_int_equal(thread_scopes_take_first(&ring->scopes).instance,
                     instance_of(ring, 12));
    ring_close(ring);
    assert_false(rings_end_elsewhere(&rings, instance_of(ring, 12)));
    assert_false(rings_end_elsewhere(&rings, instance_of(ring, 1) << 1));
    free_all(&rings, &list);
}

static void rows_of_another_session_are_thrown_away(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct ring_rows list = {0};
    struct ring *ring = rings_add(&rings);
    push(ring, 1, 1);
    rings_drain(&rings, 2, &list);
    assert_int_equal(list.now.count, 0);
    free_all(&rings, &list);
}

#define THREADS 4
#define EACH    100000

/* As in a signal handler that interrupts the one who has the lock. */
static void within_the_lock_nothing_waits_for_it(void **state)
{
    (void)state;
    struct rings rings = RINGS_INIT;
    struct ring_rows list = {0};
    struct ring *ring = rings_add(&rings);
    uint64_t instance = (uint64_t)ring->id << RING_INSTANCE_SHIFT | 1;
    thread_scopes_push(&ring->scopes, (struct thread_scope){.instance = instance});
    assert_true(rings_end_elsewhere(&rings, instance));
    pthread_mutex_lock(&rings.lock);
    assert_null(rings_add(&rings));
    assert_false(rings_end_elsewhere(&rings, instance));
    ring_refresh(ring);
    assert_int_equal(ring->scopes.count, 1);
    pthread_mutex_unlock(&rings.lock);
    ring_refresh(ring);
    assert_int_equal(ring->scopes.count, 0);
    free_all(&rings, &list);
}

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
    struct ring_rows list = {0};
    pthread_t thread[THREADS];
    uint64_t next[THREADS + 1] = {0};
    size_t got = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread[i], NULL, produce, rings_add(&rings));
    }
    while (got < THREADS * EACH) {
        rings_drain(&rings, 1, &list);
        for (size_t i = 0; i < list.now.count; i++) {
            assert_int_equal(list.now.row[i].instance, next[list.now.row[i].ring_id]++);
        }
        got += list.now.count;
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
        cmocka_unit_test(an_end_by_another_thread_comes_after_all_that_was_before),
        cmocka_unit_test(a_drain_takes_as_much_of_each_ring),
        cmocka_unit_test(what_is_recorded_after_it_was_asked_for_is_not_waited_for),
        cmocka_unit_test(calls_wait_for_their_own_ring_alone),
        cmocka_unit_test(calls_of_all_rings_come_within_a_ring_of_each),
        cmocka_unit_test(an_end_by_another_thread_comes_while_rings_are_never_empty),
        cmocka_unit_test(scopes_end_in_any_order_and_on_any_thread),
        cmocka_unit_test(a_full_ring_keeps_room_for_the_ends_of_open_scopes),
        cmocka_unit_test(within_the_lock_nothing_waits_for_it),
        cmocka_unit_test(rows_of_another_session_are_thrown_away),
        cmocka_unit_test(nothing_is_lost_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
