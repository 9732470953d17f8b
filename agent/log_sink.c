/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the lines of each event and writes those that fit. */
#include "agent/log_sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/log_json.h"
#include "base/sys.h"

static int64_t log_sink_clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void write_json(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level; /* it is in the line */
    fprintf(stderr, "%s\n", line);
}

static void sink_emit(struct log_sink *sink, enum log_level level, const char *line)
{
    if (sink->json) {
        log_json(line, log_sink_clock_ms(), &sink->line);
        text_append(&sink->line, "", 1);
        if (!sink->line.failed) {
            (sink->emit ? sink->emit : write_json)(sink->emit_arg, level,
                                                   sink->line.data);
            return;
        }
    }
    (sink->emit ? sink->emit : log_to_stderr)(sink->emit_arg, level, line);
}

static void report_dropped(struct log_sink *sink, struct log_sink_event *event)
{
    char line[160];
    char owner[24] = "";
    if (event->dropped) {
        bool info = event->dropped_level == LOG_AT_INFO;
        if (event->about != LOG_ABOUT_NOBODY) {
            snprintf(owner, sizeof owner, " owner=%" PRIu32, event->about);
        }
        snprintf(line, sizeof line, "%s log.dropped of=%s lines=%u%s",
                 info ? "info" : "warn", event->name, event->dropped, owner);
        event->dropped = 0;
        sink_emit(sink, info ? LOG_AT_INFO : LOG_AT_WARN, line);
    }
}

static bool window_is_over(const struct log_sink_event *event, uint64_t now_ms)
{
    return now_ms - event->since_ms >= LOG_SINK_WINDOW_MS;
}

/* One that is over, and told, says nothing any more. */
static struct log_sink_event *event_place(struct log_sink *sink, uint64_t now_ms)
{
    if (sink->events < LOG_SINK_EVENTS_MAX) {
        return &sink->event[sink->events++];
    }
    for (unsigned i = 0; i < sink->events; i++) {
        if (window_is_over(&sink->event[i], now_ms) && !sink->event[i].dropped) {
            return &sink->event[i];
        }
    }
    return NULL;
}

/* \return NULL when there is no place left for another event. */
static struct log_sink_event *event_named(struct log_sink *sink, const char *name,
                                          uint32_t about, uint64_t now_ms)
{
    size_t len = strcspn(name, " ");
    size_t max = sizeof sink->event[0].name - 1;
    len = len < max ? len : max;
    for (unsigned i = 0; i < sink->events; i++) {
        struct log_sink_event *event = &sink->event[i];
        if (event->about == about && strncmp(event->name, name, len) == 0 &&
            event->name[len] == '\0') {
            return event;
        }
    }
    struct log_sink_event *event = event_place(sink, now_ms);
    if (event) {
        *event = (struct log_sink_event){.about = about};
        memcpy(event->name, name, len);
    }
    return event;
}

/* Counts the line. \return true when it is to be written. */
static bool count_line(struct log_sink *sink, enum log_level level, const char *line)
{
    uint64_t now_ms = sink->now_ms();
    const char *name = line + strcspn(line, " ");
    name += *name == ' ';
    for (unsigned i = 0; i < sink->events; i++) {
        if (window_is_over(&sink->event[i], now_ms)) {
            report_dropped(sink, &sink->event[i]);
        }
    }
    uint32_t about = atomic_load_explicit(&sink->about, memory_order_relaxed);
    struct log_sink_event *event = event_named(sink, name, about, now_ms);
    if (!event) {
        return true;
    }
    if (window_is_over(event, now_ms) || !event->lines) {
        event->since_ms = now_ms;
        event->lines = 0;
    }
    bool room = event->lines < LOG_SINK_BURST;
    event->lines += room;
    if (!room && (!event->dropped || level < event->dropped_level)) {
        event->dropped_level = level;
    }
    event->dropped += !room;
    return room;
}

void log_sink_init(struct log_sink *sink, bool json)
{
    memset(sink, 0, sizeof *sink);
    sink->json = json;
    sink->about = LOG_ABOUT_NOBODY;
    sink->now_ms = sys_real.now_ms;
    pthread_mutex_init(&sink->lock, NULL);
}

void log_sink_set_json(struct log_sink *sink, bool json)
{
    pthread_mutex_lock(&sink->lock);
    sink->json = json;
    pthread_mutex_unlock(&sink->lock);
}

void log_sink_write(void *arg, enum log_level level, const char *line)
{
    struct log_sink *sink = arg;
    pthread_mutex_lock(&sink->lock);
    if (level > LOG_AT_INFO || count_line(sink, level, line)) {
        sink_emit(sink, level, line);
    }
    pthread_mutex_unlock(&sink->lock);
}

void log_sink_flush(struct log_sink *sink)
{
    pthread_mutex_lock(&sink->lock);
    for (unsigned i = 0; i < sink->events; i++) {
        report_dropped(sink, &sink->event[i]);
    }
    pthread_mutex_unlock(&sink->lock);
}

void log_sink_fini(struct log_sink *sink)
{
    text_fini(&sink->line);
    pthread_mutex_destroy(&sink->lock);
}
