/* SPDX-License-Identifier: Apache-2.0 */
/* Takes over what the progress files tell of each stream. They name neither the ranges in
 * quarantine nor what proves an end to a backend. */
#include "upload/engine/progress_import.h"

#include <errno.h>
#include <string.h>

#include "upload/core/position.h"
#include "upload/core/session_streams.h"
#include "upload/core/stream_numbers.h"
#include "upload/published/progress_file.h"

/* A journal that lacks records has lost ranges, or all of them. Those of windows have no
 * lines that count. */
static void import_unnamed_ranges(struct stream *st, const struct progress_line *line)
{
    const struct session *session = st->session;
    uint64_t refused = 0;
    for (unsigned i = 0; i < session->streams; i++) {
        refused += session->stream[i]->refused_lines;
    }
    bool counts = line->kind == STREAM_VERBATIM && !refused;
    if (counts && line->quarantined > session->quarantined) {
        st->refused_lines = line->quarantined - session->quarantined;
    }
}

/* What was not delivered stays so until a person gives it up. */
static void import_figures(struct stream *st, const struct progress_line *line)
{
    if (line->refused_lines > st->refused_lines) {
        st->refused_lines = line->refused_lines;
    }
    import_unnamed_ranges(st, line);
    st->lines = line->lines > st->lines ? line->lines : st->lines;
    st->keep = st->keep || line->marks & MARK_KEEP;
    st->gap = st->gap || line->marks & MARK_GAP;
    st->lost = st->lost || line->marks & MARK_LOST;
    st->lost_after = st->lost_after || line->marks & MARK_LOST_AFTER;
    if (line->reached_file && !st->reached_file) {
        st->reached_file = line->reached_file;
        st->reached_offset = line->reached_offset;
    }
}

/* The backend knows where it ends, and by which bytes: the journal's end is taken for no
 * more than it proves, and it is asked. Of a file that was come to, nothing was sent. */
static void import_proved(struct stream *st, const struct progress_line *line)
{
    const struct stream_place here = {.file = line->file, .offset = line->offset};
    const struct stream_place top = {.file = st->end.top_file,
                                     .offset = st->end.top_offset};
    st->positions = st->unproved = true;
    if (here.offset && stream_place_before(&top, &here)) {
        st->end.top_file = here.file;
        st->end.top_offset = here.offset;
    }
}

static void import_newer(struct stream *st, const struct progress_line *line)
{
    struct root *root = st->session->root;
    st->kind = (uint8_t)line->kind;
    if (st->positions || line->marks & MARK_POSITIONS) {
        import_proved(st, line);
    } else {
        /* A file of the shifting layout is known by its head, which is not told. */
        position_begin_at(st, line->file, line->offset,
                          line->file == st->file ? st->head : 0);
    }
    st->ended_file = line->marks & MARK_ENDED ? line->file : st->ended_file;
    st->sequence = line->sequence > st->sequence ? line->sequence : st->sequence;
    if (!st->id) {
        stream_set_number(st, ++root->last_stream_id);
    }
    if (st->offer) {
        offer_return(root->engine, st->offer);
    }
}

bool progress_import_is_newer(const struct progress_line *line, uint32_t file,
                              uint64_t offset)
{
    return line->file > file || (line->file == file && line->offset > offset);
}

void progress_import_stream(struct stream *st, const struct progress_line *line)
{
    if (progress_import_is_newer(line, st->file, st->offset)) {
        import_newer(st, line);
    }
    if (line->told) {
        import_figures(st, line);
    }
}

/* What this uploader has seen itself counts more. */
void progress_import_directory(struct session *session, const struct progress_line *line)
{
    if (line->directory.user && !session->directory.user) {
        session->directory = line->directory;
    }
}

struct import {
    struct root *root;
    bool unnamed; /* more ranges are in quarantine than the journal names */
    bool skipped; /* likewise, and the backend was told that it does not get them */
};

static void import_line(void *arg, const struct progress_line *line)
{
    struct import *import = arg;
    struct root *root = import->root;
    if (parked_find(&root->parked, line->path)) {
        return; /* the journal knows that it is complete */
    }
    struct session *session = session_make(root, line->path);
    struct stream *st = session ? session_stream(session, line->channel) : NULL;
    if (st) {
        progress_import_directory(session, line);
        progress_import_stream(st, line);
        bool unnamed = line->told && line->quarantined > session->quarantined;
        bool positions = st->positions || line->marks & MARK_POSITIONS;
        import->unnamed = import->unnamed || (unnamed && !positions);
        import->skipped = import->skipped || (unnamed && positions);
    }
}

static void import_say_unnamed(const struct root *root, const char *ways)
{
    log_warn(root->engine->config.log, "quarantine.lost",
             "root=%s note=\"which lines were in quarantine was in the part of the "
             "journal that is lost: they count as refused; %s\"",
             root->path, ways);
}

/* What another backend has, this one was not sent. */
void progress_import(struct root *root)
{
    const struct engine_config *config = &root->engine->config;
    const struct progress_origin origin = {config->backend ? config->backend->url : "",
                                           0};
    struct import import = {.root = root};
    bool compared = config->backend && !config->same_origin;
    gpufl_status status = progress_read(config->sys, root->fd, compared ? &origin : NULL,
                                        import_line, &import);
    if (import.unnamed) {
        import_say_unnamed(root, "gpufl upload --force --session-id offers those of a "
                                 "session again, gpufl resolve gives them up");
    }
    if (import.skipped) {
        import_say_unnamed(root, "the backend knows that they were skipped, and takes "
                                 "them no more: gpufl resolve gives them up");
    }
    if (status == GPUFL_OK) {
        log_info(root->engine->config.log, "progress.imported", "root=%s", root->path);
    } else if (status == GPUFL_ERR_IO) {
        log_warn(
            root->engine->config.log, "progress.ignored",
            "root=%s reason=\"%s\" note=\"only files of the uploader's user or of root "
            "are believed\"",
            root->path, strerror(errno));
    }
}
