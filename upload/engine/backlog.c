/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the backlog by the sizes of files. */
#include "upload/engine/backlog.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "upload/core/session_streams.h"

#define FILES_MAX 4096u

struct measure {
    struct backlog *out;
    int64_t wall_s;
    uint64_t now_ms;
    unsigned files;
};

static bool backlog_stat(struct measure *m, int dir, const char *name, struct stat *st)
{
    if (m->files >= FILES_MAX) {
        return false;
    }
    m->files++;
    return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st->st_mode);
}

static bool backlog_stat_numbered(struct measure *m, int dir, const char *channel,
                                  uint32_t number, struct stat *st)
{
    char name[LAYOUT_PATH_MAX];
    layout_numbered(name, channel, number, false);
    if (backlog_stat(m, dir, name, st)) {
        return true;
    }
    layout_numbered(name, channel, number, true);
    return backlog_stat(m, dir, name, st);
}

static void backlog_add_file(struct measure *m, const struct stat *st, uint64_t settled)
{
    uint64_t size = (uint64_t)st->st_size;
    if (size > settled) {
        m->out->bytes += size - settled;
        m->out->files++;
    }
}

static void backlog_note_age(struct measure *m, double age_s)
{
    m->out->oldest_s = age_s > m->out->oldest_s ? age_s : m->out->oldest_s;
}

/* The age of a sealed file is that of its last write; of an active file only the time is
 * known since when something waits. */
static void backlog_measure_stream(struct measure *m, int dir, const struct stream *st)
{
    const char *channel = stream_channel(st);
    bool shifting = st->session->layout ==
                    SESSION_SHIFTING; /* number 1 is the newest in that layout */
    uint32_t first = shifting ? 1 : st->file;
    uint32_t last = shifting ? st->index : st->highest;
    bool sealed_front = false;
    char name[LAYOUT_PATH_MAX];
    struct stat about;
    for (uint32_t n = first; n && n <= last && m->files < FILES_MAX; n++) {
        bool front = n == (shifting ? last : first);
        if (!backlog_stat_numbered(m, dir, channel, n, &about)) {
            continue;
        }
        backlog_add_file(m, &about, front ? st->offset : 0);
        if (front) {
            sealed_front = true;
            backlog_note_age(m, (double)(m->wall_s - about.st_mtim.tv_sec));
        }
    }
    layout_active(name, channel, false);
    if (st->session->layout != SESSION_WINDOWS && backlog_stat(m, dir, name, &about)) {
        backlog_add_file(m, &about, sealed_front ? 0 : st->offset);
    }
    if (!sealed_front) {
        backlog_note_age(m, (double)(m->now_ms - st->waits_since_ms) / 1e3);
    }
}

static void backlog_measure_session(struct measure *m, const struct session *s)
{
    int dir = -1;
    for (unsigned i = 0; i < s->streams; i++) {
        const struct stream *st = s->stream[i];
        if (st->rest != STREAM_PENDING && !st->offer) {
            continue;
        }
        if (dir < 0) {
            dir = s->root->engine->config.sys->open_beneath(s->root->fd, s->path,
                                                            O_PATH | O_DIRECTORY, 0);
        }
        if (dir < 0) {
            return; /* gone, as the next listing will find */
        }
        backlog_measure_stream(m, dir, st);
    }
    if (dir >= 0) {
        close(dir);
    }
}

static void backlog_count(struct backlog *out, const struct session *s)
{
    bool lacks = s->outcome == SESSION_LACKS;
    unsigned *which = s->state == SESSION_DONE ? (lacks ? &out->lossy : &out->complete)
                      : session_blocked(s) || session_hold_stands(s) ? &out->blocked
                      : session_writer_is_gone(s)                    ? &out->ended
                                                                     : &out->live;
    ++*which;
}

void engine_backlog(const struct engine *engine, struct backlog *out)
{
    const struct sys *sys = engine->config.sys;
    struct measure m = {.out = out, .wall_s = sys->wall_s(), .now_ms = sys->now_ms()};
    *out = (struct backlog){0};
    for (unsigned i = 0; i < engine->roots; i++) {
        const struct root *root = engine->root[i];
        out->complete += root->parked.complete - root->parked.lacking;
        out->lossy += root->parked.lacking;
        out->parked_session += root->parked.waiting.count;
        out->away += root->parked.away;
        out->blocked += root->parked.held + root->parked.replaced;
        for (const struct session *s = root->sessions; s; s = s->next) {
            if (s->wanted && s->presence == SESSION_AWAY && s->state != SESSION_DONE) {
                out->away++;
                continue;
            }
            if (!s->wanted || (!s->inspected && s->state != SESSION_DONE)) {
                continue;
            }
            backlog_count(out, s);
            if (s->state != SESSION_DONE) {
                backlog_measure_session(&m, s);
            }
        }
    }
}
