/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the progress files. */
#include "upload/engine/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "upload/core/session_streams.h"
#include "upload/engine/progress_others.h"
#include "upload/engine/progress_trouble.h"
#include "upload/engine/upload_cursor.h"
#include "upload/published/progress_file.h"
#include "upload/published/progress_key.h"
#include "upload/published/run_dir.h"

#define PROGRESS_INTERVAL_MS 1000u
/* Of the time, so much at most is taken to write the file of very many sessions. */
#define PROGRESS_TIME_SHARE 20u
#define PROGRESS_OPEN       "progress"
#define PROGRESS_COMPLETE   "complete"
#define PROGRESS_PART       (64u << 10) /* of that one, written at a time */

static void progress_add_header(struct text *text, const struct root *root)
{
    const struct origin_identity *backend = root->engine->config.backend;
    text_printf(text, "gpufl-progress 1 pid=%d program=%.40s", (int)getpid(),
                root->engine->config.program);
    if (backend) {
        /* Until another one has taken the key, all positions are about the one before. */
        bool before = root->backend == BACKEND_MOVED_TO && root->origin.now.url[0];
        const char *url = before ? root->origin.now.url : backend->url;
        const struct progress_writer here = progress_writer_here(root);
        text_printf(text,
                    " origin=%016" PRIx64 " database=%016" PRIx64 " state=%" PRIx64
                    "-%" PRIx64,
                    progress_origin_of(url), root->origin.now.database, here.state_device,
                    here.state_inode);
    }
    text_printf(text, "\n");
}

/* For commands that are about the journal. */
static void progress_add_state(struct text *text, const struct root *root)
{
    char path[PROGRESS_STATE_MAX];
    char fd_path[64];
    snprintf(fd_path, sizeof fd_path, "/proc/self/fd/%d", root->state_fd);
    ssize_t len = root->state_fd >= 0 ? readlink(fd_path, path, sizeof path) : -1;
    bool whole = len > 0 && (size_t)len < sizeof path;
    if (whole && !memchr(path, '\n', (size_t)len)) {
        text_printf(text, "!state %.*s\n", (int)len, path);
    }
}

/* How a session has ended, and what of it is left to a person. */
struct progress_end {
    unsigned outcome;
    bool done; /* in a file of others */
    uint32_t quarantined;
    struct stream_place reached;   /* by an earlier backend, if that is farther */
    uint32_t stamp;                /* of its files, of which all is settled */
    bool ends;                     /* it will be complete: nothing is in the way */
    struct directory_id directory; /* told once for each session */
    uint64_t epoch;                /* see progress_epoch() */
};

static void progress_add_directory(struct text *text, struct directory_id *id)
{
    if (id->user) {
        text_printf(
            text, PROGRESS_DIRECTORY "%" PRIx64 ":%" PRIx32 ":%" PRIu32 ":%" PRIx32 ":%d",
            id->mark, id->boot, id->user, id->above, id->above_own);
    }
    id->user = 0;
}

/* Complete windows are not asked for again. Of what was never sent, nothing is. */
static uint64_t progress_epoch(const struct record_stream *at, bool complete)
{
    bool sent = at->at.at.offset || at->at.at.file > 1;
    bool asked =
        at->kind == STREAM_VERBATIM ? !complete : sent && at->marks & MARK_POSITIONS;
    return asked ? at->at.epoch : 0;
}

static void progress_add_stream(struct text *text, const struct record_stream *at,
                                const char *path, const char *channel,
                                struct progress_end *end)
{
    text_printf(text, "!lines %" PRIu64 " %" PRIu64 " %u %u %u %u%s", at->lines,
                at->refused_lines, at->at.losses, at->layout, at->marks, end->outcome,
                end->done ? " done" : "");
    if (end->quarantined) {
        text_printf(text, PROGRESS_QUARANTINED "%u", end->quarantined);
    }
    if (end->reached.file) {
        text_printf(text, PROGRESS_REACHED "%u:%" PRIu64, end->reached.file,
                    end->reached.offset);
    }
    text_printf(text, PROGRESS_SEEN "%" PRIx32 "%s", end->stamp,
                end->ends ? PROGRESS_ENDS : "");
    progress_add_directory(text, &end->directory);
    if (end->epoch) {
        text_printf(text, PROGRESS_EPOCH "%" PRIx64, end->epoch);
    }
    if (at->layout == 1 + SESSION_SHIFTING && at->mark.bytes) {
        text_printf(text, PROGRESS_MARK "%" PRIu32 ":%" PRIx32, at->mark.bytes,
                    at->mark.crc32);
    }
    text_puts(text, "\n");
    text_printf(text, "%s %s %u %" PRIu64 " %u %u\n", path, channel, at->file, at->offset,
                at->sequence, at->kind);
}

static struct stream_place progress_reached(const struct stream *st)
{
    struct stream_place reached = {.file = 0};
    if (stream_falls_short(st)) {
        reached.file = st->reached_file;
        reached.offset = st->reached_offset;
    }
    return reached;
}

/* Sessions that are complete stay open while they are watched. */
static void progress_add_open(struct text *text, const struct root *root)
{
    for (const struct session *s = root->sessions; s; s = s->next) {
        bool done = s->state == SESSION_DONE;
        struct progress_end end = {.outcome = done ? s->outcome : 0,
                                   .done = done,
                                   .quarantined = s->quarantined,
                                   .stamp = session_settled_stamp(s),
                                   .ends =
                                       session_writer_is_gone(s) && !session_blocked(s),
                                   .directory = s->directory};
        for (unsigned i = 0; i < s->streams; i++) {
            const struct stream *st = s->stream[i];
            if (st->id) {
                struct record_stream at = stream_record(st);
                end.reached = progress_reached(st);
                end.epoch = progress_epoch(&at, done);
                progress_add_stream(text, &at, s->path, at.channel, &end);
            }
        }
    }
}

/* Another user may have made the directory, to mislead those who read in it. \return the
 * directory of the files, or -1 with errno. */
static int progress_dir(const struct root *root)
{
    const struct sys *sys = root->engine->config.sys;
    if (mkdirat(root->fd, LAYOUT_STATE_DIR, 0755) < 0 && errno != EEXIST) {
        return -1;
    }
    int dir = sys->open_beneath(root->fd, LAYOUT_STATE_DIR, O_RDONLY | O_DIRECTORY, 0);
    if (dir >= 0 && !file_dir_is_ours(dir)) {
        int error = errno;
        close(dir);
        errno = error;
        return -1;
    }
    return dir;
}

static void progress_say_off(struct root *root, const char *reason)
{
    if (!root->progress_off) {
        root->progress_off = true;
        log_info(root->engine->config.log, "progress.off",
                 "root=%s reason=\"%s\" note=\"cannot write .gpufl-agent/progress, which "
                 "must belong to the uploader's user alone: gpufl_upload_logs() will "
                 "return BUSY instead of waiting\"",
                 root->path, reason);
    }
}

static bool progress_write_open(const struct root *root, int dir, const struct text *text)
{
    const struct sys *sys = root->engine->config.sys;
    bool shown = root->published &&
                 run_dir_write(root->published, PROGRESS_OPEN, text->data, text->len);
    return (dir >= 0 && file_replace(sys, dir, PROGRESS_OPEN, text->data, text->len,
                                     false) == GPUFL_OK) ||
           shown;
}

struct complete_file {
    const struct root *root;
    struct text part;
    struct file_new inside; /* below the root */
    struct file_new shown;  /* to other users */
};

/* Without memory, what was published before stays true. */
static void complete_file_flush(struct complete_file *file)
{
    if (file->part.failed) {
        errno = ENOMEM;
        file_new_drop(&file->inside);
        file_new_drop(&file->shown);
    }
    (void)file_new_append(&file->inside, file->part.data, file->part.len);
    (void)file_new_append(&file->shown, file->part.data, file->part.len);
    text_clear(&file->part);
}

static void complete_file_add(void *arg, struct parked_session *s)
{
    struct complete_file *file = arg;
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    struct progress_end end = {
        .outcome = s->outcome, .stamp = s->stamp, .directory = parked_directory(s)};
    parked_streams(s, stream);
    for (unsigned i = 0; i < s->streams; i++) {
        const struct packed_stream *st = &stream[i];
        const struct record_stream at = {.file = st->file,
                                         .offset = st->offset,
                                         .sequence = st->sequence,
                                         .kind = st->kind,
                                         .lines = st->lines,
                                         .at = st->end,
                                         .layout = st->layout,
                                         .marks = st->marks};
        end.epoch = progress_epoch(&at, true);
        progress_add_stream(&file->part, &at, s->node.path,
                            file->root->channel_name[st->channel], &end);
    }
    if (file->part.len >= PROGRESS_PART) {
        complete_file_flush(file);
    }
}

/* Replaces the files, in the directory \p dir and where a service publishes; \p dir -1 =
 * only there. \return false with errno if neither could be written. */
static bool complete_file_write(struct root *root, int dir, const struct text *header)
{
    struct complete_file file = {.root = root, .inside.fd = -1, .shown.fd = -1};
    if (dir >= 0) {
        (void)file_new_open(&file.inside, root->engine->config.sys, dir,
                            PROGRESS_COMPLETE);
    }
    if (root->published) {
        (void)run_dir_begin(root->published, &file.shown);
    }
    text_append(&file.part, header->data, header->len);
    parked_each_complete(&root->parked, complete_file_add, &file);
    complete_file_flush(&file);
    text_fini(&file.part);
    bool inside = file_new_take_place(&file.inside, PROGRESS_COMPLETE);
    bool shown =
        root->published && run_dir_show(root->published, &file.shown, PROGRESS_COMPLETE);
    return inside || shown;
}

/* Complete sessions are many and rarely change, so they have a file of their own. It is
 * written first and read last, so that a reader finds each session in one of the two.
 * Without memory, what was published before stays true. */
static bool progress_write(struct root *root)
{
    struct text header = {0};
    struct text open = {0};
    int dir = progress_dir(root);
    int error = errno;
    bool written = true;
    const struct progress_writer here = progress_writer_here(root);
    progress_add_header(&header, root);
    if (dir >= 0) {
        progress_key_write(root->engine->config.sys, dir, &here, &root->origin.now,
                           &root->progress_key);
    }
    if (root->parked.changed && !header.failed) {
        written = complete_file_write(root, dir, &header);
        root->parked.changed = !written;
    }
    text_append(&open, header.data, header.len);
    progress_add_state(&open, root);
    progress_trouble_add(&open, root);
    progress_add_open(&open, root);
    written = (open.failed || progress_write_open(root, dir, &open)) && written;
    if (!written) {
        progress_say_off(root, strerror(dir < 0 ? error : errno));
    }
    if (dir >= 0) {
        close(dir);
    }
    text_fini(&header);
    text_fini(&open);
    return written;
}

/* \return true if the file could not be written, as on a disk that was full, or something
 * else has its name since: those who wait for it would wait until there are news. */
static bool progress_is_missed(struct root *root, uint64_t now_ms)
{
    if (root->progress_unwritten || now_ms < root->progress_look_ms) {
        return root->progress_unwritten;
    }
    root->progress_look_ms = now_ms + PROGRESS_INTERVAL_MS;
    bool missed = !progress_is_readable(root->engine->config.sys, root->fd);
    root->parked.changed = root->parked.changed || missed;
    return missed;
}

/* Only what is on disk is published. While records keep coming, the current state depends
 * on the last of them, so it is written once that one is durable. */
static void progress_publish_now(struct root *root, uint64_t now_ms)
{
    uint64_t last = journal_last(root->journal);
    unsigned stamp = root->engine->trouble.stamp;
    bool news = root->progress_ticket != last || root->progress_stamp != stamp;
    if (journal_durable(root->journal) < last || journal_broken(root->journal) ||
        !(news || progress_is_missed(root, now_ms))) {
        return;
    }
    if (progress_others_are_first(root)) {
        root->progress_at_ms = now_ms + PROGRESS_INTERVAL_MS;
        return;
    }
    root->progress_ticket = last;
    root->progress_stamp = stamp;
    uint64_t begun_ms = root->engine->config.sys->now_ms();
    root->progress_unwritten = !progress_write(root);
    uint64_t took_ms = root->engine->config.sys->now_ms() - begun_ms;
    root->progress_at_ms = now_ms + PROGRESS_INTERVAL_MS + PROGRESS_TIME_SHARE * took_ms;
    if (root->cursor_stale) {
        root->cursor_stale = !upload_cursor_write(root);
    }
}

void progress_publish(struct root *root, uint64_t now_ms)
{
    if (!root->away && now_ms >= root->progress_at_ms) {
        progress_publish_now(root, now_ms);
    }
}

void progress_publish_last(struct root *root)
{
    journal_want(root->journal);
    journal_pump(root->journal);
    if (root->fd >= 0) {
        progress_publish_now(root, root->engine->config.sys->now_ms());
    }
}
