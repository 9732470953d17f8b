/* SPDX-License-Identifier: Apache-2.0 */
/* Renders where the streams of a session end. */
#include "backend/api/api_streams.h"

#include <inttypes.h>

#include "backend/store/store_epoch.h"
#include "backend/store/store_place.h"
#include "backend/store/store_sessions.h"

struct streams_answer {
    struct text *answer;
    unsigned count;
};

static void render_place(struct text *a, const struct stream_place *at, uint32_t file_crc)
{
    text_printf(a,
                "\"file\":%" PRIu32 ",\"offset\":%" PRIu64 ",\"lines\":%" PRIu64
                ",\"crc\":%" PRIu32 ",\"file_crc\":%" PRIu32,
                at->file, at->offset, at->lines, at->crc, file_crc);
}

void api_streams_end(struct text *answer, const struct stored_end *end)
{
    text_printf(answer, "{");
    render_place(answer, &end->at, end->file_crc);
    text_printf(answer,
                ",\"losses\":%" PRIu64 ",\"skips\":%" PRIu64
                ",\"lost_after\":%s,\"expired\":%s}",
                end->losses, end->skips, end->lost_after ? "true" : "false",
                end->expired ? "true" : "false");
}

static void render_stream(void *arg, const char *channel, const struct stored_end *end)
{
    struct streams_answer *r = arg;
    text_printf(r->answer, "%s{\"channel\":\"%s\",\"end\":", r->count++ ? "," : "",
                channel);
    api_streams_end(r->answer, end);
    text_printf(r->answer, "}");
}

static void render_windowed(void *arg, const char *channel)
{
    struct streams_answer *r = arg;
    text_printf(r->answer, "%s\"%s\"", r->count++ ? "," : "", channel);
}

gpufl_status api_streams_members(struct store *store, const char *session,
                                 struct text *answer)
{
    static const char *const states[] = {[STORE_OPEN] = "open",
                                         [STORE_COMPLETE] = "complete",
                                         [STORE_VERIFIED] = "verified",
                                         [STORE_ENDED] = "ended"};
    struct streams_answer r = {.answer = answer};
    enum store_completeness state;
    gpufl_status status = store_session_state(store, session, &state);
    if (status != GPUFL_OK) {
        return status;
    }
    text_printf(answer, "\"epoch\":\"%s\",\"state\":\"%s\",\"streams\":[",
                store_epoch(store), states[state]);
    status = store_streams_visit(store, session, render_stream, &r);
    text_printf(answer, "],\"without_positions\":[");
    r.count = 0;
    if (status == GPUFL_OK) {
        status = store_streams_windows(store, session, render_windowed, &r);
    }
    text_printf(answer, "]");
    return status;
}

int api_streams(struct store *store, const char *session, struct text *answer)
{
    text_printf(answer, "{");
    gpufl_status status = api_streams_members(store, session, answer);
    text_printf(answer, "}\n");
    return status == GPUFL_OK ? 200 : 500;
}

int api_streams_place(struct store *store, const char *session,
                      const struct stream_place *asked, const char *channel,
                      struct text *answer)
{
    struct stored_end end;
    struct store_place place;
    if (store_streams_end(store, session, channel, &end) != GPUFL_OK) {
        return 500;
    }
    if (end.expired) {
        text_printf(answer, "{\"error\":\"expired\",\"message\":\"the lines of this "
                            "session were deleted by retention\"}\n");
        return 410;
    }
    gpufl_status status =
        store_place_find(store, session, channel, asked->file, asked->offset, &place);
    if (status == GPUFL_ERR_NOT_FOUND) {
        text_printf(answer, "{\"error\":\"not_found\",\"message\":\"nothing of this file "
                            "is stored up to this offset\"}\n");
        return 404;
    }
    if (status != GPUFL_OK) {
        return 500;
    }
    text_printf(answer, "{\"epoch\":\"%s\",\"place\":{", store_epoch(store));
    render_place(answer, &place.at, place.file_crc);
    text_printf(answer, "}}\n");
    return 200;
}
