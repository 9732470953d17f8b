/* SPDX-License-Identifier: Apache-2.0 */
/* Reads where a part ends, and says that the stream ends there now. */
#include "tests/bench/sink_positions.h"

#include <stdio.h>
#include <string.h>

#include <zstd.h>

size_t sink_lines_at(const char *body, size_t len)
{
    size_t at = ZSTD_findFrameCompressedSize(body, len);
    return ZSTD_isError(at) ? 0 : at;
}

bool sink_reply_stored(char *out, size_t cap, const char *body, size_t len)
{
    static const char key[] = "\"end\":{";
    char list[SINK_LIST_MAX];
    char json[SINK_LIST_MAX + 256];
    size_t got = ZSTD_decompress(list, sizeof list - 1, body, sink_lines_at(body, len));
    if (ZSTD_isError(got)) {
        return false;
    }
    list[got] = '\0';
    const char *end = strstr(list, key);
    const char *behind = end ? strchr(end, '}') : NULL;
    if (!behind) {
        return false;
    }
    end += sizeof key - 1;
    int n = snprintf(json, sizeof json,
                     "{\"epoch\":\"1\",\"parts\":[{\"verdict\":\"stored\",\"end\":{%.*s,"
                     "\"file_crc\":0,\"losses\":0,\"skips\":0,\"lost_after\":false,"
                     "\"expired\":false}}]}",
                     (int)(behind - end), end);
    snprintf(out, cap,
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
             "%d\r\n\r\n%s",
             n, json);
    return true;
}
