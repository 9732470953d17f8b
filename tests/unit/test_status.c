/* SPDX-License-Identifier: Apache-2.0 */
/* What `gpufl status`, `gpufl quarantine` and `gpufl upload` print. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/transfer/quarantine_print.h"
#include "cli/transfer/status_json.h"
#include "cli/transfer/status_lines.h"
#include "cli/transfer/upload_report.h"
#include "tests/support/capture.h"

static const struct quarantined range = {
    .path = "a/one \"quoted\"",
    .session = "one",
    .channel = "device",
    .name = "0123abcd",
    .record = {.file = 2,
               .begin = 10,
               .end = 4000000000,
               .lines = 3,
               .status = 400,
               .reason = "line 1: \\u is\tno escape"},
};

/* Everything that a view can show. */
static void show_all(const struct status_view *view, struct text *out)
{
    static const struct progress_note all = {.since_s = 86400, .text = "no answer"};
    static const struct progress_note one = {
        .path = "a/one", .channel = "*", .text = "refused \"key\""};
    static const struct unread unread = {
        .reason[UNREAD_NAME] = {.names = 2, .example = "device.log.1"},
        .reason[UNREAD_CHANNEL] = {.names = 1, .example = "rank0.log"},
        .other = {.names = 3, .example = "notes.txt"},
        .names = 3};
    static const struct unread all_read = {.names = 0};
    static const struct status_session session = {.id = "one",
                                                  .path = "a/one",
                                                  .writer = "live",
                                                  .counts = true,
                                                  .loss = true,
                                                  .losses.count[LOSS_SCOPES] = 5,
                                                  .losses.count[LOSS_LINES] = 2,
                                                  .problem = "cannot be read",
                                                  .unread = &unread,
                                                  .resolve = "gpufl resolve D a/one",
                                                  .quarantine = "gpufl quarantine list D",
                                                  .who = "root"};
    static const struct record_session told = {.outcome = SESSION_TOLD};
    static const struct record_session verified = {.outcome = SESSION_VERIFIED};
    static const struct record_session lacks = {.outcome = SESSION_LACKS};
    const struct record_session *outcome[] = {&told, &verified, &lacks};
    static const struct channel_state waits = {.settled_lines = 7,
                                               .refused_lines = 1,
                                               .waiting_files = 2,
                                               .waiting_bytes = 30,
                                               .since_s = 60,
                                               .front_missing = true,
                                               .missing = true,
                                               .losses = 2,
                                               .lost = true};
    static const struct channel_state settled = {.settled_lines = 9};
    static const struct status_exit mend = {.who = "root"};
    static const struct status_exit give_up = {.command = "gpufl resolve D a/one",
                                               .who = ""};
    static const struct status_exit again = {
        .command = "gpufl upload D", .who = "user 7", .again = true, .served = true};
    view->start(out, &(struct status_source){.journal = true});
    view->holder(out, "gpufl-agent, pid 7");
    view->note(out, &all, &mend);
    view->note(out, &one, &give_up);
    view->note(out, &one, &again);
    view->sessions(out);
    view->session(out, &session);
    view->channel(out, "device", &waits);
    view->channel(out, "scope", &settled);
    view->session_end(out, &session);
    for (int i = 0; i < 3; i++) {
        struct status_session done = {.id = "two",
                                      .path = "two",
                                      .writer = "ended",
                                      .counts = true,
                                      .done = outcome[i],
                                      .who = "",
                                      .unread = &all_read};
        view->session(out, &done);
        view->session_end(out, &done);
    }
    view->quarantine(out);
    view->range(out, &range);
    view->range(out, &range);
    view->end(out, &(struct status_end){.quarantined = true, .waiting = true});
    text_append(out, "", 1);
    assert_false(out->failed);
}

#define RANGE_JSON                                                                       \
    "{\"name\":\"0123abcd\",\"path\":\"a/one \\\"quoted\\\"\",\"channel\":\"device\","   \
    "\"file\":2,\"begin\":10,\"end\":4000000000,\"lines\":3,\"status\":400,\"reason\":"  \
    "\"line 1: \\\\u is\\tno escape\"}"

static void a_range_is_the_same_json_wherever_it_is_shown(void **state)
{
    (void)state;
    struct text out = {0};
    quarantine_print_json(&out, &range);
    text_append(&out, "", 1);
    assert_string_equal(out.data, RANGE_JSON);
    text_clear(&out);
    quarantine_print_line(&out, &range);
    text_append(&out, "", 1);
    assert_string_equal(out.data, "0123abcd  a/one \"quoted\" device file 2 bytes "
                                  "10-4000000000, 3 lines: line 1: \\u is\tno escape");
    text_fini(&out);
}

static void status_as_json_is_one_object(void **state)
{
    (void)state;
    struct text out = {0};
    show_all(&status_json, &out);
    assert_string_equal(
        out.data,
        "{\"journal\":true,\"service\":false,\"served_by\":\"gpufl-agent, pid "
        "7\",\"waits\":["
        "{\"since\":\"1970-01-02T00:00:00Z\",\"reason\":\"no answer\",\"resolve\":null,"
        "\"send_again\":null},"
        "{\"path\":\"a/one\",\"channel\":\"*\",\"reason\":\"refused \\\"key\\\"\","
        "\"resolve\":\"gpufl resolve D a/one\",\"send_again\":null},"
        "{\"path\":\"a/one\",\"channel\":\"*\",\"reason\":\"refused \\\"key\\\"\","
        "\"resolve\":null,\"send_again\":\"gpufl upload D\",\"as\":\"user 7\"}],"
        "\"sessions\":[{\"session_id\":\"one\",\"path\":\"a/one\",\"writer\":\"live\","
        "\"complete\":false,\"verified\":false,\"ended\":false,\"recording_loss\":true,"
        "\"recording_losses\":{\"scopes\":5,\"lines\":2},\"problem\":\"cannot be read\","
        "\"channels\":[{\"channel\":"
        "\"device\",\"settled_lines\":7,\"refused_lines\":1,\"waiting_files\":2,"
        "\"waiting_bytes\":30,\"front_missing\":true,\"files_missing\":true,\"given_up\":"
        "true,\"lost_ranges\":2,\"waiting_since\":"
        "\"1970-01-01T00:01:00Z\"},{\"channel\":\"scope\",\"settled_lines\":9,"
        "\"refused_lines\":0,\"waiting_files\":0,\"waiting_bytes\":0,\"front_missing\":"
        "false,\"files_missing\":false,\"given_up\":false,\"lost_ranges\":0}],\"not_"
        "read\":[{\"reason\":"
        "\"channel\",\"files\":1,"
        "\"example\":"
        "\"rank0.log\"},{\"reason\":\"name\",\"files\":2,\"example\":"
        "\"device.log.1\"}],\"not_read_given_up\":false,\"other_files\":3,"
        "\"resolve\":\"gpufl resolve D a/one\",\"quarantined\":\"gpufl quarantine list "
        "D\",\"as\":\"root\"},{\"session_id\":\"two\",\"path\":\"two\","
        "\"writer\":\"ended\","
        "\"complete\":true,\"verified\":false,\"ended\":false,\"recording_loss\":false,"
        "\"recording_losses\":{},\"problem\":null,\"channels\":[],"
        "\"not_read\":[],\"not_read_given_up\":false,\"other_files\":0,\"resolve\":null},"
        "{\"session_id\":\"two\",\"path\":\"two\","
        "\"writer\":\"ended\","
        "\"complete\":true,\"verified\":true,\"ended\":false,\"recording_loss\":false,"
        "\"recording_losses\":{},\"problem\":null,\"channels\":[],"
        "\"not_read\":[],\"not_read_given_up\":false,\"other_files\":0,\"resolve\":null},"
        "{\"session_id\":\"two\",\"path\":\"two\","
        "\"writer\":\"ended\","
        "\"complete\":false,\"verified\":false,\"ended\":true,\"recording_loss\":false,"
        "\"recording_losses\":{},\"problem\":null,\"channels\":[],"
        "\"not_read\":[],\"not_read_given_up\":false,\"other_files\":0,\"resolve\":null}]"
        ","
        "\"quarantine\":[" RANGE_JSON "," RANGE_JSON
        "],\"sessions_lossy\":0,\"others_not_shown\":0}\n");
    text_clear(&out);
    status_json.start(&out, &(struct status_source){.service = true});
    status_json.holder(&out, NULL);
    status_json.sessions(&out);
    status_json.quarantine(&out);
    status_json.end(&out, &(struct status_end){.all_sent = true});
    text_append(&out, "", 1);
    assert_string_equal(
        out.data, "{\"journal\":false,\"service\":true,\"served_by\":null,\"waits\":[],"
                  "\"sessions\":[],\"quarantine\":[],\"sessions_lossy\":"
                  "0,\"others_not_shown\":0}\n");
    text_fini(&out);
}

static void status_for_people_has_a_line_each(void **state)
{
    (void)state;
    struct text out = {0};
    setenv("TZ", "UTC", 1);
    tzset();
    show_all(&status_lines, &out);
    assert_string_equal(
        out.data,
        "served by gpufl-agent, pid 7\n"
        "everything waits: no answer, since 1970-01-02 00:00:00\n"
        "waits: a/one *: refused \"key\"\n"
        "  to give up what is gone: gpufl resolve D a/one\n"
        "waits: a/one *: refused \"key\"\n"
        "  to send all of the session again, also what the backend has, once the "
        "uploader is stopped, as user 7: gpufl upload D\n"
        "a/one  writer live, lines were dropped while recording, cannot be read\n"
        "  device                7 lines settled, 2 files wait, 30 bytes wait, the first "
        "of 1970-01-01 00:01:00, 1 line refused, 2 ranges are lost at the backend, part "
        "of it was given up, no file of "
        "it is there, lines or files of it were gone before they were read\n"
        "  scope                 9 lines settled\n"
        "  lost while recording: 5 scopes that did not fit in their thread's ring\n"
        "  lost while recording: 2 lines: they could not be written, their file was "
        "removed, replaced or cut, or recording was paused for want of room\n"
        "  not read: 1 file, for example rank0.log: not a file of a known channel\n"
        "  not read: 2 files, for example device.log.1: not a name that a writer makes\n"
        "  not of a session: 3 files, for example notes.txt\n"
        "  to see its lines in quarantine, as root: gpufl quarantine list D\n"
        "  to give up what is gone, as root: gpufl resolve D a/one\n"
        "two  writer ended, complete at the backend\n"
        "two  writer ended, complete, verified\n"
        "two  writer ended, not complete: lines of it are missing at the backend\n"
        "quarantined: 0123abcd  a/one \"quoted\" device file 2 bytes 10-4000000000, 3 "
        "lines: line 1: \\u is\tno escape\n"
        "quarantined: 0123abcd  a/one \"quoted\" device file 2 bytes 10-4000000000, 3 "
        "lines: line 1: \\u is\tno escape\n"
        "retry or drop the quarantined lines: see gpufl quarantine --help\n"
        "start gpufl-agent, or run gpufl upload\n");
    text_fini(&out);
}

static void an_upload_is_reported_as_json_or_as_a_line(void **state)
{
    (void)state;
    static struct capture said;
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    snprintf(result.message, sizeof result.message, "no \"contact\"");
    snprintf(result.warnings[0], sizeof result.warnings[0], "one");
    snprintf(result.warnings[1], sizeof result.warnings[1], "tw\xff");
    result.warning_count = 2;
    result.sessions = 3;
    result.sessions_ended = 1;
    result.events_uploaded = 5000000000;
    capture_begin(&said);
    upload_report_json(GPUFL_ERR_CONTACT, &result);
    upload_report_line(GPUFL_ERR_CONTACT, &result);
    upload_report_line(GPUFL_OK, &result);
    capture_end(&said);
    char want[1024];
    snprintf(want, sizeof want,
             "{\"success\":false,\"status\":\"%s\",\"message\":\"no \\\"contact\\\"\","
             "\"sessions\":3,\"sessions_complete\":0,\"sessions_live\":0,"
             "\"sessions_away\":0,\"sessions_lossy\":0,\"sessions_ended\":1,"
             "\"files_processed\":0,\"files_skipped_by_cursor\":0,\"events_uploaded\":"
             "5000000000,\"bytes_uploaded\":0,\"lines_rejected\":0,\"lines_refused\":0,"
             "\"ranges_quarantined\":0,\"http_status\":0,\"elapsed_ms\":0,\"warnings\":["
             "\"one\",\"tw\xef\xbf\xbd\"]}\n"
             "gpufl upload: no \"contact\": 5000000000 lines, 0 of 3 sessions complete, "
             "1 ended with lines missing, 0.0 s\n",
             gpufl_status_text(GPUFL_ERR_CONTACT));
    assert_string_equal(said.out, want);
    assert_string_equal(said.err, "gpufl upload: no \"contact\"\n");
}

static void one_of_a_thing_is_called_by_its_singular(void **state)
{
    (void)state;
    static struct capture said;
    struct gpufl_upload_result result = {
        .events_uploaded = 1, .sessions = 1, .message = "all sent"};
    const struct channel_state channel = {
        .settled_lines = 1, .refused_lines = 1, .waiting_files = 1, .waiting_bytes = 1};
    struct quarantined one = range;
    struct text out = {0};
    one.record.lines = 1;
    capture_begin(&said);
    upload_report_line(GPUFL_OK, &result);
    capture_end(&said);
    assert_string_equal(said.out, "gpufl upload: all sent: 1 line, 0 of 1 session "
                                  "complete, 0.0 s\n");
    status_lines.channel(&out, "scope", &channel);
    quarantine_print_line(&out, &one);
    text_append(&out, "", 1);
    assert_string_equal(out.data,
                        "  scope                 1 line settled, 1 file waits, 1 byte "
                        "waits, 1 line refused\n"
                        "0123abcd  a/one \"quoted\" device file 2 bytes 10-4000000000, "
                        "1 line: line 1: \\u is\tno escape");
    text_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_is_the_same_json_wherever_it_is_shown),
        cmocka_unit_test(status_as_json_is_one_object),
        cmocka_unit_test(status_for_people_has_a_line_each),
        cmocka_unit_test(an_upload_is_reported_as_json_or_as_a_line),
        cmocka_unit_test(one_of_a_thing_is_called_by_its_singular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
