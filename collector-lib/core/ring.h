/* SPDX-License-Identifier: Apache-2.0 */
/* Per-thread single-producer rings of fixed rows between the job's threads and the
 * writer. */
#ifndef GPUFL_COLLECTOR_CORE_RING_H
#define GPUFL_COLLECTOR_CORE_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector-lib/core/stacks.h"
#include "collector-lib/core/thread_scopes.h"
#include "schema/losses.h"

/** How many rows a thread can be ahead of the writer (512 KiB). */
#define RING_ROWS        8192u
#define RING_CACHE_SLOTS 128u
/** A scope's instance is ring id × 2^36 + counter: unique in the process without a shared
 *  counter, and exact in a double (JSON readers) for the first 2^17 threads. */
#define RING_INSTANCE_SHIFT 36

enum row_kind {
    ROW_SCOPE_BEGIN,
    ROW_SCOPE_END,
    ROW_SYSTEM_START,
    ROW_SYSTEM_STOP,
    ROW_CALL, /* a call that starts work on the device; `instance` is its scope's, 0 =
                 none */
    ROW_WAIT, /* a wait of this thread for the device; `mono_ns` is its end */
    ROW_NONE  /* turned out not to count */
};

/** One event, one cache line. */
struct row {
    _Alignas(64) int64_t mono_ns;
    uint64_t instance; /* of a scope; of a call: of the innermost scope */
    uint64_t order;    /* position in its ring: breaks ties of equal times */
    uint32_t name_id;  /* of a call or wait: the correlation id */
    uint32_t ring_id;
    uint16_t depth;
    uint16_t generation; /* which session it belongs to */
    uint8_t kind;
    uint8_t type;      /* of a wait; of a call: the kind of `value`, 0 = none */
    uint32_t stack_id; /* of a call or wait, 0 = none */
    uint32_t context;  /* of a wait, as the two below */
    uint64_t value;    /* ns of a wait; id that a framework pushed before a call; of
                          the begin of a scope: the instance in which it began, 0 =
                          none; of its end, for the writer: when it began */
    union {
        struct {
            uint32_t stream, event;
        };
        struct {
            uint32_t repeat, warmup; /* of the begin of a scope */
        };
    };
};
_Static_assert(sizeof(struct row) == 64, "a cache line");

/* A literal is found by its address; what it points to is compared, too. */
struct ring_cached_name {
    const char *given;
    const char *text;
    uint32_t id;
};

/** Written by its thread, except `tail`, which the writer writes. */
struct ring {
    _Alignas(64) _Atomic uint64_t head; /* rows published */
    uint64_t seen_tail;
    uint64_t next_instance;
    _Atomic uint64_t called; /* rows up to the last call, since it began */
    uint32_t id;
    uint16_t generation;
    _Atomic uint64_t lost[LOSS_RING_KINDS];
    _Atomic bool abandoned; /* its thread has ended */
    uint32_t elsewhere_seen;
    _Atomic uint32_t elsewhere; /* scopes of this ring that other threads have ended */
    /* Guarded by the lock of all rings: */
    uint64_t *ended; /* instances that its thread has not taken out yet */
    size_t ended_count, ended_cap;
    bool closing; /* its thread is ending */
    struct rings *rings;
    struct ring *next;
    _Alignas(64) _Atomic uint64_t tail; /* rows consumed */
    uint64_t awaited; /* for the writer: up to which it waits for calls */
    struct ring_cached_name cache[RING_CACHE_SLOTS];
    struct stacks_cached stack[STACKS_CACHE_SLOTS];
    struct thread_scopes scopes; /* slots are reserved for their ends */
    struct row row[RING_ROWS];
};
_Static_assert(THREAD_SCOPES_MAX <= RING_ROWS / 2, "begins and ends fit");

/** All rings of the process. Initialise with RINGS_INIT. A signal handler that interrupts
 * who has the lock does not get it: what it records is lost. */
struct rings {
    pthread_mutex_t lock;
    struct ring *first;
    uint32_t last_id;
    uint32_t count;
    uint64_t lost_by_gone[LOSS_RING_KINDS]; /* by rings that were freed */
    _Atomic uint64_t without_ring;          /* LOSS_NO_MEMORY */
};

#define RINGS_INIT                                                                       \
    {                                                                                    \
        .lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP                                  \
    }

/** Makes a ring for the calling thread, NULL without memory. rings_drain frees it once
 * it is abandoned and empty. */
struct ring *rings_add(struct rings *rings);

/** Producer: true if \p rows more fit, besides the ends of all open scopes. */
bool ring_has_room(struct ring *ring, uint32_t rows);

/** Producer: publishes \p row. The caller has checked that there is room. */
void ring_push(struct ring *ring, const struct row *row);

/** Producer: the same for a call, for which rings_await_calls looks. */
void ring_push_call(struct ring *ring, const struct row *row);

/** Removes the scopes that other threads have ended. */
void ring_take_ended(struct ring *ring);

/** Takes note of the scopes that other threads have ended. To be called by the thread of
 * \p ring before it looks at its scopes. */
static inline void ring_refresh(struct ring *ring)
{
    if (atomic_load_explicit(&ring->elsewhere, memory_order_relaxed) !=
        ring->elsewhere_seen) {
        ring_take_ended(ring);
    }
}

/** Takes note for the last time; later ends by other threads are refused. */
void ring_close(struct ring *ring);

/** Tells the thread of \p instance that the scope has ended. False if that thread has
 * ended, or without memory. */
bool rings_end_elsewhere(struct rings *rings, uint64_t instance);

/** Rows taken out of the rings; zero-initialise, free `row` with free(). */
struct row_list {
    struct row *row;
    size_t count;
    size_t cap;
};

/** Rows of one drain. Zero-initialise; release with ring_rows_fini. */
struct ring_rows {
    struct row_list now;
    struct row_list later; /* ends of scopes by other threads: see rings_drain */
    uint32_t share;        /* what the last drain took from a ring at most, but for … */
    uint32_t awaited;      /* … so many, which hold calls yet: see rings_await_calls */
    size_t ripening;       /* the first ones of `later`, which come after … */
    uint32_t ripe_in;      /* … so many rows more of each ring */
    uint32_t asked;        /* rows of each ring to drain yet: see rings_ask */
    uint32_t asked_behind; /* so many more if ends by other threads wait then */
};

/** Consumer: empties rows->now, moves waiting rows of \p generation into it, of each ring
 * at most rows->share, and sorts them by time. Rows of other sessions are discarded. The
 * end of a scope by another thread comes with a later drain, so that all that happened
 * before it has come. \return true if more may be waiting. */
bool rings_drain(struct rings *rings, uint16_t generation, struct ring_rows *rows);

/** Asks for what the rings hold now: while rows->asked is not 0, more of it may be to
 * drain. What threads go on recording does not count. */
void rings_ask(struct rings *rings, struct ring_rows *rows);

/** Waits for the calls that the rings hold now: while rows->awaited is not 0, some are to
 * drain, and their rings get half of each drain for themselves. */
void rings_await_calls(struct rings *rings, struct ring_rows *rows);

void ring_rows_fini(struct ring_rows *rows);

/** Producer: counts what does not become a row. */
void ring_count_lost(struct ring *ring, enum loss kind);

/** The same for a thread whose ring cannot be made. */
void rings_count_without(struct rings *rings);

/** Fills in the kinds that rings count, since the process began. */
void rings_losses(struct rings *rings, struct losses *out);

#endif
