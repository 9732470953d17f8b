/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for the ends of a session's streams and compares each with its files. */
#include "upload/verify/verify.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "upload/http/reply.h"
#include "upload/source/scan_session.h"

#define LOOKS        6u /* at a session whose files are renamed or deleted */
#define LOOK_WAIT_MS 5u /* doubles each time */
#define TICK_NS      20000000
#define NS_PER_S     INT64_C(1000000000)

gpufl_status verify_backend(struct verify *v)
{
    const struct transport_request request = {.kind = TRANSPORT_PROBE, .fd = -1};
    struct transport_reply reply;
    struct reply_version version = {0};
    gpufl_status status = verify_ask(v, &request, &reply);
    if (status != GPUFL_OK) {
        return status;
    }
    if (reply.status == 200) {
        reply_read_version(reply.body, reply.body_len, &version);
    }
    if (!version.readable || !version.positions) {
        snprintf(v->why, sizeof v->why, "%s",
                 version.readable ? "it does not know positions, so there is nothing to "
                                    "compare with"
                                  : "no backend answers there");
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

gpufl_status verify_key(struct verify *v)
{
    static const char nobodys[] = "00000000-0000-4000-8000-000000000000";
    const struct transport_request request = {
        .kind = TRANSPORT_ENDS, .session = nobodys, .fd = -1};
    struct transport_reply reply;
    return verify_ask(v, &request, &reply);
}

static gpufl_status verify_ends(struct verify *v, const char *id,
                                struct reply_streams *out)
{
    const struct transport_request request = {
        .kind = TRANSPORT_ENDS, .session = id, .fd = -1};
    struct transport_reply reply;
    gpufl_status status = verify_ask(v, &request, &reply);
    if (status == GPUFL_OK) {
        reply_read_ends(reply.status, reply.body, reply.body_len, out);
        if (!out->readable) {
            snprintf(v->why, sizeof v->why, "HTTP %d: not the ends of a session",
                     reply.status);
            status = GPUFL_ERR_CONTACT;
        }
    }
    return status;
}

/* A session that is compared, maybe again. */
struct looking {
    struct verify *v;
    const struct selected *selected;
    struct reply_streams told;
    struct verify_session last; /* what was found before */
    struct stat dir;            /* its directory, before it was listed */
    bool dir_is_fresh;          /* that had just changed: another change may not show */
    struct scan scan;
};

static struct verify_stream *verify_add(struct verify_session *out, const char *channel)
{
    static const struct reply_end nothing = {.at = {.file = 1}};
    struct verify_stream *stream = &out->stream[out->count++];
    *stream = (struct verify_stream){.backend = nothing};
    stream->complete = out->state != VERIFY_OPEN;
    snprintf(stream->channel, sizeof stream->channel, "%s", channel);
    return stream;
}

/* Another look would find the same, or more lines. */
static bool verify_is_settled(enum verify_result result)
{
    return result == VERIFY_EQUAL || result == VERIFY_BEHIND || result == VERIFY_LOSSY ||
           result == VERIFY_EXPIRED || result == VERIFY_BY_WINDOWS ||
           result == VERIFY_EXCESSIVE;
}

static bool verify_found(const struct looking *look, const char *channel,
                         struct verify_stream *out)
{
    for (unsigned i = 0; i < look->last.count; i++) {
        const struct verify_stream *last = &look->last.stream[i];
        if (strcmp(last->channel, channel) == 0 && verify_is_settled(last->result)) {
            *out = *last;
            return true;
        }
    }
    return false;
}

/* What the writer told of the active file is not there; a session that is complete was
 * compared with that when it was reported. */
static void verify_told(const struct scan_channel *c, struct verify_stream *out)
{
    bool gone =
        c->told_active && !c->has_active && !c->has_active_gz && c->told_bytes > 0;
    bool less = c->told_fit == TOLD_LESS || c->told_fit == TOLD_OTHER;
    if (out->result == VERIFY_EQUAL && !out->complete && (gone || less)) {
        out->result = VERIFY_MISSING;
        out->file = c->told_active ? c->told_active : c->highest + 1;
    }
}

static gpufl_status verify_channel(const struct looking *look,
                                   const struct scan_channel *c,
                                   struct verify_stream *out)
{
    const struct reply_stream *told = reply_stream_of(&look->told, c->name);
    bool windows = look->scan.layout == SESSION_WINDOWS;
    if (verify_found(look, c->name, out)) {
        return GPUFL_OK;
    }
    out->layout = look->scan.layout;
    if (told && !told->without_positions) {
        out->backend = told->end;
    }
    if (windows || (told && told->without_positions)) {
        out->result = VERIFY_BY_WINDOWS;
        return GPUFL_OK;
    }
    if (out->backend.expired || look->told.expired) {
        out->result = VERIFY_EXPIRED;
        return GPUFL_OK;
    }
    gpufl_status status = verify_files(look->v, look->selected, c, out);
    verify_told(c, out);
    return status;
}

static bool verify_has_files(const struct scan_channel *c)
{
    return c && (c->payloads || c->has_active || c->has_active_gz);
}

/* Streams of the backend of which no file is here. */
static void verify_gone(const struct looking *look, struct verify_session *out)
{
    for (unsigned i = 0; i < look->told.count; i++) {
        const struct reply_stream *stream = &look->told.stream[i];
        if (verify_has_files(scan_find_channel(&look->scan, stream->channel))) {
            continue;
        }
        bool lost = stream->end.lost_after && !stream->end.at.lines;
        struct verify_stream *add = verify_add(out, stream->channel);
        add->backend = stream->end;
        add->result = stream->without_positions ? VERIFY_BY_WINDOWS
                      : stream->end.expired     ? VERIFY_EXPIRED
                      : lost                    ? VERIFY_LOSSY
                                                : VERIFY_NO_FILES;
    }
}

/* A channel that the session has, as its writer says. */
static void verify_named(const struct looking *look, const char *channel,
                         struct verify_session *out)
{
    if (!look->told.expired && channel_is_known(channel) &&
        !reply_stream_of(&look->told, channel) &&
        !verify_has_files(scan_find_channel(&look->scan, channel))) {
        verify_add(out, channel)->result = VERIFY_MISSING;
    }
}

/* Channels of which neither the backend nor this directory has anything, but for what
 * tells that they were. */
static void verify_missing(const struct looking *look, struct verify_session *out)
{
    const struct manifest *manifest = &look->scan.manifest;
    for (unsigned i = 0; i < look->scan.channels; i++) {
        verify_named(look, look->scan.channel[i].name, out);
    }
    for (unsigned i = 0; i < manifest->channels; i++) {
        if (!scan_find_channel(&look->scan, manifest->channel[i])) {
            verify_named(look, manifest->channel[i], out);
        }
    }
}

/* Of what lies in a directory that is closed, only whose that is can be told. */
static void verify_unreadable(struct verify *v, const char *path)
{
    char group[LAYOUT_NAME_MAX + 1];
    char whose[40] = "";
    struct stat st;
    bool there = fstatat(v->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
    snprintf(group, sizeof group, "%.*s", (int)strcspn(path, "/"), path);
    if ((there || fstatat(v->root, group, &st, AT_SYMLINK_NOFOLLOW) == 0) &&
        st.st_uid != geteuid()) {
        snprintf(whose, sizeof whose, " (%s user %u)", there ? "of" : "in one of",
                 (unsigned)st.st_uid);
    }
    snprintf(v->why, sizeof v->why,
             "its directory cannot be read%s: let this user read it", whose);
}

/* Times of change may be as coarse as the kernel's clock ticks. */
static void verify_see(struct looking *look)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    look->dir = (struct stat){0};
    (void)!fstatat(look->v->root, look->selected->path, &look->dir, AT_SYMLINK_NOFOLLOW);
    int64_t age_ns = (now.tv_sec - look->dir.st_ctim.tv_sec) * NS_PER_S + now.tv_nsec -
                     look->dir.st_ctim.tv_nsec;
    look->dir_is_fresh = age_ns < TICK_NS && age_ns > -TICK_NS;
}

static bool verify_has_changed(const struct looking *look)
{
    struct stat now = {0};
    const struct timespec *was = &look->dir.st_ctim;
    (void)!fstatat(look->v->root, look->selected->path, &now, AT_SYMLINK_NOFOLLOW);
    return look->dir_is_fresh || now.st_ino != look->dir.st_ino ||
           now.st_ctim.tv_sec != was->tv_sec || now.st_ctim.tv_nsec != was->tv_nsec;
}

static gpufl_status verify_look(struct looking *look, struct verify_session *out)
{
    _Static_assert(VERIFY_STREAMS_MAX >= SCAN_CHANNELS_MAX + REPLY_STREAMS_MAX,
                   "each is listed once");
    struct verify *v = look->v;
    const struct selected *selected = look->selected;
    struct scan *scan = &look->scan;
    *out = (struct verify_session){0};
    gpufl_status status = verify_ends(v, selected->id, &look->told);
    verify_see(look);
    if (status == GPUFL_OK &&
        scan_session(v->sys, v->root, selected->path, selected->id, scan) != GPUFL_OK) {
        verify_unreadable(v, selected->path);
        status = GPUFL_ERR_IO;
    }
    out->state = status != GPUFL_OK || look->told.open ? VERIFY_OPEN
                 : look->told.ended                    ? VERIFY_ENDED
                                                       : VERIFY_COMPLETE;
    for (unsigned i = 0; status == GPUFL_OK && i < scan->channels; i++) {
        if (verify_has_files(&scan->channel[i])) {
            status = verify_channel(look, &scan->channel[i],
                                    verify_add(out, scan->channel[i].name));
        }
    }
    if (status == GPUFL_OK) {
        out->unread = scan->unread.names;
        out->loss = scan->has_loss;
        out->unlisted = scan_is_unlisted(scan) && out->state == VERIFY_OPEN;
        out->unpublished = scan->has_tmp && scan->layout == SESSION_WINDOWS;
        verify_gone(look, out);
        verify_missing(look, out);
    }
    return status;
}

/* Something does not compare, and the directory changed since it was listed: files may
 * have had other names by the time they were read. */
static bool verify_is_doubtful(const struct looking *look,
                               const struct verify_session *out)
{
    bool settled = out->unread == 0;
    for (unsigned i = 0; i < out->count; i++) {
        settled = settled && verify_is_settled(out->stream[i].result);
    }
    return !settled && verify_has_changed(look);
}

gpufl_status verify_session(struct verify *v, const struct selected *selected,
                            struct verify_session *out)
{
    struct looking *look = calloc(1, sizeof *look);
    bool doubtful = true;
    gpufl_status status = GPUFL_OK;
    if (!look) {
        snprintf(v->why, sizeof v->why, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    look->v = v;
    look->selected = selected;
    for (unsigned i = 0; status == GPUFL_OK && doubtful && i < LOOKS; i++) {
        if (i) {
            verify_wait(v, LOOK_WAIT_MS << i);
        }
        look->last = *out;
        look->last.count = i ? out->count : 0;
        status = verify_look(look, out);
        doubtful = status == GPUFL_OK && verify_is_doubtful(look, out);
    }
    for (unsigned i = 0; doubtful && status == GPUFL_OK && i < out->count; i++) {
        if (!verify_is_settled(out->stream[i].result)) {
            out->stream[i].result = VERIFY_CHANGED;
        }
    }
    free(look);
    return status;
}

bool verify_is_equal(const struct verify_session *session)
{
    for (unsigned i = 0; i < session->count; i++) {
        if (session->stream[i].result != VERIFY_EQUAL) {
            return false;
        }
    }
    return session->state != VERIFY_ENDED && session->unread == 0 && !session->unlisted &&
           session->count > 0;
}

bool verify_has_positions(const struct verify_session *session)
{
    for (unsigned i = 0; i < session->count; i++) {
        if (session->stream[i].result == VERIFY_BY_WINDOWS) {
            return false;
        }
    }
    return true;
}

bool verify_can_resend(const struct verify_session *session)
{
    bool behind = false;
    for (unsigned i = 0; i < session->count; i++) {
        behind = behind || session->stream[i].result == VERIFY_BEHIND;
    }
    return behind || (verify_is_equal(session) && session->state == VERIFY_OPEN);
}
