/* SPDX-License-Identifier: Apache-2.0 */
/* Shows how a session's files compare with what the backend has, for people and as JSON.
 */
#include "cli/transfer/verify_report.h"

#include <inttypes.h>

#include "base/plural.h"

static const char *const verify_words[VERIFY_RESULTS] = {
    [VERIFY_EQUAL] = "equal",           [VERIFY_BEHIND] = "behind",
    [VERIFY_AHEAD] = "ahead",           [VERIFY_OTHER] = "other",
    [VERIFY_LOSSY] = "lossy",           [VERIFY_NO_FILES] = "no_files",
    [VERIFY_EXPIRED] = "expired",       [VERIFY_BY_WINDOWS] = "without_positions",
    [VERIFY_UNREADABLE] = "unreadable", [VERIFY_EXCESSIVE] = "excessive",
    [VERIFY_MISSING] = "missing",       [VERIFY_CHANGED] = "changed",
};

static uint64_t report_lines_here(const struct verify_session *session)
{
    uint64_t lines = 0;
    for (unsigned i = 0; i < session->count; i++) {
        lines += session->stream[i].here.lines;
    }
    return lines;
}

static void report_missing(struct text *out, const struct verify_stream *s)
{
    if (s->file) {
        text_printf(out,
                    "file %" PRIu32 " is not here as it was written, and may have held "
                    "lines that the backend lacks",
                    s->file);
    } else {
        text_puts(out, "no file is here, and the backend has nothing of it");
    }
}

/* What was told may have been lost when it was told, and have come back since. */
static void report_told_losses(struct text *out, const struct reply_end *has)
{
    if (has->losses || has->skips) {
        text_printf(out,
                    "the backend knows that lines are missing: %" PRIu32
                    " lost and %" PRIu32 " refused ranges%s",
                    has->losses, has->skips,
                    has->lost_after ? "; and was told that what followed is lost" : "");
    } else if (has->at.lines) {
        text_puts(out, "the backend has all lines that are here, and was told that what "
                       "followed is lost");
    } else {
        text_puts(out, "the backend has nothing of it, and was told that all is lost");
    }
}

static void report_why(struct text *out, const struct verify_stream *s)
{
    const struct stream_place *has = &s->backend.at;
    switch (s->result) {
    case VERIFY_EQUAL:
    case VERIFY_RESULTS:
        break;
    case VERIFY_BEHIND:
        text_printf(out,
                    "the backend lacks the last %" PRIu64 " %s (%" PRIu64
                    " bytes), from file %" PRIu32 ", offset %" PRIu64 " on",
                    s->behind_lines, plural(s->behind_lines, "line", "lines"),
                    s->behind_bytes, has->file, has->offset);
        break;
    case VERIFY_AHEAD:
        text_printf(out,
                    "the backend has more: up to file %" PRIu32 ", offset %" PRIu64
                    ", and the files here end at file %" PRIu32 ", offset %" PRIu64,
                    has->file, has->offset, s->here.file, s->here.offset);
        break;
    case VERIFY_OTHER:
        text_printf(out, "file %" PRIu32 " is not what the backend has", s->file);
        break;
    case VERIFY_LOSSY:
        report_told_losses(out, &s->backend);
        break;
    case VERIFY_NO_FILES:
        text_printf(out, "no file is here, and the backend has %" PRIu64 " %s",
                    has->lines, plural(has->lines, "line", "lines"));
        break;
    case VERIFY_MISSING:
        report_missing(out, s);
        break;
    case VERIFY_EXPIRED:
        text_puts(out, "the backend has deleted its lines, for their age or for room");
        break;
    case VERIFY_BY_WINDOWS:
        text_puts(out, "not compared: it was, or will be, sent without positions");
        break;
    case VERIFY_UNREADABLE:
        text_printf(out, "file %" PRIu32 " cannot be read, or changes meanwhile",
                    s->file);
        break;
    case VERIFY_CHANGED:
        text_puts(out, "not compared: its files are renamed or deleted all the time (try "
                       "again later)");
        break;
    case VERIFY_EXCESSIVE:
        text_printf(out,
                    "not compared: file %" PRIu32
                    " is compressed, and holds more than lines do for its size",
                    s->file);
        break;
    }
}

static const char *report_state(const struct verify_session *session)
{
    return session->loss ? ", not complete: lines were dropped while recording"
           : session->state == VERIFY_OPEN  ? ", not complete yet"
           : session->state == VERIFY_ENDED ? ", not complete: lines of it are missing"
                                            : "";
}

void verify_report_lines(struct text *out, const struct verify_shown *shown)
{
    const struct verify_session *session = shown->session;
    bool equal = verify_is_equal(session);
    uint64_t lines = report_lines_here(session);
    text_printf(out, "%s  %s  %u %s, %" PRIu64 " %s%s\n", shown->path,
                equal ? "equal" : "not equal", session->count,
                plural(session->count, "channel", "channels"), lines,
                plural(lines, "line", "lines"), report_state(session));
    for (unsigned i = 0; i < session->count; i++) {
        if (session->stream[i].result != VERIFY_EQUAL) {
            text_printf(out, "  %s: ", session->stream[i].channel);
            report_why(out, &session->stream[i]);
            text_puts(out, "\n");
        }
    }
    if (session->unpublished) {
        text_puts(out, "  what its writer has not published is in .tmp, not compared\n");
    } else if (session->count == 0) {
        text_puts(out, "  no file is here, and the backend has nothing of it\n");
    }
    if (session->unlisted) {
        text_puts(out,
                  "  its .gpufl-session.json cannot be read, and nothing else tells "
                  "of a channel without files (gpufl status says why; restore it)\n");
    }
    if (session->unread) {
        text_printf(out, "  %u %s (gpufl status names one)\n", session->unread,
                    plural(session->unread, "file that may hold records is not read",
                           "files that may hold records are not read"));
    }
}

static void report_place(struct text *out, const struct stream_place *at)
{
    text_printf(out,
                "{\"file\":%" PRIu32 ",\"offset\":%" PRIu64 ",\"lines\":%" PRIu64
                ",\"crc\":%" PRIu32 "}",
                at->file, at->offset, at->lines, at->crc);
}

static void report_stream(struct text *out, const struct verify_stream *s)
{
    text_puts(out, "{\"channel\":");
    text_json_string(out, s->channel);
    text_printf(out, ",\"result\":\"%s\",\"first_file\":%" PRIu32 ",\"here\":",
                verify_words[s->result], s->first_file);
    report_place(out, &s->here);
    text_puts(out, ",\"backend\":");
    report_place(out, &s->backend.at);
    text_printf(
        out,
        ",\"lost_ranges\":%" PRIu32 ",\"refused_ranges\":%" PRIu32
        ",\"lost_after\":%s,\"behind_lines\":%" PRIu64 ",\"behind_bytes\":%" PRIu64 "}",
        s->backend.losses, s->backend.skips, s->backend.lost_after ? "true" : "false",
        s->behind_lines, s->behind_bytes);
}

void verify_report_json(struct text *out, const struct verify_shown *shown)
{
    static const struct verify_session unreadable = {.state = VERIFY_OPEN};
    const struct verify_session *session = shown->session ? shown->session : &unreadable;
    bool equal = shown->session && verify_is_equal(session);
    text_puts(out, "{\"session_id\":");
    text_json_string(out, shown->id);
    text_puts(out, ",\"path\":");
    text_json_string(out, shown->path);
    text_puts(out, shown->session ? "" : ",\"unreadable\":true");
    text_printf(out,
                ",\"equal\":%s,\"complete\":%s,\"recording_loss\":%s,\"unread_files\":%u,"
                "\"unlisted\":%s,\"channels\":[",
                equal ? "true" : "false",
                session->state == VERIFY_COMPLETE ? "true" : "false",
                session->loss ? "true" : "false", session->unread,
                session->unlisted ? "true" : "false");
    for (unsigned i = 0; i < session->count; i++) {
        text_puts(out, i ? "," : "");
        report_stream(out, &session->stream[i]);
    }
    text_puts(out, "]}");
}
