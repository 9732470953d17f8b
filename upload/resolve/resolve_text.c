/* SPDX-License-Identifier: Apache-2.0 */
/* Puts together what gpufl resolve prints, also when an agent does what it asks for. */
#include "upload/resolve/resolve_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "upload/core/session_streams.h"

#define EXTENT_MAX 96

__attribute__((format(printf, 2, 3))) static void
text_append_to(struct resolve_result *out, const char *format, ...)
{
    size_t len = strlen(out->text);
    va_list args;
    va_start(args, format);
    vsnprintf(out->text + len, sizeof out->text - len, format, args);
    va_end(args);
}

void resolve_text_add(struct resolve_result *out, const char *channel, const char *extent,
                      enum held_reason reason)
{
    const char *text = held_text(reason);
    const char *advice = strstr(text, ": "); /* what to do instead */
    int len = advice ? (int)(advice - text) : (int)strlen(text);
    text_append_to(out, "%s%s%s%s (%.*s)", out->text[0] ? "; " : "given up: ", channel,
                   *channel && *extent ? " " : "", extent, len, text);
}

/* Those that are given up as a whole, or the file at which it stands. */
static void text_files(const struct resolving *r, char out[EXTENT_MAX])
{
    const struct stream *st = r->stream;
    const char *file = st->kind == STREAM_VERBATIM ? "window" : "file";
    bool further = r->to.how == SETTLED_ENDED && r->to.file != st->file;
    uint32_t at = further ? r->to.file : st->file;
    uint32_t first = r->pass_first ? r->pass_first : at;
    uint64_t offset = further || r->reason == HELD_LATE || first != at ? 0 : st->offset;
    if (r->pass_first < r->pass_last) {
        snprintf(out, EXTENT_MAX, "%ss %" PRIu32 " to %" PRIu32, file, first,
                 r->pass_last);
    } else if (offset) {
        snprintf(out, EXTENT_MAX, "%s %" PRIu32 " from byte %" PRIu64, file, first,
                 offset);
    } else {
        snprintf(out, EXTENT_MAX, "%s %" PRIu32, file, first);
    }
}

void resolve_text_channel(const struct resolving *r, enum held_reason reason)
{
    const struct stream *st = r->stream;
    char extent[EXTENT_MAX] = "";
    if (r->to.lines) {
        snprintf(extent, sizeof extent, "%" PRIu32 " %s", r->to.lines,
                 plural(r->to.lines, "line", "lines"));
    } else if (reason != HELD_GAP && !r->out->compared &&
               st->session->layout != SESSION_SHIFTING) {
        text_files(r, extent);
    } /* else its reason says it, or files have no fixed number */
    resolve_text_add(r->out, stream_channel(st), extent, reason);
}

void resolve_text_copy(const struct resolving *r)
{
    text_append_to(r->out, "%s%s (its files are an earlier copy, of which all was sent)",
                   r->out->text[0] ? "; " : "given up: ", stream_channel(r->stream));
}

void resolve_text_unread(unsigned files, struct resolve_result *out)
{
    char extent[EXTENT_MAX];
    snprintf(extent, sizeof extent, "%u %s", files, plural(files, "file", "files"));
    resolve_text_add(out, "", extent, HELD_NOT_READ);
}

static bool text_is_left(const struct stream *st)
{
    bool over = stream_is_cut(st) || st->ended_file == st->file;
    return st->offer ||
           (!over && (st->file <= st->highest || (st->kind == STREAM_BATCHED &&
                                                  stream_seen_bytes(st) > st->offset)));
}

void resolve_text_nothing(bool any, struct resolve_result *out)
{
    snprintf(out->why, sizeof out->why, "%s",
             out->busy ? "a request is under way (try again)"
             : any ? "nothing to resolve: nothing of it can be given up (gpufl status "
                     "shows what it waits for)"
                   : "it has no such channel");
}

void resolve_text_end(const struct root *root, const char *path,
                      const struct session *session, struct resolve_result *out)
{
    const struct engine *engine = root->engine;
    /* Its files have no fixed place. */
    bool may_be = session && session->layout == SESSION_SHIFTING;
    bool left = false;
    for (unsigned i = 0; session && i < session->streams; i++) {
        left = left || text_is_left(session->stream[i]);
    }
    const char *who = engine->config.ack_only ? "gpufl-agent or gpufl upload"
                                              : "the uploader that serves the directory";
    text_append_to(out, "; the files that are there stay in %.400s/%s; ", root->path,
                   path);
    if (out->compared) {
        text_append_to(out, "%s compares them with what the backend has", who);
    } else if (out->why[0]) {
        text_append_to(out, "%s", out->why);
    } else if (left || may_be) {
        text_append_to(out, "what is left%s is %s%s", may_be ? ", if anything," : "",
                       out->foreign ? "not sent: it was complete from another user's "
                                      "directory"
                                    : "sent by ",
                       out->foreign ? "" : who);
    } else {
        text_append_to(out, "nothing of it is left to be sent");
    }
}
