/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/log_sink.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/sys.h"

static int64_t wall_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- JSON ---- */

struct json {
    char *out;
    size_t len;
};

#define JSON_END 2u /* of the object, and NUL */

/* Whoever puts has looked whether it fits. */
static void put(struct json *j, const char *text, size_t len)
{
    memcpy(j->out + j->len, text, len);
    j->len += len;
}

/* Log lines hold no control characters; what is no UTF-8 may come in by a path. */
static size_t utf8_len(const char *at, size_t left)
{
    const unsigned char *c = (const unsigned char *)at;
    size_t n = c[0] < 0x80                    ? 1
               : c[0] >= 0xc2 && c[0] <= 0xdf ? 2
               : c[0] >= 0xe0 && c[0] <= 0xef ? 3
               : c[0] >= 0xf0 && c[0] <= 0xf4 ? 4
                                              : 0;
    if (n == 0 || n > left || (c[0] == 0xe0 && c[1] < 0xa0) ||
        (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90) ||
        (c[0] == 0xf4 && c[1] > 0x8f)) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return n;
}

static void put_string(struct json *j, const char *text, size_t len)
{
    put(j, "\"", 1);
    for (size_t i = 0, n; i < len; i += n ? n : 1) {
        n = utf8_len(text + i, len - i);
        if (text[i] == '"' || text[i] == '\\') {
            put(j, text[i] == '"' ? "\\\"" : "\\\\", 2);
        } else {
            put(j, n ? text + i : "?", n ? n : 1);
        }
    }
    put(j, "\"", 1);
}

static void put_field(struct json *j, const char *key, size_t key_len, const char *value,
                      size_t len)
{
    bool number = len > 0 && len < 19 && strspn(value, "0123456789") >= len &&
                  (len == 1 || value[0] != '0');
    if (j->len + 2 * (key_len + len) + 6 + JSON_END > LOG_SINK_JSON_MAX) {
        return;
    }
    put(j, ",", 1);
    put_string(j, key, key_len);
    put(j, ":", 1);
    if (number) {
        put(j, value, len);
    } else {
        put_string(j, value, len);
    }
}

/* `key=value` or `key="text"`; the text of a path may hold a quote, so its end is the one
 * that a blank or nothing follows. */
static const char *next_field(struct json *j, const char *at)
{
    const char *key = at;
    size_t key_len = strcspn(at, "= ");
    if (at[key_len] != '=') {
        put_field(j, "text", 4, at, strlen(at));
        return at + strlen(at);
    }
    const char *value = at + key_len + 1;
    bool quoted = *value == '"';
    const char *end = value + quoted;
    while (*end && !(quoted ? *end == '"' && (end[1] == ' ' || !end[1]) : *end == ' ')) {
        end++;
    }
    put_field(j, key, key_len, value + quoted, (size_t)(end - value) - quoted);
    end += quoted && *end;
    return end + strspn(end, " ");
}

size_t log_sink_json(const char *line, int64_t ms, char out[LOG_SINK_JSON_MAX])
{
    struct json j = {.out = out};
    char when[80];
    struct tm tm;
    time_t s = (time_t)(ms / 1000);
    gmtime_r(&s, &tm);
    size_t n = strftime(when, sizeof when, "{\"ts\":\"%Y-%m-%dT%H:%M:%S", &tm);
    n += (size_t)snprintf(when + n, sizeof when - n, ".%03dZ\"", (int)(ms % 1000));
    put(&j, when, n);
    size_t level = strcspn(line, " ");
    put_field(&j, "level", 5, line, level);
    line += level + strspn(line + level, " ");
    size_t event = strcspn(line, " ");
    put_field(&j, "event", 5, line, event);
    line += event + strspn(line + event, " ");
    while (*line) {
        line = next_field(&j, line);
    }
    out[j.len++] = '}';
    out[j.len] = '\0';
    return j.len;
}

/* ---- writing ---- */

static void emit(const struct log_sink *sink, enum log_level level, const char *line)
{
    char json[LOG_SINK_JSON_MAX];
    if (sink->format == LOG_SINK_TEXT) {
        log_to_stderr(NULL, level, line);
        return;
    }
    log_sink_json(line, wall_ms(), json);
    fprintf(stderr, "%s\n", json);
}

static void say_dropped(struct log_sink *sink, unsigned i)
{
    char line[160];
    if (sink->at[i].dropped) {
        snprintf(line, sizeof line, "warn log.dropped of=%s lines=%u", sink->at[i].event,
                 sink->at[i].dropped);
        sink->at[i].dropped = 0;
        emit(sink, LOG_AT_WARN, line);
    }
}

/* \return the event's place; LOG_SINK_EVENTS_MAX when there is none left. */
static unsigned place_of(struct log_sink *sink, const char *event, size_t len)
{
    unsigned i = 0;
    len = len < sizeof sink->at[0].event ? len : sizeof sink->at[0].event - 1;
    while (i < sink->used && (strncmp(sink->at[i].event, event, len) != 0 ||
                              sink->at[i].event[len] != '\0')) {
        i++;
    }
    if (i == sink->used && i < LOG_SINK_EVENTS_MAX) {
        memcpy(sink->at[i].event, event, len);
        sink->at[i].event[len] = '\0';
        sink->used++;
    }
    return i;
}

static bool has_room(struct log_sink *sink, const char *line)
{
    uint64_t now_ms = sys_real.now_ms();
    const char *event = line + strcspn(line, " ");
    event += *event == ' ';
    for (unsigned i = 0; i < sink->used; i++) {
        if (now_ms - sink->at[i].since_ms >= LOG_SINK_WINDOW_MS) {
            say_dropped(sink, i);
        }
    }
    unsigned i = place_of(sink, event, strcspn(event, " "));
    if (i == LOG_SINK_EVENTS_MAX) {
        return true;
    }
    if (now_ms - sink->at[i].since_ms >= LOG_SINK_WINDOW_MS) {
        sink->at[i].since_ms = now_ms;
        sink->at[i].lines = 0;
    }
    bool room = sink->at[i].lines < LOG_SINK_BURST;
    sink->at[i].lines += room;
    sink->at[i].dropped += !room;
    return room;
}

void log_sink_init(struct log_sink *sink, enum log_sink_format format)
{
    memset(sink, 0, sizeof *sink);
    sink->format = format;
    pthread_mutex_init(&sink->lock, NULL);
}

void log_sink_set_format(struct log_sink *sink, enum log_sink_format format)
{
    pthread_mutex_lock(&sink->lock);
    sink->format = format;
    pthread_mutex_unlock(&sink->lock);
}

void log_sink_write(void *arg, enum log_level level, const char *line)
{
    struct log_sink *sink = arg;
    pthread_mutex_lock(&sink->lock);
    if (level > LOG_AT_WARN || has_room(sink, line)) {
        emit(sink, level, line);
    }
    pthread_mutex_unlock(&sink->lock);
}

void log_sink_flush(struct log_sink *sink)
{
    pthread_mutex_lock(&sink->lock);
    for (unsigned i = 0; i < sink->used; i++) {
        say_dropped(sink, i);
    }
    pthread_mutex_unlock(&sink->lock);
}
