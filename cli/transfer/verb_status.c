/* SPDX-License-Identifier: Apache-2.0 */
/* Shows what of a directory is sent and what waits, by the journal and the files, or by
 * what a service publishes. */
#include "cli/transfer/verb_status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/message.h"
#include "cli/exit_codes.h"
#include "cli/transfer/directory_fault.h"
#include "cli/transfer/session_losses.h"
#include "cli/transfer/session_problem.h"
#include "cli/transfer/session_writer.h"
#include "cli/transfer/status_command.h"
#include "cli/transfer/status_concern.h"
#include "cli/transfer/status_json.h"
#include "cli/transfer/status_lines.h"
#include "cli/transfer/status_published.h"
#include "upload/core/held.h"
#include "upload/journal/lookup.h"
#include "upload/source/directory_mark.h"
#include "upload/source/scan_session.h"
#include "upload/source/select.h"
#include "upload/source/session_root.h"

#define OTHERS_SHOWN_MAX 100u

/* One run over a directory. */
struct status {
    const struct status_view *view;
    struct status_command command;
    struct text out;
    struct selection sessions;
    struct lookup listed; /* of these, by their path */
    struct journal_read journal;
    struct status_source source;
    struct status_concern concern;
    int root;
    bool all; /* sessions of others, too, however many there are */
    struct status_end end;
};

/* \return whether nothing is left of it. */
static bool show_channel(struct status *s, const char *name,
                         const struct channel_state *state)
{
    bool waits = state->waiting_files || state->waiting_bytes || state->untold;
    bool settled = !waits && !state->figures_untold && !state->refused_lines &&
                   !state->front_missing && !state->missing &&
                   !(state->losses && !state->lost);
    s->end.all_sent = s->end.all_sent && settled;
    s->end.waiting = s->end.waiting || waits;
    s->end.untold = s->end.untold || state->figures_untold;
    s->view->channel(&s->out, name, state);
    return settled;
}

/* Channels that the manifest lists. \return whether files of one are missing. */
static bool show_missing(struct status *s, const char *path, const struct scan *scan)
{
    bool any = false;
    struct channel_state state;
    for (unsigned i = 0; i < scan->manifest.channels; i++) {
        const char *name = scan->manifest.channel[i];
        if (channel_state_missing(s->root, &s->journal, path, scan, name, &state)) {
            show_channel(s, name, &state);
            any = any || state.missing;
        }
    }
    return any;
}

static void show_session_end(struct status *s, struct status_session *session,
                             bool may_resolve)
{
    struct text command = status_command_resolve(&s->command, session->path, "*");
    struct text list = status_command_quarantine(&s->command);
    bool hidden =
        s->command.elsewhere && journal_read_is_quarantined(&s->journal, session->path);
    session->resolve = may_resolve && !command.failed ? command.data : NULL;
    session->quarantine = hidden && !list.failed ? list.data : NULL;
    session->who = s->command.asker;
    s->end.quarantined = s->end.quarantined || hidden;
    s->view->session_end(&s->out, session);
    text_fini(&command);
    text_fini(&list);
    session->resolve = session->quarantine = NULL;
}

/* Once the writer is gone, the ends of channels that lack theirs are not waited for. */
static struct channel_state state_of(const struct status *s,
                                     const struct status_session *session,
                                     const struct scan *scan, unsigned channel)
{
    struct channel_state state =
        channel_state(s->root, &s->journal, session->path, scan, &scan->channel[channel]);
    bool over = session->done || strcmp(session->writer, "ended") == 0;
    state.awaits = over ? NULL : state.awaits;
    return state;
}

static void show_any_session(struct status *s, struct selected *selected, bool counts)
{
    struct scan scan;
    gpufl_status status =
        scan_session(&sys_real, s->root, selected->path, selected->id, &scan);
    if (status == GPUFL_ERR_NOT_FOUND) {
        selected->none = true;
        return;
    }
    s->end.none = false;
    if (scan.manifest_state == SCAN_MANIFEST_NONE &&
        session_was_live(&s->journal, selected->path)) {
        scan.layout = SESSION_LIVE;
    }
    struct status_session session = {
        .id = selected->id,
        .path = selected->path,
        .writer = session_writer(s->root, selected, &scan),
        .done = journal_read_done(&s->journal, selected->path),
        .end_untold = journal_read_is_untold(&s->journal, selected->path),
        .loss = scan.has_loss,
        .losses = session_losses(s->root, selected->path, &scan),
        .counts = counts,
        .problem = status == GPUFL_OK
                       ? session_problem(s->root, &s->journal, selected->path, &scan)
                       : held_text(HELD_DIRECTORY),
        .unread = &scan.unread,
    };
    const struct journal_read_session *resolved =
        journal_read_resolved(&s->journal, selected->path);
    enum held_reason held = session.problem ? held_by_text(session.problem) : HELD_NOT;
    if (resolved && resolved->no_manifest && held_exit(held) == HELD_EXIT_RESOLVE) {
        session.problem = NULL;
        held = HELD_NOT;
    }
    session.unread_given_up =
        resolved && scan.unread.mark && resolved->unread == scan.unread.mark;
    bool not_read = scan.unread.names && !session.unread_given_up;
    bool may_resolve = not_read || held_exit(held) == HELD_EXIT_RESOLVE ||
                       (session.done && directory_is_closed(s->root, selected->path));
    bool quarantined = journal_read_is_quarantined(&s->journal, selected->path);
    bool settled = !session.problem && !not_read;
    s->end.all_sent = s->end.all_sent && !session.problem && !not_read;
    s->end.lossy += session.loss;
    s->view->session(&s->out, &session);
    for (unsigned i = 0; i < scan.channels; i++) {
        struct channel_state state = state_of(s, &session, &scan, i);
        settled = show_channel(s, scan.channel[i].name, &state) && settled;
        may_resolve = may_resolve || state.front_missing ||
                      (state.losses && !state.lost) ||
                      (state.refused_lines && !quarantined);
    }
    /* A writer that lives gives a file that was removed its name back. */
    bool missing = !session.done && strcmp(session.writer, "live") != 0 &&
                   show_missing(s, selected->path, &scan);
    settled = settled && !missing && !quarantined;
    session.end_waits =
        settled && !session.done && !session.loss && strcmp(session.writer, "ended") == 0;
    s->end.all_sent = s->end.all_sent && !session.end_waits;
    s->end.waiting = s->end.waiting || session.end_waits;
    show_session_end(s, &session, may_resolve || missing);
}

/* What others leave in the directory is shown and does not count. */
static void show_session(struct status *s, struct selected *selected)
{
    struct status_end before = s->end;
    bool counts = status_concerns(&s->concern, selected);
    show_any_session(s, selected, counts);
    bool none = s->end.none;
    s->end = counts ? s->end : before;
    s->end.none = none;
}

/* All but the last byte, by which the view knows where it is. */
static void write_out(struct text *out)
{
    if (out->len > 1 && !out->failed) {
        fwrite(out->data, 1, out->len - 1, stdout);
        out->data[0] = out->data[out->len - 1];
        out->len = 1;
    }
}

/* Our own come first. Of others, who can make any number, some are shown. */
static void show_sessions(struct status *s)
{
    size_t others = 0;
    for (size_t i = 0; i < s->sessions.count; i++) {
        struct selected *session = &s->sessions.session[i];
        uint32_t hash = hash_text(s->journal.seed, session->path);
        s->out.failed = !lookup_add(&s->listed, hash) || s->out.failed;
        others += !session->own_user;
        if (s->all || others <= OTHERS_SHOWN_MAX) {
            show_session(s, session);
            write_out(&s->out);
        } else {
            s->end.unseen++;
        }
    }
}

static bool is_listed(const struct status *s, const char *path)
{
    size_t at = lookup_first(&s->listed, hash_text(s->journal.seed, path));
    while (at != LOOKUP_NONE && strcmp(s->sessions.session[at].path, path) != 0) {
        at = lookup_next(&s->listed, at);
    }
    return at != LOOKUP_NONE && !s->sessions.session[at].none;
}

static void show_away_session(struct status *s, const char *path, const char *problem)
{
    const char *slash = strrchr(path, '/');
    static const struct unread none = {0};
    struct status_end before = s->end;
    struct status_session session = {.id = slash ? slash + 1 : path,
                                     .path = path,
                                     .writer = "unknown",
                                     .counts = status_concerns_known(&s->concern, path),
                                     .away = !problem,
                                     .done = journal_read_done(&s->journal, path),
                                     .problem = problem,
                                     .unread = &none};
    s->end.all_sent = false;
    s->view->session(&s->out, &session);
    for (const struct journal_read_stream *at = journal_read_first(&s->journal, path); at;
         at = journal_read_next(&s->journal, at)) {
        struct channel_state state = channel_state_settled(at);
        show_channel(s, at->record.channel, &state);
    }
    show_session_end(s, &session, !problem || session.done);
    s->end = session.counts ? s->end : before;
}

/* Those that the listing does not name: unfinished ones, and this user's where it cannot
 * look. Of a service, they may be in a group of another user that cannot be listed. */
static void show_away(struct status *s)
{
    for (size_t i = 0; i < s->source.sessions; i++) {
        const struct journal_read_session *known = &s->journal.session[i];
        const char *path = known->done.path;
        bool unseen = directory_is_closed_own(s->root, path,
                                              journal_read_directory(&s->journal, path));
        if (known->first != LOOKUP_NONE && (unseen || !known->is_done) &&
            !is_listed(s, path)) {
            show_away_session(s, path, unseen ? held_text(HELD_DIRECTORY) : NULL);
            write_out(&s->out);
        }
    }
}

static void show_note(void *arg, const struct progress_note *note)
{
    struct status *s = arg;
    if ((note->since_s || note->aside) && !s->end.served) {
        return; /* it was so when the last uploader ended; a hold still is */
    }
    enum held_exit ends = held_exit(held_by_text(note->text));
    struct text command =
        ends == HELD_EXIT_FORCE
            ? status_command_force(&s->command, note->path)
            : status_command_resolve(&s->command, note->path, note->channel);
    struct status_exit out = {
        .again = ends == HELD_EXIT_FORCE,
        .who = ends == HELD_EXIT_FORCE ? s->command.keeper : s->command.asker,
        .served = s->end.served,
        .command = command.failed || ends == HELD_EXIT_MEND ? NULL : command.data};
    bool own = note->waits && (note->owner == geteuid() || geteuid() == 0);
    /* Of each owner some are named before there are more. */
    if (note->since_s || own || status_concerns_note(&s->concern, note)) {
        s->end.all_sent = false;
        s->end.waiting = true;
    }
    s->view->note(&s->out, note, &out);
    text_fini(&command);
}

/* Who works on the directory, and what stands in the way as that told last. */
static void show_holder(struct status *s)
{
    char holder[128];
    s->end.served = progress_holder(&sys_real, s->root, holder, sizeof holder);
    s->view->holder(&s->out, s->end.served ? holder : NULL);
    progress_notes(&sys_real, s->root, show_note, s);
}

static void show_quarantine(struct status *s)
{
    struct quarantined range;
    s->view->quarantine(&s->out);
    for (size_t i = 0; quarantine_in_journal(&s->journal, i, &range); i++) {
        s->end.quarantined =
            s->end.quarantined || status_concerns_known(&s->concern, range.path);
        s->view->range(&s->out, &range);
    }
    s->end.all_sent = s->end.all_sent && !s->end.quarantined;
}

static int show_status(struct status *s)
{
    s->end.all_sent = s->end.none = true;
    s->concern = (struct status_concern){
        .root = s->root, .all = s->all, .sessions = &s->sessions, .journal = &s->journal};
    s->out.failed = s->journal.no_memory || !status_concern_open(&s->concern);
    s->view->start(&s->out, &s->source);
    show_holder(s);
    s->view->sessions(&s->out);
    show_sessions(s);
    show_away(s);
    show_quarantine(s);
    s->end.none = s->end.none && !s->end.unseen && !s->journal.sessions;
    s->view->end(&s->out, &s->end);
    if (s->out.failed) {
        message_line("gpufl status", "out of memory");
        return EXIT_NOT_ALL;
    }
    fwrite(s->out.data, 1, s->out.len, stdout);
    if (s->end.none &&
        directory_is_above("gpufl status", s->command.directory, s->command.state_dir)) {
        return EXIT_BAD_USE;
    }
    return s->end.all_sent ? EXIT_ALL_DONE : EXIT_NOT_ALL;
}

static int open_and_show(struct status *s, const char *directory, const char *state_dir)
{
    struct stat st;
    char *path = realpath(directory, NULL);
    s->root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->root < 0 || !path ||
        select_find(&sys_real, s->root, NULL, &s->sessions) != GPUFL_OK) {
        int error = errno;
        free(path);
        return directory_fault("gpufl status", directory, error);
    }
    s->all =
        s->all || geteuid() == 0 || (fstat(s->root, &st) == 0 && st.st_uid == geteuid());
    select_read_own(&sys_real, s->root, &s->sessions);
    gpufl_status status =
        journal_read_open(&sys_real, state_dir, s->root, path, &s->journal);
    if (status != GPUFL_OK && status != GPUFL_ERR_NOT_FOUND) {
        free(path);
        message_line("gpufl status", "%s%s: %s", state_dir ? "" : "the journal of ",
                     state_dir ? "--state-dir" : directory, s->journal.why);
        return EXIT_BAD_USE;
    }
    s->source.journal = status == GPUFL_OK;
    s->source.sessions = s->journal.sessions;
    if (!state_dir) {
        status_published_add(s->root, path, &s->journal, &s->source);
    }
    status_command_find(&s->command, s->root, path, s->source.journal);
    free(path);
    return show_status(s);
}

int verb_status(const struct status_arguments *a)
{
    struct status s = {.root = -1, .all = a->all};
    char why[512];
    if (session_root_is_session(&sys_real, a->directory, "", why)) {
        message_line("gpufl status", "DIR: %s", why);
        return EXIT_BAD_USE;
    }
    s.view = a->json ? &status_json : &status_lines;
    s.command =
        (struct status_command){.directory = a->directory, .state_dir = a->state_dir};
    int rc = open_and_show(&s, a->directory, a->state_dir);
    text_fini(&s.out);
    status_concern_close(&s.concern);
    journal_read_fini(&s.journal);
    select_free(&s.sessions);
    lookup_close(&s.listed);
    if (s.root >= 0) {
        close(s.root);
    }
    return rc;
}
