/* SPDX-License-Identifier: Apache-2.0 */
/* Not by a condition: a signal's handler that calls exit() may have interrupted who
 * waits. The kernel's word for it is the number of a call, which nobody holds. */
#include "collector-lib/files/files_thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/thread.h"
#include "collector-lib/files/own_table.h"

#define NS_PER_S 1000000000
#define LOOK_MS  100 /* or else the disk hangs */

static void ring(void);

static struct {
    pthread_mutex_t turn; /* of who asks */
    pthread_t thread;
    bool runs;
    _Atomic bool shares;     /* the table of the job */
    void (*what)(void *arg); /* NULL = to end */
    void *arg;
    int error;
    _Atomic uint32_t asked, done; /* so many calls */
    _Atomic uint32_t bell;        /* rings when one has returned, or has said something */
    struct library_log_kept said;
} files = {.turn = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, .said = {.tell = ring}};

static __thread bool is_this;

static void sleep_while(_Atomic uint32_t *at, uint32_t value, const struct timespec *most)
{
    syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, value, most, NULL, 0);
}

static void change(_Atomic uint32_t *at, uint32_t value)
{
    atomic_store_explicit(at, value, memory_order_release);
    syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void ring(void)
{
    change(&files.bell, atomic_load_explicit(&files.bell, memory_order_relaxed) + 1);
}

/* Pairs with the release of who asks: what it asks for is there. */
static void await_call(uint32_t before)
{
    while (atomic_load_explicit(&files.asked, memory_order_acquire) == before) {
        sleep_while(&files.asked, before, NULL);
    }
}

static void *serve(void *arg)
{
    is_this = true;
    bool low = false;
    bool apart = !own_table_is_filtered() && own_table_take(&low);
    atomic_store_explicit(&files.shares, !apart, memory_order_relaxed);
    library_log_keep(&files.said);
    for (uint32_t done = 0;;) {
        await_call(done);
        if (!files.what) {
            return arg;
        }
        low = low && own_table_keep_low();
        files.what(files.arg);
        files.error = errno;
        atomic_store_explicit(&files.done, ++done, memory_order_release);
        ring();
    }
}

void files_thread_begin(void)
{
    pthread_mutex_lock(&files.turn);
    if (!files.runs) {
        atomic_store_explicit(&files.asked, 0, memory_order_relaxed);
        atomic_store_explicit(&files.done, 0, memory_order_relaxed);
        atomic_store_explicit(&files.shares, true, memory_order_relaxed);
        files.runs = thread_start(&files.thread, THREAD_FILES, serve, NULL) == 0;
    }
    pthread_mutex_unlock(&files.turn);
}

/* The acquire pairs with the release of the thread: what the call did is seen. */
static bool await_by(int64_t by_ns)
{
    for (;;) {
        uint32_t bell = atomic_load_explicit(&files.bell, memory_order_acquire);
        uint32_t asked = atomic_load_explicit(&files.asked, memory_order_relaxed);
        bool done = atomic_load_explicit(&files.done, memory_order_acquire) == asked;
        library_log_pass(&files.said);
        int64_t left_ns = by_ns - clock_mono_ns();
        if (done || left_ns <= 0) {
            return done;
        }
        const struct timespec left = {.tv_sec = left_ns / NS_PER_S,
                                      .tv_nsec = left_ns % NS_PER_S};
        sleep_while(&files.bell, bell, &left);
    }
}

void files_thread_await(void)
{
    pthread_mutex_lock(&files.turn);
    if (files.runs) {
        await_by(INT64_MAX);
    }
    pthread_mutex_unlock(&files.turn);
}

static void ask_for(void (*what)(void *arg), void *arg)
{
    files.what = what;
    files.arg = arg;
    change(&files.asked, atomic_load_explicit(&files.asked, memory_order_relaxed) + 1);
}

bool files_thread_do_by(void (*what)(void *arg), void *arg, int64_t by_ns)
{
    if (!files.runs || is_this) {
        what(arg);
        return true;
    }
    pthread_mutex_lock(&files.turn);
    await_by(INT64_MAX); /* what was given up may have returned just now */
    ask_for(what, arg);
    bool done = await_by(by_ns);
    int error = done ? files.error : errno;
    pthread_mutex_unlock(&files.turn);
    errno = error;
    return done;
}

void files_thread_do(void (*what)(void *arg), void *arg)
{
    files_thread_do_by(what, arg, INT64_MAX);
}

bool files_thread_is_apart(void)
{
    return files.runs && !atomic_load_explicit(&files.shares, memory_order_relaxed);
}

bool files_thread_try(void (*what)(void *arg), void *arg, uint64_t ms)
{
    if (thread_lock_within(&files.turn, ms) != 0) {
        return false;
    }
    bool free = files_thread_is_apart() && await_by(0);
    if (free) {
        ask_for(what, arg);
        await_by(INT64_MAX);
    }
    pthread_mutex_unlock(&files.turn);
    return free;
}

struct apart_call {
    void (*what)(void *arg);
    void *arg;
    bool made;
};

static void *make_apart(void *arg)
{
    struct apart_call *call = arg;
    bool holds_low;
    if (own_table_take(&holds_low)) {
        if (holds_low) {
            own_table_keep_low();
        }
        call->what(call->arg);
        call->made = true;
    }
    return NULL;
}

/* Filters may have come since the session began. To look opens a file, which the thread
 * of files does in its own table. */
static void look_for_filter(void *arg)
{
    bool *filtered = arg;
    *filtered = own_table_is_filtered();
}

void files_thread_call_apart(enum thread_kind kind, void (*what)(void *arg), void *arg)
{
    pthread_t thread;
    bool filtered = true;
    struct apart_call call = {what, arg, false};
    files_thread_try(look_for_filter, &filtered, LOOK_MS);
    if (!filtered && thread_start(&thread, kind, make_apart, &call) == 0) {
        pthread_join(thread, NULL);
    }
    if (!call.made) {
        what(arg);
    }
}

void files_thread_end(void)
{
    pthread_mutex_lock(&files.turn);
    if (files.runs) {
        await_by(INT64_MAX);
        ask_for(NULL, NULL);
        pthread_join(files.thread, NULL);
        files.runs = false;
    }
    pthread_mutex_unlock(&files.turn);
}

bool files_thread_after_fork(void)
{
    bool shared = !files.runs || is_this ||
                  atomic_load_explicit(&files.shares, memory_order_relaxed);
    files.runs = is_this = false;
    /* Who passes on what is said may have forked, and be about to let it go. */
    files.turn = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    atomic_store_explicit(&files.done,
                          atomic_load_explicit(&files.asked, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&files.said.last, NULL, memory_order_relaxed);
    return shared;
}
