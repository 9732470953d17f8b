/* SPDX-License-Identifier: Apache-2.0 */
/* What is written to a file without a name is gone when its descriptor is closed; what
 * others cut off is gone at once. */
#include "collector-lib/core/active_name.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "base/plural.h"
#include "collector-lib/core/clock.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/loss_marker.h"

struct active_loss {
    const char *reason;
    uint64_t lines;
};

static void say_not_restored(struct channel_file *file, enum channel channel,
                             const char *id, int reason)
{
    if (!file->name_loss_said) {
        file->name_loss_said = true;
        library_log(
            GPUFL_LOG_ERROR,
            "%s/%s.log was removed or replaced, and cannot be restored yet: "
            "%s; its lines are lost if it cannot be before the session ends (free "
            "some space, or check the directory)",
            id, channel_name(channel), message_reason(reason));
    }
}

void active_name_seal(struct channel_file *file, int dir, enum channel channel,
                      const char *id)
{
    const char *name = channel_name(channel);
    if (channel_file_rotate(file, dir, channel) < 0 && errno == EEXIST &&
        !file->taken_said) {
        file->taken_said = true;
        library_log(GPUFL_LOG_WARNING,
                    "%s/%s.log cannot be sealed, and grows: %s.%" PRIu32
                    ".log is there already (move that file away; leave the files of a "
                    "running session alone)",
                    id, name, name, file->rotated + 1);
    }
}

/* Where there is room for it, and the directory has not been removed. */
static bool active_name_mark(struct channel_file *file, int dir, enum channel channel,
                             struct active_loss loss)
{
    int64_t now_ns = clock_mono_ns() + clock_anchor_ns();
    const struct loss_marker marker = {.category = channel_name(channel),
                                       .index = file->rotated + 1,
                                       .reason = loss.reason,
                                       .first_ns = now_ns,
                                       .last_ns = now_ns,
                                       .lines = loss.lines};
    bool marked = loss_marker_write(dir, &marker);
    file->loss_marked = file->loss_marked || marked;
    return marked;
}

/* All lines are there again. */
static void active_name_unmark(struct channel_file *file, int dir, enum channel channel)
{
    if (file->loss_marked) {
        file->loss_marked = file->name_loss_said = false;
        loss_marker_remove(dir, channel_name(channel), file->rotated + 1);
    }
}

static void say_replaced(struct channel_file *file, enum channel channel, const char *id,
                         uint64_t lost_lines)
{
    if (!file->name_loss_said) {
        file->name_loss_said = true;
        library_log(GPUFL_LOG_ERROR,
                    "%s/%s.log was replaced by a file of other content: %" PRIu64
                    " %s lost (leave the files of a running session alone)",
                    id, channel_name(channel), lost_lines,
                    plural(lost_lines, "line is", "lines are"));
    }
}

static bool read_whole(int fd, char *out, size_t len, off_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = pread(fd, out + done, len - done, at + (off_t)done);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* \return 1 or 0; -1 if it cannot be read. */
static int are_at(int fd, off_t at, const char *lines, size_t len)
{
    char there[16384];
    for (size_t part, same = 0; same < len; same += part) {
        part = len - same < sizeof there ? len - same : sizeof there;
        if (!read_whole(fd, there, part, at + (off_t)same)) {
            return -1;
        }
        if (memcmp(there, lines + same, part) != 0) {
            return 0;
        }
    }
    return 1;
}

/* \return where the line begins that \p end is in; -1 if it cannot be read. */
static off_t line_begin(int fd, off_t end)
{
    char before[4096];
    while (end > 0) {
        size_t part = end < (off_t)sizeof before ? (size_t)end : sizeof before;
        end -= (off_t)part;
        if (!read_whole(fd, before, part, end)) {
            return -1;
        }
        const char *newline = memrchr(before, '\n', part);
        if (newline) {
            return end + (newline - before) + 1;
        }
    }
    return 0;
}

bool active_name_merges(struct channel_file *file, const char *lines, size_t len)
{
    struct stat st;
    if (fstat(file->own.fd, &st) < 0 || st.st_size <= (off_t)len ||
        (uint64_t)st.st_size >= file->size_bytes + len) {
        return false;
    }
    off_t at = st.st_size - (off_t)len;
    int are = are_at(file->own.fd, at, lines, len); /* else it was cut since */
    off_t begin = are > 0 ? line_begin(file->own.fd, at) : are;
    bool merges = are && begin < at;
    if (merges) {
        channel_file_tear(file, (uint64_t)(st.st_size - (begin < 0 ? at : begin)));
    }
    return merges;
}

/* By logrotate with copytruncate, say. */
static struct session_amount active_name_lose_end(struct channel_file *file, int dir,
                                                  enum channel channel, const char *id,
                                                  const struct session_amount *had)
{
    const struct session_amount rest = channel_file_keep_rest(file);
    struct session_amount lost = *had;
    session_amount_subtract(&lost, &rest);
    library_log(GPUFL_LOG_ERROR,
                "%s/%s.log was cut by another program: %" PRIu64
                " %s lost (leave the files of a running session alone)",
                id, channel_name(channel), lost.lines,
                plural(lost.lines, "line is", "lines are"));
    active_name_mark(file, dir, channel,
                     (struct active_loss){"active_file_cut", lost.lines});
    file->loss_marked = false; /* nothing brings them back */
    return lost;
}

enum active_name active_name_keep(struct channel_file *file, int dir,
                                  enum channel channel, const char *id,
                                  const struct session_amount *had,
                                  struct session_amount *lost)
{
    *lost = (struct session_amount){0};
    if (channel_file_is_cut(file)) {
        *lost = active_name_lose_end(file, dir, channel, id, had);
        return ACTIVE_NAME_GIVEN_UP;
    }
    if (file->loss_marked && own_fd_is_ours(&file->own) &&
        channel_file_is_named(file, dir, channel)) {
        active_name_unmark(file, dir, channel); /* somebody has moved it back */
    }
    if (own_fd_is_ours(&file->own) && channel_file_is_sealed(file, dir, channel)) {
        return ACTIVE_NAME_SEALED;
    }
    if (!own_fd_is_ours(&file->own) || channel_file_has_name(file, dir, channel)) {
        return ACTIVE_NAME_KEPT;
    }
    switch (channel_file_restore(file, dir, channel, lost)) {
    case CHANNEL_RESTORED:
        file->name_loss_said = false;
        active_name_unmark(file, dir, channel);
        return ACTIVE_NAME_RESTORED;
    case CHANNEL_NOT_RESTORED: /* the job may be killed before it is */
        say_not_restored(file, channel, id, errno);
        active_name_mark(file, dir, channel,
                         (struct active_loss){"active_file_not_restored", lost->lines});
        return ACTIVE_NAME_LOST;
    case CHANNEL_REPLACED: /* the other file stays: somebody may want it */
        say_replaced(file, channel, id, lost->lines);
        return active_name_mark(file, dir, channel,
                                (struct active_loss){"active_file_replaced", lost->lines})
                   ? ACTIVE_NAME_GIVEN_UP
                   : ACTIVE_NAME_LOST;
    }
    return ACTIVE_NAME_LOST;
}
