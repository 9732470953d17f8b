/* SPDX-License-Identifier: Apache-2.0 */
/* Offers sealed 1.3 windows byte for byte, under their sidecar's identity. */
#include "upload/batch/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/protocol.h"
#include "upload/batch/window_id.h"
#include "upload/core/position.h"
#include "upload/core/room.h"
#include "upload/http/encode.h"
#include "upload/source/identity.h"

/* Size and CRC of the payload must be what the sidecar says. */
static gpufl_status window_check_payload(const struct sys *sys, int fd,
                                         const struct sidecar *sidecar)
{
    struct stat st;
    uint64_t bytes;
    uint32_t crc;
    if (fstat(fd, &st) < 0) {
        return GPUFL_ERR_IO;
    }
    if ((uint64_t)st.st_size != sidecar->payload_bytes) {
        return GPUFL_ERR_FORMAT; /* known without reading it */
    }
    if (encode_measure(sys, fd, &bytes, &crc) != GPUFL_OK) {
        return GPUFL_ERR_IO;
    }
    return crc == sidecar->payload_crc32 ? GPUFL_OK : GPUFL_ERR_FORMAT;
}

static enum made window_quarantine(struct stream *st, const struct sidecar *sidecar,
                                   const char *reason)
{
    struct record_quarantine record = {
        .sequence = st->file, .file = st->file, .end = sidecar->payload_bytes};
    memcpy(record.id, sidecar->window_id, sizeof record.id);
    st->session->root->engine->made_bytes += sidecar->payload_bytes; /* were read */
    snprintf(record.reason, sizeof record.reason, "%s", reason);
    return room_for_range(st) && position_quarantine(st, &record) ? MADE_STEP
                                                                  : MADE_NOTHING;
}

/* An agent that delivers and deletes a payload leaves its id in this file first. */
static bool window_delivered_by_another(const struct stream *st,
                                        const struct sidecar *sidecar)
{
    const struct session *session = st->session;
    char name[LAYOUT_PATH_MAX];
    char id_text[UUID_TEXT];
    char *text;
    size_t len;
    layout_ack(name, stream_channel(st), st->file);
    if (session_read_file(session, name, &text, &len) != GPUFL_OK) {
        return false;
    }
    uuid_format(sidecar->window_id, id_text);
    bool same = len >= UUID_TEXT - 1 && memcmp(text, id_text, UUID_TEXT - 1) == 0;
    free(text);
    return same;
}

static enum made window_next(struct stream *st)
{
    position_next_file(st, st->head);
    return MADE_STEP;
}

/* It was deleted when an earlier backend had stored it: this one never gets it. */
static enum made window_is_elsewhere(struct stream *st)
{
    struct root *root = st->session->root;
    uint32_t file = st->file;
    bool said = st->gap;
    position_next_file(st, st->head);
    st->gap = true;
    struct record_stream record = stream_record(st);
    if (st->id && !record_append_stream(root->journal, &record)) {
        return MADE_NOTHING;
    }
    if (!said) {
        log_error(root->engine->config.log, "session.incomplete",
                  "session=%s channel=%s file=%u note=\"deleted after an earlier backend "
                  "had stored it: this one does not get it\"",
                  st->session->id, stream_channel(st), file);
    }
    trouble_say(&root->engine->trouble,
                "session %s, channel %s: files are missing that an earlier backend got",
                st->session->id, stream_channel(st));
    return MADE_STEP;
}

/* No payload: delivered and deleted by another agent, not yet published (the sidecar
 * comes first), or lost. */
static enum made window_no_payload(struct stream *st, const struct sidecar *sidecar)
{
    const struct session *session = st->session;
    if (sidecar && window_delivered_by_another(st, sidecar)) {
        return session->root->origin.now.moved ? window_is_elsewhere(st)
                                               : window_next(st);
    }
    if (st->lost && st->file < st->again_file) {
        return window_next(st); /* a person gave it up */
    }
    if (session->salvage != SESSION_SALVAGE_NONE ||
        (sidecar && !session_writer_is_gone(session))) {
        st->rest = STREAM_DRAINED; /* for now: when it comes, the directory changes */
        return MADE_NOTHING;
    }
    stream_hold(st, HELD_WINDOW_MISSING);
    return MADE_NOTHING;
}

/* Of all of it: it is known again by this if it is sent again after a restart. */
static struct record_mark window_mark(const struct sidecar *sidecar)
{
    return (struct record_mark){(uint32_t)sidecar->payload_bytes, sidecar->payload_crc32};
}

static enum made window_offer(struct stream *st, const struct sidecar *sidecar, int fd,
                              bool gz)
{
    struct engine *engine = st->session->root->engine;
    struct offer *offer = offer_new(st);
    if (!st->id) {
        st->end.epoch = engine->origin.epoch;
    }
    if (!offer) {
        close(fd);
        return MADE_NOTHING;
    }
    memcpy(offer->record.id, sidecar->window_id, sizeof offer->record.id);
    uuid_format(offer->record.id, offer->id_text);
    offer->record.sequence = sidecar->sequence;
    offer->record.file = st->file;
    offer->record.end = sidecar->payload_bytes;
    offer->record.codec = gz ? CODEC_GZIP : CODEC_NONE;
    offer->record.mark = window_mark(sidecar);
    offer->crc32 = sidecar->payload_crc32;
    offer->fd = fd;
    if (!offer_journal(offer)) {
        offer_return(engine, offer);
        return MADE_NOTHING;
    }
    return MADE_OFFER;
}

/* Reading it to its end could take minutes, and it could not be sent. */
static bool window_is_too_large(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_size > (off_t)PROTOCOL_MAX_BODY_BYTES;
}

enum made window_make(struct stream *st)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    struct tail_where where = stream_where_window(st, st->file);
    struct sidecar sidecar;
    int fd;
    bool gz;
    if (st->file > st->highest) {
        st->rest = STREAM_DRAINED;
        return MADE_NOTHING;
    }
    gpufl_status side = stream_read_sidecar(st, st->file, &sidecar);
    gpufl_status payload = tail_open_window(sys, &where, &fd, &gz);
    if (payload == GPUFL_ERR_IO) {
        stream_hold(st, HELD_WINDOW_UNREADABLE);
        return MADE_NOTHING;
    }
    if (payload == GPUFL_ERR_NOT_FOUND) {
        return window_no_payload(st, side == GPUFL_OK ? &sidecar : NULL);
    }
    if (side == GPUFL_OK && window_is_too_large(fd)) {
        close(fd);
        return window_quarantine(st, &sidecar, "window larger than 30 MiB");
    }
    payload = side == GPUFL_OK ? window_check_payload(sys, fd, &sidecar) : GPUFL_OK;
    if (side == GPUFL_OK && payload == GPUFL_OK) {
        return window_offer(st, &sidecar, fd, gz);
    }
    close(fd);
    if (payload == GPUFL_ERR_FORMAT) {
        return window_quarantine(st, &sidecar, "payload differs from its sidecar");
    }
    stream_hold(st, side == GPUFL_OK ? HELD_WINDOW_UNREADABLE : HELD_WINDOW_SIDECAR);
    return MADE_NOTHING;
}

enum held_reason window_problem(const struct stream *st, uint32_t file)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    struct tail_where where = stream_where_window(st, file);
    struct sidecar sidecar;
    int fd;
    bool gz;
    gpufl_status status = tail_open_window(sys, &where, &fd, &gz);
    if (status != GPUFL_OK) {
        return status == GPUFL_ERR_NOT_FOUND ? HELD_WINDOW_MISSING
                                             : HELD_WINDOW_UNREADABLE;
    }
    close(fd);
    return stream_read_sidecar(st, file, &sidecar) == GPUFL_OK ? HELD_NOT
                                                               : HELD_WINDOW_SIDECAR;
}

bool window_is_whole(const void *stream, uint32_t file)
{
    const struct stream *st = stream;
    const struct sys *sys = st->session->root->engine->config.sys;
    const struct tail_where where = stream_where_window(st, file);
    const struct tail_unreadable found = tail_where_unreadable(sys, &where, 0);
    return tail_unreadable_is_closed(&found) || window_problem(st, file) == HELD_NOT;
}

gpufl_status window_open(struct stream *st, struct offer *offer)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    struct tail_where where = stream_where_window(st, offer->record.file);
    struct sidecar sidecar;
    bool gz;
    gpufl_status status = stream_read_sidecar(st, offer->record.file, &sidecar);
    if (status == GPUFL_OK) {
        status = tail_open_window(sys, &where, &offer->fd, &gz);
    }
    if (status == GPUFL_OK && sidecar.payload_bytes != offer->record.end) {
        status = GPUFL_ERR_FORMAT; /* another one, which may be much larger */
    }
    if (status == GPUFL_OK) {
        offer->crc32 = sidecar.payload_crc32;
        status = window_check_payload(sys, offer->fd, &sidecar);
    }
    if (status != GPUFL_OK && offer->fd >= 0) {
        close(offer->fd); /* it is checked again before it is sent */
        offer->fd = -1;
    }
    return status;
}

/* What may have been sent under its id, the backend may have. */
static bool window_is_as_sent(const struct offer *offer)
{
    const struct record_mark *mark = &offer->record.mark;
    return !offer->maybe_stored ||
           (mark->bytes == offer->record.end && mark->crc32 == offer->crc32);
}

bool window_rename(struct offer *offer)
{
    const struct stream *st = offer->stream;
    const struct window_content content = {.session = st->session->id,
                                           .channel = stream_channel(st),
                                           .sequence = offer->record.sequence,
                                           .crc32 = offer->crc32,
                                           .bytes = offer->record.end};
    unsigned char own[sizeof offer->record.id];
    window_id_own(&content, st->session->root->engine->config.backend, own);
    if (!window_is_as_sent(offer) || memcmp(own, offer->record.id, sizeof own) == 0) {
        return false;
    }
    memcpy(offer->record.id, own, sizeof own);
    uuid_format(own, offer->id_text);
    offer->record.sent = OFFER_NOT_SENT;
    offer->maybe_stored = false;
    return true;
}
