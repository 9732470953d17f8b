/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the journal that an earlier process left, and sets a damaged one aside. */
#include "upload/journal/journal_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define WINDOW_BYTES (256u << 10)

/* The file that is read. */
struct journal_source {
    const struct sys *sys;
    int fd;
    off_t at;
};

static ssize_t journal_source_part(void *arg, unsigned char *to, size_t room)
{
    struct journal_source *source = arg;
    ssize_t n = file_pread_full(source->sys, source->fd, to, room, source->at);
    source->at += n > 0 ? n : 0;
    return n;
}

/* The room of the window is used. */
static bool copy_aside(const struct journal_place *place, const char *name,
                       struct journal_source *source, const struct journal_window *window)
{
    struct file_new copy;
    ssize_t n = 0;
    bool good = file_new_open(&copy, place->sys, place->dir, name);
    source->at = 0;
    while (good && (n = journal_source_part(source, window->bytes, window->room)) > 0) {
        good = file_new_append(&copy, window->bytes, (size_t)n);
    }
    if (good && n < 0) {
        file_new_drop(&copy);
    }
    return good && n == 0 && file_new_take_place(&copy, name);
}

static void keep_aside(const struct journal_place *place, struct journal_source *source,
                       const struct journal_window *window)
{
    char name[300];
    snprintf(name, sizeof name, "%s.corrupt-%llu", place->name,
             (unsigned long long)place->sys->now_ms());
    bool kept = copy_aside(place, name, source, window);
    log_error(place->log, "journal.damaged",
              "root=%s kept=%s status=\"%s\" note=\"some lines may be sent twice\"",
              place->root, name, gpufl_status_text(kept ? GPUFL_OK : GPUFL_ERR_IO));
}

/* A directory that was moved took its journal along, which is as right as before. */
static void compare_root(const struct journal_place *place,
                         const struct journal_parsed *parsed)
{
    if (strcmp(parsed->root, place->root) != 0) {
        log_info(place->log, "journal.moved", "root=%s was=%s", place->root,
                 parsed->root);
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

static gpufl_status load_open(const struct journal_place *place,
                              struct journal_source *source, journal_replay_fn replay,
                              void *arg, struct journal_loaded *out)
{
    struct journal_parsed parsed;
    struct journal_window window = {.bytes = malloc(WINDOW_BYTES),
                                    .room = WINDOW_BYTES,
                                    .part = journal_source_part,
                                    .arg = source};
    if (!window.bytes) {
        return GPUFL_ERR_NOMEM;
    }
    gpufl_status status = journal_format_replay(&window, replay, arg, &parsed);
    if (status == GPUFL_ERR_FORMAT && journal_format_is_newer(window.bytes, window.len)) {
        log_error(place->log, "journal.newer",
                  "root=%s note=\"written by a newer gpufl; upgrade this one\"",
                  place->root);
    } else if (status == GPUFL_ERR_FORMAT) {
        out->damaged = true;
        status = GPUFL_OK;
    } else if (status == GPUFL_OK) {
        out->last = parsed.last;
        out->damaged = parsed.damaged;
        out->generation = parsed.generation;
        out->names_no_origin = parsed.names_no_origin;
        compare_root(place, &parsed);
        say_header(place, &parsed);
    }
    if (out->damaged) {
        keep_aside(place, source, &window);
    }
    free(window.bytes);
    return status;
}

gpufl_status journal_load(const struct journal_place *place, journal_replay_fn replay,
                          void *arg, struct journal_loaded *out)
{
    struct journal_source source = {
        .sys = place->sys, .fd = file_open_owned(place->sys, place->dir, place->name)};
    *out = (struct journal_loaded){0};
    if (source.fd < 0 && errno == ENOENT) {
        out->is_new = true;
        return GPUFL_OK;
    }
    if (source.fd < 0) {
        return GPUFL_ERR_IO;
    }
    gpufl_status status = load_open(place, &source, replay, arg, out);
    int error = errno;
    close(source.fd);
    errno = error;
    return status;
}
