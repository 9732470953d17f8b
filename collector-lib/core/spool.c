/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up the files of the session's directory and asks for the free space. */
#include "collector-lib/core/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/message.h"
#include "base/plural.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/loss_marker.h"

#define CHECK_EVERY_NS 1000000000
/* Recording resumes below this part of the limit, so that it does not flap. */
#define RESUME_PERCENT 90
#define RETRY_MS       200 /* doubled for each failure within CALM_NS of the last pause */
#define RETRY_MS_MAX   5000
#define CALM_NS        10000000000
#define NS_PER_MS      1000000
#define MARKER         "spool"

static uint64_t bytes_of(int dir, const char *name)
{
    struct stat st;
    bool is_file =
        fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
    return is_file ? (uint64_t)st.st_size : 0;
}

/* By the descriptor that is there: another one would have a low number for a moment. */
static uint64_t bytes_in(const struct own_fd *dir)
{
    _Alignas(struct dirent64) char entries[4096];
    uint64_t bytes = 0;
    ssize_t len = own_fd_is_ours(dir) && lseek(dir->fd, 0, SEEK_SET) == 0 ? 1 : 0;
    while (len > 0 && (len = getdents64(dir->fd, entries, sizeof entries)) > 0) {
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            bytes += bytes_of(dir->fd, entry->d_name);
            at += entry->d_reclen;
        }
    }
    return bytes;
}

static uint64_t free_bytes(int dir_fd)
{
    struct statvfs fs;
    return fstatvfs(dir_fd, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : UINT64_MAX;
}

static void spool_write_marker(struct spool *s)
{
    if (s->paused) {
        const struct loss_marker marker = {.category = MARKER,
                                           .index = s->markers,
                                           .reason = s->reason,
                                           .first_ns = s->first_ns,
                                           .last_ns = s->last_ns,
                                           .lines = s->lost_lines};
        s->marked = loss_marker_write(s->dir->fd, &marker) || s->marked;
    }
}

static void begin_pause(struct spool *s, int64_t wall_ns)
{
    s->paused = true;
    s->first_ns = s->last_ns = wall_ns;
    s->lost_lines = s->lost_bytes = 0;
    s->marked = false;
    spool_write_marker(s);
}

static void pause_at_limit(struct spool *s, bool budget, uint64_t used, uint64_t left,
                           int64_t wall_ns)
{
    snprintf(s->reason, sizeof s->reason,
             "%s:spool_bytes=%" PRIu64 ",max_spool_bytes=%" PRIu64
             ",available_bytes=%" PRIu64 ",min_free_bytes=%" PRIu64,
             budget ? "spool_budget_exceeded" : "filesystem_reserve_reached", used,
             s->max_bytes, left, s->min_free_bytes);
    library_log(GPUFL_LOG_ERROR, "recording paused: %s; it resumes when there is room",
                s->reason);
    begin_pause(s, wall_ns);
}

static void set_retry(struct spool *s, int64_t mono_ns)
{
    s->retry_ns = mono_ns + (int64_t)s->retry_ms * NS_PER_MS;
}

/* A disk that takes a few lines and no more would have a pause, a message and a marker
 * each time. */
bool spool_fail(struct spool *s, const char *channel, int reason, int64_t mono_ns,
                int64_t wall_ns)
{
    if (s->paused) {
        return false;
    }
    bool again = s->retry_ms && mono_ns - s->resumed_ns < CALM_NS;
    s->retry_ms = !again                           ? RETRY_MS
                  : s->retry_ms < RETRY_MS_MAX / 2 ? s->retry_ms * 2
                                                   : RETRY_MS_MAX;
    s->failed = true;
    snprintf(s->reason, sizeof s->reason, "write_failed:channel=%s,errno=%d", channel,
             reason);
    library_log(GPUFL_LOG_ERROR,
                "recording paused: cannot write %s.log: %s; it resumes when writes "
                "succeed (free some space, or check the directory)",
                channel, message_reason(reason));
    begin_pause(s, wall_ns);
    set_retry(s, mono_ns);
    return true;
}

bool spool_retry_is_due(struct spool *s, int64_t mono_ns)
{
    if (!s->failed || mono_ns < s->retry_ns) {
        return false;
    }
    if (!s->marked) {
        spool_write_marker(s);
    }
    set_retry(s, mono_ns);
    return true;
}

void spool_resume(struct spool *s, int64_t mono_ns)
{
    if (s->lost_lines) {
        spool_write_marker(s);
        loss_marker_reserve(s->dir->fd); /* for the next one */
        s->markers++;
    } else {
        loss_marker_remove(s->dir->fd, MARKER, s->markers);
    }
    s->paused = s->failed = false;
    s->resumed_ns = mono_ns;
    library_log(GPUFL_LOG_INFO, "recording resumed; %" PRIu64 " %s lost", s->lost_lines,
                plural(s->lost_lines, "line was", "lines were"));
}

static bool near_limit(const struct spool *s)
{
    return s->max_bytes && s->estimate >= s->max_bytes;
}

bool spool_check_is_due(const struct spool *s, int64_t mono_ns)
{
    return (s->max_bytes || s->min_free_bytes) && !s->failed &&
           (mono_ns >= s->next_check_ns || (!s->paused && near_limit(s)));
}

bool spool_check(struct spool *s, int64_t mono_ns, int64_t wall_ns)
{
    if (!spool_check_is_due(s, mono_ns)) {
        return false;
    }
    s->next_check_ns = mono_ns + CHECK_EVERY_NS;
    uint64_t used = s->estimate = bytes_in(s->dir);
    uint64_t left = free_bytes(s->dir->fd);
    if (!s->paused) {
        bool budget = s->max_bytes && used >= s->max_bytes;
        if (budget || left < s->min_free_bytes) {
            pause_at_limit(s, budget, used, left, wall_ns);
        }
        return false;
    }
    bool room = !s->max_bytes || used < s->max_bytes / 100 * RESUME_PERCENT;
    bool space = left >= s->min_free_bytes + s->min_free_bytes / 10;
    if (!room || !space) {
        return false;
    }
    spool_resume(s, mono_ns);
    return true;
}

void spool_wrote(struct spool *s, size_t len)
{
    s->estimate += len;
}

uint64_t spool_lost(struct spool *s, const char *lines, size_t len, int64_t wall_ns)
{
    uint64_t before = s->lost_lines;
    for (const char *at = lines; (at = memchr(at, '\n', (size_t)(lines + len - at)));) {
        s->lost_lines++;
        at++;
    }
    s->lost_bytes += len;
    s->last_ns = wall_ns;
    return s->lost_lines - before;
}

void spool_begin(struct spool *s)
{
    loss_marker_reserve(s->dir->fd);
}

void spool_end(struct spool *s, const char *id)
{
    if (s->paused && !s->failed && !s->lost_lines) {
        s->paused = false;
        loss_marker_remove(s->dir->fd, MARKER, s->markers);
    }
    spool_write_marker(s);
    if (s->paused && !s->marked) {
        library_log(GPUFL_LOG_ERROR,
                    "session %s lacks %" PRIu64 " %s, and no loss marker can be "
                    "written: %s; readers may take it for whole",
                    id, s->lost_lines, plural(s->lost_lines, "line", "lines"),
                    message_reason(errno));
    }
    loss_marker_release(s->dir->fd);
}
