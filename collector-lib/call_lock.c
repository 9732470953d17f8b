/* SPDX-License-Identifier: Apache-2.0 */
/* An error-checking mutex with a time limit. */
#include "collector-lib/call_lock.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "collector-lib/core/fork_guard.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/settings.h"
#include "collector-lib/core/thread.h"
#include "collector-lib/writer/writer.h"

#define TRY_MS 200

_Static_assert(LIBRARY_LOG_PATIENCE_MS == SETTINGS_SHUTDOWN_MS + WRITER_LAST_WRITES_MS,
               "calls wait for a function of the program as for each other");

static struct {
    pthread_mutex_t lock;
    _Atomic uint64_t patience_ms;
    _Atomic pid_t recorder; /* the process of the session; 0 = none runs */
} calls = {.lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
           .patience_ms = SETTINGS_SHUTDOWN_MS + WRITER_LAST_WRITES_MS};

void call_lock_patience(uint64_t ms)
{
    atomic_store_explicit(&calls.patience_ms, ms, memory_order_relaxed);
    library_log_patience(ms);
}

uint64_t call_lock_patience_ms(void)
{
    return atomic_load_explicit(&calls.patience_ms, memory_order_relaxed);
}

void call_lock_keep_for(pid_t process)
{
    atomic_store_explicit(&calls.recorder, process, memory_order_relaxed);
}

bool call_lock_is_others(void)
{
    pid_t recorder = atomic_load_explicit(&calls.recorder, memory_order_relaxed);
    return recorder && recorder != getpid();
}

static int take_calls(uint64_t ms)
{
    return fork_guard_forks()      ? EAGAIN
           : call_lock_is_others() ? ECHILD
                                   : thread_lock_within(&calls.lock, ms);
}

int call_lock_soon(const char *call)
{
    uint64_t ms = call_lock_patience_ms();
    int rc = take_calls(ms);
    if (rc == ETIMEDOUT) {
        library_log(GPUFL_LOG_ERROR,
                    "%s has given up: another call of gpufl has not returned for %" PRIu64
                    " ms (a session that it ends may have no end)",
                    call, ms);
    }
    return rc;
}

static void call_hold_begin(struct call_hold *hold)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &hold->cancel_state);
    held_floats_begin(&hold->floats);
}

static void call_hold_end(const struct call_hold *hold)
{
    held_floats_end(&hold->floats);
    pthread_setcancelstate(hold->cancel_state, NULL);
}

bool call_lock_enter(const char *call, struct call_hold *hold)
{
    call_hold_begin(hold);
    int rc = call_lock_soon(call);
    if (rc != 0) {
        call_hold_end(hold);
        errno = rc == ETIMEDOUT ? EBUSY : rc;
    }
    return rc == 0;
}

bool call_lock_try(struct call_hold *hold)
{
    call_hold_begin(hold);
    bool taken = take_calls(TRY_MS) == 0;
    if (!taken) {
        call_hold_end(hold);
    }
    return taken;
}

void call_lock_leave(const struct call_hold *hold)
{
    pthread_mutex_unlock(&calls.lock);
    call_hold_end(hold);
}

void call_lock_release(void)
{
    pthread_mutex_unlock(&calls.lock);
}

void call_lock_after_fork(void)
{
    call_lock_keep_for(0);
    calls.lock = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
}
