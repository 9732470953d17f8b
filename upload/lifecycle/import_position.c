/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the position of a stream from the cursor file of another agent. */
#include "upload/lifecycle/import_position.h"

#include "upload/core/position.h"
#include "upload/source/java_cursor.h"
#include "upload/source/shifting.h"
#include "upload/source/shifting_numbers.h"

/* \return whether something is skipped. */
static bool import_window(struct stream *st, const struct java_position *from)
{
    position_begin_at(st, from->file_index ? from->file_index : 1, st->offset, st->head);
    if (from->offset) {
        trouble_say(&st->session->root->engine->trouble,
                    "session %s: the other agent had sent part of window %u; the whole "
                    "window is sent again",
                    st->session->id, st->file);
    }
    return st->file > 1;
}

/* Files count from the oldest one, which the other agent has read, too. One that its
 * writer adds meanwhile must not look like one that came later. */
static uint32_t import_number(const struct tail_where *where, uint32_t index,
                              const struct sys *sys)
{
    bool failed = false;
    uint32_t highest = shifting_number_highest(sys, where, &failed);
    return highest > index ? highest - index + 1 : 1;
}

/* Finds the file of the position, which may have been renamed since: by its head if the
 * cursor has one, else by its number. \return whether it was found. */
static bool import_shifting(struct stream *st, const struct java_position *from)
{
    const struct engine *engine = st->session->root->engine;
    struct tail_where where = stream_where(st);
    struct shifting_place place;
    where.index = from->file_index;
    gpufl_status status =
        shifting_by_crc(engine->config.sys, &where, from->head_crc, &place);
    if (status == GPUFL_OK) {
        position_begin_at(st, import_number(&where, place.index, engine->config.sys),
                          from->offset, place.head);
        st->index = (uint8_t)place.index;
    } else {
        trouble_say(&st->session->root->engine->trouble,
                    "session %s: the file that the other agent was reading is gone; "
                    "what is there is sent from the start",
                    st->session->id);
    }
    return status == GPUFL_OK;
}

void import_position(struct stream *st)
{
    const struct session *session = st->session;
    const struct root *root = session->root;
    struct java_position from;
    if (st->id || root->origin.now.moved ||
        !java_cursor_find(root->engine->config.imported, session->id, stream_channel(st),
                          &from)) {
        return;
    }
    bool shifts = session->layout == SESSION_SHIFTING && (from.file_index || from.offset);
    bool imported = session->layout == SESSION_WINDOWS
                        ? import_window(st, &from)
                        : shifts && import_shifting(st, &from);
    if (imported) {
        log_info(root->engine->config.log, "cursor.imported",
                 "session=%s channel=%s file=%u offset=%llu", session->id,
                 stream_channel(st), from.file_index, (unsigned long long)from.offset);
    }
}
