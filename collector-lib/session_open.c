/* SPDX-License-Identifier: Apache-2.0 */
/* What is on disk is looked at by the thread of files, which is left alone if it hangs.
 * It gets copies: who gives it up goes on with what it was given. */
#include "collector-lib/session_open.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/core/config_file.h"
#include "collector-lib/core/fork_guard.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/files/files_thread.h"
#include "collector-lib/job/job_threads.h"
#include "collector-lib/session_messages.h"
#include "collector-lib/trace/profiler.h"
#include "collector-lib/writer/writer.h"

/* What it is at, for the message if it does not return. */
enum place { PLACE_FILE, PLACE_ROOTS, PLACE_DIRECTORY };

struct session_opening {
    void (*step)(struct session_opening *o); /* that the thread is to do */
    struct config_file file;
    char *roots; /* as they were set */
    bool roots_by_code;
    struct source_roots found;
    char roots_fault[SOURCE_ROOTS_FAULT_BYTES];
    char log_path[PATH_MAX];
    struct session_dir dir;
    gpufl_status status;
    int error;
    bool opened;
    uint64_t limit_ms;
    int64_t by_ns;
    _Atomic enum place place;
    _Atomic bool over;  /* the step has been done, or was given up */
    _Atomic bool ended; /* the thread needs nothing of this any more */
    bool given_up;
};

static void read_file(struct session_opening *o)
{
    config_file_read(&o->file);
}

/* A list of the environment or of a file keeps no job from recording. */
static void find_roots(struct session_opening *o)
{
    o->status = source_roots_resolve(o->roots, &o->found, o->roots_fault);
    if (o->status == GPUFL_ERR_USAGE && !o->roots_by_code) {
        o->found.paths[0] = '\0';
        o->status = GPUFL_OK;
    }
}

/* A fork waits, so that its child sees each descriptor that it got, and closes it. */
static void open_directory(struct session_opening *o)
{
    find_roots(o);
    if (o->status == GPUFL_OK) {
        atomic_store_explicit(&o->place, PLACE_DIRECTORY, memory_order_relaxed);
        fork_guard_enter();
        o->status = session_dir_open(&o->dir, o->log_path);
        o->error = errno;
        o->opened = o->status == GPUFL_OK;
        fork_guard_leave();
    }
}

static void do_step(void *arg)
{
    struct session_opening *o = arg;
    o->step(o);
    if (atomic_exchange_explicit(&o->over, true, memory_order_acq_rel) && o->opened) {
        session_dir_discard(&o->dir);
    }
    atomic_store_explicit(&o->ended, true, memory_order_release);
}

/* \return false if it was given up. */
static bool do_in_time(struct session_opening *o)
{
    if (files_thread_do_by(do_step, o, o->by_ns)) {
        return true;
    }
    if (atomic_exchange_explicit(&o->over, true, memory_order_acq_rel)) {
        files_thread_await(); /* it has come to its end just now */
        return true;
    }
    job_threads_watch();
    return false;
}

static gpufl_status say_given_up(const struct session_opening *o)
{
    switch (atomic_load_explicit(&o->place, memory_order_relaxed)) {
    case PLACE_FILE:
        return session_says_given_up("read the configuration file", o->file.path,
                                     o->limit_ms);
    case PLACE_ROOTS:
        return session_says_given_up("look up source_roots", o->roots, o->limit_ms);
    case PLACE_DIRECTORY:
        break;
    }
    return session_says_given_up("create a session in", o->log_path, o->limit_ms);
}

/* \return GPUFL_OK if it was done, whatever came of it. */
static gpufl_status take_step(struct session_opening *o, enum place place,
                              void (*step)(struct session_opening *o))
{
    o->step = step;
    atomic_store_explicit(&o->place, place, memory_order_relaxed);
    atomic_store_explicit(&o->over, false, memory_order_relaxed);
    atomic_store_explicit(&o->ended, false, memory_order_relaxed);
    o->given_up = !do_in_time(o);
    return o->given_up ? say_given_up(o) : GPUFL_OK;
}

static gpufl_status take_settings(struct session_opening *o,
                                  const struct gpufl_init_options *given,
                                  struct settings *settings, char why[256])
{
    gpufl_status status = GPUFL_OK;
    settings_name_file(given, &o->file);
    if (*o->file.path && !*o->file.fault) {
        status = take_step(o, PLACE_FILE, read_file);
    }
    if (status == GPUFL_OK) {
        status = settings_join(given, &o->file, settings, why);
    }
    if (status == GPUFL_OK) {
        const char *roots = o->file.options.source_roots;
        o->roots_by_code = roots == given->source_roots;
        o->roots = strdup(roots ? roots : "");
        status = o->roots ? GPUFL_OK : GPUFL_ERR_NOMEM;
    }
    return status;
}

static void configure(struct session_dir *dir, const struct settings *settings)
{
    dir->rotate_bytes = settings->rotate_bytes;
    dir->rotate_after_ns = (int64_t)settings->rotate_after_ms * 1000000;
    dir->sync_each_write = settings->sync_each_write;
    dir->with_sass = settings->source_collection && profiler_samples(settings->engine) &&
                     settings->max_engine >= GPUFL_ENGINE_PC_SAMPLING;
}

static void say_roots_fault(const struct session_opening *o)
{
    bool by_env = o->file.options.source_roots == getenv("GPUFL_SOURCE_ROOTS");
    library_log(GPUFL_LOG_WARNING, "%s%s: %s; no text of source files is taken",
                by_env ? "" : o->file.path,
                by_env ? "GPUFL_SOURCE_ROOTS" : ": source_roots", o->roots_fault);
}

static gpufl_status take_directory(struct session_opening *o, struct settings *settings,
                                   char why[256])
{
    configure(&o->dir, settings);
    snprintf(o->log_path, sizeof o->log_path, "%s", settings->log_path);
    gpufl_status status = take_step(o, PLACE_ROOTS, open_directory);
    if (status != GPUFL_OK) {
        return status;
    }
    settings->source_roots = o->found;
    if (*o->roots_fault && o->roots_by_code) {
        snprintf(why, 256, "source_roots: %s", o->roots_fault);
    } else if (*o->roots_fault) {
        say_roots_fault(o);
    }
    errno = o->error;
    return o->status;
}

static void free_opening(struct session_opening *o)
{
    free(o->roots);
    free(o);
}

/* If it has returned meanwhile, there is none that was given up any more. */
static bool still_hangs(struct session_opening **opening)
{
    struct session_opening *o = *opening;
    if (o && atomic_load_explicit(&o->ended, memory_order_acquire)) {
        files_thread_await();
        free_opening(o);
        *opening = NULL;
    }
    return *opening;
}

gpufl_status session_open(struct session_dir *dir, const struct gpufl_init_options *given,
                          struct settings *settings, struct session_opening **opening,
                          char why[256])
{
    if (still_hangs(opening)) {
        return session_says_still_given_up();
    }
    struct session_opening *o = calloc(1, sizeof *o);
    if (!o) {
        return GPUFL_ERR_NOMEM;
    }
    o->dir = *dir;
    o->limit_ms = settings->shutdown_ms + WRITER_LAST_WRITES_MS;
    o->by_ns = clock_mono_ns() + (int64_t)o->limit_ms * 1000000;
    *opening = o; /* from now on a child of a fork finds what to close */
    files_thread_begin();
    gpufl_status status = take_settings(o, given, settings, why);
    if (status == GPUFL_OK) {
        status = take_directory(o, settings, why);
    }
    if (!o->given_up) {
        int error = errno;
        *dir = o->dir;
        *opening = NULL;
        free_opening(o);
        if (status != GPUFL_OK) {
            files_thread_end();
        }
        errno = error;
    }
    return status;
}

const void *session_open_after_fork(struct session_opening **opening,
                                    struct session_dir *dir)
{
    struct session_opening *o = *opening;
    if (files_thread_after_fork()) { /* close(2) alone is safe here */
        session_dir_close(dir);
        if (o) {
            session_dir_close(&o->dir);
        }
    }
    session_dir_init(dir);
    *opening = NULL;
    return o;
}
