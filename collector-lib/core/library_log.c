/* SPDX-License-Identifier: Apache-2.0 */
/* One call of the program's function at a time, under a lock, so that it is not running
 * any more once it was replaced. */
#include "collector-lib/core/library_log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/message.h"
#include "base/text.h"

#define STDERR_WAIT_MS 100

static struct {
    pthread_mutex_t lock; /* tells a thread that it holds it */
    gpufl_log_fn log;     /* NULL = stderr */
    void *arg;
} library = {.lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};

/* A signal that was pending before stays so. */
static void write_without_sigpipe(int fd, const char *text, size_t len)
{
    const struct timespec at_once = {0};
    sigset_t pipe;
    sigset_t old;
    sigset_t pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &old);
    sigpending(&pending);
    ssize_t n = write(fd, text, len);
    if (n < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE)) {
        sigtimedwait(&pipe, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* A pipe that nobody reads any more neither ends the job nor holds it up: one that takes
 * anything takes PIPE_BUF bytes. What finds no room is dropped. */
static void write_to_stderr(const char *line)
{
    static const char prefix[] = "[GPUFL] ";
    char text[PIPE_BUF];
    size_t len = strnlen(line, sizeof text - sizeof prefix);
    struct pollfd out = {.fd = fileno(stderr), .events = POLLOUT};
    int saved = errno;
    memcpy(text, prefix, sizeof prefix - 1);
    memcpy(text + sizeof prefix - 1, line, len);
    len += sizeof prefix - 1;
    text[len++] = '\n';
    if (poll(&out, 1, STDERR_WAIT_MS) == 1 && out.revents & POLLOUT) {
        write_without_sigpipe(out.fd, text, len);
    }
    errno = saved;
}

/* A thread that is cancelled within the program's function would keep the lock. What is
 * to be said within that function goes to stderr. */
static void library_log_line(enum gpufl_log_level level, const char *line)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    bool locked = pthread_mutex_lock(&library.lock) == 0;
    if (locked && library.log) {
        library.log(library.arg, level, line);
    } else {
        write_to_stderr(line);
    }
    if (locked) {
        pthread_mutex_unlock(&library.lock);
    }
    pthread_setcancelstate(state, NULL);
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
    library_log_line(level, line.failed ? "out of memory" : line.data);
    text_fini(&line);
    if (len >= 0) {
        free(text);
    }
}

void library_log_set(gpufl_log_fn log, void *arg)
{
    bool locked = pthread_mutex_lock(&library.lock) == 0;
    library.log = log;
    library.arg = arg;
    if (locked) {
        pthread_mutex_unlock(&library.lock);
    }
}

void library_log_after_fork(void)
{
    pthread_mutex_t fresh = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    library.lock = fresh;
}
