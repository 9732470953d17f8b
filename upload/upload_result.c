/* SPDX-License-Identifier: Apache-2.0 */
/* Fills in the result of an upload: figures, warnings and the closing sentence. */
#include "upload/upload_result.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/plural.h"
#include "upload/engine/summary_text.h"
#include "upload/upload_options.h"

gpufl_status upload_result_say(struct gpufl_upload_result *result, gpufl_status status,
                               const char *format, ...)
{
    char text[sizeof result->message];
    int reason = errno; /* of GPUFL_ERR_IO, for the caller of the API */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    message_escape(text, result->message, sizeof result->message);
    errno = reason;
    return status;
}

void upload_result_warn(struct gpufl_upload_result *r, const char *line)
{
    if (r->warning_count < GPUFL_UPLOAD_WARNINGS_MAX) {
        snprintf(r->warnings[r->warning_count], sizeof r->warnings[0], "%s", line);
    }
    r->warning_count++;
}

void upload_result_add_spool(struct gpufl_upload_result *r, const char *spool_id)
{
    if (r->spool_id_count < GPUFL_UPLOAD_SPOOL_IDS_MAX) {
        snprintf(r->spool_ids[r->spool_id_count], sizeof r->spool_ids[0], "%s", spool_id);
    }
    r->spool_id_count++;
}

static void copy_summary(struct gpufl_upload_result *r, const struct engine_summary *s)
{
    r->files_processed = (size_t)s->files_acked;
    r->files_skipped_by_cursor = (size_t)s->streams_done_before;
    r->events_uploaded = s->lines_acked;
    r->bytes_uploaded = s->file_bytes_acked;
    r->sessions_complete = s->sessions_done - s->sessions_lacking;
    r->sessions_ended = s->sessions_lacking;
    r->sessions_live = s->sessions_live;
    r->sessions_away = s->sessions_away;
    r->sessions_lossy = s->sessions_lossy;
    r->lines_rejected = s->lines_rejected;
    r->lines_refused = s->lines_refused_final;
    r->ranges_quarantined = s->ranges_quarantined;
    r->http_status = s->hold_status;
}

void upload_result_words_of(const struct gpufl_upload_options *options,
                            const char *(*name)(const char *field), bool over,
                            struct upload_result_words *out)
{
    char limit[DURATION_TEXT];
    *out = (struct upload_result_words){.backend_url = options->backend_url,
                                        .directory = options->log_path};
    snprintf(out->correct, sizeof out->correct, "correct %s or %s and run it again",
             upload_options_name(name, "backend_url"),
             upload_options_name(name, "api_path"));
    snprintf(out->key, sizeof out->key, "give another %s and run it again",
             upload_options_name(name, "api_key"));
    snprintf(out->longer, sizeof out->longer, "run it again, or give a longer %s",
             upload_options_name(name, "total_timeout_ms"));
    if (over) {
        duration_text((uint64_t)options->total_timeout_ms, limit);
        snprintf(out->over, sizeof out->over, "the time limit of %s was reached", limit);
    }
}

/* What passes by itself needs no more than another run. */
static const char *again_after(const struct engine_summary *s,
                               const struct upload_result_words *words)
{
    return s->hold == HOLD_NONE    ? (words->over[0] ? words->longer : "run it again")
           : s->hold_status == 404 ? words->correct
                                   : "run it again when that is corrected";
}

/* Why it ended with something left: \p problem, the time limit, or both. */
static void say_left(const char *problem, const struct upload_result_words *words,
                     char out[480])
{
    bool known = problem[0] != '\0';
    bool over = words->over[0] != '\0';
    snprintf(out, 480, "%s%s%s", known || over ? problem : "see gpufl status",
             known && over ? "; " : "", words->over);
}

/* What ends a hold, where its reason does not say it. */
static const char *way_out(enum held_exit held)
{
    static const char *const text[] = {
        [HELD_EXIT_MEND] = "",
        [HELD_EXIT_RESOLVE] =
            " (gpufl status has the gpufl resolve command that gives up what is gone)",
        [HELD_EXIT_FORCE] = " (gpufl status has the command that sends it again)"};
    return text[held];
}

static gpufl_status say_held(struct gpufl_upload_result *r,
                             const struct engine_summary *s)
{
    char more[80] = "";
    unsigned others = s->sessions_kept_back - 1;
    if (others) {
        snprintf(more, sizeof more, " (and %u more %s)", others,
                 plural(others, "session", "sessions"));
    }
    bool named = s->held[0] != '\0';
    return upload_result_say(r, GPUFL_PARTIAL, "not everything was sent: %s%s%s",
                             named                ? s->held
                             : s->last_problem[0] ? s->last_problem
                                                  : "see gpufl status",
                             way_out(named ? s->held_exit : HELD_EXIT_RESOLVE), more);
}

/* Nothing is left to do, and not all is as it should be. */
static gpufl_status say_not_accepted(struct gpufl_upload_result *r,
                                     const struct engine_summary *s, const char *way)
{
    bool refused = s->lines_rejected || s->lines_refused_final || s->ranges_quarantined;
    return upload_result_say(
        r, GPUFL_PARTIAL, "%s: %s%s",
        refused ? "everything was sent, but not everything was accepted"
                : "what is there was sent, but not every session can be complete",
        s->last_problem[0] ? s->last_problem : "see gpufl status", way);
}

static void room_words(const struct engine_summary *s, char out[160])
{
    snprintf(out, 160,
             "there is no room for %u more %s of user %u (remove some that are complete "
             "and run it again)",
             s->directories_waiting,
             plural(s->directories_waiting, "directory", "directories"),
             s->waiting_owner);
}

static gpufl_status say_waiting(struct gpufl_upload_result *r,
                                const struct engine_summary *s)
{
    char room[160];
    room_words(s, room);
    return upload_result_say(r, GPUFL_PARTIAL, "not everything was sent: %s", room);
}

gpufl_status upload_result_no_room(struct gpufl_upload_result *r, const char *why,
                                   unsigned waits, uint32_t owner)
{
    char room[160];
    room_words(
        &(struct engine_summary){.directories_waiting = waits, .waiting_owner = owner},
        room);
    return upload_result_say(r, GPUFL_PARTIAL, "%s: %s", why, room);
}

/* Besides what else was not sent. */
static void say_waiting_too(struct gpufl_upload_result *r, const struct engine_summary *s)
{
    size_t len = strlen(r->message);
    char room[160];
    if (s->directories_waiting) {
        room_words(s, room);
        snprintf(r->message + len, sizeof r->message - len, "; %s", room);
    }
}

static gpufl_status say_left_to_another(struct gpufl_upload_result *r,
                                        const struct engine_summary *s,
                                        const struct upload_result_words *words)
{
    return upload_result_say(
        r, GPUFL_PARTIAL,
        "not everything was sent: the directory %.120s of user %u has an uploader or a "
        "journal of its own and is left to that (its sessions are sent by that uploader, "
        "or by 'gpufl upload %.120s/%.120s' as that user)",
        s->left, s->left_owner, words->directory, s->left);
}

static gpufl_status say_away(struct gpufl_upload_result *r,
                             const struct engine_summary *s)
{
    char text[SUMMARY_AWAY_TEXT];
    summary_away_text(s, "run it again", text);
    return upload_result_say(r, GPUFL_PARTIAL, "%s", text);
}

/* Nobody can send it, and no upload fails for it. */
static void say_lossy(struct gpufl_upload_result *r, const struct engine_summary *s)
{
    char more[40] = "";
    size_t len = strlen(r->message);
    unsigned others = s->sessions_lossy - 1;
    if (!s->sessions_lossy) {
        return;
    }
    if (others) {
        snprintf(more, sizeof more, " and %u more", others);
    }
    snprintf(r->message + len, sizeof r->message - len,
             "; lines were dropped while recording %u %s: %.128s%s", s->sessions_lossy,
             plural(s->sessions_lossy, "session", "sessions"), s->lossy, more);
}

gpufl_status upload_result_left(struct gpufl_upload_result *r, const char *others)
{
    return upload_result_say(r, GPUFL_PARTIAL,
                             "not everything was sent: nothing more of %.250s can be "
                             "sent now (it is not waited for; gpufl status shows what "
                             "is left)",
                             others);
}

static gpufl_status say_whole(struct gpufl_upload_result *r,
                              const struct engine_summary *s)
{
    bool nothing = s->lines_acked == 0 && s->windows_acked == 0;
    if (!s->sessions_marked) {
        return upload_result_say(r, GPUFL_OK, nothing ? "nothing to send" : "all sent");
    }
    return upload_result_say(
        r, GPUFL_OK,
        "%s, but for %u %s in which another program has left .uploaded (--force sends "
        "what is there)",
        nothing ? "nothing to send" : "all sent", s->sessions_marked,
        plural(s->sessions_marked, "session", "sessions"));
}

static gpufl_status judge_sent(struct gpufl_upload_result *r,
                               const struct engine_summary *s, bool drained,
                               const struct upload_result_words *words)
{
    const char *problem = s->last_problem;
    char left[480];
    if (s->hold == HOLD_AUTH) {
        return upload_result_say(r, GPUFL_ERR_AUTH, "%s; %s (nothing is lost)", problem,
                                 s->hold_status == 401 ? words->key
                                                       : again_after(s, words));
    }
    bool ends = s->awaited[0] && !s->failures_in_row;
    say_left(ends ? s->awaited : problem, words, left);
    if (!drained && !s->ever_answered) {
        return upload_result_say(r, GPUFL_ERR_CONTACT,
                                 "cannot reach %.200s: %s (nothing is lost; %s)",
                                 words->backend_url, left, again_after(s, words));
    }
    if (!drained && words->others && words->others[0]) {
        return upload_result_left(r, words->others);
    }
    if (!drained) {
        return upload_result_say(
            r, GPUFL_PARTIAL, "not everything was sent: %s (nothing is lost; %s%s)", left,
            again_after(s, words),
            s->ranges_quarantined ? "; see also gpufl quarantine list" : "");
    }
    if (s->roots_away) {
        return upload_result_say(r, GPUFL_PARTIAL,
                                 "%s (nothing is forgotten; run it "
                                 "again when it is back)",
                                 s->away);
    }
    if (s->sessions_away) {
        return say_away(r, s);
    }
    if (s->directories_waiting) {
        return say_waiting(r, s);
    }
    if (!engine_summary_accepted(s)) {
        return s->sessions_kept_back
                   ? say_held(r, s)
                   : say_not_accepted(r, s,
                                      s->ranges_quarantined
                                          ? " (see gpufl quarantine list)"
                                          : way_out(HELD_EXIT_RESOLVE));
    }
    if (s->unfinished[0]) {
        return upload_result_say(
            r, GPUFL_PARTIAL,
            "not everything was sent: %.384s (run it again once that has ended)",
            s->unfinished);
    }
    if (s->left[0]) {
        return say_left_to_another(r, s, words);
    }
    return say_whole(r, s);
}

gpufl_status upload_result_judge(struct gpufl_upload_result *r,
                                 const struct engine_summary *s, bool drained,
                                 const struct upload_result_words *words)
{
    copy_summary(r, s);
    gpufl_status status = judge_sent(r, s, drained, words);
    if (!drained) {
        say_waiting_too(r, s);
    }
    say_lossy(r, s);
    return status;
}

gpufl_status upload_result_elsewhere(struct gpufl_upload_result *r,
                                     const struct engine_summary *left)
{
    gpufl_status status = GPUFL_OK;
    copy_summary(r, left);
    if (left->sessions_away) {
        status = say_away(r, left);
    } else if (left->sessions_kept_back) {
        status = say_held(r, left);
    } else if (!engine_summary_accepted(left)) {
        /* It does not tell whether they are in quarantine. */
        status = say_not_accepted(
            r, left,
            " (gpufl status has what can be done; see also gpufl quarantine list)");
    } else {
        upload_result_say(r, status, "sent by the uploader that serves this directory");
    }
    say_lossy(r, left);
    return status;
}

void upload_result_copy(const struct gpufl_upload_result *full,
                        struct gpufl_upload_result *result)
{
    if (result && result->struct_size >= sizeof(size_t)) {
        size_t given = result->struct_size;
        memcpy(result, full, given < sizeof *full ? given : sizeof *full);
        result->struct_size = given;
    }
}
