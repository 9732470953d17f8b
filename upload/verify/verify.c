/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for the ends of a session's streams and compares each with its files. */
#include "upload/verify/verify.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "upload/http/reply.h"
#include "upload/source/scan_session.h"

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
        reply_read_streams(reply.body, reply.status == 200 ? reply.body_len : 0, out);
        if (!out->readable) {
            snprintf(v->why, sizeof v->why, "HTTP %d: not the ends of a session",
                     reply.status);
            status = GPUFL_ERR_CONTACT;
        }
    }
    return status;
}

static struct verify_stream *verify_add(struct verify_session *out, const char *channel)
{
    static const struct reply_end nothing = {.at = {.file = 1}};
    struct verify_stream *stream = &out->stream[out->count++];
    *stream = (struct verify_stream){.backend = nothing};
    snprintf(stream->channel, sizeof stream->channel, "%s", channel);
    return stream;
}

static gpufl_status verify_channel(struct verify *v, const struct selected *selected,
                                   const struct scan *scan, const struct scan_channel *c,
                                   const struct reply_stream *told,
                                   struct verify_stream *out)
{
    bool windows = scan->layout == SESSION_WINDOWS;
    out->layout = scan->layout;
    if (told && !told->without_positions) {
        out->backend = told->end;
    }
    if (windows || (told && told->without_positions)) {
        out->result = VERIFY_BY_WINDOWS;
        return GPUFL_OK;
    }
    if (out->backend.expired) {
        out->result = VERIFY_EXPIRED;
        return GPUFL_OK;
    }
    return verify_files(v, selected, c, out);
}

static bool verify_has_files(const struct scan_channel *c)
{
    return c && (c->payloads || c->has_active || c->has_active_gz);
}

/* Streams of the backend of which no file is here. */
static void verify_gone(const struct scan *scan, const struct reply_streams *told,
                        struct verify_session *out)
{
    for (unsigned i = 0; i < told->count; i++) {
        const struct reply_stream *stream = &told->stream[i];
        if (verify_has_files(scan_find_channel(scan, stream->channel))) {
            continue;
        }
        struct verify_stream *add = verify_add(out, stream->channel);
        add->backend = stream->end;
        add->result = stream->without_positions ? VERIFY_BY_WINDOWS
                      : stream->end.expired     ? VERIFY_EXPIRED
                                                : VERIFY_NO_FILES;
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

gpufl_status verify_session(struct verify *v, const struct selected *selected,
                            struct verify_session *out)
{
    _Static_assert(VERIFY_STREAMS_MAX >= SCAN_CHANNELS_MAX + REPLY_STREAMS_MAX,
                   "each is listed once");
    struct scan scan;
    *out = (struct verify_session){0};
    struct reply_streams *told = malloc(sizeof *told);
    if (!told) {
        snprintf(v->why, sizeof v->why, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    gpufl_status status = verify_ends(v, selected->id, told);
    if (status == GPUFL_OK &&
        scan_session(v->sys, v->root, selected->path, selected->id, &scan) != GPUFL_OK) {
        verify_unreadable(v, selected->path);
        status = GPUFL_ERR_IO;
    }
    out->state = status == GPUFL_OK && !told->open ? VERIFY_COMPLETE : VERIFY_OPEN;
    for (unsigned i = 0; status == GPUFL_OK && i < scan.channels; i++) {
        const struct scan_channel *c = &scan.channel[i];
        if (verify_has_files(c)) {
            status = verify_channel(v, selected, &scan, c, reply_stream_of(told, c->name),
                                    verify_add(out, c->name));
        }
    }
    if (status == GPUFL_OK) {
        out->unread = scan.unread.names;
        verify_gone(&scan, told, out);
    }
    free(told);
    return status;
}

bool verify_is_equal(const struct verify_session *session)
{
    for (unsigned i = 0; i < session->count; i++) {
        if (session->stream[i].result != VERIFY_EQUAL) {
            return false;
        }
    }
    return session->unread == 0;
}

bool verify_can_resend(const struct verify_session *session)
{
    bool behind = false;
    for (unsigned i = 0; i < session->count; i++) {
        behind = behind || session->stream[i].result == VERIFY_BEHIND;
    }
    return behind;
}
