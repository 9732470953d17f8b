/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's log: text or JSON, and a flood of one kind is counted. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

#include "agent/log_sink.h"

static uint64_t clock_ms;
static struct text written;
static unsigned lines;

static uint64_t fake_now(void)
{
    return clock_ms;
}

static void keep(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    text_puts(&written, line);
    text_puts(&written, "\n");
    lines++;
}

static const char *all_written(void)
{
    text_append(&written, "", 1);
    return written.data;
}

static void open_sink(struct log_sink *sink, bool json)
{
    log_sink_init(sink, json);
    sink->now_ms = fake_now;
    sink->emit = keep;
    clock_ms = 1000000;
    lines = 0;
    text_clear(&written);
}

static int close_sink(void **state)
{
    log_sink_fini(*state);
    return 0;
}

static void write_level(struct log_sink *sink, enum log_level level, const char *line,
                        unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        log_sink_write(sink, level, line);
    }
}

static void write_many(struct log_sink *sink, const char *line, unsigned count)
{
    write_level(sink, LOG_AT_WARN, line, count);
}

static void text_is_written_as_it_is(void **state)
{
    struct log_sink *sink = *state;
    open_sink(sink, false);
    log_sink_write(sink, LOG_AT_INFO, "info a.b k=v");
    assert_string_equal(all_written(), "info a.b k=v\n");
}

static void the_format_can_change_while_it_runs(void **state)
{
    struct log_sink *sink = *state;
    open_sink(sink, true);
    log_sink_write(sink, LOG_AT_INFO, "info a.b k=v");
    assert_non_null(strstr(all_written(), "\"event\":\"a.b\",\"k\":\"v\"}\n"));
    text_clear(&written);
    log_sink_set_json(sink, false);
    log_sink_write(sink, LOG_AT_INFO, "info a.b k=v");
    assert_string_equal(all_written(), "info a.b k=v\n");
}

static void of_one_warning_twenty_are_written_in_ten_seconds(void **state)
{
    struct log_sink *sink = *state;
    open_sink(sink, false);
    write_many(sink, "warn a.b k=v", 25);
    assert_int_equal(lines, 20);
    log_sink_write(sink, LOG_AT_WARN, "warn a.c"); /* another has its own room */
    assert_int_equal(lines, 21);
    clock_ms += LOG_SINK_WINDOW_MS - 1;
    log_sink_write(sink, LOG_AT_ERROR, "error a.b");
    assert_int_equal(lines, 21);
    text_clear(&written);
    clock_ms += 1;
    log_sink_write(sink, LOG_AT_WARN, "warn a.b");
    assert_string_equal(all_written(), "warn log.dropped of=a.b lines=6\nwarn a.b\n");
}

/* Anybody can rename directories all day. */
static void lines_that_say_what_changed_are_limited_likewise(void **state)
{
    struct log_sink *sink = *state;
    open_sink(sink, false);
    write_level(sink, LOG_AT_INFO, "info a.b", 50);
    assert_int_equal(lines, 20);
    text_clear(&written);
    clock_ms += LOG_SINK_WINDOW_MS;
    log_sink_write(sink, LOG_AT_INFO, "info a.c");
    assert_string_equal(all_written(), "info log.dropped of=a.b lines=30\ninfo a.c\n");
}

static void what_was_dropped_is_told_as_severely_as_the_worst_of_it(void **state)
{
    struct log_sink *sink = *state;
    open_sink(sink, false);
    write_level(sink, LOG_AT_INFO, "info a.b", 21);
    write_level(sink, LOG_AT_ERROR, "error a.b", 1);
    write_level(sink, LOG_AT_INFO, "info a.b", 1);
    text_clear(&written);
    log_sink_flush(sink);
    assert_string_equal(all_written(), "warn log.dropped of=a.b lines=3\n");
    write_level(sink, LOG_AT_INFO, "info a.b", 1);
    text_clear(&written);
    log_sink_flush(sink);
    assert_string_equal(all_written(), "info log.dropped of=a.b lines=1\n");
}

static void what_is_for_debugging_is_never_dropped(void **state)
{
    struct log_sink *sink = *state;
    open_sink(sink, false);
    write_level(sink, LOG_AT_DEBUG, "debug a.b", 50);
    assert_int_equal(lines, 50);
}

static void what_was_dropped_is_told_at_the_end(void **state)
{
    struct log_sink *sink = *state;
    open_sink(sink, false);
    write_many(sink, "warn a.b", 23);
    text_clear(&written);
    log_sink_flush(sink);
    log_sink_flush(sink);
    assert_string_equal(all_written(), "warn log.dropped of=a.b lines=3\n");
}

static void with_more_events_than_places_all_are_written(void **state)
{
    struct log_sink *sink = *state;
    char line[64];
    open_sink(sink, false);
    for (unsigned i = 0; i < LOG_SINK_EVENTS_MAX; i++) {
        snprintf(line, sizeof line, "warn event.%u", i);
        log_sink_write(sink, LOG_AT_WARN, line);
    }
    lines = 0;
    write_many(sink, "warn one.more", 30);
    assert_int_equal(lines, 30);
}

static void each_user_has_lines_of_an_event(void **state)
{
    struct log_sink *sink = *state;
    open_sink(sink, false);
    const struct log log = {.about = &sink->about};
    assert_int_equal(log_about(&log, 7), LOG_ABOUT_NOBODY);
    write_many(sink, "warn a.b", 30);
    assert_int_equal(log_about(&log, 8), 7);
    write_many(sink, "warn a.b", 20);
    assert_int_equal(lines, 40);
    assert_int_equal(log_about(&log, LOG_ABOUT_NOBODY), 8);
    write_many(sink, "warn a.b", 21);
    assert_int_equal(lines, 60);
    text_clear(&written);
    log_sink_flush(sink);
    assert_string_equal(all_written(), "warn log.dropped of=a.b lines=10 owner=7\n"
                                       "warn log.dropped of=a.b lines=1\n");
}

static void places_are_used_again(void **state)
{
    struct log_sink *sink = *state;
    open_sink(sink, false);
    const struct log log = {.about = &sink->about};
    for (unsigned i = 0; i < LOG_SINK_EVENTS_MAX; i++) {
        log_about(&log, i);
        write_many(sink, "warn a.b", 1);
    }
    clock_ms += LOG_SINK_WINDOW_MS;
    log_about(&log, LOG_SINK_EVENTS_MAX);
    lines = 0;
    write_many(sink, "warn a.b", 30);
    assert_int_equal(lines, 20);
}

static void a_long_name_is_counted_by_its_beginning(void **state)
{
    struct log_sink *sink = *state;
    char line[200] = "warn ";
    open_sink(sink, false);
    memset(line + 5, 'x', 100);
    write_many(sink, line, 30);
    assert_int_equal(lines, 20);
    assert_int_equal(sink->events, 1);
}

#define SINK_TEST(name)                                                                  \
    cmocka_unit_test_prestate_setup_teardown(name, NULL, close_sink, &sink)

int main(void)
{
    static struct log_sink sink;
    const struct CMUnitTest tests[] = {
        SINK_TEST(text_is_written_as_it_is),
        SINK_TEST(the_format_can_change_while_it_runs),
        SINK_TEST(of_one_warning_twenty_are_written_in_ten_seconds),
        SINK_TEST(lines_that_say_what_changed_are_limited_likewise),
        SINK_TEST(what_was_dropped_is_told_as_severely_as_the_worst_of_it),
        SINK_TEST(what_is_for_debugging_is_never_dropped),
        SINK_TEST(what_was_dropped_is_told_at_the_end),
        SINK_TEST(with_more_events_than_places_all_are_written),
        SINK_TEST(each_user_has_lines_of_an_event),
        SINK_TEST(places_are_used_again),
        SINK_TEST(a_long_name_is_counted_by_its_beginning),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    text_fini(&written);
    return failed;
}
