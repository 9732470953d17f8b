/* SPDX-License-Identifier: Apache-2.0 */
/* Puts what a service publishes into the tables of a journal. */
#include "cli/transfer/status_published.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "upload/journal/state_dir.h"
#include "upload/published/progress_file.h"
#include "upload/published/run_dir.h"

struct published {
    struct journal_read *journal;
    uint32_t last_id;
};

static struct journal_read_stream *published_find(const struct journal_read *journal,
                                                  const struct progress_line *line)
{
    const struct journal_read_stream *at = journal_read_first(journal, line->path);
    while (at && strcmp(at->record.channel, line->channel) != 0) {
        at = journal_read_next(journal, at);
    }
    return at ? journal_tables_stream(journal, at->record.stream) : NULL;
}

static struct record_stream published_record(const struct progress_line *line,
                                             uint32_t id)
{
    struct record_stream record = {.stream = id,
                                   .kind = (uint8_t)line->kind,
                                   .file = line->file,
                                   .offset = line->offset,
                                   .sequence = line->sequence,
                                   .lines = line->lines,
                                   .refused_lines = line->refused_lines,
                                   .marks = (uint8_t)line->marks,
                                   .layout = (uint8_t)line->layout,
                                   .at.losses = line->losses};
    record.at.at.file = line->marks & MARK_POSITIONS ? line->file : 0;
    snprintf(record.path, sizeof record.path, "%s", line->path);
    snprintf(record.channel, sizeof record.channel, "%s", line->channel);
    return record;
}

static void published_add_line(void *arg, const struct progress_line *line)
{
    struct published *to = arg;
    const struct journal_read_stream *known = published_find(to->journal, line);
    bool same =
        known && line->file == known->record.file && line->offset == known->record.offset;
    bool later =
        !known || line->file > known->record.file ||
        (line->file == known->record.file && line->offset >= known->record.offset);
    if (later && (line->told || !same)) { /* a journal tells more */
        struct record_stream record =
            published_record(line, known ? known->record.stream : ++to->last_id);
        journal_tables_put(to->journal, &record);
        struct journal_read_stream *stream =
            journal_tables_stream(to->journal, record.stream);
        if (stream) {
            stream->untold = !line->told;
            stream->quarantined = stream->quarantined || line->quarantined;
        }
    }
    struct journal_read_session *session =
        line->complete ? journal_tables_session(to->journal, line->path) : NULL;
    if (session && (line->told || !session->is_done)) {
        session->is_done = true;
        session->done.outcome = (uint8_t)line->outcome;
    }
}

/* Whether it is the service's own. */
static bool published_is_kept_here(int root_fd, const char *root_path)
{
    struct state_place place;
    char why[512];
    if (state_dir_open(NULL, root_fd, root_path, STATE_READ, &place, why) != GPUFL_OK) {
        return false;
    }
    bool kept = progress_is_kept_in(&sys_real, root_fd, place.fd);
    close(place.fd);
    return kept;
}

static void published_leave_out(struct journal_read *journal,
                                struct status_source *source)
{
    uint32_t seed = journal->seed;
    snprintf(source->left_out, sizeof source->left_out, "%s",
             journal->origin.now.url[0] ? journal->origin.now.url
                                        : "a backend not noted");
    journal_read_fini(journal);
    journal->seed = seed;
    source->journal = false;
}

void status_published_add(int root_fd, const char *root_path,
                          struct journal_read *journal, struct status_source *source)
{
    const struct progress_origin about = {journal->origin.now.url,
                                          journal->origin.now.database};
    struct published to = {.journal = journal};
    if (!run_dir_is_served(root_fd)) {
        return;
    }
    if (source->journal && !published_is_kept_here(root_fd, root_path) &&
        progress_compare_origin(&sys_real, root_fd, &about) != PROGRESS_SAME_DATABASE) {
        published_leave_out(journal, source);
    }
    source->sessions = journal->sessions;
    for (size_t i = 0; i < journal->streams; i++) {
        uint32_t id = journal->stream[i].record.stream;
        to.last_id = id > to.last_id ? id : to.last_id;
    }
    source->service = true;
    source->silent =
        progress_read(&sys_real, root_fd, NULL, published_add_line, &to) != GPUFL_OK;
}
