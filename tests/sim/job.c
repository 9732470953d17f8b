/* SPDX-License-Identifier: Apache-2.0 */
/* Records in a world. */
#include "tests/sim/job.h"

#include <stdio.h>
#include <string.h>

#include "schema/layout.h"
#include "tests/sim/history.h"
#include "tests/sim/kernel.h"

/* What lies behind what was read of the active file was written now. */
static void absorb(struct job_stream *st)
{
    char part[4096];
    for (size_t n; st->file && (n = inode_read(st->file, st->read, part, sizeof part));) {
        text_append(&st->written, part, n);
        st->read += n;
    }
}

/* Its name was removed, and the job has given it back to a copy. */
static bool is_copy(const struct inode *before, const struct inode *now)
{
    char one[100];
    char other[sizeof one];
    size_t len = before && !before->links ? inode_read(before, 0, one, sizeof one) : 0;
    return len && inode_read(now, 0, other, len) == len && memcmp(one, other, len) == 0;
}

static void look_at_files(struct job *job, int channel)
{
    char name[LAYOUT_PATH_MAX];
    struct job_stream *st = &job->stream[channel];
    layout_active(name, channel_name((enum channel)channel), false);
    struct inode *now = inode_look(job->inode, name);
    if (now && now != st->file) {
        absorb(st); /* of the one that was sealed */
        st->read = is_copy(st->file, now) ? st->read : 0;
        st->file = now;
    }
    absorb(st);
}

static void append_lines(struct job *job, int channel, const struct text *lines)
{
    kernel.self = job->pid;
    size_t kept =
        session_dir_append(&job->dir, (enum channel)channel, lines->data, lines->len);
    kernel.self = 0;
    look_at_files(job, channel);
    if (kept < lines->len) {
        history_say("job %d: %s: cannot write all", job->pid,
                    channel_name((enum channel)channel));
    }
    if (!kernel_is_alive(job->pid)) {
        job_kill(job);
    }
}

static void one_line(struct text *lines, const struct job *job, int channel,
                     const char *type, unsigned pad)
{
    text_printf(lines,
                "{\"type\":\"%s\",\"session_id\":\"%s\",\"c\":\"%s\",\"n\":%u,\"pad\":\"",
                type, job->dir.id, channel_name((enum channel)channel),
                job->stream[channel].lines);
    for (unsigned i = 0; i < pad; i++) {
        text_append(lines, &"abcdefghijklmnopqrstuvwxyz"[i % 26], 1);
    }
    text_puts(lines, "\"}\n");
}

static void write_one(struct job *job, int channel, const char *type)
{
    struct text lines = {0};
    one_line(&lines, job, channel, type, 0);
    job->stream[channel].lines++;
    append_lines(job, channel, &lines);
    text_fini(&lines);
}

void job_begin(struct job *job, const char *log_path, uint64_t rotate_bytes)
{
    memset(job, 0, sizeof *job);
    job->pid = kernel_spawn(1000, 1);
    job->dir.rotate_bytes = rotate_bytes;
    kernel.self = job->pid;
    gpufl_status status = session_dir_open(&job->dir, log_path);
    job->inode = status == GPUFL_OK ? kernel_of(job->dir.own.fd)->inode : NULL;
    kernel.self = 0;
    job->begun = status == GPUFL_OK;
    job->over = !job->begun;
    history_say("job %d begins: %s", job->pid, job->begun ? job->dir.id : "cannot");
    for (int c = 0; job->begun && !job->over && c < JOB_CHANNELS; c++) {
        write_one(job, c, "job_start");
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
    kernel.self = job->pid;
    session_dir_restore_names(&job->dir, (int64_t)kernel.now_ms * 1000000);
    kernel.self = 0;
    for (int c = 0; c < JOB_CHANNELS; c++) {
        look_at_files(job, c);
    }
}

void job_end(struct job *job)
{
    job->shut_down = true;
    for (int c = 0; c < JOB_CHANNELS && !job->over; c++) {
        size_t before = job->stream[c].written.len;
        write_one(job, c, "shutdown");
        job->shut_down &= job->stream[c].written.len > before;
    }
    if (job->over) {
        return; /* it was killed meanwhile */
    }
    kernel.self = job->pid;
    session_dir_close(&job->dir);
    kernel.self = 0;
    history_say("job %d ends", job->pid);
    job_kill(job);
}

void job_kill(struct job *job)
{
    if (!job->over) {
        history_say("job %d is gone", job->pid);
    }
    kernel_kill(job->pid);
    for (int c = 0; job->begun && !job->over && c < JOB_CHANNELS; c++) {
        char name[LAYOUT_PATH_MAX];
        layout_active(name, channel_name((enum channel)c), false);
        job->harm |= inode_look(job->inode, name) ? 0 : JOB_ROTATED;
    }
    job->over = true;
}

void job_was_cut(struct job *job, const struct inode *file)
{
    for (int c = 0; c < JOB_CHANNELS; c++) {
        struct job_stream *st = &job->stream[c];
        st->read = st->file == file && st->read > file->size ? file->size : st->read;
    }
}

void job_fini(struct job *job)
{
    for (int c = 0; c < JOB_CHANNELS; c++) {
        text_fini(&job->stream[c].written);
    }
}
