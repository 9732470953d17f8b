/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes files by name in an opened directory; never recursively. */
#include "upload/lifecycle/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/uuid.h"
#include "upload/core/ranges.h"
#include "upload/core/shutdown.h"
#include "upload/core/stream.h"
#include "upload/lifecycle/sealed_file.h"
#include "upload/source/identity.h"

/* Writes the window's id to `.gpufl-window-ack.<channel>.<N>`, which tells the existing
 * agent why the payload is gone. \return false if the payload must stay. */
static bool cleanup_leave_ack(const struct sys *sys, int dir,
                              const struct session *session, const char *channel,
                              uint32_t number)
{
    char name[LAYOUT_PATH_MAX];
    char line[UUID_TEXT];
    char *text;
    size_t len;
    struct sidecar sidecar;
    layout_sidecar(name, channel, number);
    if (file_read(sys, dir, name, IDENTITY_MAX_BYTES, &text, &len) != GPUFL_OK) {
        return false;
    }
    gpufl_status status =
        sidecar_parse(text, len, session->id, channel, number, &sidecar);
    free(text);
    if (status != GPUFL_OK) {
        return false;
    }
    uuid_format(sidecar.window_id, line);
    line[UUID_TEXT - 1] = '\n'; /* in place of the terminating zero */
    layout_ack(name, channel, number);
    int fd = sys->open_beneath(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (fd < 0) {
        return errno == EEXIST;
    }
    bool whole =
        file_pwrite_all(sys, fd, line, sizeof line, 0) == 0 && sys->fsync(fd) == 0;
    close(fd);
    return whole;
}

/* \return whether it is gone by this uploader. */
static bool cleanup_delete(const struct stream *st, int dir, uint32_t number)
{
    const struct session *session = st->session;
    const struct engine *engine = session->root->engine;
    const struct sys *sys = engine->config.sys;
    const char *channel = stream_channel(st);
    char name[LAYOUT_PATH_MAX];
    bool window = st->kind == STREAM_VERBATIM;
    if (window && !cleanup_leave_ack(sys, dir, session, channel, number)) {
        return false;
    }
    layout_numbered(name, channel, number, window);
    int rc = sys->unlinkat(dir, name, 0);
    if (rc < 0 && errno == ENOENT && !window) { /* another tool has compressed it */
        layout_numbered(name, channel, number, true);
        rc = sys->unlinkat(dir, name, 0);
    }
    if (rc == 0) {
        log_debug(engine->config.log, "cleanup.deleted", "session=%s file=%s",
                  session->id, name);
    }
    return rc == 0;
}

/* If the backend goes back behind them, what they held is lost: that is no reason to wait
 * for a person. Of those behind one that somebody else took, it is. */
static void cleanup_stream(struct stream *st, int dir, uint32_t end)
{
    const struct root *root = st->session->root;
    uint32_t deleted = st->sealed.deleted;
    uint32_t first = ranges_next_in(root, st->id, st->lowest);
    for (uint32_t number = st->lowest; number < end; number++) {
        bool kept = ranges_next_in(root, st->id, number) == number;
        bool next = number == deleted + 1;
        bool known = kept ? next && sealed_file_is_there(st, number)
                          : cleanup_delete(st, dir, number);
        deleted += next && known;
    }
    st->lowest = first && first < end ? first : end;
    if (deleted > st->sealed.deleted && st->kind == STREAM_BATCHED) {
        sealed_file_deleted(st, deleted);
    }
}

/* \return the end of the files that may be deleted: those before the one that the journal
 * on disk names, which a restart never looks for. The newest sealed file of a live
 * channel stays: it tells the number of the active one, even to a reader without our
 * journal. So does the last window of a channel, while it may tell that one is gone. */
static uint32_t cleanup_end(const struct stream *st)
{
    if (journal_durable(st->session->root->journal) < st->journal_file_ticket) {
        return 0; /* the next inspection, or the completion, tries again */
    }
    bool newest = st->kind == STREAM_BATCHED || !shutdown_windows_told(st->session);
    return newest && st->highest < st->journal_file ? st->highest : st->journal_file;
}

void cleanup_session(struct session *session)
{
    struct root *root = session->root;
    int dir = -1;
    if (journal_broken(root->journal)) {
        return;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        struct stream *st = session->stream[i];
        uint32_t end = cleanup_end(st);
        if (!st->lowest || st->lowest >= end || !stream_deletes(st)) {
            continue;
        }
        if (dir < 0) {
            dir = session_open_directory(session);
        }
        if (dir >= 0) {
            cleanup_stream(st, dir, end);
        }
    }
    if (dir >= 0) {
        close(dir);
    }
}
