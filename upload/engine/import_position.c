/* SPDX-License-Identifier: Apache-2.0 */
/* Where another agent stood becomes where we begin, for streams that the journal does not
 * know. The first offer puts it into the journal. */
#include "upload/engine/engine_internal.h"
#include "upload/source/shifting.h"

static void import_window(struct stream *st, const struct java_position *from)
{
    st->file = from->file_index ? from->file_index : 1;
    if (from->offset) {
        engine_problem(st->session->root->engine,
                       "session %s: the other agent had sent a part of window %u; all of "
                       "it is sent again",
                       st->session->id, st->file);
    }
}

/* Its file may have moved on since: by the head if it noted one, else by the number. */
static void import_shifting(struct stream *st, const struct java_position *from)
{
    const struct engine *engine = st->session->root->engine;
    struct tail_where where = stream_where(st);
    struct shifting_place place;
    where.index = from->file_index;
    gpufl_status status =
        shifting_by_crc(engine->config.sys, &where, from->head_crc, &place);
    if (status == GPUFL_OK) {
        st->head = place.head;
        st->index = (uint8_t)place.index;
        st->offset = from->offset;
    } else {
        engine_problem(st->session->root->engine,
                       "session %s: the file that the other agent was reading is gone; "
                       "what is there is sent from its beginning",
                       st->session->id);
    }
}

void import_position(struct stream *st)
{
    const struct session *session = st->session;
    const struct root *root = session->root;
    struct java_position from;
    if (st->id || !java_cursor_find(root->engine->config.imported, session->id,
                                    root->channel_name[st->channel], &from)) {
        return;
    }
    if (session->layout == SESSION_WINDOWS) {
        import_window(st, &from);
    } else if (session->layout == SESSION_SHIFTING && (from.file_index || from.offset)) {
        import_shifting(st, &from);
    }
    log_info(root->engine->config.log, "cursor.imported",
             "session=%s channel=%s file=%u offset=%llu", session->id,
             root->channel_name[st->channel], from.file_index,
             (unsigned long long)from.offset);
}
