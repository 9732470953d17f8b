/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl status DIR */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/json.h"
#include "cli/verbs.h"
#include "upload/liveness.h"
#include "upload/quarantine.h"
#include "upload/report.h"
#include "upload/select.h"
#include "upload/tail.h"

#define SHIFTING_CHUNK_BYTES 65536u

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
    struct report report;
    bool all_sent;
};

/* One channel, as told. */
struct channel_state {
    uint64_t settled_lines;
    uint64_t refused_lines;
    uint64_t waiting_bytes;
    uint32_t waiting_files;
    bool front_missing;
};

static const struct report_stream *stream_of(const struct status *s, const char *path,
                                             const char *channel)
{
    for (size_t i = 0; i < s->report.streams; i++) {
        const struct fact_stream *f = &s->report.stream[i].fact;
        if (strcmp(f->path, path) == 0 && strcmp(f->channel, channel) == 0) {
            return &s->report.stream[i];
        }
    }
    return NULL;
}

/* Files of the 1.1 layout shift and may be compressed: the one that the journal means is
 * found by its head, and read to its end. */
static void measure_shifting(const struct status *s, const char *path,
                             const struct scan_channel *c, const struct fact_stream *at,
                             struct channel_state *out)
{
    char chunk[SHIFTING_CHUNK_BYTES];
    struct gz_cache cache = {0};
    struct tail_chunk got = {0};
    struct tail_where where = {.root = s->root,
                               .path = path,
                               .channel = c->name,
                               .layout = SESSION_SHIFTING,
                               .cache = &cache};
    if (at) {
        where.offset = at->offset;
        where.head = at->head;
    }
    out->waiting_files = c->highest + (c->has_active || c->has_active_gz);
    while (where.head && !got.at_end &&
           tail_read(&sys_real, &where, chunk, sizeof chunk, &got) == GPUFL_OK) {
        out->waiting_files = got.index; /* those after it */
        out->waiting_bytes += got.len;
        where.offset += got.len;
        where.index = got.index;
    }
    gz_cache_close(&cache);
}

static struct channel_state state_of(const struct status *s, const char *path,
                                     const struct scan *scan,
                                     const struct scan_channel *c)
{
    struct channel_state out = {0};
    const struct report_stream *known = stream_of(s, path, c->name);
    uint32_t file = known ? known->fact.file : 1;
    uint64_t offset = known ? known->fact.offset : 0;
    if (known) {
        out.settled_lines = known->fact.lines;
        out.refused_lines = known->fact.refused_lines;
        out.front_missing = known->fact.marks & MARK_GAP;
    }
    if (scan->layout == SESSION_SHIFTING) {
        measure_shifting(s, path, c, known ? &known->fact : NULL, &out);
    } else if (scan->layout == SESSION_WINDOWS) {
        out.waiting_files = file <= c->highest ? c->highest - file + 1 : 0;
    } else {
        bool active = file > c->highest;
        out.waiting_files = active ? 0 : c->highest - file + 1;
        out.waiting_bytes = c->active_bytes - (active ? offset : 0);
    }
    return out;
}

static const char *writer_of(const struct status *s, const struct selected *session,
                             const struct scan *scan)
{
    char lock[FACTS_PATH_MAX + LAYOUT_PATH_MAX];
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
               ",\"waiting_files\":%u,\"waiting_bytes\":%" PRIu64
               ",\"front_missing\":%s}",
               first ? "" : ",", c->name, state->settled_lines, state->refused_lines,
               state->waiting_files, state->waiting_bytes,
               state->front_missing ? "true" : "false");
    } else {
        printf("  %-10s %12" PRIu64 " lines settled", c->name, state->settled_lines);
        if (state->waiting_files) {
            printf(", %u files wait", state->waiting_files);
        }
        if (state->waiting_bytes) {
            printf(", %" PRIu64 " bytes wait", state->waiting_bytes);
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
    bool done = report_is_done(&s->report, session->path);
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
        struct channel_state state = state_of(s, session->path, &scan, &scan.channel[i]);
        show_channel(s, &scan.channel[i], &state, i == 0);
    }
    if (s->json) {
        fputs("]}", stdout);
    }
}

static void show_quarantine(struct status *s)
{
    s->all_sent = s->all_sent && s->report.quarantines == 0;
    struct quarantined r;
    for (size_t i = 0; quarantine_in_report(&s->report, i, &r); i++) {
        const struct fact_quarantine *q = &r.fact;
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
    if (s->report.quarantines && !s->json) {
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
    gpufl_status status = report_read(&sys_real, s->state_dir, s->root, path, &s->report);
    free(path);
    if (status != GPUFL_OK && status != GPUFL_ERR_NOT_FOUND) {
        fprintf(stderr, "gpufl status: the journal of %s: %s\n", s->dir,
                gpufl_status_text(status));
        return EXIT_BAD_USE;
    }
    if (s->json) {
        printf("{\"journal\":%s,\"sessions\":[", status == GPUFL_OK ? "true" : "false");
    } else if (status != GPUFL_OK) {
        puts("no journal found: nothing was sent from here, or --state-dir is needed");
    }
    for (size_t i = 0; i < s->sessions.count; i++) {
        show_session(s, &s->sessions.session[i], i == 0);
    }
    fputs(s->json ? "],\"quarantine\":[" : "", stdout);
    show_quarantine(s);
    fputs(s->json ? "]}\n" : "", stdout);
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
    report_fini(&s.report);
    select_free(&s.sessions);
    if (s.root >= 0) {
        close(s.root);
    }
    return rc;
}
