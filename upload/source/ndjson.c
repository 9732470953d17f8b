/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts lines at their ends; of a line only its type is read. */
#include "upload/source/ndjson.h"

#include <string.h>

#include "schema/records.h"

#define SHUTDOWN_MAX_BYTES 4096u

/* What nearly every line is: told by its first bytes, without a walk over its members. */
static bool names_another_type(const char *line, size_t len)
{
    static const char start[] = "{\"version\":1,\"type\":\"";
    static const char shutdown[] = RECORD_SHUTDOWN "\"";
    size_t digit = sizeof "{\"version\":" - 1;
    size_t type = sizeof start - 1;
    return len >= type + sizeof shutdown && memcmp(line, start, digit) == 0 &&
           memcmp(line + digit + 1, start + digit + 1, type - digit - 1) == 0 &&
           memcmp(line + type, shutdown, sizeof shutdown - 1) != 0;
}

bool ndjson_is_shutdown(const char *line, size_t len)
{
    return len <= SHUTDOWN_MAX_BYTES && !names_another_type(line, len) &&
           record_field_is(line, len, "type", RECORD_SHUTDOWN);
}

bool ndjson_find_type(const char *text, size_t len, const char *type,
                      struct record_text *line)
{
    for (size_t at = 0; at < len; at += line->len + 1) {
        const char *end = memchr(text + at, '\n', len - at);
        line->at = text + at;
        line->len = end ? (size_t)(end - line->at) : len - at;
        if (record_field_is(line->at, line->len, "type", type)) {
            return true;
        }
    }
    return false;
}

static bool ndjson_is_repeated(const char *line, size_t len)
{
    static const char *const type[] = {RECORD_JOB_START,         RECORD_DICTIONARY,
                                       RECORD_CAPABILITIES,      RECORD_PM_SAMPLING,
                                       RECORD_DEVICE_PROPERTIES, RECORD_SASS_CONFIG};
    struct record_text is;
    bool repeated = !record_field_text(line, len, "type", &is);
    for (size_t i = 0; !repeated && i < sizeof type / sizeof *type; i++) {
        repeated = is.len == strlen(type[i]) && memcmp(is.at, type[i], is.len) == 0;
    }
    return repeated;
}

bool ndjson_has_row(const char *text, size_t len)
{
    const char *end;
    while (len && (end = memchr(text, '\n', len))) {
        if (!ndjson_is_repeated(text, (size_t)(end - text))) {
            return true;
        }
        len -= (size_t)(end - text) + 1;
        text = end + 1;
    }
    return false;
}

struct ndjson_cut ndjson_cut(const char *data, size_t len, struct ndjson_limits limits)
{
    struct ndjson_cut cut = {0};
    while (cut.bytes < len && cut.lines < limits.max_lines) {
        const char *line = data + cut.bytes;
        const char *end = memchr(line, '\n', len - cut.bytes);
        if (!end) {
            break;
        }
        size_t line_bytes = (size_t)(end - line) + 1;
        if (ndjson_is_shutdown(line, line_bytes - 1)) {
            if (cut.lines > 0) {
                cut.shutdown_next = true;
                break;
            }
            cut.bytes = line_bytes;
            cut.lines = 1;
            cut.shutdown_first = true;
            break;
        }
        if (cut.lines > 0 && cut.bytes + line_bytes > limits.max_bytes) {
            break;
        }
        cut.bytes += line_bytes;
        cut.lines++;
    }
    return cut;
}

enum ndjson_begin ndjson_begin_of(const char *text, size_t len)
{
    size_t n = len < NDJSON_BEGIN_BYTES ? len : NDJSON_BEGIN_BYTES;
    const char *end = memchr(text, '\n', n);
    size_t line = end ? (size_t)(end - text) : n;
    if (!end && n < NDJSON_BEGIN_BYTES) {
        return NDJSON_BEGIN_OPEN;
    }
    return record_field_is(text, line, "type", RECORD_JOB_START) &&
                   !record_field_times(text, line, RECORD_REPEATED)
               ? NDJSON_BEGIN_FIRST
               : NDJSON_BEGIN_OTHER;
}
