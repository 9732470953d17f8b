/* SPDX-License-Identifier: Apache-2.0 */
/* Records in a world. */
#include "tests/sim/job.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sys.h"
#include "base/uuid.h"
#include "schema/channels.h"
#include "schema/layout.h"
#include "schema/records.h"
#include "tests/sim/history.h"
#include "tests/sim/kernel.h"

/* The job has cut half a line off that it could not write whole, or that others left. */
static void follow_cut(struct job_stream *st)
{
    uint64_t cut = st->file && st->file->size < st->read ? st->read - st->file->size : 0;
    const char *end = st->written.data + st->written.len;
    bool left = cut <= st->left;
    if (!left && (cut > st->written.len || memchr(end - cut, '\n', (size_t)cut))) {
        history_fail("cut", "a job has cut off whole lines: %" PRIu64 " bytes", cut);
    } else {
        st->written.len -= left ? 0 : (size_t)cut;
        st->read -= cut;
    }
}

/* What lies behind what was read of the active file was written now. */
static void absorb(struct job_stream *st)
{
    char part[4096];
    follow_cut(st);
    for (size_t n; st->file && (n = inode_read(st->file, st->read, part, sizeof part));) {
        text_append(&st->written, part, n);
        st->read += n;
    }
}

/* Its name was removed, and the job has given it back to a copy of its whole lines. It
 * may have others. */
static bool is_copy(const struct job *job, int channel, const struct inode *now)
{
    const struct inode *before = job->stream[channel].file;
    const uint32_t rotated = job->dir.file[channel].rotated;
    char one[100], other[sizeof one], sealed[LAYOUT_PATH_MAX];
    layout_numbered(sealed, channel_name((enum channel)channel), rotated, false);
    bool gone = before && inode_look(job->inode, sealed) != before;
    const char *end =
        gone && before->have ? memrchr(before->data, '\n', before->have) : 0;
    size_t len = end ? (size_t)(end + 1 - before->data) : 0;
    len = len ? inode_read(before, 0, one, len < sizeof one ? len : sizeof one) : 0;
    return gone && inode_read(now, 0, other, len) == len && memcmp(one, other, len) == 0;
}

static struct inode *active_file(const struct job *job, int channel)
{
    char name[LAYOUT_PATH_MAX];
    const struct inode *dir = job->old.layout == OLD_WINDOWS
                                  ? inode_look(job->inode, LAYOUT_TMP_DIR)
                                  : job->inode;
    layout_active(name, channel_name((enum channel)channel), false);
    return dir ? inode_look(dir, name) : NULL;
}

static void look_at_files(struct job *job, int channel)
{
    struct job_stream *st = &job->stream[channel];
    if (job->old.layout) {
        return; /* what it writes is noted when it does */
    }
    struct inode *now = active_file(job, channel);
    if (now && now != st->file) {
        if (is_copy(job, channel, now)) { /* without half a line that was to be cut off */
            st->file = now;
            follow_cut(st);
        } else {
            absorb(st); /* of the one that was sealed */
            st->file = now;
            st->read = 0;
        }
        st->left = st->cut_at = 0;
    }
    absorb(st);
}

static size_t old_append(struct job *job, int channel, const struct text *lines)
{
    const char *name = channel_name((enum channel)channel);
    const struct inode *active = active_file(job, channel);
    if (active && active->size && active->size + lines->len > job->dir.rotate_bytes) {
        old_client_rotate(&job->old, name, channel);
    }
    active = active_file(job, channel);
    if (job->same_heads && job->old.layout == OLD_SHIFTING &&
        (!active || !active->size)) {
        old_client_append_head(&job->old, name, &job->stream[channel].written);
    }
    size_t n = old_client_append(&job->old, name, lines->data, lines->len);
    text_append(&job->stream[channel].written, lines->data, n);
    return n;
}

void job_halve(struct job *job, int channel, uint64_t salt, uint64_t ms)
{
    struct inode *file = job->over ? NULL : active_file(job, channel);
    uint64_t last = job->stream[channel].last_bytes;
    /* What earlier calls of it wrote was seen already, and so was all of it if the job
     * was paused behind it. */
    last = file && file->last_bytes < last ? file->last_bytes : last;
    if (file && job->stream[channel].at_once && last > 1 && last <= file->size) {
        file->hidden = 1 + salt % (last - 1);
        job->stream[channel].half = file;
        job->half_until_ms = kernel.now_ms + ms;
        history_say("%" PRIu64 " bytes of it are not seen yet", file->hidden);
    }
}

/* The writes are done; or, with \p killed, they never will be. */
static void end_halves(struct job *job, bool killed)
{
    for (int c = 0; job->begun && job->half_until_ms && c < JOB_CHANNELS; c++) {
        struct inode *file = job->stream[c].half; /* also if its name is gone */
        uint64_t hidden = file ? file->hidden : 0;
        if (hidden && killed) {
            inode_resize(file, file->size - hidden);
            job->stream[c].written.len -= (size_t)hidden;
            job->stream[c].read -= hidden;
        } else if (hidden) {
            file->hidden = 0;
            inode_touch(file);
        }
        job->stream[c].half = NULL;
    }
    job->half_until_ms = 0;
}

/* \return how many bytes of half a line a file of \p size has, which is to be cut off,
 * without those that others have left of a line. */
static uint64_t torn_bytes(const struct job *job, int channel, uint64_t size)
{
    const struct channel_file *file = &job->dir.file[channel];
    uint64_t cut_at = job->stream[channel].cut_at;
    uint64_t from = file->torn_at > cut_at ? file->torn_at : cut_at;
    return file->torn_bytes && size > from ? size - from : 0;
}

/* Half a line that could not be cut off may be, and is read again if it stays. */
static void forget_torn(struct job *job)
{
    for (int c = 0; !job->old.layout && c < JOB_CHANNELS; c++) {
        struct job_stream *st = &job->stream[c];
        uint64_t torn = st->file ? torn_bytes(job, c, st->file->size) : 0;
        if (torn && st->read == st->file->size && torn <= st->written.len) {
            st->written.len -= (size_t)torn;
            st->read -= torn;
        }
    }
}

static size_t append_now(struct job *job, int channel, const struct text *lines)
{
    forget_torn(job);
    kernel.self = job->pid;
    size_t kept = job->old.layout ? old_append(job, channel, lines)
                                  : session_dir_append(&job->dir, (enum channel)channel,
                                                       lines->data, lines->len);
    kernel.self = 0;
    for (int c = 0; c < JOB_CHANNELS; c++) {
        look_at_files(job, c); /* what was forgotten of others, too: it may be killed */
    }
    return kept;
}

static void one_line(struct text *lines, const struct job *job, int channel,
                     const char *type, unsigned pad)
{
    bool again = strcmp(type, RECORD_JOB_START) == 0 &&
                 channel_file_has_begun(&job->dir.file[channel]);
    text_printf(
        lines,
        "{\"type\":\"%s\",%s\"session_id\":\"%s\",\"c\":\"%s\",\"n\":%u,\"pad\":\"", type,
        again ? "\"" RECORD_REPEATED "\":true," : "", job->dir.id,
        channel_name((enum channel)channel), job->stream[channel].lines);
    for (unsigned i = 0; i < pad; i++) {
        text_append(lines, &"abcdefghijklmnopqrstuvwxyz"[i % 26], 1);
    }
    text_puts(lines, "\"}\n");
}

/* As our writer does: nothing is recorded until the channel takes its first record, which
 * it gets again behind a write that failed. */
static bool has_begun(struct job *job, int channel)
{
    struct text lines = {0};
    if (job->stream[channel].begins) {
        one_line(&lines, job, channel, RECORD_JOB_START, 0);
        job->stream[channel].lines++;
        job->stream[channel].begins = append_now(job, channel, &lines) < lines.len;
        text_fini(&lines);
    }
    return !job->stream[channel].begins;
}

static void append_lines(struct job *job, int channel, const struct text *lines)
{
    struct job_stream *st = &job->stream[channel];
    end_halves(job, false);
    uint64_t since_ms = kernel.now_ms;
    size_t kept = has_begun(job, channel) ? append_now(job, channel, lines) : 0;
    st->begins = kept < lines->len && !job->old.layout;
    st->last_bytes = kept == lines->len ? kept : 0;
    st->at_once = kernel.now_ms == since_ms;
    job->newest_deleted = job->newest_deleted && kept < lines->len;
    if (kept < lines->len) {
        history_say("job %d: %s: cannot write all%s", job->pid,
                    channel_name((enum channel)channel),
                    job->dir.file[channel].torn_bytes ? ", and half a line stays" : "");
    }
    if (!kernel_is_alive(job->pid)) {
        job_kill(job);
    }
}

static void write_one(struct job *job, int channel, const char *type)
{
    struct text lines = {0};
    one_line(&lines, job, channel, type, 0);
    job->stream[channel].lines++;
    append_lines(job, channel, &lines);
    text_fini(&lines);
}

static bool begin_old(struct job *job, const char *log_path, enum old_layout layout)
{
    unsigned char id[16];
    uuid_make(&sys_real, id);
    uuid_format(id, job->dir.id);
    if (!old_client_begin(&job->old, log_path, job->dir.id, layout)) {
        return false;
    }
    job->old.packs = kernel_random() % 2;
    job->inode = kernel_find(AT_FDCWD, job->old.dir);
    return job->inode != NULL;
}

static bool begin_live(struct job *job, const char *log_path)
{
    gpufl_status status = session_dir_open(&job->dir, log_path);
    job->inode = status == GPUFL_OK ? kernel_of(job->dir.own.fd)->inode : NULL;
    return status == GPUFL_OK;
}

void job_begin(struct job *job, const char *log_path, const struct job_kind *kind)
{
    memset(job, 0, sizeof *job);
    job->pid = kernel_spawn(1000, kind->host);
    kernel.process[job->pid].fault_percent = kind->fault_percent;
    job->dir.rotate_bytes = kind->rotate_bytes;
    job->same_heads = kind->same_heads;
    kernel.self = job->pid;
    job->begun =
        kind->layout ? begin_old(job, log_path, kind->layout) : begin_live(job, log_path);
    kernel.self = 0;
    job->over = !job->begun;
    history_say("job %d begins: %s", job->pid, job->begun ? job->dir.id : "cannot");
    for (int c = 0; job->begun && !job->over && c < JOB_CHANNELS; c++) {
        write_one(job, c, RECORD_JOB_START);
    }
}

void job_write(struct job *job, int channel, unsigned count, unsigned size)
{
    struct text lines = {0};
    for (unsigned i = 0; i < count; i++) {
        one_line(&lines, job, channel, "x",
                 size ? (unsigned)(kernel_random() % size) : 0);
        job->stream[channel].lines++;
    }
    history_say("job %d: %s: %u lines, %zu bytes", job->pid,
                channel_name((enum channel)channel), count, lines.len);
    append_lines(job, channel, &lines);
    text_fini(&lines);
}

void job_tick(struct job *job)
{
    if (job->half_until_ms > kernel.now_ms) {
        return;
    }
    end_halves(job, false);
    if (job->old.layout) {
        return;
    }
    forget_torn(job);
    kernel.self = job->pid;
    session_dir_restore_names_now_and_then(&job->dir, (int64_t)kernel.now_ms * 1000000);
    kernel.self = 0;
    for (int c = 0; c < JOB_CHANNELS; c++) {
        look_at_files(job, c);
    }
}

void job_tell_nothing(const struct job *job)
{
    struct inode *lock = inode_look(job->inode, LAYOUT_LOCK);
    if (lock) {
        inode_resize(lock, 0);
    }
}

void job_end(struct job *job)
{
    job->shut_down = true;
    for (int c = 0; c < JOB_CHANNELS && !job->over; c++) {
        write_one(job, c, "shutdown"); /* it may write `job_start` again, and not this */
        job->shut_down &= job->stream[c].last_bytes > 0;
    }
    if (job->over) {
        job->shut_down = false;
        return; /* it was killed meanwhile */
    }
    forget_torn(job);
    kernel.self = job->pid;
    if (job->old.layout) {
        static const char *const names[] = {CHANNEL_NAMES};
        old_client_end(&job->old, names, JOB_CHANNELS);
    } else {
        session_dir_restore_names(&job->dir);
        session_dir_close(&job->dir);
    }
    kernel.self = 0;
    for (int c = 0; c < JOB_CHANNELS; c++) {
        look_at_files(job, c);
    }
    history_say("job %d ends", job->pid);
    job_kill(job);
}

/* Of one that was killed between the calls of a rotation, no file is active. */
static bool was_rotating(const struct job *job)
{
    bool rotating = false;
    for (int c = 0; job->begun && !job->old.layout && c < JOB_CHANNELS; c++) {
        rotating |= !active_file(job, c);
    }
    return rotating;
}

void job_kill(struct job *job)
{
    if (!job->over) {
        history_say("job %d is gone", job->pid);
        end_halves(job, true);
        job->harm |=
            (was_rotating(job) ? JOB_ROTATED : 0) |
            (job->begun && old_client_was_packing(&job->old, job->inode) ? JOB_TORN_PACK
                                                                         : 0) |
            (job->newest_deleted ? JOB_LOST_FILES | JOB_UNTOLD : 0);
    }
    kernel_kill(job->pid);
    job->over = true;
}

void job_newest_deleted(struct job *job)
{
    job->newest_deleted = true;
    bool untold = job->over && !job->shut_down;
    job->harm |= untold ? JOB_LOST_FILES | JOB_UNTOLD : 0;
}

void job_was_cut(struct job *job, const struct inode *file)
{
    for (int c = 0; c < JOB_CHANNELS; c++) {
        struct job_stream *st = &job->stream[c];
        if (st->file != file || st->read <= file->size) {
            continue;
        }
        /* What is left of half a line of the job is to be cut off all the same. */
        st->written.len -= (size_t)torn_bytes(job, c, st->read);
        st->read = st->cut_at = file->size;
        const char *line = file->have ? memrchr(file->data, '\n', file->have) : NULL;
        st->left = file->have - (line ? (uint64_t)(line + 1 - file->data) : 0);
    }
}

void job_fini(struct job *job)
{
    for (int c = 0; c < JOB_CHANNELS; c++) {
        text_fini(&job->stream[c].written);
        text_fini(&job->stream[c].expired);
    }
}
