/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what of one channel is behind the position that the journal names. */
#include "cli/transfer/channel_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_text.h"
#include "schema/channels.h"
#include "upload/source/gz_file.h"
#include "upload/source/ndjson.h"
#include "upload/source/shifting.h"
#include "upload/source/shifting_numbers.h"
#include "upload/source/tail.h"

#define SHIFTING_CHUNK_BYTES 65536u
#define PACKED_BYTES_MAX     (64u << 20)
#define TORN_BYTES_MAX       65536u
#define SHUTDOWN_BYTES_MAX   4096u
#define TORN_DEPTH_MAX       64

static const struct journal_read_stream *
known_stream(const struct journal_read *journal, const char *path, const char *channel)
{
    const struct journal_read_stream *at = journal_read_first(journal, path);
    while (at && strcmp(at->record.channel, channel) != 0) {
        at = journal_read_next(journal, at);
    }
    return at;
}

/* What a compressed file holds behind \p where, which moves. Anybody can make one that
 * holds any number of bytes: the limit is for all that is decompressed. */
static uint64_t packed_rest(struct tail_where *where)
{
    char chunk[SHIFTING_CHUNK_BYTES];
    struct gz_cache cache = {0};
    struct tail_chunk got = {0};
    uint64_t bytes = 0;
    where->cache = &cache;
    while (!got.at_end && cache.work < PACKED_BYTES_MAX &&
           tail_read(&sys_real, where, chunk, sizeof chunk, &got) == GPUFL_OK) {
        bytes += got.len;
        where->offset += got.len;
    }
    gz_cache_close(&cache);
    where->cache = NULL;
    return bytes;
}

/* How many files there are after the one at \p where->index. A number may be free, and
 * nothing waits in an empty file. */
static uint32_t later_files(const struct tail_where *where)
{
    uint32_t files = 0;
    for (uint32_t i = 0; i < where->index; i++) {
        struct stat st;
        bool gz;
        int fd = shifting_number_open(&sys_real, where, i, &gz);
        if (fd >= 0) {
            files += fstat(fd, &st) == 0 && st.st_size > 0;
            close(fd);
        }
    }
    return files;
}

/* Files of the 1.1 layout shift and may be compressed: the one at which the journal
 * stands is found by its head, which no service publishes. */
static void measure_shifting(int root, const char *path, const struct scan_channel *c,
                             const struct record_stream *at, struct channel_state *out)
{
    struct tail_where where = {
        .root = root, .path = path, .channel = c->name, .layout = SESSION_SHIFTING};
    struct stat st;
    bool gz;
    int fd;
    if (at) {
        where.offset = at->offset;
        where.head = at->head;
    }
    if (at && !at->head && at->offset) {
        out->untold = true;
        return;
    }
    out->waiting_files = scan_numbers_count(&c->rotated) +
                         ((c->has_active && c->active_bytes) || c->has_active_gz);
    if (!where.head ||
        shifting_open(&sys_real, &where, &fd, &gz, &where.index) != GPUFL_OK) {
        return;
    }
    out->waiting_files = later_files(&where);
    if (gz) {
        out->waiting_bytes = packed_rest(&where);
    } else if (fstat(fd, &st) == 0 && (uint64_t)st.st_size > where.offset) {
        out->waiting_bytes = (uint64_t)st.st_size - where.offset;
    }
    close(fd);
}

/* The time of the first record in \p text; 0 = it has none. */
static int64_t time_of_records(const char *text, size_t len)
{
    static const char *const key[] = {"\"ts_ns\":", "\"base_time_ns\":"};
    const char *first = NULL;
    for (unsigned i = 0; i < 2; i++) {
        const char *at = memmem(text, len, key[i], strlen(key[i]));
        if (at && (!first || at < first)) {
            first = at + strlen(key[i]);
        }
    }
    return first ? strtoll(first, NULL, 10) / 1000000000 : 0;
}

static struct tail_where where_of(int root, const char *path, const struct scan *scan,
                                  const struct scan_channel *c,
                                  const struct record_stream *at)
{
    return (struct tail_where){.root = root,
                               .path = path,
                               .channel = c->name,
                               .layout = scan->layout,
                               .file = at ? at->file : 1,
                               .offset = at ? at->offset : 0,
                               .head = at ? at->head : 0};
}

/* \return the bytes of its lines from \p back before it on; 0 = nothing is known. */
static size_t lines_at(const struct tail_where *at, uint64_t back,
                       char text[SHUTDOWN_BYTES_MAX])
{
    struct tail_chunk got = {0};
    struct tail_where where = *at;
    bool known = at->offset && at->layout != SESSION_WINDOWS &&
                 (at->layout != SESSION_SHIFTING || at->head);
    where.offset -= back;
    size_t most = back ? (size_t)back : SHUTDOWN_BYTES_MAX;
    known = known && tail_read(&sys_real, &where, text, most, &got) == GPUFL_OK;
    return known ? got.len : 0;
}

static bool next_is_shutdown(const struct tail_where *at)
{
    char text[SHUTDOWN_BYTES_MAX] = "";
    const char *end = memchr(text, '\n', lines_at(at, 0, text));
    return end && ndjson_is_shutdown(text, (size_t)(end - text));
}

static bool last_was_shutdown(const struct tail_where *at)
{
    char text[SHUTDOWN_BYTES_MAX] = "";
    uint64_t back = at->offset < sizeof text ? at->offset : sizeof text;
    const char *end = memrchr(text, '\n', lines_at(at, back, text));
    const char *before = end ? memrchr(text, '\n', (size_t)(end - text)) : NULL;
    const char *line = before ? before + 1 : text;
    return end && ndjson_is_shutdown(line, (size_t)(end - line));
}

/* \return the first other channel that is not at its end. */
static const char *awaited_channel(int root, const struct journal_read *journal,
                                   const char *path, const struct scan *scan,
                                   const struct scan_channel *c)
{
    for (unsigned i = 0; i < scan->channels; i++) {
        const struct scan_channel *other = &scan->channel[i];
        const struct journal_read_stream *known =
            known_stream(journal, path, other->name);
        const struct tail_where where =
            where_of(root, path, scan, other, known ? &known->record : NULL);
        bool follows = other != c && channel_is_known(other->name);
        if (follows && !next_is_shutdown(&where) && !last_was_shutdown(&where)) {
            return other->name;
        }
    }
    return NULL;
}

static int64_t first_waiting_s(const struct tail_where *where)
{
    char text[SHIFTING_CHUNK_BYTES + 1];
    struct tail_chunk got = {0};
    struct stat st;
    int fd;
    bool gz;
    if (where->layout == SESSION_WINDOWS) {
        if (tail_open_window(&sys_real, where, &fd, &gz) != GPUFL_OK) {
            return 0;
        }
        int64_t written_s = fstat(fd, &st) == 0 ? st.st_mtim.tv_sec : 0;
        close(fd);
        return written_s;
    }
    bool unknown = where->layout == SESSION_SHIFTING && !where->head;
    if (unknown || /* every number would be tried, and none can be the one */
        tail_read(&sys_real, where, text, SHIFTING_CHUNK_BYTES, &got) != GPUFL_OK) {
        return 0;
    }
    text[got.len] = '\0';
    return time_of_records(text, got.len);
}

/* An active file of a live session that another tool has compressed. */
static uint64_t measure_packed(int root, const char *path, const struct scan_channel *c,
                               uint64_t offset)
{
    struct tail_where where = {.root = root,
                               .path = path,
                               .channel = c->name,
                               .layout = SESSION_LIVE,
                               .file = c->highest + 1,
                               .offset = offset};
    return packed_rest(&where);
}

/* The journal stands at its end until something of the next file is settled. */
static bool sealed_is_settled(int root, const char *path, const struct scan_channel *c,
                              const struct record_stream *at)
{
    const struct tail_where where = {.root = root, .path = path, .channel = c->name};
    struct stat st;
    bool gz;
    int fd = tail_where_open_either(&sys_real, &where, at->file, &gz);
    if (fd < 0) {
        return false;
    }
    uint64_t bytes = fstat(fd, &st) < 0 ? 0 : (uint64_t)st.st_size;
    bytes = gz ? gz_file_says_bytes(&sys_real, fd, bytes) : bytes;
    close(fd);
    return bytes == at->offset;
}

/* Whether a person gave up what is there of its active file, as it cannot be read, or is
 * an earlier copy of what was sent. */
static bool was_given_up(int root, const char *path, const struct scan_channel *c,
                         const struct record_stream *at)
{
    const struct tail_where where = {.root = root,
                                     .path = path,
                                     .channel = c->name,
                                     .layout = SESSION_LIVE,
                                     .file = at->file,
                                     .offset = at->offset,
                                     .mark = at->mark,
                                     .mark_at = at->offset};
    if (at->at.state == END_COPY || (at->at.state == END_CUT && at->marks & MARK_LOST)) {
        return !at->mark.bytes || tail_compare(&sys_real, &where) != FILE_MATCHES;
    }
    return at->marks & MARK_ENDED && !tail_has_more(&sys_real, &where);
}

static void measure_live(int root, const char *path, const struct scan_channel *c,
                         const struct record_stream *at, struct channel_state *out)
{
    uint32_t file = at ? at->file : 1;
    uint64_t offset = at && file > c->highest ? at->offset : 0;
    if (file <= c->highest) {
        bool settled = at && sealed_is_settled(root, path, c, at);
        out->waiting_files = c->highest - file + !settled;
    }
    if (at && file > c->highest && was_given_up(root, path, c, at)) {
        out->waiting_bytes = 0;
    } else if (!c->has_active && c->has_active_gz) {
        out->waiting_bytes = measure_packed(root, path, c, offset);
    } else {
        out->waiting_bytes = c->active_bytes > offset ? c->active_bytes - offset : 0;
    }
}

/* The newest sealed file, if all of it was sent and a later one is being read. */
static uint32_t rewritten_file(int root, const char *path, const char *channel,
                               const struct journal_read_stream *known)
{
    const struct record_sealed *sealed = &known->sealed;
    const struct record_stream *at = &known->record;
    const struct tail_where where = {.root = root,
                                     .path = path,
                                     .channel = channel,
                                     .layout = SESSION_LIVE,
                                     .sealed_only = true,
                                     .file = sealed->file,
                                     .offset = sealed->bytes,
                                     .mark = sealed->mark,
                                     .mark_at = sealed->bytes};
    bool sent = sealed->mark.bytes && sealed->file < at->file &&
                at->layout == 1 + SESSION_LIVE && !(at->marks & MARK_LOST);
    enum file_match match = sent ? tail_compare(&sys_real, &where) : FILE_MATCHES;
    bool more = sent && match == FILE_MATCHES && tail_has_more(&sys_real, &where);
    return more || match == FILE_DIFFERS || match == FILE_SHORTER ? sealed->file : 0;
}

/* A place counts half a line whose writer was killed, which is never sent: the position
 * is behind it, and it is no object. One that is too long to be read here counts. */
static bool ends_in_torn_line(int root, const char *path, const struct record_stream *at)
{
    char text[TORN_BYTES_MAX];
    struct tail_chunk got = {0};
    uint64_t back = at->offset < sizeof text ? at->offset : sizeof text;
    const struct tail_where where = {.root = root,
                                     .path = path,
                                     .channel = at->channel,
                                     .layout = SESSION_LIVE,
                                     .file = at->file,
                                     .any_number = true,
                                     .offset = at->offset - back};
    bool placed = at->at.at.file && at->layout == 1 + SESSION_LIVE && back;
    if (!placed || tail_read(&sys_real, &where, text, (size_t)back, &got) != GPUFL_OK ||
        got.len != back || text[back - 1] == '\n') {
        return false;
    }
    const char *before = memrchr(text, '\n', (size_t)back);
    const char *line = before ? before + 1 : text;
    return (before || back == at->offset) &&
           !json_is_object(line, (size_t)(text + back - line), TORN_DEPTH_MAX);
}

struct channel_state channel_state_settled(const struct journal_read_stream *known)
{
    const struct record_stream *at = &known->record;
    return (struct channel_state){.figures_untold = known->untold,
                                  .settled_lines = at->lines,
                                  .refused_lines = at->refused_lines,
                                  .front_missing = at->marks & MARK_GAP,
                                  .lost = at->marks & MARK_LOST,
                                  .losses = at->at.losses};
}

static bool has_files(int root, const char *path, const struct scan *scan,
                      const char *channel)
{
    struct stat st;
    char active[LAYOUT_PATH_MAX];
    char file[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX];
    if (scan_find_channel(scan, channel)) {
        return true;
    }
    layout_active(active, channel, false);
    snprintf(file, sizeof file, "%s/%s", path, active);
    return fstatat(root, file, &st, AT_SYMLINK_NOFOLLOW) == 0; /* it is not read */
}

bool channel_state_missing(int root, const struct journal_read *journal, const char *path,
                           const struct scan *scan, const char *channel,
                           struct channel_state *out)
{
    const struct journal_read_stream *known = known_stream(journal, path, channel);
    const struct channel_state none = {0};
    if (!channel_is_known(channel) || has_files(root, path, scan, channel)) {
        return false;
    }
    *out = known ? channel_state_settled(known) : none;
    out->missing = !known || !(known->record.marks & MARK_ENDED);
    return true;
}

/* Another uploader has reported the session, or this one, whose journal was lost since:
 * all that was there counted as sent when it was taken for complete. */
static bool was_reported(const struct journal_read *journal, const char *path,
                         const struct scan *scan)
{
    return scan->has_uploaded && journal_read_done(journal, path) &&
           !journal_read_first(journal, path);
}

struct channel_state channel_state(int root, const struct journal_read *journal,
                                   const char *path, const struct scan *scan,
                                   const struct scan_channel *c)
{
    struct channel_state out = {0};
    const struct journal_read_stream *known = known_stream(journal, path, c->name);
    const struct record_stream *at = known ? &known->record : NULL;
    uint32_t file = at ? at->file : 1;
    if (known) {
        out = channel_state_settled(known);
        out.settled_lines -= out.settled_lines && ends_in_torn_line(root, path, at);
    }
    if (scan->layout == SESSION_SHIFTING) {
        measure_shifting(root, path, c, at, &out);
    } else if (scan->layout == SESSION_WINDOWS) {
        bool waits = file <= c->highest && !was_reported(journal, path, scan);
        out.waiting_files = waits ? c->highest - file + 1 : 0;
    } else {
        measure_live(root, path, c, at, &out);
    }
    out.rewritten = known && journal_read_done(journal, path)
                        ? rewritten_file(root, path, c->name, known)
                        : 0;
    out.untold = out.untold && !journal_read_done(journal, path);
    if (out.waiting_files || out.waiting_bytes) {
        const struct tail_where where = where_of(root, path, scan, c, at);
        out.since_s = first_waiting_s(&where);
        out.awaits = next_is_shutdown(&where)
                         ? awaited_channel(root, journal, path, scan, c)
                         : NULL;
    }
    return out;
}
