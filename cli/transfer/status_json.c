/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the status of a directory as one JSON object. */
#include "cli/transfer/status_json.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/transfer/quarantine_print.h"

/* Before an element of an array: a comma, but not before the first. */
static void json_separate(struct text *out)
{
    if (out->len && out->data[out->len - 1] != '[') {
        text_puts(out, ",");
    }
}

static void json_time(struct text *out, int64_t at_s)
{
    char text[40];
    time_t at = (time_t)at_s;
    struct tm tm;
    gmtime_r(&at, &tm);
    strftime(text, sizeof text, "\"%Y-%m-%dT%H:%M:%SZ\"", &tm);
    text_puts(out, text);
}

static const char *json_bool(bool value)
{
    return value ? "true" : "false";
}

static const char *json_told(bool told, bool value)
{
    return told ? json_bool(value) : "null";
}

static void json_count(struct text *out, const char *key, bool told, uint64_t count)
{
    text_printf(out, told ? ",\"%s\":%" PRIu64 : ",\"%s\":null", key, count);
}

static void json_start(struct text *out, const struct status_source *source)
{
    text_printf(out, "{\"journal\":%s,\"service\":%s,", json_bool(source->journal),
                json_bool(source->service));
    if (source->left_out[0]) {
        text_puts(out, "\"journal_left_out\":");
        text_json_string(out, source->left_out);
        text_puts(out, ",");
    }
}

static void json_holder(struct text *out, const char *holder)
{
    text_puts(out, "\"served_by\":");
    if (holder) {
        text_json_string(out, holder);
    } else {
        text_puts(out, "null");
    }
    text_puts(out, ",\"waits\":[");
}

static void json_text_or_null(struct text *out, const char *text)
{
    if (text) {
        text_json_string(out, text);
    } else {
        text_puts(out, "null");
    }
}

static void json_who(struct text *out, const char *who)
{
    if (*who) {
        text_puts(out, ",\"as\":");
        text_json_string(out, who);
    }
}

static void json_note(struct text *out, const struct progress_note *note,
                      const struct status_exit *ends)
{
    json_separate(out);
    if (note->more) {
        text_printf(out, "{\"more\":%u}", note->more);
        return;
    }
    if (note->waits) {
        text_printf(out, "{\"owner\":%u,\"directories\":%u}", note->owner, note->waits);
        return;
    }
    if (note->aside) {
        text_puts(out, "{\"aside\":");
        text_json_string(out, note->text);
        text_puts(out, "}");
        return;
    }
    if (note->since_s) {
        text_puts(out, "{\"since\":");
        json_time(out, note->since_s);
    } else {
        text_puts(out, "{\"path\":");
        text_json_string(out, note->path);
        text_puts(out, ",\"channel\":");
        text_json_string(out, note->channel);
        if (note->owned) {
            text_printf(out, ",\"owner\":%u", note->owner);
        }
    }
    text_puts(out, ",\"reason\":");
    text_json_string(out, note->text);
    text_puts(out, ",\"resolve\":");
    json_text_or_null(out, ends->again ? NULL : ends->command);
    text_puts(out, ",\"send_again\":");
    json_text_or_null(out, ends->again ? ends->command : NULL);
    json_who(out, ends->command ? ends->who : "");
    text_puts(out, "}");
}

static void json_sessions(struct text *out)
{
    text_puts(out, "],\"sessions\":[");
}

static void json_losses(struct text *out, const struct losses *losses)
{
    const char *before = "{";
    for (int kind = 0; kind < LOSS_KINDS; kind++) {
        if (losses->count[kind]) {
            text_printf(out, "%s\"%s\":%" PRIu64, before, losses_key((enum loss)kind),
                        losses->count[kind]);
            before = ",";
        }
    }
    text_puts(out, *before == '{' ? "{}" : "}");
}

static void json_session(struct text *out, const struct status_session *session)
{
    json_separate(out);
    text_puts(out, "{\"session_id\":");
    text_json_string(out, session->id);
    text_puts(out, ",\"path\":");
    text_json_string(out, session->path);
    text_puts(out, session->away ? ",\"away\":true" : "");
    text_puts(out, session->counts ? "" : ",\"of_another_user\":true");
    bool told = !session->end_untold;
    text_printf(
        out,
        ",\"writer\":\"%s\",\"complete\":%s,\"verified\":%s,\"ended\":%s"
        ",\"recording_loss\":%s,\"recording_losses\":",
        session->writer,
        json_told(told, session->done && session->done->outcome < SESSION_LACKS),
        json_told(told, session->done && session->done->outcome == SESSION_VERIFIED),
        json_told(told, session->done && session->done->outcome == SESSION_LACKS),
        json_bool(session->loss));
    json_losses(out, &session->losses);
    text_puts(out, ",\"problem\":");
    json_text_or_null(out, session->problem);
    text_puts(out, ",\"channels\":[");
}

static void json_channel(struct text *out, const char *name,
                         const struct channel_state *state)
{
    json_separate(out);
    text_puts(out, "{\"channel\":");
    text_json_string(out, name);
    bool told = !state->figures_untold;
    json_count(out, "settled_lines", told, state->settled_lines);
    json_count(out, "refused_lines", told, state->refused_lines);
    json_count(out, "waiting_files", true, state->waiting_files);
    json_count(out, "waiting_bytes", true, state->waiting_bytes);
    text_printf(out, ",\"front_missing\":%s,\"files_missing\":%s,\"given_up\":%s",
                json_told(told, state->front_missing), json_bool(state->missing),
                json_told(told, state->lost));
    json_count(out, "lost_ranges", told, state->losses);
    text_puts(out, told ? "" : ",\"figures_untold\":true");
    if (state->untold) {
        text_puts(out, ",\"waiting_untold\":true");
    }
    if (state->rewritten) {
        text_printf(out, ",\"changed_file\":%u", state->rewritten);
    }
    if (state->since_s) {
        text_puts(out, ",\"waiting_since\":");
        json_time(out, state->since_s);
    }
    if (state->awaits) {
        text_puts(out, ",\"awaits_end_of\":");
        text_json_string(out, state->awaits);
    }
    text_puts(out, "}");
}

static void json_session_end(struct text *out, const struct status_session *session)
{
    text_puts(out, "],\"not_read\":[");
    for (int i = 0; i < UNREAD_REASONS_COUNT; i++) {
        const struct unread_group *group = &session->unread->reason[i];
        if (group->names) {
            json_separate(out);
            text_printf(out, "{\"reason\":\"%s\",\"files\":%u,\"example\":",
                        unread_key((enum unread_reason)i), group->names);
            text_json_string(out, group->example);
            text_puts(out, "}");
        }
    }
    text_printf(out, "],\"not_read_given_up\":%s,\"other_files\":%u,\"resolve\":",
                json_bool(session->unread_given_up), session->unread->other.names);
    json_text_or_null(out, session->resolve);
    if (session->quarantine) {
        text_puts(out, ",\"quarantined\":");
        text_json_string(out, session->quarantine);
    }
    json_who(out, session->resolve || session->quarantine ? session->who : "");
    text_puts(out, "}");
}

static void json_quarantine(struct text *out)
{
    text_puts(out, "],\"quarantine\":[");
}

static void json_range(struct text *out, const struct quarantined *range)
{
    json_separate(out);
    quarantine_print_json(out, range);
}

static void json_end(struct text *out, const struct status_end *end)
{
    text_printf(out, "],\"sessions_lossy\":%u,\"others_not_shown\":%zu}\n", end->lossy,
                end->unseen);
}

const struct status_view status_json = {
    .start = json_start,
    .holder = json_holder,
    .note = json_note,
    .sessions = json_sessions,
    .session = json_session,
    .channel = json_channel,
    .session_end = json_session_end,
    .quarantine = json_quarantine,
    .range = json_range,
    .end = json_end,
};
