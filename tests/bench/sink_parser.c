/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in, counts and replies out. */
#include "tests/bench/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <zstd.h>

#include "tests/bench/sink_positions.h"

#define HEADER_OF_FRAME 18u /* enough for a zstd frame's content size */
#define REPLY_BYTES     (SINK_LIST_MAX + 512)

#define OK_JSON "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "

static const char version_reply[] = OK_JSON
    "119\r\n\r\n"
    "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],\"live_windows\":true,"
    "\"window_registry\":true,\"positions\":true,\"epoch\":\"1\"}";
static const char ends_reply[] = OK_JSON
    "64\r\n\r\n"
    "{\"epoch\":\"1\",\"state\":\"open\",\"streams\":[],\"without_positions\":[]}";
static const char batch_reply[] =
    OK_JSON "44\r\n\r\n"
            "{\"window_acknowledged\":true,\"complete\":true}";

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- latency ---- */

static void add_latency(struct sink_counts *counts, uint64_t ns)
{
    if (counts->latencies == counts->cap) {
        counts->cap = counts->cap ? 2 * counts->cap : 1u << 16;
        counts->latency_ms =
            realloc(counts->latency_ms, counts->cap * sizeof *counts->latency_ms);
        if (!counts->latency_ms) {
            abort();
        }
    }
    counts->latency_ms[counts->latencies++] = (float)((double)ns / 1e6);
}

static void see_lines(struct sink_counts *counts, const char *raw, size_t len,
                      uint64_t now)
{
    static const char mark[] = "\"t\":";
    const char *end = raw + len;
    for (const char *line = raw; line < end; counts->lines++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t line_len = newline ? (size_t)(newline - line) : (size_t)(end - line);
        const char *at = memmem(line, line_len, mark, sizeof mark - 1);
        if (at) {
            uint64_t t = strtoull(at + sizeof mark - 1, NULL, 10);
            add_latency(counts, now > t ? now - t : 0);
        }
        line += line_len + 1;
    }
}

/* As much of the body as was kept. */
static size_t kept_len(const struct sink_parser *p)
{
    return p->body_got < p->body_cap ? (size_t)p->body_got : p->body_cap;
}

static size_t lines_at(const struct sink_parser *p)
{
    return p->is_part ? sink_lines_at(p->body, kept_len(p)) : 0;
}

static void decode(struct sink_counts *counts, const struct sink_parser *p, uint64_t now)
{
    static char *raw;
    static size_t cap;
    size_t at = lines_at(p);
    size_t len = (size_t)p->body_len - at;
    unsigned long long size = ZSTD_getFrameContentSize(p->body + at, len);
    if (size > (64u << 20)) {
        return; /* no zstd frame of ours */
    }
    if (size > cap) {
        free(raw);
        raw = malloc(cap = (size_t)size);
    }
    if (raw && ZSTD_decompress(raw, cap, p->body + at, len) == size) {
        see_lines(counts, raw, (size_t)size, now);
    }
}

static int by_value(const void *left, const void *right)
{
    float a = *(const float *)left;
    float b = *(const float *)right;
    return (a > b) - (a < b);
}

static double percentile(const struct sink_counts *counts, double part)
{
    return counts->latencies
               ? (double)
                     counts->latency_ms[(size_t)((double)(counts->latencies - 1) * part)]
               : 0;
}

void sink_report(struct sink_counts *counts)
{
    if (counts->latencies) {
        qsort(counts->latency_ms, counts->latencies, sizeof *counts->latency_ms,
              by_value);
    }
    printf("{\"connections\":%llu,\"requests\":%llu,\"batches\":%llu,"
           "\"wire_bytes\":%llu,\"raw_bytes\":%llu,\"lines\":%llu,"
           "\"first_batch_ns\":%llu,\"last_batch_ns\":%llu,\"p50_ms\":%.2f,\"p99_ms\":%."
           "2f,\"max_ms\":%.2f}\n",
           (unsigned long long)counts->connections, (unsigned long long)counts->requests,
           (unsigned long long)counts->batches, (unsigned long long)counts->wire_bytes,
           (unsigned long long)counts->raw_bytes, (unsigned long long)counts->lines,
           (unsigned long long)counts->first_batch_ns,
           (unsigned long long)counts->last_batch_ns, percentile(counts, 0.5),
           percentile(counts, 0.99), percentile(counts, 1));
    fflush(stdout);
    free(counts->latency_ms);
    *counts = (struct sink_counts){0};
}

/* ---- requests ---- */

static bool begin_request(struct sink_parser *p)
{
    const char *length = strcasestr(p->head, "\r\nContent-Length:");
    p->is_part = strstr(p->head, "/events/parts HTTP/") != NULL;
    p->is_batch = p->is_part || strstr(p->head, "/events/stream HTTP/") != NULL;
    p->is_ends = strstr(p->head, "/streams HTTP/") != NULL;
    p->is_version = strstr(p->head, "/info/version HTTP/") != NULL;
    p->is_zstd = strcasestr(p->head, "\r\nContent-Encoding: zstd") != NULL;
    p->body_len = length ? strtoull(length + 17, NULL, 10) : 0;
    p->body_got = 0;
    p->in_body = true;
    return strstr(p->head, "HTTP/1.1\r\n") && p->body_len < (1ull << 40);
}

static void end_request(struct sink_parser *p, struct sink_counts *counts, bool latency)
{
    counts->requests++;
    counts->wire_bytes += p->body_len;
    if (p->is_batch) {
        counts->batches++;
        counts->last_batch_ns = now_ns();
        if (p->is_zstd && latency) {
            decode(counts, p, now_ns());
        }
        if (p->is_zstd) {
            size_t at = lines_at(p);
            unsigned long long size =
                ZSTD_getFrameContentSize(p->body + at, kept_len(p) - at);
            counts->raw_bytes += size < (1ull << 40) ? size : 0;
        }
    }
    p->head_len = 0;
    p->in_body = false;
}

static bool keep_body(struct sink_parser *p, bool latency, const char *data, size_t len)
{
    size_t want = latency      ? (size_t)p->body_len
                  : p->is_part ? SINK_LIST_MAX
                               : HEADER_OF_FRAME;
    if (want > p->body_cap) {
        char *more = realloc(p->body, want);
        if (!more) {
            return false;
        }
        p->body = more;
        p->body_cap = want;
    }
    if (p->body_got < want) {
        size_t room = want - (size_t)p->body_got;
        memcpy(p->body + p->body_got, data, len < room ? len : room);
    }
    return true;
}

/* Up to the empty line. \return bytes taken; 0 when the head is too large. */
static size_t take_head(struct sink_parser *p, const char *data, size_t len)
{
    size_t before = p->head_len;
    size_t room = sizeof p->head - 1 - before;
    size_t n = len < room ? len : room;
    memcpy(p->head + before, data, n);
    size_t from = before > 3 ? before - 3 : 0;
    char *end = memmem(p->head + from, before + n - from, "\r\n\r\n", 4);
    if (!end) {
        p->head_len = before + n;
        return n;
    }
    p->head_len = (size_t)(end - p->head) + 4;
    p->head[p->head_len] = '\0';
    return p->head_len - before;
}

bool sink_take(struct sink_parser *p, struct sink_counts *counts, bool latency,
               const char *data, size_t len, void (*answer)(void *arg, const char *text),
               void *arg)
{
    while (len > 0) {
        if (!p->in_body) {
            size_t n = take_head(p, data, len);
            data += n;
            len -= n;
            bool whole =
                p->head_len >= 4 && memcmp(p->head + p->head_len - 4, "\r\n\r\n", 4) == 0;
            if (n == 0 || (whole && !begin_request(p))) {
                return false;
            }
            if (!whole) {
                continue;
            }
            if (p->is_batch && !counts->first_batch_ns) {
                counts->first_batch_ns = now_ns();
            }
        }
        uint64_t left = p->body_len - p->body_got;
        size_t n = len < left ? len : (size_t)left;
        if (n && !keep_body(p, latency, data, n)) {
            return false;
        }
        p->body_got += n;
        data += n;
        len -= n;
        if (p->body_got == p->body_len) {
            end_request(p, counts, latency);
            char reply[REPLY_BYTES];
            bool stored = p->is_part &&
                          sink_reply_stored(reply, sizeof reply, p->body, kept_len(p));
            answer(arg, stored          ? reply
                        : p->is_version ? version_reply
                        : p->is_ends    ? ends_reply
                                        : batch_reply);
        }
    }
    return true;
}
