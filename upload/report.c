/* SPDX-License-Identifier: Apache-2.0 */
/* Replays a journal into a table without an engine. */
#include "upload/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "upload/base/file.h"
#include "upload/journal_format.h"
#include "upload/state_dir.h"

#define JOURNAL_MAX_BYTES (1u << 30)

static struct report_stream *find(struct report *r, uint32_t id)
{
    for (size_t i = 0; i < r->streams; i++) {
        if (r->stream[i].fact.stream == id) {
            return &r->stream[i];
        }
    }
    return NULL;
}

/* Grows an array by one; NULL without memory, then the record is left out. */
static void *add_one(void *array, size_t count, size_t size)
{
    return realloc(array, (count + 1) * size);
}

static void on_stream(struct report *r, const struct journal_record *record)
{
    struct fact_stream fact;
    if (!fact_read_stream(record, &fact)) {
        return;
    }
    struct report_stream *known = find(r, fact.stream);
    struct report_stream *more =
        known ? NULL : add_one(r->stream, r->streams, sizeof *more);
    if (more) {
        r->stream = more;
        known = &more[r->streams++];
    }
    if (known) {
        *known = (struct report_stream){.fact = fact};
    }
}

static void on_settled(struct report *r, const struct journal_record *record)
{
    struct fact_settled fact;
    struct report_stream *s =
        fact_read_settled(record, &fact) ? find(r, fact.stream) : NULL;
    if (!s) {
        return;
    }
    s->fact.file = fact.file;
    s->fact.offset = fact.end;
    s->fact.head = fact.head;
    s->offered = false;
    if (fact.how == SETTLED_ACKED || fact.how == SETTLED_UNPROVEN) {
        s->fact.lines += fact.lines;
    } else {
        s->fact.refused_lines += fact.lines;
    }
}

static void on_offer(struct report *r, const struct journal_record *record)
{
    struct fact_offer fact;
    struct report_stream *s =
        fact_read_offer(record, &fact) ? find(r, fact.stream) : NULL;
    if (s) {
        s->offered = true;
    }
}

static void on_quarantine(struct report *r, const struct journal_record *record)
{
    struct fact_quarantine fact;
    struct fact_quarantine *more =
        fact_read_quarantine(record, &fact)
            ? add_one(r->quarantine, r->quarantines, sizeof *more)
            : NULL;
    if (more) {
        r->quarantine = more;
        r->quarantine[r->quarantines++] = fact;
    }
}

static void on_released(struct report *r, const struct journal_record *record)
{
    struct fact_released fact;
    if (!fact_read_released(record, &fact)) {
        return;
    }
    struct report_stream *s = find(r, fact.stream);
    for (size_t i = 0; s && i < r->quarantines; i++) {
        struct fact_quarantine *q = &r->quarantine[i];
        if (q->stream == fact.stream && q->file == fact.file && q->begin == fact.begin) {
            s->fact.refused_lines -=
                q->lines < s->fact.refused_lines ? q->lines : s->fact.refused_lines;
            s->fact.lines += fact.stored ? q->lines : 0;
            memmove(q, q + 1, (--r->quarantines - i) * sizeof *q);
            return;
        }
    }
}

static void on_session(struct report *r, const struct journal_record *record)
{
    struct fact_session fact;
    if (!fact_read_session(record, &fact)) {
        return;
    }
    if (record->type == FACT_DONE) {
        char(*more)[FACTS_PATH_MAX] = add_one(r->done, r->dones, sizeof *more);
        if (more) {
            r->done = more;
            strcpy(r->done[r->dones++], fact.path);
        }
        return;
    }
    for (size_t i = 0; i < r->streams;) {
        if (strcmp(r->stream[i].fact.path, fact.path) == 0) {
            r->stream[i] = r->stream[--r->streams];
        } else {
            i++;
        }
    }
}

static void on_record(void *arg, const struct journal_record *record)
{
    switch (record->type) {
    case FACT_STREAM:
        on_stream(arg, record);
        break;
    case FACT_OFFER:
        on_offer(arg, record);
        break;
    case FACT_SETTLED:
        on_settled(arg, record);
        break;
    case FACT_QUARANTINE:
        on_quarantine(arg, record);
        break;
    case FACT_RELEASED:
        on_released(arg, record);
        break;
    case FACT_DONE:
    case FACT_FORGET:
        on_session(arg, record);
        break;
    default:
        break;
    }
}

gpufl_status report_read(const struct sys *sys, const char *state_dir, int root_fd,
                         const char *root_path, struct report *out)
{
    char name[STATE_NAME_MAX];
    char why[512];
    char *data = NULL;
    size_t len = 0;
    int dir;
    memset(out, 0, sizeof *out);
    gpufl_status status =
        state_dir_open(state_dir, root_fd, root_path, false, &dir, name, why);
    if (status != GPUFL_OK) {
        return GPUFL_ERR_NOT_FOUND;
    }
    status = file_read(sys, dir, name, JOURNAL_MAX_BYTES, &data, &len);
    close(dir);
    if (status == GPUFL_OK) {
        size_t end;
        uint64_t last;
        status = journal_parse((const unsigned char *)data, len, on_record, out, &end,
                               &last, &out->damaged);
    }
    free(data);
    if (status != GPUFL_OK) {
        report_fini(out);
    }
    return status;
}

bool report_is_done(const struct report *report, const char *path)
{
    for (size_t i = 0; i < report->dones; i++) {
        if (strcmp(report->done[i], path) == 0) {
            return true;
        }
    }
    return false;
}

void report_fini(struct report *report)
{
    free(report->stream);
    free(report->quarantine);
    free(report->done);
    memset(report, 0, sizeof *report);
}
