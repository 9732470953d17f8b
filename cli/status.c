/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl status DIR */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/channel_state.h"
#include "cli/json.h"
#include "cli/verbs.h"
#include "upload/engine/progress.h"
#include "upload/engine/quarantine.h"
#include "upload/journal/journal_read.h"
#include "upload/source/liveness.h"
#include "upload/source/select.h"

static const char usage[] =
    "Usage: gpufl status DIR [--json] [--state-dir DIR]\n"
    "Shows what of each session under DIR is settled at the backend and what waits. "
    "Reads the\n"
    "journal of gpufl-agent or gpufl upload; changes nothing.\n"
    "\n"
    "Exit: 0 everything is sent; 1 something waits or was refused; 2 wrong use.\n";

struct status {
    const char *dir;
    const char *state_dir;
    bool json;
    int root;
    struct selection sessions;
    struct journal_read journal;
    bool all_sent;
    unsigned notes;
    bool unserved;
};

static void print_time(int64_t at_s, bool json)
{
    char text[40];
    time_t at = (time_t)at_s;
    struct tm tm;
    if (json) {
        gmtime_r(&at, &tm);
        strftime(text, sizeof text, "\"%Y-%m-%dT%H:%M:%SZ\"", &tm);
    } else {
        localtime_r(&at, &tm);
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    }
    fputs(text, stdout);
}

static const char *writer_of(const struct status *s, const struct selected *session,
                             const struct scan *scan)
{
    char lock[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX];
    snprintf(lock, sizeof lock, "%s/%s", session->path, LAYOUT_LOCK);
    switch (liveness_probe(&sys_real, s->root, lock,
                           scan->has_manifest ? &scan->manifest : NULL)) {
    case WRITER_LIVE:
        return "live";
    case WRITER_GONE:
        return "ended";
    case WRITER_UNKNOWN:
        break;
    }
    return "unknown";
}

static void show_channel(struct status *s, const struct scan_channel *c,
                         const struct channel_state *state, bool first)
{
    bool waits = state->waiting_files || state->waiting_bytes;
    s->all_sent = s->all_sent && !waits && !state->refused_lines && !state->front_missing;
    if (s->json) {
        printf("%s{\"channel\":\"%s\",\"settled_lines\":%" PRIu64
               ",\"refused_lines\":%" PRIu64
               ",\"waiting_files\":%u,\"waiting_bytes\":%" PRIu64 ",\"front_missing\":%s",
               first ? "" : ",", c->name, state->settled_lines, state->refused_lines,
               state->waiting_files, state->waiting_bytes,
               state->front_missing ? "true" : "false");
        if (state->since_s) {
            fputs(",\"waiting_since\":", stdout);
            print_time(state->since_s, true);
        }
        putchar('}');
    } else {
        printf("  %-10s %12" PRIu64 " lines settled", c->name, state->settled_lines);
        if (state->waiting_files) {
            printf(", %u files wait", state->waiting_files);
        }
        if (state->waiting_bytes) {
            printf(", %" PRIu64 " bytes wait", state->waiting_bytes);
        }
        if (state->since_s) {
            fputs(", the first of ", stdout);
            print_time(state->since_s, false);
        }
        if (state->refused_lines) {
            printf(", %" PRIu64 " lines refused", state->refused_lines);
        }
        if (state->front_missing) {
            fputs(", its first files were gone", stdout);
        }
        putchar('\n');
    }
}

static void show_session(struct status *s, const struct selected *session, bool first)
{
    struct scan scan;
    if (scan_session(&sys_real, s->root, session->path, session->id, &scan) != GPUFL_OK) {
        return;
    }
    bool done = journal_read_is_done(&s->journal, session->path);
    const char *writer = writer_of(s, session, &scan);
    if (s->json) {
        printf(
            "%s{\"session_id\":\"%s\",\"path\":\"%s\",\"writer\":\"%s\",\"complete\":%s,"
            "\"recording_loss\":%s,\"channels\":[",
            first ? "" : ",", session->id, session->path, writer, done ? "true" : "false",
            scan.has_loss ? "true" : "false");
    } else {
        printf("%s  writer %s%s%s\n", session->path, writer,
               done ? ", complete at the backend" : "",
               scan.has_loss ? ", lines were dropped while recording" : "");
    }
    for (unsigned i = 0; i < scan.channels; i++) {
        struct channel_state state =
            channel_state(s->root, &s->journal, session->path, &scan, &scan.channel[i]);
        show_channel(s, &scan.channel[i], &state, i == 0);
    }
    if (s->json) {
        fputs("]}", stdout);
    }
}

static void show_note(void *arg, const struct progress_note *note)
{
    struct status *s = arg;
    s->all_sent = false;
    if (s->json) {
        fputs(s->notes++ ? "," : "", stdout);
        if (note->since_s) {
            fputs("{\"since\":", stdout);
            print_time(note->since_s, true);
        } else {
            printf("{\"path\":\"%s\",\"channel\":\"%s\"", note->path, note->channel);
        }
        fputs(",\"reason\":", stdout);
        json_print(note->text);
        putchar('}');
    } else if (note->since_s) {
        printf("everything waits: %s, since ", note->text);
        print_time(note->since_s, false);
        putchar('\n');
    } else {
        printf("waits: %s %s: %s\n", note->path, note->channel, note->text);
    }
}

/* Who works on it, and what stands in the way as that told last. */
static void show_holder(struct status *s)
{
    char holder[128];
    bool lives = progress_holder(&sys_real, s->root, holder, sizeof holder);
    if (s->json) {
        printf("\"served_by\":%s", lives ? "" : "null");
        if (lives) {
            json_print(holder);
        }
        fputs(",\"waits\":[", stdout);
    } else if (lives) {
        printf("served by %s\n", holder);
    } else {
        puts("served by nobody");
        s->unserved = true;
    }
    if (lives) {
        progress_notes(&sys_real, s->root, show_note, s);
    }
    fputs(s->json ? "]," : "", stdout);
}

static void show_quarantine(struct status *s)
{
    s->all_sent = s->all_sent && s->journal.quarantines == 0;
    struct quarantined r;
    for (size_t i = 0; quarantine_in_journal(&s->journal, i, &r); i++) {
        const struct record_quarantine *q = &r.record;
        if (s->json) {
            printf("%s{\"name\":\"%s\",\"path\":\"%s\",\"channel\":\"%s\",\"file\":%u,"
                   "\"begin\":%" PRIu64 ",\"end\":%" PRIu64
                   ",\"lines\":%u,\"status\":%d,\"reason\":",
                   i ? "," : "", r.name, r.path, r.channel, q->file, q->begin, q->end,
                   q->lines, q->status);
            json_print(q->reason);
            putchar('}');
        } else {
            printf("quarantined: %s %s %s file %u bytes %" PRIu64 "-%" PRIu64 ": %s\n",
                   r.name, r.path, r.channel, q->file, q->begin, q->end, q->reason);
        }
    }
    if (s->journal.quarantines && !s->json) {
        puts("see gpufl quarantine --help");
    }
}

static int show(struct status *s)
{
    char *path = realpath(s->dir, NULL);
    s->root = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->root < 0 || !path ||
        select_list(&sys_real, s->root, &s->sessions) != GPUFL_OK) {
        fprintf(stderr, "gpufl status: cannot read %s: %s\n", s->dir, strerror(errno));
        free(path);
        return EXIT_BAD_USE;
    }
    gpufl_status status =
        journal_read_open(&sys_real, s->state_dir, s->root, path, &s->journal);
    free(path);
    if (status != GPUFL_OK && status != GPUFL_ERR_NOT_FOUND) {
        fprintf(stderr, "gpufl status: the journal of %s: %s\n", s->dir,
                gpufl_status_text(status));
        return EXIT_BAD_USE;
    }
    if (s->json) {
        printf("{\"journal\":%s,", status == GPUFL_OK ? "true" : "false");
    } else if (status != GPUFL_OK) {
        puts("no journal found: nothing was sent from here, or --state-dir is needed");
    }
    show_holder(s);
    fputs(s->json ? "\"sessions\":[" : "", stdout);
    for (size_t i = 0; i < s->sessions.count; i++) {
        show_session(s, &s->sessions.session[i], i == 0);
    }
    fputs(s->json ? "],\"quarantine\":[" : "", stdout);
    show_quarantine(s);
    fputs(s->json ? "]}\n" : "", stdout);
    if (s->unserved && !s->all_sent) {
        puts("start gpufl-agent, or run gpufl upload");
    }
    return s->all_sent ? EXIT_ALL_DONE : EXIT_NOT_ALL;
}

int verb_status(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"state-dir", required_argument, NULL, 'd'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct status s = {.root = -1, .all_sent = true};
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) >= 0;) {
        if (c == 'j') {
            s.json = true;
        } else if (c == 'd') {
            s.state_dir = optarg;
        } else {
            fputs(usage, c == 'h' ? stdout : stderr);
            return c == 'h' ? EXIT_ALL_DONE : EXIT_BAD_USE;
        }
    }
    if (optind + 1 != argc) {
        fputs("gpufl status: give one directory; see gpufl status --help\n", stderr);
        return EXIT_BAD_USE;
    }
    s.dir = argv[optind];
    int rc = show(&s);
    journal_read_fini(&s.journal);
    select_free(&s.sessions);
    if (s.root >= 0) {
        close(s.root);
    }
    return rc;
}
