/* SPDX-License-Identifier: Apache-2.0 */
/* Finds line ends; reads nothing of a line but the mark of a shutdown record. */
#include "upload/source/ndjson.h"

#include <string.h>

#include "schema/records.h"

/* A shutdown record names its type within its first bytes: `{"type":"shutdown"`, with or
 * without a version in front. Quotes inside strings are escaped, so no text can fake it.
 */
#define MARK_WITHIN  64u
#define SHUTDOWN_MAX 4096u

/* What nearly every line is: told by its first bytes, without a search. */
static bool names_another_type(const char *line, size_t len)
{
    static const char start[] = "{\"version\":1,\"type\":\"";
    static const char shutdown[] = "shutdown\"";
    size_t digit = sizeof "{\"version\":" - 1;
    size_t type = sizeof start - 1;
    return len >= type + sizeof shutdown && memcmp(line, start, digit) == 0 &&
           memcmp(line + digit + 1, start + digit + 1, type - digit - 1) == 0 &&
           memcmp(line + type, shutdown, sizeof shutdown - 1) != 0;
}

bool ndjson_is_shutdown(const char *line, size_t len)
{
    if (len > SHUTDOWN_MAX) {
        return false;
    }
    if (names_another_type(line, len)) {
        return false;
    }
    size_t window = len < MARK_WITHIN ? len : MARK_WITHIN;
    return memmem(line, window, RECORD_SHUTDOWN_MARK, sizeof RECORD_SHUTDOWN_MARK - 1);
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
