/* SPDX-License-Identifier: Apache-2.0 */
/* Names quarantined ranges, and reads their bytes from the session's files. */
#include "upload/resolve/quarantine_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "upload/source/scan_session.h"
#include "upload/source/tail.h"

void quarantine_read_name(struct quarantined *range)
{
    char key[JOURNAL_PATH_MAX + LAYOUT_CHANNEL_MAX + 48];
    const char *slash = strrchr(range->path, '/');
    int n = snprintf(key, sizeof key, "%s %s %u %llu", range->path, range->channel,
                     range->record.file, (unsigned long long)range->record.begin);
    snprintf(range->name, sizeof range->name, "%08x", crc32c(0, key, (size_t)n));
    range->session = slash ? slash + 1 : range->path;
}

bool quarantine_in_journal(const struct journal_read *journal, size_t index,
                           struct quarantined *out)
{
    const struct record_quarantine *q =
        index < journal->quarantine.count ? journal->quarantine.range[index] : NULL;
    const struct journal_read_stream *known =
        q ? journal_tables_stream(journal, q->stream) : NULL;
    if (known) {
        const struct record_stream *st = &known->record;
        *out = (struct quarantined){.record = *q,
                                    .path = st->path,
                                    .channel = st->channel,
                                    .window = st->kind == STREAM_VERBATIM,
                                    .head = st->head,
                                    .is_at_head = st->file == q->file};
        quarantine_read_name(out);
    }
    return known != NULL;
}

static gpufl_status quarantine_read_window(const struct sys *sys,
                                           const struct tail_where *where, size_t want,
                                           char *data, bool *gz)
{
    int fd;
    gpufl_status status = tail_open_window(sys, where, &fd, gz);
    if (status != GPUFL_OK) {
        return status;
    }
    size_t got = 0;
    for (ssize_t n;
         got < want && (n = sys->pread(fd, data + got, want - got, (off_t)got)) > 0;) {
        got += (size_t)n;
    }
    close(fd);
    return got == want ? GPUFL_OK : GPUFL_ERR_FORMAT;
}

/* Files of the 1.1 layout are identified by their head, and only that of the last one is
 * kept. */
static gpufl_status quarantine_read_lines(const struct sys *sys,
                                          const struct tail_where *where,
                                          const struct quarantined *range, size_t want,
                                          char *data)
{
    struct tail_chunk chunk;
    if (where->layout == SESSION_SHIFTING && !range->is_at_head) {
        return GPUFL_ERR_NOT_FOUND;
    }
    gpufl_status status = tail_read(sys, where, data, want, &chunk);
    return status == GPUFL_OK && chunk.len < want ? GPUFL_ERR_FORMAT : status;
}

gpufl_status quarantine_read(const struct sys *sys, int root,
                             const struct quarantined *range, char **data, size_t *len,
                             bool *gz)
{
    const struct record_quarantine *f = &range->record;
    struct scan scan;
    *len = (size_t)(f->end - f->begin);
    *gz = false;
    *data = NULL;
    gpufl_status status = scan_session(sys, root, range->path, range->session, &scan);
    if (status != GPUFL_OK) {
        return status;
    }
    *data = malloc(*len + 1);
    if (!*data) {
        return GPUFL_ERR_NOMEM;
    }
    struct tail_where where = {.root = root,
                               .path = range->path,
                               .channel = range->channel,
                               .layout = scan.layout,
                               .file = f->file,
                               .offset = f->begin,
                               .head = range->head};
    status = range->window ? quarantine_read_window(sys, &where, *len, *data, gz)
                           : quarantine_read_lines(sys, &where, range, *len, *data);
    if (status != GPUFL_OK) {
        free(*data);
        *data = NULL;
    }
    return status;
}
