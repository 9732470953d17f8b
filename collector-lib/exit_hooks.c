/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers are called in the reverse order of their registration: which of ours comes
 * before that of the runtime depends on when the job sets it up. */
#include "collector-lib/exit_hooks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "collector-lib/call_lock.h"
#include "collector-lib/exit_bound.h"

#define LOADER_PATIENCE 3 /* as long as a session has to end */
#define MOST_BESIDE     64

/* Of the C++ ABI: atexit() with a key, by which it is called and taken out. */
int __cxa_atexit(void (*function)(void *arg), void *arg, void *key);
void __cxa_finalize(void *key);

static struct {
    void (*stop)(bool before_runtime, bool interrupted);
    _Atomic bool hooks, heard; /* a call was told; and that has its handler */
    _Atomic bool given_up;     /* by the handler before */
    _Atomic int stopping;      /* so many threads are in exit(), in a handler of ours */
    _Atomic int registered;    /* handlers for those that come beside them */
} exits;

static void end_at_exit(void);

/* A thread that exits beside one that is in a handler does not find this one: without
 * another to wait in, it would end the process. */
static void register_beside(void)
{
    if (atomic_fetch_add_explicit(&exits.stopping, 1, memory_order_relaxed) > 0 &&
        atomic_fetch_add_explicit(&exits.registered, 1, memory_order_relaxed) <
            MOST_BESIDE) {
        atexit(end_at_exit);
    }
}

static void stop_at_exit(bool before_runtime)
{
    struct held_floats floats;
    register_beside();
    held_floats_begin(&floats);
    int rc = exits.given_up ? ETIMEDOUT : call_lock_soon("exit()");
    exits.given_up = rc == ETIMEDOUT;
    if (rc == 0 || rc == EDEADLK) {
        exits.stop(before_runtime, rc == EDEADLK);
    }
    if (rc == 0) {
        call_lock_release();
    }
    exit_bound(call_lock_patience_ms() * LOADER_PATIENCE);
    held_floats_end(&floats);
    atomic_fetch_sub_explicit(&exits.stopping, 1, memory_order_relaxed);
}

static void end_at_exit(void)
{
    stop_at_exit(false);
}

static void end_traced_at_exit(void)
{
    stop_at_exit(true);
}

bool exit_hooks_prepare(void (*stop)(bool before_runtime, bool interrupted))
{
    exits.stop = stop;
    return atexit(end_at_exit) == 0 && atexit(end_at_exit) == 0;
}

static void end_renewed_at_exit(void *arg)
{
    (void)arg;
    end_at_exit();
}

/* A job may have any number of sessions. */
void exit_hooks_renew(void)
{
    if (!exit_hooks_heard()) {
        __cxa_finalize(&exits);
        __cxa_atexit(end_renewed_at_exit, NULL, &exits);
    }
}

void exit_hooks_at_first_call(void)
{
    if (!atomic_load_explicit(&exits.hooks, memory_order_relaxed) &&
        !atomic_exchange_explicit(&exits.hooks, true, memory_order_relaxed)) {
        atexit(end_traced_at_exit);
        atomic_store_explicit(&exits.heard, true, memory_order_release);
    }
}

bool exit_hooks_heard(void)
{
    return atomic_load_explicit(&exits.heard, memory_order_acquire);
}
