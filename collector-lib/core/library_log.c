/* SPDX-License-Identifier: Apache-2.0 */
/* One call of the program's function at a time, under a lock, so that it is not running
 * any more once it was replaced. Who waits for a call may hold what that waits for. */
#include "collector-lib/core/library_log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/held_signals.h"
#include "base/message.h"
#include "base/text.h"
#include "collector-lib/core/clock.h"
#include "collector-lib/core/fork_guard.h"
#include "collector-lib/core/own_fd.h"
#include "collector-lib/core/thread.h"

#define STDERR_WAIT_MS 100

static struct {
    pthread_mutex_t lock; /* tells a thread that it holds it */
    gpufl_log_fn log;     /* NULL = stderr */
    void *arg;
    _Atomic int64_t since_ns; /* the function was called; 0 = it has returned */
    _Atomic int64_t said_ns;  /* the call of which it was said that it hangs */
    _Atomic uint64_t patience_ms;
    /* Of the file that standard error is. */
    _Atomic int number;
    _Atomic uint64_t device, inode;
} library = {.lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
             .patience_ms = LIBRARY_LOG_PATIENCE_MS,
             .number = -1};

__attribute__((constructor)) void library_log_note_stderr(void)
{
    struct stat st;
    int number = fileno(stderr);
    bool is_open = number >= 0 && fstat(number, &st) == 0;
    atomic_store_explicit(&library.number, is_open ? number : -1, memory_order_relaxed);
    if (is_open) {
        atomic_store_explicit(&library.device, st.st_dev, memory_order_relaxed);
        atomic_store_explicit(&library.inode, st.st_ino, memory_order_relaxed);
    }
}

/* \return -1 if its number is closed, or has another file, which may be one of the job's
 * data: where a job has closed standard error, the next file that it opens. */
static int number_of_stderr(void)
{
    const struct own_fd noted = {
        .fd = atomic_load_explicit(&library.number, memory_order_relaxed),
        .device = atomic_load_explicit(&library.device, memory_order_relaxed),
        .inode = atomic_load_explicit(&library.inode, memory_order_relaxed)};
    return own_fd_is_ours(&noted) ? noted.fd : -1;
}

void library_log_patience(uint64_t ms)
{
    atomic_store_explicit(&library.patience_ms, ms, memory_order_relaxed);
}

/* Of the signals that a write may raise, and that would end or stop the job: nobody reads
 * the pipe, the file may not grow, the job is in the background of the terminal (with
 * SIGTTOU blocked, the write succeeds: termios(3)). */
static void write_without_signals(int fd, const struct iovec *part, int parts)
{
    static const int may_come[] = {SIGPIPE, SIGXFSZ, SIGTTOU, 0};
    struct held_signals held;
    held_signals_begin(&held, may_come);
    ssize_t n = writev(fd, part, parts);
    held_signals_end(&held, n >= 0           ? 0
                            : errno == EPIPE ? SIGPIPE
                            : errno == EFBIG ? SIGXFSZ
                                             : 0);
}

/* A pipe that nobody reads any more neither ends the job nor holds it up: one that takes
 * anything takes PIPE_BUF bytes. What finds no room is dropped. Nothing is copied: who
 * exits in a handler on an alternate stack has a few KiB. */
static void write_to_stderr(const char *line)
{
    static const char prefix[] = "[GPUFL] ";
    size_t most = PIPE_BUF - sizeof prefix; /* a newline in place of the zero */
    const struct iovec part[] = {{(char *)prefix, sizeof prefix - 1},
                                 {(char *)line, strnlen(line, most)},
                                 {"\n", 1}};
    int saved = errno;
    struct pollfd out = {.fd = number_of_stderr(), .events = POLLOUT};
    if (out.fd >= 0 && poll(&out, 1, STDERR_WAIT_MS) == 1 && out.revents & POLLOUT) {
        write_without_signals(out.fd, part, 3);
    }
    errno = saved;
}

static void call_program(enum gpufl_log_level level, const char *line)
{
    char ours[THREAD_NAME_BYTES];
    bool lent = thread_lend(ours);
    atomic_store_explicit(&library.since_ns, clock_mono_ns(), memory_order_relaxed);
    library.log(library.arg, level, line);
    atomic_store_explicit(&library.since_ns, 0, memory_order_relaxed);
    if (lent) {
        thread_rename(ours);
    }
}

static void say_hung(const char *given_up)
{
    char line[200];
    snprintf(line, sizeof line,
             "the function of gpufl_set_log_callback has not returned for %" PRIu64
             " ms: %s (it may be waiting for a lock of a thread that waits for gpufl)",
             atomic_load_explicit(&library.patience_ms, memory_order_relaxed), given_up);
    write_to_stderr(line);
}

/* Waits for a call, however often, no longer than its time: those that come later do not
 * wait for it again. */
static int lock_library(void)
{
    if (fork_guard_is_forsaken()) {
        return EDEADLK;
    }
    int64_t since_ns = atomic_load_explicit(&library.since_ns, memory_order_relaxed);
    uint64_t gone_ms = since_ns ? (uint64_t)(clock_mono_ns() - since_ns) / 1000000 : 0;
    uint64_t ms = atomic_load_explicit(&library.patience_ms, memory_order_relaxed);
    return thread_lock_within(&library.lock, gone_ms < ms ? ms - gone_ms : 0);
}

static bool lock_to_log(void)
{
    int rc = lock_library();
    int64_t call_ns = atomic_load_explicit(&library.since_ns, memory_order_relaxed);
    if (rc == ETIMEDOUT && call_ns &&
        atomic_exchange_explicit(&library.said_ns, call_ns, memory_order_relaxed) !=
            call_ns) {
        say_hung("until it does, messages are written here");
    }
    return rc == 0;
}

/* A thread that is cancelled within the program's function would keep the lock. What is
 * to be said within that function goes to stderr. */
static void library_log_line(enum gpufl_log_level level, const char *line)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    bool locked = lock_to_log();
    if (locked && library.log) {
        call_program(level, line);
    } else {
        write_to_stderr(line);
    }
    if (locked) {
        pthread_mutex_unlock(&library.lock);
    }
    pthread_setcancelstate(state, NULL);
}

struct kept_message {
    struct kept_message *before;
    enum gpufl_log_level level;
    char text[];
};

static __thread struct library_log_kept *keeps;

void library_log_keep(struct library_log_kept *kept)
{
    keeps = kept;
}

/* Without memory, it is not said. */
static void keep_message(enum gpufl_log_level level, const char *text)
{
    size_t size = strlen(text) + 1;
    struct kept_message *line = malloc(sizeof *line + size);
    if (line) {
        line->level = level;
        memcpy(line->text, text, size);
        line->before = atomic_load_explicit(&keeps->last, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&keeps->last, &line->before, line,
                                                      memory_order_release,
                                                      memory_order_relaxed)) {
        }
        keeps->tell();
    }
}

/* The first one that was kept is the last of the list. */
void library_log_pass(struct library_log_kept *kept)
{
    struct kept_message *first = NULL;
    struct kept_message *line =
        atomic_exchange_explicit(&kept->last, NULL, memory_order_acquire);
    while (line) {
        struct kept_message *before = line->before;
        line->before = first;
        first = line;
        line = before;
    }
    while (first) {
        struct kept_message *next = first->before;
        library_log_line(first->level, first->text);
        free(first);
        first = next;
    }
}

void library_log(enum gpufl_log_level level, const char *format, ...)
{
    struct text line = {0};
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    message_put_escaped(&line, len < 0 ? "out of memory" : text);
    text_append(&line, "", 1);
    (keeps ? keep_message : library_log_line)(level,
                                              line.failed ? "out of memory" : line.data);
    text_fini(&line);
    if (len >= 0) {
        free(text);
    }
}

gpufl_status gpufl_set_log_callback(gpufl_log_fn log, void *arg)
{
    int rc = lock_library();
    if (rc == ETIMEDOUT) {
        say_hung("it stays set");
        return GPUFL_BUSY;
    }
    library.log = log;
    library.arg = arg;
    if (rc == 0) {
        pthread_mutex_unlock(&library.lock);
    }
    return GPUFL_OK;
}

void library_log_after_fork(void)
{
    pthread_mutex_t fresh = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    library.lock = fresh;
    atomic_store_explicit(&library.since_ns, 0, memory_order_relaxed);
    keeps = NULL;
}
