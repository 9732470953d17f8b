/* SPDX-License-Identifier: Apache-2.0 */
/* Sidecars, manifests, cursors, first records, names, progress lines of any bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "schema/layout.h"
#include "upload/published/progress_file.h"
#include "upload/source/identity.h"
#include "upload/source/java_cursor.h"
#include "upload/source/ndjson.h"
#include "upload/source/shifting.h"
#include "upload/source/told.h"

static void check_line(void *arg, const struct progress_line *line)
{
    (void)arg;
    if (strstr(line->path, "..") == line->path || line->path[0] == '/') {
        __builtin_trap();
    }
}

static void check_note(const char *text, size_t size)
{
    struct progress_note note = {0};
    char *line = strndup(text, size);
    if (line && progress_parse_note(line, &note)) {
        for (const char *c = note.text; *c; c++) {
            if ((unsigned char)*c < 0x20 || *c == '"' || *c == '\\') {
                __builtin_trap();
            }
        }
        if (note.path[0] == '/' || strchr(note.path, '"')) {
            __builtin_trap();
        }
    }
    free(line);
}

static void check_cursor(const char *text, size_t size)
{
    struct java_cursor *cursor;
    struct java_position position;
    if (java_cursor_parse(text, size, &cursor) == GPUFL_OK) {
        (void)java_cursor_find(cursor, "s", "device", &position);
        java_cursor_close(cursor);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct sidecar sidecar;
    struct manifest manifest;
    int64_t ts;
    if (sidecar_parse(text, size, "s", "device", 1, &sidecar) == GPUFL_OK &&
        strchr(sidecar.payload_file, '/')) {
        __builtin_trap();
    }
    struct active_files active;
    (void)manifest_parse(text, size, "s", &manifest);
    (void)active_files_parse(text, size, &active);
    (void)identity_job_start_ns(text, size, &ts);
    (void)json_is_object(text, size, 64);
    (void)shifting_head(text, size);
    check_cursor(text, size);
    struct ndjson_limits limits = {.max_bytes = 64, .max_lines = 8};
    for (size_t at = 0; at < size;) {
        struct ndjson_cut cut = ndjson_cut(text + at, size - at, limits);
        if (cut.lines == 0) {
            break;
        }
        if (cut.bytes == 0 || cut.bytes > size - at || text[at + cut.bytes - 1] != '\n') {
            __builtin_trap();
        }
        at += cut.bytes;
    }
    struct progress_line next = {0};
    progress_parse(text, size, &next, check_line, NULL);
    check_note(text, size);
    char *name = strndup(text, size);
    if (name) {
        struct layout_name parsed = layout_parse(name);
        if (parsed.kind == LAYOUT_NUMBERED && !layout_channel_ok(parsed.channel)) {
            __builtin_trap();
        }
        free(name);
    }
    return 0;
}
