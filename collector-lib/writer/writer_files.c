/* SPDX-License-Identifier: Apache-2.0 */
/* As much as possible is done at once: to hand it over takes some microseconds. */
#include "collector-lib/writer/writer_files.h"

#include "collector-lib/core/clock.h"
#include "collector-lib/core/fork_guard.h"
#include "collector-lib/files/files_thread.h"
#include "collector-lib/writer/writer_append.h"

static void open_files(void *arg)
{
    struct writer *w = arg;
    spool_begin(&w->spool);
    host_open(&w->sampler.host, w->settings.sysfs);
}

void writer_files_open(struct writer *w)
{
    files_thread_do(open_files, w);
}

struct housework {
    struct writer *w;
    bool now_or_never;
};

static void keep_house(void *arg)
{
    const struct housework *work = arg;
    struct writer *w = work->w;
    int64_t now_ns = clock_mono_ns();
    session_dir_mend(w->dir);
    session_dir_rotate_old(w->dir, now_ns);
    session_dir_restore_names_now_and_then(w->dir, now_ns);
    writer_append_count_gone(w);
    writer_append_check_room(w);
    writer_append_retry(w, work->now_or_never);
    writer_append_replaced(w);
}

static bool house_is_due(const struct writer *w)
{
    int64_t now_ns = clock_mono_ns();
    bool due = w->spool.failed || now_ns - w->dir->names_checked_ns >= NAMES_EVERY_NS ||
               spool_check_is_due(&w->spool, now_ns);
    for (int c = 0; !due && c < CHANNEL_COUNT; c++) {
        const int64_t first_ns = w->dir->file[c].first_write_ns;
        bool old = w->dir->rotate_after_ns && first_ns &&
                   now_ns - first_ns >= w->dir->rotate_after_ns;
        due = old || w->dir->lost_lines[c];
    }
    return due;
}

/* In the job's table, each beat opens again what the job has closed: the lock above all.
 */
void writer_files_begin_beat(struct writer *w, bool now_or_never)
{
    w->house_kept = now_or_never || !files_thread_is_apart() || house_is_due(w);
    if (w->house_kept) {
        files_thread_do(keep_house, &(struct housework){w, now_or_never});
    }
}

void writer_files_keep_house(struct writer *w)
{
    if (!w->house_kept) {
        w->house_kept = true;
        files_thread_do(keep_house, &(struct housework){w, false});
    }
}

static void retry_last(void *arg)
{
    writer_append_retry(arg, true);
}

void writer_files_retry_last(struct writer *w)
{
    files_thread_do(retry_last, w);
}

static void restore_names(void *arg)
{
    struct writer *w = arg;
    session_dir_restore_names(w->dir);
    writer_append_count_gone(w);
}

void writer_files_restore_names(struct writer *w)
{
    files_thread_do(restore_names, w);
}

static void mark_losses(void *arg)
{
    struct writer *w = arg;
    spool_end(&w->spool, w->dir->id);
}

void writer_files_mark_losses(struct writer *w)
{
    files_thread_do(mark_losses, w);
}

struct leaving {
    struct session_dir *dir;
    void (*leave)(struct session_dir *dir);
};

/* A fork meanwhile would close the descriptors by numbers that others may have by then.
 */
static void leave_directory(void *arg)
{
    const struct leaving *leaving = arg;
    fork_guard_enter();
    leaving->leave(leaving->dir);
    fork_guard_leave();
}

void writer_files_leave(struct session_dir *dir, void (*leave)(struct session_dir *dir))
{
    files_thread_do(leave_directory, &(struct leaving){dir, leave});
}
