/* SPDX-License-Identifier: Apache-2.0 */
/* Tells others how far this root is. */
#include "upload/engine/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "upload/engine/engine_internal.h"

#define PROGRESS_INTERVAL_MS 1000u
#define PROGRESS_OPEN        "progress"
#define PROGRESS_COMPLETE    "complete"
#define PROGRESS_MAX_BYTES   (16u << 20)
#define LINE_BYTES           (JOURNAL_PATH_MAX + 128)

/* A file that is being made. */
struct text {
    char *at;
    size_t len;
    size_t cap;
    bool bad; /**< there was no memory for all of it */
};

__attribute__((format(printf, 2, 3))) static void add_line(struct text *text,
                                                           const char *format, ...)
{
    va_list args;
    if (text->cap - text->len < LINE_BYTES) {
        size_t cap = text->cap + text->cap / 2 + 8 * LINE_BYTES;
        char *more = realloc(text->at, cap);
        if (!more) {
            text->bad = true;
            return;
        }
        text->at = more;
        text->cap = cap;
    }
    va_start(args, format);
    text->len += (size_t)vsnprintf(text->at + text->len, LINE_BYTES, format, args);
    va_end(args);
}

static void add_header(struct text *text, const struct root *root)
{
    add_line(text, "gpufl-progress 1 pid=%d program=%.40s\n", (int)getpid(),
             root->engine->config.program);
}

static void add_stream(struct text *text, const char *path, const char *channel,
                       uint32_t file, uint64_t offset, uint32_t sequence, uint8_t kind)
{
    add_line(text, "%s %s %u %" PRIu64 " %u %u\n", path, channel, file, offset, sequence,
             kind);
}

static void add_open(struct text *text, const struct root *root)
{
    for (const struct session *s = root->sessions; s; s = s->next) {
        for (unsigned i = 0; i < s->streams; i++) {
            const struct stream *st = s->stream[i];
            if (st->id) {
                add_stream(text, s->path, root->channel_name[st->channel], st->file,
                           st->offset, st->sequence, st->kind);
            }
        }
    }
}

static void add_held(struct text *text, const struct session *s)
{
    if (s->held && s->hold_reason) {
        add_line(text, "!held %s * %.120s\n", s->path, s->hold_reason);
    }
    for (unsigned i = 0; i < s->streams; i++) {
        const struct stream *st = s->stream[i];
        if (st->held && st->hold_reason) {
            add_line(text, "!held %s %s %.120s\n", s->path, stream_channel(st),
                     st->hold_reason);
        }
    }
}

/* What stands in the way, for people. */
static void add_trouble(struct text *text, const struct root *root)
{
    const struct engine *engine = root->engine;
    if (engine->origin.trouble_since_s) {
        add_line(text, "!trouble %" PRId64 " %.300s\n", engine->origin.trouble_since_s,
                 engine->total.last_problem);
    }
    for (const struct session *s = root->sessions; s; s = s->next) {
        add_held(text, s);
    }
}

struct complete {
    struct text *text;
    const struct root *root;
};

static void add_complete(void *arg, struct parked_session *s)
{
    const struct complete *to = arg;
    for (unsigned i = 0; i < s->streams; i++) {
        const struct parked_stream *st = &s->stream[i];
        add_stream(to->text, s->node.path, to->root->channel_name[st->channel], st->file,
                   st->offset, st->sequence, st->kind);
    }
}

static void write_file(struct root *root, const char *name, struct text *text)
{
    const struct sys *sys = root->engine->config.sys;
    if (text->bad) {
        free(text->at);
        return; /* no memory: what was told before stays true */
    }
    if (mkdirat(root->fd, LAYOUT_STATE_DIR, 0755) < 0 && errno != EEXIST) {
        root->progress_off = true;
    } else {
        int dir =
            sys->open_beneath(root->fd, LAYOUT_STATE_DIR, O_RDONLY | O_DIRECTORY, 0);
        if (dir < 0 ||
            file_replace(sys, dir, name, text->at, text->len, false) != GPUFL_OK) {
            root->progress_off = true;
        }
        if (dir >= 0) {
            close(dir);
        }
    }
    if (root->progress_off) {
        log_info(root->engine->config.log, "progress.off",
                 "root=%s reason=\"%s\" note=\"others cannot wait for this uploader\"",
                 root->path, strerror(errno));
    }
    free(text->at);
}

/* Complete sessions are many and seldom change: they have a file of their own, which is
 * written first, so that who reads it last finds each session in one of the two. */
static void write_files(struct root *root)
{
    struct text complete = {0};
    struct text open = {0};
    if (root->parked.changed) {
        add_header(&complete, root);
        parked_each_complete(root, add_complete, &(struct complete){&complete, root});
        root->parked.changed = complete.bad;
        write_file(root, PROGRESS_COMPLETE, &complete);
    }
    add_header(&open, root);
    add_trouble(&open, root);
    add_open(&open, root);
    write_file(root, PROGRESS_OPEN, &open);
}

/* What is on disk counts. While records keep coming, the state of this moment is behind
 * the last of them, so it is written once that one is durable. */
void progress_publish(struct root *root, uint64_t now_ms)
{
    uint64_t last = journal_last(root->journal);
    unsigned stamp = root->engine->trouble_stamp;
    if (now_ms < root->progress_at_ms ||
        (root->progress_ticket == last && root->progress_stamp == stamp) ||
        journal_durable(root->journal) < last || journal_broken(root->journal)) {
        return;
    }
    root->progress_ticket = last;
    root->progress_stamp = stamp;
    root->progress_at_ms = now_ms + PROGRESS_INTERVAL_MS;
    if (!root->progress_off) {
        write_files(root);
    }
    if (root->cursor_stale) {
        root->cursor_stale = false;
        upload_cursor_write(root);
    }
}

/* `[group/]id`. */
static bool is_path(const char *text)
{
    char group[JOURNAL_PATH_MAX];
    const char *slash = strchr(text, '/');
    if (!slash) {
        return layout_name_ok(text);
    }
    snprintf(group, sizeof group, "%.*s", (int)(slash - text), text);
    return layout_name_ok(group) && layout_name_ok(slash + 1);
}

static bool parse_line(const char *line, struct progress_line *out)
{
    char path[JOURNAL_PATH_MAX + 1];
    char channel[LAYOUT_CHANNEL_MAX + 2];
    int end = 0;
    if (sscanf(line, "%258s %32s %" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu32 "%n", path,
               channel, &out->file, &out->offset, &out->sequence, &out->kind,
               &end) != 6 ||
        line[end] || strlen(path) >= sizeof out->path || !layout_channel_ok(channel) ||
        out->file == 0 || out->kind > STREAM_VERBATIM) {
        return false;
    }
    if (!is_path(path)) {
        return false;
    }
    strcpy(out->path, path);
    strcpy(out->channel, channel);
    return true;
}

void progress_parse(const char *text, size_t len,
                    void (*visit)(void *arg, const struct progress_line *line), void *arg)
{
    char line[LINE_BYTES];
    struct progress_line parsed;
    const char *at = text;
    while (at < text + len) {
        const char *end = memchr(at, '\n', (size_t)(text + len - at));
        if (!end) {
            return; /* torn */
        }
        size_t n = (size_t)(end - at);
        if (n < sizeof line) {
            memcpy(line, at, n);
            line[n] = '\0';
            if (parse_line(line, &parsed)) {
                visit(arg, &parsed);
            }
        }
        at = end + 1;
    }
}

gpufl_status progress_read(const struct sys *sys, int root_fd,
                           void (*visit)(void *arg, const struct progress_line *line),
                           void *arg)
{
    static const char *const path[] = {LAYOUT_PROGRESS, LAYOUT_COMPLETE};
    gpufl_status worst = GPUFL_OK;
    for (unsigned i = 0; i < 2; i++) {
        char *text;
        size_t len;
        gpufl_status status =
            file_read(sys, root_fd, path[i], PROGRESS_MAX_BYTES, &text, &len);
        if (status == GPUFL_OK) {
            progress_parse(text, len, visit, arg);
            free(text);
        } else if (i == 0 || status != GPUFL_ERR_NOT_FOUND) {
            worst = status;
        }
    }
    return worst;
}

static void import_line(void *arg, const struct progress_line *line)
{
    struct root *root = arg;
    if (parked_find(root, line->path)) {
        return; /* the journal knows that it is complete */
    }
    struct session *session = root_session(root, line->path, true);
    struct stream *st = session ? session_stream(session, line->channel) : NULL;
    bool newer = st && (line->file > st->file ||
                        (line->file == st->file && line->offset > st->offset));
    if (newer) {
        st->kind = (uint8_t)line->kind;
        st->file = line->file;
        st->offset = line->offset;
        st->sequence = line->sequence;
        if (!st->id) {
            st->id = ++root->last_stream_id;
        }
        if (st->offer) {
            offer_free(root->engine, st->offer);
        }
    }
}

void progress_import(struct root *root)
{
    gpufl_status status =
        progress_read(root->engine->config.sys, root->fd, import_line, root);
    if (status == GPUFL_OK) {
        log_info(root->engine->config.log, "progress.imported", "root=%s", root->path);
    }
}

bool progress_parse_note(const char *line, struct progress_note *out)
{
    int end = 0;
    *out = (struct progress_note){0};
    if (sscanf(line, "!trouble %" SCNd64 " %n", &out->since_s, &end) != 1 || !end) {
        end = 0;
        out->since_s = 0;
        if (sscanf(line, "!held %257s %31s %n", out->path, out->channel, &end) != 2 ||
            !end || !is_path(out->path) ||
            (strcmp(out->channel, "*") != 0 && !layout_channel_ok(out->channel))) {
            return false;
        }
    }
    reply_excerpt(line + end, strlen(line + end), out->text, sizeof out->text);
    return out->since_s != 0 || out->path[0];
}

void progress_notes(const struct sys *sys, int root_fd,
                    void (*visit)(void *arg, const struct progress_note *note), void *arg)
{
    struct progress_note note;
    char *text;
    char *rest;
    size_t len;
    if (file_read(sys, root_fd, LAYOUT_PROGRESS, PROGRESS_MAX_BYTES, &text, &len) !=
        GPUFL_OK) {
        return;
    }
    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == '!' && progress_parse_note(line, &note)) {
            visit(arg, &note);
        }
    }
    free(text);
}

bool progress_holder(const struct sys *sys, int root_fd, char *out, size_t size)
{
    char *text;
    size_t len;
    int pid;
    char program[41];
    bool lives = false;
    snprintf(out, size, "another process");
    if (file_read(sys, root_fd, LAYOUT_PROGRESS, PROGRESS_MAX_BYTES, &text, &len) !=
        GPUFL_OK) {
        return false;
    }
    if (sscanf(text, "gpufl-progress 1 pid=%d program=%40s", &pid, program) == 2) {
        snprintf(out, size, "%s (pid %d)", program, pid);
        lives = pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
    }
    free(text);
    return lives;
}
