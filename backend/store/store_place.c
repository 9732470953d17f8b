/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the part in which an offset lies and runs its checksum over the lines before. */
#include "backend/store/store_place.h"

#include <stdlib.h>
#include <string.h>

#include "backend/store/store_sessions.h"
#include "backend/store/store_statement.h"
#include "base/crc32c.h"

/* A stored part: its two ends, and the body between them. */
struct place_part {
    struct store_place from, to;
    int64_t body; /* 0 = its bytes were not sent */
};

static struct store_place store_place_column(sqlite3_stmt *s, int at)
{
    return (struct store_place){
        .at = {.file = (uint32_t)sqlite3_column_int64(s, at),
               .offset = (uint64_t)sqlite3_column_int64(s, at + 1),
               .lines = (uint64_t)sqlite3_column_int64(s, at + 2),
               .crc = (uint32_t)sqlite3_column_int64(s, at + 3)},
        .file_crc = (uint32_t)sqlite3_column_int64(s, at + 4),
    };
}

static void add_bytes(struct store_place *place, const char *data, size_t len)
{
    place->at.offset += len;
    place->at.crc = crc32c(place->at.crc, data, len);
    place->file_crc = crc32c(place->file_crc, data, len);
}

/* Adds the lines of \p data that end within \p room bytes. */
static void add_lines(struct store_place *place, const char *data, size_t room)
{
    size_t whole = 0;
    for (const char *at; (at = memchr(data + whole, '\n', room - whole));) {
        whole = (size_t)(at - data) + 1;
        place->at.lines++;
    }
    add_bytes(place, data, whole);
}

static gpufl_status place_within(struct store *store, const struct place_part *part,
                                 uint64_t offset, struct store_place *out)
{
    char *data;
    size_t len;
    *out = part->from;
    if (!part->body) {
        return GPUFL_OK;
    }
    gpufl_status status = store_body_lines(store, part->body, &data, &len);
    if (status == GPUFL_OK) {
        uint64_t room = offset - part->from.at.offset;
        add_lines(out, data, room < len ? (size_t)room : len);
        free(data);
    }
    return status;
}

gpufl_status store_place_find(struct store *store, const char *session,
                              const char *channel, uint32_t file, uint64_t offset,
                              struct store_place *out)
{
    struct place_part part = {0};
    sqlite3_stmt *s = statement_use(store, S_PLACE);
    statement_bind_text(s, 1, session);
    statement_bind_text(s, 2, channel);
    sqlite3_bind_int64(s, 3, file);
    sqlite3_bind_int64(s, 4, (int64_t)offset);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) {
        part.from = store_place_column(s, 0);
        part.to = store_place_column(s, 5);
        part.body = sqlite3_column_int64(s, 10);
    }
    sqlite3_reset(s);
    if (rc != SQLITE_ROW) {
        return rc == SQLITE_DONE ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
    }
    if (offset >= part.to.at.offset) {
        *out = part.to;
        return GPUFL_OK;
    }
    return place_within(store, &part, offset, out);
}
