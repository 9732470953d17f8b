/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, compresses and publishes single windows. Syncs in the order of a careful
 * writer: the payload, its sidecar, the name. */
#include "upload/source/salvage_window.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/uuid.h"
#include "upload/source/identity.h"

static gpufl_status read_some(const struct salvage_place *place,
                              struct salvage_reading *of)
{
    return salvage_read(place->readings, place->sys, of, place->budget);
}

gpufl_status salvage_check(const struct salvage_place *place, int dir, const char *name)
{
    int fd = file_open(place->sys, dir, name);
    if (fd < 0) {
        return errno == ENOENT ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
    }
    struct salvage_reading of = {.task = GZ_CHECK, .fd = fd, .other = -1};
    gpufl_status status = read_some(place, &of);
    close(fd);
    return status;
}

enum salvage_result salvage_compress(const struct salvage_place *place,
                                     const struct salvage_dirs *dirs, const char *channel,
                                     uint32_t number)
{
    const struct sys *sys = place->sys;
    char raw[LAYOUT_PATH_MAX];
    char gz[LAYOUT_PATH_MAX];
    char part[LAYOUT_PATH_MAX + 8];
    layout_numbered(raw, channel, number, false);
    layout_numbered(gz, channel, number, true);
    snprintf(part, sizeof part, "%s.part", gz);
    int from = file_open(sys, dirs->tmp, raw);
    if (from < 0) {
        return SALVAGE_FAILED;
    }
    const struct salvage_part packed = {.raw = from, .dir = dirs->tmp, .name = part};
    gpufl_status status = salvage_pack(place->readings, sys, &packed, place->budget);
    close(from);
    if (status == GPUFL_BUSY) {
        return SALVAGE_MORE;
    }
    bool good = status == GPUFL_OK &&
                sys->renameat(dirs->tmp, part, dirs->tmp, gz) == 0 &&
                sys->fsync(dirs->tmp) == 0;
    return good ? SALVAGE_STEP : SALVAGE_FAILED;
}

static bool write_sidecar(const struct salvage_place *place, int session,
                          const char *channel, uint32_t number, struct gz_measure measure)
{
    char name[LAYOUT_PATH_MAX];
    char payload[LAYOUT_PATH_MAX];
    char line[1024];
    char id_text[UUID_TEXT];
    unsigned char id[16];
    uuid_make(place->sys, id);
    uuid_format(id, id_text);
    layout_sidecar(name, channel, number);
    layout_numbered(payload, channel, number, true);
    int len = snprintf(
        line, sizeof line,
        "{\"schema_version\":1,\"type\":\"transport_window\",\"window_id\":\"%s\","
        "\"session_id\":\"%s\",\"channel\":\"%s\",\"window_sequence\":%" PRIu32
        ",\"opened_mono_ms\":-1,\"closed_mono_ms\":-1,\"created_wall_ms\":%" PRId64
        ",\"payload_file\":\"%s\",\"payload_bytes\":%" PRIu64
        ",\"payload_crc32\":%" PRIu32 "}\n",
        id_text, place->id, channel, number, place->sys->wall_s() * 1000, payload,
        measure.bytes, measure.crc);
    return file_replace(place->sys, session, name, line, (size_t)len, true) == GPUFL_OK;
}

/* What is there needs a person, unless it could not be read, which may pass. */
static enum salvage_result left_or_failed(gpufl_status status)
{
    bool irregular = errno == ELOOP; /* the name belongs to something else than a file */
    return status == GPUFL_ERR_FORMAT || irregular ? SALVAGE_LEFT : SALVAGE_FAILED;
}

/* An existing sidecar must describe these bytes; a missing one is written. */
static enum salvage_result ensure_sidecar(const struct salvage_place *place, int session,
                                          const char *channel, uint32_t number, int fd)
{
    char name[LAYOUT_PATH_MAX];
    char *text;
    size_t len;
    struct sidecar sidecar;
    struct salvage_reading of = {.task = GZ_MEASURE, .fd = fd, .other = -1};
    gpufl_status status = read_some(place, &of);
    if (status == GPUFL_BUSY) {
        return SALVAGE_MORE;
    }
    if (status != GPUFL_OK || place->sys->fsync(fd) < 0) {
        return SALVAGE_FAILED;
    }
    layout_sidecar(name, channel, number);
    status = file_read(place->sys, session, name, IDENTITY_MAX_BYTES, &text, &len);
    if (status == GPUFL_ERR_NOT_FOUND) {
        return write_sidecar(place, session, channel, number, of.result) ? SALVAGE_STEP
                                                                         : SALVAGE_FAILED;
    }
    if (status != GPUFL_OK) {
        return left_or_failed(status);
    }
    status = sidecar_parse(text, len, place->id, channel, number, &sidecar);
    free(text);
    bool same = status == GPUFL_OK && sidecar.payload_bytes == of.result.bytes &&
                sidecar.payload_crc32 == of.result.crc;
    return same ? SALVAGE_STEP : SALVAGE_LEFT;
}

/* The window is published already: deletes the copy if it holds the same lines. */
static enum salvage_result delete_copy(const struct salvage_place *place,
                                       const struct salvage_dirs *dirs, const char *name,
                                       int staged, int published)
{
    struct salvage_reading check = {.task = GZ_CHECK, .fd = published, .other = -1};
    struct salvage_reading compare = {
        .task = GZ_COMPARE, .fd = staged, .other = published};
    gpufl_status status = read_some(place, &check);
    if (status == GPUFL_OK) {
        status = read_some(place, &compare);
    }
    if (status != GPUFL_OK) {
        return status == GPUFL_BUSY ? SALVAGE_MORE : left_or_failed(status);
    }
    return place->sys->unlinkat(dirs->tmp, name, 0) == 0 ? SALVAGE_STEP : SALVAGE_FAILED;
}

static enum salvage_result move_window(const struct salvage_place *place,
                                       const struct salvage_dirs *dirs, const char *name)
{
    const struct sys *sys = place->sys;
    bool good = sys->renameat(dirs->tmp, name, dirs->session, name) == 0 &&
                sys->fsync(dirs->session) == 0;
    return good ? SALVAGE_STEP : SALVAGE_FAILED;
}

enum salvage_result salvage_publish(const struct salvage_place *place,
                                    const struct salvage_dirs *dirs, const char *channel,
                                    uint32_t number)
{
    char name[LAYOUT_PATH_MAX];
    enum salvage_result result = SALVAGE_FAILED;
    layout_numbered(name, channel, number, true);
    int staged = file_open(place->sys, dirs->tmp, name);
    int published = staged < 0 ? -1 : file_open(place->sys, dirs->session, name);
    if (published >= 0) {
        result = delete_copy(place, dirs, name, staged, published);
        close(published);
    } else if (staged >= 0 && errno == ENOENT) {
        result = ensure_sidecar(place, dirs->session, channel, number, staged);
        if (result == SALVAGE_STEP) {
            result = move_window(place, dirs, name);
        }
    } else if (staged >= 0) {
        result = left_or_failed(GPUFL_ERR_IO);
    }
    if (staged >= 0) {
        close(staged);
    }
    return result;
}

bool salvage_mark_loss(const struct salvage_place *place, const struct salvage_dirs *dirs,
                       const char *channel, uint32_t number, const char *reason)
{
    char name[LAYOUT_PATH_MAX];
    char line[256];
    layout_loss(name, channel, number);
    int len =
        snprintf(line, sizeof line,
                 "{\"schema_version\":1,\"type\":\"transport_window_loss\","
                 "\"channel\":\"%s\",\"window_index\":%" PRIu32 ",\"reason\":\"%s\"}\n",
                 channel, number, reason);
    return file_replace(place->sys, dirs->session, name, line, (size_t)len, true) ==
           GPUFL_OK;
}
