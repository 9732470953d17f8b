/* SPDX-License-Identifier: Apache-2.0 */
/* Lists a directory of which files were given up, and tries to open those. */
#include "upload/lifecycle/returned.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "upload/core/passed.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/shifted_stream.h"
#include "upload/source/listing.h"
#include "upload/source/tail.h"

/* Where to look for files of a stream. */
struct returned_look {
    struct root *root;
    int dir;
    const char *id; /* of the session */
    const char *channel;
    uint32_t stream;
    uint8_t kind;
    bool say;
    uint32_t final; /* file up to which the backend takes nothing more in place of what
                       it was told to be lost, 0 = none */
};

static uint32_t returned_final(bool positions, const struct record_end *end)
{
    return positions && end->losses ? end->at.file : 0;
}

static bool returned_opens(const struct returned_look *look, const char *name)
{
    int fd = file_open(look->root->engine->config.sys, look->dir, name);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

/* A window needs its sidecar; the other files may have been compressed. */
static bool returned_is_there(const struct returned_look *look, uint32_t number)
{
    char plain[LAYOUT_PATH_MAX];
    char packed[LAYOUT_PATH_MAX];
    char sidecar[LAYOUT_PATH_MAX];
    layout_numbered(plain, look->channel, number, false);
    layout_numbered(packed, look->channel, number, true);
    layout_sidecar(sidecar, look->channel, number);
    return (returned_opens(look, plain) || returned_opens(look, packed)) &&
           (look->kind != STREAM_VERBATIM || returned_opens(look, sidecar));
}

static void returned_say(const struct returned_look *look, uint32_t number)
{
    log_warn(look->root->engine->config.log, "session.returned",
             "session=%s channel=%s file=%u note=\"it was given up, and is there again: "
             "it is not sent (%s)\"",
             look->id, look->channel, number,
             number <= look->final
                 ? "the backend was told that it is lost, and takes it no more: keep it"
                 : "gpufl upload --force --session-id sends the whole session again");
}

static bool returned_is_named(const struct returned_look *look,
                              const struct layout_name *name)
{
    bool numbered = name->kind == LAYOUT_NUMBERED || name->kind == LAYOUT_SIDECAR;
    return numbered && strcmp(name->channel, look->channel) == 0 &&
           passed_has(look->root, look->stream, name->number);
}

static void returned_list(const struct returned_look *look)
{
    struct listing listing;
    if (!passed_any(look->root, look->stream) ||
        listing_open(&listing, look->root->engine->config.sys, look->dir, ".") !=
            GPUFL_OK) {
        return;
    }
    for (const struct dirent64 *entry; (entry = listing_next(&listing));) {
        struct layout_name name = layout_parse(entry->d_name);
        if (returned_is_named(look, &name) && returned_is_there(look, name.number)) {
            passed_take(look->root, look->stream, name.number);
            if (look->say) {
                returned_say(look, name.number);
            }
        }
    }
    listing_close(&listing);
}

static void returned_stream(const struct stream *st, int dir, bool say)
{
    if (shifted_stream_is(st) || (say && st->positions && !st->end.at.file)) {
        return; /* its names tell nothing: see missing_any_late(); or not yet what to say
                 */
    }
    struct returned_look look = {.root = st->session->root,
                                 .dir = dir,
                                 .id = st->session->id,
                                 .channel = stream_channel(st),
                                 .stream = st->id,
                                 .kind = st->kind,
                                 .say = say,
                                 .final = returned_final(st->positions, &st->end)};
    returned_list(&look);
}

void returned_give_up(const struct stream *st, uint32_t first, uint32_t last)
{
    int dir = session_open_directory(st->session);
    passed_add(st->session->root, st->id, first, last);
    if (dir >= 0) {
        returned_stream(st, dir, false);
        close(dir);
    }
}

static bool returned_may_come_to(const struct session *session)
{
    bool may = false;
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        may = may || (st->lost && passed_any(session->root, st->id));
    }
    return may;
}

void returned_session(const struct session *session)
{
    int dir = session->root->passes && returned_may_come_to(session)
                  ? session_open_directory(session)
                  : -1;
    for (unsigned i = 0; dir >= 0 && i < session->streams; i++) {
        returned_stream(session->stream[i], dir, true);
    }
    if (dir >= 0) {
        close(dir);
    }
}

bool returned_may_come(const struct root *root, const struct parked_session *s)
{
    bool may = false;
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    if (root->passes) {
        parked_streams(s, stream);
    }
    for (unsigned i = 0; root->passes && i < s->streams; i++) {
        may = may || (stream[i].marks & MARK_LOST && passed_any(root, stream[i].id));
    }
    return may;
}

void returned_parked(struct root *root, int dir, const struct parked_session *s)
{
    const char *slash = strrchr(s->node.path, '/');
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    parked_streams(s, stream);
    for (unsigned i = 0; i < s->streams; i++) {
        if (stream[i].layout == 1 + SESSION_SHIFTING) {
            continue; /* likewise */
        }
        struct returned_look look = {
            .root = root,
            .dir = dir,
            .id = slash ? slash + 1 : s->node.path,
            .channel = root->channel_name[stream[i].channel],
            .stream = stream[i].id,
            .kind = stream[i].kind,
            .say = true,
            .final = returned_final(stream[i].marks & MARK_POSITIONS, &stream[i].end)};
        returned_list(&look);
    }
}
