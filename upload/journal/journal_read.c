/* SPDX-License-Identifier: Apache-2.0 */
/* Replays a journal into tables, without an engine. */
#include "upload/journal/journal_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "schema/layout.h"
#include "upload/journal/journal_format.h"
#include "upload/journal/record_apply.h"
#include "upload/journal/state_dir.h"

#define JOURNAL_MAX_BYTES (1u << 30)

static void read_stream(struct journal_read *r, const struct journal_record *raw)
{
    struct record_stream record;
    if (record_parse_stream(raw, &record)) {
        journal_tables_put(r, &record);
    }
}

struct read_back {
    struct journal_read_stream *stream;
    const struct record_settled *to;
};

static bool read_keep_settled(void *arg, struct record_quarantine *range)
{
    const struct read_back *back = arg;
    struct record_stream *is = &back->stream->record;
    bool settled = record_range_is_settled(range, back->to->file, back->to->end);
    if (!settled) {
        const struct record_released released = {.stored = 0};
        record_apply_released(&released, range, &is->lines, &is->refused_lines);
    }
    return settled;
}

static void read_settled(struct journal_read *r, const struct journal_record *raw)
{
    struct record_settled record;
    struct journal_read_stream *s = record_parse_settled(raw, &record)
                                        ? journal_tables_stream(r, record.stream)
                                        : NULL;
    if (!s) {
        return;
    }
    if (record_goes_back(&record, s->record.file, s->record.offset)) {
        struct read_back back = {.stream = s, .to = &record};
        range_list_keep_from(&r->quarantine, record.stream, record.file,
                             read_keep_settled, &back);
    }
    s->record.file = record.file;
    s->record.offset = record.end;
    s->record.head = record.head;
    s->record.at = record.at.at.file ? record.at : s->record.at;
    s->offered = false;
    record_apply_settled(&record, &s->record.lines, &s->record.refused_lines);
    if (record.how >= SETTLED_GIVEN_UP) {
        s->record.marks = (uint8_t)((s->record.marks & ~MARK_GAP) | MARK_LOST);
    }
}

static void read_offer(struct journal_read *r, const struct journal_record *raw)
{
    struct record_offer record;
    struct journal_read_stream *s =
        record_parse_offer(raw, &record) ? journal_tables_stream(r, record.stream) : NULL;
    if (s) {
        s->offered = true;
    }
}

static void read_sealed(struct journal_read *r, const struct journal_record *raw)
{
    struct record_sealed record;
    struct journal_read_stream *s = record_parse_sealed(raw, &record)
                                        ? journal_tables_stream(r, record.stream)
                                        : NULL;
    if (s) {
        s->sealed = record;
    }
}

static void read_quarantine(struct journal_read *r, const struct journal_record *raw)
{
    struct record_quarantine record;
    if (record_parse_quarantine(raw, &record) &&
        !range_list_add(&r->quarantine, &record)) {
        r->no_memory = true; /* then the whole reading fails */
    }
}

static void read_released(struct journal_read *r, const struct journal_record *raw)
{
    struct record_released record;
    if (!record_parse_released(raw, &record)) {
        return;
    }
    struct journal_read_stream *s = journal_tables_stream(r, record.stream);
    struct record_quarantine range;
    if (s && range_list_take(&r->quarantine, &record, &range)) {
        record_apply_released(&record, &range, &s->record.lines,
                              &s->record.refused_lines);
    }
}

/* Those that are settled, of sessions that are not forgotten, are in quarantine. */
static bool read_is_settled(void *arg, struct record_quarantine *range)
{
    struct journal_read_stream *s = journal_tables_stream(arg, range->stream);
    bool settled = s && record_range_is_settled(range, s->record.file, s->record.offset);
    if (settled) {
        s->quarantined = true;
    }
    return settled;
}

static void read_settled_ranges(struct journal_read *r)
{
    range_list_keep(&r->quarantine, 0, r->quarantine.count, read_is_settled, r);
}

static void read_resolved(struct journal_read *r, const struct journal_record *raw)
{
    struct record_resolved record;
    struct journal_read_session *session =
        record_parse_resolved(raw, &record) ? journal_tables_make(r, record.path) : NULL;
    if (session) {
        session->unread = record.unread;
        session->no_manifest = record.no_manifest;
    }
}

static void read_done(struct journal_read *r, const struct journal_record *raw)
{
    struct record_session record;
    struct journal_read_session *session =
        record_parse_session(raw, &record) ? journal_tables_make(r, record.path) : NULL;
    if (session) {
        session->done.outcome = record.outcome;
        session->is_done = true;
    }
}

static void read_forget(struct journal_read *r, const struct journal_record *raw)
{
    struct record_session record;
    if (record_parse_session(raw, &record)) {
        journal_tables_forget(r, record.path);
    }
}

static void read_directory(struct journal_read *r, const struct journal_record *raw)
{
    struct record_directory record;
    if (!record_parse_directory(raw, &record)) {
        return;
    }
    if (record.from[0]) {
        journal_tables_move(r, record.from, record.path);
    }
    struct journal_read_session *session = journal_tables_make(r, record.path);
    if (session) {
        session->directory = record.id;
        session->has_directory = true;
    }
}

/* Another backend: nothing is there yet. */
static void read_origin(struct journal_read *r, const struct journal_record *raw)
{
    struct record_origin record;
    if (!record_parse_origin(raw, &record)) {
        return;
    }
    origin_history_note(&r->origin, &record);
    if (!record.again) {
        return;
    }
    for (size_t i = 0; i < r->streams; i++) {
        struct journal_read_stream *s = &r->stream[i];
        s->record.file = 1;
        s->record.offset = s->record.head = 0;
        s->record.lines = s->record.refused_lines = 0;
        s->record.marks &= MARK_KEEP | MARK_GAP;
        s->offered = false;
    }
    for (size_t i = 0; i < r->sessions; i++) {
        r->session[i].is_done = false;
    }
    range_list_close(&r->quarantine);
}

static void read_record(void *arg, const struct journal_record *raw)
{
    static void (*const read_of[])(struct journal_read *,
                                   const struct journal_record *) = {
        [JOURNAL_STREAM] = read_stream,         [JOURNAL_OFFER] = read_offer,
        [JOURNAL_SETTLED] = read_settled,       [JOURNAL_SEALED] = read_sealed,
        [JOURNAL_QUARANTINE] = read_quarantine, [JOURNAL_RELEASED] = read_released,
        [JOURNAL_ORIGIN] = read_origin,         [JOURNAL_DIRECTORY] = read_directory,
        [JOURNAL_RESOLVED] = read_resolved,     [JOURNAL_DONE] = read_done,
        [JOURNAL_FORGET] = read_forget,
    };
    if (raw->type < sizeof read_of / sizeof read_of[0] && read_of[raw->type]) {
        read_of[raw->type](arg, raw);
    }
}

bool journal_read_is_of_another(int root_fd, const char *root_path, const char *or_else,
                                char why[512])
{
    struct stat root;
    struct stat dir;
    struct stat st;
    if (fstat(root_fd, &root) < 0 || root.st_uid == geteuid() ||
        fstatat(root_fd, LAYOUT_STATE_DIR, &dir, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISDIR(dir.st_mode) || dir.st_uid != root.st_uid) {
        return false;
    }
    const char *journal = LAYOUT_STATE_DIR "/" STATE_NAME_INSIDE;
    bool seen = fstatat(root_fd, journal, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!seen && errno == ENOENT) {
        return false;
    }
    bool readable = seen && faccessat(root_fd, journal, R_OK, AT_EACCESS) == 0;
    snprintf(why, 512, "'%.280s/%s': %sit belongs to user %u%s (run this as its owner%s)",
             root_path, journal, readable ? "" : "Permission denied: ", dir.st_uid,
             readable ? ", and is not believed" : "", or_else);
    errno = EACCES;
    return true;
}

/* In \p why, what is wrong with the journal of \p place, and what to do. */
static void say_unreadable(const struct state_place *place, gpufl_status status,
                           bool newer, char why[512])
{
    int error = errno;
    const char *reason = status == GPUFL_ERR_IO       ? strerror(error)
                         : newer                      ? "it was written by a newer gpufl"
                         : status == GPUFL_ERR_FORMAT ? "it is damaged"
                                                      : gpufl_status_text(status);
    const char *remedy = status == GPUFL_ERR_FORMAT && newer ? " (upgrade this one)"
                         : status == GPUFL_ERR_FORMAT
                             ? " (gpufl upload repairs it; some lines may be sent twice)"
                         : status == GPUFL_ERR_IO && error == EACCES
                             ? " (run this as its owner)"
                         : status == GPUFL_ERR_IO && error == ELOOP
                             ? " (it is not a regular file: move it away)"
                             : "";
    snprintf(why, 512, "'%s': %s%s", place->path, reason, remedy);
}

static gpufl_status journal_read_place(const struct sys *sys,
                                       const struct state_place *place,
                                       struct journal_read *out)
{
    char *data = NULL;
    size_t len = 0;
    bool newer = false;
    gpufl_status status =
        file_read(sys, place->fd, place->name, JOURNAL_MAX_BYTES, &data, &len);
    if (status == GPUFL_OK) {
        struct journal_parsed parsed;
        const unsigned char *bytes = (const unsigned char *)data;
        status = journal_format_parse(bytes, len, read_record, out, &parsed);
        journal_tables_tidy(out);
        read_settled_ranges(out);
        newer = status == GPUFL_ERR_FORMAT && journal_format_is_newer(bytes, len);
        out->damaged = parsed.damaged;
        status = status == GPUFL_OK && out->no_memory ? GPUFL_ERR_NOMEM : status;
    }
    int error = errno;
    free(data);
    if (status != GPUFL_OK) {
        journal_read_fini(out);
        errno = error;
        say_unreadable(place, status, newer, out->why);
    }
    return status;
}

gpufl_status journal_read_open(const struct sys *sys, const char *state_dir, int root_fd,
                               const char *root_path, struct journal_read *out)
{
    struct state_place place;
    memset(out, 0, sizeof *out);
    sys->random(&out->seed, sizeof out->seed);
    gpufl_status status =
        state_dir_open(state_dir, root_fd, root_path, STATE_READ, &place, out->why);
    if (status == GPUFL_OK) {
        status = journal_read_place(sys, &place, out);
        close(place.fd);
    } else if (status == GPUFL_ERR_NOT_FOUND && state_dir) {
        return GPUFL_ERR_IO; /* what was named must be there */
    }
    if (status == GPUFL_ERR_NOT_FOUND && !state_dir &&
        journal_read_is_of_another(root_fd, root_path, "", out->why)) {
        return GPUFL_ERR_IO;
    }
    return status;
}

bool journal_read_knows_any(const struct sys *sys, const char *state_dir, int root_fd)
{
    struct journal_read journal = {0};
    char fd_path[64];
    snprintf(fd_path, sizeof fd_path, "/proc/self/fd/%d", root_fd);
    char *path = realpath(fd_path, NULL);
    bool any = path &&
               journal_read_open(sys, state_dir, root_fd, path, &journal) == GPUFL_OK &&
               journal.sessions > 0;
    journal_read_fini(&journal);
    free(path);
    return any;
}

bool journal_read_is_empty(const struct journal_read *journal)
{
    bool any = journal->streams > 0;
    for (size_t i = 0; !any && i < journal->sessions; i++) {
        any = journal->session[i].is_done;
    }
    return !any;
}

const struct record_session *journal_read_done(const struct journal_read *journal,
                                               const char *path)
{
    const struct journal_read_session *session = journal_tables_session(journal, path);
    return session && session->is_done ? &session->done : NULL;
}

const struct directory_id *journal_read_directory(const struct journal_read *journal,
                                                  const char *path)
{
    const struct journal_read_session *session = journal_tables_session(journal, path);
    return session && session->has_directory ? &session->directory : NULL;
}

const struct journal_read_session *
journal_read_resolved(const struct journal_read *journal, const char *path)
{
    const struct journal_read_session *session = journal_tables_session(journal, path);
    return session && (session->unread || session->no_manifest) ? session : NULL;
}

static const struct journal_read_stream *read_numbered(const struct journal_read *journal,
                                                       size_t at)
{
    return at != LOOKUP_NONE ? &journal->stream[at] : NULL;
}

const struct journal_read_stream *journal_read_first(const struct journal_read *journal,
                                                     const char *path)
{
    const struct journal_read_session *session = journal_tables_session(journal, path);
    return session ? read_numbered(journal, session->first) : NULL;
}

const struct journal_read_stream *
journal_read_next(const struct journal_read *journal,
                  const struct journal_read_stream *stream)
{
    return read_numbered(journal, stream->next);
}

bool journal_read_is_quarantined(const struct journal_read *journal, const char *path)
{
    const struct journal_read_stream *at = journal_read_first(journal, path);
    while (at && !at->quarantined) {
        at = journal_read_next(journal, at);
    }
    return at != NULL;
}

bool journal_read_is_untold(const struct journal_read *journal, const char *path)
{
    const struct journal_read_stream *at = journal_read_first(journal, path);
    while (at && !at->untold) {
        at = journal_read_next(journal, at);
    }
    return at && journal_read_done(journal, path);
}

void journal_read_fini(struct journal_read *journal)
{
    journal_tables_close(journal);
    memset(journal, 0, sizeof *journal);
}
