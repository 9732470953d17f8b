/* SPDX-License-Identifier: Apache-2.0 */
/* An error-checking mutex with a time limit. */
#include "collector-lib/call_lock.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

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
} calls = {.lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
           .patience_ms = SETTINGS_SHUTDOWN_MS + WRITER_LAST_WRITES_MS};

void call_lock_patience(uint64_t ms)
{
    atomic_store_explicit(&calls.patience_ms, ms, memory_order_relaxed);
    library_log_patience(ms);
}

static int take_calls(uint64_t ms)
{
    return fork_guard_forks() ? EAGAIN : thread_lock_within(&calls.lock, ms);
}

int call_lock_soon(const char *call)
{
    uint64_t ms = atomic_load_explicit(&calls.patience_ms, memory_order_relaxed);
    int rc = take_calls(ms);
    if (rc == ETIMEDOUT) {
        library_log(GPUFL_LOG_ERROR,
                    "%s has given up: another call of gpufl has not returned for %" PRIu64
                    " ms (a session that it ends may have no end)",
                    call, ms);
    }
    return rc;
}

bool call_lock_enter(const char *call, int *cancel_state)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel_state);
    int rc = call_lock_soon(call);
    if (rc != 0) {
        pthread_setcancelstate(*cancel_state, NULL);
        errno = rc == ETIMEDOUT ? EBUSY : rc;
    }
    return rc == 0;
}

bool call_lock_try(int *cancel_state)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel_state);
    bool taken = take_calls(TRY_MS) == 0;
    if (!taken) {
        pthread_setcancelstate(*cancel_state, NULL);
    }
    return taken;
}

void call_lock_leave(int cancel_state)
{
    pthread_mutex_unlock(&calls.lock);
    pthread_setcancelstate(cancel_state, NULL);
}

void call_lock_release(void)
{
    pthread_mutex_unlock(&calls.lock);
}

void call_lock_after_fork(void)
{
    calls.lock = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
}
