/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the status of a directory as lines: sessions, their channels, what is pending. */
#include "cli/transfer/status_lines.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "base/plural.h"
#include "cli/transfer/quarantine_print.h"
#include "upload/source/session_root.h"

#define GIVE_UP    "to give up what is gone"
#define SEND_AGAIN "to send all of the session again, also what the backend has"

static void lines_time(struct text *out, int64_t at_s)
{
    char text[40];
    time_t at = (time_t)at_s;
    struct tm tm;
    localtime_r(&at, &tm);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    text_puts(out, text);
}

static void lines_start(struct text *out, const struct status_source *source)
{
    if (source->silent) {
        text_puts(out, "the service that serves this directory has told nothing yet\n");
    } else if (source->service) {
        text_printf(out, "as told by the service that serves this directory%s\n",
                    source->journal ? ", and by the journal of this user" : "");
    } else if (!source->journal) {
        text_puts(out,
                  "no journal found (nothing was uploaded yet, or give the --state-dir "
                  "that was used)\n");
    }
    if (source->left_out[0]) {
        text_printf(out,
                    "not counted: the journal of this user, which is about %s (not known "
                    "to be the database of the service)\n",
                    source->left_out);
    }
}

static void lines_holder(struct text *out, const char *holder)
{
    if (holder) {
        text_printf(out, "served by %s\n", holder);
    } else {
        text_puts(out, "no uploader is running\n");
    }
}

static void lines_command(struct text *out, const char *what, const char *who,
                          const char *command)
{
    if (command) {
        text_printf(out, "  %s%s%s: %s\n", what, *who ? ", as " : "", who, command);
    }
}

static void lines_note(struct text *out, const struct progress_note *note,
                       const struct status_exit *ends)
{
    if (note->more) {
        text_printf(out, "waits: %u more\n", note->more);
    } else if (note->waits) {
        text_printf(out,
                    "waits: %u directories of user %u: this user has more than there is "
                    "room for (remove some that are complete)\n",
                    note->waits, note->owner);
    } else if (note->aside) {
        text_printf(out, "uploader: %s\n", note->text);
    } else if (note->since_s) {
        text_printf(out, "everything waits: %s, since ", note->text);
        lines_time(out, note->since_s);
        text_puts(out, "\n");
    } else {
        text_printf(out, "waits: %s %s", note->path, note->channel);
        if (note->owned && note->owner != geteuid()) {
            text_printf(out, " of user %u", note->owner);
        }
        text_printf(out, ": %s\n", note->text);
    }
    lines_command(out,
                  !ends->again   ? GIVE_UP
                  : ends->served ? SEND_AGAIN ", once the uploader is stopped"
                                 : SEND_AGAIN,
                  ends->who, ends->command);
}

static const char *lines_done(const struct status_session *session)
{
    const struct record_session *done = session->done;
    static const char *const words[] = {
        [SESSION_TOLD] = ", complete at the backend",
        [SESSION_VERIFIED] = ", complete, verified",
        [SESSION_LACKS] = ", not complete: lines of it are missing at the backend",
        [SESSION_MARKED] = ", not sent from here: another program has left .uploaded",
    };
    return !done ? ""
           : session->end_untold
               ? ", has ended, the service does not tell how"
               : words[done->outcome <= SESSION_MARKED ? done->outcome : 0];
}

static void lines_session(struct text *out, const struct status_session *session)
{
    const char *whose = session->counts ? "" : ", of another user: not counted";
    if (session->away) {
        text_printf(out, "%s  its directory is not there: a mount may be missing%s\n",
                    session->path, whose);
        return;
    }
    text_printf(
        out, "%s  writer %s%s%s%s%s%s\n", session->path, session->writer,
        lines_done(session), session->loss ? ", lines were dropped while recording" : "",
        session->problem ? ", " : "", session->problem ? session->problem : "", whose);
}

static void lines_channel(struct text *out, const char *name,
                          const struct channel_state *state)
{
    if (state->figures_untold) {
        text_printf(out,
                    "  %-10s %12s lines settled, the service tells neither how many nor "
                    "whether some were refused",
                    name, "?");
    } else {
        text_printf(out, "  %-10s %12" PRIu64 " %s settled", name, state->settled_lines,
                    plural(state->settled_lines, "line", "lines"));
    }
    if (state->waiting_files) {
        text_printf(out, ", %u %s", state->waiting_files,
                    plural(state->waiting_files, "file waits", "files wait"));
    }
    if (state->waiting_bytes) {
        text_printf(out, ", %" PRIu64 " %s", state->waiting_bytes,
                    plural(state->waiting_bytes, "byte waits", "bytes wait"));
    }
    if (state->untold) {
        text_puts(out, ", the service does not tell how much waits");
    }
    if (state->since_s) {
        text_puts(out, ", the first of ");
        lines_time(out, state->since_s);
    }
    if (state->awaits) {
        text_printf(out, ", its end waits for that of %s", state->awaits);
    }
    if (state->refused_lines) {
        text_printf(out, ", %" PRIu64 " %s refused", state->refused_lines,
                    plural(state->refused_lines, "line", "lines"));
    }
    if (state->losses) {
        text_printf(out, ", %u %s lost at the backend", state->losses,
                    plural(state->losses, "range is", "ranges are"));
    }
    if (state->lost) {
        text_puts(out, ", part of it was given up");
    }
    if (state->missing) {
        text_puts(out, ", no file of it is there");
    }
    if (state->front_missing) {
        text_puts(out, ", lines or files of it were gone before they were read");
    }
    if (state->rewritten) {
        text_printf(out, ", file %u was changed after it was sent", state->rewritten);
    }
    text_puts(out, "\n");
}

static void lines_session_end(struct text *out, const struct status_session *session)
{
    const struct unread *unread = session->unread;
    for (int kind = 0; kind < LOSS_KINDS; kind++) {
        if (session->losses.count[kind]) {
            text_printf(out, "  lost while recording: %" PRIu64 " %s\n",
                        session->losses.count[kind], losses_what((enum loss)kind));
        }
    }
    if (session->end_waits) {
        text_puts(
            out,
            "  everything is settled, but the session is not reported complete yet\n");
    }
    for (int i = 0; i < UNREAD_REASONS_COUNT; i++) {
        const struct unread_group *group = &unread->reason[i];
        if (group->names) {
            text_printf(out, "  %s: %u %s, for example %s: %s\n",
                        session->unread_given_up ? "given up" : "not read", group->names,
                        plural(group->names, "file", "files"), group->example,
                        unread_text((enum unread_reason)i));
        }
    }
    if (unread->other.names) {
        text_printf(out, "  not of a session: %u %s, for example %s\n",
                    unread->other.names, plural(unread->other.names, "file", "files"),
                    unread->other.example);
    }
    lines_command(out, "to see its lines in quarantine", session->who,
                  session->quarantine);
    lines_command(out, GIVE_UP, session->who, session->resolve);
}

static void lines_range(struct text *out, const struct quarantined *range)
{
    text_puts(out, "quarantined: ");
    quarantine_print_line(out, range);
    text_puts(out, "\n");
}

static void lines_end(struct text *out, const struct status_end *end)
{
    if (end->none) {
        text_puts(out, "no session in this directory (" SESSION_DEPTH_EXPECTED ")\n");
    }
    if (end->unseen) {
        text_printf(out, "... and %zu %s of other users (--all shows the sessions)\n",
                    end->unseen, plural(end->unseen, "directory", "directories"));
    }
    if (end->quarantined) {
        text_printf(
            out, "retry or drop the quarantined lines%s: see gpufl quarantine --help\n",
            end->served ? ", after gpufl-agent is stopped" : "");
    }
    if (end->untold) {
        text_puts(
            out, "the service is of an earlier version, which does not tell all: restart "
                 "it, or run this as root with the --state-dir of the service\n");
    }
    if (!end->served && end->waiting) {
        text_puts(out, "start gpufl-agent, or run gpufl upload\n");
    }
}

/* The blocks need no headings of their own. */
static void lines_nothing(struct text *out)
{
    (void)out;
}

const struct status_view status_lines = {
    .start = lines_start,
    .holder = lines_holder,
    .note = lines_note,
    .sessions = lines_nothing,
    .session = lines_session,
    .channel = lines_channel,
    .session_end = lines_session_end,
    .quarantine = lines_nothing,
    .range = lines_range,
    .end = lines_end,
};
