/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the journal that an earlier process left, and sets a damaged one aside. */
#include "upload/journal/journal_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define MAX_FILE_BYTES (1u << 30)

static void keep_aside(const struct journal_place *place, const char *data, size_t len)
{
    char name[300];
    snprintf(name, sizeof name, "%s.corrupt-%llu", place->name,
             (unsigned long long)place->sys->now_ms());
    gpufl_status status = file_replace(place->sys, place->dir, name, data, len, false);
    log_error(place->log, "journal.damaged",
              "root=%s kept=%s status=\"%s\" note=\"some lines may be sent twice\"",
              place->root, name, gpufl_status_text(status));
}

/* A directory that was moved took its journal along, which is as right as before. */
static void compare_root(const struct journal_place *place,
                         const struct journal_parsed *parsed)
{
    if (parsed->root_len != strlen(place->root) ||
        memcmp(parsed->root, place->root, parsed->root_len) != 0) {
        log_info(place->log, "journal.moved", "root=%s was=%.*s", place->root,
                 (int)parsed->root_len, parsed->root);
    }
}

static void say_header(const struct journal_place *place,
                       const struct journal_parsed *parsed)
{
    if (parsed->header_damaged) {
        log_warn(place->log, "journal.header",
                 "root=%s note=\"one of its two headers was damaged: the records are "
                 "used, and the file is written anew\"",
                 place->root);
    }
}

gpufl_status journal_load(const struct journal_place *place, journal_replay_fn replay,
                          void *arg, struct journal_loaded *out)
{
    char *data;
    size_t len;
    struct journal_parsed parsed;
    *out = (struct journal_loaded){0};
    gpufl_status status =
        file_read_owned(place->sys, place->dir, place->name, MAX_FILE_BYTES, &data, &len);
    if (status == GPUFL_ERR_NOT_FOUND) {
        out->is_new = true;
        return GPUFL_OK;
    }
    if (status != GPUFL_OK) {
        return status;
    }
    const unsigned char *bytes = (const unsigned char *)data;
    status = journal_format_parse(bytes, len, replay, arg, &parsed);
    out->last = parsed.last;
    out->damaged = parsed.damaged;
    if (status == GPUFL_OK) {
        out->generation = parsed.generation;
        compare_root(place, &parsed);
        say_header(place, &parsed);
    } else if (journal_format_is_newer(bytes, len)) {
        log_error(place->log, "journal.newer",
                  "root=%s note=\"written by a newer gpufl; upgrade this one\"",
                  place->root);
    } else {
        out->damaged = true;
        status = GPUFL_OK;
    }
    if (out->damaged) {
        keep_aside(place, data, len);
    }
    free(data);
    return status;
}
